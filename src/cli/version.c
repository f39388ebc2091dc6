/* SPDX-License-Identifier: MIT */
/* `trivet version`: for people and for reports of faults. */
#include "base/module.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/doctor.h"

struct version_options {
    bool as_json, asks_help;
};
const struct option version_options[] = {
    OPTION(version_options, as_json, OPT_FLAG, "json", 0, NULL, "as JSON"),
    OPTION(version_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

static void put_text(struct buf *out)
{
    buf_addf(out, "trivet " TRIVET_VERSION "\nprogram  %s\n", path_program());
    for (const struct doctor_module *m = doctor_modules; m->name; m++) {
        struct error err;
        bool works = module_open(m->name, m->package, &err) != NULL;
        buf_addf(out, "module   trivet-%s: %s\n", m->name, works ? "works" : err.text);
    }
}

static void put_json(struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "version", TRIVET_VERSION);
    jw_kz(&w, "program", path_program());
    jw_karr(&w, "modules");
    for (const struct doctor_module *m = doctor_modules; m->name; m++) {
        struct error err;
        bool works = module_open(m->name, m->package, &err) != NULL;
        jw_obj(&w);
        jw_kz(&w, "name", m->name);
        jw_kbool(&w, "works", works);
        jw_kz(&w, "error", works ? NULL : err.text);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

int version_run(const struct command_row *row, int argc, char **argv)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct version_options o = {0};
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    if (argc > 0) {
        struct error err;
        error_set(&err, ERR_INVALID, "takes no words");
        return command_refuse(row, &err);
    }
    (o.as_json ? put_json : put_text)(&out);
    return command_print(buf_str(&out));
}
