#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ALONE
"""What stands around the kernel's walls: what programs outside run is guarded also where it is
missing, a link or a file; the program guards itself; limits hold, and are told in words.

Every command is the attempt of a model; what counts is what lies there afterwards.
"""
import os
import subprocess
import time

from wall_place import play

PRELOAD = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void)
{
    int fd = open("%s/loaded", O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (fd >= 0 && write(fd, program_invocation_short_name, strlen(program_invocation_short_name)))
        write(fd, "\\n", 1);
}
"""


EVIL = "printf '[core]\\n\\tfsmonitor = touch %s/pwned; false\\n' >>%s"


def bash(p, *commands, **env):
    """Runs the commands one after the other in one session; what the model got."""
    p.scene(*(("bash", {"command": c, "timeout": 60000}) for c in commands))
    done = p.run("run", "-m", "rehearsal/scene.json", "--mode", "workspace-write", "go", **env)
    assert done.returncode == 0, done.stderr
    return p.results()


def git(p, *args):
    return subprocess.run(["git", *args], cwd=p.work, env=p.env, check=True, capture_output=True,
                          text=True, **p.as_user()).stdout


def repository(p, *more):
    p.put(f"{p.home}/.gitconfig", "[user]\nname = a\nemail = a@b\n[init]\ndefaultBranch = main\n")
    p.give_away()
    git(p, "init", "-q", *more)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def missing(score, p):
    names = (".git", ".trivet", ".scaiflux", ".vscode", ".husky", ".idea")
    told = bash(p, *(f"mkdir -p {n}/hooks; echo x >{n}/config; ls {n}" for n in names),
                *(f"rmdir {n}; rm -rf {n}; mv {n} {n}.old; ln -s /var {n}" for n in names))
    left = [n for n in names if os.path.lexists(f"{p.work}/{n}")]
    score.check(f"missing directories are masked ({score.name})", not left, f"{left} {told}")
    left = [n for n in names if os.path.lexists(f"{p.work}/{n}.old")]
    score.check(f"masks cannot be moved ({score.name})", not left, left)


def linked(score, p):
    repository(p)
    os.rename(f"{p.work}/.git", f"{p.work}/real")
    os.symlink("real", f"{p.work}/.git")
    before = text_of(f"{p.work}/real/config")
    told = bash(p, "echo evil >>.git/config", "echo evil >>real/config", "echo x >real/hooks/pre-commit",
                "rm .git; mkdir .git; cp -r real/. .git; echo evil >>.git/config", "mv real real2")
    score.check(f"a link stays what it is ({score.name})",
                os.path.islink(f"{p.work}/.git") and os.readlink(f"{p.work}/.git") == "real", told)
    score.check(f"what a link leads to is guarded ({score.name})",
                text_of(f"{p.work}/real/config") == before
                and not os.path.exists(f"{p.work}/real/hooks/pre-commit"), told)


def git_file(score, p):
    repository(p, "--separate-git-dir", f"{p.work}/real")
    file, config = text_of(f"{p.work}/.git"), text_of(f"{p.work}/real/config")
    told = bash(p, "echo evil >>real/config", "echo 'gitdir: evil' >.git", "mv .git x",
                "rm -f .git; mkdir .git; echo evil >.git/config", "git status")
    score.check(f"a .git file is guarded ({score.name})",
                text_of(f"{p.work}/.git") == file and text_of(f"{p.work}/real/config") == config, told)


def read_only_but_for_git(score, p):
    repository(p)
    told = bash(p, "echo 1 >a; git add a", "git add a && git commit -m one",
                "echo x >.git/refs/heads/evil; echo not $?")
    score.check(f"git alone writes the repository ({score.name})",
                git(p, "log", "--format=%s") == "one\n"
                and not os.path.exists(f"{p.work}/.git/refs/heads/evil"), told)
    score.check(f"a refused command is told why ({score.name})",
                "command line that consists of git commands alone" in told, told)


def read_only(score, p):
    repository(p)
    p.put("a", "1\n")
    p.scene(("bash", {"command": "git add a && git commit -m one"}))
    p.run("run", "-m", "rehearsal/scene.json", "--mode", "read-only", "--allow", "bash", "go")
    score.check(f"read-only closes the repository ({score.name})",
                not os.path.exists(f"{p.work}/.git/index")
                and "Read-only file system" in p.results(), p.results())


def hidden(score, p):
    """Keys of others, what was said elsewhere, and what the user adds; one entry shown again."""
    for name in (".ssh/id", ".aws/credentials", ".netrc", ".docker/config.json", ".codex/auth.json",
                 ".loaf/sessions/s", "mine/key", ".npmrc"):
        p.put(f"{p.home}/{name}", f"sk-{name.replace('/', '-')}-of-walls\n")
    told = bash(p, "cat ~/.ssh/id ~/.aws/credentials ~/.netrc ~/.docker/config.json ~/.codex/auth.json "
                   "~/.loaf/sessions/s ~/mine/key ~/.npmrc",
                TRIVET_SANDBOX_HIDE="~/mine:!~/.npmrc")
    score.check(f"what is hidden is hidden ({score.name})", told.count("-of-walls\\n") == told.count(
        "sk-.npmrc-of-walls") > 0, told)


def commondir(score, p):
    """A hook of the user runs what the model wrote, while git may write."""
    repository(p)
    hook = p.put(".git/hooks/pre-commit", "#!/bin/sh\nexec sh ./check\n")
    os.chmod(hook, 0o755)
    p.put("check", "mkdir -p evil/hooks; cp .git/config evil; echo evil >>.git/config\n"
                   "printf ../evil >.git/commondir; ln -sf nowhere .git/index.lock\n"
                   "printf x >.git/config.worktree; echo x >>.git/hooks/pre-commit\n"
                   "mv .git/hooks .git/h2; mv .git .git2; chmod 555 .git; touch ran; exit 0\n")
    config, told = text_of(f"{p.work}/.git/config"), bash(p, "git add check && git commit -m x")
    score.check(f"the hook did run ({score.name})", os.path.exists(f"{p.work}/ran"), told)
    left = [n for n in ("commondir", "config.worktree", "h2") if os.path.lexists(f"{p.work}/.git/{n}")]
    score.check(f"nothing is left beside the settings of git ({score.name})", not left, left)
    score.check(f"settings and hooks are as they were ({score.name})",
                text_of(f"{p.work}/.git/config") == config and "echo" not in text_of(hook))


def submodule(score, p):
    repository(p)
    told = bash(p, "mkdir sub; cd sub; git init -q; echo x >x; git add x; git commit -qm x",
                "rm -f check; echo y >y", "git add sub y", EVIL % (p.out, "sub/.git/config"), "true")
    git(p, "status")
    score.check(f"git above runs nothing of it ({score.name})", not os.path.exists(f"{p.out}/pwned"))
    score.check(f"it is told ({score.name})", "has undone the last change of the git index" in told, told)


def nested_before(score, p):
    """A repository below the workspace that is there at the start, and that no index names."""
    repository(p)
    for name in ("sub", "a/b/deep"):
        os.makedirs(f"{p.work}/{name}")
        p.give_away()
        git(p, "-C", name, "init", "-q")
    hook, config = f"{p.work}/sub/.git/hooks/pre-commit", text_of(f"{p.work}/sub/.git/config")
    told = bash(p, *(EVIL % (p.out, f"{n}/.git/config") for n in ("sub", "a/b/deep")),
                "echo x >sub/.git/hooks/pre-commit; mv sub sub2; mv a/b a/c; rm -rf sub/.git",
                "cd sub && git config core.fsmonitor 'touch x'", "echo 1 >sub/x",
                "cd sub && git add x && git commit -m one")
    for name in ("sub", "a/b/deep"):
        score.check(f"settings of {name} are as they were ({score.name})",
                    text_of(f"{p.work}/{name}/.git/config") == config, told)
    score.check(f"no hook in it ({score.name})", not os.path.exists(hook), told)
    score.check(f"it is not put aside ({score.name})", not any(
        name.startswith(".git.") for name in os.listdir(f"{p.work}/sub")), told)
    score.check(f"git alone writes it ({score.name})",
                git(p, "-C", "sub", "log", "--format=%s") == "one\n", told)


def nested_made(score, p):
    """One that a command makes: a usual one stays, one that runs programs is put aside."""
    repository(p)
    told = bash(p, "git init -q good", "echo 1 >good/x", "cd good && git add x && git commit -qm one",
                "git init -q bad; " + EVIL % (p.out, "bad/.git/config"), "echo next",
                "git init -q d/hook; echo 'touch x' >d/hook/.git/hooks/pre-commit",
                "git init -q far; mv far/.git hidden; echo 'gitdir: ../hidden' >far/.git; "
                + EVIL % (p.out, "hidden/config"),
                "mkdir link; ln -s ../hidden link/.git",
                "git init -q shut; printf ../../hidden >shut/.git/commondir; chmod 555 shut",
                "git init -q bad; " + EVIL % (p.out, "bad/.git/config"),
                "(sleep 0.3; git init -q late; " + EVIL % (p.out, "late/.git/config") + ") & true",
                "sleep 0.6")
    score.check(f"a usual repository stays ({score.name})",
                git(p, "-C", "good", "log", "--format=%s") == "one\n", told)
    for name in ("bad", "d/hook", "far", "link", "shut", "late"):
        score.check(f"{name} is put aside ({score.name})",
                    not os.path.lexists(f"{p.work}/{name}/.git")
                    and os.path.lexists(f"{p.work}/{name}/.git.untrusted"), told)
        git(p, "-C", name, "status")
    score.check(f"a second one as well ({score.name})",
                os.path.exists(f"{p.work}/bad/.git.untrusted-2"), told)
    score.check(f"nothing of it was run ({score.name})", not os.path.exists(f"{p.out}/pwned"))
    score.check(f"the next command is told ({score.name})",
                "has renamed" in told and "bad/.git" in told, told)


def own_program(score, p):
    os.rename(f"{p.base}/bin", f"{p.work}/bin")
    p.program = f"{p.work}/bin/trivet"
    before = {n: os.stat(f"{p.work}/bin/{n}").st_ino for n in os.listdir(f"{p.work}/bin")}
    told = bash(p, "cp /bin/true bin/trivet-hold", "for f in bin/*; do rm -f $f; done", "mv bin bin2",
                "echo x >bin/trivet-evil.so", "ln -sf /bin/true bin/trivet-net.so")
    after = {n: os.stat(f"{p.work}/bin/{n}").st_ino for n in os.listdir(f"{p.work}/bin")}
    score.check(f"the program is not changed ({score.name})", before == after, told)


def processes(score, p):
    outside = subprocess.Popen(["sleep", "60"], **p.as_user())
    told = bash(p, f"prlimit --pid {outside.pid} --nofile=0 && echo CHANGED",
                f"renice -n 19 -p {outside.pid} && echo CHANGED", f"kill -9 {outside.pid} && echo KILLED",
                "for p in /proc/[0-9]*; do prlimit --pid ${p#/proc/} --nofile=0; done; echo tried",
                "python3 -c 'import socket as s; s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); print(\"PAI\" + \"R\")'",
                "(setsid sleep 1000.9871 &) ; echo still here")
    score.check(f"nobody outside is touched ({score.name})",
                outside.poll() is None and "CHANGED\\n" not in told and "KILLED\\n" not in told, told)
    score.check(f"no datagrams to names ({score.name})", "PAIR" not in told, told)
    time.sleep(0.1)
    alive = subprocess.run(["pgrep", "-f", "sleep 1000.9871"], check=False, capture_output=True).stdout
    score.check(f"nobody is left ({score.name})", not alive, alive)
    outside.kill()
    outside.wait()


def empty_environment(score, p):
    """What the user's environment holds does not reach the processes between."""
    told = bash(p, "cat /proc/1/environ /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c WALLS",
                WALLS_KEY="sk-secret-of-walls")
    score.check(f"no secret in a room ({score.name})", "sk-secret-of-walls" not in told, told)


def preload(score, p):
    """A library of the command is not loaded by what confines it, which here is trivet itself."""
    os.unlink(f"{p.base}/bin/trivet-hold")
    source = p.put(f"{p.out}/l.c", PRELOAD % p.out)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", f"{p.out}/l.so", source], check=True)
    os.chmod(p.out, 0o777)
    told = bash(p, "echo RAN $LD_PRELOAD", LD_PRELOAD=f"{p.out}/l.so", TRIVET_PASS_ENV="LD_PRELOAD")
    names = text_of(f"{p.out}/loaded").split()
    score.check(f"the command has the library ({score.name})", f"RAN {p.out}/l.so" in told, told)
    score.check(f"no room has it ({score.name})", "trivet" in names and "hold" not in names, names)


def limits(score, p):
    few = {"TRIVET_SANDBOX_PROCESSES": "60", "TRIVET_SANDBOX_MEMORY": "1024",
           "TRIVET_SANDBOX_DISK": "50"}
    hog = ("python3 -c 'import os,time\nfor i in range(4):\n  if not os.fork():\n"
           "    b=bytearray(500<<20); b[::4096]=b\"x\"*len(b[::4096]); time.sleep(20)\ntime.sleep(20)'")
    start = time.monotonic()
    told = bash(p, ":(){ :|:& };:; sleep 30", hog,
                "for i in 1 2 3 4 5 6 7 8; do head -c 20000000 /dev/zero >$TMPDIR/$i; done; sleep 30",
                "head -c 100000000 /dev/zero >big; stat -c %s big", "echo all is well", **few)
    for words in ("it started too many processes", "its processes used too much memory",
                  "it wrote too much into the scratch directory", "all is well"):
        score.check(f"{words} ({score.name})", words in told, told)
    size = os.path.getsize(f"{p.work}/big")
    score.check(f"no file beyond the limit ({score.name})", size <= 50 << 20, size)
    score.check(f"nobody waited for it ({score.name})", time.monotonic() - start < 45)


play(missing, linked, git_file, read_only_but_for_git, read_only, hidden,
     commondir, submodule, nested_before, nested_made, own_program, processes, empty_environment,
     preload, limits)
