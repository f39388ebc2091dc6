/* SPDX-License-Identifier: MIT */
/* Findings are collected first and then written, as lines or as JSON:
 *
 *     section --> findings: ok, missing (can be done without), risky, broken
 *
 * Broken: a part of trivet cannot work; one such finding makes the exit code 1.
 */
#include "cli/doctor.h"

#include "auth/keys.h"
#include "base/install.h"
#include "base/json.h"
#include "base/module.h"
#include "base/path.h"
#include "base/shown.h"
#include "engine/engine.h"
#include "sandbox/sandbox.h"
#include "tools/url.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *const finding_names[] = {"ok", "missing", "risky", "broken"};

struct doctor {
    bool as_json;
    bool has_section;
    size_t n_broken, n_risky;
    struct buf out;
    struct jw w;
};

/* ---- output ---- */

static void begin_section(struct doctor *d, const char *title)
{
    if (d->as_json && d->has_section)
        jw_arr_end(&d->w);
    if (d->as_json)
        jw_karr(&d->w, title);
    else
        buf_addf(&d->out, "%s%s\n", d->has_section ? "\n" : "", title);
    d->has_section = true;
}

void doctor_say(struct doctor *d, enum finding finding, const char *name, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    d->n_broken += finding == FOUND_BROKEN;
    d->n_risky += finding == FOUND_RISKY;
    if (!d->as_json) {
        buf_addf(&d->out, "  %-8s %-17s ", finding_names[finding], name);
        shown_add(&d->out, buf_str(&text), false);
        buf_addc(&d->out, '\n');
        return;
    }
    jw_obj(&d->w);
    jw_kz(&d->w, "name", name);
    jw_kz(&d->w, "finding", finding_names[finding]);
    jw_kstr(&d->w, "text", buf_str(&text));
    jw_obj_end(&d->w);
}

/* ---- the kernel and the sandbox ---- */

static bool is_required(void)
{
    struct str word = str_trim(str_of(getenv("TRIVET_SANDBOX")));
    enum sandbox_kind kind;
    return word.n && !sandbox_kind_named(word, &kind);
}

static void report_kernel(struct doctor *d, const struct sandbox_report *r)
{
    struct utsname u;
    begin_section(d, "kernel");
    if (uname(&u) == 0)
        doctor_say(d, FOUND_GOOD, "version", "%s %s on %s", u.sysname, u.release, u.machine);
    if (r->landlock_abi)
        doctor_say(d, FOUND_GOOD, "landlock", "ABI %d", r->landlock_abi);
    else
        doctor_say(d, FOUND_RISKY, "landlock", "not there, or switched off at boot");
    doctor_say(d, r->can[SANDBOX_CALLS] ? FOUND_GOOD : FOUND_RISKY, "seccomp", "%s",
               r->can[SANDBOX_CALLS] ? "system calls can be filtered"
                                     : "system calls cannot be filtered");
    doctor_say(d, r->can[SANDBOX_MOUNTS] ? FOUND_GOOD : FOUND_RISKY, "namespaces", "%s",
               r->can[SANDBOX_MOUNTS] ? (geteuid() == 0 ? "mount namespaces can be made"
                                                        : "user and mount namespaces can be made")
                                      : "no user and mount namespaces for this user");
}

/* Each ability of the sandbox.  With TRIVET_SANDBOX=require no command runs if one is missing. */
static void report_sandbox(struct doctor *d, const struct sandbox_report *r)
{
    begin_section(d, "sandbox");
    for (int i = 0; i < SANDBOX_N_ABILITIES; i++) {
        enum sandbox_ability a = (enum sandbox_ability)i;
        if (r->can[i])
            doctor_say(d, FOUND_GOOD, sandbox_ability_name(a), "enforced");
        else
            doctor_say(d, is_required() ? FOUND_BROKEN : FOUND_RISKY, sandbox_ability_name(a),
                       "not enforced: %s", sandbox_ability_loss(a));
    }
    doctor_say(d, r->has_loopback ? FOUND_GOOD : FOUND_RISKY, "loopback", "%s",
               r->has_loopback
                   ? "commands have a localhost of their own"
                   : "commands cannot open ports, and the network is off or on: no list "
                     "of hosts");
}

