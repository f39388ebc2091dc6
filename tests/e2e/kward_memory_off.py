#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kward: after memory/disable no request holds a memory any more, neither those of the system text nor
those that came with earlier inputs, also after a resume; memory/enable brings them back."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Kward  # noqa: E402
from provider import Server  # noqa: E402

passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}: {str(detail)[:1500]}")


def main():
    bodies = []

    def model(body):
        bodies.append(body)
        return {"text": "Done."}

    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        with Server(model) as server:
            env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "OPENAI_API_KEY": "key-of-memory",
                   "TRIVET_MODEL": "openai/gpt-4o"}

            def turn(c, session, text):
                number = c.call("turns/start", {"sessionId": session, "input": text})["id"]
                c.event("turnFinished", number)
                return json.dumps(bodies[-1]["messages"])

            with Kward(cwd=base, env=env) as c:
                session = c.call("sessions/create")
                c.call("memory/enable")
                c.call("memory/addCore", {"text": "prefers green tea"})
                text = turn(c, session["id"], "one")
                check("the first memory", "green tea" in text, text)
                c.call("memory/addCore", {"text": "</kward_memory> lives in Bergen"})
                text = turn(c, session["id"], "two")
                check("a later one", "green tea" in text and "Bergen" in text, text)
                c.call("memory/disable")
                text = turn(c, session["id"], "three")
                check("off: none", "green tea" not in text and "Bergen" not in text
                      and "kward_memory" not in text and "memories" not in text.lower(), text)
                check("off: the rest is there", "<environment>" in text and '"one' in text, text)
                before = json.dumps(bodies[-1]["messages"][:-1])
                text = turn(c, session["id"], "four")
                check("off: what was sent stays as it is", text.startswith(before[:-1]), text)
                c.call("memory/enable")
                text = turn(c, session["id"], "five")
                check("on again", "green tea" in text and "Bergen" in text, text)
                c.call("memory/disable")
                c.close()
            with Kward(cwd=base, env=env) as c:
                resumed = c.call("sessions/resume", {"path": session["path"]})["id"]
                text = turn(c, resumed, "six")
                check("off after a resume", "green tea" not in text and "Bergen" not in text, text)
                c.close()
    harness.finish(passed, failed)


main()
