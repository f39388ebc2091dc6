#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// A client of the Agent Client Protocol on top of the official library: starts the program and
// visits every method, in the order in which an editor would need them.
//
//     npm install @agentclientprotocol/sdk
//     node examples/acp_client.mjs [--engine COMMAND] [--workspace DIR] [--log FILE]
//
// COMMAND starts the engine (default: trivet acp --model rehearsal/default).  --log keeps all
// messages that the engine wrote, one per line.  Prints one line per call.
//
// The three things to copy: `connect` (starting), `app` (what an editor must answer: permissions,
// files, forms), `prompt` (updates until the answer).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { PassThrough, Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const require = createRequire(import.meta.url); // finds what NODE_PATH names, which import does not
const found = require.resolve.paths("@agentclientprotocol/sdk").map((dir) =>
  `${dir}/@agentclientprotocol/sdk/dist/v1/stable/acp.js`).find((path) => require("node:fs").existsSync(path));
const acp = await import(pathToFileURL(found));

const { values } = parseArgs({ options: {
  engine: { type: "string", default: "trivet acp --model rehearsal/default" },
  workspace: { type: "string", default: process.cwd() },
  log: { type: "string" },
} });

// ---- the connection

function connect(engine) {
  const [program, ...args] = engine.split(" ").filter(Boolean);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  const copy = new PassThrough();
  child.stdout.on("data", (bytes) => { if (values.log) appendFileSync(values.log, bytes); });
  child.stdout.pipe(copy);
  return { child, ended, stream: acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(copy)) };
}

// ---- what the editor answers

const seen = { updates: [], permissions: 0, reads: 0, writes: 0, forms: 0, asked: [] };
const buffers = new Map(); // unsaved texts by path
let choose = (options) => options.find((one) => one.kind === "allow_once");

const app = acp.client({ name: "acp_client" })
  .onNotification(acp.methods.client.session.update, ({ params }) => { seen.updates.push(params); })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.permissions++;
    seen.asked.push(params);
    const option = choose(params.options);
    return option ? { outcome: { outcome: "selected", optionId: option.optionId } } : new Promise(() => {});
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
    seen.reads++;
    if (!buffers.has(params.path))
      throw new acp.RequestError(-32002, "no such buffer");
    return { content: buffers.get(params.path) };
  })
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    seen.writes++;
    buffers.set(params.path, params.content);
    return {};
  })
  .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
    seen.forms++;
    const content = {};
    for (const [name, field] of Object.entries(params.requestedSchema.properties))
      content[name] = field.oneOf[0].const;
    return { action: "accept", content };
  });

// ---- calls

async function refused(promise, code) {
  const error = await promise.then(() => assert.fail("was not refused"), (e) => e);
  assert.equal(error.code, code, String(error));
}

async function run(ctx) {
  const call = async (method, params) => {
    const result = await ctx.request(method, params);
    const text = JSON.stringify(result) ?? "";
    console.log(`${method}  ${text.length > 90 ? text.slice(0, 90) + "…" : text}`);
    return result;
  };
  const { agent } = acp.methods;
  const prompt = async (sessionId, ...blocks) => {
    seen.updates.length = 0;
    const answer = await call(agent.session.prompt, { sessionId, prompt: blocks.map((one) =>
      typeof one === "string" ? { type: "text", text: one } : one) });
    const text = seen.updates.filter((one) => one.update.sessionUpdate === "agent_message_chunk")
      .map((one) => one.update.content.text).join("");
    return { ...answer, text };
  };
  const kinds = () => seen.updates.map((one) => one.update.sessionUpdate);

  const hello = await call(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false,
      session: { compaction: {}, notices: {} }, elicitation: { form: {} } },
    clientInfo: { name: "acp_client", version: "1" } });
  assert.equal(hello.protocolVersion, 1);
  assert.equal(hello.agentInfo.name, "trivet");
  await refused(ctx.request(agent.authenticate, { methodId: "no such method" }), -32602);
  console.log("authenticate  refused");
  await call(agent.logout, {});

  const cwd = values.workspace;
  const fresh = await call(agent.session.new, { cwd, mcpServers: [] });
  const id = fresh.sessionId;
  assert.deepEqual(fresh.configOptions.map((one) => one.id).slice(0, 2), ["mode", "model"]);
  let turn = await prompt(id, "hello");
  assert.equal(turn.stopReason, "end_turn");
  assert.ok(turn.text.length > 0);

  // changes in the editor that are not saved
  writeFileSync(`${cwd}/draft.txt`, "as saved\n");
  buffers.set(`${cwd}/draft.txt`, "not saved yet\n");
  turn = await prompt(id, "read draft.txt");
  assert.ok(seen.reads > 0 && turn.text.includes("not saved yet"), turn.text);
  turn = await prompt(id, "edit draft");
  assert.equal(buffers.get(`${cwd}/draft.txt`), "saved now\n");
  const diff = seen.updates.flatMap((one) => one.update.content ?? []).find((one) => one.type === "diff");
  assert.equal(diff.path, `${cwd}/draft.txt`);
  assert.equal(diff.newText, "saved now\n");

  // a form
  turn = await prompt(id, "ask a question");
  assert.ok(seen.forms === 1 && turn.text.includes("Yes"), turn.text);

  // permission: once, then rejected, then cancelled while it is open
  await call(agent.session.setMode, { sessionId: id, modeId: "prompt" });
  await prompt(id, "run a command");
  assert.equal(seen.permissions, 1);
  choose = (options) => options.find((one) => one.kind === "reject_once");
  await prompt(id, "run a command");
  assert.ok(seen.updates.some((one) => one.update.status === "failed"));
  choose = () => null;
  const open = prompt(id, "run a command");
  while (seen.permissions < 3)
    await new Promise((resolve) => setTimeout(resolve, 10));
  await ctx.notify(agent.session.cancel, { sessionId: id });
  console.log("session/cancel");
  assert.equal((await open).stopReason, "cancelled");

  const options = await call(agent.session.setConfigOption, { sessionId: id, configId: "mode", value: "plan" });
  assert.equal(options.configOptions.find((one) => one.id === "mode").currentValue, "plan");
  await refused(ctx.request(agent.session.setConfigOption, { sessionId: id, configId: "mode", value: "x" }), -32602);
  turn = await prompt(id, "/status");
  assert.ok(turn.text.includes("mode: plan"));

  // later: list, load, resume, close, delete
  const listed = await call(agent.session.list, { cwd });
  assert.ok(listed.sessions.some((one) => one.sessionId === id));
  await call(agent.session.close, { sessionId: id });
  await refused(ctx.request(agent.session.prompt, { sessionId: id, prompt: [{ type: "text", text: "x" }] }), -32002);
  seen.updates.length = 0;
  await call(agent.session.load, { sessionId: id, cwd, mcpServers: [] });
  assert.ok(kinds().includes("user_message_chunk") && kinds().includes("tool_call"));
  turn = await prompt(id, "hello");
  assert.equal(turn.stopReason, "end_turn");
  await call(agent.session.close, { sessionId: id });
  seen.updates.length = 0;
  await call(agent.session.resume, { sessionId: id, cwd });
  assert.ok(!kinds().includes("user_message_chunk"));
  await call(agent.session.delete, { sessionId: id });
  assert.equal((await call(agent.session.list, { cwd })).sessions.length, 0);
}

const { child, ended, stream } = connect(values.engine);
await app.connectWith(stream, run);
child.stdin.end();
assert.equal(await ended, 0);
