#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// A client of the Kward protocol: starts the program, speaks JSON-RPC through vscode-jsonrpc, and
// visits every method once, in the order in which a user interface would need them.
//
//     npm install vscode-jsonrpc
//     node examples/kward_client.mjs [--engine COMMAND] [--workspace DIR] [--sign-in]
//
// COMMAND starts the engine (default: trivet kward rpc).
//
// Prints one line per call: the method and what came of it.  It works with the model that is
// configured, in sessions of its own that it deletes again; settings that it changes are set back.
// --sign-in also plays an OpenAI sign-in against an authorisation server that sends the browser
// back at once, as TRIVET_OPENAI_AUTH_URL may name one; what was stored before is removed.
//
// The three things to copy: `connect` (starting and framing), `Turns` (events until turnFinished),
// `answerQuestions` (a notification that wants a request).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";

const require = createRequire(import.meta.url); // finds what NODE_PATH names, which import does not
const { createMessageConnection, StreamMessageReader, StreamMessageWriter, ResponseError } =
  require("vscode-jsonrpc/node");

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ" +
  "RU5ErkJggg==";

// ---- the connection

function connect(engine) {
  const [program, ...args] = engine.split(" ").filter(Boolean);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  connection.onError(([error]) => { throw error; });
  connection.listen();
  return { connection, ended };
}

/** Asks and prints; an error answer rejects with its code and message. */
function caller(connection) {
  return async (method, params) => {
    const result = await connection.sendRequest(method, params);
    const text = JSON.stringify(result);
    console.log(`${method}  ${text.length > 90 ? text.slice(0, 90) + "…" : text}`);
    return result;
  };
}

async function refused(promise, words) {
  const error = await promise.then(() => assert.fail(`was not refused: ${words}`), (e) => e);
  assert.ok(error instanceof ResponseError, String(error));
  assert.match(error.message, words);
  return error;
}

// ---- turns: events come as notifications, turnFinished is the last one

class Turns {
  constructor(connection) {
    this.seen = new Map(); // by turn: its events
    this.waiting = new Map(); // by turn: pending promises
    connection.onNotification("turn/event", (event) => {
      const events = this.of(event.turnId);
      assert.equal(event.sequence, events.length + 1, "a gap in the sequence");
      events.push(event);
      this.waiting.get(event.turnId)?.();
    });
  }

  of(turn) {
    if (!this.seen.has(turn)) this.seen.set(turn, []);
    return this.seen.get(turn);
  }

  /** The first event of this type, perhaps one that came already. */
  async event(turn, type) {
    for (;;) {
      const events = this.of(turn);
      const found = events.find((event) => event.type === type);
      if (found) return found;
      assert.notEqual(events.at(-1)?.type, "turnFinished", `ended without ${type}`);
      await new Promise((resolve) => this.waiting.set(turn, resolve));
    }
  }

  /** Status and text of a whole turn. */
  async finish(turn) {
    const { payload } = await this.event(turn, "turnFinished");
    const deltas = this.of(turn).filter((event) => event.type === "assistantDelta");
    return { ...payload, text: deltas.map((event) => event.payload.delta).join("") };
  }
}

// ---- questions: the model asks through us, a request of ours carries the answer

function answerQuestions(connection, call) {
  let asked = 0;
  connection.onNotification("ui/question", async ({ sessionId, questionRequestId, questions }) => {
    asked++;
    const answers = questions.map(({ question, options }) =>
      ({ question, answer: options[0].label }));
    await call("ui/answerQuestion", { sessionId, questionRequestId, answers });
  });
  return () => asked;
}

// ---- the tour

async function lookAround(call, workspace) {
  const { protocolVersion, serverName, capabilities } = await call("initialize");
  assert.equal(protocolVersion, 1);
  assert.equal(serverName, "kward");
  const { root } = await call("workspace/validate", { workspaceRoot: workspace });
  assert.equal((await call("workspace/info", { workspaceRoot: root })).root, root);
  const { tools } = await call("tools/list");
  assert.ok(tools.some((tool) => tool.function.name === "read_file"));
  assert.deepEqual((await call("mcp/status")).servers, []);
  return { root, capabilities };
}

