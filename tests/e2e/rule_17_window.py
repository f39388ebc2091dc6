#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules 16 to 20 with a model that counts what it gets: which results are shortened, what a summary
holds, what follows a refusal, and what is remembered about a window.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402
from provider import Server  # noqa: E402
from window_model import SmallModel  # noqa: E402

TIMEOUT = 120 * harness.slow()


def text_of(n, size):
    line = f"result {n:03d} abcdefgh ijklmnop qrstuvwx 0123456\n"
    return line * (size // len(line))


class Place:
    def __init__(self, base):
        self.base = base
        self.workspace = os.path.join(base, "workspace")
        os.mkdir(self.workspace)
        self.set_models({})

    def set_models(self, windows):
        path = os.path.join(self.base, "models.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"models": [{"id": f"openai/{name}", **facts}
                                  for name, facts in windows.items()]}, file)
        os.environ["TRIVET_MODELS"] = path

    def files(self, n, size):
        for i in range(1, n + 1):
            with open(os.path.join(self.workspace, f"f{i}.txt"), "w", encoding="utf-8") as file:
                file.write(text_of(i, size))

    def run(self, model, name, prompt="work on it", expect=0):
        """The output of one turn against the model."""
        with Server(model) as server:
            env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                       OPENAI_API_KEY="key-of-windows-1", TRIVET_RETRY_MS="1")
            done = subprocess.run([PROGRAM, "run", "--mode", "danger-full-access", "--model",
                                   f"openai/{name}", prompt], cwd=self.workspace, env=env,
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert done.returncode == expect, (done.returncode, done.stderr[-600:])
        return done

    def learned(self):
        path = os.path.join(os.environ["XDG_CACHE_HOME"], "trivet/windows.json")
        with open(path, encoding="utf-8") as file:
            return {w["model"]: w["tokens"] for w in json.load(file)["windows"]}


def read(n):
    return "read_file", {"path": f"f{n}.txt"}


def tools_of(body):
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


# ---- 16

def small_window(place):
    """A window of 8,000 tokens and 20 rounds of 1,000."""
    place.set_models({"tiny": {"context_window": 8000}})
    place.files(20, 4000)
    model = SmallModel(8000, 20, read)
    place.run(model, "tiny")
    assert not model.refused and max(model.sizes) < 8000, model.sizes


def miscounted(place):
    """A model that counts 1.9 tokens where we count one: the first usage corrects us."""
    place.set_models({"dense": {"context_window": 32000}})
    place.files(30, 6000)
    model = SmallModel(32000, 30, read, bytes_per_token=2.1)
    place.run(model, "dense")
    assert not model.refused, (model.refused, model.sizes)


def switched_off(place):
    """The user's own words and the system text are never touched."""
    place.set_models({"tiny": {"context_window": 8000}})
    place.files(20, 4000)
    model = SmallModel(8000, 12, read)
    place.run(model, "tiny", "remember the word paperclip")
    systems = {b["messages"][0]["content"] for b in model.bodies if b.get("tools")}
    assert len(systems) == 1
    for body in model.bodies:
        assert "remember the word paperclip" in json.dumps(body), body["messages"][1]


# ---- 17

def masked(place):
    """30 results of 4,000 tokens in a window of 128,000: no summary, old ones short, newest whole."""
    place.set_models({"wide": {"context_window": 128000}})
    place.files(30, 16000)
    model = SmallModel(128000, 30, read)
    place.run(model, "wide")
    assert not model.summaries and not model.refused
    results = tools_of(model.bodies[-1])
    assert len(results) == 30
    whole = [i for i, r in enumerate(results) if "left out" not in r]
    assert whole and whole == list(range(whole[0], 30)), whole
    assert 20000 < sum(len(results[i]) for i in whole) / 4 < 80000
    assert all(len(r) < 800 and "result 001" in results[0] for r in results[:whole[0]])
    assert all("all of it is in /" in r for r in results[:whole[0]]), results[0]


def masked_in_batches(place):
    """The beginning of the requests changes seldom: a sixth of the window goes at once."""
    place.set_models({"wide": {"context_window": 128000}})
    place.files(30, 16000)
    model = SmallModel(128000, 30, read)
    place.run(model, "wide")
    changes = 0
    for before, after in zip(model.bodies, model.bodies[1:]):
        if after["messages"][:len(before["messages"])] != before["messages"]:
            changes += 1
    assert 1 <= changes <= 4, changes


def not_masked(place):
    """Below 60 % nothing is shortened."""
    place.set_models({"wide": {"context_window": 128000}})
    place.files(10, 16000)
    model = SmallModel(128000, 10, read)
    place.run(model, "wide")
    assert "left out" not in "".join(tools_of(model.bodies[-1]))


# ---- 18

def summary_fails(place):
    """The summary answers 500: the turn goes on with a list."""
    place.set_models({"tiny": {"context_window": 8000}})
    place.files(60, 4000)
    model = SmallModel(8000, 60, read, fails={"status": 500})
    done = place.run(model, "tiny", "find the paperclip")
    assert "All done." in done.stdout
    assert len(model.summaries) >= 2
    body = model.bodies[-1]
    told = body["messages"][1]
    assert told["role"] == "user" and "called read_file" in told["content"], told
    assert "find the paperclip" in json.dumps(body["messages"])


def summary_holds(place):
    """A summary is told as the user's side, with the user's words, the files and no lost question."""
    place.set_models({"tiny": {"context_window": 12000}})
    place.files(80, 4000)

    def call(n):
        if n == 3:
            return "write_file", {"path": "made.txt", "content": "x"}
        if n == 4:
            return "edit_file", {"path": "gone.txt", "old_string": "a", "new_string": "b"}
        return read(n)
    model = SmallModel(12000, 80, call)
    place.run(model, "tiny", "find the paperclip")
    after = [b for b in model.bodies if b.get("tools") and
             "What happened before this point" in b["messages"][1]["content"]]
    assert after, "no summary"
    told = after[-1]["messages"][1]["content"]
    assert after[-1]["messages"][1]["role"] == "user"
    assert "Files that were changed: made.txt" in told, told
    assert "gone.txt" not in told.split("Files that were changed")[1]
    assert any(m["role"] == "user" and m["content"] == "find the paperclip"
               for m in after[-1]["messages"])


def summary_too_long(place):
    """The request for a summary is refused as too long: it is made with fewer results."""
    place.set_models({"odd": {"context_window": 20000}})
    place.files(120, 6000)

    class Odd(SmallModel):
        def __call__(self, body):
            if not body.get("tools") and "result 0" in json.dumps(body):
                self.refused_summaries = getattr(self, "refused_summaries", 0) + 1
                return self.refusal(99999)
            return super().__call__(body)
    model = Odd(20000, 120, read, names_window=False)
    done = place.run(model, "odd")
    assert "All done." in done.stdout
    assert model.refused_summaries >= 1 and model.summaries


# ---- 19

class Refuses(SmallModel):
    """Refuses in some rounds whatever it gets, until it is shorter by a tenth."""

    def __init__(self, rounds_refused, **how):
        super().__init__(1000000, 20, read, names_window=False, **how)
        self.rounds_refused, self.before = set(rounds_refused), None

    def __call__(self, body):
        if body.get("tools") and self.n_calls in self.rounds_refused:
            size = self.size(body)
            if self.before is None or size > self.before * 0.92:
                self.before = self.before or size
                self.refused.append(size)
                return self.refusal(size)
            self.rounds_refused.discard(self.n_calls)
            self.before = None
        return super().__call__(body)


def refused_thrice(place):
    place.files(20, 24000)
    model = Refuses([3, 9, 15])
    done = place.run(model, "thrice")
    assert "All done." in done.stdout and len(model.refused) >= 3, model.refused


def refused_for_ever(place):
    """What cannot shrink ends the turn, and the largest part is named."""
    place.files(20, 8000)

    class Never(SmallModel):
        def __call__(self, body):
            if self.n_calls >= 2:
                self.refused.append(self.size(body))
                return self.refusal(self.size(body))
            return super().__call__(body)
    model = Never(1000000, 20, read, names_window=False)
    done = place.run(model, "never", expect=4)
    assert len(model.refused) <= 12, len(model.refused)
    assert "its largest part is the" in done.stderr, done.stderr


def refused_result(place):
    """One result that is longer than the whole window is shortened, and the work goes on."""
    place.set_models({"tiny": {"context_window": 16000}})
    with open(os.path.join(place.workspace, "f1.txt"), "w", encoding="utf-8") as file:
        file.write("".join(f"line {i} of a long file, with words in it\n" for i in range(1900)))
    model = SmallModel(16000, 1, read)
    done = place.run(model, "tiny")
    assert "All done." in done.stdout and not model.refused, (model.sizes, done.stderr)


# ---- 20

def learned_number(place):
    """"maximum context length is 32768": the next compaction comes before that, also in the next
    process."""
    place.files(30, 8000)
    model = SmallModel(32768, 30, read)
    place.run(model, "unseen-a")
    assert len(model.refused) == 1, model.refused
    assert place.learned()["openai/unseen-a"] == 32768
    model = SmallModel(32768, 30, read)
    place.run(model, "unseen-a")  # another server: nothing is known about it
    assert len(model.refused) <= 1


def learned_same_server(place):
    """The next process at the same server makes no request that is too long."""
    place.files(30, 8000)
    model = SmallModel(32768, 30, read)
    with Server(model) as server:
        env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                   OPENAI_API_KEY="key-of-windows-1")
        for refused in (1, 1):
            model.n_calls = 0
            done = subprocess.run([PROGRAM, "run", "--mode", "danger-full-access", "--model",
                                   "openai/unseen-b", "work"], cwd=place.workspace, env=env,
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
            assert done.returncode == 0, done.stderr
            assert len(model.refused) == refused, model.refused


def learned_guess(place):
    """A refusal without a number: less than what was refused, not less than what was accepted."""
    place.files(30, 8000)
    model = SmallModel(20000, 30, read, names_window=False)
    place.run(model, "unseen-c")
    accepted = max(s for s in model.sizes if s <= 20000)
    assert len(model.refused) <= 2 and accepted > 10000, (model.refused, accepted)
    assert 10000 < place.learned()["openai/unseen-c"] < 22000, place.learned()


TESTS = [small_window, miscounted, switched_off, masked, masked_in_batches, not_masked,
         summary_fails, summary_holds, summary_too_long, refused_thrice, refused_for_ever,
         refused_result, learned_number, learned_same_server, learned_guess]


def main():
    passed = failed = 0
    for test in TESTS:
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            os.environ["TRIVET_SANDBOX"] = "off"
            try:
                test(Place(base))
                passed += 1
            except Exception as why:  # noqa: BLE001
                print(f"{test.__name__}: {type(why).__name__} {str(why)[:700]}")
                failed += 1
    harness.finish(passed, failed)


main()
