/* SPDX-License-Identifier: MIT */
/* loaf's data directory and its state.json (loaf 161-179): settings kept across restarts.
 *
 * The file is shared with loaf and with other trivet processes: each write takes the file's lock,
 * reads the file again and changes only known members.  Settings are on disk before the call that
 * changed them is answered; prompts are added to inputHistory in the background.  An invalid file
 * is treated as missing.  The file is not created before there is a setting to store.
 *
 * loaf does not store the provider of the selected model and guesses it.  trivet adds the member
 * trivetModel (provider/model-id), which is used while it matches selectedModel.
 */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"

#include "auth/store.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "context/config.h"
#include "context/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_PROMPTS = 200, MOST_PROMPT_BYTES = 64 << 10, LOCAL_BYTES = 1 << 20 };

/* ---- location ---- */

static void put_old_dir(struct buf *out)
{
    const char *state = getenv("XDG_STATE_HOME");
    if (state && *state)
        path_absolute(out, path_home(), str_of(state));
    else
        path_absolute(out, path_home(), STR(".local/state"));
    buf_addz(out, "/loaf");
}

/* Moves the directory of older loaf versions to its present place. */
static void move_old_dir(const char *to)
{
    AUTO(buf) struct buf from = BUF_INIT;
    if (path_exists(str_of(to)))
        return;
    put_old_dir(&from);
    if (path_is_dir(buf_str(&from)) && rename(from.p, to) != 0)
        log_warn("%s could not be moved to %s", from.p, to);
}

static char *place_in(const struct loaf *lf, const char *name)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s", lf->data_dir, name);
    return buf_take(&path);
}

/* ---- writing ---- */

struct image { /* the new content of the file, copied since the originals may change during the
                  write */
    struct arena arena;
    struct str path;
    const char *enabled[LOAF_PROVIDERS];
    size_t n_enabled;
    bool is_model_chosen;
    struct str model_id, full_id; /* full_id: with the provider in front */
    const char *thinking;
    struct str routing;
    bool is_onboarded;
    struct str prompts; /* JSON strings, comma separated */
    bool drops_keys;    /* that older versions kept here */
    bool only_prompts;  /* written in the background: settings in the file may be newer */
};

static struct image *image_of(struct loaf *lf)
{
    struct image *i = xnew(struct image);
    i->path = arena_fmt(&i->arena, "%s/state.json", lf->data_dir);
    memcpy(i->enabled, lf->enabled, sizeof i->enabled);
    i->n_enabled = lf->n_enabled;
    i->is_model_chosen = lf->is_model_chosen;
    i->model_id = arena_str(&i->arena, loaf_model_id(lf, str_of(lf->model)));
    i->full_id = loaf_full_id(lf, &i->arena);
    i->thinking = lf->thinking;
    i->routing = arena_str(&i->arena, str_of(lf->routing));
    i->is_onboarded = lf->is_onboarded;
    i->prompts = arena_str(&i->arena, buf_str(&lf->new_prompts));
    buf_clear(&lf->new_prompts);
    return i;
}

static void image_free(struct image *i)
{
    arena_clear(&i->arena);
    free(i);
}

static void set_str(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name, struct str s)
{
    config_put(doc, root, str_of(name), yyjson_mut_strncpy(doc, s.p, s.n));
}

static void set_providers(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct image *i)
{
    yyjson_mut_obj_remove_key(root, "authProviders");
    yyjson_mut_obj_remove_key(root, "authProvider");
    if (!i->n_enabled)
        return;
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (size_t k = 0; k < i->n_enabled; k++)
        yyjson_mut_arr_add_str(doc, list, i->enabled[k]);
    config_put(doc, root, STR("authProviders"), list);
    set_str(doc, root, "authProvider", str_of(i->enabled[0]));
}

static void set_model(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct image *i)
{
    if (i->is_model_chosen) {
        set_str(doc, root, "selectedModel", i->model_id);
        yyjson_mut_obj_remove_key(root, "trivetModel");
        if (i->full_id.n)
            set_str(doc, root, "trivetModel", i->full_id);
    } else if (!yyjson_mut_obj_get(root, "selectedModel")) {
        set_str(doc, root, "selectedModel", STR(""));
    }
    set_str(doc, root, "selectedThinking", str_of(i->thinking));
    set_str(doc, root, "selectedOpenRouterProvider", i->routing);
}

