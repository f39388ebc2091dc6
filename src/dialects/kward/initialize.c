/* SPDX-License-Identifier: MIT */
/* initialize: version and capabilities (kward 48-82), and shutdown.
 *
 * Every list of methods contains those of its group that are in the method table, and a group
 * without methods is not supported; so the answer follows the table.
 */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"

static bool has(const char *name)
{
    return method_find(kw_methods, kw_n_methods, str_of(name)) != NULL;
}

/* "name":[existing methods]; returns whether there is any. */
static bool put_methods(struct jw *w, const char *name, const char *const *methods)
{
    bool any = false;
    jw_karr(w, name);
    for (; *methods; methods++)
        if (has(*methods)) {
            jw_str(w, str_of(*methods));
            any = true;
        }
    jw_arr_end(w);
    return any;
}

/* "supported" and "methods" of a group. */
static bool put_group(struct jw *w, const char *const *methods)
{
    bool any = put_methods(w, "methods", methods);
    jw_kbool(w, "supported", any);
    return any;
}

/* A method outside of groups; nothing when it does not exist. */
static void put_method(struct jw *w, const char *name, const char *method)
{
    if (has(method))
        jw_kz(w, name, method);
}

static void put_list(struct jw *w, const char *name, bool is_filled, const char *const *items)
{
    static const char *const none[] = {NULL};
    jw_klist(w, name, is_filled ? items : none);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- groups ---- */

static void put_transcript(struct jw *w)
{
    static const char *const flags[] = {"messagesNormalized",          "supportsImages",
                                        "supportsToolCalls",           "supportsToolResults",
                                        "supportsCompactionSummaries", "supportsReasoningRestore"};
    jw_kobj(w, "transcript");
    jw_kz(w, "format", "tauren-transcript-v1");
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        jw_kbool(w, flags[i], true);
    jw_obj_end(w);
}

static void put_fork(struct jw *w)
{
    jw_kobj(w, "fork");
    put_group(w, LIST("sessions/forkMessages", "sessions/fork"));
    jw_kz(w, "entryIdFormat", "message-index");
    jw_kz(w, "selectedMessage", "excludedFromForkComposerTextReturned");
    jw_obj_end(w);
}

static void put_compact(struct jw *w)
{
    jw_kobj(w, "compact");
    jw_kbool(w, "supported", has("sessions/compact"));
    put_method(w, "method", "sessions/compact");
    jw_kz(w, "notification", "session/event");
    jw_klist(w, "events", LIST("compactionStart", "compactionEnd"));
    jw_obj_end(w);
}

static void put_sessions(struct jw *w)
{
    jw_kobj(w, "sessions");
    jw_kz(w, "mode", "explicit");
    jw_kz(w, "persistence", "jsonl");
    put_methods(w, "methods",
                LIST("sessions/create", "sessions/resume", "sessions/list", "sessions/rename",
                     "sessions/clone", "sessions/compact", "sessions/forkMessages", "sessions/fork",
                     "sessions/export", "sessions/delete", "sessions/close",
                     "sessions/transcript"));
    jw_kobj(w, "list");
    jw_kbool(w, "supported", has("sessions/list"));
    jw_kz(w, "source", "rpc");
    jw_kbool(w, "ancestry", true);
    jw_kbool(w, "treeFields", true);
    jw_obj_end(w);
    put_fork(w);
    put_compact(w);
    jw_kraw(w, "startupResume",
            STR("{\"supported\":true,\"method\":\"sessions/create\",\"parameter\":\"resumeLast\","
                "\"default\":true,\"immediateTranscript\":true,"
                "\"sessionActivePersonaLabel\":true}"));
    jw_kraw(w, "import", STR("{\"supported\":false}"));
    jw_kraw(w, "tree",
            STR("{\"supported\":false,\"labels\":false,\"navigate\":false,"
                "\"summarize\":false}"));
    jw_kraw(w, "updates", STR("{\"supported\":false,\"notification\":\"session/updated\"}"));
    jw_obj_end(w);
}

static const char cancellation[] =
    "{\"behavior\":\"best-effort\",\"queuedTurns\":\"cancel-before-run\","
    "\"runningTurns\":\"stop-emitting-events-when-possible\"}";
static const char event_replay[] =
    "{\"behavior\":\"recent-in-memory\",\"persisted\":false,\"limit\":1000}";

/* Steering works with every provider: the engine adds the message before the next request. */
static void put_turns(struct jw *w)
{
    jw_kobj(w, "turns");
    jw_kz(w, "mode", "async");
    jw_kint(w, "perSessionConcurrency", 1);
    jw_kraw(w, "busyInput",
            STR("{\"steer\":\"native\",\"followUp\":\"queue\","
                "\"defaultWhenIdle\":\"newTurn\",\"defaultWhenBusy\":\"steer\"}"));
    jw_kraw(w, "cancellation", str_of(cancellation));
    jw_kraw(w, "eventReplay", str_of(event_replay));
    jw_obj_end(w);
}

static void put_events(struct jw *w)
{
    jw_kobj(w, "events");
    jw_kz(w, "notification", "turn/event");
    jw_kz(w, "assistantText", "assistantDelta");
    jw_kraw(w, "reasoning", STR("{\"start\":false,\"delta\":true,\"end\":false}"));
    jw_kraw(w, "modelRetry", STR("{\"supported\":true,\"event\":\"modelRetry\"}"));
    jw_kraw(w, "steering",
            STR("{\"supported\":true,\"event\":\"turnSteered\",\"mode\":\"native\"}"));
    jw_kraw(w, "tools",
            STR("{\"call\":true,\"update\":true,\"result\":true,"
                "\"normalizedMetadata\":true,\"diffs\":true,\"changedFiles\":false}"));
    jw_kbool(w, "errors", true);
    jw_kbool(w, "sessionUpdates", false);
    jw_obj_end(w);
}

static void put_attachments(struct jw *w)
{
    jw_kobj(w, "attachments");
    jw_kobj(w, "input");
    jw_kbool(w, "supported", true);
    jw_kz(w, "method", "turns/start");
    jw_kz(w, "encoding", "base64");
    jw_klist(w, "mimeTypes", LIST("image/png", "image/jpeg", "image/gif", "image/webp"));
    jw_kint(w, "maxBytes", LIMIT_IMAGE_BYTES);
    jw_obj_end(w);
    jw_obj_end(w);
}

static void put_models(struct jw *w)
{
    jw_kobj(w, "models");
    put_group(w, LIST("models/list", "models/current", "models/set", "reasoning/set",
                      "openrouter/catalog"));
    jw_klist(w, "fields",
             LIST("provider", "id", "name", "reasoning", "reasoningEffort", "contextWindow"));
    jw_kbool(w, "scopedModels", false);
    jw_obj_end(w);
}

static void put_runtime(struct jw *w)
{
    jw_kobj(w, "runtime");
    put_group(w, LIST("runtime/state", "runtime/stats"));
    jw_kobj(w, "state");
    jw_kbool(w, "supported", has("runtime/state"));
    jw_obj_end(w);
    jw_kraw(w, "stats",
            STR("{\"messageCounts\":true,\"tokens\":false,\"cost\":false,"
                "\"contextUsage\":true,\"contextUsageEstimated\":true}"));
    jw_obj_end(w);
    jw_kobj(w, "runtimeSettings");
    bool any = put_group(w, LIST("runtime/updateSetting", "runtime/reload"));
    put_list(w, "settings", any, LIST("defaultModel", "defaultThinkingLevel"));
    jw_obj_end(w);
}

static void put_auth(struct jw *w)
{
    jw_kobj(w, "auth");
    jw_kz(w, "providerFormat", "tauren-auth-v1");
    put_group(w, LIST("auth/status", "auth/providers", "auth/loginWithApiKey",
                      "auth/logoutProvider", "auth/loginWithOAuth", "auth/startOpenAILogin",
                      "auth/submitOpenAICode", "auth/loginStatus"));
    put_list(w, "oauthProviders", has("auth/loginWithOAuth"), LIST("openai"));
    put_list(w, "apiKeyProviders", has("auth/loginWithApiKey"), LIST("openrouter"));
    jw_kbool(w, "logout", has("auth/logoutProvider"));
    jw_obj_end(w);
}

static void put_memory(struct jw *w)
{
    jw_kobj(w, "memory");
    put_group(w, LIST("memory/status", "memory/enable", "memory/disable",
                      "memory/autoSummary/enable", "memory/autoSummary/disable", "memory/list",
                      "memory/add", "memory/addCore", "memory/forget", "memory/promote",
                      "memory/inspect", "memory/why", "memory/summarize", "memory/relax"));
    jw_kbool(w, "optIn", true);
    jw_kbool(w, "defaultEnabled", false);
    jw_kbool(w, "autoSummaryDefaultEnabled", false);
    jw_kz(w, "promptInjection", "interactive");
    jw_kraw(w, "storage", STR("{\"core\":\"json\",\"soft\":\"jsonl\",\"events\":\"jsonl\"}"));
    jw_obj_end(w);
}

static void put_commands(struct jw *w)
{
    jw_kobj(w, "commands");
    bool any = put_group(w, LIST("commands/list", "commands/run"));
    put_method(w, "method", "commands/list");
    put_method(w, "runMethod", "commands/run");
    put_list(w, "sources", any, LIST("prompt", "skill", "plugin"));
    put_list(w, "executableSources", has("commands/run"), LIST("plugin"));
    jw_obj_end(w);
    jw_kobj(w, "startupResources");
    jw_kbool(w, "supported", has("resources/startup"));
    put_method(w, "method", "resources/startup");
    jw_obj_end(w);
}

static void put_question(struct jw *w, const char *name, bool has_preview)
{
    jw_kobj(w, name);
    jw_kbool(w, "supported", has("ui/answerQuestion"));
    jw_kz(w, "notification", "ui/question");
    jw_kz(w, "method", "ui/answerQuestion");
    jw_kint(w, "maxQuestions", 4);
    jw_kbool(w, "multiSelect", false);
    if (has_preview)
        jw_kbool(w, "preview", false);
    jw_obj_end(w);
}

static void put_extension_ui(struct jw *w)
{
    static const char *const others[] = {"select",  "confirm", "input",  "editor",
                                         "widgets", "footer",  "custom", "terminalInput"};
    jw_kobj(w, "extensionUi");
    put_question(w, "question", true);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        jw_kbool(w, others[i], false);
    jw_obj_end(w);
}

static void put_logging(struct jw *w, const struct kward *k)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    buf_addf(&dir, "%s/logs", k->config_dir);
    jw_kobj(w, "logging");
    put_group(w, LIST("logging/stats"));
    jw_kbool(w, "defaultEnabled", false);
    jw_kobj(w, "stats");
    jw_kbool(w, "supported", has("logging/stats"));
    put_method(w, "method", "logging/stats");
    jw_kz(w, "defaultRange", "1 week");
    jw_klist(w, "units", LIST("minutes", "hours", "days", "weeks", "months", "years"));
    jw_obj_end(w);
    jw_kz(w, "config", "logging");
    jw_kz(w, "envPrefix", "KWARD_LOGGING");
    jw_kstr(w, "directory", buf_str(&dir));
    jw_kz(w, "format", "jsonl");
    jw_klist(w, "categories", LIST("tokens", "performance", "tools", "errors"));
    kw_put_log_categories(w, kw_log_categories(k));
    jw_kraw(w, "rotation", STR("{\"maxBytes\":10485760,\"retention\":\"manual\"}"));
    jw_kz(w, "content", "redacted-metadata-only");
    jw_obj_end(w);
}

