/* SPDX-License-Identifier: MIT */
/* `trivet models`: which models can be used, their context windows and prices. */
#include "cli/accounts.h"
#include "cli/runner.h"
#include "dialects/accounts.h"

#include <stdio.h>

struct models_options {
    bool is_all, as_json, is_plain, is_offline, asks_help;
    struct str provider; /* or STR_NONE */
};
#define MODELS(member, ...) OPTION(models_options, member, __VA_ARGS__)
const struct option models_options[] = {
    MODELS(is_all, OPT_FLAG, "all", 'a', NULL, "also those that need a key or a server first"),
    MODELS(is_offline, OPT_FLAG, "offline", 0, NULL, "ask no server: what is known already"),
    MODELS(as_json, OPT_FLAG, "json", 0, NULL, "as JSON"),
    MODELS(is_plain, OPT_FLAG, "plain", 0, NULL, "columns separated by tabs, for scripts"),
    MODELS(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

/* Local servers are probed; lists of providers that have a key are fetched when they are older than
 * a day.  A failure leaves what is known. */
static bool refresh_await(struct runner *r, struct error *err)
{
    const struct provider *const *found;
    size_t n_found, n;
    struct error ignored;
    if (engine_discover_await(r->engine, &r->arena, &found, &n_found, &ignored) &&
        !engine_refresh_lists_await(r->engine, found, n_found, NULL, NULL, err))
        return false;
    const struct provider **which = engine_listing_providers(r->engine, &r->arena, &n);
    return engine_refresh_lists_await(r->engine, which, n, NULL, NULL, err);
}

static void put_levels(struct jw *w, const struct model *m)
{
    jw_karr(w, "efforts");
    for (int i = 0; i < LEVEL_N; i++)
        if (m->levels & 1u << i)
            jw_str(w, str_of(level_names[i]));
    jw_arr_end(w);
}

static void put_number(struct jw *w, const char *name, double value)
{
    if (value > 0)
        jw_knum(w, name, value);
    else
        jw_knull(w, name);
}

static void put_json(struct jw *w, const struct model *m, struct str slug, bool is_usable)
{
    jw_obj(w);
    jw_kstr(w, "model", slug);
    jw_kz(w, "provider", m->provider);
    jw_kstr(w, "id", m->id);
    jw_kstr(w, "name", m->name);
    jw_kbool(w, "usable", is_usable);
    put_number(w, "context_window", (double)m->context_window);
    put_number(w, "max_output", (double)m->max_output);
    put_number(w, "price_in", m->price_in);
    put_number(w, "price_out", m->price_out);
    put_number(w, "price_cached", m->price_cached);
    jw_kbool(w, "images", m->takes_images);
    jw_kbool(w, "reasons", m->reasons);
    put_levels(w, m);
    jw_obj_end(w);
}

static void add_tokens(struct buf *out, int64_t n)
{
    if (n >= 1000000)
        buf_addf(out, "%gM", (double)(n / 100000) / 10);
    else if (n >= 1000)
        buf_addf(out, "%lldk", (long long)(n / 1000));
    else if (n)
        buf_addf(out, "%lld", (long long)n);
}

static void add_price(struct buf *out, const struct model *m)
{
    if (m->price_in > 0 || m->price_out > 0)
        buf_addf(out, "%g/%g", m->price_in, m->price_out);
}

static void put_line(struct buf *out, const struct models_options *o, const struct model *m,
                     struct str slug, bool is_usable)
{
    AUTO(buf) struct buf window = BUF_INIT, output = BUF_INIT, price = BUF_INIT;
    const char *images = m->takes_images ? "images" : "", *reasons = m->reasons ? "reasons" : "";
    add_price(&price, m);
    if (o->is_plain) {
        buf_addf(out, "%.*s\t%lld\t%lld\t%.*s\t%s\t%s\t%s\n", STR_FMT(slug),
                 (long long)m->context_window, (long long)m->max_output, STR_FMT(buf_str(&price)),
                 images, reasons, is_usable ? "usable" : "");
        return;
    }
    add_tokens(&window, m->context_window);
    add_tokens(&output, m->max_output);
    buf_addf(out, "%-36.*s %7.*s %6.*s %11.*s  %-6s %-7s%s\n", STR_FMT(slug),
             STR_FMT(buf_str(&window)), STR_FMT(buf_str(&output)), STR_FMT(buf_str(&price)), images,
             reasons, is_usable || !o->is_all ? "" : " no key");
    while (out->p[out->n - 2] == ' ') { /* columns at the end that are empty */
        buf_cut(out, out->n - 2);
        buf_addc(out, '\n');
    }
}

static void put_provider(struct runner *r, const struct models_options *o, struct jw *w,
                         const struct provider *p)
{
    bool is_usable = account_is_offered(r->engine, p);
    struct str current = engine_default_model(r->engine);
    size_t n = 0;
    if (!o->is_all && !o->provider.p && !account_is_listed(r->engine, p, current))
        return;
    if (!is_usable && !o->is_all)
        return;
    const struct model *all = engine_models(r->engine, p, &r->arena, &n);
    for (size_t i = 0; i < n; i++) {
        if (!o->is_all && !o->provider.p && !account_lists_model(p, &all[i], current))
            continue;
        struct str slug = arena_fmt(&r->arena, "%s/%.*s", all[i].provider, STR_FMT(all[i].id));
        if (o->as_json)
            put_json(w, &all[i], slug, is_usable);
        else
            put_line(&r->out, o, &all[i], slug, is_usable);
    }
}

static bool list_await(struct runner *r, void *state, struct error *err)
{
    struct models_options *o = state;
    struct jw w = JW(&r->out);
    const struct provider *only = NULL;
    if (o->provider.p && !(only = accounts_find(o->provider, err))) {
        r->exit_code = 2;
        return false;
    }
    if (!o->is_offline && !refresh_await(r, err))
        return false;
    if (o->as_json)
        jw_arr(&w);
    else if (!o->is_plain)
        buf_addz(&r->out, "model                                 context output   $/M in/out\n");
    for (size_t i = 0; i < program_n_providers; i++)
        if (!only || only == program_providers[i])
            put_provider(r, o, &w, program_providers[i]);
    if (o->as_json) {
        jw_arr_end(&w);
        buf_addc(&r->out, '\n');
    } else if (!o->is_plain && !o->is_all) {
        fputs("(trivet models --all also shows what needs a key: trivet login)\n", stderr);
    }
    return true;
}

int models_run(const struct command_row *row, int argc, char **argv)
{
    struct models_options o = {0};
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    if (argc > 1) {
        struct error err;
        error_set(&err, ERR_INVALID, "takes at most one provider");
        return command_refuse(row, &err);
    }
    if (argc == 1)
        o.provider = str_of(argv[0]);
    return runner_run(row, list_await, &o);
}
