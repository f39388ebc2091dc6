/* SPDX-License-Identifier: MIT */
/* Parses the model lists of providers (providers 19-20), as rows.
 *
 *     OpenRouter   everything: window, output, modalities, efforts, prices as strings per token
 *     vLLM         max_model_len             LM Studio, others   ids, sometimes a window
 *     llama.cpp    meta.n_ctx_train; /props has the window it was started with
 *     Ollama       ids; /api/show has the window of the model and what it can do
 *     OpenAI       ids of all models, embeddings and voices too
 *     Anthropic    names, windows, abilities      Gemini   likewise, and their methods
 *     Codex        models[]: slug, window, levels, default level, order
 *     Cloud Code   models{}: id to windows and thinking; the order is a separate member
 *
 * Answers are not trusted: members of the wrong type count as absent, an item without a valid id is
 * left out, and texts are truncated.
 */
#include "providers/model_rows.h"

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"

enum {
    MOST_ID = 200,     /* bytes */
    MOST_NAME = 200,   /* bytes */
    MOST_ABOUT = 4000, /* bytes */
    MAX_PRICE = 1000,  /* dollars for one token; more is a mistake */
};

static bool has_item(yyjson_val *list, const char *word)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item) {
        if (str_ieq(json_str(item), str_of(word)))
            return true;
    }
    return false;
}

static void set_window(struct model_row *row, int64_t tokens)
{
    if (tokens <= 0)
        return;
    row->model.context_window = tokens;
    row->given |= GIVEN_WINDOW;
}

static void set_output(struct model_row *row, int64_t tokens)
{
    if (tokens <= 0)
        return;
    row->model.max_output = tokens;
    row->given |= GIVEN_OUTPUT;
}

static void set_reasons(struct model_row *row, bool reasons)
{
    row->model.reasons = reasons;
    row->given |= GIVEN_REASONS;
}

static void set_images(struct model_row *row, bool takes_images)
{
    row->model.takes_images = takes_images;
    row->given |= GIVEN_IMAGES;
}

static void set_name(struct model_rows *rows, struct model_row *row, struct str name)
{
    name = utf8_cut(str_trim(name), MOST_NAME);
    if (name.n == 0)
        return;
    row->model.name = arena_str(&rows->arena, name);
    row->given |= GIVEN_NAME;
}

static void set_about(struct model_rows *rows, struct model_row *row, struct str about)
{
    about = utf8_cut(str_trim(about), MOST_ABOUT);
    if (about.n == 0)
        return;
    row->model.about = arena_str(&rows->arena, about);
    row->given |= GIVEN_ABOUT;
}

static int64_t first_int(yyjson_val *v, const char *const *names)
{
    for (; *names; names++)
        if (json_get_int(v, *names, 0) > 0)
            return json_get_int(v, *names, 0);
    return 0;
}

/* The context window under any of its names, in the item or in its nested objects. */
static int64_t window_in(yyjson_val *item)
{
    static const char *const names[] = {
        "context_window", "context_length", "max_context_tokens", "max_input_tokens",
        "contextWindow",  "contextLength",  "inputTokenLimit",    NULL};
    static const char *const places[] = {"architecture", "top_provider"};
    int64_t window = first_int(item, names);
    for (size_t i = 0; i < ARRAY_LEN(places) && !window; i++)
        window = first_int(json_get(item, places[i]), names);
    return window;
}

/* Ids are sent in requests and shown: no blanks, no control characters, not too long. */
static bool is_id(struct str id)
{
    if (id.n == 0 || id.n > MOST_ID)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if ((unsigned char)id.p[i] <= ' ' || id.p[i] == 0x7f)
            return false;
    return true;
}

/* A new row; NULL if the id is invalid or a duplicate. */
static struct model_row *add_row(struct model_rows *rows, struct str provider, struct str id)
{
    id = str_trim(id);
    bool is_new = is_id(id) && rows->n < LIMIT_MODELS && !model_rows_find(rows, provider, id);
    return is_new ? model_rows_add(rows, provider, id) : NULL;
}

/* ---- OpenRouter ---- */

