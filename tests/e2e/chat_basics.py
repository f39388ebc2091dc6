#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
# LONG ROUNDS: Ctrl-Z stops the program
"""The chat on a terminal: answers stream into the scrollback, calls get a line, keys stop and end
it, and the terminal is as before whatever ends the process.
"""
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402
import tmux  # noqa: E402


def pids(pane):
    """The guard and the process that draws."""
    shell = int(pane.show("#{pane_pid}"))
    guard = int(subprocess.check_output(["pgrep", "-P", str(shell)]).split()[0])
    return guard, int(subprocess.check_output(["pgrep", "-P", str(guard)]).split()[0])


def answers(base):
    """A prompt, a call, an answer; then the same again; Ctrl-D ends it with the shell's prompt."""
    with tmux.Pane(base) as pane:
        with open(os.path.join(pane.workspace, "one.txt"), "w", encoding="utf-8") as file:
            file.write("x\n")
        pane.chat(model="rehearsal/default")
        pane.enter("list the files")
        pane.wait("one.txt")
        pane.wait("esc stops", gone=True)
        shown = pane.screen()
        assert "> list the files" in shown and "* glob_search  *" in shown, shown
        pane.enter("read one.txt")
        pane.wait("* read_file  one.txt")
        pane.wait("esc stops", gone=True)
        assert re.search(r"rehearsal/default  \d+/128k  workspace-write ", pane.live()[-1])
        pane.keys("C-d")
        pane.wait("to go on: trivet chat")
        pane.until(lambda s: s.rstrip("\n").split("\n")[-1] == "$")


def bare(base):
    """`trivet` alone on a terminal is the chat, with the prompt of the command line if there is one."""
    with tmux.Pane(base, TRIVET_MODEL="rehearsal/echo") as pane:
        pane.enter("$TRIVET")
        pane.wait("ctrl-d quits")
        pane.keys("C-d")
        pane.until(lambda s: s.strip().split("\n")[-1] == "$")
        pane.enter("$TRIVET chat hello from --model rehearsal/hello outside")
        pane.wait("> hello from outside")
        pane.wait("esc stops", gone=True)


def bare_with_options(base):
    """Options of the chat and a prompt of several words stand behind the bare name, too."""
    with tmux.Pane(base) as pane:
        pane.enter('$TRIVET -m rehearsal/echo "say this back"')
        pane.wait("say this back", where=lambda: pane.screen().partition("> say this back")[2])
        pane.idle(1)
        pane.enter("/quit")
        pane.wait("to go on: trivet chat -r")
        pane.enter("clear; $TRIVET --model=rehearsal/echo -c")
        pane.wait("say this back")
        pane.turn("once more")
        pane.enter("/quit")
        pane.wait("to go on")
        pane.enter('clear; $TRIVET "fix"; $TRIVET --hlep; $TRIVET fix the bug; $TRIVET --nothing "to do"')
        pane.until(lambda text: text.count("try: trivet --help") == 4)
        assert "unknown option --hlep: did you mean --help" in pane.screen(), pane.screen()


