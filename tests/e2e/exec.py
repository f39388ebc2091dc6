#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet exec` as a script uses it: the answer alone on stdout, JSON that fits its schema, and an
exit status for each way to end.
"""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake"),
                os.path.join(os.path.dirname(HERE), "talk")]
import harness   # noqa: E402
import provider  # noqa: E402
import schema    # noqa: E402

PROGRAM = os.environ["TRIVET"]
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


def scene(base, name, data):
    with open(os.path.join(base, name), "w", encoding="utf-8") as file:
        json.dump(data, file)
    return f"rehearsal/{name}"


class Shell:
    """Runs the command in a directory of its own."""

    def __init__(self, base):
        self.base = base
        self.env = harness.clean_env(base)
        self.cwd = os.path.join(base, "work")
        os.makedirs(self.cwd, exist_ok=True)
        root = json.loads(subprocess.run([PROGRAM, "describe", "exec", "--json"], check=True,
                                         stdout=subprocess.PIPE).stdout)
        self.schema = schema.Schema(root)
        self.n_valid = 0

    def run(self, *args, stdin=b"", env=None, cwd=None, **more):
        done = subprocess.run([PROGRAM, "exec", *args], input=stdin, cwd=cwd or self.cwd,
                              env=env or self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60 * harness.slow(), check=False, **more)
        done.stderr = harness.without_noise(done.stderr.decode(errors="replace")).encode()
        return done

    def valid(self, line):
        """The line as an object, after a look at the schema."""
        value = json.loads(line)
        self.schema.check(value["type"], value)
        self.n_valid += 1
        return value

    def result(self, *args, **more):
        done = self.run(*args, "--json", "-q", **more)
        return done, self.valid(done.stdout)


def check_text(sh):
    done = sh.run("-m", "rehearsal/tools", "go")
    check("the answer alone is on stdout", done.returncode == 0 and b">" not in done.stdout
          and done.stdout.endswith(b"\n") and b"session " in done.stderr, done)
    done = sh.run("-m", "rehearsal/hello", "-q", "go")
    check("quiet: nothing on stderr", done.stderr == b"" and done.stdout, done)
    done = sh.run("-m", "rehearsal/echo", "-q", "what is this?", stdin=b"a log\n```\n")
    check("stdin follows the prompt in a longer fence",
          done.stdout == b"what is this?\n\nstdin:\n````\na log\n```\n````\n", done.stdout)
    with open(os.path.join(sh.cwd, "n.txt"), "w", encoding="utf-8") as file:
        file.write("note")
    done = sh.run("-m", "rehearsal/echo", "-q", "see", "-f", "n.txt", stdin=b"")
    check("--file follows it, too", done.stdout == b"see\n\nn.txt:\n```\nnote\n```\n", done.stdout)
    done = sh.run("-m", "rehearsal/echo", "-q", "-f", "gone.txt", "x")
    check("a file that is not there: 2", done.returncode == 2 and b"gone.txt" in done.stderr, done)
    done = sh.run("-m", "rehearsal/echo", "-o", "answer.txt", "-q", "keep me")
    with open(os.path.join(sh.cwd, "answer.txt"), encoding="utf-8") as file:
        check("--output has the answer", file.read() == "keep me\n" and done.returncode == 0)
    check_output_links(sh)


def check_output_links(sh):
    """What a command left in the workspace does not lead --output elsewhere."""
    far = os.path.join(sh.env["HOME"], "far")
    path = os.path.join(sh.cwd, "linked.txt")
    os.makedirs(far)
    for make, title in ((os.symlink, "a link"), (os.link, "a second name")):
        with open(f"{far}/rc", "w", encoding="utf-8") as file:
            file.write("mine")
        make(f"{far}/rc", path)
        done = sh.run("-m", "rehearsal/echo", "-o", "linked.txt", "-q", "keep me")
        with open(f"{far}/rc", encoding="utf-8") as rc, open(path, encoding="utf-8") as file:
            check(f"--output replaces {title}", done.returncode == 0 and rc.read() == "mine"
                  and file.read() == "keep me\n", done)
        os.unlink(path)
    os.symlink(far, os.path.join(sh.cwd, "sub"))
    done = sh.run("-m", "rehearsal/echo", "-o", "sub/x", "-q", "hi")
    check("--output follows no directory that is a link", done.returncode == 9
          and b"sub is a symbolic link" in done.stderr and os.listdir(far) == ["rc"], done)
    done = sh.run("-m", "rehearsal/echo", "-o", f"{far}/x", "-q", "hi")
    check("a place elsewhere is the user's own", done.returncode == 0 and os.path.exists(f"{far}/x"), done)
    os.symlink(".", f"{far}/again")
    for flags, status in (((), 0), (("--add-dir", far), 9)):
        done = sh.run("-m", "rehearsal/echo", "-o", f"{far}/again/y", "-q", *flags, "hi")
        check(f"a link in a directory of the user, {flags}", done.returncode == status, done)
    with open("/dev/full", "wb") as full:
        for flags in ((), ("--json",), ("--stream-json",)):
            done = subprocess.run([PROGRAM, "exec", "-m", "rehearsal/echo", "-q", *flags, "hi"], stdout=full,
                                  cwd=sh.cwd, env=sh.env, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  check=False)
            check(f"a full disk behind stdout: 9, {flags}", done.returncode == 9
                  and harness.without_noise(done.stderr.decode()) ==
                  "trivet exec: stdout: No space left on device\n", done)
    r, w = os.pipe()
    done = subprocess.run([PROGRAM, "exec", "-m", "rehearsal/echo", "-q", "-o", f"/dev/fd/{w}", "hi"],
                          cwd=sh.cwd, env=sh.env, capture_output=True, check=False, pass_fds=[w],
                          stdin=subprocess.DEVNULL)
    os.close(w)
    with open(r, encoding="utf-8") as file:
        check("--output to a pipe", file.read() == "hi\n", done)


def check_workspace_of_file(sh, ident):
    """A session file from elsewhere does not choose the workspace; one of trivet's own is named."""
    own = os.path.join(sh.env["XDG_STATE_HOME"], "trivet/sessions", f"{ident}.jsonl")
    there, here = (os.path.join(sh.base, name) for name in ("there", "here"))
    os.makedirs(there), os.makedirs(here)
    model = scene(here, "place.json", {"rounds": [[{"call": "bash", "args": {"command": "touch made"}}],
                                                  [{"say": "over"}]]})
    with open(own, encoding="utf-8") as file:
        text = file.read().replace(os.path.realpath(sh.cwd), there)
    os.symlink(here, f"{sh.base}/linked")
    for flags in ((), ("--fork",)):
        with open(f"{here}/foreign.jsonl", "w", encoding="utf-8") as file:
            file.write(text)
        for path in ("./foreign.jsonl", f"{sh.base}/linked/foreign.jsonl"):
            done = sh.run("-m", model, "-q", "-r", path, *flags, "go", cwd=here)
            check(f"a foreign file works here, {flags}", done.returncode == 0 and os.listdir(there) == []
                  and os.path.exists(f"{here}/made") and done.stderr == b"", done)
            os.path.exists(f"{here}/made") and os.unlink(f"{here}/made")
            for name in os.listdir(there):
                os.unlink(f"{there}/{name}")
    for word in (ident, own):
        done = sh.run("-m", "rehearsal/echo", "-q", "-r", word, "hi", cwd=here)
        check("its own workspace is named", done.stderr.decode() == f"workspace {os.path.realpath(sh.cwd)}\n", done)
    done = sh.run("-m", "rehearsal/echo", "-q", "-r", ident, "-w", sh.cwd, "hi", cwd=here)
    check("not the one that the user named", done.stderr == b"", done)


