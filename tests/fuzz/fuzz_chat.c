/* SPDX-License-Identifier: MIT */
/* A saved chat of loaf, of any bytes (loaf 161-174): read with the form, and every message that was
 * understood has a role, and can be written and titled.
 */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/state.h"
#include "engine/form.h"
#include "engine/history.h"
#include "engine/engine_impl.h"
#include "fuzz_place.h"
#include "providers/provider.h"

static const struct provider provider = {.name = "openai"};
static const struct provider *const providers[] = {&provider};
static struct engine engine = {.providers = providers, .n_providers = 1};
static struct server server = {.engine = &engine};
static struct loaf loaf = {.sv = &server, .thinking = "off"};

static void view(struct history *h, const struct session_settings *st)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf title = BUF_INIT;
    size_t n;
    struct message *m = history_view(h, st, h->marks, (struct history_range){0, h->n}, &a, &n);
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        struct jw w = JW(&out);
        jw_obj(&w);
        loaf_put_history_message(&w, &a, &m[i]);
        jw_obj_end(&w);
        fuzz_expect_json(buf_str(&out));
    }
    loaf_put_title(&title, m, n);
    PROMISE(title.n > 0 && utf8_is_valid(buf_str(&title)));
    PROMISE(utf8_utf16_len(buf_str(&title)) <= 80);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct session_settings st = {.form = &loaf_form, .context_arg = &loaf};
    struct history h = {0};
    struct header hd;
    struct error err = ERROR_INIT;
    char path[256];
    fuzz_write("chat.jsonl", str_n((const char *)data, n), 0600);
    if (history_load(&h, fuzz_path(path, "chat.jsonl"), &st, &hd, &err)) {
        PROMISE(hd.id.n > 0 && hd.n_bad >= 0);
        history_close_calls(&h, NULL);
        PROMISE(history_tokens(&h) >= 0);
        view(&h, &st);
    } else
        PROMISE(err.code != ERR_NONE && err.text[0]);
    history_clear(&h);
    return 0;
}
