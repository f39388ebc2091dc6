#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""`trivet completion`: what bash, zsh and fish offer is what the table of commands has.  bash is always tried, as a
function and with a Tab on a terminal; zsh and fish (Debian: zsh, fish) are tried where they are installed.
"""
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


class Shell:
    def __init__(self, base):
        self.env = dict(harness.clean_env(base), TRIVET_MODEL="rehearsal/echo", TERM="dumb")
        self.cwd = os.path.join(base, "work")
        self.bin = os.path.join(base, "bin")
        for place in (self.cwd, self.bin, os.path.join(self.cwd, "folder")):
            os.makedirs(place)
        os.symlink(PROGRAM, os.path.join(self.bin, "trivet"))
        self.env["PATH"] = f"{self.bin}:{self.env['PATH']}"
        with open(os.path.join(self.cwd, "a file.png"), "w", encoding="utf-8"):
            pass
        self.scripts = {}
        for name in ("bash", "zsh", "fish"):
            self.scripts[name] = os.path.join(base, f"completion.{name}")
            with open(self.scripts[name], "wb") as file:
                subprocess.run([PROGRAM, "completion", name], stdout=file, check=True)
        subprocess.run([PROGRAM, "exec", "-q", "hello"], cwd=self.cwd, env=self.env, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.session = json.loads(self.output(PROGRAM, "sessions", "--json"))[0]["id"]

    def output(self, *args):
        done = subprocess.run(args, cwd=self.cwd, env=self.env, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        return done.stdout

    def bash(self, line):
        program = ('. "$1"; compopt() { :; }; COMP_LINE=$2; COMP_POINT=${#2}; _trivet; '
                   'printf "%s\\n" "${COMPREPLY[@]}"')
        return [one for one in self.output("bash", "--norc", "-c", program, "bash",
                                           self.scripts["bash"], line).split("\n") if one]

    def fish(self, line):
        program = f"source {self.scripts['fish']}; complete -C {json.dumps(line)}"
        return [one.split("\t")[0] for one in self.output("fish", "--no-config", "-c", program).split("\n")
                if one]

    def start_zsh(self):
        """An interactive zsh on a terminal; ^X lists the choices and prints a mark behind them."""
        self.zsh_pid, self.zsh_fd = pty.fork()
        if self.zsh_pid == 0:
            os.chdir(self.cwd)
            os.execvpe("zsh", ["zsh", "-f", "-i"], self.env)
        setup = ("PS1='%%'; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -D -u; "
                 f". {self.scripts['zsh']}; LISTMAX=0; setopt no_list_beep; stty cols 200; "
                 "lists() { zle list-choices; zle -R; print -n lis''ted >$TTY }; zle -N lists; "
                 "bindkey '^X' lists; echo rea''dy\n")
        os.write(self.zsh_fd, setup.encode())
        read_until(self.zsh_fd, "ready\r\n")

    def zsh(self, line):
        os.write(self.zsh_fd, line.encode() + b"\x18")
        seen = read_until(self.zsh_fd, "listed")
        os.write(self.zsh_fd, b"\x15")
        return seen.split()

    def end_zsh(self):
        os.write(self.zsh_fd, b"exit\n")
        read_for(self.zsh_fd, 0.3)
        os.close(self.zsh_fd)
        os.waitpid(self.zsh_pid, 0)


def read_until(fd, text):
    seen, end = "", time.monotonic() + 30 * harness.slow()
    while text not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536).decode(errors="replace")
            except OSError:
                break
    return seen


def read_for(fd, quiet):
    """Everything until nothing came for so long."""
    seen = ""
    while select.select([fd], [], [], quiet * harness.slow())[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data.decode(errors="replace")
    return seen


def check_shell(name, ask, shell, rows):
    names = [row["name"] for row in rows["commands"]]
    check(f"{name}: all commands", set(names) <= set(ask("trivet ")), ask("trivet "))
    for row in rows["commands"]:
        if row["options"] and name != "zsh":
            offered = ask(f"trivet {row['name']} --")
            check(f"{name}: options of {row['name']}",
                  {f"--{option['name']}" for option in row["options"]} <= set(offered), offered)
    verbs = [verb["name"] for row in rows["commands"] if row["name"] == "sessions" for verb in row["verbs"]]
    check(f"{name}: verbs", set(verbs) <= set(ask("trivet sessions ")), ask("trivet sessions "))
    check(f"{name}: a session", shell.session in ask("trivet sessions show "), ask("trivet sessions show "))
    check(f"{name}: a session of an option", shell.session in ask("trivet exec --resume "))
    check(f"{name}: models", "rehearsal/echo" in ask("trivet exec -m rehearsal/e"), ask("trivet exec -m rehearsal/e"))
    check(f"{name}: choices", {"high", "xhigh"} <= set(ask("trivet exec --effort ")))
    check(f"{name}: modes", "workspace-write" in ask("trivet chat --mode "), ask("trivet chat --mode "))
    check(f"{name}: words", {"bash", "zsh", "fish"} <= set(ask("trivet completion ")))
    check(f"{name}: providers", "openai" in ask("trivet login "), ask("trivet login "))
    check(f"{name}: directories", any("folder" in one for one in ask("trivet exec --cd ")), ask("trivet exec --cd "))


def check_bash(shell):
    ask = shell.bash
    check("bash: the start of a command", ask("trivet ses") == ["sessions"], ask("trivet ses"))
    check("bash: nothing for a prompt", ask("trivet exec hello wor") == [])
    check("bash: other name", "--model" in ask("trivet run --mo"), ask("trivet run --mo"))
    check("bash: behind global options", ask("trivet --log-file x ses") == ["sessions"],
          ask("trivet --log-file x ses"))
    check("bash: = value", "high" in ask("trivet exec --effort=hi"), ask("trivet exec --effort=hi"))
    check("bash: a value is no verb", "show" in ask("trivet sessions --limit 5 "),
          ask("trivet sessions --limit 5 "))
    check("bash: files", any("a file.png" in one for one in [" ".join(ask("trivet exec --image "))]))
    check("bash: syntax", subprocess.run(["bash", "-n", shell.scripts["bash"]], check=False).returncode == 0)
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(shell.cwd)
        os.execvpe("bash", ["bash", "--norc", "--noprofile"], dict(shell.env, PS1="$ "))
    os.write(fd, f". {shell.scripts['bash']}; echo rea''dy\n".encode())
    read_until(fd, "ready\r\n")
    os.write(fd, f"echo trivet; trivet sessions show {shell.session[:6]}\t\n".encode())
    seen = read_until(fd, "> hello")
    check("bash: Tab on a terminal", "> hello" in seen and shell.session in seen, seen)
    os.write(fd, b"exit\n")
    read_for(fd, 0.3)
    os.close(fd)
    os.waitpid(pid, 0)


def main():
    with harness.private_place() as base:
        shell = Shell(base)
        rows = json.loads(shell.output(PROGRAM, "describe", "commands", "--json"))
        check_shell("bash", shell.bash, shell, rows)
        check_bash(shell)
        for name, ask in (("fish", shell.fish), ("zsh", shell.zsh)):
            if not shutil.which(name):
                print(f"{name} is not installed: its completions were not tried")
                continue
            check(f"{name}: syntax", subprocess.run([name, "-n", shell.scripts[name]], env=shell.env,
                                                    check=False).returncode == 0)
            if name == "zsh":
                shell.start_zsh()
            check_shell(name, ask, shell, rows)
            if name == "zsh":
                shell.end_zsh()
        check("unknown shell", subprocess.run([PROGRAM, "completion", "tcsh"], check=False,
                                              capture_output=True).returncode == 2)
    harness.finish(passed, failed)


main()
