/* SPDX-License-Identifier: MIT */
/* An ask as a request to streamGenerateContent.  The same ask gives the same bytes, and members
 * that do not change from round to round are first, the contents last: prompt caches match
 * prefixes.
 *
 * Gemini 3 and later take a thinking level, 2.5 takes a budget of tokens, older ones take neither
 * and refuse both.  A model name that ends in a level (as in Cloud Code) needs no setting.
 */
#include "providers/gemini/gemini.h"

static struct str base_of(const struct ask *ask, const struct provider *p)
{
    struct str base = ask->base_url.n ? ask->base_url : str_of(p->base_url);
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    return base;
}

/* ---- the model's name ---- */

static struct str bare_model(struct str id)
{
    return str_starts(id, STR("models/")) ? str_from(id, 7) : id;
}

static bool is_digit(struct str s, size_t at)
{
    return at < s.n && s.p[at] >= '0' && s.p[at] <= '9';
}

int gemini_generation(struct str model)
{
    struct str id = bare_model(model), family = STR("gemini-");
    if (!str_starts(id, family))
        return 0;
    id = str_from(id, family.n);
    if (!is_digit(id, 0))
        return GEMINI_NEWEST;
    int major = 0;
    size_t at = 0;
    for (; is_digit(id, at) && major < 10; at++)
        major = major * 10 + (id.p[at] - '0');
    bool has_minor = at < id.n && id.p[at] == '.' && is_digit(id, at + 1);
    return major * 10 + (has_minor ? id.p[at + 1] - '0' : 0);
}

static void put_path_word(struct buf *url, struct str word)
{
    static const char plain[] = "-._~/:@";
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        bool is_word = is_digit(word, i) || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (is_word || (c && strchr(plain, c)))
            buf_addc(url, c);
        else
            buf_addf(url, "%%%02X", (unsigned char)c);
    }
}

void gemini_put_url(const struct ask *ask, struct buf *url)
{
    struct str id = ask->model.id;
    buf_add(url, base_of(ask, &provider_gemini));
    buf_addc(url, '/');
    if (str_chr(id, '/') == SIZE_MAX)
        buf_addz(url, "models/");
    put_path_word(url, id);
    buf_addz(url, ":streamGenerateContent?alt=sse");
}

void antigravity_put_url(const struct ask *ask, struct buf *url)
{
    buf_add(url, base_of(ask, &provider_antigravity));
    buf_addz(url, "/v1internal:streamGenerateContent?alt=sse");
}

/* ---- thinking ---- */

enum effort { EFFORT_UNSAID, EFFORT_OFF, EFFORT_MINIMAL, EFFORT_LOW, EFFORT_MEDIUM, EFFORT_HIGH };

static enum effort effort_of(struct str word)
{
    static const struct {
        const char *word;
        enum effort effort;
    } words[] = {
        {"none", EFFORT_OFF},   {"off", EFFORT_OFF},       {"minimal", EFFORT_MINIMAL},
        {"low", EFFORT_LOW},    {"medium", EFFORT_MEDIUM}, {"high", EFFORT_HIGH},
        {"xhigh", EFFORT_HIGH}, {"max", EFFORT_HIGH},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ieq(word, str_of(words[i].word)))
            return words[i].effort;
    return EFFORT_UNSAID;
}

/* No known model accepts less than LOW. */
static const char *level_of(enum effort effort)
{
    return effort == EFFORT_HIGH ? "HIGH" : effort == EFFORT_MEDIUM ? "MEDIUM" : "LOW";
}

static int64_t budget_of(struct str model, enum effort effort)
{
    bool is_flash = str_find(model, STR("flash")) != SIZE_MAX;
    switch (effort) {
    case EFFORT_OFF:
        return is_flash ? 0 : 128;
    case EFFORT_MINIMAL:
        return 512;
    case EFFORT_LOW:
        return 2048;
    case EFFORT_MEDIUM:
        return 8192;
    case EFFORT_HIGH:
        return is_flash ? 24576 : 32768;
    case EFFORT_UNSAID:
        break;
    }
    return -1;
}

