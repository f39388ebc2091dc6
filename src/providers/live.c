/* SPDX-License-Identifier: MIT */
/* What providers answer when asked for their models (providers.md 2.6 and 2.7), as rows.
 *
 *     OpenRouter   everything: window, output, modalities, efforts, prices as strings per token
 *     vLLM         max_model_len             LM Studio, others   ids, sometimes a window
 *     llama.cpp    meta.n_ctx_train; /props has the window it was started with
 *     Ollama       ids; /api/show has the window of the model and what it can do
 *     Codex        models[]: slug, window, levels and the usual one, an order
 *     Cloud Code   models{}: id to windows and whether it thinks; the order stands beside
 */
#include "providers/model_rows.h"

#include "base/limits.h"
#include "base/num.h"

enum { MOST_MODELS = 4000, MAX_PRICE = 1000 /* dollars for one token: nobody means that */ };

static bool has_item(yyjson_val *list, const char *word)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach (list, i, max, item) {
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

/* ---- OpenRouter ---- */

/* USD per token as text; a negative one means that it depends. */
static bool read_price(yyjson_val *pricing, const char *name, double *ret)
{
    struct str text = json_get_str(pricing, name);
    char *end;
    if (text.n == 0)
        return false;
    double per_token = strtod(text.p, &end); /* strings of a document end with a NUL */
    if (*end || !(per_token >= 0 && per_token < MAX_PRICE))
        return false;
    *ret = (double)num_round(per_token * 1e12) / 1e6; /* of a million, without the dust of the division */
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
}

static void read_reasoning(struct model_row *row, yyjson_val *item)
{
    yyjson_val *reasoning = json_get(item, "reasoning"), *effort;
    yyjson_val *parameters = json_get(item, "supported_parameters");
    size_t i, max;
    if (!parameters && !yyjson_is_obj(reasoning))
        return;
    row->model.reasons = has_item(parameters, "reasoning") || yyjson_is_obj(reasoning);
    row->given |= GIVEN_REASONS;
    yyjson_arr_foreach (json_get(reasoning, "supported_efforts"), i, max, effort) {
        row->model.levels |= level_named(json_str(effort));
    }
    if (!row->model.levels)
        return;
    if (yyjson_is_false(json_get(reasoning, "mandatory")))
        row->model.levels |= LEVEL_OFF;
    row->given |= GIVEN_LEVELS;
}

static void read_openrouter(struct model_row *row, yyjson_val *item)
{
    yyjson_val *top = json_get(item, "top_provider");
    yyjson_val *inputs = json_get(json_get(item, "architecture"), "input_modalities");
    int64_t most = json_get_int(top, "max_completion_tokens", 0);
    set_window(row, json_get_int(item, "context_length", json_get_int(top, "context_length", 0)));
    if (most > 0) {
        row->model.max_output = most;
        row->given |= GIVEN_OUTPUT;
    }
    if (yyjson_is_arr(inputs)) {
        row->model.takes_images = has_item(inputs, "image");
        row->given |= GIVEN_IMAGES;
    }
    read_reasoning(row, item);
    read_prices(row, json_get(item, "pricing"));
}

/* ---- the others ---- */

static void read_plain(struct model_row *row, yyjson_val *item)
{
    static const char *const names[] = {"max_model_len", "max_context_length", "context_length",
                                        "context_window"};
    yyjson_val *meta = json_get(item, "meta");
    int64_t window = json_get_int(meta, "n_ctx", json_get_int(meta, "n_ctx_train", 0));
    for (size_t i = 0; i < ARRAY_LEN(names) && window <= 0; i++)
        window = json_get_int(item, names[i], 0);
    set_window(row, window);
}

/* ---- accounts ---- */

static int64_t first_int(yyjson_val *v, const char *const *names)
{
    for (; *names; names++)
        if (json_get_int(v, *names, 0) > 0)
            return json_get_int(v, *names, 0);
    return 0;
}

static yyjson_val *first_of(yyjson_val *v, const char *one, const char *other)
{
    yyjson_val *found = json_get(v, one);
    return found ? found : json_get(v, other);
}

static void set_name(struct model_rows *rows, struct model_row *row, struct str name)
{
    if (name.n == 0 || str_eq(name, row->model.id))
        return;
    row->model.name = arena_str(&rows->arena, name);
    row->given |= GIVEN_NAME;
}

static void read_codex_levels(struct model_row *row, yyjson_val *item)
{
    yyjson_val *list = first_of(item, "supported_reasoning_levels", "supported_reasoning_efforts");
    yyjson_val *usual = first_of(item, "default_reasoning_level", "default_reasoning_effort"), *one;
    size_t i, max;
    yyjson_arr_foreach (list, i, max, one) {
        struct str name = yyjson_is_str(one) ? json_str(one) : json_get_str(one, "effort");
        row->model.levels |= level_named(name);
    }
    row->model.reasons = true; /* all of them do */
    row->given |= row->model.levels ? GIVEN_LEVELS : GIVEN_REASONS;
    row->model.default_level = level_named(json_str(usual));
    if (row->model.default_level)
        row->given |= GIVEN_DEFAULT;
}

static void read_codex(struct model_rows *rows, struct str provider, yyjson_val *item)
{
    static const char *const windows[] = {"context_window", "context_length", "max_context_tokens",
                                          "max_input_tokens", NULL};
    struct str id = json_str(first_of(item, "slug", "id"));
    int64_t window = first_int(item, windows);
    if (id.n == 0 || model_rows_find(rows, provider, id))
        return;
    struct model_row *row = model_rows_add(rows, provider, id);
    set_name(rows, row, json_get_str(item, "display_name"));
    set_window(row, window ? window : first_int(json_get(item, "architecture"), windows));
    read_codex_levels(row, item);
    row->model.priority = json_get_int(item, "priority", -1) + 1;
    if (row->model.priority > 0)
        row->given |= GIVEN_PRIORITY;
}

static bool is_true(yyjson_val *item, const char *name)
{
    return json_get_bool(item, name, false);
}

/* The place of the model in the order that clients show, from 1; 0: it is not there. */
static int64_t place_of(yyjson_val *root, struct str id)
{
    size_t i, n_sorts, k, n_groups, m, n_ids;
    yyjson_val *sort, *group, *one;
    int64_t place = 0;
    yyjson_arr_foreach (json_get(root, "agentModelSorts"), i, n_sorts, sort) {
        yyjson_arr_foreach (json_get(sort, "groups"), k, n_groups, group) {
            yyjson_arr_foreach (json_get(group, "modelIds"), m, n_ids, one) {
                place++;
                if (str_eq(json_str(one), id))
                    return place;
            }
        }
    }
    return 0;
}

static void read_cloudcode(struct model_rows *rows, struct str provider, yyjson_val *root,
                           struct str id, yyjson_val *item)
{
    static const unsigned all = LEVEL_OFF | LEVEL_MINIMAL | LEVELS_TO_XHIGH;
    int64_t most = json_get_int(item, "maxTokens", 0),
            out = json_get_int(item, "maxOutputTokens", 0);
    if (id.n == 0 || is_true(item, "disabled"))
        return;
    struct model_row *row = model_rows_add(rows, provider, id);
    set_name(rows, row, json_get_str(item, "displayName"));
    set_window(row, most > 0 && out > 0 ? most - out : 0);
    row->model.levels = is_true(item, "supportsThinking") ? all : LEVEL_OFF;
    row->given |= GIVEN_LEVELS;
    row->model.default_level = str_ends(id, STR("-high"))  ? LEVEL_HIGH
                               : str_ends(id, STR("-low")) ? LEVEL_LOW
                                                           : 0;
    if (row->model.default_level & row->model.levels)
        row->given |= GIVEN_DEFAULT;
    row->model.priority = place_of(root, id);
    if (row->model.priority > 0)
        row->given |= GIVEN_PRIORITY;
}

/* Both say "models", the one as a list, the other as a map. */
static bool read_account(struct str provider, yyjson_val *root, struct model_rows *ret)
{
    yyjson_val *models = json_get(root, "models"), *key, *item;
    size_t i, max;
    yyjson_arr_foreach (models, i, max, item) {
        if (i < MOST_MODELS)
            read_codex(ret, provider, item);
    }
    yyjson_obj_foreach (models, i, max, key, item) {
        if (i < MOST_MODELS)
            read_cloudcode(ret, provider, root, json_str(key), item);
    }
    return yyjson_is_arr(models) || yyjson_is_obj(models);
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
    struct str id = json_get_str(item, "id"), name = json_get_str(item, "name");
    if (id.n == 0 || !makes_text(item) || model_rows_find(ret, provider, id))
        return;
    struct model_row *row = model_rows_add(ret, provider, id);
    if (name.n > 0 && !str_eq(name, id)) {
        row->model.name = arena_str(&ret->arena, name);
        row->given |= GIVEN_NAME;
    }
    if (kind == LIST_OPENROUTER)
        read_openrouter(row, item);
    else
        read_plain(row, item);
}

bool live_read_list(struct str provider, enum live_list kind, struct str text,
                    struct model_rows *ret, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *item;
    bool is_json =
        json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored);
    if (is_json && kind >= LIST_CODEX && read_account(provider, json.root, ret))
        return true;
    yyjson_val *data = is_json ? json_get(json.root, "data") : NULL;
    if (!yyjson_is_arr(data) && !yyjson_is_null(data)) /* Ollama without models says null */
        return error_set(err, ERR_BAD_REPLY, "%.*s did not answer with a list of models",
                         STR_FMT(provider));
    yyjson_arr_foreach (data, i, max, item) {
        if (i < MOST_MODELS)
            read_item(provider, kind, item, ret);
    }
    return true;
}

/* ---- one model's own figures ---- */

/* "num_ctx   8192" among the parameters a model is run with. */
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
    yyjson_obj_foreach (info, i, max, key, value) {
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
    row->model.takes_images = has_item(can, "vision");
    row->model.reasons = has_item(can, "thinking");
    row->given |= GIVEN_IMAGES | GIVEN_REASONS;
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
        if (yyjson_is_bool(sees)) {
            rows->rows[i].model.takes_images = yyjson_get_bool(sees);
            rows->rows[i].given |= GIVEN_IMAGES;
        }
    }
}