def check_stdin(sh):
    r, w = os.pipe()
    with open(r, "rb") as silent:
        done = subprocess.run([PROGRAM, "exec", "-m", "rehearsal/echo", "-q", "hi"], stdin=silent,
                              cwd=sh.cwd, env=sh.env, capture_output=True, check=False,
                              timeout=60 * harness.slow())
    os.close(w)
    check("a silent pipe is not waited for",
          done.stdout == b"hi\n", done)  # the pipe is open until then
    closed = f'exec 0<&-; exec "{PROGRAM}" exec -m rehearsal/echo -q hi'
    done = subprocess.run(["sh", "-c", closed], cwd=sh.cwd, env=sh.env, capture_output=True,
                          check=False)
    check("closed stdin", done.stdout == b"hi\n" and done.returncode == 0, done)
    closed = f'exec 1>&-; exec "{PROGRAM}" exec -m rehearsal/echo -q hi'
    done = subprocess.run(["sh", "-c", closed], cwd=sh.cwd, env=sh.env, capture_output=True,
                          check=False)
    check("closed stdout ends with an error", done.returncode in (9, 141), done)
    bare = {"HOME": sh.env["HOME"]}
    done = sh.run("-m", "rehearsal/hello", "-q", "hi", env=bare)
    check("env -i", done.returncode == 0 and done.stdout, done)


