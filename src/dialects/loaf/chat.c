/* SPDX-License-Identifier: MIT */
/* Saved chats in loaf's form (loaf 161-174): a line session_meta, then one line per message.
 *
 *     {"type":"session_meta","id":..,"title":..,"provider":..,"model":..,"thinkingLevel":..,
 *      "createdAt":..,"updatedAt":..,"messageCount":2}
 *     {"type":"message","index":0,"role":"user","text":"fix the build"}
 *     {"type":"message","index":1,"role":"assistant","text":"done"}
 *
 * While a turn runs, the engine's own records follow (engine/form.h); the next
 * session_meta has `trivet_settles`: from that message number on, the lines before it replace the
 * records.
 *
 * Titles follow the first prompt, not the last one as in loaf.  A summary is an
 * assistant message with a heading, as in loaf; as the first message of a file it is read as a
 * summary again.
 */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/state.h"

#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "engine/form.h"

#include <stdio.h>
#include <time.h>

enum { TITLE_MAX = 80, TITLE_CUT = 77 };

static const char summary_head[] = "## Conversation Summary\n\n";

void loaf_chat_place(struct loaf *lf, int64_t now_ms, char ret_id[UUID_LEN + 1], struct buf *path)
{
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm t;
    char dir[32], stamp[32];
    id_uuid(ret_id);
    gmtime_r(&seconds, &t);
    strftime(dir, sizeof dir, "%Y/%m/%d", &t);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &t);
    buf_addf(path, "%s/sessions/%s/rollout-%s%03d-%s.jsonl", lf->data_dir, dir, stamp,
             (int)(now_ms % 1000), ret_id);
}

struct str loaf_text_of(yyjson_val *v, const char *name)
{
    return utf8_trim(json_get_str(v, name));
}

/* ---- titles ---- */

void loaf_put_short(struct buf *out, struct str text)
{
    AUTO(buf) struct buf line = BUF_MAX(TITLE_MAX * 4); /* more than is shown */
    utf8_collapse(&line, text);
    struct str whole = buf_str(&line);
    if (utf8_utf16_len(whole) <= TITLE_MAX) {
        buf_add(out, whole);
        return;
    }
    buf_add(out, utf8_trim(utf8_cut_utf16(whole, TITLE_CUT)));
    buf_addz(out, "...");
}

/* Whether the text consists only of the labels of pictures. */
static bool is_labels(struct str text)
{
    struct str rest = utf8_trim(text);
    while (str_starts(rest, STR("[Image "))) {
        size_t end = str_chr(rest, ']');
        if (end == SIZE_MAX)
            return false;
        rest = utf8_trim(str_from(rest, end + 1));
    }
    return rest.n == 0;
}

static void put_title_of(struct buf *out, const struct message *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str text = message_text_of(&a, m);
    for (size_t b = 0; is_labels(text) && b < m->n_blocks; b++)
        if (m->blocks[b].kind == BLOCK_IMAGE) {
            struct str name = arena_fmt(&a, "image: %.*s", STR_FMT(path_base(m->blocks[b].alt)));
            loaf_put_short(out, name);
            return;
        }
    loaf_put_short(out, text);
}

void loaf_put_title(struct buf *out, const struct message *all, size_t n)
{
    size_t begin = out->n;
    for (size_t i = 0; i < n && out->n == begin; i++) {
        if (all[i].role == ROLE_SUMMARY)
            buf_addz(out, "compressed conversation");
        else if (all[i].role == ROLE_USER)
            put_title_of(out, &all[i]);
    }
    if (out->n == begin)
        buf_addz(out, "untitled chat");
}

/* ---- writing ---- */

/* 0, a time missing in the file, becomes now. */
void loaf_put_time(struct jw *w, const char *name, int64_t ms)
{
    char text[TIME_ISO_LEN + 1];
    time_iso(ms ? ms : time_now_ms(), text);
    jw_kz(w, name, text);
}

static bool is_rollout(struct str name)
{
    return str_starts(name, STR("rollout-")) && !str_ends(name, STR(".compact.events.jsonl"));
}

