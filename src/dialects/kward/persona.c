/* SPDX-License-Identifier: MIT */
/* Personas and auto-resume: their settings, and the file that names the last session of a
 * workspace.
 *
 *     "personas": {"active": "sam", "sam": {"label": "Samantha", "prompt": "You are Samantha."}}
 *     "sessions": {"auto_resume": true}
 *     <session directory>/last_session.json    {"path": ..., "timestamp": ...}
 */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/path.h"
#include "base/time.h"
#include "context/config.h"

/* The first of these members that is a non-blank string. */
static struct str first_text(yyjson_val *obj, const char *const *names)
{
    for (; *names; names++) {
        struct str text = str_trim(json_get_str(obj, *names));
        if (text.n)
            return text;
    }
    return STR("");
}

static void replace(char **slot, struct str text)
{
    free(*slot);
    *slot = text.n ? str_dup(text) : NULL;
}

void kw_take_persona(struct kward *k, yyjson_val *config)
{
    static const char *const which[] = {"active", "default", NULL};
    static const char *const labels[] = {"label", "name", NULL};
    static const char *const texts[] = {"prompt", "text", "instructions", NULL};
    yyjson_val *all = json_get(config, "personas");
    struct str id = first_text(all, which);
    AUTO_FREE char *name = str_dup(id);
    yyjson_val *persona = id.n ? json_get(all, name) : NULL;
    struct str label = first_text(persona, labels);
    struct str text = yyjson_is_str(persona) ? str_trim(json_str(persona))
                                             : first_text(persona, texts);
    replace(&k->persona_label, persona ? label.n ? label : id : STR(""));
    replace(&k->persona_text, text);
    k->auto_resumes = json_get_bool(json_get(config, "sessions"), "auto_resume", false);
}

struct str kw_persona_label(const struct kward *k)
{
    return k->persona_label ? str_of(k->persona_label) : STR("Assistant");
}

/* ---- the last session ---- */

void kw_remember(struct kward *k, const struct kw_session *s)
{
    AUTO(buf) struct buf place = BUF_INIT, text = BUF_INIT;
    struct jw w = JW(&text);
    struct session_info info;
    session_info(s->file->session, &info);
    kw_session_dir(&place, k, info.workspace);
    buf_addz(&place, "/last_session.json");
    jw_obj(&w);
    jw_kstr(&w, "path", info.path);
    kw_put_time(&w, "timestamp", time_now_ms());
    jw_obj_end(&w);
    buf_addc(&text, '\n');
    config_write_soon(k->sv->loop, buf_str(&place), buf_str(&text));
}

bool kw_remembered(struct str dir, struct arena *a, struct str *ret_path)
{
    AUTO(buf) struct buf place = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    buf_addf(&place, "%.*s/last_session.json", STR_FMT(dir));
    if (!config_read(buf_str(&place), &j, &ignored)) {
        j = JSON_INIT;
        return false;
    }
    *ret_path = arena_str(a, json_get_str(j.root, "path"));
    return ret_path->n && path_exists(*ret_path);
}