async function changeSettings(call) {
  const { config } = await call("config/read");
  assert.equal(typeof config, "object");
  const values = { example_client: { api_key: "sk-hidden-123" } };
  const updated = await call("config/update", { values });
  assert.equal(updated.config.example_client.api_key, "[REDACTED]");
  await call("config/update", { values: { example_client: null } });

  const current = await call("models/current");
  const { models } = await call("models/list");
  assert.equal(models.filter((model) => model.current).length, 1);
  const set = await call("models/set", { provider: current.provider, model: current.id });
  assert.equal(set.id, current.id);
  await call("reasoning/set", { effort: current.reasoningEffort ?? "medium" });
  assert.ok(Array.isArray((await call("openrouter/catalog")).models));
  return current;
}

async function useRuntime(call, sessionId, current) {
  const state = await call("runtime/state", { sessionId });
  assert.equal(state.rpcSessionId, sessionId);
  assert.equal(state.transport, "kward-rpc");
  const { applied } = await call("runtime/updateSetting",
    { sessionId, settingId: "defaultModel", value: `${current.provider}/${current.id}` });
  assert.equal(applied, "live");
  assert.ok((await call("runtime/reload", { sessionId })).ok);
}

async function useCommands(call, sessionId) {
  const { commands } = await call("commands/list", { sessionId });
  assert.ok((await call("resources/startup", { sessionId })).sections);
  const { prompts } = await call("prompts/list");
  if (prompts.length) {
    const { command } = prompts[0];
    const { text } = await call("prompts/expand", { command, arguments: "this example" });
    assert.equal(typeof text, "string");
  } else {
    await refused(call("prompts/expand", { command: "none" }), /Unknown prompt template/);
  }
  const plugin = commands.find((command) => command.source === "plugin");
  await call("commands/run", { sessionId, name: plugin?.name ?? "copy", arguments: "everybody" });
}

async function takeTurns(call, turns, questions, sessionId) {
  const hello = await call("turns/start", { sessionId,
    input: "I always prefer short answers. Say hello.",
    attachments: [{ type: "image", data: PIXEL, mimeType: "image/png", name: "pixel.png" }] });
  const { status, text } = await turns.finish(hello.id);
  assert.equal(status, "completed");
  assert.equal((await turns.event(hello.id, "answer")).payload.content, text);
  const replay = await call("turns/events", { turnId: hello.id, afterSequence: 1 });
  assert.deepEqual(replay.events, turns.of(hello.id).slice(1));
  assert.equal((await call("turns/status", { turnId: hello.id })).status, "completed");

  const ask = await call("turns/start",
    { sessionId, input: "Use ask_user_question to ask me whether to go on." });
  await turns.finish(ask.id);
  if (!questions()) // a model with a will of its own
    await call("ui/answerQuestion", { sessionId, questionRequestId: "none", answers: [] });

  const long = await call("turns/start", { sessionId, input: "Count slowly, and wait." });
  await turns.event(long.id, "turnStarted");
  assert.ok((await call("turns/cancel", { turnId: long.id })).cancelRequested);
  assert.equal((await turns.finish(long.id)).status, "canceled");
  const stats = await call("runtime/stats", { sessionId });
  assert.ok(stats.userMessages >= 3);
}

async function remember(call, sessionId, workspaceRoot) {
  const before = await call("memory/status");
  assert.ok((await call("memory/enable")).enabled);
  assert.ok((await call("memory/autoSummary/enable")).autoSummary);
  const soft = (await call("memory/add", { text: "Remember that we should prefer small patches",
    tags: ["style"] })).memory;
  assert.equal(soft.text, "Prefer small patches");
  const core = (await call("memory/addCore", { text: "Run the tests before a commit" })).memory;
  const listed = await call("memory/list", { workspaceRoot });
  assert.ok(listed.core.some((memory) => memory.id === core.id));
  const promoted = (await call("memory/promote", { id: soft.id })).memory;
  const relaxed = (await call("memory/relax", { id: promoted.id, workspaceRoot })).memory;
  const { memories } = await call("memory/summarize", { sessionId });
  assert.ok((await call("memory/inspect")).core.length >= 2);
  assert.ok("reasons" in await call("memory/why", { sessionId }));
  for (const { id } of [core, relaxed, ...memories])
    assert.ok((await call("memory/forget", { id })).forgotten);
  await call(`memory/autoSummary/${before.autoSummary ? "enable" : "disable"}`);
  await call(`memory/${before.enabled ? "enable" : "disable"}`);
}