/* Web tools and plugins run outside of the sandbox. */
static void report_outside(struct doctor *d)
{
    const char *net = getenv("TRIVET_SANDBOX_NET");
    bool is_on = net && (strcmp(net, "on") == 0 || strcmp(net, "1") == 0);
    if (is_required() && !is_on)
        doctor_say(d, FOUND_GOOD, "outside", "web tools and plugins are refused");
    else
        doctor_say(d, FOUND_GOOD, "outside",
                   "web tools and plugins are not confined, also when the network is off; "
                   "TRIVET_SANDBOX=require refuses them then");
}

/* ---- what is installed ---- */

const struct doctor_module doctor_modules[] = {
    {"net", "libcurl4", "requests to models and pages"},
    {"index", "libsqlite3-0", "the list of sessions, and searching them"},
    {"search", "libpcre2-8-0", "searching files"},
    {"web", "libwslay1", "the HTTP server"},
    {NULL, NULL, NULL},
};

/* Says what the file is for and where it is. */
static void report_file(struct doctor *d, enum install_kind kind, const char *name,
                        const char *serves)
{
    AUTO(buf) struct buf file = BUF_INIT, path = BUF_INIT, refused = BUF_INIT;
    buf_addf(&file, "trivet-%s%s", name, kind == INSTALL_MODULE ? ".so" : "");
    if (install_find(kind, file.p, &path, &refused))
        doctor_say(d, FOUND_GOOD, name, "%s (%s)", serves, path.p);
    else if (refused.n)
        doctor_say(d, FOUND_RISKY, name, "not used: other users can change %s", refused.p);
    else
        doctor_say(d, FOUND_MISSING, name, "%s is not installed; trivet does its work, slower",
                   file.p);
}

static void report_modules(struct doctor *d)
{
    begin_section(d, "modules");
    for (const struct doctor_module *m = doctor_modules; m->name; m++) {
        struct error err;
        if (module_open(m->name, m->package, &err))
            report_file(d, INSTALL_MODULE, m->name, m->serves);
        else
            doctor_say(d, FOUND_BROKEN, m->name, "%s", err.text);
    }
    report_file(d, INSTALL_HELPER, "hold", "starts commands");
}

/* The first executable of this name in PATH. */
static bool find_program(const char *name, struct buf *ret)
{
    struct str rest = str_of(getenv("PATH")), dir;
    while (rest.p) {
        rest = str_split(rest, ':', &dir);
        buf_reset(ret);
        buf_addf(ret, "%.*s/%s", STR_FMT(dir), name);
        if (dir.n && access(ret->p, X_OK) == 0 && !path_is_dir(buf_str(ret)))
            return true;
    }
    return false;
}

static void report_programs(struct doctor *d)
{
    static const struct {
        const char *name;
        enum finding when_missing;
        const char *loss;
    } programs[] = {
        {"bash", FOUND_BROKEN, "no command can be run"},
        {"git", FOUND_MISSING, "models cannot look at the history of a project"},
        {"node", FOUND_MISSING, "loaf offers no JavaScript tools, unless there is bun"},
        {"bun", FOUND_MISSING, "node is used instead"},
        {"rg", FOUND_MISSING, "trivet searches by itself"},
    };
    begin_section(d, "programs");
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        if (find_program(programs[i].name, &path))
            doctor_say(d, FOUND_GOOD, programs[i].name, "%s", path.p);
        else
            doctor_say(d, programs[i].when_missing, programs[i].name, "not in PATH: %s",
                       programs[i].loss);
    }
}

/* ---- files ---- */

static void report_directory(struct doctor *d, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        doctor_say(d, FOUND_GOOD, "not yet", "%s is made at first need", path);
    else if (!S_ISDIR(st.st_mode))
        doctor_say(d, FOUND_BROKEN, "no directory", "%s is something else", path);
    else if (access(path, R_OK | W_OK | X_OK) != 0)
        doctor_say(d, FOUND_BROKEN, "locked", "%s cannot be written by this user", path);
    else if (st.st_mode & 022)
        doctor_say(d, FOUND_RISKY, "open", "%s (mode %04o) can be changed by others: chmod go-w",
                   path, st.st_mode & 07777u);
    else
        doctor_say(d, FOUND_GOOD, "directory", "%s (mode %04o)", path, st.st_mode & 07777u);
}

/* False when there is no such file. */
static bool report_credentials(struct doctor *d, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    if (st.st_mode & 077)
        doctor_say(d, FOUND_RISKY, "open", "%s (mode %04o) is open to others: chmod 600", path,
                   st.st_mode & 07777u);
    else
        doctor_say(d, FOUND_GOOD, "file", "%s (mode %04o)", path, st.st_mode & 07777u);
    return true;
}

