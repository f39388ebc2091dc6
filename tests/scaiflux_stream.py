# SPDX-License-Identifier: MIT
"""Checks what a ScaiFlux process writes: every line against the closed schema, and all of them
against the order of events (scaiflux 37-59, 167-168).

    stream = Stream()
    for line in process.stdout:
        stream.take(json.loads(line))    # raises Broken
    stream.end()                         # the process ended by itself: no turn may be open
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "talk"))
import schema  # noqa: E402

with open(os.path.join(HERE, "talk", "scaiflux.schema.json"), encoding="utf-8") as _file:
    SCHEMA = schema.Schema(json.load(_file))

STARTUP = {"workspace_invalid", "config_invalid", "model_unresolved", "resume_failed",
           "session_locked"}


class Broken(Exception):
    """The stream is not what the protocol allows."""


class Stream:
    """One process from its first line to its last."""

    def __init__(self):
        self.before = {}       # the line before
        self.is_ready = self.is_over = False
        self.turn = None       # id of the running one
        self.turns, self.requests = set(), set()
        self.call = None       # tool_start without its result
        self.calls = set()     # ids of this turn
        self.n_results = 0     # in this turn

    def need(self, ok, text, message):
        if not ok:
            raise Broken(f"{text}: {json.dumps(message)[:300]}; before it "
                         f"{json.dumps(self.before)[:200]}")

    def take(self, m):
        try:
            SCHEMA.check("Outbound", m)
        except schema.Invalid as error:
            raise Broken(f"against the schema: {error}") from None
        kind = m["type"]
        self.need(not self.is_over, "a line after the startup error", m)
        self.need((kind == "ready") != self.is_ready or self.is_startup(m),
                  "ready is the first line, once", m)
        if kind in ("text_delta", "tool_start", "tool_result", "turn_complete"):
            self.need(m["turn_id"] == self.turn, "not of the running turn", m)
        getattr(self, "take_" + kind)(m)
        self.before = m

    def is_startup(self, m):
        return m["type"] == "error" and m["code"] in STARTUP and not self.is_ready

    def take_ready(self, m):
        self.is_ready = True
        self.need(m["gadgets"] == sorted(m["gadgets"]), "gadgets are sorted", m)

    def take_turn_started(self, m):
        self.need(self.turn is None, "turns do not overlap", m)
        self.need(m["turn_id"] not in self.turns, "a turn id twice", m)
        self.turn = m["turn_id"]
        self.turns.add(self.turn)
        self.calls, self.n_results = set(), 0

    def take_text_delta(self, m):
        self.need(self.call is None, "text while a call is open", m)

    def take_tool_start(self, m):
        self.need(self.call is None, "calls do not overlap", m)
        self.need(m["tool_id"] not in self.calls, "a tool id twice", m)
        self.call = m
        self.calls.add(m["tool_id"])

    def take_permission_request(self, m):
        self.need(self.before is self.call and self.call is not None,
                  "a permission is asked directly behind its tool_start", m)
        self.need(m["request_id"] not in self.requests, "a request id twice", m)
        self.need(m["tool"] == self.call["name"]
                  and m["details"]["tool_input"] == self.call["input"], "another call's", m)
        self.requests.add(m["request_id"])

    def take_tool_result(self, m):
        self.need(self.call is not None and m["tool_id"] == self.call["tool_id"],
                  "a result without its call", m)
        self.call = None
        self.n_results += 1

    def end_turn(self, m):
        self.need(self.call is None, "the turn ends with an open call", m)
        self.turn = None

    def take_turn_complete(self, m):
        self.need((m["iterations"] > 0) == (self.n_results > 0), "iterations without results", m)
        self.end_turn(m)

    def take_error(self, m):
        if "turn_id" in m:
            self.need(m["turn_id"] == self.turn, "fails a turn that does not run", m)
            self.end_turn(m)
        elif m["code"] in STARTUP:
            self.need(not self.is_ready, "a startup error behind ready", m)
            self.is_over = True

    def take_slash_result(self, m):
        self.need(m["data"]["ok"] != ("error" in m["data"]), "ok or error", m)

    def take_state_changed(self, m):
        self.need(self.before["type"] in ("slash_result", "turn_complete")
                  or (self.before["type"] == "error" and "turn_id" in self.before),
                  "a change follows what caused it", m)
        if "gadgets" in m:
            self.need(m["gadgets"] == sorted(m["gadgets"]), "gadgets are sorted", m)

    def end(self):
        """The process ended by itself and its output was read to the end."""
        if self.turn is not None:
            raise Broken(f"the turn {self.turn} has no end; last {json.dumps(self.before)[:300]}")