async function branch(call, sessionId, workspaceRoot) {
  assert.equal((await call("sessions/rename", { sessionId, name: "example" })).name, "example");
  const { messages } = await call("sessions/transcript", { sessionId });
  assert.equal(messages[0].role, "user");
  const entries = (await call("sessions/forkMessages", { sessionId })).messages;
  const fork = await call("sessions/fork", { sessionId, entryId: entries[1].entryId });
  assert.match(fork.text, /ask_user_question/);
  const clone = await call("sessions/clone", { sessionId });
  const listed = (await call("sessions/list", { workspaceRoot })).sessions;
  assert.ok(listed.some(({ path, depth }) => path === clone.path && depth === 1));
  await call("sessions/close", { sessionId: clone.id });
  const again = await call("sessions/resume", { path: clone.path, workspaceRoot });
  return [again.id, fork.session.id];
}

async function compact(connection, call, sessionId) {
  const told = [];
  connection.onNotification("session/event", ({ type }) => told.push(type));
  const outcome = await call("sessions/compact", { sessionId }).catch((error) => error);
  if (outcome instanceof ResponseError) // so short a conversation may be kept as it is
    assert.match(outcome.message, /Nothing to compact/);
  assert.deepEqual(told, ["compactionStart", "compactionEnd"]);
}

async function signIn(call, connection) {
  await call("auth/status");
  const { providers } = await call("auth/providers");
  assert.deepEqual(providers.slice(0, 2).map(({ id }) => id), ["openai", "openrouter"]);
  const finished = new Promise((resolve) =>
    connection.onNotification("auth/loginFinished", resolve));
  const login = await call("auth/startOpenAILogin", { timeoutSeconds: 30 });
  assert.equal((await call("auth/loginStatus", { loginId: login.loginId })).status, "pending");
  // A browser would be opened here, and would come back to redirectUri by itself.
  const page = await fetch(login.authorizationUrl, { redirect: "manual" });
  const done = await call("auth/submitOpenAICode",
    { loginId: login.loginId, code: page.headers.get("location") });
  assert.equal(done.status, "completed");
  assert.equal((await finished).loginId, login.loginId);
  await call("auth/logoutProvider", { providerId: "openai" });

  const second = await call("auth/loginWithOAuth", { providerId: "openai", timeoutSeconds: 30 });
  await fetch(second.authorizationUrl); // follows to redirectUri, where the program listens
  let status;
  while ((status = await call("auth/loginStatus", { loginId: second.loginId })).status === "pending")
    await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(status.status, "completed");
  await call("auth/logoutProvider", { providerId: "openai" });
  await call("auth/loginWithApiKey", { providerId: "openrouter", apiKey: "sk-example-0123456789" });
  await call("auth/logoutProvider", { providerId: "openrouter" });
}

async function readFigures(call) {
  const stats = await call("logging/stats", { range: "2 days" }).catch((error) => error);
  if (stats instanceof ResponseError) assert.match(stats.message, /Telemetry logging is disabled/);
  else assert.equal(stats.range.count, 2);
}

async function main() {
  const { values: options } = parseArgs({ options: {
    engine: { type: "string", default: "trivet kward rpc" },
    workspace: { type: "string", default: "." },
    "sign-in": { type: "boolean", default: false } } });
  const { connection, ended } = connect(options.engine);
  const call = caller(connection);
  const turns = new Turns(connection);
  const questions = answerQuestions(connection, call);

  const { root } = await lookAround(call, options.workspace);
  const current = await changeSettings(call);
  const { id } = await call("sessions/create", { workspaceRoot: root });
  await useRuntime(call, id, current);
  await useCommands(call, id);
  await takeTurns(call, turns, questions, id);
  await remember(call, id, root);
  const branches = await branch(call, id, root);
  await compact(connection, call, id);
  for (const format of ["markdown", "html"])
    await call("sessions/export", { sessionId: id, format });
  await readFigures(call);
  if (options["sign-in"]) await signIn(call, connection);
  for (const sessionId of [...branches, id])
    assert.ok((await call("sessions/delete", { sessionId })).deleted);
  const error = await refused(call("runtime/state", { sessionId: id }), /^Unknown session:/);
  assert.equal(error.code, -32603);
  await call("shutdown");
  assert.equal(await ended, 0, "exit status");
}

await main();
