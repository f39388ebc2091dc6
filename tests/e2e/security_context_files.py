#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""What a repository brings along is text: links out of it, pipes, files of the kernel and credential
files do not reach the system prompt, whatever name they have.
"""
import json
import os
import subprocess

from security_place import SECRET, Provider, play

GOOD = "Indent with four spaces."


def ask(p, *args, **env):
    """The system prompt of one turn, and what the program said."""
    provider = Provider()
    done = p.run("run", "-m", "openai/gpt-4.1", *args, "go", OPENAI_API_KEY="key-of-tests-123",
                 OPENAI_BASE_URL=f"http://127.0.0.1:{provider.server.server_port}/v1", **env)
    provider.close()
    return "".join(provider.asked), done


def link(to):
    return lambda p, path: os.symlink(to(p), path)


def through_directory(p, path):
    os.symlink(p.out, f"{p.work}/docs")
    os.symlink("docs/secret", path)


def hard(p, path):
    os.link(f"{p.home}/.loaf/auth.json", path)


def unreadable(p, path):
    p.put(path, SECRET)
    os.chmod(path, 0)
    if p.uid == 0:
        os.unlink(path)


def large(_, path):
    with open(path, "wb") as file:
        file.truncate(1 << 30)


def chain(p, path):
    os.symlink("two", path)
    os.symlink(f"{p.work}/../outside/secret", f"{p.work}/two")


BAD = {
    "a file outside": link(lambda p: f"{p.out}/secret"),
    "a file outside, relative": link(lambda _: "../outside/secret"),
    "a credential file": link(lambda p: f"{p.home}/.loaf/auth.json"),
    "the environment": link(lambda _: "/proc/self/environ"),
    "a link in the middle": through_directory,
    "a chain of links": chain,
    "a second name of a credential file": hard,
    "a pipe": lambda _, path: os.mkfifo(path),
    "a directory": lambda _, path: os.mkdir(path),
    "a device": link(lambda _: "/dev/zero"),
    "unreadable": unreadable,
    "1 GiB": large,
    "a loop": lambda _, path: os.symlink("AGENTS.md", path),
}


def bad_instructions(title, make):
    def case(score, p):
        make(p, f"{p.work}/AGENTS.md")
        system, done = ask(p)
        score.check(f"AGENTS.md: {title} ({score.name})",
                    done.returncode == 0 and "fine" in done.stdout and system and
                    SECRET not in system and "Instructions of this project" not in system,
                    system + done.stderr)
    case.__name__ = title
    return case


def good_instructions(score, p):
    p.put("docs/agents.md", GOOD)
    os.symlink("docs/agents.md", f"{p.work}/AGENTS.md")
    system, done = ask(p)
    score.check(f"a link inside is followed ({score.name})", GOOD in system, done.stderr)


def home_is_workspace(score, p):
    """A credential file that lies in the workspace itself."""
    p.env["HOME"] = p.work
    p.put(".loaf/auth.json", SECRET)
    os.symlink(".loaf/auth.json", f"{p.work}/AGENTS.md")
    system, done = ask(p)
    score.check(f"a credential file of the workspace ({score.name})",
                system and SECRET not in system, done.stderr)


def loaf(p, *requests, **env):
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, **r}) for i, r in enumerate(requests, 1)]
    return p.run("loaf", "rpc", text="".join(line + "\n" for line in lines), **env)


def skills(score, p):
    subprocess.run(["git", "init", "-q", p.work], check=True)
    p.put(".agents/skills/good/SKILL.md", GOOD)
    for name, to in (("file", f"{p.out}/secret"), ("environ", "/proc/self/environ"),
                     ("login", f"{p.home}/.loaf/auth.json")):
        os.makedirs(f"{p.work}/.agents/skills/{name}")
        os.symlink(to, f"{p.work}/.agents/skills/{name}/SKILL.md")
    p.put(f"{p.out}/tree/SKILL.md", SECRET)
    os.symlink(f"{p.out}/tree", f"{p.work}/.agents/skills/tree")
    os.makedirs(f"{p.work}/.agents/skills/pipe")
    os.mkfifo(f"{p.work}/.agents/skills/pipe/SKILL.md")
    done = loaf(p, {"method": "skills.list"}, PROBE_KEY=SECRET)
    score.check(f"skills ({score.name})", GOOD in done.stdout and SECRET not in done.stdout
                and '"name":"tree"' not in done.stdout, done.stdout)


def skills_of_the_user(score, p):
    """The user's own may be links."""
    p.put(f"{p.out}/tree/SKILL.md", GOOD)
    os.makedirs(f"{p.home}/.loaf/skills")
    os.symlink(f"{p.out}/tree", f"{p.home}/.loaf/skills/mine")
    os.makedirs(f"{p.home}/.loaf/skills/login")
    os.symlink(f"{p.home}/.loaf/auth.json", f"{p.home}/.loaf/skills/login/SKILL.md")
    done = loaf(p, {"method": "skills.list"})
    score.check(f"own skills ({score.name})", GOOD in done.stdout and SECRET not in done.stdout,
                done.stdout)


def state(score, p):
    p.put(".loaf-state.json", json.dumps({"version": 1, "openRouterApiKey": SECRET,
                                          "exaApiKey": SECRET, "selectedThinking": "LOW"}))
    done = loaf(p, {"method": "state.get"})
    kept = "".join(open(f"{p.home}/.loaf/{name}", encoding="utf-8").read()
                   for name in os.listdir(f"{p.home}/.loaf") if name != "auth.json")
    score.check(f".loaf-state.json gives no key ({score.name})",
                '"hasOpenRouterKey":true' not in done.stdout and SECRET not in kept, kept)
    score.check(f".loaf-state.json gives choices ({score.name})",
                '"selectedThinking":"LOW"' in done.stdout, done.stdout)


def state_link(score, p):
    p.put(f"{p.out}/state.json", json.dumps({"selectedThinking": "LOW"}))
    os.symlink(f"{p.out}/state.json", f"{p.work}/.loaf-state.json")
    done = loaf(p, {"method": "state.get"})
    score.check(f".loaf-state.json as a link ({score.name})",
                '"selectedThinking":"LOW"' not in done.stdout, done.stdout)


def scaiflux_config(score, p):
    p.put(f"{p.out}/config.json", json.dumps({"model": f"rehearsal/{SECRET}"}))
    os.symlink(f"{p.out}/config.json", f"{p.work}/.scaiflux.json")
    done = p.run("scaiflux", "serve", text='{"type":"quit"}\n')
    said = done.stdout + done.stderr
    score.check(f".scaiflux.json ({score.name})",
                SECRET not in said and "leads out of" in said, said)


def project_rules(score, p):
    p.put(f"{p.out}/permissions.json", json.dumps({SECRET: []}))
    os.mkdir(f"{p.work}/.trivet")
    os.symlink(f"{p.out}/permissions.json", f"{p.work}/.trivet/permissions.json")
    done = p.run("run", "-m", "rehearsal/hello", "go")
    score.check(f".trivet/permissions.json ({score.name})",
                SECRET not in done.stderr and "leads out of" in done.stderr, done.stderr)


play(*[bad_instructions(*item) for item in BAD.items()], good_instructions, home_is_workspace,
     skills, skills_of_the_user, state, state_link, scaiflux_config, project_rules)
