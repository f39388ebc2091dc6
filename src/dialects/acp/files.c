/* SPDX-License-Identifier: MIT */
/* Files through the editor, where it offers that: fs/read_text_file has what is in a buffer and not
 * saved yet, fs/write_text_file changes the buffer.  A read that fails is done from the disk. */
#include "dialects/acp/methods.h"

#include "base/path.h"

enum { ANSWER_MS = 30000 }; /* an editor that is silent for so long does not answer any more */

struct asking { /* on the stack of its fiber */
    struct wait done;
    bool ok;
    struct buf *ret; /* of a read, else NULL */
    struct error err;
};

static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct asking *k = arg;
    struct str content = json_get_str(answer->result, "content");
    k->ok = answer->result && (!k->ret || content.p);
    if (k->ok && k->ret)
        buf_add(k->ret, content);
    else if (!k->ok)
        error_set(&k->err, answer->code == ACP_NOT_FOUND ? ERR_NOT_FOUND : ERR_IO,
                  "the editor says: %.*s",
                  STR_FMT(answer->message.n ? str_cut(answer->message, 300) : STR("no content")));
    wait_wake(&k->done);
}

/* Sends the request; text: STR_NONE for a read. */
static bool ask_await(struct acp_session *s, const char *method, struct str path, struct str text,
                      struct buf *ret, struct error *err)
{
    struct acp *a = s->acp;
    struct asking k = {.done = WAIT_INIT, .ret = ret};
    if (a->is_deaf || a->is_ending)
        return error_set(err, ERR_CANCELED, "the client is gone");
    int64_t id = rpc_begin_ask(a->rpc, method, &a->out, &a->w, on_answer, &k);
    jw_obj(&a->w);
    jw_kz(&a->w, "sessionId", s->id);
    jw_kstr(&a->w, "path", path);
    jw_kstr_opt(&a->w, "content", text);
    jw_obj_end(&a->w);
    rpc_end_ask(a->rpc, &a->w);
    if (!wait_timed_await(a->sv->loop, &k.done, ANSWER_MS, err)) {
        acp_withdraw(a, id);
        return false;
    }
    if (!k.ok)
        *err = k.err;
    return k.ok;
}

struct looking {
    struct str path;
    bool is_there;
};

static void look(void *arg)
{
    struct looking *k = arg;
    k->is_there = path_exists(k->path);
}

/* Editors show an error for a file that is not there: they are asked for those on the disk alone.
 */
static bool read_await(void *arg, struct str path, struct buf *ret, struct error *err)
{
    const struct acp_session *s = arg;
    struct looking k = {.path = path};
    work_through_await(s->acp->sv->loop, look, &k);
    if (!k.is_there)
        return error_set(err, ERR_NOT_FOUND, "there is no file %.*s", STR_FMT(str_cut(path, 300)));
    return ask_await(arg, "fs/read_text_file", path, STR_NONE, ret, err);
}

static bool write_await(void *arg, struct str path, struct str text, struct error *err)
{
    return ask_await(arg, "fs/write_text_file", path, str_n(text.n ? text.p : "", text.n), NULL,
                     err);
}

void acp_use_files(struct acp_session *s)
{
    const struct acp_client *c = &s->acp->client;
    s->files = (struct client_files){
        .read_await = c->reads_files ? read_await : NULL,
        .write_await = c->writes_files ? write_await : NULL,
        .arg = s,
    };
    s->settings.files = c->reads_files || c->writes_files ? &s->files : NULL;
}