/* USD per token as text; negative: variable. */
static bool read_price(yyjson_val *pricing, const char *name, double *ret)
{
    struct str text = json_get_str(pricing, name);
    char *end;
    if (text.n == 0)
        return false;
    double per_token = strtod(text.p, &end); /* strings of a document end with a NUL */
    if (*end || !(per_token >= 0 && per_token < MAX_PRICE))
        return false;
    *ret = (double)num_round(per_token * 1e12) / 1e6; /* per million, rounded */
    return true;
}

static void read_prices(struct model_row *row, yyjson_val *pricing)
{
    if (read_price(pricing, "prompt", &row->model.price_in))
        row->given |= GIVEN_PRICE_IN;
    if (read_price(pricing, "completion", &row->model.price_out))
        row->given |= GIVEN_PRICE_OUT;
    if (read_price(pricing, "input_cache_read", &row->model.price_cached))
        row->given |= GIVEN_PRICE_CACHED;
    if (read_price(pricing, "input_cache_write", &row->model.price_cache_write))
        row->given |= GIVEN_PRICE_CACHE_WRITE;
}

static void read_reasoning(struct model_row *row, yyjson_val *item)
{
    yyjson_val *reasoning = json_get(item, "reasoning"), *effort;
    yyjson_val *parameters = json_get(item, "supported_parameters");
    size_t i, max;
    if (!parameters && !yyjson_is_obj(reasoning))
        return;
    set_reasons(row, has_item(parameters, "reasoning") || yyjson_is_obj(reasoning));
    yyjson_arr_foreach(json_get(reasoning, "supported_efforts"), i, max, effort) {
        row->model.levels |= level_named(json_str(effort));
    }
    if (!row->model.levels)
        return;
    if (yyjson_is_false(json_get(reasoning, "mandatory")))
        row->model.levels |= LEVEL_OFF;
    row->given |= GIVEN_LEVELS;
    row->model.default_level = level_named(json_get_str(reasoning, "default_effort"));
    if (row->model.default_level & row->model.levels)
        row->given |= GIVEN_DEFAULT;
}

static void read_openrouter(struct model_row *row, yyjson_val *item)
{
    yyjson_val *inputs = json_get(json_get(item, "architecture"), "input_modalities");
    set_window(row, window_in(item));
    set_output(row, json_get_int(json_get(item, "top_provider"), "max_completion_tokens", 0));
    if (yyjson_is_arr(inputs))
        set_images(row, has_item(inputs, "image"));
    read_reasoning(row, item);
    read_prices(row, json_get(item, "pricing"));
}

static void join_routes(struct buf *out, yyjson_val *endpoints)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    const struct str *routes = live_routes_of(endpoints, &a, &n);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%.*s", i ? "," : "", STR_FMT(routes[i]));
}

bool live_read_routes(struct str provider, struct str text, struct model_rows *rows)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *item;
    if (!json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored) ||
        !yyjson_is_arr(json_get(json.root, "data")))
        return false;
    yyjson_arr_foreach(json_get(json.root, "data"), i, max, item) {
        AUTO(buf) struct buf routes = BUF_INIT;
        if (!yyjson_is_arr(json_get(item, "endpoints")))
            continue;
        join_routes(&routes, json_get(item, "endpoints"));
        model_rows_set_routes(rows, provider, str_trim(json_get_str(item, "id")), buf_str(&routes));
    }
    return true;
}

/* ---- the others ---- */

static void read_plain(struct model_row *row, yyjson_val *item)
{
    static const char *const names[] = {"max_model_len", "max_context_length", NULL};
    yyjson_val *meta = json_get(item, "meta");
    int64_t window = json_get_int(meta, "n_ctx", json_get_int(meta, "n_ctx_train", 0));
    if (window <= 0)
        window = first_int(item, names);
    set_window(row, window > 0 ? window : window_in(item));
}

/* {"supported": true}, or true. */
static bool is_supported(yyjson_val *v)
{
    return yyjson_is_true(v) || yyjson_is_true(json_get(v, "supported"));
}