static void report_files(struct doctor *d)
{
    AUTO(sandbox_paths) struct sandbox_paths dirs = {0}, secrets = {0};
    sandbox_own_places(&dirs, &secrets);
    begin_section(d, "directories");
    for (size_t i = 0; i < dirs.n; i++)
        report_directory(d, dirs.v[i]);
    begin_section(d, "credentials");
    bool has_file = false;
    for (size_t i = 0; i < secrets.n; i++)
        has_file |= report_credentials(d, secrets.v[i]);
    if (!has_file)
        doctor_say(d, FOUND_GOOD, "none", "no key or sign-in is stored");
}

/* ---- models ---- */

static void report_provider(struct doctor *d, struct engine *e, const struct provider *p)
{
    const char *set = p->env_key && keys_find(p->env_key).n ? p->env_key : NULL;
    if (!p->needs_key)
        doctor_say(d, FOUND_GOOD, p->name, "needs no key");
    else if (set)
        doctor_say(d, FOUND_GOOD, p->name, "%s is set", set);
    else if (engine_has_key(e, p))
        doctor_say(d, FOUND_GOOD, p->name,
                   "a stored key or sign-in, or an address that needs none");
    else
        doctor_say(d, FOUND_MISSING, p->name, "no key: set %s", p->env_key ? p->env_key : "one");
}

static void report_server(struct doctor *d, const struct provider *p)
{
    struct str text = keys_base_url(p->env_base, p->base_url);
    struct error ignored;
    struct url url; /* only its origin is printed: the rest may hold a secret */
    if (!url_parse(text, &url, &ignored))
        doctor_say(d, FOUND_BROKEN, p->name, "%s is not an address", p->env_base);
    else if (!keys_is_local(text))
        doctor_say(d, FOUND_MISSING, p->name, "%s is not on this machine, not tested", p->env_base);
    else if (doctor_asks_server(text))
        doctor_say(d, FOUND_GOOD, p->name, "answers at %.*s", STR_FMT(url.origin));
    else
        doctor_say(d, FOUND_MISSING, p->name, "no answer at %.*s", STR_FMT(url.origin));
}

static void report_models(struct doctor *d, const struct provider *const *providers, size_t n)
{
    struct loop *l = loop_new();
    struct engine *e = engine_new(l, providers, n);
    begin_section(d, "models");
    for (size_t i = 0; i < n; i++)
        if (!providers[i]->is_local)
            report_provider(d, e, providers[i]);
    begin_section(d, "servers");
    for (size_t i = 0; i < n; i++)
        if (providers[i]->is_local)
            report_server(d, providers[i]);
    engine_free(e);
    loop_free(l);
}

/* ---- all of it ---- */

static void report_end(struct doctor *d)
{
    if (d->as_json) {
        jw_arr_end(&d->w);
        jw_kbool(&d->w, "usable", d->n_broken == 0);
        jw_obj_end(&d->w);
        buf_addc(&d->out, '\n');
    } else if (d->n_broken) {
        buf_addf(&d->out, "\n%zu broken\n", d->n_broken);
    } else {
        buf_addf(&d->out, "\nusable%s\n", d->n_risky ? ", with the risks named above" : "");
    }
}

struct doctor_options {
    bool as_json, asks_help;
};
const struct option doctor_options[] = {
    OPTION(doctor_options, as_json, OPT_FLAG, "json", 0, NULL, "as JSON"),
    OPTION(doctor_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

int doctor_run(const struct command_row *row, int argc, char **argv)
{
    struct doctor_options o = {0};
    struct sandbox_report report;
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    if (argc > 0) {
        struct error err;
        error_set(&err, ERR_INVALID, "takes no words");
        return command_refuse(row, &err);
    }
    struct doctor d = {.as_json = o.as_json};
    d.w = JW(&d.out);
    if (d.as_json)
        jw_obj(&d.w);
    sandbox_report(&report);
    report_kernel(&d, &report);
    report_sandbox(&d, &report);
    report_outside(&d);
    report_modules(&d);
    report_programs(&d);
    report_files(&d);
    report_models(&d, program_providers, program_n_providers);
    report_end(&d);
    bool is_written = command_print(buf_str(&d.out)) == 0;
    buf_clear(&d.out);
    return d.n_broken || !is_written;
}