def streams(base):
    """Text is seen while it comes, what is typed meanwhile stays, Esc stops."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/slow")
        pane.enter("go")
        pane.wait("Slowly, word")
        assert "esc stops" in pane.screen()
        pane.type("half a thou")
        pane.wait("> half a thou")
        pane.keys("Escape")
        pane.wait("stopped")
        pane.wait("esc stops", gone=True)
        rows = pane.live()
        assert rows[-2] == "> half a thou", rows
        assert sum(row.startswith("rehearsal/slow") for row in rows) == 1, rows


def calls(base):
    """A failed command shows its status and last lines, a change its diff."""
    scene = {"rounds": [[{"call": "bash", "args": {"command": "seq 1 9; exit 3"}}],
                        [{"call": "write_file", "args": {"path": "a", "content": "one\ntwo\n"}}],
                        [{"call": "edit_file", "args": {"path": "a", "old_string": "two",
                                                        "new_string": "zwei"}}],
                        [{"say": "over"}]]}
    with tmux.Pane(base, rows=40) as pane:
        pane.chat(scene=scene)
        pane.enter("go")
        pane.wait("\nover")
        shown = pane.screen()
        assert re.search(r"\* bash  seq 1 9; exit 3 .*exit status 3\n  \.\.\. 6 more lines "
                         r"\(ctrl-o\)\n  7\n  8\n  9\n", shown), shown
        assert "* edit_file  a  +1 -1" in shown, shown
        assert "     2 - two\n     2 + zwei" in shown, shown


def hostile(base):
    """Orders to the terminal in an answer, in reasoning, in output and in arguments are shown."""
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eend"
    scene = {"rounds": [[{"think": evil}, {"say": evil}, {"call": "bash", "args": {
        "command": "printf '\\033]0;owned\\007\\033[2J'; : " + evil}}], [{"say": "over"}]]}
    with tmux.Pane(base, rows=40, TRIVET_CHAT_TITLE="off") as pane:
        title = pane.show("#{pane_title}")
        pane.enter("echo before")
        pane.chat(scene=scene)
        pane.enter("go")
        pane.wait("\nover")
        assert pane.show("#{pane_title}") == title
        assert "before" in pane.screen() and "\\u001b]0;owned\\u0007" in pane.screen()


def tells(base):
    """The title says what the chat does and is as before in the end; a bell and a notification when a
    question waits and when a long turn ends; a setting for each."""
    scene = {"turns": [{"when": "long", "rounds": [[{"wait_ms": 10200}, {"say": "long over"}]]}],
             "rounds": [[{"call": "bash", "args": {"command": "true"}}], [{"say": "all is over"}]]}

    def play(pane, *names):
        record = os.path.join(base, "-".join(["bytes", *names]))
        pane.record(record)
        pane.chat("--mode", "prompt", scene=scene)
        pane.enter("go")
        pane.wait("n  no")
        time.sleep(0.4)  # what comes at once is no answer
        seen = [pane.show("#{pane_title}")]
        pane.type("y")
        pane.wait("all is over")
        pane.idle(1)
        seen.append(pane.show("#{pane_title}"))
        pane.enter("long")
        pane.wait("working")
        seen.append(pane.show("#{pane_title}"))
        pane.idle(1)
        pane.keys("C-d")
        pane.wait("to go on")
        with open(record, "rb") as file:
            return seen, file.read()

    with tmux.Pane(base) as pane:
        evil = os.path.join(base, "we\x1b]0;ird\x07")
        os.makedirs(evil)
        pane.workspace = evil
        pane.enter("cd ../we*; clear")
        before = pane.show("#{pane_title}")
        seen, sent = play(pane)
        name = "we\\u001b]0;ird\\u0007 - trivet"
        assert [s.replace("\\\\", "\\") for s in seen] == ["? " + name, name, "* " + name], seen
        assert pane.show("#{pane_title}") == before, pane.show("#{pane_title}")
        notices = re.findall(rb"\x1b\]9;([^\x07]*)\x07", sent)
        assert notices[0] == b"trivet: bash waits for an answer", notices
        assert re.fullmatch(rb"trivet: the turn is over after 1\ds", notices[1].replace(b" s", b"s")), notices
        assert len(notices) == 2 and sent.count(b"\x07\x1b]9;") == 2
    off = {f"TRIVET_CHAT_{name}": "off" for name in ("TITLE", "BELL", "NOTIFY")}
    with tmux.Pane(os.path.join(base, "off"), **off) as pane:
        seen, sent = play(pane, "off")
        assert b"\x07" not in sent and b"\x1b]" not in sent and b"\x1b[2" + b"2;2t" not in sent


def interrupts(base):
    """Ctrl-C clears the line, twice it quits; while it works the first one stops."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/slow")
        pane.type("some words")
        pane.wait("> some words")
        pane.keys("C-c")
        pane.wait("some words", gone=True)
        time.sleep(2.2)
        pane.enter("go")
        pane.wait("Slowly")
        pane.keys("C-c")
        pane.wait("stopped")
        pane.keys("C-c")
        pane.wait("to go on: trivet chat")


def restored(base):
    """The modes of the terminal after SIGTERM, SIGKILL, a crash, and a dead guard."""
    with tmux.Pane(base) as pane:
        def good(words):
            assert "3" in words.split("\n"), words
            assert pane.show("#{cursor_flag} #{alternate_on} #{mouse_any_flag}") == "1 0 0"
        before = pane.stty()
        good(before)
        for who, signo in ((1, signal.SIGTERM), (0, signal.SIGTERM), (1, signal.SIGKILL),
                           (1, signal.SIGSEGV), (1, signal.SIGABRT), (0, signal.SIGKILL)):
            pane.enter("clear")
            pane.chat(model="rehearsal/slow")
            pane.enter("go")
            pane.wait("Slowly")
            both = pids(pane)
            os.kill(both[who], signo)
            if (who, signo) == (0, signal.SIGKILL):
                time.sleep(0.5 * harness.slow())
                pane.keys("Enter")  # the shell has drawn its prompt already
            pane.until(lambda s: re.search(r"^\$", s.rstrip("\n").split("\n")[-1]))
            end = time.monotonic() + 20 * harness.slow()
            while not all(harness.is_dead(p) for p in both):
                assert time.monotonic() < end, f"{both} live after {signo}"
                time.sleep(0.02)
            good(pane.stty())


def suspends(base):
    """Ctrl-Z gives the terminal to the shell, fg takes it back."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/slow")
        pane.enter("go")
        pane.wait("Slowly")
        pane.keys("C-z")
        pane.wait("Stopped")
        shown = pane.stty()
        assert "3" in shown.split("\n"), shown
        pane.enter("fg")
        pane.wait("esc stops")
        pane.type("typed after")
        pane.wait("> typed after")
        pane.keys("Escape")
        pane.wait("stopped")


def leaves_nothing(base):
    """A closed window ends the processes."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/slow")
        pane.enter("go")
        pane.wait("Slowly")
        both = pids(pane)
        pane.close()
        end = time.monotonic() + 20 * harness.slow()
        while not all(harness.is_dead(p) for p in both):
            assert time.monotonic() < end, "processes are left"
            time.sleep(0.02)


def without_terminal(base):
    """No terminal: words on stderr and exit 2."""
    env = harness.clean_env(base)
    for args in ([], ["chat"], ["chat", "hi"], ["-c"], ["say hello"]):
        done = subprocess.run([os.environ["TRIVET"], *args], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == "" and done.stderr, (args, done)


tmux.run([answers, bare, bare_with_options, streams, calls, hostile, tells, interrupts, restored, suspends, leaves_nothing,
          without_terminal])
