/* SPDX-License-Identifier: MIT */
/* runtime/state, runtime/stats (kward 261-270) and tools/list. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"
#include "dialects/kward/registry.h"

#include "base/num.h"
#include "context/system.h"

/* ---- common to both ---- */

static void put_identity(struct jw *w, const struct kw_session *s, const struct session_info *info)
{
    jw_kstr(w, "sessionFile", info->path);
    jw_kstr(w, "sessionId", info->id);
    jw_kz(w, "rpcSessionId", s->id);
    jw_kstr(w, "persistentSessionId", info->id);
    jw_kstr_opt(w, "sessionName", info->name);
}

/* The window of the config overrides that of the model. */
static int64_t window_of(const struct kward *k, const struct model *m)
{
    return k->settings.context_window ? k->settings.context_window : m->context_window;
}

static void put_compaction(struct jw *w, const struct kward *k, int64_t window)
{
    const struct compact_rules *c = &k->settings.compact;
    jw_kbool(w, "autoCompactionEnabled", c->is_enabled);
    if (c->is_enabled && window > 0)
        jw_kint(w, "autoCompactionReserveTokens", compact_reserve(c, window));
}

/* ---- runtime/state ---- */

static const struct row state_rows[] = {
    ROW_OUT("model", T_OBJ, NEEDED, "current model", .rows = kw_model_rows),
    ROW_OUT("thinkingLevel", T_STR, OPTIONAL, "reasoning effort of the model"),
    ROW_OUT("isStreaming", T_BOOL, NEEDED, "a turn runs"),
    ROW_OUT("isCompacting", T_BOOL, NEEDED, "history is being summarised"),
    ROW_OUT("steeringMode", T_STR, NEEDED, "in-flight"),
    ROW_OUT("followUpMode", T_STR, NEEDED, "one-at-a-time"),
    ROW_OUT("sessionFile", T_STR, NEEDED, "the session file"),
    ROW_OUT("sessionId", T_STR, NEEDED, "persistent id"),
    ROW_OUT("rpcSessionId", T_STR, NEEDED, "what other methods call sessionId"),
    ROW_OUT("persistentSessionId", T_STR, NEEDED, "persistent id"),
    ROW_OUT("sessionName", T_STR, OPTIONAL, "display name"),
    ROW_OUT("autoCompactionEnabled", T_BOOL, NEEDED,
            "history is summarised when it grows too long"),
    ROW_OUT("autoCompactionReserveTokens", T_INT, OPTIONAL, "kept free of the window"),
    ROW_OUT("autoRetryEnabled", T_BOOL, NEEDED, "false"),
    ROW_OUT("defaultProvider", T_STR, NEEDED, "label of the current provider"),
    ROW_OUT("defaultModel", T_STR, NEEDED, "<provider>/<id>"),
    ROW_OUT("defaultThinkingLevel", T_STR, OPTIONAL, "reasoning effort"),
    ROW_OUT("hideThinkingBlock", T_BOOL, NEEDED, "false"),
    ROW_OUT("quietStartup", T_BOOL, NEEDED, "false"),
    ROW_OUT("imageAutoResize", T_BOOL, NEEDED, "false"),
    ROW_OUT("blockImages", T_BOOL, NEEDED, "false"),
    ROW_OUT("transport", T_STR, NEEDED, "kward-rpc"),
    ROW_OUT("enabledModels", T_ARR, NEEDED, "empty", .items = T_STR),
    ROW_OUT("enableSkillCommands", T_BOOL, NEEDED, "true"),
    ROW_OUT("activePersonaLabel", T_STR, NEEDED, "of the active persona; Assistant without one"),
    ROW_OUT("messageCount", T_INT, NEEDED, "messages of the conversation"),
    ROW_OUT("pendingMessageCount", T_INT, NEEDED, "queued and running turns"),
    ROW_END,
};

static void put_model_members(struct kward *k, const struct model *m, struct jw *w)
{
    const struct provider *p = engine_find_provider(k->sv->engine, str_of(m->provider));
    const char *label = p ? kw_label(k, p) : m->provider;
    AUTO(buf) struct buf name = BUF_INIT;
    buf_addf(&name, "%s/%.*s", label, STR_FMT(m->id));
    jw_kz(w, "defaultProvider", label);
    jw_kstr(w, "defaultModel", buf_str(&name));
    if (m->reasons)
        jw_kstr(w, "defaultThinkingLevel", kw_effort(k));
}

static bool state(struct request *rq, struct jw *w, struct error *err)
{
    static const char *const off[] = {"autoRetryEnabled", "hideThinkingBlock", "quietStartup",
                                      "imageAutoResize", "blockImages"};
    const struct kw_session_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct kw_session *s = kw_find_session(k, p->session_id, err);
    struct session_info info;
    if (!s)
        return false;
    struct model m = kw_current_model(k, &rq->arena);
    session_info(s->file->session, &info);
    jw_obj(w);
    jw_key(w, "model");
    kw_put_current_model(k, w);
    if (m.reasons)
        jw_kstr(w, "thinkingLevel", kw_effort(k));
    jw_kbool(w, "isStreaming", info.running_turn.p != NULL);
    jw_kbool(w, "isCompacting", info.is_compacting);
    jw_kz(w, "steeringMode", "in-flight");
    jw_kz(w, "followUpMode", "one-at-a-time");
    put_identity(w, s, &info);
    put_compaction(w, k, window_of(k, &m));
    put_model_members(k, &m, w);
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        jw_kbool(w, off[i], false);
    jw_kz(w, "transport", "kward-rpc");
    jw_karr(w, "enabledModels");
    jw_arr_end(w);
    jw_kbool(w, "enableSkillCommands", true);
    jw_kstr(w, "activePersonaLabel", kw_persona_label(k));
    jw_kint(w, "messageCount", info.n_messages);
    jw_kint(w, "pendingMessageCount", info.n_waiting + (info.running_turn.p != NULL));
    jw_obj_end(w);
    return true;
}

