#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many agents side by side: N `scaiflux serve` processes, each in a workspace of its own, each with
a turn that calls a tool and asks for permission, all against one gateway on loopback.

    bench/agents.py [--agents 500] [--binary build/trivet]

All permissions are held back until every process has asked, so all turns run at the same time.
Prints time to the last `ready`, time until all turns are complete, and memory (PSS: what the
processes share is counted once; RSS: counted for each) when all are idle and when all are in the
middle of their turn.  Every line is checked against schema and order of events.  Ends with 1 when a
turn does not complete, a file was not written, or a process does not end with 0.
"""
import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests"))
import harness          # noqa: E402
import scaiflux_stream  # noqa: E402

PATIENCE = 300          # seconds for any phase


# ---- the gateway, in a process of its own ----

def sse(delta, finish=None, **more):
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m",
             "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def answer(body):
    """A call first, then a text that quotes its result."""
    last = body["messages"][-1]
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    if last["role"] == "tool":
        words = ["Done: ", "the file ", "is written."]
        events = [sse({"content": word}) for word in words] + [sse({}, "stop", usage=usage)]
    else:
        call = {"index": 0, "id": "call_1", "type": "function",
                "function": {"name": "write_file",
                             "arguments": json.dumps({"path": "out.txt", "content": "hello\n"})}}
        events = [sse({"content": "I write a file."}), sse({"tool_calls": [call]}),
                  sse({}, "tool_calls", usage=usage)]
    return b"".join(events) + b"data: [DONE]\n\n"


async def serve_connection(reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(int(line.partition(b":")[2]) for line in head.split(b"\r\n")
                          if line.lower().startswith(b"content-length:"))
            data = answer(json.loads(await reader.readexactly(length)))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(data) + data)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, StopIteration):
        pass
    writer.close()


async def serve():
    server = await asyncio.start_server(serve_connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


# ---- one agent ----

class Agent:
    def __init__(self, number, base):
        self.number = number
        self.workspace = os.path.join(base, f"agent-{number}")
        os.mkdir(self.workspace)
        self.stream = scaiflux_stream.Stream()

    async def start(self, binary, env):
        self.process = await asyncio.create_subprocess_exec(
            binary, "scaiflux", "serve", "--model", "openai/m", "--workspace", self.workspace,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        await self.until("ready")
        self.ready_at = time.monotonic()

    async def until(self, *kinds):
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            self.stream.take(message)
            if message["type"] in kinds:
                return message
        raise RuntimeError(f"agent {self.number} ended early")

    def send(self, **message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(self):
        self.send(type="prompt", text="write a file")
        self.request = await self.until("permission_request", "error")

    async def finish(self):
        self.send(type="permission_response", request_id=self.request["request_id"],
                  decision="allow")
        end = await self.until("turn_complete", "error")
        if end["type"] == "error" or end["mutations"] != [["write_file", "out.txt"]]:
            raise RuntimeError(f"agent {self.number}: {end}")

    async def end(self):
        self.send(type="shutdown")
        while line := await self.process.stdout.readline():
            self.stream.take(json.loads(line))
        self.stream.end()
        with open(os.path.join(self.workspace, "out.txt"), encoding="ascii") as file:
            return await self.process.wait() == 0 and file.read() == "hello\n"


# ---- all of them ----

def memory(agents):
    """(PSS, RSS) of all in kB; PSS is None where the system does not report it."""
    pss = rss = 0
    for agent in agents:
        try:
            with open(f"/proc/{agent.process.pid}/smaps_rollup", encoding="ascii") as file:
                for line in file:
                    if line.startswith("Pss:"):
                        pss += int(line.split()[1])
                    elif line.startswith("Rss:"):
                        rss += int(line.split()[1])
        except PermissionError:
            return None, 0
    return pss, rss


def say_memory(when, agents):
    pss, rss = memory(agents)
    if pss is None:
        print(f"memory {when}: not reported by the system")
        return
    print(f"memory {when}: PSS {pss / 1024:.1f} MB in all, {pss / len(agents):.0f} kB each; "
          f"RSS {rss / 1024:.1f} MB in all, {rss / len(agents):.0f} kB each")


async def all_of(steps):
    await asyncio.wait_for(asyncio.gather(*steps), PATIENCE * harness.slow())


async def run(n, binary, base, env):
    agents = [Agent(i, base) for i in range(n)]
    began = time.monotonic()
    await all_of(agent.start(binary, env) for agent in agents)
    print(f"{n} processes; the last ready after {max(a.ready_at for a in agents) - began:.2f} s")
    say_memory("idle", agents)
    began = time.monotonic()
    await all_of(agent.ask() for agent in agents)
    print(f"all turns wait for a permission after {time.monotonic() - began:.2f} s")
    say_memory("in the turn", agents)
    held = time.monotonic()
    await all_of(agent.finish() for agent in agents)
    print(f"all turns complete {time.monotonic() - held:.2f} s after the answers")
    say_memory("after the turn", agents)
    ends = await asyncio.gather(*(agent.end() for agent in agents))
    return sum(ends)


def measure(n, binary):
    """How many of n agents did everything."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * n + 100)), hard))
    with harness.private_place() as base:
        env = harness.clean_env(base)
        with subprocess.Popen([sys.executable, os.path.abspath(__file__), "--gateway"],
                              stdout=subprocess.PIPE, env=env) as gateway:
            port = int(gateway.stdout.readline())
            env.update(OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1",
                       OPENAI_API_KEY="key-of-agents-1")
            try:
                return asyncio.run(run(n, binary, base, env))
            finally:
                gateway.kill()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--agents", type=int, default=500)
    options.add_argument("--binary", default=os.path.join(os.path.dirname(HERE), "build", "trivet"))
    options.add_argument("--gateway", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.gateway:
        asyncio.run(serve())
        return
    done = measure(chosen.agents, os.path.abspath(chosen.binary))
    print(f"{done} of {chosen.agents} agents did everything")
    sys.exit(done != chosen.agents)


if __name__ == "__main__":
    main()
