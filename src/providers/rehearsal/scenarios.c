/* SPDX-License-Identifier: MIT */
/* The built-in scenarios, in the order in which they are listed; each name is the case that it
 * tests. */
#include "providers/rehearsal/scenario.h"

/* For scenarios that can summarise a conversation, so that compaction works with them. */
#define SUMS_UP "\"summary\":[{\"answer\":true}],"

const struct scenario_text scenario_texts[] = {
    {"default", "{\"about\":\"answers, and uses tools when asked to list, read or search\","
                "\"forever\":true,\"rounds\":[[{\"answer\":true}]]}"},
    {"hello", "{\"about\":\"one short text\"," SUMS_UP
              "\"rounds\":[[{\"say\":\"Hello from the rehearsal model.\"}]]}"},
    {"tools", "{\"about\":\"lists a directory, then says what came\"," SUMS_UP
              "\"rounds\":[[{\"say\":\"I will look around. \"},"
              "{\"call\":\"@list\",\"args\":{\"path\":\".\"}}],"
              "[{\"say\":\"Here is what came:\\n\\n{{tool_output}}\"}]]}"},
    {"think", "{\"about\":\"reasoning, then text\"," SUMS_UP
              "\"rounds\":[[{\"think\":\"The user said something. A short answer will do.\"},"
              "{\"say\":\"I thought about it, and this is the answer.\"}]]}"},
    {"long", "{\"about\":\"2000 pieces of text\"," SUMS_UP "\"rounds\":[[{\"repeat\":200,\"steps\":"
             "[{\"say\":\"Ten words make a line of this rather long text.\\n\"}]}]]}"},
    {"slow",
     "{\"about\":\"100 pieces with 50 ms after each\"," SUMS_UP
     "\"rounds\":[[{\"repeat\":10,\"steps\":"
     "[{\"say\":\"Slowly, word by word, comes what there is to say.\\n\",\"pause_ms\":50}]}]]}"},
    {"stall", "{\"about\":\"begins and then sends nothing any more\","
              "\"rounds\":[[{\"say\":\"And then \"},{\"stall\":true}]]}"},
    {"cut", "{\"about\":\"the stream ends in the middle\","
            "\"rounds\":[[{\"say\":\"This sentence has no\"},{\"cut\":true}]]}"},
    {"fail401", "{\"about\":\"always 401\","
                "\"rounds\":[[{\"fail\":401,\"message\":\"Incorrect API key provided\"}]]}"},
    {"fail429",
     "{\"about\":\"429 twice, then fine\"," SUMS_UP
     "\"rounds\":[[{\"fail\":429,\"message\":\"Rate limit reached\",\"retry_after_ms\":100,"
     "\"times\":2},{\"say\":\"The third time it worked.\"}]]}"},
    {"fail500", "{\"about\":\"always 500\","
                "\"rounds\":[[{\"fail\":500,\"message\":\"The server had an error\"}]]}"},
    {"flaky", "{\"about\":\"one 503, then fine\"," SUMS_UP
              "\"rounds\":[[{\"fail\":503,\"message\":\"Overloaded\",\"times\":1},"
              "{\"say\":\"The second time it worked.\"}]]}"},
    {"overflow", "{\"about\":\"does not take more than 4 messages\"," SUMS_UP
                 "\"rounds\":[[{\"fail\":400,\"above_messages\":4,"
                 "\"message\":\"The request exceeds the maximum context length\"},"
                 "{\"say\":\"It fits: {{n_messages}} messages.\"}]]}"},
    {"parallel", "{\"about\":\"three tool calls in one reply\"," SUMS_UP
                 "\"rounds\":[[{\"call\":\"@list\",\"args\":{\"path\":\".\"}},"
                 "{\"call\":\"@read\",\"args\":{\"path\":\"README.md\"}},"
                 "{\"call\":\"@list\",\"args\":{\"path\":\".\"}}],"
                 "[{\"say\":\"All three came back.\"}]]}"},
    {"shell", "{\"about\":\"runs sleep 30 in the shell\"," SUMS_UP
              "\"rounds\":[[{\"say\":\"This takes half a minute. \"},"
              "{\"call\":\"@shell\",\"args\":{\"command\":\"sleep 30\"}}],"
              "[{\"say\":\"The command is over.\"}]]}"},
    {"write", "{\"about\":\"writes rehearsal.txt\"," SUMS_UP
              "\"rounds\":[[{\"say\":\"I will write a file. \"},{\"call\":\"@write\",\"args\":"
              "{\"path\":\"rehearsal.txt\",\"content\":\"Written by the rehearsal model.\\n\"}}],"
              "[{\"say\":\"The tool says: {{tool_output}}\"}]]}"},
    {"loop", "{\"about\":\"calls a tool in every round, for iteration limits\"," SUMS_UP
             "\"forever\":true,\"rounds\":[[{\"call\":\"@list\",\"args\":{\"path\":\".\"}}]]}"},
    {"echo", "{\"about\":\"says back the last user message\"," SUMS_UP
             "\"forever\":true,\"rounds\":[[{\"say\":\"{{last_user}}\"}]]}"},
    {NULL, NULL},
};
