#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// A small client of the loaf RPC protocol, in plain JavaScript.
//
//     node examples/loaf_client.mjs [--engine COMMAND] [--title TITLE] PROMPT...
//     node examples/loaf_client.mjs [--engine COMMAND] --login
//
// COMMAND starts the engine (default: trivet loaf rpc).  Without an account, from the build folder:
//
//     TRIVET_MODEL=rehearsal/hello node examples/loaf_client.mjs --engine "build/trivet loaf rpc" hello
//
// Each PROMPT is one turn of the same session.  The answer is printed while it comes; tools are told
// on stderr.  --login signs in to OpenAI from a machine without a browser: it prints where to go and
// which code to type there, and ends when that was done.  The exit status is 0 when everything worked.
//
// `Connection` is all that is needed to speak the protocol: requests are answered by id, in any order,
// and everything else is an event.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const PROTOCOL = "1.0.0";

/** A server process; one JSON message per line in both directions. */
class Connection {
  constructor(command) {
    const [program, ...args] = command.split(" ").filter(Boolean);
    this.server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.exited = new Promise((resolve) => this.server.on("exit", resolve));
    this.waiting = new Map(); // id -> {resolve, reject}
    this.listeners = new Set();
    this.lastId = 0;
    const lines = createInterface({ input: this.server.stdout, crlfDelay: Infinity });
    lines.on("line", (line) => this.receive(JSON.parse(line)));
    lines.on("close", () => this.gone());
    this.server.on("error", () => this.gone());
    this.server.stdin.on("error", () => {}); // the end of its stdout says the same
  }

  receive(message) {
    if (message.method === "event") {
      for (const listener of [...this.listeners]) listener(message.params);
      return;
    }
    const call = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) call?.reject(new Error(message.error.message));
    else call?.resolve(message.result);
  }

  gone() {
    for (const call of this.waiting.values()) call.reject(new Error("the server is gone"));
    for (const listener of [...this.listeners]) listener(null);
  }

  call(method, params) {
    const id = ++this.lastId;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return answer;
  }

  /** Calls back for every event until the callback returns something; `done` resolves with that.
      `take` hands it an event that was put aside. */
  hear(onEvent) {
    let take;
    const done = new Promise((resolve, reject) => {
      take = (event) => {
        const found = event ? onEvent(event) : new Error("the server is gone");
        if (found === undefined) return;
        this.listeners.delete(take);
        if (found instanceof Error) reject(found);
        else resolve(found);
      };
      this.listeners.add(take);
    });
    done.catch(() => {}); // avoids an unhandled rejection if the caller does not await it
    return { done, take };
  }

  /** The server ends when its stdin does. */
  close() {
    this.server.stdin.end();
    return this.exited;
  }
}

async function handshake(connection) {
  const hello = await connection.call("rpc.handshake", {
    client_name: "loaf_client.mjs", client_version: "1", protocol_version: PROTOCOL, strict: false,
  });
  if (hello.protocol_version !== PROTOCOL)
    console.error(`the server speaks version ${hello.protocol_version}`);
  if (!hello.capabilities.events) throw new Error("the server sends no events");
  return hello.methods;
}

/** Prints what a person wants to see of an event. */
function show(event) {
  if (event.type === "session.stream.chunk") {
    process.stdout.write(event.payload.text);
  }
  if (event.type === "session.tool.call.started") {
    console.error(`Tool: ${event.payload.tool_name}`);
  }
  if (event.type === "session.tool.call.completed") {
    console.error(`Result: ${event.payload.ok ? "success" : "error"}`);
  }
  if (event.type === "auth.flow.url") {
    console.log(`Open this URL: ${event.payload.url}`);
  }
  if (event.type === "auth.flow.device_code") {
    console.log(`Device code: ${event.payload.user_code}`);
    console.log(`Visit: ${event.payload.verification_url}`);
  }
}

/** True when the turn was completed. */
async function runTurn(connection, session, prompt) {
  let turn = null;
  const early = []; // events may come before the response that names the turn
  const { done, take } = connection.hear((event) => {
    if (turn === null) {
      early.push(event);
      return undefined;
    }
    show(event);
    if (event.payload.turn_id !== turn) return undefined;
    if (event.type === "session.completed") return { good: true };
    if (event.type === "session.interrupted" || event.type === "session.error")
      return { good: false, why: event.payload.message ?? "interrupted" };
    return undefined;
  });
  ({ turn_id: turn } = await connection.call("session.send", { session_id: session, text: prompt }));
  early.forEach(take);
  const { good, why } = await done;
  if (good) console.log();
  else console.error(why);
  return good;
}

/** The response comes when the person has done her part; until then there are events. */
async function logIn(connection) {
  connection.hear((event) => show(event));
  const { provider } = await connection.call("auth.connect.openai", { mode: "device_code" });
  console.log(`Signed in to ${provider}.`);
  return true;
}

async function talk(connection, options, prompts) {
  const methods = await handshake(connection);
  if (options.login) {
    if (!methods.includes("auth.connect.openai")) throw new Error("the server cannot sign in");
    return logIn(connection);
  }
  const params = options.title ? { title: options.title } : {};
  const { session_id: session } = await connection.call("session.create", params);
  for (const prompt of prompts) {
    if (!await runTurn(connection, session, prompt)) return false;
  }
  return true;
}

const { values, positionals } = parseArgs({
  options: {
    engine: { type: "string", default: "trivet loaf rpc" },
    title: { type: "string" },
    login: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const connection = new Connection(values.engine);
let good = false;
try {
  good = await talk(connection, values, positionals);
} catch (error) {
  console.error(`error: ${error.message}`);
}
const status = await connection.close();
process.exitCode = good && status === 0 ? 0 : 1;
