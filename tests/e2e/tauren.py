#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manners of Tauren, the Visual Studio Code extension, imitated.

It starts `<path>/kward rpc` in the directory of the program, numbers its requests from 1, never
sends a notification and never `shutdown`: it closes stdin and sends SIGTERM at once.  It has no
timeouts, so a request without an answer hangs a feature for ever.  It throws its buffer away when a
header cannot be read, drops events of sessions it does not know, shows every word of stderr as an
error, lists sessions with a second, short-lived process, makes a new session upon `Unknown session:`
and reads session files by itself.

covers: kward 5, 6, 347
"""
import contextlib
import glob
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402
from provider import Server  # noqa: E402

PATIENCE = 60 * harness.slow()  # of this test; Tauren has no end of it
END_WITHIN = 3
QUESTION = {"questions": [{"question": "Go on?", "header": "Next", "options": [
    {"label": "Yes", "description": "go on"}, {"label": "No", "description": "stop"}]}]}


def call(number, name, **arguments):
    return {"id": f"call_{number}", "name": name, "arguments": arguments}


REPLIES = [
    {"match": "greet", "reasoning": "think first", "text": "Hello there.", "repeat": True},
    {"match": "change", "tool_calls": [
        call(1, "read_file", path="a.txt"),
        call(2, "edit_file", path="a.txt", edits=[{"old_text": "one", "new_text": "two"}])]},
    {"match": "change", "text": "Changed."},
    {"match": "ask", "tool_calls": [call(3, "ask_user_question", **QUESTION)]},
    {"match": "ask", "text": "As you like."},
    {"match": "question for ever", "tool_calls": [call(4, "ask_user_question", **QUESTION)]},
    {"match": "sleep", "tool_calls": [call(5, "run_shell_command", command="sleep 1000 & sleep 999")]},
    {"match": "stream", "text": "word ", "text_repeat": 2000, "chunk_delay_ms": 2, "repeat": True},
    {"match": "stall", "text": "never ", "stall_after": 3, "repeat": True},
    {"text": "## Goal\nA summary.", "repeat": True},
]


class Refused(Exception):
    """The message of an error answer, the only part that is read."""


class Tauren:
    """The transport."""

    def __init__(self, env, place):
        self.program = os.path.join(place, "kward")
        self.child = subprocess.Popen([self.program, "rpc"], cwd=place, env=env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
        self.last_id, self.answers, self.inbox = 0, {}, queue.SimpleQueue()
        self.stream = rpc_stream.Stream(PROGRAM, "kward")
        self.threads = [threading.Thread(target=run, daemon=True)
                        for run in (self.read, self.read_stderr)]
        self.errors, self.listeners = b"", []
        for thread in self.threads:
            thread.start()

    def read(self):
        buffer = b""
        while data := self.child.stdout.read1(65536):
            buffer += data
            while (at := buffer.find(b"\r\n\r\n")) >= 0:
                header = re.search(rb"Content-Length: (\d+)", buffer[:at], re.I)
                if not header or not int(header[1]):
                    self.inbox.put(AssertionError(f"a header that cannot be read: {buffer[:at]}"))
                    return
                end = at + 4 + int(header[1])
                if len(buffer) < end:
                    break
                message = json.loads(buffer[at + 4:end])
                try:
                    self.stream.take(message)
                except rpc_stream.Broken as error:
                    message = AssertionError(str(error))
                self.inbox.put(message)
                buffer = buffer[end:]
        self.inbox.put(None)

    def read_stderr(self):
        self.errors = self.child.stderr.read()

    def take(self):
        """Handles one message; False at the end."""
        try:
            message = self.inbox.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"no message for {PATIENCE} s, unanswered: "
                                 f"{[i for i, a in self.answers.items() if a is None]}") from None
        if isinstance(message, Exception):
            raise message
        if message is None:
            self.inbox.put(None)
            return False
        if "method" in message and "id" not in message:
            for listener in self.listeners:
                listener(message["method"], message["params"])
        elif isinstance(message.get("id"), int):
            assert self.answers[message["id"]] is None, f"answered twice: {message}"
            self.answers[message["id"]] = message
        return True

    def send(self, method, params=None):
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            message["params"] = params
        body = json.dumps(message).encode()
        self.stream.sent(message)
        self.answers[self.last_id] = None
        self.child.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.child.stdin.flush()
        return self.last_id

    def until(self, is_so):
        while not is_so():
            assert self.take(), "the program ended"

    def request(self, method, **params):
        number = self.send(method, params or None)
        self.until(lambda: self.answers[number] is not None)
        answer = self.answers[number]
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        return answer["result"]

    def dispose(self):
        """Stdin closed and SIGTERM at once; returns how long it took to go."""
        watch = harness.Stopwatch()
        self.child.stdin.close()
        self.child.send_signal(signal.SIGTERM)
        status = self.child.wait(PATIENCE)
        took = watch.seconds()
        for thread in self.threads:
            thread.join()
        while self.take():
            pass
        shown = harness.without_noise(self.errors.decode()).strip()
        assert not shown, f"shown to the user as an error: {shown}"
        is_newborn = status == -signal.SIGTERM and not any(self.answers.values())
        assert status == 0 or is_newborn, f"exit status {status}"
        assert took < END_WITHIN, f"took {took:.1f} s to end"


class Chat:
    """One chat panel: its session, and what the user sees of its turns."""

    def __init__(self, env, place, workspace):
        self.transport, self.workspace = Tauren(env, place), workspace
        self.transport.listeners.append(self.on_notification)
        self.session = self.turn = None
        self.seen, self.dropped = [], 0
        self.caps = self.transport.request("initialize")["capabilities"]

    def request(self, method, **params):
        return self.transport.request(method, **params)

    def open(self, path=None):
        if path:
            made = self.request("sessions/resume", path=path, workspaceRoot=self.workspace)
        else:
            made = self.request("sessions/create", workspaceRoot=self.workspace, resumeLast=False)
        assert isinstance(made["id"], str) and made["id"]
        self.session, self.path = made["id"], made["path"]
        return made

    def on_notification(self, method, params):
        if params.get("sessionId") != self.session:
            self.dropped += 1
            return
        if method == self.caps["events"]["notification"]:
            self.on_event(params["type"], params["payload"])
        elif method == self.caps["extensionUi"]["question"]["notification"]:
            self.seen.append(("question", params))
        elif method == self.caps["sessions"]["compact"]["notification"]:
            self.seen.append((params["type"], params["payload"]))

    def on_event(self, kind, payload):
        last = self.seen[-1] if self.seen else ("", "")
        names = {"reasoningDelta": "thinking", "assistantDelta": "text"}
        if kind in names and last[0] == names[kind]:
            self.seen[-1] = (names[kind], last[1] + payload["delta"])
        elif kind in names:
            self.seen.append((names[kind], payload["delta"]))
        elif kind == "toolResult":
            self.seen.append(("tool end", payload))
        elif kind == "error":
            self.seen.append(("error", payload["message"]))
        elif kind == "turnFinished":
            self.seen.append(("end", payload["status"]))
            self.turn = None

    def prompt(self, text, **more):
        """The turn's id is kept when the answer comes: an end before that would leave it stale."""
        self.seen = []
        self.turn = self.request("turns/start", sessionId=self.session, input=text, **more)["id"]
        assert not self.saw("end"), "the end of the turn came before the answer"

    def saw(self, kind):
        return [what for k, what in self.seen if k == kind]

    def wait(self, kind):
        self.transport.until(lambda: self.saw(kind))
        return self.saw(kind)[0]

    def play(self, text):
        self.prompt(text)
        assert self.wait("end") == "completed", self.seen
        assert self.turn is None
        return "".join(self.saw("text"))

    def read(self, method):
        """A read with the extension's recovery."""
        try:
            return self.request(method, sessionId=self.session)
        except Refused as why:
            assert re.search("Unknown session:", str(why)), why
            self.open()
            return self.request(method, sessionId=self.session)

    def close(self):
        self.transport.dispose()
        unanswered = [n for n, a in self.transport.answers.items() if a is None]
        assert not unanswered, f"never answered: {unanswered}"