def check_exits(sh):
    said = scene(sh.cwd, "ask.json", {"rounds": [
        [{"call": "write_file", "args": {"path": "../beyond", "content": "x"}}], [{"say": "."}]]})
    looping = scene(sh.cwd, "loop.json", {"rounds": [
        [{"call": "bash", "args": {"command": f"echo {i}"}}] for i in range(9)] + [[{"say": "."}]]})
    for name, code, status, args in [
            ("done", 0, "ok", ["-m", "rehearsal/hello", "x"]),
            ("provider fails", 1, "failed", ["-m", "rehearsal/fail500", "x"]),
            ("unknown option", 2, "failed", ["--nonsense", "x"]),
            ("a rule of no tool", 2, "failed", ["-m", "rehearsal/hello", "--allow", "Bsh(x)", "x"]),
            ("a picture that is not there", 2, "failed", ["-m", "rehearsal/hello", "-i", "gone.png", "x"]),
            ("no model", 3, "failed", ["x"]),
            ("no such scene", 3, "failed", ["-m", "rehearsal/nosuch", "x"]),
            ("a scene with a slip", 1, "failed", ["-m", scene(sh.cwd, "slip.json", {"rond": 1}), "x"]),
            ("key refused", 3, "failed", ["-m", "rehearsal/fail401", "x"]),
            ("rounds", 4, "unfinished", ["-m", looping, "--max-turns", "2", "x"]),
            ("nobody to ask", 5, "denied", ["-m", said, "--ask-beyond", "x"]),
            ("no such session", 8, "failed", ["-r", "abcdef", "x"]),
            ("nothing to continue", 8, "failed", ["-c", "-w", "/", "-m", "rehearsal/hello", "x"]),
            ("output cannot be made", 9, "failed", ["-o", "/nowhere/x", "-m", "rehearsal/hello", "x"]),
            ("time is over", 124, "timeout", ["-m", "rehearsal/stall", "--timeout", "300ms", "x"]),
    ]:
        env = dict(sh.env, TRIVET_RETRY_MS="1")
        done, result = sh.result(*args, env=env, preexec_fn=os.setsid)
        check(f"exit status: {name}", done.returncode == code == result["exit"]
              and result["status"] == status, (done, result))
        check(f"{name}: an error has words", status == "ok" or done.stderr and b"`" not in done.stderr, done)
    done, result = sh.result("-m", said, "--ask-beyond", "x", preexec_fn=os.setsid)
    check("what was denied is named", result["denied"] ==
          [{"tool": "write_file", "args": {"path": "../beyond", "content": "x"}}], result)


