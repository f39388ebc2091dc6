#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""File tools do not reach into /proc, /sys and /dev, by whatever name and in whatever mode."""
import os

from security_place import SECRET, play


def calls(p):
    os.symlink("/proc/self/environ", f"{p.work}/environ")
    os.symlink("/proc", f"{p.work}/processes")
    os.symlink(p.out, f"{p.work}/out")
    return [
        ("read_file", {"path": "/proc/self/environ"}),
        ("read_file", {"path": "/proc/thread-self/environ"}),
        ("read_file", {"path": f"/proc/{os.getpid()}/environ"}),
        ("read_file", {"path": f"/proc/self/root{p.out}/secret"}),
        ("read_file", {"path": "/proc/self/cwd/out/secret"}),
        ("read_file", {"path": "environ"}),
        ("read_file", {"path": "processes/self/environ"}),
        ("read_file", {"path": "/work/../proc/./self//environ"}),
        ("read_file", {"path": "/dev/fd/0"}),
        ("read_file", {"path": "/dev/null"}),
        ("read_file", {"path": "/sys/kernel/mm/transparent_hugepage/enabled"}),
        ("grep_search", {"pattern": "sk-", "path": "/proc/self", "output_mode": "content"}),
        ("grep_search", {"pattern": "sk-", "path": "/proc/self/environ", "output_mode": "content"}),
        ("glob_search", {"pattern": "self/*", "path": "/proc"}),
        ("glob_search", {"pattern": "*", "path": "/dev"}),
        ("write_file", {"path": "/proc/self/oom_score_adj", "content": "1000"}),
        ("write_file", {"path": "/dev/trivet-probe", "content": "x"}),
        ("edit_file", {"path": "/proc/self/comm", "old_string": "trivet", "new_string": "x"}),
    ]


def refused(score, p):
    todo = calls(p)
    p.scene(*todo)
    for mode in ("danger-full-access", "workspace-write"):
        done = p.run("run", "-m", "rehearsal/scene.json", "--mode", mode, "go", PROBE_KEY=SECRET)
        failed = done.stderr.count("  failed: ")
        score.check(f"{mode}: all refused ({score.name})",
                    done.returncode == 0 and failed == len(todo), done.stderr)
        score.check(f"{mode}: nothing came back ({score.name})", SECRET not in p.results())
        was_made = os.path.exists("/dev/trivet-probe")
        if was_made:
            os.unlink("/dev/trivet-probe")
        score.check(f"{mode}: nothing was written ({score.name})", not was_made)


def whole_system(score, p):
    """A search from the root passes them by."""
    p.put("needle", "needle-of-tests\n")
    p.scene(("glob_search", {"pattern": "proc/self/*", "path": "/"}),
            ("glob_search", {"pattern": "dev/nul*", "path": "/"}))
    p.run("run", "-m", "rehearsal/scene.json", "--mode", "danger-full-access", "go")
    output = p.results()
    score.check(f"a search from the root ({score.name})",
                "/proc/self/environ" not in output and "/dev/null" not in output, output)


def shared_memory(score, p):
    """/dev/shm holds ordinary files."""
    path = f"/dev/shm/trivet-probe-{os.getpid()}"
    p.scene(("write_file", {"path": path, "content": "kept"}), ("read_file", {"path": path}))
    done = p.run("run", "-m", "rehearsal/scene.json", "--mode", "danger-full-access", "go")
    was_made = os.path.exists(path)
    if was_made:
        os.unlink(path)
    score.check(f"/dev/shm ({score.name})", was_made and "failed" not in done.stderr, done.stderr)


play(refused, whole_system, shared_memory)