static void put_fixed(struct jw *w)
{
    jw_kraw(w, "composer",
            STR("{\"sessionDiff\":{\"supported\":false,\"reason\":\"interactiveComposerOnly\"},"
                "\"copy\":{\"supported\":false,\"reason\":\"clientClipboardOwnedByUi\"}}"));
    jw_kraw(w, "security",
            STR("{\"workspaceMutationGuard\":\"none\",\"toolApproval\":\"none\","
                "\"canRunShell\":true,\"canWriteFiles\":true}"));
    jw_kraw(w, "mcp",
            STR("{\"supported\":true,\"transport\":\"stdio\",\"config\":\"mcpServers\","
                "\"discovery\":{\"supported\":true,\"methods\":[\"tools/list\",\"mcp/status\"],"
                "\"toolMetadata\":true,\"serverStatus\":true}}"));
    jw_kobj(w, "export");
    bool exports = has("sessions/export");
    jw_kbool(w, "supported", exports);
    put_list(w, "formats", exports, LIST("markdown", "html"));
    jw_kz(w, "defaultFormat", "markdown");
    jw_obj_end(w);
}

/* Names that older clients read. */
static void put_legacy(struct jw *w)
{
    jw_kbool(w, "asyncTurns", true);
    jw_kz(w, "turnCancellation", "best-effort");
    jw_kbool(w, "turnEventReplay", true);
    jw_kbool(w, "uiQuestions", has("ui/answerQuestion"));
    jw_kbool(w, "authLogin", has("auth/startOpenAILogin"));
    jw_kbool(w, "configUpdate", has("config/update"));
    jw_kraw(w, "session", STR("{\"mode\":\"explicit\",\"persistence\":\"jsonl\"}"));
    jw_kraw(w, "cancellation", str_of(cancellation));
    jw_kraw(w, "eventReplay", str_of(event_replay));
    put_question(w, "uiQuestion", false);
    jw_kobj(w, "prompts");
    put_group(w, LIST("prompts/list", "prompts/expand"));
    jw_obj_end(w);
    jw_kobj(w, "skills");
    jw_kbool(w, "supported", toolset_find(&toolset_kward, STR("read_skill")) != NULL);
    jw_kz(w, "tool", "read_skill");
    jw_obj_end(w);
    jw_kobj(w, "tools");
    jw_kbool(w, "supported", has("tools/list"));
    jw_kz(w, "method", "tools/list");
    jw_kbool(w, "eventMetadata", true);
    jw_obj_end(w);
    jw_kobj(w, "config");
    put_group(w, LIST("config/read", "config/update"));
    jw_obj_end(w);
}

