#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kward: skills of its own directory, of the workspace and of the user are listed to the model and the
client, and can be read; of several with one name Kward's own counts; each session has those of its
workspace."""
import json
import os
import subprocess
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
        print(f"FAIL {name}: {str(detail)[:900]}")


def skill(folder, name, about):
    os.makedirs(f"{folder}/{name}")
    with open(f"{folder}/{name}/SKILL.md", "w", encoding="ascii") as file:
        file.write(f"---\nname: {name}\ndescription: {about}\n---\nSteps of {name}, {about}.\n")


class Model:
    """Reads the skill that the user names."""

    def __init__(self):
        self.bodies = []

    def __call__(self, body):
        self.bodies.append(body)
        last = body["messages"][-1]
        if last["role"] == "user":
            name = last["content"].split()[-1]
            return {"tool_calls": [{"id": f"c{len(self.bodies)}", "name": "read_skill",
                                    "arguments": json.dumps({"name": name})}]}
        return {"text": "Done."}


def turn(c, session, text):
    number = c.call("turns/start", {"sessionId": session, "input": text})["id"]
    c.event("turnFinished", number)


def main():
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        base, home = os.path.realpath(base), os.environ["HOME"]
        one, two = f"{base}/one", f"{base}/two"
        for place in (one, two):
            os.mkdir(place)
            subprocess.run(["git", "init", "-q", place], check=True)
        os.mkdir(f"{one}/part")
        skill(f"{home}/.kward/skills", "own", "of Kward")
        skill(f"{home}/.kward/skills", "same", "of Kward")
        skill(f"{home}/.agents/skills", "user", "of the user")
        skill(f"{home}/.agents/skills", "same", "of the user")
        skill(f"{os.environ['XDG_CONFIG_HOME']}/trivet/skills", "general", "of trivet")
        skill(f"{one}/.agents/skills", "root", "of the root")
        skill(f"{one}/part/.kward/skills", "part", "of the part")
        skill(f"{two}/.agents/skills", "other", "of the other")
        everywhere = {"own", "same", "user", "general"}
        model = Model()
        with Server(model) as server, Kward(cwd=two, env={
                "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "OPENAI_API_KEY": "key-of-skills",
                "TRIVET_MODEL": "openai/gpt-4o"}) as c:
            for place, more in ((f"{one}/part", {"root", "part"}), (two, {"other"})):
                session = c.call("sessions/create", {"workspaceRoot": place})["id"]
                listed = {x["name"][6:]: x for x in c.call("commands/list", {"sessionId": session})[
                    "commands"] if x["source"] == "skill"}
                check(f"listed in {place}", set(listed) == everywhere | more, listed)
                check("Kward's own counts", listed["same"]["description"] == "of Kward", listed)
                shown = c.call("resources/startup", {"sessionId": session})["sections"]
                check("at the start", set(next(s["items"] for s in shown if s["name"] == "Skills"))
                      == set(listed), shown)
                for name in sorted(set(listed)):
                    turn(c, session, f"read {name}")
                    text = json.dumps(model.bodies[-1])
                    check(f"{name} is read", f"Steps of {name}, {listed[name]['description']}." in text,
                          text[-600:])
                text = json.dumps(model.bodies[-1]["messages"])
                check("the model has all", all(f"of {w}" in text for w in ("Kward", "the user", "trivet"))
                      and ("of the part" in text) == ("part" in more), text)
                turn(c, session, "read nothing-like-this")
                check("an unknown one", "unknown skill" in json.dumps(model.bodies[-1]), model.bodies[-1])
            c.close()
    harness.finish(passed, failed)


main()
