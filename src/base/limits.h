/* SPDX-License-Identifier: MIT */
/* Every limit that users can reach, in one table: `trivet describe limits` prints it.  Not here:
 * numbers that a protocol document names, which are data of the dialect or of its toolset; limits
 * of the sandbox, which the environment sets (sandbox/places.c); and buffer sizes and retry delays,
 * which are constants of the file that uses them. */
#ifndef TRIVET_BASE_LIMITS_H
#define TRIVET_BASE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define LIMITS(X)                                                                                  \
    X(LINE_BYTES, 64 << 20, "bytes of one NDJSON line (loaf)", "parse error, the line is skipped") \
    X(ACP_LINE_BYTES, 32 << 20, "bytes of one ACP line", "invalid request, the line is skipped")   \
    X(SCAIFLUX_LINE_BYTES, 16 << 20, "bytes of one ScaiFlux line", "line_too_long")                \
    X(FRAME_BYTES, 80 << 20, "bytes of one Content-Length body", "-32600, the body is skipped")    \
    X(HEADER_BYTES, 16 << 10, "bytes of one header line", "-32600")                                \
    X(JSON_DEPTH, 512, "nesting of a message", "parse error")                                      \
    X(SCAIFLUX_DEPTH, 64, "nesting of a ScaiFlux message", "parse_error")                          \
    X(OUT_QUEUE_BYTES, 1 << 20, "unsent bytes of a connection before providers and tools pause",   \
      "nothing is lost; reading goes on when the client does")                                     \
    X(SCAIFLUX_QUEUE_BYTES, 128 << 10, "the same for a ScaiFlux process, of which there are many", \
      "nothing is lost; reading goes on when the controller does")                                 \
    X(OUT_STOP_BYTES, 8 << 20, "unsent bytes of a connection before its requests wait",            \
      "nothing is lost; requests wait in the pipe")                                                \
    X(WAITING_CALLS, 4096, "requests of a connection that are not answered yet",                   \
      "nothing is lost; further requests wait in the pipe")                                        \
    X(WAITING_BYTES, 64 << 20, "bytes of these requests",                                          \
      "nothing is lost; further requests wait in the pipe")                                        \
    X(SSE_EVENT_BYTES, 16 << 20, "bytes of one provider event", "the turn fails")                  \
    X(ERROR_BODY_BYTES, 64 << 10, "bytes kept of a provider's error body", "the rest is dropped")  \
    X(REPLY_BYTES, 64 << 20, "bytes of one model reply", "the turn fails")                         \
    X(QUEUE_INPUTS, 1000, "inputs waiting in one session", "the input is refused")                 \
    X(EVENT_SESSIONS, 500, "sessions named in a state.changed event (loaf)",                       \
      "the newest are named; state.get names all")                                                 \
    X(RING_EVENTS, 1000, "events of one turn that a client can ask for again",                     \
      "older ones are gone")                                                                       \
    X(RING_NODES, 1000, "events of one turn kept for replay, pieces of one text counted as one",   \
      "older ones replay from the file")                                                           \
    X(RING_BYTES, 1 << 20, "bytes of one turn's events kept for replay",                           \
      "older ones replay from the file")                                                           \
    X(RINGS_BYTES, 8 << 20, "bytes of all finished turns' events kept for replay",                 \
      "the oldest turns replay from the file")                                                     \
    X(SESSION_FILE_BYTES, 1 << 30, "bytes of a session file, without a hole at its end",           \
      "it is neither listed nor opened, and a record that would exceed it is refused")             \
    X(RECORD_BYTES, 128 << 20, "bytes of one line of a session file", "the record is skipped")     \
    X(TOOL_OUTPUT_BYTES, 1 << 20, "bytes of tool output kept in memory: head and tail",            \
      "the middle is left out and counted")                                                        \
    X(PATH_BYTES, 4095, "bytes of a path that a model gives", "the call is refused")               \
    X(ARGUMENT_BYTES, 64 << 10, "bytes of a tool's argument that is no text of its own",           \
      "the call is refused")                                                                       \
    X(COMMAND_BYTES, 131071, "bytes of a command that a model gives", "the call is refused")       \
    X(BACKGROUND_JOBS, 64, "background jobs that are remembered",                                  \
      "the oldest ended one is forgotten; when all of them run, none is started")                  \
    X(CHILD_INPUT_BYTES, 1 << 20, "bytes written to a background job that it has not read",        \
      "the input is refused")                                                                      \
    X(IMAGE_BYTES, 10 << 20, "bytes of one image", "the input is refused")                         \
    X(FINISHED_TURNS, 256, "finished turns whose state and events are kept",                       \
      "the oldest are forgotten; the session file has them")                                       \
    X(CALL_ID_BYTES, 256, "bytes of a tool call's id", "the call gets another id")                 \
    X(JOURNAL_BYTES, 64 << 20, "bytes of an unfinished reply that are read back after a crash",    \
      "the reply is lost")                                                                         \
    X(CONFIG_BYTES, 4 << 20, "bytes of a settings file", "the file is refused")                    \
    X(LOCK_MS, 20000, "milliseconds that a lock of settings, memory or keys is waited for",        \
      "the change is refused")                                                                     \
    X(MEMORY_BYTES, 16 << 20, "bytes of a memory file", "the file is refused")                     \
    X(SECRETS_BYTES, 1 << 20, "bytes of a file of keys and sign-ins", "the file is refused")       \
    X(LOGIN_MS, 15 * 60 * 1000, "milliseconds of a sign-in, unless the client says otherwise",     \
      "it fails")                                                                                  \
    X(RULES_BYTES, 1 << 20, "bytes of a file of rules", "the file is refused")                     \
    X(SKILL_BYTES, 1 << 20, "bytes of a skill", "the skill is left out")                           \
    X(SKILL_DEPTH, 6, "directories below a directory of skills", "deeper ones are not looked at")  \
    X(SKILL_DIRS, 2000, "directories that are looked at for skills",                               \
      "further ones are not looked at")                                                            \
    X(TEMPLATE_BYTES, 1 << 20, "bytes of a prompt template or a plugin.json", "it is left out")    \
    X(LIBRARY_ITEMS, 1000, "prompt templates, and plugins, of a user",                             \
      "further ones are left out")                                                                 \
    X(PLUGIN_BYTES, 4 << 20, "bytes of a plugin's output", "it is stopped and fails")              \
    X(CUSTOM_MANIFEST_BYTES, 256 << 10, "bytes of a custom tool's tool.json",                      \
      "the tool is left out")                                                                      \
    X(CUSTOM_OUTPUT_BYTES, 256 << 10, "bytes of the beginning of a custom tool's output",          \
      "the middle is left out and counted")                                                        \
    X(CUSTOM_SECONDS, 120, "seconds of a custom tool that names no time", "the call fails")        \
    X(CUSTOM_MOST_SECONDS, 1200, "seconds that a custom tool may name", "it gets so many")         \
    X(CUSTOM_JS_FILES, 200, "files of JavaScript tools", "further ones are left out")              \
    X(CUSTOM_JS_MS, 600000, "milliseconds of a call of a JavaScript tool", "the call fails")       \
    X(CUSTOM_JS_BYTES, 4 << 20, "bytes of a JavaScript tool's result", "the call fails")           \
    X(MCP_LINE_BYTES, 32 << 20, "bytes of one message of an MCP server", "the server is stopped")  \
    X(MCP_TOOLS, 10000, "tools of an MCP server", "further ones are left out")                     \
    X(MCP_PAGES, 1000, "pages of the list of an MCP server", "the rest of the list is left out")   \
    X(MCP_LIST_BYTES, 16 << 20, "bytes of the tools of an MCP server",                             \
      "further ones are left out")                                                                 \
    X(MCP_START_MS, 30000, "milliseconds of the start of an MCP server that names no time",        \
      "it is not used")                                                                            \
    X(MCP_WAIT_MS, 10000, "milliseconds that a model request waits for MCP servers",               \
      "their tools come with a later request")                                                     \
    X(MCP_CALL_MS, 60000,                                                                          \
      "milliseconds without progress of a call of an MCP server that names "                       \
      "no time",                                                                                   \
      "the call fails")                                                                            \
    X(MCP_MOST_MS, 600000, "milliseconds of such a call in all", "the call fails")                 \
    X(MCP_LISTS, 50, "changed lists of tools of an MCP server", "further changes are ignored")     \
    X(GREP_FILE_BYTES, 64 << 20, "bytes of a file that is searched", "the file is skipped")        \
    X(REGEX_STEPS, 1000000, "steps of matching an expression in one place",                        \
      "the search says that it gave up there")                                                     \
    X(IGNORE_BYTES, 1 << 20, "bytes of a .gitignore", "it is not read")                            \
    X(IGNORE_RULES, 20000, "rules of a .gitignore", "further ones do not count")                   \
    X(SEARCH_BYTES, 8 << 20, "bytes of a web search's answer", "the search fails")                 \
    X(SEARCH_MS, 30000, "milliseconds of a web search", "the search fails")                        \
    X(PATCH_STEPS, 100000000, "comparisons of lines to find where a patch belongs",                \
      "the patch is refused")                                                                      \
    X(UNDO_FILE_BYTES, 2 << 20, "bytes of a file that undo restores",                              \
      "it is left as it is and named")                                                             \
    X(UNDO_TURNS, 100, "turns of a session that can be undone", "the oldest are forgotten")        \
    X(UNDO_BYTES, 64 << 20, "bytes that undo keeps of a session",                                  \
      "the oldest turns are forgotten")                                                            \
    X(UNDO_DAYS, 30, "days without changes that undo keeps a session", "it is forgotten")          \
    X(UNDO_SCAN_FILES, 100000, "files of a workspace in which undo looks for changes of commands", \
      "what commands change is not undone")                                                        \
    X(UNDO_SCAN_MS, 1000, "milliseconds of such a search", "the same")                             \
    X(UNDO_COPIED_FILES, 2000, "files not in git that undo copies before the first command",       \
      "further ones are not restored")                                                             \
    X(UNDO_COPIED_BYTES, 16 << 20, "bytes of these copies", "further ones are not restored")       \
    X(UNDO_CHANGED_FILES, 2000, "files that commands of a turn change and undo restores",          \
      "what that command changed is not undone")                                                   \
    X(GIT_INDEX_BYTES, 64 << 20, "bytes of a git index that undo reads",                           \
      "the files count as not in git")                                                             \
    X(CONNECT_MS, 30000, "milliseconds to connect to a server", "the request fails")               \
    X(RESPONSE_HEAD_BYTES, 256 << 10, "bytes of the head of a response", "the request fails")      \
    X(NATS_LINE_BYTES, 64 << 10, "bytes of a line of a NATS server",                               \
      "the connection is made again")                                                              \
    X(NATS_MESSAGE_BYTES, 64 << 20, "bytes of a message of a NATS server",                         \
      "the connection is made again")                                                              \
    X(NATS_QUEUE_BYTES, 8 << 20, "bytes that wait for a NATS server", "the message is refused")    \
    X(PROXY_IDLE_MS, 300000, "milliseconds without traffic on a connection of a confined command", \
      "it is closed")                                                                              \
    X(MODELS, 4000, "models in the list of a provider", "further ones are left out")               \
    X(MODELS_FILE_BYTES, 4 << 20, "bytes of the user's own list of models", "it is ignored")       \
    X(INDEXED_BYTES, 64 << 10, "bytes of a message that searching sessions sees",                  \
      "the rest is not found")                                                                     \
    X(WEB_LINE_BYTES, 8 << 10, "bytes of the first line of an HTTP request", "414")                \
    X(WEB_HEAD_BYTES, 16 << 10, "bytes of the head of an HTTP request", "431")                     \
    X(WEB_HEADERS, 100, "headers of an HTTP request", "431")                                       \
    X(WEB_HEAD_MS, 10000, "milliseconds of receiving the head of an HTTP request", "408")          \
    X(WEB_BODY_BYTES, 64 << 20, "bytes of the body of an HTTP request", "413")                     \
    X(WEB_BODY_MS, 30000, "milliseconds without a byte of the body of an HTTP request", "408")     \
    X(WEB_IDLE_MS, 60000, "milliseconds between two HTTP requests of a connection",                \
      "it is closed")                                                                              \
    X(WEB_STALL_MS, 60000, "milliseconds in which a client of the HTTP server reads nothing",      \
      "it is cut off")                                                                             \
    X(WEB_CONNECTIONS, 16384, "connections of the HTTP server", "503")                             \
    X(WEB_STRANGERS, 64, "HTTP connections that have not shown a token yet",                       \
      "the oldest is closed")                                                                      \
    X(WEB_FAILURES, 10, "wrong tokens and login codes of an address in a minute", "429")           \
    X(WEB_SILENCE_MS, 60000, "milliseconds in which nothing comes from a WebSocket",               \
      "it is cut off")                                                                             \
    X(WEB_CODES, 64, "login codes that are valid at once", "the oldest is dropped")                \
    X(WEB_CODE_MS, 60000, "milliseconds of a login code", "it is refused")                         \
    X(STACK_BYTES, 256 << 10, "stack of a fiber", "guard page")

enum {
#define X(name, value, about, beyond) LIMIT_##name = (value),
    LIMITS(X)
#undef X
};

struct limit_row {
    const char *name;
    int64_t value;
    const char *about;
    const char *beyond; /* what happens when it is exceeded */
};

extern const struct limit_row limit_rows[]; /* ended by a NULL name */

#endif