class Scene:
    """A place for the program, a project and its files."""

    def __init__(self, base, name, env):
        self.place, self.workspace = (os.path.join(base, name, n) for n in ("bin", "project"))
        for folder in (self.place, self.workspace):
            os.makedirs(folder)
        os.symlink(PROGRAM, os.path.join(self.place, "kward"))
        with open(os.path.join(self.workspace, "a.txt"), "w", encoding="utf-8") as file:
            file.write("one\n")
        self.env, self.base = env, base

    def chat(self):
        return Chat(self.env, self.place, self.workspace)

    def list(self, current=None):
        """The list of sessions, by a process of its own."""
        lister = Tauren(self.env, self.place)
        assert lister.request("initialize")["protocolVersion"] == 1
        params = {"workspaceRoot": self.workspace}
        if current:
            params["currentSessionPath"] = current
        found = lister.request("sessions/list", **params)["sessions"]
        lister.dispose()
        return [s for s in found if s["messageCount"] or s["name"] or s["firstMessage"]]

    def nobody_left(self):
        left = harness.left_behind(os.path.dirname(self.env["HOME"]))
        assert not left, left


# ---- scenes

def whole_chat(scene):
    """What a chat does from its start to its end."""
    chat = scene.chat()
    made = chat.open()
    assert made["workspaceRoot"] == scene.workspace and os.path.exists(made["path"])
    for method in ("runtime/state", "runtime/stats", "commands/list", "resources/startup",
                   "tools/list", "sessions/transcript"):
        chat.request(method, sessionId=chat.session)
    assert [m for m in chat.request("models/list")["models"] if m["current"]]
    assert chat.request("auth/providers")["providers"]
    assert chat.play("greet me") == "Hello there."
    assert chat.saw("thinking") == ["think first"]
    chat.play("change a.txt")
    read, edit = chat.saw("tool end")
    assert read["toolName"] == "read" and not read["result"]["isError"]
    assert edit["result"]["diff"].startswith("--- ") and edit["result"]["changedFiles"] == ["a.txt"]
    with open(os.path.join(scene.workspace, "a.txt"), encoding="utf-8") as file:
        assert file.read() == "two\n", "the tools did not work in the workspace"
    chat.prompt("ask me")
    question = chat.wait("question")
    chat.request("ui/answerQuestion", sessionId=chat.session, answers=[
        {"question": q["question"], "answer": q["options"][0]["label"]} for q in question["questions"]],
        questionRequestId=question["questionRequestId"])
    assert chat.wait("end") == "completed"
    assert chat.saw("tool end")[0]["content"] == "Go on?: Yes"
    chat.request("sessions/rename", sessionId=chat.session, name="a chat")
    exported = chat.request("sessions/export", sessionId=chat.session, format="html")["path"]
    assert os.path.getsize(exported) > 100
    entries = chat.request("sessions/forkMessages", sessionId=chat.session)["messages"]
    assert chat.request("sessions/fork", sessionId=chat.session,
                        entryId=entries[1]["entryId"])["text"] == "change a.txt"
    chat.close()
    scene.nobody_left()


