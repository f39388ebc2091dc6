#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""What the sandbox guards besides the workspace: files that programs outside run, also where they are
missing, a link or a file; the program itself.

Every command is the attempt of a model; what counts is what lies there afterwards.
"""
import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import subprocess
import threading
import time

from security_place import bash, harness, play

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


@harness.needs_namespaces
def missing(score, p):
    names = (".git", ".trivet", ".scaiflux", ".vscode", ".husky", ".idea")
    output = bash(p, *(f"mkdir -p {n}/hooks; echo x >{n}/config; ls {n}" for n in names),
                *(f"rmdir {n}; rm -rf {n}; mv {n} {n}.old; ln -s /var {n}" for n in names))
    left = [n for n in names if os.path.lexists(f"{p.work}/{n}")]
    score.check(f"missing directories are masked ({score.name})", not left, f"{left} {output}")
    left = [n for n in names if os.path.lexists(f"{p.work}/{n}.old")]
    score.check(f"masks cannot be moved ({score.name})", not left, left)


@harness.needs_namespaces
def missing_at_home(score, p):
    """The home directory as workspace: what a login or trivet would read cannot be made."""
    home, p.work = p.work, p.home
    names = (".config/autostart", ".config/fish", ".config/systemd", ".config/git", ".local/bin",
             ".kward", ".config/trivet")
    p.env["XDG_CONFIG_HOME"] = f"{p.home}/.config"
    commands = [f"mkdir -p {n}/x; echo evil >{n}/evil" for n in names]
    commands += [f"mkdir -p mine; echo evil >mine/evil; rmdir {n}; mv -T mine {n}; ln -sfT /var {n}" for n in names]
    commands += ["mkdir -p own/autostart; echo evil >own/autostart/evil; rm -rf .config .local; mv .config c; mv -T own .config",
                 "rm -rf .config .local; ln -sT own .config; ln -sT own .local", "mkdir -p .config/usual; echo >.config/usual/x"]
    output = bash(p, *commands)
    made = [n for n in names if os.path.lexists(f"{p.home}/{n}")]
    score.check(f"missing directories at home are masked ({score.name})", not made, f"{made} {output}")
    score.check(f"nor are those above them replaced ({score.name})", not os.path.islink(f"{p.home}/.config")
                and not os.path.lexists(f"{p.home}/.local") and os.listdir(f"{p.home}/.config") == ["usual"], output)
    # one that is there, with a hidden file in it, and a link above the others
    shutil.rmtree(f"{p.home}/.config")
    p.put(f"{p.home}/dots/git/credentials", "secret\n")
    os.symlink("dots", f"{p.home}/.config")
    output = bash(p, "rm -rf dots/git; mkdir dots/fish/x; echo evil >.config/git/config; echo evil >dots/git/config",
                "rm .config; mkdir .config; mkdir -p .config/fish/x; true", "mv dots dots2; echo over")
    score.check(f"a directory with a hidden file is guarded ({score.name})",
                os.listdir(f"{p.home}/dots/git") == ["credentials"], output)
    score.check(f"a link above stays ({score.name})", os.path.islink(f"{p.home}/.config")
                and not os.path.exists(f"{p.home}/dots/fish"), output)
    p.work = home


@harness.needs_namespaces
def linked(score, p):
    repository(p)
    os.rename(f"{p.work}/.git", f"{p.work}/real")
    os.symlink("real", f"{p.work}/.git")
    before = text_of(f"{p.work}/real/config")
    output = bash(p, "echo evil >>.git/config", "echo evil >>real/config", "echo x >real/hooks/pre-commit",
                "rm .git; mkdir .git; cp -r real/. .git; echo evil >>.git/config", "mv real real2")
    score.check(f"a link stays what it is ({score.name})",
                os.path.islink(f"{p.work}/.git") and os.readlink(f"{p.work}/.git") == "real", output)
    score.check(f"what a link leads to is guarded ({score.name})",
                text_of(f"{p.work}/real/config") == before
                and not os.path.exists(f"{p.work}/real/hooks/pre-commit"), output)


@harness.needs_namespaces
def linked_parts(score, p):
    """Settings and hooks of git, and guarded places, that are links into the workspace."""
    repository(p)
    os.remove(f"{p.work}/.git/config")
    shutil.rmtree(f"{p.work}/.git/hooks")
    kept = {"cfg/git": "[core]\n\trepositoryformatversion = 0\n", "tools/hooks/pre-push": "#!/bin/sh\n",
            "editor/tasks.json": "{}", "rc/env": "true\n"}
    for name, text in kept.items():
        p.put(name, text)
    os.symlink("middle", f"{p.work}/.git/hooks")
    os.symlink("../tools/hooks", f"{p.work}/.git/middle")
    for to, name in (("../step", ".git/config"), ("cfg/git", "step"), ("editor", ".vscode"),
                     (f"{p.work}/rc/env", ".envrc"), ("new/idea", ".idea")):
        os.symlink(to, f"{p.work}/{name}")
    os.mkdir(f"{p.work}/new")
    output = bash(p, "echo evil >>.git/config; echo evil >>cfg/git; echo evil >>rc/env; echo evil >.envrc",
                "echo evil >tools/hooks/pre-commit; echo evil >>tools/hooks/pre-push; rm -rf tools editor",
                "mv tools tools2; mv cfg cfg2; mv editor/tasks.json x; echo evil >>.vscode/tasks.json",
                "mkdir new/idea; echo evil >new/idea/x; mv new new2", "ln -sf /dev/null step; true",
                "git status && git add rc", "echo 1 >a; git add a; git commit -qm one; true",
                "git add a && git commit -qm one", "echo over")
    changed = [n for n, text in kept.items() if not os.path.exists(f"{p.work}/{n}")
               or text_of(f"{p.work}/{n}") != text]
    score.check(f"what links lead to is as it was ({score.name})", not changed, f"{changed} {output}")
    score.check(f"nothing is beside it ({score.name})",
                os.listdir(f"{p.work}/tools/hooks") == ["pre-push"]
                and not os.path.exists(f"{p.work}/new/idea/x"), output)
    score.check(f"a link on the way is the same ({score.name})",
                os.readlink(f"{p.work}/step") == "cfg/git", output)
    score.check(f"git works with them ({score.name})",
                git(p, "log", "--format=%s") == "one\n" and "over" in output, output)
    p.scene(("write_file", {"path": "tools/hooks/pre-commit", "content": "x"}),
            ("write_file", {"path": "cfg/git", "content": "x"}))
    p.run("run", "-m", "rehearsal/scene.json", "--mode", "workspace-write", "go")
    score.check(f"file tools refuse it ({score.name})", text_of(f"{p.work}/cfg/git") == kept["cfg/git"]
                and os.listdir(f"{p.work}/tools/hooks") == ["pre-push"], p.results())


@harness.needs_namespaces
def linked_inside(score, p):
    """Hooks that are a link inside of the repository, while git may write."""
    repository(p)
    os.rename(f"{p.work}/.git/hooks", f"{p.work}/.git/mine")
    os.symlink("mine", f"{p.work}/.git/hooks")
    hook = p.put(".git/mine/pre-commit", "#!/bin/sh\nexec sh ./check\n")
    os.chmod(hook, 0o755)
    p.put("check", "echo x >.git/mine/post-commit; echo x >>.git/mine/pre-commit; touch ran; exit 0\n")
    output = bash(p, "git add check && git commit -m x", "echo x >.git/mine/post-merge", "echo over")
    left = [n for n in ("post-commit", "post-merge") if os.path.exists(f"{p.work}/.git/mine/{n}")]
    score.check(f"hooks behind a link in .git ({score.name})",
                os.path.exists(f"{p.work}/ran") and not left and "echo" not in text_of(hook)
                and "over" in output, f"{left} {output}")


def link_to_all(score, p):
    """A link that makes the whole workspace a place of hooks cannot be guarded."""
    repository(p)
    shutil.rmtree(f"{p.work}/.git/hooks")
    os.symlink("..", f"{p.work}/.git/hooks")
    output = bash(p, "echo x >pre-commit; echo ran$((1 + 1))")
    score.check(f"no command with such a link ({score.name})", "cannot be guarded" in output
                and "ran2" not in output and not os.path.exists(f"{p.work}/pre-commit"), output)


@harness.needs_namespaces
def git_file(score, p):
    repository(p, "--separate-git-dir", f"{p.work}/real")
    file, config = text_of(f"{p.work}/.git"), text_of(f"{p.work}/real/config")
    output = bash(p, "echo evil >>real/config", "echo 'gitdir: evil' >.git", "mv .git x",
                "rm -f .git; mkdir .git; echo evil >.git/config", "git status")
    score.check(f"a .git file is guarded ({score.name})",
                text_of(f"{p.work}/.git") == file and text_of(f"{p.work}/real/config") == config, output)


@harness.needs_namespaces
def read_only_but_for_git(score, p):
    repository(p)
    output = bash(p, "echo 1 >a; git add a", "git add a && git commit -m one",
                "echo x >.git/refs/heads/evil; echo not $?")
    score.check(f"git alone writes the repository ({score.name})",
                git(p, "log", "--format=%s") == "one\n"
                and not os.path.exists(f"{p.work}/.git/refs/heads/evil"), output)
    score.check(f"a refused command gets the reason ({score.name})",
                "command line that consists of git commands alone" in output, output)


@harness.needs_namespaces
def changed_outside(score, p):
    """The user replaces what a mount covers, while a command runs: later commands find it covered."""
    repository(p)

    def user():
        while not os.path.exists(f"{p.work}/started"):
            time.sleep(0.02)
        git(p, "config", "user.name", "other")      # a new file, by rename
        os.rmdir(f"{p.work}/.husky")
        for name in (".husky/pre-commit", "go"):
            p.put(name, "the user's\n")

    threading.Thread(target=user, daemon=True).start()
    told = bash(p, "touch started; while [ ! -e go ]; do sleep 0.02; done; sleep 0.05",
                "echo evil >>.git/config; echo evil >>.husky/pre-commit; echo evil >.husky/post-commit",
                "git init; git status")
    score.check(f"what the user replaced is guarded ({score.name})",
                "evil" not in text_of(f"{p.work}/.git/config") + text_of(f"{p.work}/.husky/pre-commit")
                and os.listdir(f"{p.work}/.husky") == ["pre-commit"]
                and git(p, "config", "user.name") == "other\n", told)


@harness.needs_namespaces
def two_sessions(score, p):
    """One session ends while another one works: what masks missing directories stays until the last."""
    repository(p)
    os.mkdir(f"{p.work}/.idea")
    wait = "while [ ! -e %s ]; do sleep 0.02; done"
    evil = "echo evil >.vscode/tasks.json; mkdir -p .vscode && echo evil >.vscode/tasks.json; rmdir .idea .husky"
    scenes = {"first": ["touch one; " + wait % "two"],
              "second": ["touch two; " + wait % "ended" + "; " + evil, "echo goes on; " + evil, "echo and on"]}
    for name, commands in scenes.items():
        calls = [[{"call": "bash", "args": {"command": c, "timeout": 60000}}] for c in commands]
        p.put(f"{name}.json", json.dumps({"rounds": calls + [[{"say": "over"}]]}))
    ended = []

    def second():
        while not os.path.exists(f"{p.work}/one"):
            time.sleep(0.02)
        ended.append(p.run("run", "-m", "rehearsal/second.json", "--mode", "workspace-write", "go"))

    other = threading.Thread(target=second)
    other.start()
    p.run("run", "-m", "rehearsal/first.json", "--mode", "workspace-write", "go")
    p.put("ended", "")
    other.join()
    told = p.results() + ended[0].stderr
    score.check(f"the other session goes on ({score.name})", "and on" in told and "a command changed" not in told, told)
    score.check(f"nothing was planted meanwhile ({score.name})",
                not os.path.exists(f"{p.work}/.vscode/tasks.json"), told)
    left = [n for n in (".vscode", ".husky", ".trivet", ".scaiflux") if os.path.lexists(f"{p.work}/{n}")]
    score.check(f"the last one removes what masked ({score.name})", not left and os.path.isdir(f"{p.work}/.idea"), left)


@contextlib.contextmanager
def opened(path, times):
    """Inside, wait() returns when the path has been opened so often, or with False after 20 s."""
    libc = ctypes.CDLL(None)
    fd = libc.inotify_init()
    assert libc.inotify_add_watch(fd, path.encode(), 0x20) >= 0  # IN_OPEN

    def wait():
        n = 0
        while n < times and select.select([fd], [], [], 20)[0]:
            n += len(os.read(fd, 4096)) // 16
        return n >= times
    try:
        yield wait
    finally:
        os.close(fd)


@harness.needs_namespaces
def other_room_ends(score, p):
    """Another room is about to remove a directory that masked a missing one."""
    os.mkdir(f"{p.work}/.vscode")
    p.give_away()
    os.chmod(f"{p.work}/.vscode", 0o1755)
    lock = os.open(f"{p.work}/.vscode", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)

    def other(wait):
        score.check(f"it is looked at ({score.name})", wait())
        os.rmdir(f"{p.work}/.vscode")
        os.close(lock)
        p.put("removed", "")

    with opened(f"{p.work}/.vscode", 5) as wait:
        room = threading.Thread(target=other, args=(wait,))
        room.start()
        output = bash(p, "while [ ! -e removed ]; do sleep 0.02; done; mkdir .vscode; echo evil >.vscode/tasks.json; echo done")
        room.join()
    score.check(f"it is waited for ({score.name})", "done" in output and "cannot mount" not in output, output)
    score.check(f"and masked anew ({score.name})", not os.path.lexists(f"{p.work}/.vscode"), output)


@harness.needs_namespaces
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
        p.put(f"{p.home}/{name}", f"sk-{name.replace('/', '-')}-of-tests\n")
    output = bash(p, "cat ~/.ssh/id ~/.aws/credentials ~/.netrc ~/.docker/config.json ~/.codex/auth.json "
                   "~/.loaf/sessions/s ~/mine/key ~/.npmrc",
                TRIVET_SANDBOX_HIDE="~/mine:!~/.npmrc")
    score.check(f"what is hidden is hidden ({score.name})", output.count("-of-tests\\n") == output.count(
        "sk-.npmrc-of-tests") > 0, output)


@harness.needs_namespaces
def commondir(score, p):
    """A hook of the user runs what the model wrote, while git may write."""
    repository(p)
    hook = p.put(".git/hooks/pre-commit", "#!/bin/sh\nexec sh ./check\n")
    os.chmod(hook, 0o755)
    p.put("check", "mkdir -p evil/hooks; cp .git/config evil; echo evil >>.git/config\n"
                   "printf ../evil >.git/commondir; ln -sf nowhere .git/index.lock\n"
                   "printf x >.git/config.worktree; echo x >>.git/hooks/pre-commit\n"
                   "mv .git/hooks .git/h2; mv .git .git2; chmod 555 .git; touch ran; exit 0\n")
    config, output = text_of(f"{p.work}/.git/config"), bash(p, "git add check && git commit -m x")
    score.check(f"the hook did run ({score.name})", os.path.exists(f"{p.work}/ran"), output)
    left = [n for n in ("commondir", "config.worktree", "h2") if os.path.lexists(f"{p.work}/.git/{n}")]
    score.check(f"nothing is left beside the settings of git ({score.name})", not left, left)
    score.check(f"settings and hooks are as they were ({score.name})",
                text_of(f"{p.work}/.git/config") == config and "echo" not in text_of(hook))


@harness.needs_namespaces
def submodule(score, p):
    repository(p)
    deep = "a/b/c/d/e/f/g/sub"     # deeper than repositories are searched
    output = bash(p, f"mkdir -p {deep}; cd {deep}; git init -q; echo x >x; git add x; git commit -qm x",
                  "echo y >y", f"git add {deep} y", EVIL % (p.out, f"{deep}/.git/config"), "true")
    git(p, "status")
    score.check(f"git above runs nothing of it ({score.name})", not os.path.exists(f"{p.out}/pwned"))
    score.check(f"a submodule is renamed ({score.name})", f"has renamed {p.work}/{deep}/.git" in output, output)
    score.check(f"it is in the index ({score.name})", f" 0\t{deep}\n" in git(p, "ls-files", "-s"), output)
    # a submodule that was there before the command is as it was
    subprocess.run(["mv", f"{p.work}/{deep}/.git.untrusted", f"{p.work}/{deep}/.git"], check=True)
    git(p, "-C", deep, "config", "--unset", "core.fsmonitor")
    output = bash(p, EVIL % (p.out, f"{deep}/.git/config"), f"cd {deep} && git status")
    git(p, "status")
    score.check(f"an old submodule is guarded ({score.name})", not os.path.exists(f"{p.out}/pwned")
                and os.path.isdir(f"{p.work}/{deep}/.git"), output)


@harness.needs_namespaces
def nested_before(score, p):
    """A repository below the workspace that is there at the start, and that no index names."""
    repository(p)
    for name in ("sub", "a/b/deep"):
        os.makedirs(f"{p.work}/{name}")
        p.give_away()
        git(p, "-C", name, "init", "-q")
    hook, config = f"{p.work}/sub/.git/hooks/pre-commit", text_of(f"{p.work}/sub/.git/config")
    output = bash(p, *(EVIL % (p.out, f"{n}/.git/config") for n in ("sub", "a/b/deep")),
                "echo x >sub/.git/hooks/pre-commit; mv sub sub2; mv a/b a/c; rm -rf sub/.git",
                "cd sub && git config core.fsmonitor 'touch x'", "echo 1 >sub/x",
                "cd sub && git add x && git commit -m one")
    for name in ("sub", "a/b/deep"):
        score.check(f"settings of {name} are as they were ({score.name})",
                    text_of(f"{p.work}/{name}/.git/config") == config, output)
    score.check(f"no hook in it ({score.name})", not os.path.exists(hook), output)
    score.check(f"it is not put aside ({score.name})", not any(
        name.startswith(".git.") for name in os.listdir(f"{p.work}/sub")), output)
    score.check(f"git alone writes it ({score.name})",
                git(p, "-C", "sub", "log", "--format=%s") == "one\n", output)


def nested_made(score, p):
    """One that a command makes: a usual one stays, one that runs programs is put aside."""
    repository(p)
    output = bash(p, "git init -q good", "echo 1 >good/x", "cd good && git add x && git commit -qm one",
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
                git(p, "-C", "good", "log", "--format=%s") == "one\n", output)
    for name in ("bad", "d/hook", "far", "link", "shut", "late"):
        score.check(f"{name} is put aside ({score.name})",
                    not os.path.lexists(f"{p.work}/{name}/.git")
                    and os.path.lexists(f"{p.work}/{name}/.git.untrusted"), output)
        git(p, "-C", name, "status")
    score.check(f"a second one as well ({score.name})",
                os.path.exists(f"{p.work}/bad/.git.untrusted-2"), output)
    score.check(f"nothing of it was run ({score.name})", not os.path.exists(f"{p.out}/pwned"))
    score.check(f"the next command says so ({score.name})",
                "has renamed" in output and "bad/.git" in output, output)


def told_at_the_end(score, p):
    """A file that is read as settings, made by the last command of a session."""
    def attempt(title, command, path, timeout=60000, told_model=True):
        p.scene(("bash", {"command": command, "timeout": timeout}))
        done = p.run("exec", "-m", "rehearsal/scene.json", "go")
        told = f"has renamed {path}, which a command made, to {os.path.basename(path)}.untrusted"
        score.check(f"{title}: stderr ({score.name})", told in done.stderr, done.stderr)
        score.check(f"{title}: put aside ({score.name})", not os.path.lexists(path)
                    and os.path.lexists(f"{path}.untrusted"), os.listdir(os.path.dirname(path)))
        if told_model:
            score.check(f"{title}: the model ({score.name})", told in p.results(), p.results())
        shutil.rmtree(p.env["XDG_STATE_HOME"])
        subprocess.run(["rm", "-rf", f"{path}.untrusted"], check=True)

    envrc = f"{p.work}/.envrc"
    attempt("one command", "echo evil >.envrc", envrc)
    attempt("a link", "ln -s /etc/hosts .envrc", envrc)
    attempt("a command that is killed", "echo evil >.envrc; kill -9 $$", envrc)
    attempt("a time limit", "sleep 0.1; echo evil >.envrc; sleep 60", envrc, timeout=1000)
    attempt("a job that trivet ends", "echo evil >.envrc; while :; do sleep 0.1; done", envrc, timeout=1000, told_model=False)
    output = bash(p, "echo evil >.envrc", "echo again$((1 + 1))")
    score.check(f"further commands run ({score.name})", "again2" in output, output)
    git_bad = "git init -q bad; " + EVIL % (p.out, "bad/.git/config")
    attempt("a repository", git_bad, f"{p.work}/bad/.git")
    # by a process that outlives its command, while the model speaks
    p.put("scene.json", json.dumps({"rounds": [
        [{"call": "bash", "args": {"command": "(until [ -e go ]; do sleep 0.02; done; echo evil >.envrc) >/dev/null 2>&1 &"}}],
        [{"call": "write_file", "args": {"path": "go", "content": ""}}], [{"say": "over and out", "pause_ms": 700}]]}))
    done = p.run("exec", "-m", "rehearsal/scene.json", "go")
    score.check(f"after the last command: stderr ({score.name})", f"has renamed {envrc}" in done.stderr
                and not os.path.lexists(envrc), done.stderr)
    os.unlink(f"{envrc}.untrusted")
    p.forbid_namespaces()
    attempt("without namespaces", "echo evil >.envrc", envrc)


@harness.needs_namespaces
def nested_far(score, p):
    """Where a search with a limit of names or of depth would not come to, and the same with a stable tree."""
    far = "/".join("abcdefghijklmn")
    repository(p)
    p.put("crowd/sub/x", "")
    p.give_away()
    git(p, "-C", "crowd/sub", "init", "-q")
    crowd = "python3 -c 'for i in range(7000): open(f\"crowd/{i}\", \"w\")'"
    output = bash(p, crowd, f"mkdir -p {far} crowd/late; git init -q {far}; " + EVIL % (p.out, f"{far}/.git/config"),
                  "git init -q crowd/late; " + EVIL % (p.out, "crowd/late/.git/config"))
    for name in (far, "crowd/late"):
        score.check(f"{name} is found ({score.name})", os.path.exists(f"{p.work}/{name}/.git.untrusted")
                    and not os.path.exists(f"{p.work}/{name}/.git"), output)
    config = text_of(f"{p.work}/crowd/sub/.git/config")
    output = bash(p, EVIL % (p.out, "crowd/sub/.git/config"), "sleep 0.1",
                  f"git init -q {far}; sleep 0.1; " + EVIL % (p.out, f"{far}/.git/config"),
                  "git init -q crowd/sub/in; " + EVIL % (p.out, "crowd/sub/in/.git/config"))
    score.check(f"an old one among many files is guarded ({score.name})",
                text_of(f"{p.work}/crowd/sub/.git/config") == config, output)
    for name in (f"{far}/.git.untrusted-2", "crowd/sub/in/.git.untrusted"):
        score.check(f"{name} too ({score.name})", os.path.exists(f"{p.work}/{name}"), output)


@harness.needs_namespaces
def nested_added(score, p):
    """The repository of a further writable directory."""
    repository(p)
    os.mkdir(f"{p.out}/more")
    p.give_away()
    git(p, "-C", f"{p.out}/more", "init", "-q")
    config = text_of(f"{p.out}/more/.git/config")
    output = bash(p, EVIL % (p.out, f"{p.out}/more/.git/config"), TRIVET_SANDBOX_WRITE=f"{p.out}/more")
    score.check(f"an added directory's repository is guarded ({score.name})",
                text_of(f"{p.out}/more/.git/config") == config, output)


def nested_beyond(score, p):
    """What cannot be searched: no further command of this session, and none of the next."""
    many = "python3 -c 'import os; os.mkdir(\"m\"); [os.mkdir(f\"m/{i}\") for i in range(100001)]'"
    cases = [("a long path", f"for i in $(seq 25); do mkdir {'d' * 200}; cd {'d' * 200}; done; git init -q", "d" * 200),
             ("many directories", many, "m")]
    repository(p)
    makes_many = score.name != "root" and harness.has_namespaces()  # it takes ten seconds
    for title, command, undo in cases[:2 if makes_many else 1]:
        output = bash(p, command, "echo again$((1 + 1))")
        score.check(f"no command after {title} ({score.name})", "are not all known" in output
                    and "again2" not in output, output)
        p.scene(("bash", {"command": "echo again$((2 + 2))"}))
        for sign, wanted in (("again4", False), ("again4", True)):
            subprocess.run([p.program, "run", "-m", "rehearsal/scene.json", "go"], cwd=p.work, env=p.env, check=False,
                           stdin=subprocess.DEVNULL, capture_output=True, **p.as_user())
            score.check(f"the next session {'works without' if wanted else 'has no command with'} {title} ({score.name})",
                        (sign in p.results()) == wanted, p.results())
            subprocess.run(["rm", "-rf", undo], cwd=p.work, check=True)
        shutil.rmtree(p.env["XDG_STATE_HOME"])


def without_namespaces(score, p):
    """Nothing can be mounted: a change is repaired or renamed, or no further command runs."""
    p.forbid_namespaces()
    repository(p)
    before = text_of(f"{p.work}/.git/config")
    repaired = {
        "printf ../evil >.git/commondir": ".git/commondir",
        "mkdir -p evil; printf x >.git/config.worktree; chmod 555 .git": ".git/config.worktree",
        f"git init -q n1; {EVIL % (p.out, 'n1/.git/config')}": "n1/.git",
        # git does not need to list a directory
        f"git init -q n2; {EVIL % (p.out, 'n2/.git/config')}; chmod 311 n2": "n2/.git",
    }
    for command, path in repaired.items():
        output = bash(p, command, "true")
        score.check(f"{path} is gone ({score.name})", not os.path.lexists(f"{p.work}/{path}"), output)
    for i, command in enumerate((EVIL % (p.out, ".git/config"), "echo x >.git/hooks/pre-commit",
                                 "mkdir .vscode; echo x >.vscode/tasks.json",
                                 "mv .git .g; mkdir .git; cp -r .g/. .git; echo x >.git/hooks/pre-push")):
        output = bash(p, command, f"echo again$(({i} + 100))")
        score.check(f"no command after: {command[:40]} ({score.name})",
                    "a command changed" in output and f"again{i + 100}" not in output, output)
        p.put(".git/config", before)
        subprocess.run("rm -rf .vscode .envrc .g .git/hooks/pre-*", shell=True, cwd=p.work, check=True)
        for top, _, files in os.walk(p.env["XDG_STATE_HOME"]):
            for name in files:
                os.unlink(os.path.join(top, name))


@harness.needs_namespaces
def own_program(score, p):
    os.rename(f"{p.base}/bin", f"{p.work}/bin")
    p.program = f"{p.work}/bin/trivet"
    before = {n: os.stat(f"{p.work}/bin/{n}").st_ino for n in os.listdir(f"{p.work}/bin")}
    output = bash(p, "cp /bin/true bin/trivet-hold", "for f in bin/*; do rm -f $f; done", "mv bin bin2",
                "echo x >bin/trivet-evil.so", "ln -sf /bin/true bin/trivet-net.so")
    after = {n: os.stat(f"{p.work}/bin/{n}").st_ino for n in os.listdir(f"{p.work}/bin")}
    score.check(f"the program is not changed ({score.name})", before == after, output)


def processes(score, p):
    outside = subprocess.Popen(["sleep", "60"], **p.as_user())
    output = bash(p, f"prlimit --pid {outside.pid} --nofile=0 && echo CHANGED",
                f"renice -n 19 -p {outside.pid} && echo CHANGED", f"kill -9 {outside.pid} && echo KILLED",
                "for p in /proc/[0-9]*; do prlimit --pid ${p#/proc/} --nofile=0; done; echo tried",
                "python3 -c 'import socket as s; s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); print(\"PAI\" + \"R\")'",
                "(setsid sleep 1000.9871 >/dev/null 2>&1 &) ; echo still here",
                "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done 2>&1 | grep '[s]leep 1000.9871' && echo GOES''-ON")
    score.check(f"nobody outside is touched ({score.name})",
                outside.poll() is None and "CHANGED\\n" not in output and "KILLED\\n" not in output, output)
    score.check(f"no datagrams to names ({score.name})", "PAIR" not in output, output)
    score.check(f"a process in the background goes on in the session ({score.name})", "GOES-ON" in output, output)
    alive = harness.left_behind(p.base, 2)
    score.check(f"no process is left ({score.name})", not alive, alive)
    outside.kill()
    outside.wait()


def other_users(score, p):
    """No command becomes another user; what root does with files of others goes on."""
    repository(p)
    change = "import os\nfor f, a in ((os.setuid, 4242), (os.setgid, 4242), (os.setgroups, [4242])):\n" \
             "  try:\n    f(a); print('BECAME')\n  except OSError:\n    print('stays'.upper())"
    p.put("change.py", change)
    output = bash(p, "python3 change.py; python3 -c 'import os; os.setuid(os.getuid()); os.setgid(os.getgid()); print(\"SA\" \"ME\")'",
                "mkdir t; echo 1 >t/f; chown 4242:4243 t/f; chmod 640 t/f; tar -cf t.tar t; rm -r t; tar -xpf t.tar; stat -c o%u:%g:%a t/f",
                "git add change.py && git commit -qm one")
    score.check(f"no other user or group ({score.name})", "BECAME\\n" not in output and output.count("STAYS\\n") >= 3
                and "SAME" in output, output)
    score.check(f"git commits ({score.name})", git(p, "log", "--format=%s") == "one\n", output)
    wanted = "o4242:4243:640" if score.name == "root" else f"o{p.uid}:{p.uid}:640"
    score.check(f"tar keeps owners where it could ({score.name})", wanted in output, output)


def empty_environment(score, p):
    """What the user's environment holds does not reach the processes between."""
    output = bash(p, "cat /proc/1/environ /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c WALLS",
                PROBE_KEY="sk-secret-of-tests")
    score.check(f"no secret in a room ({score.name})", "sk-secret-of-tests" not in output, output)


def preload(score, p):
    """A library of the command is not loaded by what confines it, which here is trivet itself."""
    os.unlink(f"{p.base}/bin/trivet-hold")
    source = p.put(f"{p.out}/l.c", PRELOAD % p.out)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", f"{p.out}/l.so", source], check=True)
    os.chmod(p.out, 0o777)
    output = bash(p, "echo RAN $LD_PRELOAD", LD_PRELOAD=f"{p.out}/l.so", TRIVET_PASS_ENV="LD_PRELOAD")
    names = text_of(f"{p.out}/loaded").split()
    score.check(f"the command has the library ({score.name})", f"RAN {p.out}/l.so" in output, output)
    score.check(f"no room has it ({score.name})", "trivet" in names and "hold" not in names, names)


play(missing, missing_at_home, linked, linked_parts, linked_inside, link_to_all, git_file, read_only_but_for_git, changed_outside, two_sessions, other_room_ends, read_only, hidden,
     commondir, submodule, nested_before, nested_made,
     told_at_the_end, nested_far, nested_added, nested_beyond, without_namespaces, own_program, processes, other_users, empty_environment,
     preload)
