#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet config`: precedence of option, environment, project, user and machine; a project only makes settings
stricter; the policy in /etc/trivet/config.json cannot be loosened.  docs/configuration.md has the table of the
rows; `--write` makes it anew.
"""
import json
import os
import shutil
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
PAGE = os.path.join(harness.TOP, "docs/configuration.md")
BEGIN, END = "<!-- made by tests/e2e/config.py -->\n", "<!-- end -->\n"
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:700]}")


class Stage:
    def __init__(self, base):
        self.base = base
        self.env = harness.clean_env(base)
        self.cwd = os.path.join(base, "work")
        os.makedirs(os.path.join(self.cwd, ".trivet"))
        self.user = os.path.join(self.env["XDG_CONFIG_HOME"], "trivet/config.json")
        self.project = os.path.join(self.cwd, ".trivet/config.json")
        self.wrap = []

    def run(self, *args, **env):
        return subprocess.run([*self.wrap, PROGRAM, *args], cwd=self.cwd, env={**self.env, **env}, check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=60 * harness.slow())

    def config(self, *args, **env):
        return self.run("config", *args, **env)

    def get(self, name, **env):
        row = json.loads(self.config("get", name, "--json", **env).stdout)
        return row["value"], row["from"]


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


def commands(s):
    check("a default", s.get("max-turns") == ("200", "program"), s.get("max-turns"))
    check("no value: 1", s.config("get", "model").returncode == 1)
    check("set", s.config("set", "max-turns", "50").returncode == 0 and s.get("max-turns") == ("50", "user"))
    check("its file is private", stat.S_IMODE(os.stat(s.user).st_mode) == 0o600)
    check("get", s.config("get", "max-turns").stdout == "50\n")
    check("environment", s.get("max-turns", TRIVET_MAX_TURNS="7") == ("7", "environment"))
    for name, value in (("max-turns", "none"), ("mode", "yolo"), ("sandbox", "sometimes"), ("timeout", "soon"),
                        ("max-cost", "-1"), ("sandbox-write", "relative"), ("effort", "")):
        output = s.config("set", name, value)
        check(f"set {name} {value!r}: 2", output.returncode == 2 and output.stderr, output)
    output = s.config("set", "max-turn", "5")
    check("nearest name", output.returncode == 2 and "did you mean max-turns" in output.stderr, output)
    write(s.user, {"max-turns": 50, "mine": {"kept": True}})
    s.config("set", "effort", "high")
    with open(s.user, encoding="utf-8") as file:
        check("other members stay", json.load(file) == {"max-turns": 50, "mine": {"kept": True}, "effort": "high"})
    check("numbers count", s.get("max-turns") == ("50", "user"))
    check("unset", s.config("unset", "effort").returncode == 0 and s.get("effort") == (None, None))
    rows = json.loads(s.config("list", "--json").stdout)
    check("list", {"model", "mode", "sandbox", "sandbox-net"} <= {row["name"] for row in rows})
    check("list for people", "max-turns          50  (user)" in s.config().stdout, s.config().stdout)
    root = json.loads(s.config("schema").stdout)
    check("schema names all", set(root["properties"]) == {row["name"] for row in rows} | {"policy"})
    output = s.run("exec", "-m", "rehearsal/hello", "x")
    check("an unknown member is reported", "unknown setting mine" in output.stderr and output.returncode == 0, output)
    write(s.user, "{broken")
    output = s.run("exec", "-m", "rehearsal/hello", "x")
    check("a broken file is reported", "config.json" in output.stderr and output.returncode == 0, output)
    check("and not written over", s.config("set", "effort", "low").returncode == 1)
    os.unlink(s.user)


def counts(s):
    """Settings reach exec; options win."""
    scene = os.path.join(s.base, "loop.json")
    write(scene, {"rounds": [[{"call": "glob_search", "args": {"pattern": "*"}}]], "forever": True})

    def rounds(*args, **env):
        output = s.run("exec", "--json", "-m", f"rehearsal/{scene}", *args, "x", **env)
        return json.loads(output.stdout)["rounds"]

    write(s.user, {"max-turns": 3})
    three = rounds()
    check("the user's limit", three == 3, three)
    check("an option wins", rounds("--max-turns", "2") == 2 and rounds("--max-turns", "5") == 5)
    check("the environment wins", rounds(TRIVET_MAX_TURNS="4") == 4)
    write(s.project, {"max-turns": 2})
    check("a project lowers it", rounds() == 2)
    write(s.project, {"max-turns": 9})
    check("a project cannot raise it", rounds() == 3)
    os.unlink(s.project)
    write(s.user, {"model": "rehearsal/hello"})
    output, named = s.run("exec", "x"), s.run("exec", "-m", "rehearsal/hello", "x")
    check("the user's model", output.returncode == 0 and output.stdout == named.stdout != "", output)
    other = s.run("exec", "x", TRIVET_MODEL="rehearsal/echo")
    check("TRIVET_MODEL comes first", other.stdout == "x\n", other)
    os.unlink(s.user)


def projects(s):
    """A project written by others cannot loosen anything."""
    loose = {"mode": "danger-full-access", "sandbox": "off", "sandbox-net": "on", "sandbox-unix": "on",
             "sandbox-write": "/", "sandbox-hide": "!~/.ssh", "pass-env": "SECRET", "model": "openai/x",
             "max-cost": "1000", "sandbox-memory": "0", "stall-ms": 1}
    write(s.project, loose)
    write(s.user, {"max-cost": "2"})
    for name in loose:
        value, source = s.get(name)
        check(f"a project cannot loosen {name}", source != "project", (value, source))
        output = s.config("explain", name).stdout
        check(f"explain says so: {name}", "ignored" in output, output)
        check(f"set --project {name}: 2", s.config("set", "--project", name, str(loose[name])).returncode == 2)
    scene = os.path.join(s.base, "write.json")
    target = os.path.join(s.base, "outside.txt")
    write(scene, {"rounds": [[{"call": "bash", "args": {"command": f"echo x > {target}; env"}}],
                             [{"say": "{{tool_output}}"}]]})
    output = s.run("exec", "-m", f"rehearsal/{scene}", "x", SECRET="hidden-value")
    check("the sandbox is on", not os.path.exists(target) and "hidden-value" not in output.stdout, output)
    check("it is reported", "a project can only make it stricter" in output.stderr, output.stderr)
    strict = {"mode": "read-only", "sandbox": "read-only", "max-cost": "1", "effort": "low"}
    write(s.project, strict)
    for name, value in strict.items():
        check(f"a project can tighten {name}", s.get(name) == (value, "project"), s.get(name))
    target = os.path.join(s.cwd, "inside.txt")
    write(scene, {"rounds": [[{"call": "write_file", "args": {"path": "inside.txt", "content": "x"}}], [{"say": "end"}]]})
    s.run("exec", "-m", f"rehearsal/{scene}", "x")
    check("read-only holds", not os.path.exists(target))
    s.run("exec", "-m", f"rehearsal/{scene}", "--mode", "workspace-write", "--sandbox", "workspace-write", "x")
    check("the user's options win", os.path.exists(target))
    write(s.user, {"sandbox": "require"})
    check("require stays", s.get("sandbox") == ("require", "user"), s.get("sandbox"))
    os.unlink(s.project)
    check("set --project", s.config("set", "--project", "mode", "read-only").returncode == 0
          and s.get("mode") == ("read-only", "project"))
    output = s.config("explain", "mode").stdout
    check("explain", "* project      read-only" in output and "  program      workspace-write" in output, output)
    os.unlink(s.project)
    os.unlink(s.user)


def can_mount():
    return subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0


def protocols(s):
    """The sandbox of the policy holds for a protocol whose commands are not confined otherwise."""
    target, scene = os.path.join(s.base, "by-scaiflux.txt"), os.path.join(s.base, "scaiflux.json")
    write(scene, {"rounds": [[{"call": "bash", "args": {"command": f"echo x > {target}"}}], [{"say": "end"}]]})
    lines = [{"type": "prompt", "text": "x"},
             {"type": "permission_response", "request_id": "r-1", "decision": "allow"}]
    for wrap, is_written in ((s.wrap, False), ([], True)):
        process = subprocess.Popen([*wrap, PROGRAM, "scaiflux", "serve", "-m", f"rehearsal/{scene}"], cwd=s.cwd,
                                   env={**s.env, "TRIVET_SANDBOX": "off"}, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        wanted = ["permission_request", "turn_complete"]
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            want, kind = wanted.pop(0), None
            while kind not in (want, "turn_complete", "turn_error"):
                text = process.stdout.readline()
                if not text:
                    break
                kind = json.loads(text)["type"]
        process.stdin.close()
        process.wait(30 * harness.slow())
        check(f"scaiflux {'without' if is_written else 'with'} the policy", os.path.exists(target) == is_written)


def policies(s):
    """With an /etc of its own, in a mount namespace."""
    etc = os.path.join(s.base, "etc")
    os.makedirs(os.path.join(etc, "trivet"))
    for name in ("passwd", "group", "ld.so.cache", "nsswitch.conf", "hosts", "resolv.conf", "ssl", "alternatives"):
        if os.path.isdir(f"/etc/{name}"):
            shutil.copytree(f"/etc/{name}", f"{etc}/{name}", symlinks=True,
                            ignore=shutil.ignore_patterns("private"))  # keys, for root alone
        elif os.path.exists(f"/etc/{name}"):
            shutil.copy(f"/etc/{name}", f"{etc}/{name}")
    machine = os.path.join(etc, "trivet/config.json")
    s.wrap = ["unshare", "-rm", "sh", "-c", f'mount --bind {etc} /etc && exec "$@"', "sh"]
    write(machine, {"max-turns": 33, "effort": "medium"})
    check("defaults of the machine", s.get("max-turns") == ("33", "machine"), s.get("max-turns"))
    write(s.user, {"max-turns": 44})
    check("the user's file wins", s.get("max-turns") == ("44", "user"))
    os.unlink(s.user)
    write(machine, {"policy": {"sandbox": "require", "sandbox-net": "off", "sandbox-write": "off",
                               "deny": ["bash(curl)"], "ask": ["write_file(*.key)"]}})
    scene, target = os.path.join(s.base, "policy.json"), os.path.join(s.base, "beyond.txt")
    write(scene, {"rounds": [[{"call": "bash", "args": {"command": f"echo x > {target}"}}],
                             [{"call": "bash", "args": {"command": "curl --version"}}],
                             [{"call": "write_file", "args": {"path": "a.key", "content": "x"}}],
                             [{"say": "end"}]]})
    write(s.user, {"sandbox": "off", "sandbox-write": s.base})
    write(os.path.join(os.path.dirname(s.user), "permissions.json"), {"allow": ["*", "bash(curl)", "write_file"]})
    output = s.run("--sandbox", "off", "exec", "--stream-json", "-m", f"rehearsal/{scene}", "--mode",
                 "danger-full-access", "--sandbox", "off", "--allow", "*", "x",
                 TRIVET_SANDBOX="off", TRIVET_SANDBOX_WRITE=s.base, TRIVET_SANDBOX_NET="on")
    done = [json.loads(line) for line in output.stdout.splitlines()]
    done = [one for one in done if one["type"] == "call_done"]
    check("a sandbox whatever the user says", not os.path.exists(target) and len(done) == 3, (output.stderr, done))
    check("a rule of the policy", "denied by the rule" in json.dumps(done[1]), done)
    check("ask cannot be allowed away", not os.path.exists(os.path.join(s.cwd, "a.key")), done)
    check("explain", "policy of /etc/trivet/config.json" in s.config("explain", "sandbox").stdout)
    protocols(s)
    servers(s, machine)
    for broken in ("{", "[]", {"policy": {"sandbx": "require"}}, {"policy": {"sandbox": "off"}},
                   {"policy": {"deny": "bash"}}, {"policy": []}):
        write(machine, broken)
        output = s.run("exec", "-m", "rehearsal/hello", "x")
        check(f"a policy that cannot be used stops: {broken}", output.returncode == 2 and "policy" in output.stderr
              and output.stdout == "", output)
        output = s.run("kward", "rpc")
        check("protocols too", output.returncode == 2, output)
    check("help stays", s.run("help").returncode == 0)
    s.wrap = []


def servers(s, machine):
    """The network of an MCP server is at most what the policy of the machine leaves."""
    outside = os.readlink("/proc/self/ns/net")
    file = os.path.join(os.path.dirname(s.user), "mcp.json")
    for wanted, policy, left in ((True, "off", "off"), (True, "example.org", "example.org"), (None, "off", None),
                                 (["example.org", "example.com"], "example.com", "example.com"), (False, "off", None)):
        server = {"command": "sh", "args": ["-c", "readlink /proc/self/ns/net >&2"]}
        if wanted is not None:
            server["network"] = wanted
        write(file, {"mcpServers": {"net": server}})
        write(machine, {"policy": {"sandbox-net": policy}})
        said = "network by the policy of this machine: "
        output = s.run("mcp", "test", "net")
        check(f"a server with network {wanted}, policy {policy}", "net:[" in output.stdout
              and outside not in output.stdout, output)
        check("test says why", (f"{said}{left}\n" in output.stdout) == (left is not None), output)
        check("the log as well", (f"limits its network: {left}" in output.stderr) == (left is not None), output)
        output = s.run("mcp", "list")
        check("list says why", (f"({said}{left})" in output.stdout) == (left is not None), output)
        row = json.loads(s.run("mcp", "list", "--json").stdout)["servers"][0]
        check("list --json too", row.get("networkByPolicy") == left, row)
    os.unlink(file)


def page(s):
    table = s.run("describe", "config").stdout
    with open(PAGE, encoding="utf-8") as file:
        old = file.read()
    before, _, rest = old.partition(BEGIN)
    wanted = f"{before}{BEGIN}{table}{END}{rest.partition(END)[2]}"
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(wanted)
    else:
        check("docs/configuration.md is up to date", wanted == old, "run with --write")


def main():
    with harness.private_place() as base:
        s = Stage(base)
        page(s)
        if "--write" in sys.argv:
            return
        commands(s)
        counts(s)
        projects(s)
        if can_mount():
            policies(s)
        else:
            print("no mount namespace: the policy was not tried")
    harness.finish(passed, failed)


main()
