/* SPDX-License-Identifier: MIT */
/* Any files as memories, and any input of a user: "CORE\n%%\nSOFT\n%%\nINPUT".  What can be read
 * can be listed, added to, promoted, forgotten and saved, and is then read back with as many
 * records.
 */
#include "context/memory.h"
#include "fuzz_place.h"

static void add(struct memory *m, enum memory_layer layer, struct str text)
{
    struct error err = ERROR_INIT;
    struct memory_new n = {
        .layer = layer, .text = text, .scope = STR("global"), .source = "x", .confidence = 0.5};
    PROMISE(memory_add(m, &n, &err) || err.code == ERR_INVALID);
}

static void retrieve(struct memory *m, struct str input)
{
    struct retrieval r = {0};
    memory_retrieve(m, input, STR("/w"), "memory", &r);
    fuzz_expect_json(buf_str(&r.json));
    buf_clear(&r.json);
    buf_clear(&r.block);
}

static void change_all(struct memory *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t i, max, n = yyjson_mut_arr_size(m->soft);
    yyjson_mut_val *record;
    struct str *ids = arena_array(&a, struct str, n + 1);
    yyjson_mut_arr_foreach(m->soft, i, max, record) {
        yyjson_mut_val *id = yyjson_mut_obj_get(record, "id");
        ids[i] = yyjson_mut_is_str(id) ? str_n(yyjson_mut_get_str(id), yyjson_mut_get_len(id))
                                       : STR("");
    }
    for (i = 0; i < n; i++) {
        if (i % 2)
            memory_promote(m, ids[i]);
        else
            memory_forget(m, ids[i]);
    }
    memory_forget(m, STR("core_001"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), core = fuzz_part(&rest);
    struct str soft = fuzz_part(&rest), found[8];
    AUTO(memory) struct memory m = MEMORY_INIT;
    AUTO(memory) struct memory again = MEMORY_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err = ERROR_INIT;
    if (!utf8_is_valid(rest)) /* what a user says came as JSON */
        return 0;
    fuzz_write("core.json", core, 0600);
    fuzz_write("soft.jsonl", soft, 0600);
    size_t n_found = memory_candidates(rest, &a, found, ARRAY_LEN(found));
    if (!memory_open(&m, fuzz_dir(), true, &err)) {
        PROMISE(err.code != ERR_NONE && err.text[0]);
        return 0;
    }
    retrieve(&m, rest);
    for (size_t i = 0; i < n_found; i++)
        add(&m, i % 2 ? MEMORY_CORE : MEMORY_SOFT, found[i]);
    add(&m, MEMORY_CORE, rest);
    change_all(&m);
    retrieve(&m, rest);
    PROMISE(memory_save(&m, &err));
    PROMISE(memory_open(&again, fuzz_dir(), false, &err));
    PROMISE(yyjson_mut_arr_size(m.core) == yyjson_mut_arr_size(again.core));
    PROMISE(yyjson_mut_arr_size(m.soft) == yyjson_mut_arr_size(again.soft));
    return 0;
}
