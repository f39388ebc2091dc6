#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/setup.sh where the system has no package of yyjson: it is built from the archive of its
source that the user names, once, and an archive that will not do is refused with what to do."""
import os
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


def main():
    passed = failed = 0
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
