#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of a session does not grow with the sessions that are open.

    tests/e2e/many_sessions.py [SESSIONS]

Opens some thousand sessions in one process, in loaf and in Kward, and measures the processor time of
the server: of creating a session, of looking at one, of a turn of the rehearsal model in one, and of
closing one (Kward).  The last thousand may cost at most 1.5 times as much as the first.  Each figure
is the lower quartile of twenty blocks of fifty, the server keeps to one processor, and its files lie in memory
where that is possible, so that neither another load on the machine nor the file system counts.

In loaf the event of a new session names at most the newest 500; state.get names all.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402

BLOCK, BLOCKS = 50, 20
SESSIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
MOST = 1.5
SLACK_US = 5  # below this a difference is noise of the measurement
MOST_IDS = 500


class Server:
    """Reads only as much of each message as it must: the figures are those of the server."""

    def __init__(self, env, cwd):
        self.child = subprocess.Popen([PROGRAM, self.dialect, "rpc"], env=env, cwd=cwd,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.sched_setaffinity(self.child.pid, {max(os.sched_getaffinity(0))})
        self.clock = (~self.child.pid << 3) | 2  # as clock_getcpuclockid makes it
        self.last_id = 0
        self.stream = rpc_stream.Stream(PROGRAM, self.dialect)

    def cpu_us(self):
        return time.clock_gettime(self.clock) * 1e6

    def ask(self, method, params):
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        body = json.dumps(request).encode()
        self.stream.sent(request)
        self.child.stdin.write(self.frame(body))

    def gather(self, n, ends):
        """Reads until n answers and, if wanted, n ends of turns have come; the results."""
        results, n_ended = [], 0
        self.child.stdin.flush()
        while len(results) < n or (ends and n_ended < n):
            body = self.read()
            if b'"id":' in body[:30]:
                answer = json.loads(body)
                self.stream.take(answer)
                if "error" in answer:
                    raise AssertionError(answer["error"])
                results.append(answer["result"])
            elif ends and ends in body[:400]:
                n_ended += 1
        return results

    def block(self, method, all_params, ends=None):
        """Results of the requests, and processor time per request."""
        before = self.cpu_us()
        for params in all_params:
            self.ask(method, params)
        results = self.gather(len(all_params), ends)
        return results, (self.cpu_us() - before) / len(all_params)

    def many(self, method, all_params, ends=None):
        """The same in blocks; the lower quartile of the costs: other load only adds to them."""
        results, costs = [], []
        for at in range(0, len(all_params), BLOCK):
            some, cost = self.block(method, all_params[at:at + BLOCK], ends)
            results += some
            costs.append(cost)
        return results, sorted(costs)[len(costs) // 4]

    def end(self):
        self.child.stdin.close()
        status = self.child.wait(120 * harness.slow())
        self.child.stdout.close()
        return status


class Loaf(Server):
    dialect = "loaf"

    def frame(self, body):
        return body + b"\n"

    def read(self):
        return self.child.stdout.readline()

    def create(self, n):
        results, cost = self.many("session.create", [{}] * n)
        return [r["session_id"] for r in results], cost

    def check_ids(self, ids):
        """Problems with what is told about these sessions, which are all."""
        self.ask("state.get", {})
        output = self.gather(1, None)[0]["sessions"]
        if output != {"count": len(ids), "ids": ids}:
            yield f"state.get has {output['count']} sessions, {len(output['ids'])} ids"
        self.ask("session.create", {})
        self.child.stdin.flush()
        event = json.loads(self.read())["params"]["payload"]
        newest = [*ids, event["session_id"]][-MOST_IDS:]
        self.gather(1, None)
        if event["snapshot"]["sessions"] != {"count": len(ids) + 1, "ids": newest}:
            yield "the event of a new session does not name the newest ones"

    def look(self, ids):
        return self.many("session.get", [{"session_id": i} for i in ids])[1]

    def turn(self, ids):
        return self.many("session.send", [{"session_id": i, "text": "hello"} for i in ids],
                         b'"type":"session.completed"')[1]


class Kward(Server):
    dialect = "kward"

    def frame(self, body):
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    def read(self):
        length = 0
        while (line := self.child.stdout.readline()) != b"\r\n":
            assert line, "the server has ended"
            length = int(line.partition(b":")[2])
        return self.child.stdout.read(length)

    def create(self, n):
        results, cost = self.many("sessions/create", [{"name": f"n{i}"} for i in range(n)])
        return [r["id"] for r in results], cost

    def look(self, ids):
        return self.many("runtime/state", [{"sessionId": i} for i in ids])[1]

    def turn(self, ids):
        return self.many("turns/start", [{"sessionId": i, "input": "hello"} for i in ids],
                         b'"type":"turnFinished"')[1]

    def close(self, ids):
        return self.many("sessions/close", [{"sessionId": i} for i in ids])[1]


def measure(server):
    """{what: (cost among the first thousand, cost among the last)}, in microseconds."""
    size = BLOCK * BLOCKS
    first, created = server.create(size)
    costs = {"create": [created], "look": [server.look(first)], "turn": [server.turn(first)]}
    more = server.create(SESSIONS - 2 * size)[0]
    last, created = server.create(size)
    costs["create"].append(created)
    costs["look"].append(server.look(last))
    costs["turn"].append(server.turn(last))
    if hasattr(server, "close"):
        full = server.close(last)
        server.close(first[:size // 2])
        costs["close"] = [server.close(first[size // 2:]), full]
    return costs, first + more + last


def check(kind):
    failed = 0
    with harness.private_place() as base:
        env = dict(harness.clean_env(base), TRIVET_MODEL="rehearsal/hello")
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        server = kind(env, workspace)
        costs, ids = measure(server)
        for what, (first, last) in costs.items():
            good = last <= first * MOST + SLACK_US
            failed += not good
            print(f"{'ok' if good else 'FAIL'} {kind.dialect} {what}: {first:.0f} us with a thousand "
                  f"open, {last:.0f} us with {SESSIONS}", flush=True)
        for problem in server.check_ids(ids) if hasattr(server, "check_ids") else ():
            print(f"FAIL {kind.dialect}: {problem}")
            failed += 1
        status = server.end()
        if status != 0:
            print(f"FAIL {kind.dialect} ended with {status}")
            failed += 1
    return len(costs) + 1 - failed, failed


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    results = [check(kind) for kind in (Loaf, Kward)]
    harness.finish(sum(r[0] for r in results), sum(r[1] for r in results))


main()
