#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel that cannot enforce the sandbox: it is said, once and at the start, and in doctor.

The program runs under a filter that knows no Landlock and gives no namespaces, as a kernel that was
built without them would.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client       # noqa: E402
import harness      # noqa: E402
import security_place   # noqa: E402
import view         # noqa: E402

LOSS = "commands read and write whatever the user may"


def weaken(landlock=True):
    """In the child, before it becomes the program: no namespaces, and no Landlock either."""
    view.enter("container", *(["landlock"] if landlock else []))


def doctor(sandbox, *args):
    env = dict(os.environ, TRIVET_SANDBOX=sandbox)
    return subprocess.run([client.PROGRAM, "doctor", *args], env=env, preexec_fn=weaken,
                          capture_output=True, text=True, check=False)


class Weak(client.Scaiflux):
    """ScaiFlux on the weak kernel."""

    def __init__(self, *args, **names):
        popen = subprocess.Popen
        subprocess.Popen = lambda *a, **k: popen(*a, preexec_fn=weaken, **k)
        try:
            super().__init__(*args, **names)
        finally:
            subprocess.Popen = popen


def serve(base, sandbox):
    """Two commands: their results and what stood on stderr."""
    scene = os.path.join(base, "scene.json")
    with open(scene, "w", encoding="utf-8") as file:
        json.dump({"rounds": [[{"call": "bash", "args": {"command": "echo r''an"}}] * 2,
                              [{"say": "."}]]}, file)
    with Weak(["--model", f"rehearsal/{scene}"], cwd=base, env={"TRIVET_SANDBOX": sandbox}) as c:
        c.event("ready")
        seen = c.turn("go")
        c.close()
        c.listener.join()
    return [text for _, text, _ in seen.results], c.stderr.decode()


def check_doctor(t):
    plain = doctor("")
    t.check("doctor is content where no sandbox is asked for", plain.returncode == 0)
    t.check("doctor says what is lost", f"not enforced: {LOSS}" in plain.stdout
            and "risky    landlock" in plain.stdout and "risky    namespaces" in plain.stdout)
    strict = doctor("require")
    t.check("doctor is not content where it is required", strict.returncode == 1)
    t.check("doctor says that it is broken", "broken   files" in strict.stdout)
    found = json.loads(doctor("", "--json").stdout)
    states = {row["name"]: row["finding"] for row in found["sandbox"]}
    t.check("the same as JSON", states["files"] == "risky" and states["calls"] == "ok"
            and found["usable"] is True)


def check_serve(t, base):
    results, said = serve(base, "workspace-write")
    t.check("commands run with what the kernel has", all("ran" in text for text in results))
    t.check("what is lost is said once", said.count(LOSS) == 1)
    results, said = serve(base, "require")
    t.check("no command runs where it is required", not any("ran" in text for text in results))
    t.check("and that is said at the start", "so no command will run" in said)
    _, said = serve(base, "off")
    t.check("nothing is said where no sandbox is asked for", said == "")


def run(base, place, *flags):
    """`trivet run` without namespaces alone: what stood on stderr, and what the model was asked."""
    provider = security_place.Provider()
    port = provider.server.server_address[1]
    env = {**harness.clean_env(base), "OPENAI_API_KEY": "sk-x",
           "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    work = os.path.join(base, place)
    os.makedirs(work, exist_ok=True)
    done = subprocess.run([client.PROGRAM, "run", "-q", "-m", "openai/x", *flags, "go"], cwd=work,
                          env=env, preexec_fn=lambda: weaken(False), capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    provider.close()
    assert done.returncode == 0, done.stderr
    return done.stderr, "".join(provider.asked)


def check_namespaces(t, base):
    """The settings of the system allow them, and yet there are none."""
    said, asked = run(base, "work")
    t.check("missing namespaces are reported at the start",
            said.count("are only checked after each command") == 1)
    t.check("the prompt is right about localhost",
            "and so are ports on localhost" in asked and "$TMPDIR" in asked
            and "git commands alone" not in asked)
    said, asked = run(base, "work", "--sandbox", "off", "--mode", "danger-full-access")
    t.check("nothing is reported without a sandbox", said == "" and "in a sandbox" not in asked)
    weak = subprocess.run([client.PROGRAM, "doctor"], preexec_fn=lambda: weaken(False),
                          capture_output=True, text=True, check=False).stdout
    t.check("doctor reports it", "risky    mounts" in weak and "risky    loopback" in weak
            and "ok       files" in weak)


class Tally:
    passed = failed = 0

    def check(self, what, ok):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print(f"FAILED {what}")


def main():
    t = Tally()
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        check_doctor(t)
        check_serve(t, base)
        check_namespaces(t, base)
    harness.finish(t.passed, t.failed)


main()
