#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`meson install` into an empty root: every file has its place, a turn runs from there and uses the
installed modules and trivet-hold, `uninstall` leaves nothing.  A module that other users could have
changed is not opened.
"""
import json
import os
import re
import shutil
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness   # noqa: E402
import provider  # noqa: E402

PROGRAM = os.environ["TRIVET"]
BUILD = os.path.dirname(PROGRAM)
TOP = os.path.dirname(os.path.dirname(HERE))
MODULES = {"trivet-net.so", "trivet-index.so", "trivet-search.so", "trivet-web.so"}
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:900]}")


def options():
    """The directories that the build folder was configured with."""
    output = subprocess.run(["meson", "introspect", "--buildoptions", BUILD], check=True,
                          capture_output=True, text=True).stdout
    return {option["name"]: option["value"] for option in json.loads(output)}


def files_below(root):
    return {os.path.relpath(os.path.join(top, name), root)
            for top, _, names in os.walk(root) for name in names}


def meson(*args, env):
    return subprocess.run(args, env=env, cwd=TOP, capture_output=True, text=True, check=False)


def turn(program, env, work):
    """One turn over HTTP that searches files and runs a command."""
    script = [{"tool_calls": [{"id": "a", "name": "grep_search", "arguments": {"pattern": "n.e"}},
                              {"id": "b", "name": "bash",
                               "arguments": {"command": "cat /proc/$PPID/cmdline | tr '\\0' ' '; "
                                                        "ls -l /proc/$PPID/exe"}}]},
              {"text": "installed"}]
    with provider.Server(script) as server:
        env = env | {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
                     "OPENAI_API_KEY": "sk-none"}
        done = subprocess.run([program, "exec", "--json", "-q", "-m", "openai/fake", "go"], env=env,
                              cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60 * harness.slow(), check=False)
        log = list(server.log)
    results = [m["content"] for entry in log if "body" in entry
               for m in entry["body"]["messages"] if m["role"] == "tool"]
    return done, results


def doctor(program, env):
    return subprocess.run([program, "doctor"], env=env, capture_output=True, text=True,
                          check=False).stdout


def check_turn(root, program, env, base):
    work = os.path.join(base, "work")
    os.makedirs(work)
    with open(os.path.join(work, "a.txt"), "w", encoding="utf-8") as file:
        file.write("a needle\n")
    done, results = turn(program, env, work)
    check("a turn over HTTP", done.returncode == 0 and '"answer":"installed"' in done.stdout,
          done)
    check("it searches files", "a.txt\n" in results, results)
    check("it runs a command", any("hold" in text for text in results), results)
    output = doctor(program, env)
    check("the installed files are used, not those of the build folder",
          output.count(root + "/") == len(MODULES) + 1 and BUILD not in output, output)


def check_pages(where, env):
    """The pages of the manual: installed, without a warning, with every option of the program."""
    output = json.loads(subprocess.run([PROGRAM, "describe", "commands", "--json"], check=True,
                                     capture_output=True, text=True).stdout)
    rows = {row["name"]: row for row in output["commands"]}
    wanted = {"man1/trivet.1": [row["name"] for row in output["options"] + output["commands"]]
                               + [row["name"] for row in output["environment"]],
              "man1/trivet-exec.1": ["--" + row["name"] for row in rows["exec"]["options"]],
              "man5/trivet-session.5": ["trivet_turn", "trivet_input_over"]}
    if os.path.exists(f"{TOP}/docs/configuration.md"):
        wanted["man5/trivet-config.5"] = ["max-turns", "/etc/trivet/config.json"]
    for name, words in wanted.items():
        path = os.path.join(where, name)
        done = subprocess.run(["groff", "-ww", "-man", "-Tascii", path], env=env,
                              capture_output=True, text=True, check=False)
        check(f"{name} has no warning", done.returncode == 0 and not done.stderr, done.stderr)
        shown = re.sub("\x1b\\[[0-9]*m|.\x08", "", done.stdout)
        missing = [word for word in words if word not in shown]
        check(f"{name} is complete", done.stdout and not missing, missing)


def check_completions(where):
    for path, shell in (("bash-completion/completions/trivet.bash", "bash"),
                        ("zsh/site-functions/_trivet", "zsh"),
                        ("fish/vendor_completions.d/trivet.fish", "fish")):
        output = subprocess.run([PROGRAM, "completion", shell], capture_output=True, check=True).stdout
        path = os.path.join(where, path)
        check(f"completions of {shell}", os.path.exists(path) and output == open(path, "rb").read())


def check_trust(root, program, env, place):
    module = os.path.join(root, place["lib"], "trivet-net.so")
    for path in (module, os.path.dirname(module)):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, mode | stat.S_IWOTH)
        output = doctor(program, env)
        check(f"{os.path.basename(path)} writable by others is not used",
              "broken   net" in output and "other users can change it" in output, output)
        os.chmod(path, mode)
    if os.getuid() == 0:
        os.chown(module, 4711, 4711)
        output = doctor(program, env)
        check("a module of another user is not used", "other users can change it" in output, output)
        os.chown(module, 0, 0)
    check("all is well again", "broken" not in doctor(program, env))


def check_planted(root, place, env, base):
    """A program without modules in a build folder does not use a library that a command put where
    an installation has them."""
    work = os.path.join(base, "planted")
    for name in ("build", "bin"):
        os.makedirs(os.path.join(work, name))
        shutil.copy(PROGRAM, os.path.join(work, name, "trivet"))
    lib = os.path.join(work, os.path.relpath(os.path.join(root, place["lib"]),
                                             os.path.dirname(os.path.join(root, place["bin"]))))
    shutil.copytree(os.path.join(root, place["lib"]), lib)
    output = doctor(os.path.join(work, "build", "trivet"), env)
    check("a build folder uses nothing from lib beside it", work not in output, output)
    output = doctor(os.path.join(work, "bin", "trivet"), env)
    check("a program in bin does", output.count(work + "/") == len(MODULES), output)


def main():
    with harness.private_place() as base:
        env = harness.clean_env(base)
        root = os.path.join(base, "root")
        set_to = options()
        prefix = set_to["prefix"].lstrip("/")
        place = {"bin": os.path.join(prefix, set_to["bindir"]),
                 "lib": os.path.join(prefix, set_to["libdir"], "trivet"),
                 "libexec": os.path.join(prefix, set_to["libexecdir"], "trivet")}
        done = meson("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
                     env=env | {"DESTDIR": root})
        found = files_below(root)
        wanted = {os.path.join(place["lib"], name) for name in MODULES} | {
            os.path.join(place["bin"], "trivet"), os.path.join(place["libexec"], "trivet-hold")}
        check("meson install", done.returncode == 0, done)
        check("program, modules and trivet-hold are installed", wanted <= found, found)
        check("no name of another program", not [name for name in found if os.path.basename(name) in
                                                 ("loaf", "scaiflux", "kward")], found)
        check_pages(os.path.join(root, prefix, set_to["mandir"]), env)
        check_completions(os.path.join(root, prefix, set_to["datadir"]))
        program = os.path.join(root, place["bin"], "trivet")
        check_turn(root, program, env, base)
        check_trust(root, program, env, place)
        check_planted(root, place, env, base)
        moved = os.path.join(base, "moved")
        os.rename(root, moved)
        output = doctor(os.path.join(moved, place["bin"], "trivet"), env)
        check("it can be moved as a whole", output.count(moved + "/") == len(MODULES) + 1, output)
        os.rename(moved, root)
        done = meson("ninja", "-C", BUILD, "uninstall", env=env)
        check("uninstall leaves nothing",
              done.returncode == 0 and not os.path.exists(os.path.join(root, prefix)) and
              not files_below(root), (done, files_below(root)))
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
