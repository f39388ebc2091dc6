/* SPDX-License-Identifier: MIT */
/* Any file as configuration: .scaiflux.json and Kward's config.json.  A file that is read can be
 * shown without its secrets and changed without losing a member; one that is refused says why and
 * is not written.
 */
#include "context/config.h"
#include "context/metrics.h"
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/workspace.h"
#include "fuzz_place.h"
#include "loop/fiber.h"
#include "loop/loop.h"

static void check_safe(yyjson_val *v)
{
    size_t i, max;
    yyjson_val *key, *item;
    PROMISE(!yyjson_is_str(v) || !fuzz_has_key(json_str(v)));
    yyjson_arr_foreach(v, i, max, item)
        check_safe(item);
    yyjson_obj_foreach(v, i, max, key, item)
        check_safe(item);
}

static void show(const struct flux_config *c)
{
    AUTO(json) struct json shown = JSON_INIT;
    struct error err;
    AUTO(buf) struct buf out = BUF_INIT, text = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    PROMISE(flux_config_put(c, STR(""), &w, &text));
    jw_obj_end(&w);
    PROMISE(json_parse(buf_str(&out), 0, 2000, &shown, &err));
    PROMISE(utf8_is_valid(buf_str(&text)));
    check_safe(shown.root);
}

struct saving {
    struct flux *flux;
    struct error err;
    bool is_saved, is_over;
};

static void save_fiber(void *arg)
{
    struct saving *s = arg;
    s->is_saved = flux_config_save_await(s->flux, "gadgets", STR("[\"x\"]"), &s->err);
    s->is_over = true;
}

static void save(struct saving *s)
{
    struct loop *l = loop_new();
    fiber_start(l, "save", save_fiber, s);
    while (!s->is_over)
        loop_step(l, true);
    loop_free(l);
}

static void try_scaiflux(struct str bytes)
{
    struct flux f = {.workspace = fuzz_dir()};
    struct flux_config c = {0};
    struct error err = ERROR_INIT;
    fuzz_write(".scaiflux.json", bytes, 0600);
    bool is_read = flux_config_read(&f, &c, &err);
    PROMISE(is_read || (err.code != ERR_NONE && err.text[0]));
    if (is_read)
        show(&c);
    flux_config_clear(&c);
    struct saving s = {.flux = &f, .err = ERROR_INIT};
    save(&s);
    PROMISE(s.is_saved || !is_read || s.err.text[0]);
    if (s.is_saved) {
        PROMISE(is_read && flux_config_read(&f, &c, &err));
        PROMISE(yyjson_arr_size(c.gadgets) == 1);
        flux_config_clear(&c);
    }
    arena_clear(&f.arena);
}

static void put_one(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    (void)arg;
    config_put(doc, root, STR("reasoning_effort"), yyjson_mut_str(doc, "high"));
}

static void try_kward(struct str bytes)
{
    AUTO(json) struct json old = JSON_INIT, new = JSON_INIT;
    struct error err = ERROR_INIT;
    char path[256];
    fuzz_write("config.json", bytes, 0600);
    bool is_read = config_read(fuzz_path(path, "config.json"), &old, &err);
    PROMISE(is_read || (err.code != ERR_NONE && err.text[0]));
    metrics_enabled(old.root, "KWARD_LOGGING");
    bool is_changed = config_change(str_of(path), put_one, NULL, &new, &err);
    PROMISE(is_changed == is_read);
    if (!is_changed)
        return;
    PROMISE(str_is(json_get_str(new.root, "reasoning_effort"), "high"));
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(old.root, i, max, key, v)
        PROMISE(yyjson_obj_getn(new.root, json_str(key).p, json_str(key).n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    try_scaiflux(str_n((const char *)data, n));
    try_kward(str_n((const char *)data, n));
    return 0;
}
