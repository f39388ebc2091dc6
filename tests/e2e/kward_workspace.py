#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""workspace/info of a directory that cannot be written.  Root could write it anyway, so the program
runs as another user when the test runs as root.

covers: kward 90
"""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402

NOBODY = 65534


def frame(message):
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def ask(base, root, env):
    """The result of workspace/info."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    request = {"jsonrpc": "2.0", "id": 1, "method": "workspace/info",
               "params": {"workspaceRoot": root}}
    done = subprocess.run([os.path.join(base, "trivet"), "kward", "rpc"], input=frame(request), cwd=base, env=env,
                          capture_output=True, timeout=30, check=True, **who)
    answer = json.loads(done.stdout.split(b"\r\n\r\n")[1])
    stream = rpc_stream.Stream(PROGRAM, "kward")
    stream.sent(request)
    stream.take(answer)
    return answer["result"]


def main():
    passed = failed = 0
    tempfile.tempdir = "/tmp"  # the caller's place, and the source, may be closed to others
    with harness.private_place() as base:
        env = harness.clean_env(base)
        shutil.copy(PROGRAM, os.path.join(base, "trivet"))
        for place, _, _ in os.walk(base):
            os.chmod(place, 0o755)
        if os.geteuid() == 0:
            for place, _, _ in os.walk(base):
                os.chown(place, NOBODY, NOBODY)
        for name, mode, expected in (("closed", 0o555, False), ("open", 0o755, True)):
            root = os.path.join(base, name)
            os.mkdir(root)
            if os.geteuid() == 0:
                os.chown(root, NOBODY, NOBODY)
            os.chmod(root, mode)
            got = ask(base, root, env)
            good = got == {"root": root, "basename": name, "writable": expected}
            assert stat.S_IMODE(os.stat(root).st_mode) == mode
            passed += good
            failed += not good
            if not good:
                print(f"{name}: {got}")
    harness.finish(passed, failed)


main()
