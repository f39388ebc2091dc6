#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""scripts/setup.sh where the system has no package of yyjson: it is built from the archive of its
source that the user names, once, and an archive that will not do is refused with what to do.  A build
shows on a terminal how far it is, in one line."""
import os
import pty
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/setup.sh")
FILES = {"src/yyjson.h": '#define YYJSON_VERSION_STRING "0.12.3"\n',
         "src/yyjson.c": '#include "yyjson.h"\nconst char *yyjson_version(void);\n'
                         "const char *yyjson_version(void) { return YYJSON_VERSION_STRING; }\n"}
# The system's own packages are hidden: pkg-config is to know what the script made.
SCRIPT = '. "$1"; missing_packages() { :; }; need_packages some; pkg-config --modversion yyjson'


def archive(base):
    for name, text in FILES.items():
        os.makedirs(f"{base}/yyjson-0.12.3/src", exist_ok=True)
        with open(f"{base}/yyjson-0.12.3/{name}", "w", encoding="ascii") as file:
            file.write(text)
    with tarfile.open(f"{base}/yyjson.tar.gz", "w:gz") as tar:
        tar.add(f"{base}/yyjson-0.12.3", "yyjson-0.12.3")


def set_up(base, named):
    os.makedirs(f"{base}/top/build", exist_ok=True)
    done = subprocess.run(["sh", "-c", f'top={base}/top; {SCRIPT}', "sh", SETUP], text=True, cwd=base,
                          env={**os.environ, "PKG_CONFIG_LIBDIR": base, "YYJSON_ARCHIVE": named},
                          capture_output=True, timeout=60 * harness.slow(), check=False)
    return done.returncode, done.stdout.strip(), done.stderr


BUILD = '. "$1"; dir=$top/out; run_ninja'
RULES = "rule touch\n  command = echo words; touch $out\nrule fail\n  command = echo why; false\n"


def build(base, rules, **more):
    """What a build of forty files writes, and its status."""
    os.makedirs(f"{base}/top/out", exist_ok=True)
    with open(f"{base}/top/out/build.ninja", "w", encoding="ascii") as file:
        file.write(RULES + "".join(f"build f{i}: {rules}\n" for i in range(40)))
    return subprocess.Popen(["sh", "-c", f"top={base}/top; {BUILD}", "sh", SETUP], cwd=base,
                            stdin=subprocess.DEVNULL, **more)


def on_terminal(base, rules):
    master, slave = pty.openpty()
    run = build(base, rules, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    seen = b""
    try:
        while piece := os.read(master, 65536):
            seen += piece
    except OSError:
        pass
    os.close(master)
    return run.wait(), seen.decode()


def check_build(base):
    code, seen = on_terminal(base, "touch")
    yield "progress in one line", code == 0 and seen.count("\n") == 1 and "\r== building out [1/40]" in seen \
        and seen.endswith("[40/40]\r\n"), seen
    code, seen = on_terminal(base, "fail")
    yield "a build that fails says why", code == 1 and "\r\nwhy\r\n" in seen and "the build failed" in seen, seen
    run = build(base, "touch", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = run.communicate()[1]
    yield "without a terminal", run.returncode == 0 and said == b"== building out\n", said


def main():
    passed = failed = 0
    with harness.private_place() as base:
        for name, good, seen in check_build(base):
            passed += bool(good)
            failed += not good
            if not good:
                print(f"FAILED: {name}: {seen!r}")
    with harness.private_place() as base:
        archive(base)
        with open(f"{base}/no_archive", "w", encoding="ascii") as file:
            file.write("x\n")
        for name, named, code, out, said in (
                ("a file that is not there", f"{base}/nothing", 1, "", "set YYJSON_ARCHIVE to"),
                ("no archive", f"{base}/no_archive", 1, "", "is no source archive of yyjson"),
                ("an archive", "yyjson.tar.gz", 0, "0.12.3", "building yyjson from"),
                ("the second time", f"{base}/nothing", 0, "0.12.3", "")):
            got = set_up(base, named)
            good = got[:2] == (code, out) and said in got[2] and bool(said) == bool(got[2])
            passed += good
            failed += not good
            if not good:
                print(f"FAILED: {name}: {got}")
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