/* The newest prompts stand last. */
static void add_prompts(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct image *i)
{
    AUTO(json) struct json added = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error ignored;
    size_t k, max;
    yyjson_val *prompt;
    yyjson_mut_val *list = yyjson_mut_obj_get(root, "inputHistory");
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(doc);
        config_put(doc, root, STR("inputHistory"), list);
    }
    buf_addf(&text, "[%.*s]", STR_FMT(i->prompts));
    if (!json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &added, &ignored))
        return;
    yyjson_arr_foreach(added.root, k, max, prompt) {
        yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, prompt));
    }
    while (yyjson_mut_arr_size(list) > MOST_PROMPTS)
        yyjson_mut_arr_remove_first(list);
}

static void put_image(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct image *i = arg;
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    bool is_whole = yyjson_mut_obj_get(root, "selectedModel"); /* settings were stored before */
    if (!i->only_prompts || !is_whole) {
        config_put(doc, root, STR("version"), yyjson_mut_int(doc, 1));
        set_providers(doc, root, i);
        set_model(doc, root, i);
        config_put(doc, root, STR("onboardingCompleted"), yyjson_mut_bool(doc, i->is_onboarded));
    }
    add_prompts(doc, root, i);
    set_str(doc, root, "updatedAt", str_of(now));
    if (i->drops_keys) {
        yyjson_mut_obj_remove_key(root, "openRouterApiKey");
        yyjson_mut_obj_remove_key(root, "exaApiKey");
    }
}

/* Before the loop runs. */
static bool save(struct loaf *lf, bool drops_keys, struct error *err)
{
    struct image *i = image_of(lf);
    i->drops_keys = drops_keys;
    bool ok = config_renew(i->path, put_image, i, err);
    image_free(i);
    return ok;
}

static bool save_await(struct loaf *lf, bool only_prompts, struct error *err)
{
    gate_enter_through_await(&lf->saving);
    struct image *i = image_of(lf);
    i->only_prompts = only_prompts;
    bool ok = config_renew_await(i->path, put_image, i, err);
    image_free(i);
    gate_leave(&lf->saving);
    return ok;
}

bool loaf_home_save_await(struct loaf *lf, struct error *err)
{
    return save_await(lf, false, err) || error_prefix(err, "the settings could not be saved");
}

static void save_fiber(void *arg)
{
    struct loaf *lf = arg;
    struct error err;
    while (lf->new_prompts.n)
        if (!save_await(lf, true, &err))
            log_warn("cannot store prompts in state.json: %s", err.text);
    lf->is_saving = false;
    wait_wake(&lf->quiet);
}

void loaf_home_keep_await(struct loaf *lf)
{
    struct error err;
    if (!save_await(lf, false, &err))
        log_warn("the settings hold for this process only: %s", err.text);
}

void loaf_home_add_prompt(struct loaf *lf, struct str text)
{
    if (!text.n || text.n > MOST_PROMPT_BYTES)
        return;
    struct jw w = {.out = &lf->new_prompts, .comma = lf->new_prompts.n > 0};
    jw_str(&w, text);
    if (!lf->is_saving)
        fiber_start(lf->sv->loop, "state", save_fiber, lf);
    lf->is_saving = true;
}

/* ---- reading ---- */

static void read_providers(struct loaf *lf, yyjson_val *root)
{
    yyjson_val *list = json_get(root, "authProviders"), *item;
    size_t i, max;
    if (!yyjson_is_arr(list)) {
        loaf_enable(lf, json_get_str(root, "authProvider"));
        return;
    }
    yyjson_arr_foreach(list, i, max, item) {
        loaf_enable(lf, json_str(item));
    }
}

static void read_model(struct loaf *lf, yyjson_val *root)
{
    struct str id = loaf_text_of(root, "selectedModel");
    struct str routing = loaf_text_of(root, "selectedOpenRouterProvider");
    const char *level = loaf_level_named(json_get_str(root, "selectedThinking"));
    if (level)
        lf->thinking = level;
    if (routing.n)
        loaf_set_routing(lf, routing);
    if (id.n)
        loaf_set_model(lf, id, json_get_str(root, "trivetModel"));
}

/* Moves a key that older versions stored in state.json to the secrets.  False: it stays. */
static bool move_key(struct loaf *lf, yyjson_val *root, const char *member, const char *provider,
                     bool *ret_has_key)
{
    struct str key = loaf_text_of(root, member);
    struct auth_entry e = {.type = AUTH_API_KEY, .access = key};
    struct error err;
    if (!key.n)
        return true;
    *ret_has_key = true;
    if (auth_store_put(engine_auth(lf->sv->engine), str_of(provider), &e, &err))
        return true;
    log_warn("cannot move %s out of state.json: %s", member, err.text);
    return false;
}

