#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists of models show what can be used, each once: the rehearsal model when nothing else is there or
when it is in use, never its test scenarios; the whole list on request."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, client, harness  # noqa: E402

check = Checks()
NOWHERE = {name: "http://127.0.0.1:9/v1" for name in (
    "OLLAMA_BASE_URL", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL")}


def listed(base, *args, **env):
    done = subprocess.run([client.PROGRAM, "models", "--offline", "--plain", *args], check=True,
                          env={**harness.clean_env(base), **NOWHERE, **env}, capture_output=True, text=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def command(base):
    check("nothing else", listed(base) == ["rehearsal/default"], listed(base))
    with_key = listed(base, OPENAI_API_KEY="key-of-list-1")
    check("a key", {m.split("/")[0] for m in with_key} == {"openai"} and len(with_key) > 5, with_key)
    in_use = listed(base, TRIVET_MODEL="rehearsal/echo", OPENAI_API_KEY="key-of-list-1")
    check("in use", {"rehearsal/default", "rehearsal/echo"}
          == {m for m in in_use if m.startswith("rehearsal")}, in_use)
    twin = listed(base, TRIVET_MODEL="openai-responses/gpt-5.5", OPENAI_API_KEY="key-of-list-1")
    check("the double is in use", any(m.startswith("openai-responses/") for m in twin), twin)
    everything = listed(base, "--all")
    check("all on request", {"rehearsal/loop", "openai/gpt-5.5", "openai-responses/gpt-5.5"}
          <= set(everything), everything)
    check("each once", len(everything) == len(set(everything)))
    check("of one provider", "rehearsal/loop" in listed(base, "rehearsal"))


def loaf(base):
    env = {**harness.clean_env(base), **NOWHERE, "OPENAI_API_KEY": "key-of-list-1",
           "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    with client.Loaf((), cwd=base, env=env) as c:
        result = c.call("model.list")
    check("loaf: providers", result["providers"] == ["openai"], result["providers"])
    names = [(m["provider"], m["id"]) for m in result["models"]]
    check("loaf: each once", len({i for _, i in names}) == len(names), names)


def main():
    for case in (command, loaf):
        with check.scene(case.__name__) as base:
            case(base)
    return check.end()


sys.exit(main())