static void read_anthropic(struct model_rows *rows, struct model_row *row, yyjson_val *item)
{
    yyjson_val *can = json_get(item, "capabilities");
    set_name(rows, row, json_get_str(item, "display_name"));
    set_window(row, window_in(item));
    set_output(row, json_get_int(item, "max_tokens", 0));
    if (json_get(can, "image_input"))
        set_images(row, is_supported(json_get(can, "image_input")));
    if (json_get(can, "thinking") || json_get(can, "effort"))
        set_reasons(row, is_supported(json_get(can, "thinking")) ||
                             is_supported(json_get(can, "effort")));
}

/* {"name": "models/gemini-x", "supportedGenerationMethods": ["generateContent"], ...} */
static void read_gemini(struct model_rows *rows, struct str provider, yyjson_val *item)
{
    yyjson_val *does = json_get(item, "supportedGenerationMethods");
    struct str id = json_get_str(item, "name");
    if (yyjson_is_arr(does) && !has_item(does, "generateContent"))
        return;
    if (str_starts(id, STR("models/")))
        id = str_from(id, 7);
    struct model_row *row = add_row(rows, provider, id);
    if (!row)
        return;
    set_name(rows, row, json_get_str(item, "displayName"));
    set_about(rows, row, json_get_str(item, "description"));
    set_window(row, window_in(item));
    set_output(row, json_get_int(item, "outputTokenLimit", 0));
    if (yyjson_is_bool(json_get(item, "thinking")))
        set_reasons(row, yyjson_get_bool(json_get(item, "thinking")));
}

/* Recognises models for embeddings, speech and pictures by OpenAI's names. */
static bool makes_no_text(struct str id)
{
    static const char *const heads[] = {
        "text-embedding", "tts-",    "whisper", "dall-e", "omni-moderation",
        "text-mod",       "babbage", "davinci", "sora",   "chatgpt-image"};
    static const char *const parts[] = {"-realtime", "-audio", "-transcribe", "-tts", "-image"};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (str_starts(id, str_of(heads[i])))
            return true;
    for (size_t i = 0; str_starts(id, STR("gpt-")) && i < ARRAY_LEN(parts); i++)
        if (str_find(id, str_of(parts[i])) != SIZE_MAX)
            return true;
    return false;
}

/* ---- accounts ---- */

static yyjson_val *first_of(yyjson_val *v, const char *one, const char *other)
{
    yyjson_val *found = json_get(v, one);
    return found ? found : json_get(v, other);
}

static void read_codex_levels(struct model_row *row, yyjson_val *item)
{
    yyjson_val *list = first_of(item, "supported_reasoning_levels", "supported_reasoning_efforts");
    yyjson_val *usual = first_of(item, "default_reasoning_level", "default_reasoning_effort"), *one;
    size_t i, max;
    yyjson_arr_foreach(list, i, max, one) {
        struct str name = yyjson_is_str(one) ? json_str(one) : json_get_str(one, "effort");
        row->model.levels |= level_named(name);
    }
    row->model.reasons = true; /* all of them reason */
    row->given |= row->model.levels ? GIVEN_LEVELS : GIVEN_REASONS;
    row->model.default_level = level_named(json_str(usual));
    if (row->model.default_level)
        row->given |= GIVEN_DEFAULT;
}

static void read_codex(struct model_rows *rows, struct str provider, yyjson_val *item)
{
    yyjson_val *inputs = json_get(item, "input_modalities");
    struct str id = json_str(first_of(item, "slug", "id"));
    struct model_row *row = makes_no_text(id) ? NULL : add_row(rows, provider, id);
    if (!row)
        return;
    set_name(rows, row, json_get_str(item, "display_name"));
    set_about(rows, row, json_get_str(item, "description"));
    set_window(row, window_in(item));
    if (yyjson_is_arr(inputs))
        set_images(row, has_item(inputs, "image"));
    read_codex_levels(row, item);
    row->model.priority = json_get_int(item, "priority", -1) + 1;
    if (row->model.priority > 0)
        row->given |= GIVEN_PRIORITY;
}

static bool is_true(yyjson_val *item, const char *name)
{
    return json_get_bool(item, name, false);
}