const struct method kw_runtime_state = {
    .name = "runtime/state",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = state_rows,
    .lane = LANE_MAIN,
    .run = state,
    .about = "The current state of a session.",
    .errors = "Unknown session: <id>",
};

/* ---- runtime/stats ---- */

static const struct row usage_rows[] = {
    ROW_OUT("tokens", T_INT, NEEDED, "estimate for the next request"),
    ROW_OUT("contextWindow", T_INT, NEEDED, "tokens"),
    ROW_OUT("percent", T_NUM, NEEDED, "of the window, two decimals"),
    ROW_OUT("estimated", T_BOOL, NEEDED, "always true"),
    ROW_END,
};

static const struct row stats_rows[] = {
    ROW_OUT("sessionFile", T_STR, NEEDED, "the session file"),
    ROW_OUT("sessionId", T_STR, NEEDED, "persistent id"),
    ROW_OUT("rpcSessionId", T_STR, NEEDED, "what other methods call sessionId"),
    ROW_OUT("persistentSessionId", T_STR, NEEDED, "persistent id"),
    ROW_OUT("sessionName", T_STR, OPTIONAL, "display name"),
    ROW_OUT("userMessages", T_INT, NEEDED, "messages of the user"),
    ROW_OUT("assistantMessages", T_INT, NEEDED, "replies of the model"),
    ROW_OUT("toolCalls", T_INT, NEEDED, "calls in the replies"),
    ROW_OUT("toolResults", T_INT, NEEDED, "results of calls"),
    ROW_OUT("totalMessages", T_INT, NEEDED, "all of the conversation"),
    ROW_OUT("usingSubscription", T_BOOL, NEEDED, "whether the provider is a subscription"),
    ROW_OUT("autoCompactionEnabled", T_BOOL, NEEDED,
            "history is summarised when it grows too long"),
    ROW_OUT("autoCompactionReserveTokens", T_INT, OPTIONAL, "kept free of the window"),
    ROW_OUT("contextUsage", T_OBJ, OPTIONAL, "how full the context is", .rows = usage_rows),
    ROW_END,
};

struct counts {
    int64_t user, assistant, calls, results, images;
};

static struct counts count(const struct message *m, size_t n)
{
    struct counts c = {0};
    for (size_t i = 0; i < n; i++) {
        c.user += message_is_typed(&m[i]);
        c.assistant += m[i].role == ROLE_ASSISTANT;
        c.results += m[i].role == ROLE_TOOL;
        c.calls += (int64_t)message_n_calls(&m[i]);
        for (size_t b = 0; b < m[i].n_blocks; b++)
            c.images += m[i].blocks[b].kind == BLOCK_IMAGE;
    }
    return c;
}

static bool has_usage(const struct message *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (m[i].usage.input + m[i].usage.output > 0)
            return true;
    return false;
}

/* Tokens of instructions and tools, which every request contains. */
static int64_t overhead(struct kward *k, struct str workspace, struct arena *a)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    size_t n;
    const struct tool **tools = engine_tools(k->sv->engine, &k->settings, workspace, a, &n);
    system_prompt(&text, str_of(k->settings.system), workspace, k->settings.instructions);
    for (size_t i = 0; i < n; i++) {
        buf_addf(&text, "%s %s ", tools[i]->name, tools[i]->about);
        w = JW(&text);
        tool_schema(tools[i], &w);
    }
    return (int64_t)(text.n + 3) / 4;
}

static void put_context_usage(struct jw *w, int64_t tokens, int64_t window)
{
    jw_kobj(w, "contextUsage");
    jw_kint(w, "tokens", tokens);
    jw_kint(w, "contextWindow", window);
    jw_knum(w, "percent", (double)num_round((double)tokens / (double)window * 10000) / 100);
    jw_kbool(w, "estimated", true);
    jw_obj_end(w);
}

static bool stats_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct session_info info;
    size_t n;
    struct kw_session *s = kw_find_session(k, p->session_id, err);
    if (!s)
        return false;
    kw_know_skills_await(k, s->file->session);
    if (!(s = kw_find_session(k, p->session_id, err)))
        return false;
    struct model m = kw_current_model(k, &rq->arena);
    const struct message *messages = session_messages(s->file->session, &rq->arena, &n);
    struct counts c = count(messages, n);
    session_info(s->file->session, &info);
    jw_obj(w);
    put_identity(w, s, &info);
    jw_kint(w, "userMessages", c.user);
    jw_kint(w, "assistantMessages", c.assistant);
    jw_kint(w, "toolCalls", c.calls);
    jw_kint(w, "toolResults", c.results);
    jw_kint(w, "totalMessages", (int64_t)n);
    jw_kbool(w, "usingSubscription", strcmp(m.provider, "codex") == 0);
    int64_t window = window_of(k, &m);
    put_compaction(w, k, window);
    if (n > 0 && c.images == 0)
        put_context_usage(w,
                          info.context_tokens + (has_usage(messages, n)
                                                     ? 0
                                                     : overhead(k, info.workspace, &rq->arena)),
                          window > 0 ? window : session_window_used(s->file->session));
    jw_obj_end(w);
    return true;
}

const struct method kw_runtime_stats = {
    .name = "runtime/stats",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = stats_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = stats_await,
    .about = "Counts of a session's messages, and how full its context is.",
    .errors = "Unknown session: <id>",
};
