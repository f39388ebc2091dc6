# SPDX-License-Identifier: MIT
"""NATS servers for tests and measurements: finding the program, starting a cluster on loopback.

The program is $TRIVET_NATS_SERVER, build/nats/SUITE/nats-server (`get_nats` of scripts/setup.sh), or
the one in PATH.  Where there is none, tests say so: `missing()` is the line.
"""
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find(suite="testing"):
    """The program nats-server of a Debian suite, or None."""
    own = os.path.join(TOP, "build/nats", suite, "nats-server")
    if suite == "testing" and os.environ.get("TRIVET_NATS_SERVER"):
        return os.environ["TRIVET_NATS_SERVER"]
    if os.access(own, os.X_OK):
        return own
    return shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin") if suite == "testing" else None


def version(program):
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(n) for n in re.search(r"v(\d+)\.(\d+)\.(\d+)", told).groups())


def missing(what, suite="testing"):
    return f"nats-server of {suite} is not installed: {what} was not tried (top=$PWD; . scripts/setup.sh; get_nats {suite})"


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


class Cluster:
    """n nodes (1 or 3) on loopback; `more` is text for their configuration files."""

    def __init__(self, base, program, n=3, more="", sync="always"):
        self.base, self.program, self.n = base, program, n
        ports = free_ports(3 * n)
        self.ports, self.routes, self.monitors = ports[:n], ports[n:2 * n], ports[2 * n:]
        self.processes = [None] * n
        self.sync = sync if version(program) >= (2, 10, 0) else None
        self.more = more

    def config(self, i):
        lines = [f'server_name: n{i + 1}', f'listen: "127.0.0.1:{self.ports[i]}"',
                 f'http: "127.0.0.1:{self.monitors[i]}"', 'lame_duck_grace_period: "1s"', 'lame_duck_duration: "30s"',
                 'jetstream {', f'  store_dir: "{self.base}/n{i + 1}"', '  max_mem: 64MB', '  max_file: 8GB']
        if self.sync:
            lines.append(f'  sync_interval: {self.sync}')
        lines.append('}')
        if self.n > 1:
            others = ", ".join(f'"nats://127.0.0.1:{p}"' for p in self.routes)
            lines += ['cluster {', '  name: tv', f'  listen: "127.0.0.1:{self.routes[i]}"',
                      f'  routes: [{others}]', '}']
        return "\n".join(lines) + "\n" + self.more

    def start(self, i):
        path = f"{self.base}/n{i + 1}.conf"
        with open(path, "w") as f:
            f.write(self.config(i))
        log = open(f"{self.base}/n{i + 1}.log", "ab")
        self.processes[i] = subprocess.Popen([self.program, "-c", path], stdout=log, stderr=log,
                                             stdin=subprocess.DEVNULL)
        log.close()

    def healthy(self, i):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.monitors[i]}/healthz", timeout=1) as r:
                return r.status == 200
        except OSError:
            return False

    def wait(self, seconds=30):
        end = time.time() + seconds
        for i in range(self.n):
            while self.processes[i] and not self.healthy(i):
                if time.time() > end:
                    raise TimeoutError(f"node {i + 1} is not ready: " + open(f"{self.base}/n{i + 1}.log").read()[-800:])
                time.sleep(0.05)

    def __enter__(self):
        for i in range(self.n):
            self.start(i)
        self.wait()
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p:
                p.kill()
                p.wait()

    def url(self, user=""):
        return ",".join(f"nats://{user}127.0.0.1:{p}" for p in self.ports)