/* Position of the model in the display order, from 1; 0: not listed. */
static int64_t place_of(yyjson_val *root, struct str id)
{
    size_t i, n_sorts, k, n_groups, m, n_ids;
    yyjson_val *sort, *group, *one;
    int64_t place = 0;
    yyjson_arr_foreach(json_get(root, "agentModelSorts"), i, n_sorts, sort) {
        yyjson_arr_foreach(json_get(sort, "groups"), k, n_groups, group) {
            yyjson_arr_foreach(json_get(group, "modelIds"), m, n_ids, one) {
                place++;
                if (str_eq(json_str(one), id))
                    return place;
            }
        }
    }
    return 0;
}

static bool has_word(struct str text, const char *word)
{
    return str_ifind(text, str_of(word)) != SIZE_MAX;
}

/* The default level as in loaf: by the name, else by the thinking budget (loaf 146).
 */
static unsigned cloudcode_level(struct str id, yyjson_val *item)
{
    static const struct {
        int64_t most;
        unsigned level;
    } steps[] = {{0, LEVEL_OFF},          {128, LEVEL_LOW},      {1024, LEVEL_MINIMAL},
                 {4096, LEVEL_LOW},       {10000, LEVEL_MEDIUM}, {20000, LEVEL_HIGH},
                 {INT64_MAX, LEVEL_XHIGH}};
    struct str name = json_get_str(item, "displayName");
    int64_t budget;
    if (has_word(id, "high") || has_word(name, "high"))
        return LEVEL_HIGH;
    if (has_word(id, "low") || has_word(name, "low"))
        return LEVEL_LOW;
    if (!json_is_whole(json_get(item, "thinkingBudget"), &budget) || budget == -1)
        return LEVEL_MEDIUM;
    size_t i = 0;
    while (budget > steps[i].most)
        i++;
    return steps[i].level;
}

/* The description followed by the tags. */
static void set_cloudcode_about(struct model_rows *rows, struct model_row *row, yyjson_val *item)
{
    static const char *const texts[] = {"description", "tagTitle", "tagDescription"};
    static const char *const flags[] = {"beta", "preview"};
    AUTO(buf) struct buf about = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str text = str_trim(json_get_str(item, texts[i]));
        if (text.n)
            buf_addf(&about, "%s%.*s", about.n ? " | " : "", STR_FMT(text));
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (is_true(item, flags[i]))
            buf_addf(&about, "%s%s", about.n ? " | " : "", flags[i]);
    set_about(rows, row, buf_str(&about));
}

static void read_cloudcode(struct model_rows *rows, struct str provider, yyjson_val *root,
                           struct str id, yyjson_val *item)
{
    static const unsigned all = LEVEL_OFF | LEVEL_MINIMAL | LEVELS_TO_XHIGH;
    int64_t most = json_get_int(item, "maxTokens", 0),
            out = json_get_int(item, "maxOutputTokens", 0);
    struct model_row *row = yyjson_is_obj(item) && !is_true(item, "disabled")
                                ? add_row(rows, provider, id)
                                : NULL;
    if (!row)
        return;
    set_name(rows, row, json_get_str(item, "displayName"));
    set_cloudcode_about(rows, row, item);
    set_window(row, out > 0 && most > out ? most - out : most);
    set_output(row, out);
    if (yyjson_is_bool(json_get(item, "supportsImages")))
        set_images(row, is_true(item, "supportsImages"));
    row->model.levels = is_true(item, "supportsThinking") ? all : LEVEL_OFF;
    row->given |= GIVEN_LEVELS;
    row->model.default_level = cloudcode_level(id, item);
    if (row->model.default_level & row->model.levels)
        row->given |= GIVEN_DEFAULT;
    row->model.priority = place_of(root, id);
    if (row->model.priority > 0)
        row->given |= GIVEN_PRIORITY;
}

/* ---- a list ---- */

static bool makes_text(yyjson_val *item)
{
    yyjson_val *outputs = json_get(json_get(item, "architecture"), "output_modalities");
    if (yyjson_is_arr(outputs) && !has_item(outputs, "text"))
        return false;
    return !str_is(json_get_str(item, "type"), "embeddings");
}

