/* SPDX-License-Identifier: MIT */
/* Every limit of the program in one table: `trivet describe limits` prints it.  Where a protocol
 * document names a number of its own, that number is data of the dialect and named there. */
#ifndef TRIVET_BASE_LIMITS_H
#define TRIVET_BASE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define LIMITS(X)                                                                                  \
    X(LINE_BYTES, 64 << 20, "bytes of one NDJSON line (loaf)", "parse error, the line is skipped") \
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
    X(RING_EVENTS, 1000, "events of one turn kept for replay", "older ones replay from the file")  \
    X(RING_BYTES, 1 << 20, "bytes of one turn's events kept for replay",                           \
      "older ones replay from the file")                                                           \
    X(RINGS_BYTES, 8 << 20, "bytes of all finished turns' events kept for replay",                 \
      "the oldest turns replay from the file")                                                     \
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
    const char *beyond; /* what happens beyond it */
};

extern const struct limit_row limit_rows[]; /* ended by a NULL name */

#endif
