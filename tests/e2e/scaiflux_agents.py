#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""20 ScaiFlux processes at once, each with a turn that calls a tool and asks for permission, against
one gateway: the small version of bench/agents.py.  covers: scaiflux 60, 80, 183

    scaiflux_agents.py [AGENTS]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(TOP, "bench")]
import agents       # noqa: E402
import client       # noqa: E402
import harness      # noqa: E402


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    done = agents.measure(n, client.PROGRAM)
    harness.finish(done, n - done)


main()