static void read_item(struct str provider, enum live_list kind, yyjson_val *item,
                      struct model_rows *ret)
{
    struct str id = json_get_str(item, "id");
    if (!makes_text(item) || (kind == LIST_OPENAI && makes_no_text(id)))
        return;
    struct model_row *row = add_row(ret, provider, id);
    if (!row)
        return;
    set_name(ret, row, json_get_str(item, "name"));
    set_about(ret, row, json_get_str(item, "description"));
    if (kind == LIST_OPENROUTER)
        read_openrouter(row, item);
    else if (kind == LIST_ANTHROPIC)
        read_anthropic(ret, row, item);
    else
        read_plain(row, item);
}

/* The member that holds the list: a map for Cloud Code, else an array; NULL: it is no list. */
static yyjson_val *list_in(enum live_list kind, yyjson_val *root)
{
    yyjson_val *models = json_get(root, "models"), *data = json_get(root, "data");
    if (kind == LIST_CLOUDCODE)
        return yyjson_is_obj(models) ? models : NULL;
    if ((kind == LIST_CODEX || kind == LIST_GEMINI) && yyjson_is_arr(models))
        return models;
    if (kind == LIST_GEMINI)
        return NULL;
    return yyjson_is_arr(data) || yyjson_is_null(data) ? data
                                                       : NULL; /* Ollama without models: null */
}

static void read_one(struct str provider, enum live_list kind, yyjson_val *item,
                     struct model_rows *ret)
{
    if (!yyjson_is_obj(item))
        return;
    if (kind == LIST_CODEX)
        read_codex(ret, provider, item);
    else if (kind == LIST_GEMINI)
        read_gemini(ret, provider, item);
    else
        read_item(provider, kind, item, ret);
}

bool live_read_list(struct str provider, enum live_list kind, struct str text,
                    struct model_rows *ret, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *key, *item;
    bool is_json = json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json,
                              &ignored);
    yyjson_val *list = is_json ? list_in(kind, json.root) : NULL;
    if (!list)
        return error_set(err, ERR_BAD_REPLY, "%.*s did not answer with a list of models",
                         STR_FMT(provider));
    yyjson_obj_foreach(list, i, max, key, item) {
        read_cloudcode(ret, provider, json.root, json_str(key), item);
    }
    yyjson_arr_foreach(list, i, max, item) {
        read_one(provider, kind, item, ret);
    }
    return true;
}

/* ---- details of one model ---- */

/* "num_ctx 8192" in the parameters of a running model. */
static int64_t read_num_ctx(struct str parameters)
{
    struct str line;
    int64_t value = 0;
    while (parameters.n > 0 && str_line(&parameters, &line)) {
        line = str_trim(line);
        if (str_starts(line, STR("num_ctx")) && str_int(str_trim(str_from(line, 7)), &value))
            return value;
    }
    return 0;
}

/* {"general.architecture":"llama","llama.context_length":131072} */
static int64_t read_context_length(yyjson_val *info)
{
    size_t i, max;
    yyjson_val *key, *value;
    int64_t tokens = 0;
    yyjson_obj_foreach(info, i, max, key, value) {
        if (str_ends(json_str(key), STR(".context_length")) && json_is_whole(value, &tokens))
            return tokens;
    }
    return 0;
}

void live_read_show(struct str text, struct model_row *row)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (!json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored))
        return;
    int64_t most = read_context_length(json_get(json.root, "model_info"));
    int64_t set = read_num_ctx(json_get_str(json.root, "parameters"));
    set_window(row, set > 0 && (most <= 0 || set < most) ? set : most);
    yyjson_val *can = json_get(json.root, "capabilities");
    if (!yyjson_is_arr(can))
        return;
    set_images(row, has_item(can, "vision"));
    set_reasons(row, has_item(can, "thinking"));
}

void live_read_props(struct str text, struct model_rows *rows)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (!json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored))
        return;
    int64_t window = json_get_int(json_get(json.root, "default_generation_settings"), "n_ctx",
                                  json_get_int(json.root, "n_ctx", 0));
    yyjson_val *sees = json_get(json_get(json.root, "modalities"), "vision");
    for (size_t i = 0; i < rows->n; i++) {
        set_window(&rows->rows[i], window);
        if (yyjson_is_bool(sees))
            set_images(&rows->rows[i], yyjson_get_bool(sees));
    }
}