def check_signals(sh):
    for signo in (signal.SIGINT, signal.SIGTERM):
        run = subprocess.Popen([PROGRAM, "exec", "-m", "rehearsal/slow", "--stream-json", "-q", "x"],
                               cwd=sh.cwd, env=sh.env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        lines = []
        while not lines or lines[-1]["type"] != "text":
            lines.append(sh.valid(run.stdout.readline()))
        run.send_signal(signo)
        out, _ = run.communicate(timeout=30 * harness.slow())
        lines += [sh.valid(line) for line in out.splitlines()]
        check(f"{signo.name}: the result is the last line",
              lines[-1]["type"] == "result" and lines[-1]["exit"] == run.returncode == 128 + signo
              and [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
              and lines[-1]["answer"] == "".join(one["text"] for one in lines if one["type"] == "text"),
              (run.returncode, lines[-1]))
    check_so_far(sh)
    run = subprocess.Popen([PROGRAM, "exec", "-m", "rehearsal/slow", "--stream-json", "-q", "x"],
                           cwd=sh.cwd, env=sh.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.readline()
    run.stdout.close()
    check("a reader that goes ends it: 141", run.wait(timeout=30 * harness.slow()) == 141,
          run.returncode)


def check_so_far(sh):
    """A run that is stopped gives the text that it had: of the reply that was being written, else the last."""
    begun = scene(sh.cwd, "begun.json", {"rounds": [
        [{"say": "I look."}, {"call": "bash", "args": {"command": "true"}}],
        [{"say": "It is the"}, {"stall": True}]]})
    asked = scene(sh.cwd, "asked.json", {"rounds": [
        [{"say": "I look."}, {"call": "bash", "args": {"command": "true"}}], [{"stall": True}]]})
    for flags, code in ((("--timeout", "2s"), 124), (("--max-time", "2s"), 4)):
        for model, text in ((begun, "It is the"), (asked, "I look.")):
            done, result = sh.result("-m", model, *flags, "-o", "so-far.txt", "x")
            with open(os.path.join(sh.cwd, "so-far.txt"), encoding="utf-8") as file:
                kept = file.read()
            check(f"the text so far, {flags}, {model}", result["answer"] == text and kept == f"{text}\n"
                  and done.returncode == code, (done, result, kept))
    done = sh.run("-m", begun, "-q", "--timeout", "2s", "x")
    check("the text so far on stdout", done.stdout == b"It is the\n" and done.returncode == 124, done)


def check_stream(sh):
    writing = scene(sh.cwd, "write.json", {"rounds": [
        [{"think": "hm"}, {"say": "I write. "},
         {"call": "write_file", "args": {"path": "made.txt", "content": "x\n"}}],
        [{"call": "bash", "args": {"command": "false"}}], [{"say": "Done."}]]})
    done = sh.run("-m", writing, "--stream-json", "x")
    lines = [sh.valid(line) for line in done.stdout.splitlines()]
    types = [one["type"] for one in lines]
    check("session first, result last", types[0] == "session" and types[-1] == "result"
          and types.count("result") == 1 and types.count("turn_ended") == 1, types)
    last = lines[-1]
    check("the result", last["answer"] == "Done." and last["files"] == ["made.txt"]
          and last["rounds"] == 2 and last["session"] == lines[0]["id"], last)
    check("the text before tools is no answer", b"I write." in done.stderr, done.stderr)
    results = [one for one in lines if one["type"] == "call_done"]
    check("results of tools", [one["is_error"] for one in results] == [False, True]
          and "+x" in results[0]["diff"], results)


def check_todos(sh):
    todos = [{"content": "Look", "activeForm": "Looking", "status": "completed"},
             {"content": "Mend", "activeForm": "Mending", "status": "in_progress"},
             {"content": "Test", "activeForm": "Testing", "status": "pending"}]
    doing = scene(sh.cwd, "todo.json", {"rounds": [[{"call": "TodoWrite", "args": {"todos": todos}}], [{"say": "."}]]})
    done = sh.run("-m", doing, "x")
    check("things to do are a list", b"\n> TodoWrite\n  [x] Look\n  [~] Mending\n  [ ] Test\n" in done.stderr
          and b"todos" not in done.stderr and done.stdout == b".\n", done)
    done = sh.run("-m", doing, "-q", "x")
    check("quiet: not shown", done.stderr == b"", done)


def check_sessions(sh):
    _, first = sh.result("-m", "rehearsal/echo", "--title", "my work", "one")
    _, again = sh.result("-c", "two")
    check("--continue", again["session"] == first["session"] and again["answer"] == "two", again)
    _, short = sh.result("-r", first["session"][:6], "three")
    check("--resume by a short id", short["session"] == first["session"], short)
    _, named = sh.result("-r", "my work", "four")
    check("--resume by name", named["session"] == first["session"], named)
    check_workspace_of_file(sh, first["session"])
    _, other = sh.result("-r", "my work", "--fork", "five")
    check("--fork is another session", other["session"] != first["session"]
          and other["answer"] == "five", other)
    files = os.path.join(sh.env["XDG_STATE_HOME"], "trivet", "sessions")
    with open(os.path.join(files, first["session"] + ".jsonl"), encoding="utf-8") as file:
        old = file.read()
    with open(os.path.join(files, other["session"] + ".jsonl"), encoding="utf-8") as file:
        new = file.read()
    check("the copy has what was said, the other stays", "four" in new and "five" in new
          and "five" not in old)
    before = set(os.listdir(files))
    done, _ = sh.result("-m", "rehearsal/echo", "--ephemeral", "secret")
    check("--ephemeral keeps no file", set(os.listdir(files)) == before and done.returncode == 0)
    elsewhere = os.path.join(sh.base, "elsewhere")
    os.makedirs(elsewhere)
    run = subprocess.run([PROGRAM, "exec", "-r", first["session"], "--stream-json", "-q", "six"],
                         cwd=elsewhere, env=sh.env, capture_output=True, check=False, input=b"")
    reported = sh.valid(run.stdout.splitlines()[0])
    check("a session goes on in its own directory", reported["cwd"] == os.path.realpath(sh.cwd), reported)
    done, result = sh.result("-c", "--fork", "--resume", "x", "y")
    check("--continue with --resume: 2", result["exit"] == 2, result)
    before = set(os.listdir(files))
    for flags, code in ((("-m", "openai/x"), 3), (("-m", "rehearsal/nosuch"), 3), (("-i", "gone.png"), 2),
                        (("-o", "/nowhere/x"), 9), (("-c", "--fork", "-m", "openai/x"), 3)):
        done, result = sh.result("-m", "rehearsal/echo", *flags, "x")
        check(f"no request, no session: {flags}", set(os.listdir(files)) == before
              and result["session"] is None and done.returncode == code, (done, result))
    _, again = sh.result("-c", "-m", "openai/x", "not sent")
    check("an earlier session stays", again["exit"] == 3 and set(os.listdir(files)) == before
          and again["session"] is not None, again)
    slow = subprocess.Popen([PROGRAM, "exec", "-r", first["session"], "-m", "rehearsal/slow", "x"],
                            cwd=sh.cwd, env=sh.env, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)
    slow.stderr.readline()
    time.sleep(0.3)
    done, result = sh.result("-r", first["session"], "x")
    check("in use: 7", result["exit"] == done.returncode == 7, (done, result))
    slow.terminate()
    slow.communicate()


def check_schema(sh):
    with open(os.path.join(sh.cwd, "s.json"), "w", encoding="utf-8") as file:
        json.dump({"type": "object", "properties": {"n": {"type": "integer"}},
                   "required": ["n"], "additionalProperties": False}, file)
    for name, replies, code, output in [
            ("at once", ['{"n": 3}'], 0, {"n": 3}),
            ("in a fence", ['Here:\n```json\n{"n": 4}\n```\n'], 0, {"n": 4}),
            ("after one repair", ["three", '{"n": 5}'], 0, {"n": 5}),
            ("after two", ["three", '{"n": "5"}', '{"n": 6}'], 0, {"n": 6}),
            ("never", ["a", "b", "c", '{"n": 1}'], 6, None)]:
        with provider.Server([{"text": one} for one in replies]) as server:
            env = dict(sh.env, OPENAI_API_KEY="test-key-123456",
                       OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1")
            done, result = sh.result("-m", "openai/fake", "--output-schema", "s.json", "how many?",
                                     env=env)
        log = server.log
        check(f"schema met {name}", done.returncode == code and result.get("output") == output,
              (done, result))
        if output:
            check(f"{name}: the answer is the JSON", json.loads(result["answer"]) == output, result)
        asked = [one for one in log if "body" in one]
        check(f"{name}: requests", len(asked) == min(len(replies), 3), len(asked))
    fenced = scene(sh.cwd, "fenced.json", {"rounds": [[{"say": 'Here:\n```json\n{"n": 7.0}\n```\nDone.\n'}]]})
    with open(os.path.join(sh.cwd, "loose.json"), "w", encoding="utf-8") as file:
        json.dump({"type": "object", "required": ["n"]}, file)
    for flags in ((), ("-o", "bare.txt")):
        done = sh.run("-m", fenced, "-q", "--output-schema", "loose.json", *flags, "x")
        check("stdout is bare JSON", done.stdout == b'{"n": 7.0}\n' and done.returncode == 0, done)
    with open(os.path.join(sh.cwd, "bare.txt"), encoding="utf-8") as file:
        check("--output is bare JSON", file.read() == '{"n": 7.0}\n')
    with provider.Server([{"status": 401, "body": {"error": {"message": "wrong key"}}}]) as server:
        env = dict(sh.env, OPENAI_API_KEY="test-key-123456", OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1")
        done = sh.run("-m", "openai/fake", "-q", "hi", env=env)
    check("a refused key: its variable is named", done.returncode == 3 and done.stderr.endswith(
        b"wrong key\n  the key is that of OPENAI_API_KEY\n"), done)
    for name, text in [("no JSON", "{"), ("not checkable", '{"pattern": "x"}')]:
        with open(os.path.join(sh.cwd, "bad.json"), "w", encoding="utf-8") as file:
            file.write(text)
        done, result = sh.result("-m", "rehearsal/hello", "--output-schema", "bad.json", "x")
        check(f"a schema that is {name}: 2", result["exit"] == 2 and "bad.json" in
              result["error"]["text"], result)


def check_images(sh):
    with open(os.path.join(sh.cwd, "p.bin"), "wb") as file:
        file.write(PNG)
    with provider.Server([{"text": "a dot"}]) as server:
        env = dict(sh.env, OPENAI_API_KEY="test-key-123456",
                   OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1")
        _, result = sh.result("-m", "openai/fake", "-i", "p.bin", "what is it?", env=env)
    asked = json.dumps([one["body"] for one in server.log if "body" in one])
    check("a picture by its content", result["answer"] == "a dot"
          and "data:image/png;base64," in asked, (result, asked[:300]))
    _, result = sh.result("-m", "rehearsal/hello", "-i", "s.json", "x")
    check("what is no picture", result["exit"] == 2 and "no PNG" in result["error"]["text"], result)


def main():
    with harness.private_place() as base:
        sh = Shell(base)
        for part in (check_text, check_stdin, check_exits, check_signals, check_stream, check_todos,
                     check_sessions, check_schema, check_images):
            part(sh)
        check("lines that were compared with the schema", sh.n_valid >= 60, sh.n_valid)
    harness.finish(passed, failed)


main()
