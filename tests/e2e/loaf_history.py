#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Saved chats of a loaf installation: listed, opened, continued, and still readable by loaf.

The directory is composed from what is known of loaf's files (loaf 161-174), with everything
that its reader tolerates and everything that it refuses.  `read_like_loaf` is that reader, written
from the same facts: whatever trivet writes must pass it.

covers: loaf 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174
"""
import base64
import glob
import json
import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fake"))
import harness  # noqa: E402
import provider  # noqa: E402
from client import Loaf  # noqa: E402

LEVELS = ("OFF", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
PNG = base64.b64encode(b"\x89PNG not really").decode()
counts = [0, 0]


def check(name, good, detail=""):
    counts[0 if good else 1] += 1
    if not good:
        print(f"FAIL {name}: {detail}", flush=True)


# ---- loaf's reader and writer ----

def is_image(v):
    return isinstance(v, dict) and isinstance(v.get("path"), str) and v.get("mimeType") \
        and str(v.get("dataUrl", "")).startswith("data:") and v.get("byteSize", -1) >= 0


def read_like_loaf(path, providers=("openai", "openrouter", "antigravity")):
    """(meta, messages) as loaf understands the file; None when it is no chat to it."""
    meta, messages = None, []
    with open(path, "rb") as file:
        text = file.read().decode(errors="replace")
    for line in text.replace("\r\n", "\n").split("\n"):
        try:
            v = json.loads(line)
        except ValueError:
            continue
        if not isinstance(v, dict):
            continue
        if v.get("type") == "session_meta" and all(v.get(k) for k in ("id", "title", "model")) \
                and v.get("provider") in providers and v.get("thinkingLevel") in LEVELS:
            meta = v
        if v.get("type") == "message" and v.get("role") in ("user", "assistant"):
            said = str(v.get("text") or "").strip()
            images = [i for i in v.get("images", []) if is_image(i)] if v["role"] == "user" else []
            if said or images:
                messages.append({"role": v["role"], "text": said,
                                 **({"images": images} if images else {})})
    return (meta, messages) if meta else None


def meta_line(ident, updated, title="a chat", n=2, **more):
    return {"type": "session_meta", "id": ident, "title": title, "provider": "openrouter",
            "model": "acme/alpha", "thinkingLevel": "MEDIUM", "openRouterProvider": "any",
            "createdAt": "2026-01-02T03:04:05.678Z", "updatedAt": updated, "messageCount": n, **more}


def message_lines(*texts):
    return [{"type": "message", "index": i, "role": ("user", "assistant")[i % 2], "text": text}
            for i, text in enumerate(texts)]


class History:
    """A sessions directory."""

    def __init__(self, home):
        self.dir = os.path.join(home, ".loaf", "sessions", "2026", "01", "02")
        os.makedirs(self.dir)

    def path(self, name):
        return os.path.join(self.dir, f"rollout-20260102-030405678-{name}.jsonl")

    def write(self, name, lines, end="\n", newline="\n"):
        text = newline.join(v if isinstance(v, str) else json.dumps(v, separators=(",", ":"))
                            for v in lines) + end
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return self.path(name)


ONE, TWO, THREE, FOUR = (f"{c}0000000-0000-4000-8000-000000000000" for c in "abcd")
FIVE = "abcdef00-0000-4000-8000-000000000000"


def compose(home):
    """Five chats, and everything that is none."""
    h = History(home)
    h.write(ONE, [meta_line(ONE, "2026-01-02T03:05:00.000Z", "fix the build"),
                  *message_lines("fix the build", "done")])
    h.write(TWO, [meta_line(TWO, "2026-01-05T00:00:00.000Z", "odd lines", 9), "", "not json", "[1]",
                  '{"type":"message","role":"system","text":"no"}', '{"type":"later","x":1}',
                  '{"type":"message","role":"user","text":"  "}', "{\"half\":",
                  *message_lines("one", "two", "three")], newline="\r\n")
    image = {"path": "/tmp/a.png", "mimeType": "image/png", "byteSize": 15,
             "dataUrl": f"data:image/png;base64,{PNG}"}
    h.write(THREE, [meta_line(THREE, "2026-01-03T00:00:00.000Z", "old title"),
                    {"type": "message", "index": 0, "role": "user", "text": "look",
                     "images": [image, {"path": "x"}, "junk"]},
                    *message_lines("", "a picture")[1:],
                    meta_line(THREE, "2026-01-04T00:00:00.000Z", "last meta counts")])
    h.write(FOUR, [meta_line(FOUR, "2026-01-01T00:00:00.000Z", provider="openai", model="gpt-5",
                             openRouterProvider=None), *message_lines("no newline", "at the end")],
            end="")
    h.write(FIVE, [meta_line(FIVE, "someday", "bad date"), *message_lines("when", "now")])
    return h


def add_broken(h):
    """Names of files that a list must report."""
    h.write("sidecar.compact.events", ['{"index":0,"type":"user_msg"}'])
    with open(h.path("sidecar").replace(".jsonl", ".compact.state.json"), "w",
              encoding="ascii") as file:
        file.write("{}")
    os.makedirs(h.path("directory"))
    os.symlink(h.path(ONE), h.path("link"))
    with open(os.path.join(h.dir, "other.jsonl"), "w", encoding="ascii") as file:
        file.write("{}\n")
    h.write("nometa", message_lines("who", "am i"))
    h.write("lower", [meta_line("e", "2026-01-01T00:00:00.000Z", thinkingLevel="medium")])
    h.write("stranger", [meta_line("f", "2026-01-01T00:00:00.000Z", provider="mystery")])
    h.write("untitled", [{k: v for k, v in meta_line("g", "").items() if k != "model"}])
    with open(h.path("garbage"), "wb") as file:
        file.write(os.urandom(5000))
    h.write("empty", [], end="")
    return ["nometa", "lower", "stranger", "untitled", "garbage", "empty"]


# ---- listing and getting ----

def test_list(c, h):
    broken = add_broken(h)
    output = c.call("history.list")
    check("newest first", [s["id"] for s in output["sessions"]] == [FIVE, TWO, THREE, ONE, FOUR],
          output["sessions"])
    check("total", output["total"] == 5 and output["cursor"] == 0 and output["limit"] == 100 and
          output["next_cursor"] is None, output)
    for name in broken:
        check(f"{name} is reported", any(h.path(name) in e for e in output["errors"]), output["errors"])
    check("and nobody else", len(output["errors"]) == len(broken), output["errors"])
    for s in output["sessions"]:
        meta, messages = read_like_loaf(s["rolloutPath"])
        check(f"summary of {s['title']}",
              s["title"] == meta["title"] and s["messageCount"] == len(messages) and
              s["provider"] == meta["provider"] and s["model"] == meta["model"], s)


def test_pages(c):
    seen, cursor = [], 0
    while cursor is not None:
        page = c.call("history.list", {"limit": 2, "cursor": cursor})
        seen += [s["id"] for s in page["sessions"]]
        cursor = page["next_cursor"]
    check("pages", seen == [FIVE, TWO, THREE, ONE, FOUR], seen)
    for given, limit, n in ((0, 100, 5), (-7, 1, 1), (2.9, 2, 2), (None, 100, 5), (1e300, None, 5)):
        output = c.call("history.list", {"limit": given})
        check(f"limit {given}", len(output["sessions"]) == n and limit in (None, output["limit"]), output)
    for given, cursor, n in ((-3, 0, 5), (4.7, 4, 1), (99, 99, 0)):
        output = c.call("history.list", {"cursor": given})
        check(f"cursor {given}", len(output["sessions"]) == n and output["cursor"] == cursor and
              output["next_cursor"] is None, output)


def fails(c, params):
    try:
        c.call("history.get", params)
    except RuntimeError as error:
        return str(error)
    return None


def test_get(c, h):
    for ident in (ONE, TWO, THREE, FOUR, FIVE):
        _, messages = read_like_loaf(h.path(ident))
        got = c.call("history.get", {"id": f" {ident.upper()} "})
        check(f"messages of {ident[:2]}", got["messages"] == messages, got["messages"])
    check("prefix", c.call("history.get", {"id": "B0"})["id"] == TWO)
    check("ambiguous prefix", fails(c, {"id": "a"}) == "no saved chat matched id: a")
    check("unknown id", fails(c, {"id": "zz"}) == "no saved chat matched id: zz")
    check("nothing asked", fails(c, {}) == "history.get requires one of: id, last, rollout_path")
    check("last", c.call("history.get", {"last": True, "id": "b0",
                                         "rollout_path": h.path(ONE)})["id"] == FIVE)
    check("path before id", c.call("history.get", {"id": "b0", "last": False,
                                                   "rollout_path": h.path(ONE)})["id"] == ONE)
    check("no such file", fails(c, {"rollout_path": "/nowhere/x"}) ==
          "failed to load chat: /nowhere/x")
    check("no chat", fails(c, {"rollout_path": h.path("garbage")}) ==
          f"failed to load chat: {h.path('garbage')}")


# ---- continuing ----

def say(c, session, text, **more):
    c.call("session.send", {"session_id": session, "text": text, **more})
    c.event("session.status", session, status_label="ready")


def resume(c, session, what):
    return c.call("command.execute", {"session_id": session, "raw_command": f"/history {what}"})


def check_file(name, path, want, title=None):
    """What loaf would read; everything else in the file is a record that it skips."""
    meta, messages = read_like_loaf(path)
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file.read().splitlines()]
    check(f"{name}: loaf reads it", [m["text"] for m in messages] == want, messages)
    check(f"{name}: numbered",
          [v["index"] for v in lines if "index" in v] == list(range(len(messages))), lines)
    check(f"{name}: count", meta["messageCount"] == len(messages), meta)
    check(f"{name}: title", title is None or meta["title"] == title, meta)
    check(f"{name}: mode", os.stat(path).st_mode & 0o777 == 0o600)
    check(f"{name}: nothing beside it",
          not [p for p in glob.glob(path.replace(".jsonl", "*")) if p != path])
    return meta


def test_continue(c, h, server):
    session = c.call("session.create")["session_id"]
    check("resumed", resume(c, session, "A0")["output"] == {"resumed": ONE})
    changed = c.heard[-2]["params"]
    check("session_resumed", changed["type"] == "state.changed" and
          changed["payload"]["reason"] == "session_resumed" and
          changed["payload"]["snapshot"]["model"]["selectedThinking"] == "MEDIUM", changed)
    state = c.call("session.get", {"session_id": session})
    check("history is there", [m["text"] for m in state["history"]] == ["fix the build", "done"])
    check("messages are there", [m["kind"] for m in state["messages"]] == ["user", "assistant"])
    check("link", state["activeSessionId"] == ONE and state["conversationProvider"] == "openrouter")
    say(c, session, "and the tests?")
    meta = check_file("continued", h.path(ONE),
                      ["fix the build", "done", "and the tests?", "Answer 1."], "fix the build")
    check("same chat", meta["id"] == ONE and meta["createdAt"] == "2026-01-02T03:04:05.678Z" and
          meta["updatedAt"] > "2026-02", meta)
    asked = server.log[-1]["body"] if "body" in server.log[-1] else server.log[-2]["body"]
    check("the model got it all", [m["content"] for m in asked["messages"][1:]
                                   if not m["content"].startswith("<environment>")] ==
          ["fix the build", "done", "and the tests?"], asked)
    resume(c, session, THREE)
    say(c, session, "thanks", images=[{"data_url": f"data:image/png;base64,{PNG}", "path": "b.png"}])
    check_file("pictures", h.path(THREE), ["look", "a picture", "thanks [Image 1]", "Answer 2."])
    _, messages = read_like_loaf(h.path(THREE))
    check("inline", messages[0]["images"][0]["dataUrl"] == f"data:image/png;base64,{PNG}" and
          messages[2]["images"][0]["path"] == "b.png", messages)
    check("chats that were not touched stay as they were",
          read_like_loaf(h.path(TWO))[0]["title"] == "odd lines")
    check("order follows", [s["id"] for s in c.call("history.list")["sessions"]][:2] in
          ([THREE, ONE], [FIVE, THREE]))


def test_no_newline(c, h):
    session = c.call("session.create")["session_id"]
    resume(c, session, FOUR)
    c.call("model.select", {"model_id": "acme/alpha", "provider": "openrouter",
                            "thinking_level": "OFF"})
    say(c, session, "go on")
    _, messages = read_like_loaf(h.path(FOUR))
    check("a last line without newline is kept or summarised, never lost",
          [m["text"] for m in messages][-2] == "go on" and "Summary" in messages[0]["text"],
          messages)


# ---- what we write from the beginning ----

def test_new_chats(c, home):
    files = lambda: set(glob.glob(f"{home}/.loaf/sessions/*/*/*/*"))  # noqa: E731
    before = files()
    session = c.call("session.create")["session_id"]
    check("nothing before the first prompt", files() == before)
    long = "word " * 40
    say(c, session, f"  {long}\n\tend ")
    path = (files() - before).pop()
    check_file("new", path, [f"{long}\n\tend", "Answer."], ("word " * 40)[:77] + "...")
    say(c, session, "second")
    check_file("second turn", path, [f"{long}\n\tend", "Answer.", "second", "Answer."],
               ("word " * 40)[:77] + "...")
    named = c.call("session.create", {"title": "My Session"})["session_id"]
    say(c, named, "x")
    check("given title", read_like_loaf((files() - before - {path}).pop())[0]["title"] ==
          "My Session")
    before = files()
    picture = c.call("session.create")["session_id"]
    say(c, picture, "", images=[{"data_url": f"data:image/png;base64,{PNG}", "path": "/x/cat.png"}])
    check("title of a picture", read_like_loaf((files() - before).pop())[0]["title"] ==
          "image: cat.png")
    before = files()
    broken = c.call("session.create")["session_id"]
    say(c, broken, "fail")
    check("a first turn that fails leaves no file", files() == before, files() - before)
    chat_before = read_like_loaf(path)
    say(c, session, "fail")
    meta, messages = read_like_loaf(path)
    added = ("trivet_settles",)
    check("a failed turn leaves the chat as it was", messages == chat_before[1] and
          all(meta[k] == v for k, v in chat_before[0].items() if k not in added), (meta, messages))


def test_shared(c, home):
    """A chat in two sessions is one conversation, until one of them lets it go."""
    one, two = (c.call("session.create")["session_id"] for _ in range(2))
    say(c, one, "shared")
    chat = c.call("session.get", {"session_id": one})["activeSessionId"]
    resume(c, two, chat)
    c.call("session.send", {"session_id": two, "text": "from two"})
    for session in (one, two):
        c.event("session.status", session, status_label="ready")
    history = [[m["text"] for m in c.call("session.get", {"session_id": s})["history"]]
               for s in (one, two)]
    check("shared", history == [["shared", "Answer.", "from two", "Answer."]] * 2, history)
    c.call("session.send", {"session_id": one, "text": "stall"})
    c.event("session.stream.chunk", two)
    c.call("history.clear_session", {"session_id": two})
    check("the one that lets go gets the end",
          any(m.get("params", {}).get("type") == "session.interrupted" and
              m["params"]["payload"]["session_id"] == two for m in c.heard[-9:]), c.heard[-9:])
    state = c.call("session.get", {"session_id": one})
    check("the other goes on", state["pending"] and len(state["history"]) == 4, state)
    say(c, two, "alone")
    check("and knows nothing of it", [m["text"] for m in c.call(
        "session.get", {"session_id": two})["history"]] == ["alone", "Answer."])
    c.call("session.interrupt", {"session_id": one})
    c.event("session.status", one, status_label="ready")
    path, = glob.glob(f"{home}/.loaf/sessions/*/*/*/*{chat}.jsonl")
    texts = [m["text"] for m in read_like_loaf(path)[1]]
    check("one file", texts[:5] == ["shared", "Answer.", "from two", "Answer.", "stall"], texts)


def test_resumed_together(c):
    """Commands for one session that come together: each finds a session that is there."""
    session = c.call("session.create")["session_id"]
    say(c, session, "together")
    chat = c.call("session.get", {"session_id": session})["activeSessionId"]
    for _ in range(3):
        c.call("history.clear_session", {"session_id": session})
        asked = {c.ask("command.execute", {"session_id": session, "raw_command": f"/history {chat}"})
                 for _ in range(4)}
        answers = [c.until(lambda m: m.get("id") in asked) for _ in asked]
        check("resumed together",
              all(a.get("result", {}).get("output") == {"resumed": chat} for a in answers), answers)
        texts = [m["text"] for m in c.call("session.get", {"session_id": session})["history"]]
        check("once", texts == ["together", "Answer."], texts)


def test_killed(env, work, home):
    """A process that dies in a turn: the prompt is there, and nothing else is lost."""
    with Loaf(cwd=work, env=env) as c:
        session = c.call("session.create")["session_id"]
        say(c, session, "before the crash")
        chat = c.call("session.get", {"session_id": session})["activeSessionId"]
        c.call("session.send", {"session_id": session, "text": "stall"})
        c.event("session.stream.chunk", session)
        c.process.send_signal(signal.SIGKILL)
        c.process.wait()
    path, = glob.glob(f"{home}/.loaf/sessions/*/*/*/*{chat}.jsonl")
    check("loaf reads what was before", [m["text"] for m in read_like_loaf(path)[1]] ==
          ["before the crash", "Answer."])
    with Loaf(cwd=work, env=env) as c:
        got = c.call("history.get", {"id": chat})
        check("the prompt is there", [m["text"] for m in got["messages"]][:3] ==
              ["before the crash", "Answer.", "stall"], got["messages"])
        session = c.call("session.create")["session_id"]
        resume(c, session, chat)
        say(c, session, "after it")
        texts = [m["text"] for m in read_like_loaf(path)[1]]
        check("continued after the crash", texts[:3] == ["before the crash", "Answer.", "stall"] and
              texts[-2:] == ["after it", "Answer."], texts)
        check_file("after the crash", path, texts)


def refused(c, session, text):
    try:
        c.call("session.send", {"session_id": session, "text": text})
    except RuntimeError as error:
        return str(error)
    return None


def test_two_writers(env, work, home):
    """Another process, or loaf itself, writes the chat: it is read again before anything is added."""
    with Loaf(cwd=work, env=env) as a, Loaf(cwd=work, env=env) as b:
        one = a.call("session.create")["session_id"]
        say(a, one, "from a")
        chat = a.call("session.get", {"session_id": one})["activeSessionId"]
        path, = glob.glob(f"{home}/.loaf/sessions/*/*/*/*{chat}.jsonl")
        two = b.call("session.create")["session_id"]
        resume(b, two, chat)
        a.call("session.send", {"session_id": one, "text": "stall"})
        a.event("session.stream.chunk", one)
        check("busy elsewhere", "is open in another process" in str(refused(b, two, "too early")))
        a.call("session.interrupt", {"session_id": one})
        a.event("session.status", one, status_label="ready")
        said = [m["text"] for m in read_like_loaf(path)[1]]
        say(b, two, "from b")
        say(a, one, "a again")
        check_file("both", path, said + ["from b", "Answer.", "a again", "Answer."])
        texts = [m["text"] for m in a.call("session.get", {"session_id": one})["history"]]
        check("a knows what b said", texts == said + ["from b", "Answer.", "a again", "Answer."], texts)
        a.close()
        meta, messages = read_like_loaf(path)
        meta = {k: v for k, v in meta.items() if not k.startswith("trivet")}
        meta["updatedAt"] = "2037-01-01T00:00:00.000Z"
        with open(path + ".new", "w", encoding="utf-8") as file:
            for v in [meta, *message_lines(*(m["text"] for m in messages), "from loaf", "Loaf.")]:
                file.write(json.dumps(v) + "\n")
        os.rename(path + ".new", path)
        say(b, two, "end")
        check_file("all three", path, said + ["from b", "Answer.", "a again", "Answer.", "from loaf",
                                              "Loaf.", "end", "Answer."])


def test_damaged(env, work, home):
    """Chats with flipped, lost and doubled bytes: read as far as they go, and never the end of us."""
    rng = random.Random(20260102)
    h = History(os.path.join(home, "damaged"))
    good = h.write(ONE, [meta_line(ONE, "2026-01-09T03:05:00.000Z"), *message_lines("fine", "yes")])
    with open(h.path(ONE), "rb") as file:
        text = file.read()
    for n in range(300):
        body = bytearray(text)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(body) + 1)
            what = rng.randrange(4)
            if what == 0:
                body[at:at + 1] = bytes([rng.randrange(256)])
            elif what == 1:
                del body[at:]
            elif what == 2:
                body[at:at] = body[rng.randrange(len(body) + 1):]
            else:
                del body[at:at + rng.randrange(20)]
        with open(h.path(f"damaged-{n}"), "wb") as file:
            file.write(body)
    with Loaf(cwd=work, env={**env, "HOME": os.path.join(home, "damaged")}) as c:
        output = c.call("history.list", {"limit": 1000})
        paths = [s["rolloutPath"] for s in output["sessions"]]
        check("all are chats or trouble", output["total"] + len(output["errors"]) == 301, output["total"])
        check("the good one is listed", good in paths)
        read = {p: read_like_loaf(p) for p in glob.glob(f"{h.dir}/*")}
        wrong = [p for p, v in read.items() if (v is not None) != (p in paths)]
        check("as loaf judges them", not wrong, wrong[:3])
        for path in paths:
            got = c.call("history.get", {"rollout_path": path})["messages"]
            if got != read[path][1]:
                check(f"messages of {path}", False, (got, read[path][1]))
        session = c.call("session.create")["session_id"]
        resume(c, session, "last")
        say(c, session, "go on")
        check("and life goes on", c.close() == 0)


def main():
    replies = [{"match": "and the tests?", "text": "Answer 1."},
               {"match": "thanks", "text": "Answer 2."},
               {"match": "fail", "status": 400, "body": {"error": {"message": "no"}},
                "repeat": True},
               {"match": "stall", "text": "Partial text", "stall_after": 2, "repeat": True},
               {"text": "Answer.", "repeat": True}]
    with harness.private_place() as base, provider.Server(replies) as server:
        env = harness.clean_env(base)
        env.update(OPENROUTER_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                   OPENROUTER_API_KEY="test-key-123456", TRIVET_MODEL="openrouter/acme/alpha")
        os.environ.clear()
        os.environ.update(env)
        work = os.path.join(base, "work")
        os.makedirs(work)
        h = compose(env["HOME"])
        with Loaf(cwd=work) as c:
            test_list(c, h)
            test_pages(c)
            test_get(c, h)
            test_continue(c, h, server)
            test_no_newline(c, h)
            test_new_chats(c, env["HOME"])
            test_shared(c, env["HOME"])
            test_resumed_together(c)
            check("end", c.close() == 0)
            check("stderr", not harness.without_noise(c.stderr.decode()), c.stderr)
        test_killed(env, work, env["HOME"])
        test_two_writers(env, work, env["HOME"])
        test_damaged(env, work, env["HOME"])
    harness.finish(*counts)


main()