/* ---- the methods ---- */

static const struct row initialize_rows[] = {
    ROW_OUT("protocolVersion", T_INT, NEEDED, "1"),
    ROW_OUT("serverName", T_STR, NEEDED, "kward"),
    ROW_OUT("experimental", T_BOOL, NEEDED, "true"),
    ROW_OUT("capabilities", T_OBJ, NEEDED, "features of this server, in groups",
            .rows = kw_capabilities_rows),
    ROW_END,
};

static bool initialize(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    jw_obj(w);
    jw_kint(w, "protocolVersion", 1);
    jw_kz(w, "serverName", "kward");
    jw_kbool(w, "experimental", true);
    jw_kobj(w, "capabilities");
    jw_kz(w, "framing", "content-length");
    put_transcript(w);
    put_sessions(w);
    put_turns(w);
    put_events(w);
    put_attachments(w);
    put_models(w);
    put_runtime(w);
    put_auth(w);
    put_memory(w);
    put_commands(w);
    put_extension_ui(w);
    put_fixed(w);
    put_logging(w, rq->dialect);
    put_legacy(w);
    jw_obj_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_initialize = {
    .name = "initialize",
    .result = initialize_rows,
    .lane = LANE_MAIN,
    .run = initialize,
    .about = "Protocol version and capabilities; may be called again, and need not be called.",
};

static void shutdown_fiber(void *arg)
{
    struct kward *k = arg;
    struct error ignored;
    rpc_drain_await(k->rpc, &ignored);
    server_quit(k->sv, 0, true);
}

/* Running requests are canceled and answered; lists of sessions are completed. */
static bool shutdown_server(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct kward *k = rq->dialect;
    rpc_stop(k->rpc);
    rpc_cancel(k->rpc);
    engine_stop(k->sv->engine);
    fiber_start(k->sv->loop, "shutdown", shutdown_fiber, k);
    jw_obj(w);
    jw_kbool(w, "ok", true);
    jw_obj_end(w);
    return true;
}

const struct method kw_shutdown = {
    .name = "shutdown",
    .result = kw_ok_rows,
    .lane = LANE_MAIN,
    .run = shutdown_server,
    .about = "Ends the process after the answer; running turns are canceled.",
};