def change_of_model(scene):
    """Commands of the settings panel, only those that the capabilities name."""
    chat = scene.chat()
    chat.open()
    for setting in chat.caps["runtimeSettings"]["settings"]:
        value = {"defaultModel": "Local/other", "defaultThinkingLevel": "high"}[setting]
        assert chat.request("runtime/updateSetting", sessionId=chat.session, settingId=setting,
                            value=value)["applied"] == "live"
    assert chat.request("runtime/state", sessionId=chat.session)["model"]["id"] == "other"
    chat.request("models/set", provider="Local", model="tiny")
    chat.request("reasoning/set", effort="low")
    chat.request("runtime/reload", sessionId=chat.session)
    status = chat.request("memory/status")
    for method in ("memory/enable", "memory/autoSummary/enable", "memory/autoSummary/disable",
                   "memory/disable"):
        status = {**status, **chat.request(method)}
        assert isinstance(status["enabled"], bool) and isinstance(status["autoSummary"], bool)
    record = chat.request("memory/add", text="Use tabs", scope="workspace")["memory"]
    listed = chat.request("memory/list", workspaceRoot=scene.workspace)
    assert [m["id"] for m in listed["workspace_soft"]] == [record["id"]]
    chat.close()


def abort(scene):
    chat = scene.chat()
    chat.open()
    chat.prompt("stall now")
    chat.wait("text")
    chat.request("turns/cancel", turnId=chat.turn)
    assert chat.wait("end") == "canceled" and chat.turn is None
    assert chat.play("greet again") == "Hello there."
    chat.close()