static void put_head(void *arg, struct session *s, const struct form_head *h, struct buf *out)
{
    AUTO(buf) struct buf title = BUF_INIT;
    struct loaf *lf = arg;
    struct session_info info;
    session_info(s, &info);
    struct str head, model = str_split(info.model, '/', &head);
    const struct provider *p = engine_find_provider(lf->sv->engine, head);
    struct str provider = p ? str_of(loaf_provider_name(p)) : head;
    struct jw w = JW(out);
    if (info.name.n)
        loaf_put_short(&title, info.name);
    else
        loaf_put_title(&title, h->first, h->n_first);
    jw_obj(&w);
    jw_kz(&w, "type", "session_meta");
    jw_kstr(&w, "id", info.id);
    jw_kstr(&w, "title", buf_str(&title));
    jw_kstr(&w, "provider", provider);
    jw_kstr(&w, "model", model);
    jw_kz(&w, "thinkingLevel", lf->thinking);
    if (str_is(provider, "openrouter"))
        jw_kz(&w, "openRouterProvider", lf->routing);
    loaf_put_time(&w, "createdAt", info.created_ms);
    loaf_put_time(&w, "updatedAt", info.modified_ms);
    jw_kint(&w, "messageCount", (int64_t)h->n);
    if (h->settles >= 0)
        jw_kint(&w, "trivet_settles", h->settles);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

static void put_message(void *arg, const struct message *m, size_t index, struct buf *out)
{
    (void)arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "type", "message");
    jw_kint(&w, "index", (int64_t)index);
    loaf_put_history_message(&w, &a, m);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

/* ---- reading ---- */

/* loaf's three, and the other providers of trivet. */
static bool is_provider(struct loaf *lf, struct str name)
{
    const char *known = loaf_known_provider(name);
    return (known && str_is(name, known)) || engine_find_provider(lf->sv->engine, name);
}

/* 0 for none: this may run on a worker thread, which must not use the clock. */
static int64_t time_of(yyjson_val *v, const char *name)
{
    int64_t ms;
    return time_from_iso(loaf_text_of(v, name), &ms) ? ms : 0;
}

static bool read_meta(struct loaf *lf, struct arena *a, yyjson_val *v, struct form_line *ret)
{
    struct str provider = loaf_text_of(v, "provider"), model = loaf_text_of(v, "model");
    struct str id = loaf_text_of(v, "id");
    if (!id.n || !loaf_text_of(v, "title").n || !model.n || !is_provider(lf, provider) ||
        !loaf_level_named(loaf_text_of(v, "thinkingLevel")))
        return false;
    ret->is_head = true;
    ret->id = arena_str(a, id);
    ret->model = arena_fmt(a, "%.*s/%.*s", STR_FMT(provider), STR_FMT(model));
    ret->created_ms = time_of(v, "createdAt");
    ret->modified_ms = time_of(v, "updatedAt");
    ret->settles = json_get_int(v, "trivet_settles", -1);
    return true;
}

/* False if v is not an ImageAttachment. */
static bool read_image(struct arena *a, yyjson_val *v, struct block *ret)
{
    struct str mime = loaf_text_of(v, "mimeType"), path = loaf_text_of(v, "path"), ignored, data;
    yyjson_val *size = json_get(v, "byteSize");
    if (!path.n || !mime.n || !yyjson_is_num(size) || yyjson_get_num(size) < 0 ||
        !loaf_data_url_read(a, loaf_text_of(v, "dataUrl"), &ignored, &data) || !data.n)
        return false;
    *ret = (struct block){
        .kind = BLOCK_IMAGE, .data = data, .mime = arena_lower(a, mime), .alt = arena_str(a, path)};
    return true;
}

static void add_images(struct arena *a, yyjson_val *list, struct message *m)
{
    size_t i, max;
    yyjson_val *v;
    struct block *blocks = arena_array(a, struct block, yyjson_arr_size(list) + 1);
    size_t n = m->n_blocks;
    if (n)
        blocks[0] = m->blocks[0];
    yyjson_arr_foreach(list, i, max, v)
        n += read_image(a, v, &blocks[n]);
    m->blocks = blocks;
    m->n_blocks = n;
}

static bool read_message(struct arena *a, yyjson_val *v, struct form_line *ret)
{
    struct str role = json_get_str(v, "role"), text = loaf_text_of(v, "text");
    struct str head = str_of(summary_head);
    bool is_user = str_is(role, "user"), is_first = json_get_int(v, "index", -1) == 0;
    if (!is_user && !str_is(role, "assistant"))
        return false;
    struct message m = message_text(a, is_user ? ROLE_USER : ROLE_ASSISTANT, arena_str(a, text));
    if (!is_user && is_first && str_starts(text, head)) {
        m = message_text(a, ROLE_SUMMARY, arena_str(a, str_from(text, head.n)));
        m.first_kept = STR("message:0"); /* keeps all messages if it is not the first */
    }
    if (is_user && yyjson_is_arr(json_get(v, "images")))
        add_images(a, json_get(v, "images"), &m);
    ret->message = m;
    return text.n || m.n_blocks > 1;
}

static bool read_line(void *arg, struct arena *a, yyjson_val *v, struct form_line *ret)
{
    struct str type = loaf_text_of(v, "type");
    if (str_is(type, "session_meta"))
        return read_meta(arg, a, v, ret);
    return str_is(type, "message") && read_message(a, v, ret);
}

const struct file_form loaf_form = {
    .read = read_line, .is_name = is_rollout, .put_head = put_head, .put_message = put_message};