static void take_settings(struct loaf *lf, yyjson_val *root)
{
    read_providers(lf, root);
    lf->is_onboarded = json_get_bool(root, "onboardingCompleted", false);
    read_model(lf, root);
}

static void take_state(struct loaf *lf, yyjson_val *root)
{
    struct error err;
    bool has_key = false;
    take_settings(lf, root);
    bool is_moved = move_key(lf, root, "openRouterApiKey", "openrouter", &has_key);
    is_moved = move_key(lf, root, "exaApiKey", "exa", &has_key) && is_moved;
    if (has_key && is_moved && !save(lf, true, &err))
        log_warn("cannot remove the keys from state.json: %s", err.text);
}

/* .loaf-state.json in the working directory may come from a repository: settings are imported, keys
 * are not; a file with keys is not removed. */
static void import_state(struct loaf *lf)
{
    AUTO(json) struct json state = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct str dir = path_cwd();
    struct error err;
    if (!foreign_read(dir, STR(".loaf-state.json"), LOCAL_BYTES, &text, &err) ||
        !json_parse(buf_str(&text), JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &state, &err) ||
        !yyjson_is_obj(state.root))
        return;
    take_settings(lf, state.root);
    if (!save(lf, false, &err)) {
        log_warn(".loaf-state.json was not imported: %s", err.text);
        return;
    }
    if (json_get(state.root, "openRouterApiKey") || json_get(state.root, "exaApiKey")) {
        log_warn("keys in .loaf-state.json are ignored: the file may belong to the repository");
        return;
    }
    AUTO(buf) struct buf path = BUF_INIT;
    path_absolute(&path, dir, STR(".loaf-state.json"));
    unlink(path.p);
}

/* Tokens that older versions kept in auth.json move to the secrets as well. */
static void move_login(struct loaf *lf, const char *path)
{
    AUTO(json) struct json old = JSON_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_store *st = engine_auth(lf->sv->engine);
    struct auth_entry e;
    struct error err;
    if (!path_exists(str_of(path)) || !config_read(str_of(path), &old, &err) ||
        !json_get_str(json_get(old.root, "tokens"), "access_token").n)
        return;
    if (!auth_store_get(st, STR("openai"), &a, &e, &err) ||
        !auth_store_put(st, STR("openai"), &e, &err))
        log_warn("cannot move the tokens out of auth.json: %s", err.text);
}

static bool read_state(struct str path, struct json *ret)
{
    struct error ignored;
    return path_exists(path) && config_read(path, ret, &ignored);
}

void loaf_home_open(struct loaf *lf)
{
    AUTO(json) struct json state = JSON_INIT;
    AUTO(buf) struct buf dir = BUF_INIT;
    path_absolute(&dir, path_home(), STR(".loaf"));
    lf->data_dir = buf_take(&dir);
    move_old_dir(lf->data_dir);
    AUTO_FREE char *secrets = place_in(lf, "secrets-fallback.json");
    AUTO_FREE char *logins = place_in(lf, "auth.json");
    AUTO_FREE char *path = place_in(lf, "state.json");
    engine_use_auth(lf->sv->engine,
                    auth_store_new(&auth_format_loaf, str_of(secrets), str_of(logins)));
    move_login(lf, logins);
    if (!path_exists(str_of(path)))
        import_state(lf);
    else if (read_state(str_of(path), &state))
        take_state(lf, state.root);
}

/* ---- removing everything ---- */

bool loaf_home_forget_await(struct loaf *lf, struct error *err)
{
    static const char *const files[] = {"state.json", "auth.json", "models-cache.json",
                                        "secrets-fallback.json"};
    buf_clear(&lf->new_prompts);
    gate_enter_through_await(&lf->saving); /* else a running write would restore the file */
    bool ok = true;
    for (size_t i = 0; ok && i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = place_in(lf, files[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            ok = error_errno(err, errno, "%s could not be removed", path);
    }
    gate_leave(&lf->saving);
    if (!ok)
        return false;
    lf->n_enabled = 0;
    lf->is_onboarded = false;
    json_clear(&lf->cache);
    lf->cache = JSON_INIT;
    engine_forget_keys(lf->sv->engine);
    for (size_t i = 0; loaf_providers[i]; i++)
        engine_forget_models(lf->sv->engine, str_of(loaf_providers[i]));
    loaf_forget_choice(lf);
    loaf_repair_choice(lf); /* keys in the environment remain usable */
    return true;
}