def list_while_a_turn_runs(scene):
    chat = scene.chat()
    chat.open()
    chat.prompt("stream a lot")
    chat.wait("text")
    for _ in range(5):
        found = scene.list(current=chat.path)
        assert [s["path"] for s in found] == [chat.path], found
        assert found[0]["firstMessage"] == "stream a lot", found
    assert not chat.saw("end"), "the turn was over too soon to show anything"
    assert chat.wait("end") == "completed"
    assert "".join(chat.saw("text")) == "word " * 2000
    chat.close()


def recovery(scene):
    """Every read survives a session that is gone."""
    chat = scene.chat()
    for method in ("runtime/state", "runtime/stats", "sessions/transcript", "commands/list",
                   "resources/startup"):
        chat.session = "5f1ac9a5-0000-4000-8000-000000000000"
        assert chat.read(method)
        assert chat.session.count("-") == 4 and not chat.session.startswith("5f1ac9a5-0000")
    chat.close()
    assert not scene.list(), "sessions that nobody used are left"


def delete_from_the_list(scene):
    """Deleting resumes the path in the chat's own process and deletes that."""
    first = scene.chat()
    first.open()
    first.play("greet first")
    second = scene.chat()
    second.open()
    second.play("greet second")
    victim = second.request("sessions/resume", path=first.path, workspaceRoot=scene.workspace)
    assert second.request("sessions/delete", sessionId=victim["id"])["deleted"]
    assert [s["path"] for s in scene.list()] == [second.path]
    first.close()
    second.close()
    assert not os.path.exists(first.path)


def dispose_at_any_time(scene):
    """Closed stdin and SIGTERM, whatever goes on; what was said is there again."""
    moments = {"": None, "stall": "text", "sleep": None, "question for ever": "question",
               "stream": "text"}
    for text, sign in moments.items():
        chat = scene.chat()
        chat.open()
        if text:
            chat.prompt(f"{text} please")
        if sign:
            chat.wait(sign)
        elif text:
            time.sleep(0.5)  # the command runs by then, or is just starting: both are fine
        chat.transport.dispose()
        scene.nobody_left()
        assert os.path.exists(chat.path) == bool(text), f"{text}: {chat.path}"
        if text:
            again = scene.chat()
            again.open(chat.path)
            messages = again.read("sessions/transcript")["messages"]
            assert messages[0]["content"][0]["text"] == f"{text} please", messages
            assert again.play("greet after") == "Hello there."
            again.close()


def dispose_at_once(scene):
    """A panel that is closed before anything was answered."""
    for n in range(20):
        chat = Tauren(scene.env, scene.place)
        chat.send("initialize")
        chat.send("sessions/create", {"workspaceRoot": scene.workspace})
        if n % 2:
            chat.take()
        chat.dispose()
    assert not scene.list()
    assert not session_files(scene), "files of sessions that nobody used"


