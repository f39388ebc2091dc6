#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""`trivet run` on a real terminal: a call that a rule wants asked is asked there, and the answer
counts: yes, no, the like in this session, and a terminal that hangs up.
"""
import json
import os
import pty
import select
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
SCENE = {"rounds": [[{"call": "bash", "args": {"command": "touch one"}}],
                    [{"call": "bash", "args": {"command": "touch two"}}], [{"say": "over"}]]}


class Terminal:
    def __init__(self, cwd, env, *flags):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(PROGRAM, ["trivet", "run", "-m", "rehearsal/scene.json", *flags, "go"], env)
        self.seen = ""

    def until(self, word, seconds=30):
        """Reads until the word stands in what came since the last time."""
        end = time.monotonic() + seconds * harness.slow()
        while word not in self.seen:
            ready = select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]
            assert ready, f"{word!r} did not come; seen: {self.seen!r}"
            data = os.read(self.fd, 4096)
            assert data, f"the end came before {word!r}: {self.seen!r}"
            self.seen += data.decode()
        before, _, self.seen = self.seen.partition(word)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def answer(self, text):
        """After the time in which nothing is an answer."""
        time.sleep(0.4)
        self.type(text)

    def status(self):
        end = time.monotonic() + 30 * harness.slow()
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("it did not end")


def play(base, name, answers, files, flags=("--ask", "bash")):
    """Types the answers to the questions as they come; `files` are there in the end."""
    workspace = os.path.join(base, name)
    os.mkdir(workspace)
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump(SCENE, file)
    term = Terminal(workspace, harness.clean_env(os.path.join(base, name + "-home")), *flags)
    for answer in answers:
        term.until("n  no: ")
        term.answer(answer)
    term.until("over")
    assert term.status() == 0
    os.close(term.fd)
    there = sorted(n for n in os.listdir(workspace) if n != "scene.json")
    assert there == files, f"{there} instead of {files}"


def start(base, name, rounds, *flags):
    workspace = os.path.join(base, name)
    os.mkdir(workspace)
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": rounds}, file)
    return workspace, Terminal(workspace, harness.clean_env(os.path.join(base, name + "-home")), *flags)


def words(base):
    """What is asked stands there once, with the reason and the rule."""
    _, term = start(base, "words", [[{"call": "bash", "args": {"command": "touch one\ntouch two"}}],
                                    [{"say": "over"}]], "--mode", "prompt")
    seen = term.until("n  no: ").replace("\r\n", "\n")
    wanted = ("? bash wants to run\n  touch one\n  touch two\nprompt mode asks before each change\n"
              "y  once   s  this session: bash(touch)   ")
    assert seen.endswith(wanted) and seen.count("touch one") == 1, seen
    term.answer("n\n")
    term.until("over")
    assert term.status() == 0
    os.close(term.fd)


def elsewhere(base):
    """A yes, and a rule for the very file, let a file tool write outside of the workspace, but neither
    a rule for the tool alone, nor into a guarded place, nor where the sandbox is required."""
    place = os.path.realpath(os.path.join(base, "else"))
    os.mkdir(place)

    asked = []

    def write(path, content):
        return [{"call": "write_file", "args": {"path": path, "content": content}}]

    def go(name, writes, answers, *flags):
        rounds = [*writes, [{"call": "bash", "args": {"command": "true"}}], [{"say": "over"}]]
        _, term = start(base, name, rounds, "--allow", "bash(true)", *flags)
        for answer in answers:
            asked.append(term.until("n  no: "))
            assert "wants to change" in asked[-1]
            term.answer(f"{answer}\n")
        seen = term.until("over")
        term.status()
        os.close(term.fd)
        return seen, sorted(os.listdir(place))

    seen, there = go("asked", [write(f"{place}/a", "1"), write(f"{place}/b", "2"), write(f"{place}/b", "3"),
                               write(".git/hooks/post-commit", "x")], "nsy", "--mode", "prompt")
    assert there == ["b"] and "does not let tools write there" in seen, (there, seen)
    with open(f"{place}/b", encoding="utf-8") as file:
        assert file.read() == "3"
    link = {"call": "bash", "args": {"command": f"ln -s {place}/b notes.md"}}
    seen, there = go("link", [[link], write("notes.md", f"see {place}/b")], "n", "--ask-beyond")
    assert f"wants to change notes.md\r\n  + see {place}/b\r\n  it leads to {place}/b\r\n" in asked[-1], asked
    one = [write(f"{place}/c", "1")]
    seen, there = go("tool", one, "", "--allow", "write_file")
    assert there == ["b"] and "does not let tools write there" in seen, (there, seen)
    seen, there = go("required", one, "", "--allow", f"write_file({place}/c)", "--sandbox", "require")
    assert there == ["b"], (there, seen)
    seen, there = go("both", [write(f"{place}/d", "1")], "", "--allow", f"write_file({place}/**)",
                     "--deny", f"write_file({place}/d)")
    assert there == ["b"], (there, seen)
    seen, there = go("rule", one, "", "--allow", f"write_file({place}/c)")
    assert there == ["b", "c"], (there, seen)


def see_all(base):
    """A long command is shown to its end, and its orders to the terminal as text."""
    workspace = os.path.join(base, "all")
    os.mkdir(workspace)
    command = "echo \x9b2K\u202e" + "x" * 300 + " ; echo danger"
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": [[{"call": "bash", "args": {"command": command}}],
                              [{"say": "over"}]]}, file)
    term = Terminal(workspace, harness.clean_env(os.path.join(base, "all-home")), "--ask", "bash")
    seen = term.until("n  no: ")
    question = seen[seen.index("\n? ") + 1:].replace("\r\n", "")
    assert "echo danger" in question, question
    assert "\\u009b2K\\u202exxx" in question, question
    assert "\x9b" not in seen and "\u202e" not in seen, seen
    term.answer("n\n")
    term.until("over")
    assert term.status() == 0
    os.close(term.fd)


def ahead(base):
    """What was typed before the question is no answer, with and without its line end."""
    workspace = os.path.join(base, "ahead")
    os.mkdir(workspace)
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump(SCENE, file)
    term = Terminal(workspace, harness.clean_env(os.path.join(base, "ahead-home")), "--ask", "bash")
    term.type("y\ny\na\ny")
    for _ in SCENE["rounds"][:2]:
        term.until("n  no: ")
        term.answer("\n")
    term.until("over")
    assert term.status() == 0
    os.close(term.fd)
    assert os.listdir(workspace) == ["scene.json"], "text from before the question answered it"


def at_once(base):
    """Nor is what comes as soon as it stands there; the question is asked again."""
    def attempt(i, tick):
        return type_fast(base, f"soon-{i}", tick)

    seen = harness.unhurried(attempt)
    if seen:
        text, files = seen
        assert "type it again" in text, text
        assert files == ["scene.json"], "it was answered at once"


def type_fast(base, name, tick):
    workspace = os.path.join(base, name)
    os.mkdir(workspace)
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": [SCENE["rounds"][0], SCENE["rounds"][2]]}, file)
    term = Terminal(workspace, harness.clean_env(os.path.join(base, name + "-home")), "--ask", "bash")
    while "type it again" not in term.seen and "over" not in term.seen:
        term.type("y\n")
        tick()
        if select.select([term.fd], [], [], 0.01)[0]:
            term.seen += os.read(term.fd, 4096).decode()
    seen = term.seen
    if "over" not in seen:
        term.answer("n\n")
        term.until("over")
    assert term.status() == 0
    os.close(term.fd)
    return seen, os.listdir(workspace)


def hang_up(base):
    """Closing the terminal ends the program: nobody is left to ask."""
    workspace = os.path.join(base, "gone")
    os.mkdir(workspace)
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump(SCENE, file)
    term = Terminal(workspace, harness.clean_env(os.path.join(base, "gone-home")), "--ask", "bash")
    term.until("n  no: ")
    os.close(term.fd)
    assert term.status() != 0
    assert os.listdir(workspace) == ["scene.json"]


CASES = {
    "yes": lambda base: play(base, "yes", ["y\n", "YES\n"], ["one", "two"]),
    "no": lambda base: play(base, "no", ["n\n", "\n"], []),
    "mixed": lambda base: play(base, "mixed", ["n\n", "y\n"], ["two"]),
    "beyond the mode": lambda base: play(base, "beyond", ["y\n", "n\n"], ["one"],
                                         ("--mode", "prompt")),
    "in this session": lambda base: play(base, "session", ["s\n"], ["one", "two"], ("--mode", "prompt")),
    "always is no answer": lambda base: play(base, "always", ["a\n", "n\n"], [], ("--mode", "prompt")),
    "in the words of the chat": words,
    "files elsewhere": elsewhere,
    "all is seen": see_all,
    "typed ahead": ahead,
    "typed at once": at_once,
    "hang-up": hang_up,
}


def main():
    passed = failed = 0
    with harness.private_place() as base:
        for name, case in CASES.items():
            try:
                case(base)
                passed += 1
            except (AssertionError, OSError) as why:
                print(f"{name}: {why}")
                failed += 1
    harness.finish(passed, failed)


main()