static bool names_level(struct str model)
{
    static const char *const ends[] = {"-minimal", "-low", "-medium", "-high"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_ends(model, str_of(ends[i])))
            return true;
    return false;
}

static void put_thinking(struct jw *w, const struct ask *ask)
{
    int generation = gemini_generation(ask->model.id);
    enum effort effort = effort_of(ask->effort);
    jw_kobj(w, "thinkingConfig");
    jw_kbool(w, "includeThoughts", effort != EFFORT_OFF);
    if (effort == EFFORT_UNSAID || names_level(ask->model.id))
        ; /* the model's own default */
    else if (generation >= GEMINI_3)
        jw_kz(w, "thinkingLevel", level_of(effort));
    else if (generation >= GEMINI_2_5)
        jw_kint(w, "thinkingBudget", budget_of(ask->model.id, effort));
    jw_obj_end(w);
}

static void put_config(struct jw *w, const struct ask *ask)
{
    bool thinks = ask->model.reasons || gemini_generation(ask->model.id) >= GEMINI_2_5;
    if (!thinks && ask->max_tokens <= 0)
        return;
    jw_kobj(w, "generationConfig");
    if (ask->max_tokens > 0)
        jw_kint(w, "maxOutputTokens", ask->max_tokens);
    if (thinks)
        put_thinking(w, ask);
    jw_obj_end(w);
}

/* ---- the body ---- */

static void put_tools(struct jw *w, const struct ask *ask, enum gemini_schema kind)
{
    if (ask->n_tools == 0)
        return;
    jw_karr(w, "tools");
    jw_obj(w);
    jw_karr(w, "functionDeclarations");
    for (size_t i = 0; i < ask->n_tools; i++) {
        const struct tool_def *tool = &ask->tools[i];
        jw_obj(w);
        jw_kstr(w, "name", tool->name);
        jw_kstr(w, "description", tool->about);
        jw_key(w, kind == GEMINI_OPENAPI ? "parameters" : "parametersJsonSchema");
        gemini_put_schema(w, tool->schema, kind);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    jw_arr_end(w);
    jw_kobj(w, "toolConfig");
    jw_kobj(w, "functionCallingConfig");
    jw_kz(w, "mode", "AUTO");
    jw_obj_end(w);
    jw_obj_end(w);
}

static void put_system(struct jw *w, const struct ask *ask, const char *role)
{
    if (ask->system.n == 0)
        return;
    jw_kobj(w, "systemInstruction");
    if (role)
        jw_kz(w, "role", role);
    jw_karr(w, "parts");
    jw_obj(w);
    jw_kstr(w, "text", ask->system);
    jw_obj_end(w);
    jw_arr_end(w);
    jw_obj_end(w);
}

void gemini_put_body(const struct ask *ask, struct buf *body)
{
    struct jw w = JW(body);
    jw_obj(&w);
    put_config(&w, ask);
    put_tools(&w, ask, GEMINI_JSON_SCHEMA);
    put_system(&w, ask, NULL);
    gemini_put_contents(&w, ask);
    jw_obj_end(&w);
}

void antigravity_put_body(const struct ask *ask, struct buf *body)
{
    struct jw w = JW(body);
    /* Models of other vendors at this address accept only the older form. */
    bool is_gemini = gemini_generation(ask->model.id) > 0;
    jw_obj(&w);
    jw_kstr(&w, "project", ask->project);
    jw_kstr(&w, "model", ask->model.id);
    jw_kz(&w, "userAgent", "trivet");
    jw_kz(&w, "requestType", "agent");
    jw_kobj(&w, "request");
    jw_kstr(&w, "model", ask->model.id);
    put_config(&w, ask);
    put_tools(&w, ask, is_gemini ? GEMINI_JSON_SCHEMA : GEMINI_OPENAPI);
    put_system(&w, ask, "user");
    gemini_put_contents(&w, ask);
    jw_obj_end(&w);
    jw_obj_end(&w);
}
