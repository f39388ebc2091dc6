#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""Commands of the chat, completion, the list of sessions; and the first minute without a model."""
import json
import os
import re
import stat
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "fake"))
import provider  # noqa: E402
import tmux  # noqa: E402

NOWHERE = {name: "http://127.0.0.1:9/v1" for name in (
    "OLLAMA_BASE_URL", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL")}


def sessions(pane):
    folder = os.path.join(pane.env["XDG_STATE_HOME"], "trivet/sessions")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(name for name in names if name.endswith(".jsonl"))


def helps(base):
    """? lists the keys, /help the commands, a wrong one names the nearest."""
    with tmux.Pane(base, rows=60) as pane:
        pane.chat(model="rehearsal/echo")
        pane.type("?")
        pane.wait("Shift-Tab")
        assert "in $PAGER" in pane.screen() and "`" not in pane.screen(), pane.screen()
        pane.enter("/help")
        pane.wait("/permissions")
        pane.enter("/hlep")
        pane.wait("there is no command /hlep; did you mean /help?")
        pane.turn("/etc/passwd is a file")
        assert pane.screen().count("/etc/passwd is a file") >= 2
        pane.enter("/quit")
        pane.wait("to go on")


def completes(base):
    """Commands, values, files; arrows choose, Tab takes, Esc leaves."""
    with tmux.Pane(base) as pane:
        os.makedirs(os.path.join(pane.workspace, "src"))
        for name in ("code.c", "src/main.c"):
            open(os.path.join(pane.workspace, name), "w", encoding="utf-8").close()
        pane.chat(model="rehearsal/echo")
        pane.type("/eff")
        pane.wait("how hard the model thinks")
        pane.keys("Tab")
        pane.wait("  > off")
        pane.type("hi")
        pane.wait("> high")
        pane.keys("Tab", "Enter")
        pane.wait("rehearsal/echo high")
        pane.type("look at @co")
        pane.wait("> code.c")
        pane.keys("Tab")
        pane.type("and @s")
        pane.wait("> src/")
        pane.keys("Tab")
        pane.wait("> src/main.c")
        pane.keys("Escape")
        pane.wait("> src/main.c", gone=True)
        assert "> look at @code.c and @src/" in pane.screen(), pane.screen()
        pane.keys("C-u")
        pane.type("/s")
        pane.wait("choose an earlier session")
        pane.keys("Down", "Tab")
        pane.until(lambda s: re.search(r"> /(skills|status)", s))


def finds_files(base):
    """A name behind @ is looked for below the whole workspace, in any number of files, without what
    ignore files leave out; the loop stays free."""
    with tmux.Pane(base) as pane:
        for i in range(300):
            folder = os.path.join(pane.workspace, f"part{i % 20}", f"many{i}")
            os.makedirs(folder)
            for k in range(100):
                open(os.path.join(folder, f"file{k}.txt"), "w", encoding="utf-8").close()
        for name in ("lib/add.c", "lib/deep/address book.c", "lib/ladder.c", "out/add.c", ".github/address.yml",
                     ".git/addition", ".gitignore"):
            os.makedirs(os.path.dirname(os.path.join(pane.workspace, name)), exist_ok=True)
            with open(os.path.join(pane.workspace, name), "w", encoding="utf-8") as file:
                file.write("out/\n" if name == ".gitignore" else "")
        pane.chat(model="rehearsal/echo")
        pane.type("see @add")
        pane.wait("  > lib/add.c\n    lib/ladder.c\n    .github/address.yml\nrehearsal")
        pane.keys("Tab")
        pane.type("and @many299/FILE77")
        pane.wait("  > part19/many299/file77.txt\n")
        pane.keys("C-w")
        pane.type("@ldrc")
        pane.wait("  > lib/ladder.c\nrehearsal")
        pane.keys("C-w")
        pane.type("@nothing-like-it")
        pane.wait("  > ", gone=True)
        pane.keys("C-w")
        pane.tmux("send-keys", "-l", "@f42.tx", ";", "send-keys", "Tab")  # Tab comes before the names
        pane.wait("> see @lib/add.c and @part0/many0/file42.txt")
        open(os.path.join(pane.workspace, "lib/added.c"), "w", encoding="utf-8").close()
        time.sleep(2.1)
        pane.type("@added")
        pane.wait("  > lib/added.c")


def looks(base):
    """/status, /tools, /cost, /permissions, /memory, /skills."""
    with tmux.Pane(base, rows=60) as pane:
        with open(os.path.join(pane.workspace, "AGENTS.md"), "w", encoding="utf-8") as file:
            file.write("be kind\n")
        skill = os.path.join(pane.workspace, ".agents/skills/tidy")
        os.makedirs(skill)
        subprocess.run(["git", "init", "-q", pane.workspace], check=True)
        with open(os.path.join(skill, "SKILL.md"), "w", encoding="utf-8") as file:
            file.write("---\nname: tidy\ndescription: cleans up\n---\nsweep\n")
        pane.chat("--deny", "'bash(rm)'", model="rehearsal/default")
        pane.turn("hello")
        for command, words in (("/status", "workspace  "), ("/tools", "bash "), ("/cost", "input "),
                               ("/permissions", "deny  bash(rm)"), ("/memory", "AGENTS.md  8 bytes"),
                               ("/skills", "$tidy  cleans up")):
            pane.enter(command)
            pane.wait(words)


def modes(base):
    """Shift-Tab and /mode; read-only holds at once, for commands too."""
    scene = {"rounds": [[{"call": "bash", "args": {"command": "touch made"}}], [{"say": "over"}]]}
    with tmux.Pane(base, rows=40) as pane:
        pane.chat(scene=scene)
        pane.keys("BTab")
        pane.wait("prompt")
        pane.enter("/mode read-only")
        pane.wait("read-only  ")
        pane.enter("go")
        pane.until(lambda s: "over" in s or "wants to run" in s)
        if "wants to run" in pane.screen():
            time.sleep(0.4)
            pane.type("n")
        pane.idle(1)
        assert not os.path.exists(os.path.join(pane.workspace, "made"))
        pane.enter("/mode workspace-write")
        pane.wait("workspace-write  ")
        pane.turn("again")
        assert os.path.exists(os.path.join(pane.workspace, "made")), pane.screen()
        assert len(sessions(pane)) == 1


def resumes(base):
    """/new, /sessions with a search, /resume by the start of the id, /fork, /rename; -r."""
    with tmux.Pane(base, rows=50) as pane:
        pane.chat(model="rehearsal/echo")
        pane.turn("about apples")
        first = sessions(pane)[0]
        pane.enter("/new")
        pane.wait("--- new session ---")
        pane.turn("about pears")
        assert len(sessions(pane)) == 2
        pane.enter("/sessions")
        pane.wait("2 of 2")
        pane.type("apple")
        pane.wait("1 of 2")
        pane.keys("Enter")
        pane.wait(f"--- session {first[:8]}")
        pane.turn("more apples")
        pane.enter("/rename fruit")
        pane.wait("called fruit")
        pane.enter("/fork")
        pane.wait("--- a copy")
        pane.turn("another fruit")
        assert len(sessions(pane)) == 3, (sessions(pane), pane.screen())
        pane.enter(f"/resume {first[:6]}")
        pane.wait(f"--- session {first[:8]}  fruit")
        pane.enter("/resume zzzz")
        pane.wait("zzzz")
        pane.wait("trivet: ")
        pane.enter("/export out.md")
        pane.wait("written: ")
        with open(os.path.join(pane.workspace, "out.md"), encoding="utf-8") as file:
            text = file.read()
        assert "more apples" in text and "another fruit" not in text and "pears" not in text
        rc = os.path.join(pane.env["HOME"], "rc")
        with open(rc, "w", encoding="utf-8") as file:
            file.write("mine")
        for name, words in (("page.md", "/export page.md"), (f"trivet-{first[:8]}.md", "/export")):
            os.symlink(rc, os.path.join(pane.workspace, name))
            pane.enter(words)
            pane.wait(f"/{name}")
            pane.until(lambda s, n=name: not os.path.islink(os.path.join(pane.workspace, n)))
        with open(rc, encoding="utf-8") as file:
            assert file.read() == "mine", "a link that a command left was followed"
        pane.keys("C-d")
        pane.wait("to go on")
        for flags in (f"-r {first[:6]}", "-r fruit", "-c"):
            pane.enter(f"clear; $TRIVET chat {flags}")
            pane.wait("> more apples")
            pane.wait("workspace-write")
            pane.keys("C-d")
            pane.wait("to go on: trivet chat -r " + (first[:8] if flags != "-c" else ""))
        pane.enter(f"cd ..; clear; $TRIVET chat -r {first[:6]}")
        pane.wait(f"workspace {os.path.realpath(pane.workspace)}")
        pane.keys("C-d")
        pane.wait("to go on")
        pane.enter("clear; $TRIVET chat -r zzzz; echo status $?")
        pane.wait("status 1")


def compacts(base):
    """/compact sums up what there is, or says once why not."""
    with tmux.Pane(base, rows=50) as pane:
        pane.chat(model="rehearsal/hello")
        pane.enter("/compact")
        pane.wait("trivet: Nothing to compact")
        pane.turn("one")
        pane.turn("two")
        pane.enter("/compact")
        pane.wait("the conversation was summed up: ")
        pane.enter("/compact")
        pane.wait("trivet: Already compacted")
        assert pane.screen().count("ompact") == 2, pane.screen()


def undoes(base):
    """/undo takes back what a tool and a command changed, and says when there is nothing."""
    with tmux.Pane(base) as pane:
        path = os.path.join(pane.workspace, "a.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("before\n")
        scenario = os.path.join(base, "change.json")
        with open(scenario, "w", encoding="utf-8") as file:
            json.dump({"rounds": [[{"call": "write_file", "args": {"path": "a.txt", "content": "after\n"}}],
                                  [{"call": "bash", "args": {"command": "echo new > b.txt"}}], [{"say": "changed"}]]}, file)
        pane.chat(model=f"rehearsal/{scenario}")
        pane.enter("/undo")
        pane.wait("nothing to undo")
        pane.turn("change it")
        with open(path, encoding="utf-8") as file:
            assert file.read() == "after\n", pane.screen()
        pane.enter("/undo")
        pane.wait("a.txt: restored")
        pane.wait("b.txt: removed")
        with open(path, encoding="utf-8") as file:
            assert file.read() == "before\n", pane.screen()


def first(base):
    """No model: local servers are found, one key is enough, the choice is kept."""
    script = [{"text": "the server speaks", "repeat": True}]
    with provider.Server(script) as server:
        env = {**NOWHERE, "VLLM_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
        with tmux.Pane(base, **env) as pane:
            pane.enter("$TRIVET")
            pane.wait("no model is set up yet")
            shown = pane.wait(f"> 1  vLLM at 127.0.0.1:{server.port}, 1 model  found")
            assert "2  paste a key, or sign in" in shown and "3  the built-in rehearsal model" in shown, shown
            pane.keys("Enter")
            pane.wait("vllm/fake answers from now on")
            pane.turn("hello")
            pane.wait("the server speaks")
            pane.keys("C-d")
            pane.wait("to go on")
            pane.enter("clear; $TRIVET")
            pane.wait("vllm/fake  ")
            assert "no model" not in pane.screen()


def rehearsal(base):
    """Without anything: two keys to the first answer."""
    with tmux.Pane(base, **NOWHERE) as pane:
        pane.enter("$TRIVET")
        pane.wait("no model is set up yet")
        pane.type("2")
        pane.wait("rehearsal/default answers from now on")
        pane.turn("list the files")
        pane.wait("* glob_search")
        pane.enter("/model rehearsal/hello")
        pane.wait("rehearsal/hello answers")
        pane.enter("/model")
        pane.wait("2 of 2")
        pane.type("default")
        pane.keys("Enter")
        pane.until(lambda s: s.count("rehearsal/default answers") == 2)


def keys(base):
    """A key is typed unseen; a wrong one is refused with a sentence, with a way out, and not kept."""
    def answers(body):
        return {"text": "good key"}
    with provider.Server(answers) as server, tmux.Pane(
            base, **NOWHERE, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1") as pane:
        pane.enter("$TRIVET")
        pane.wait("no model is set up yet")
        pane.keys("Escape")
        pane.wait("/login stores a key")
        pane.enter("/login")
        pane.wait("a key for:")
        pane.type("openrouter")
        pane.wait("1 of ")
        pane.keys("Escape")
        pane.wait("a key for:", gone=True)
        pane.enter("/login openai")
        pane.wait("OpenAI key:")
        pane.type("sk-secret-0123456789")
        pane.wait("(20 characters)")
        pane.keys("Enter")
        pane.wait("the key for OpenAI is kept")
        assert "sk-secret" not in pane.all()
        path = os.path.join(pane.env["XDG_CONFIG_HOME"], "trivet/auth.json")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path, encoding="utf-8") as file:
            assert "sk-secret" in json.dumps(json.load(file))
        assert "sk-secret" not in open(os.path.join(pane.env["XDG_STATE_HOME"], "trivet/history"),
                                       encoding="utf-8").read()


def signs_in(base):
    """A sign-in with a code; the chat can be used and left while it waits."""
    control, log = os.path.join(base, "control.json"), os.path.join(base, "oauth.log")
    with open(control, "w", encoding="utf-8") as file:
        json.dump({"polls": [{"status": 403, "error": "authorization_pending"}] * 40,
                   "interval": 0.05}, file)
    fake = os.path.join(os.path.dirname(HERE), "fake/oauth.py")
    server = subprocess.Popen([sys.executable, fake, "--control", control, "--log", log,
                               "--die-with-parent"], stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().split()[1]
    env = {**NOWHERE, "TRIVET_OPENAI_AUTH_URL": f"http://127.0.0.1:{port}",
           "CODEX_BASE_URL": "http://127.0.0.1:9"}
    try:
        with tmux.Pane(base, **env) as pane:
            pane.chat(model="rehearsal/echo")
            pane.enter("/login codex")
            pane.wait("type the code ABCD-EFGH")
            pane.turn("meanwhile")
            pane.keys("C-d")
            pane.wait("to go on")
            pane.enter("clear")
            pane.chat(model="rehearsal/echo")
            pane.enter("/login codex")
            pane.wait("signed in at", seconds=20)
            pane.wait("answers from now on")
            assert "codex/" in pane.live()[-1], pane.screen()
    finally:
        server.kill()
        server.wait()


def wrong_key(base):
    """A refused key ends the turn at once, in one sentence and with a way out."""
    script = [{"status": 401, "body": {"error": {"message": "Incorrect API key provided"}},
               "repeat": True}]
    with provider.Server(script) as server, tmux.Pane(
            base, OPENAI_API_KEY="sk-wrong-1234567890",
            OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1") as pane:
        pane.chat(model="openai/gpt-x")
        pane.turn("hello")
        shown = pane.screen()
        assert "Incorrect API key provided" in shown and "try: /login" in shown, shown
        assert len([e for e in server.log if e.get("method") == "POST"]) == 1


tmux.run([helps, completes, finds_files, looks, modes, resumes, compacts, undoes, first, rehearsal, keys,
          signs_in, wrong_key])