def session_files(scene):
    folder = "--" + scene.workspace[1:].replace("/", "-") + "--"
    return sorted(glob.glob(os.path.join(scene.env["HOME"], ".kward", "sessions", folder, "*.jsonl")))


def reads_files_itself(scene):
    """Without a process: the list and the diffs come from the files."""
    chat = scene.chat()
    chat.open()
    chat.request("sessions/rename", sessionId=chat.session, name="by hand")
    chat.play("greet the reader")
    chat.play("change a.txt")
    clone = chat.request("sessions/clone", sessionId=chat.session)
    chat.close()
    listed = {s["path"]: s for s in scene.list()}
    assert set(listed) == set(session_files(scene))
    for path, item in listed.items():
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        head = records[0]
        assert head["type"] == "session" and head["cwd"] == scene.workspace
        assert head.get("parentPath") == item["parentPath"]
        messages = [r["message"] for r in records if r["type"] == "message"]
        assert len(messages) == item["messageCount"]
        assert messages[0]["content"] == item["firstMessage"] == "greet the reader"
        names = [r["name"] for r in records if r["type"] == "session_info"]
        assert (names[-1] if names else None) == item["name"]
    assert listed[clone["path"]]["parentPath"] == chat.path
    with open(chat.path, encoding="utf-8") as file:
        ends = [r for r in map(json.loads, file) if r["type"] == "tool_execution_end"]
    assert [e["toolName"] for e in ends] == ["read", "edit"] and ends[1]["isError"] is False
    assert ends[1]["args"] == {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}
    assert ends[1]["result"]["diff"].startswith("--- ") and ends[1]["timestamp"]


def many_at_once(scene):
    """Requests are sent without waiting, all are answered."""
    chat = scene.chat()
    chat.open()
    numbers = [chat.transport.send(method, {"sessionId": chat.session})
               for method in ("runtime/state", "runtime/stats", "commands/list", "tools/list",
                              "sessions/transcript", "sessions/forkMessages") * 30]
    chat.prompt("greet in between")
    chat.transport.until(lambda: all(chat.transport.answers[n] for n in numbers))
    assert all("result" in chat.transport.answers[n] for n in numbers)
    assert chat.wait("end") == "completed"
    chat.close()


SCENES = [whole_chat, change_of_model, abort, list_while_a_turn_runs, recovery,
          delete_from_the_list, dispose_at_any_time, dispose_at_once, reads_files_itself,
          many_at_once]


def play_scene(play, env, base):
    """Every scene has a home and a provider of its own."""
    place = os.path.join(base, play.__name__)
    home = harness.clean_env(place)
    with Server(REPLIES) as server:
        home.update(KWARD_PROVIDER="local", KWARD_LOCAL_MODEL="tiny",
                    KWARD_LOCAL_BASE_URL=f"http://127.0.0.1:{server.port}/v1")
        if play is change_of_model:  # the environment would win
            del home["KWARD_LOCAL_MODEL"], home["KWARD_PROVIDER"]
            os.makedirs(os.path.join(home["HOME"], ".kward"))
            with open(os.path.join(home["HOME"], ".kward", "config.json"), "w",
                      encoding="utf-8") as file:
                json.dump({"provider": "local", "local_model": "tiny"}, file)
        play(Scene(base, f"{play.__name__}/s", {**env, **home}))


def main():
    passed = failed = 0
    words = sys.argv[1:]
    with harness.private_place() as base:
        env = harness.clean_env(base)
        for play in SCENES:
            if words and play.__name__ not in words:
                continue
            try:
                play_scene(play, env, base)
                passed += 1
            except (AssertionError, Refused, OSError, KeyError, subprocess.TimeoutExpired):
                failed += 1
                print(f"---- {play.__name__}")
                with contextlib.suppress(Exception):
                    traceback.print_exc(file=sys.stdout)
    harness.finish(passed, failed)


main()
