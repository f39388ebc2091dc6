/* SPDX-License-Identifier: MIT */
/* `trivet login` and `trivet logout`.  A key comes from the terminal, unseen, or from stdin; never
 * from the arguments, which other users of the machine can read. */
#include "auth/credential.h"
#include "auth/issuer.h"
#include "auth/login.h"
#include "base/tty_question.h"
#include "base/shown.h"
#include "base/time.h"
#include "cli/accounts.h"
#include "cli/runner.h"
#include "loop/io.h"
#include "dialects/accounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct login_args {
    bool is_list, as_json, by_code, by_browser, is_all, asks_help;
    bool is_key; /* not a sign-in */
    const struct provider *provider;
    struct buf key;
    /* the sign-in */
    struct login *login;
    struct buf typed;
    struct tty_question question;
};
#define ARG(member, ...) OPTION(login_args, member, __VA_ARGS__)

const struct option login_options_rows[] = {
    ARG(is_list, OPT_FLAG, "list", 'l', NULL, "which providers have a key or a sign-in"),
    ARG(by_browser, OPT_FLAG, "browser", 0, NULL, "sign in with the browser of this machine"),
    ARG(by_code, OPT_FLAG, "device", 0, NULL, "sign in with a code, typed in a browser anywhere"),
    ARG(as_json, OPT_FLAG, "json", 0, NULL, "the list as JSON"),
    ARG(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

const char login_more[] =
    "Without PROVIDER it asks which one.  Keys are read from the terminal, which does\n"
    "not show them, or from stdin:  trivet login openai < key.txt\n"
    "They are kept in ~/.config/trivet/auth.json, which only you can read.\n";

const struct option logout_options[] = {
    ARG(is_all, OPT_FLAG, "all", 'a', NULL, "of every provider"),
    ARG(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

/* ---- providers ---- */

const struct provider *accounts_find(struct str name, struct error *err)
{
    const char *names[64];
    size_t n = 0;
    for (; n < program_n_providers && n + 1 < ARRAY_LEN(names); n++) {
        names[n] = program_providers[n]->name;
        if (str_is(name, names[n]))
            return program_providers[n];
    }
    names[n] = NULL;
    const char *meant = nearest_name(name, names);
    error_set(err, ERR_INVALID, "unknown provider %.*s%s%s", STR_FMT(str_cut(name, 20)),
              meant ? ": did you mean " : " (trivet login --list)", meant ? meant : "");
    return NULL;
}

static bool is_listed(const struct provider *p)
{
    return account_signs_in(p) || account_takes_key(p);
}

struct state_of {
    bool is_set, is_stored;
    char expires[TIME_ISO_LEN + 1]; /* "": not known */
    struct str email;
};

static bool is_set(const char *variable)
{
    return variable && str_trim(str_of(getenv(variable))).n;
}

/* What is there for a provider; strings in the arena. */
static struct state_of find_state(struct auth_store *st, struct arena *a, const struct provider *p)
{
    struct state_of s = {.is_set = is_set(p->env_key)};
    struct auth_entry e;
    struct error ignored;
    s.is_stored = auth_store_get(st, account_name(p), a, &e, &ignored) &&
                  (e.type == AUTH_OAUTH) == account_signs_in(p);
    if (s.is_stored && e.expires_ms)
        time_iso(e.expires_ms, s.expires);
    s.email = s.is_stored ? e.email : STR_NONE;
    return s;
}

static void put_json(struct runner *r)
{
    struct jw w = JW(&r->out);
    jw_arr(&w);
    for (size_t i = 0; i < program_n_providers; i++) {
        const struct provider *p = program_providers[i];
        if (!is_listed(p))
            continue;
        struct state_of s = find_state(engine_auth(r->engine), &r->arena, p);
        jw_obj(&w);
        jw_kz(&w, "provider", p->name);
        jw_kz(&w, "label", p->label);
        jw_kz(&w, "way", account_signs_in(p) ? "sign-in" : "key");
        jw_kz(&w, "variable", p->env_key);
        jw_kbool(&w, "variable_is_set", s.is_set);
        jw_kbool(&w, "stored", s.is_stored);
        jw_kstr_null(&w, "email", s.email);
        jw_kz(&w, "expires", s.expires[0] ? s.expires : NULL);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    buf_addc(&r->out, '\n');
}

static void put_lines(struct auth_store *st, struct buf *out, bool is_numbered)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    int number = 0;
    for (size_t i = 0; i < program_n_providers; i++) {
        const struct provider *p = program_providers[i];
        if (!is_listed(p))
            continue;
        struct state_of s = find_state(st, &a, p);
        if (is_numbered)
            buf_addf(out, "%4d", ++number);
        buf_addf(out, "  %-17s %-24s ", p->name, p->label);
        if (s.is_set)
            buf_addf(out, "%s is set\n", p->env_key);
        else if (s.is_stored)
            buf_addf(out, "%s%s%.*s\n", account_signs_in(p) ? "signed in" : "key stored",
                     s.email.n ? " as " : "", STR_FMT(s.email));
        else
            buf_addf(out, "%s\n", account_signs_in(p) ? "sign in" : "needs a key");
    }
}

/* ---- the question which provider ---- */

static const struct provider *numbered(struct str word)
{
    int64_t wanted, number = 0;
    for (size_t i = 0; str_int(word, &wanted) && i < program_n_providers; i++)
        if (is_listed(program_providers[i]) && ++number == wanted)
            return program_providers[i];
    return NULL;
}

static bool ask_provider(struct login_args *a, struct error *err)
{
    AUTO(buf) struct buf list = BUF_INIT, path = BUF_INIT, line = BUF_INIT;
    engine_auth_path(&path);
    struct auth_store *st = auth_store_new(&auth_format_trivet, buf_str(&path), STR_NONE);
    put_lines(st, &list, true);
    auth_store_free(st);
    buf_addz(&list, "which one (number or name)? ");
    if (!tty_question_read(list.p, &line, 80, err))
        return false;
    struct str word = str_trim(buf_str(&line));
    if (!word.n)
        return error_set(err, ERR_INVALID, "no provider was named");
    a->provider = numbered(word);
    if (!a->provider)
        a->provider = accounts_find(word, err);
    return a->provider != NULL;
}

/* ---- signing in ---- */

static void on_login(void *arg, struct login *lg, enum login_event event)
{
    struct login_args *a = arg;
    if (event == LOGIN_EV_URL && !a->by_code) {
        fprintf(stderr,
                "open this address in a browser:\n\n%.*s\n\nIf the browser runs elsewhere, paste "
                "the address that it ends at here.\n",
                STR_FMT(login_url(lg)));
        tty_question_ask(&a->question, STDIN_FILENO);
    } else if (event == LOGIN_EV_DEVICE_CODE)
        shown_line(stderr, "type the code %.*s at %.*s", STR_FMT(login_user_code(lg)),
                   STR_FMT(login_url(lg)));
}

/* A pasted code, or the address with it. */
static void on_typed(void *arg, struct str bytes)
{
    struct login_args *a = arg;
    struct error err;
    buf_add(&a->typed, bytes);
    if (str_chr(buf_str(&a->typed), '\n') == SIZE_MAX)
        return;
    struct str line = str_trim(buf_str(&a->typed));
    if (line.n && tty_question_is_early(&a->question))
        fputs(tty_question_too_early, stderr);
    else if (line.n && !login_submit(a->login, line, &err))
        shown_line(stderr, "%s", err.text);
    buf_reset(&a->typed);
}

static bool sign_in_await(struct runner *r, struct login_args *a, struct error *err)
{
    const struct issuer *i = issuer_of(account_name(a->provider));
    struct login_options o = {.issuer = i, .way = LOGIN_BROWSER, .on_event = on_login, .arg = a};
    if (!i)
        return error_set(err, ERR_INVALID, "%s takes a key; there is no sign-in",
                         a->provider->label);
    if (!a->by_browser && !a->by_code)
        a->by_code = login_is_headless() && i->device_start.path;
    if (a->by_code && !i->device_start.path)
        return error_set(err, ERR_INVALID, "%s has no codes: use --browser", i->title);
    o.way = a->by_code ? LOGIN_DEVICE : LOGIN_BROWSER;
    a->login = login_start(r->loop, engine_auth(r->engine), &o, err);
    if (!a->login)
        return false;
    struct reader *in = isatty(STDIN_FILENO) && !a->by_code
                            ? reader_new(r->loop, dup(STDIN_FILENO), on_typed, a)
                            : NULL;
    bool ok = login_wait_await(a->login, err);
    if (in)
        reader_free(in);
    login_free(a->login);
    buf_clear(&a->typed);
    return ok;
}

static bool put_key_await(struct runner *r, struct login_args *a, struct error *err)
{
    struct error refused;
    if (account_put_key_await(r->engine, a->provider, buf_str(&a->key), &refused))
        return true;
    return error_set(err, refused.code, "%s refused the key, it was not kept: %s",
                     a->provider->label, refused.text);
}

static void report_done(struct runner *r, const struct login_args *a)
{
    const struct provider *p = a->provider;
    size_t n;
    const struct model *m = engine_models(r->engine, p, &r->arena, &n);
    if (a->is_key)
        fprintf(stderr, "the key for %s is kept in ~/.config/trivet/auth.json\n", p->label);
    else
        fprintf(stderr, "signed in at %s\n", p->label);
    if (is_set(p->env_key))
        fprintf(stderr, "note: %s is set and comes first\n", p->env_key);
    if (n)
        shown_line(stderr, "  try: trivet chat -m %s/%.*s", p->name, STR_FMT(m[0].id));
    else
        fprintf(stderr, "  try: trivet models %s\n", p->name);
}

static bool list_await(struct runner *r, void *state, struct error *err)
{
    struct login_args *a = state;
    (void)err;
    if (a->as_json)
        put_json(r);
    else
        put_lines(engine_auth(r->engine), &r->out, false);
    return true;
}

static bool login_await(struct runner *r, void *state, struct error *err)
{
    struct login_args *a = state;
    if (a->is_key ? !put_key_await(r, a, err) : !sign_in_await(r, a, err))
        return false;
    account_changed(r->engine, a->provider);
    report_done(r, a);
    return true;
}

/* Questions come before there is a loop: it would not see signals while a line is read. */
static bool ask(struct login_args *a, struct error *err)
{
    AUTO(buf) struct buf prompt = BUF_INIT;
    if (!a->provider && !ask_provider(a, err))
        return false;
    a->is_key = !account_signs_in(a->provider) && !a->by_browser && !a->by_code;
    if (!a->is_key)
        return true;
    if (!a->provider->env_key)
        return error_set(err, ERR_INVALID, "%s takes no key", a->provider->label);
    buf_addf(&prompt, "%s key (not shown): ", a->provider->label);
    return secret_read(prompt.p, &a->key, err);
}

/* The one word behind the command. */
static bool take_provider(int argc, char **argv, struct login_args *a, struct error *err)
{
    if (argc > 1)
        return error_set(err, ERR_INVALID,
                         "takes one provider; a key is not an argument, since other users can "
                         "read those: it is asked for, or comes from stdin");
    a->provider = argc ? accounts_find(str_of(argv[0]), err) : NULL;
    return argc == 0 || a->provider;
}

int login_run(const struct command_row *row, int argc, char **argv)
{
    struct login_args a = {0};
    struct error err;
    int exit_code;
    if (!command_read(row, &argc, argv, &a, &a.asks_help, &exit_code))
        return exit_code;
    if (!take_provider(argc, argv, &a, &err))
        return command_refuse(row, &err);
    if (a.is_list || a.as_json || (!a.provider && !isatty(STDIN_FILENO)))
        return runner_run(row, list_await, &a);
    exit_code = ask(&a, &err) ? runner_run(row, login_await, &a) : command_refuse(row, &err);
    if (a.key.p)
        explicit_bzero(a.key.p, a.key.n);
    buf_clear(&a.key);
    return exit_code;
}

/* ---- logout ---- */

static bool remove_await(struct runner *r, const struct provider *p, struct error *err)
{
    if (!logout_await(engine_auth(r->engine), account_name(p), err))
        return false;
    account_changed(r->engine, p);
    fprintf(stderr, "%s is forgotten\n", p->label);
    if (is_set(p->env_key))
        fprintf(stderr, "note: %s is still set\n", p->env_key);
    return true;
}

static bool logout_fn_await(struct runner *r, void *state, struct error *err)
{
    struct login_args *a = state;
    const struct provider *stored = NULL;
    size_t n = 0;
    for (size_t i = 0; !a->provider && i < program_n_providers; i++) {
        const struct provider *p = program_providers[i];
        if (!is_listed(p) || !find_state(engine_auth(r->engine), &r->arena, p).is_stored)
            continue;
        stored = p;
        n++;
        if (a->is_all && !remove_await(r, p, err))
            return false;
    }
    if (a->is_all)
        return true;
    if (a->provider)
        return find_state(engine_auth(r->engine), &r->arena, a->provider).is_stored
                   ? remove_await(r, a->provider, err)
                   : error_set(err, ERR_NOT_FOUND, "nothing is stored for %s", a->provider->label);
    if (n == 1)
        return remove_await(r, stored, err);
    r->exit_code = n ? 2 : 1;
    return error_set(err, ERR_INVALID, "%s",
                     n ? "name the provider, or --all (trivet login --list)" : "nothing is stored");
}

int logout_run(const struct command_row *row, int argc, char **argv)
{
    struct login_args a = {0};
    struct error err;
    int exit_code;
    if (!command_read(row, &argc, argv, &a, &a.asks_help, &exit_code))
        return exit_code;
    if (!take_provider(argc, argv, &a, &err))
        return command_refuse(row, &err);
    return runner_run(row, logout_fn_await, &a);
}
