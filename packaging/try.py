#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""try.py [--roots DIR] FILE SUITE...: tries a package (*.deb) or tarball (*.tar.gz) in clean roots.

Each SUITE (bookworm, trixie) is set up once by debootstrap --variant=minbase below DIR (default:
build-roots) and never changed: the try runs in an overlay over it.  A root of another distribution
can be put there by hand.  There FILE is installed or
unpacked, an ordinary user has one turn over HTTP with a server on this machine (tests/fake), which
searches files and runs a command, then everything is removed and what is left is listed.
Needs root and the packages debootstrap and python3; apt of the root uses the network.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "fake"))
import provider  # noqa: E402

USER = 1000
# What apt and dpkg keep of any package.
OF_APT = ("var/lib/apt/", "var/lib/dpkg/", "var/cache/", "var/log/", "etc/ld.so.cache",
          "etc/resolv.conf")
# Makes the overlay the root of a mount namespace of its own, as a container does.
ENTER = """
mount -t overlay -o lowerdir=$LOWER,upperdir=$BASE/upper,workdir=$BASE/work overlay $BASE/root &&
cd $BASE/root && mkdir -p .outside && pivot_root . .outside && mount -t proc proc /proc &&
mount --bind /.outside/dev /dev && umount -l /.outside && rmdir /.outside && cd / && %s
"""
failed = 0


def check(name, ok, detail=""):
    global failed
    failed += not ok
    print(f"{'ok    ' if ok else 'FAILED'} {name}" + (f": {detail}" if not ok else ""), flush=True)


class Root:
    """An overlay over the root of a suite."""

    def __init__(self, lower):
        self.lower = lower
        self.base = tempfile.mkdtemp(prefix="trivet-root-")
        for name in ("upper", "work", "root"):
            os.mkdir(os.path.join(self.base, name))
        self.put("etc/resolv.conf", open("/etc/resolv.conf", encoding="ascii").read())

    def put(self, path, text):
        path = os.path.join(self.base, "upper", path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def take(self, source, into):
        path = os.path.join(self.base, "upper", into)
        os.makedirs(path, exist_ok=True)
        shutil.copy(source, path)
        return os.path.join("/", into, os.path.basename(source))

    def run(self, command, user=0, env=None):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive", "LOWER": self.lower, "BASE": self.base,
               "COMMAND": command} | (env or {})
        inner = 'sh -c "$COMMAND"'
        if user:
            inner = f"setpriv --reuid={user} --regid={user} --clear-groups " + inner
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--propagation", "private",
                               "sh", "-c", ENTER % inner], env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)

    def left(self):
        """Files that the try added, without those of apt; a deleted file leaves a device."""
        upper = os.path.join(self.base, "upper")
        found = []
        for top, _, names in os.walk(upper):
            for name in names:
                path = os.path.relpath(os.path.join(top, name), upper)
                if not path.startswith(OF_APT) and os.path.isfile(os.path.join(upper, path)):
                    found.append(path)
        return found

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


def suite_root(roots, suite):
    path = os.path.join(roots, suite)
    if not os.path.exists(os.path.join(path, "usr/bin/apt-get")):
        print(f"== debootstrap {suite}", flush=True)
        os.makedirs(roots, exist_ok=True)
        subprocess.run(["debootstrap", "--variant=minbase", suite, path], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def turn(root, program):
    script = [{"tool_calls": [
        {"id": "a", "name": "grep_search", "arguments": {"pattern": "ne+dle"}},
        {"id": "b", "name": "bash", "arguments": {"command": "cat note; id -u; echo x >made"}}]},
        {"text": "done in a clean root"}]
    with provider.Server(script) as server:
        env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "OPENAI_API_KEY": "sk-none",
               "HOME": "/tmp/home"}
        done = root.run(f"mkdir -p /tmp/home /tmp/home/w && cd /tmp/home/w && echo needle >note && "
                        f"{program} exec --json -q -m openai/fake go && cat made && "
                        f"{program} doctor", user=USER, env=env)
        output = [m["content"] for entry in server.log if "body" in entry
                for m in entry["body"]["messages"] if m["role"] == "tool"]
    first = done.stdout.split("\n")[0]
    check("a turn over HTTP", first.startswith("{") and
          json.loads(first).get("answer") == "done in a clean root", done)
    check("it searched files", "note\n" in output, output)
    check("it ran a command", any("needle" in text and str(USER) in text for text in output), output)
    check("all modules are there", "broken" not in done.stdout and "trivet-net.so" in done.stdout,
          done.stdout)
    root.run("rm -rf /tmp/home", user=USER)


def try_deb(root, file):
    deb = root.take(file, "var/cache/try")
    root.run("apt-get -q update")
    done = root.run(f"apt-get -qy --no-install-recommends install {deb}")
    check("installed by apt", done.returncode == 0, done)
    check("without yyjson", root.run("dpkg -l libyyjson0").returncode != 0)
    turn(root, "trivet")
    done = root.run("apt-get -qy purge trivet && apt-get -qy autoremove --purge "
                    "-o APT::AutoRemove::RecommendsImportant=false "
                    "-o APT::AutoRemove::SuggestsImportant=false && ! dpkg -l trivet")
    check("removed by apt", done.returncode == 0, done)


def try_tarball(root, file):
    tar = root.take(file, "var/cache/try")
    done = root.run(f"mkdir /tmp/place && tar -xzf {tar} -C /tmp/place --no-same-owner && "
                    "mv /tmp/place/trivet-* '/tmp/place/some where'", user=USER)
    check("unpacked by an ordinary user", done.returncode == 0, done)
    turn(root, "'/tmp/place/some where/bin/trivet'")
    root.run("rm -rf /tmp/place", user=USER)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--roots", default=os.path.join(TOP, "build-roots"))
    parser.add_argument("file")
    parser.add_argument("suites", nargs="+")
    args = parser.parse_args()
    for suite in args.suites:
        print(f"== {os.path.basename(args.file)} in {suite}", flush=True)
        root = Root(suite_root(os.path.abspath(args.roots), suite))
        try:
            if args.file.endswith(".deb"):
                try_deb(root, args.file)
            else:
                try_tarball(root, args.file)
            left = root.left()
            check("nothing is left", not left, left)
        finally:
            root.remove()
    return failed != 0


sys.exit(main())
