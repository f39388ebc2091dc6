/* SPDX-License-Identifier: MIT */
/* sessions/create, resume, rename, delete, close, transcript (kward 91-171); list has its own file.
 */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/path.h"
#include "base/time.h"

#include <sys/stat.h>

static void put_members(struct jw *w, const struct kw_session *s)
{
    struct session_info info;
    struct stat st;
    session_info(s->file->session, &info);
    jw_kz(w, "id", s->id);
    jw_kstr(w, "persistentId", info.id);
    jw_kstr(w, "path", info.path);
    jw_kstr(w, "workspaceRoot", info.workspace);
    jw_kstr(w, "cwd", info.cwd);
    jw_kstr_null(w, "name", info.name);
    kw_put_time(w, "createdAt", info.created_ms);
    if (stat(info.path.p, &st) == 0)
        kw_put_time(w, "modifiedAt",
                    (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
    else
        jw_knull(w, "modifiedAt");
    jw_kstr_null(w, "parentId", info.parent_id);
    jw_kstr_null(w, "parentPath", info.parent_path);
    jw_kstr(w, "activePersonaLabel", kw_persona_label(s->file->kward));
}

void kw_put_session(struct jw *w, const struct kw_session *s)
{
    jw_obj(w);
    put_members(w, s);
    jw_obj_end(w);
}

/* ---- resume ---- */

struct resume_params {
    struct str path, workspace_root;
};

static const struct row resume_params_rows[] = {
    ROW_AS(resume_params, path, "path", T_STR, NEEDED | PATH, "the session file"),
    ROW_AS(resume_params, workspace_root, "workspaceRoot", T_STR, NULLABLE | PATH,
           "what a relative path is relative to"),
    ROW_END,
};

/* Opens the file unless it is open; the workspace is that of its header. */
static struct kw_file *open_file_await(struct kward *k, struct str path, struct str root,
                                       struct error *err)
{
    struct kw_file *f = kw_find_file(k, path);
    struct session_spec spec = {.workspace = root,
                                .path = path,
                                .model = str_of(k->slug),
                                .effort = str_of(k->effort),
                                .mode = MODE_FULL,
                                .settings = &k->settings};
    struct session_report report;
    struct session_info info;
    if (f)
        return f;
    if (!path_exists(path)) {
        error_set(err, ERR_NOT_FOUND, "Session file not found: %.*s", STR_FMT(path));
        return NULL;
    }
    struct session *s = session_open_await(k->sv->engine, &spec, &report, err);
    if (!s && err->code == ERR_CORRUPT)
        error_set(err, ERR_CORRUPT, "Invalid Kward session file: %.*s", STR_FMT(path));
    if (!s)
        return NULL;
    session_info(s, &info);
    if (!path_is_dir(info.workspace)) {
        error_set(err, ERR_NOT_FOUND, "Workspace root is not an existing directory: %.*s",
                  STR_FMT(info.workspace));
        session_close(s);
        return NULL;
    }
    f = kw_find_file(k, path); /* another request may have opened it meanwhile */
    if (f)
        session_close(s);
    return f ? f : kw_add_file(k, s);
}

static struct kw_session *resume_path_await(struct request *rq, struct str path, struct str root,
                                            struct error *err)
{
    struct kward *k = rq->dialect;
    struct kw_file *f = open_file_await(k, path, root, err);
    if (!f)
        return NULL;
    struct str id = arena_str(&rq->arena, str_of(kw_add_session(k, f)->id));
    kw_clean_up(k, f);
    struct kw_session *s = kw_find_fresh_await(k, id, err); /* the file may have changed */
    if (s)
        kw_remember(k, s);
    return s;
}

static bool resume_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct resume_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(buf) struct buf root = BUF_INIT, path = BUF_INIT;
    if (!kw_workspace(p->workspace_root, &root, err))
        return false;
    path_absolute(&path, buf_str(&root), p->path);
    struct kw_session *s = resume_path_await(rq, buf_str(&path), buf_str(&root), err);
    if (!s)
        return false;
    kw_put_session(w, s);
    kw_announce_waiting(k, s);
    return true;
}

const struct method kw_sessions_resume = {
    .name = "sessions/resume",
    .params = resume_params_rows,
    .params_size = sizeof(struct resume_params),
    .result = kw_session_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = resume_await,
    .about = "Opens a session file under a new RPC id.",
    .errors = "Session file not found: <path>; Invalid Kward session file: <path>",
};

/* ---- create ---- */

struct create_params {
    struct str workspace_root, name;
    yyjson_val *resume_last;
};

static const struct row create_params_rows[] = {
    ROW_AS(create_params, workspace_root, "workspaceRoot", T_STR, NULLABLE | PATH,
           "a directory; where the process was started when absent"),
    ROW_AS(create_params, name, "name", T_STR, NULLABLE | TRIM | NOT_BLANK, "display name"),
    ROW_AS(create_params, resume_last, "resumeLast", T_ANY, NULLABLE,
           "false: always a new session; otherwise the last session of the workspace is resumed "
           "when the config has sessions.auto_resume and no name is given"),
    ROW_END,
};

/* The last session of the workspace, or NULL: then a new one is made. */
static struct kw_session *resume_last_await(struct request *rq, struct str root)
{
    const struct create_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(buf) struct buf dir = BUF_INIT;
    struct str path;
    struct error ignored;
    bool is_refused = yyjson_is_bool(p->resume_last) && !yyjson_get_bool(p->resume_last);
    if (is_refused || !k->auto_resumes || p->name.n)
        return NULL;
    kw_session_dir(&dir, k, root);
    return kw_remembered(buf_str(&dir), &rq->arena, &path)
               ? resume_path_await(rq, path, root, &ignored)
               : NULL;
}

static void put_resumed(struct request *rq, struct jw *w, struct kw_session *s)
{
    size_t n;
    struct message *messages = session_messages(s->file->session, &rq->arena, &n);
    jw_obj(w);
    put_members(w, s);
    jw_kbool(w, "resumed", true);
    jw_key(w, "messages");
    kw_put_messages(w, messages, n);
    jw_obj_end(w);
    kw_announce_waiting(rq->dialect, s);
}

static bool create_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct create_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(buf) struct buf root = BUF_INIT, path = BUF_INIT;
    char id[UUID_LEN + 1];
    if (!kw_workspace(p->workspace_root, &root, err))
        return false;
    struct kw_session *last = resume_last_await(rq, buf_str(&root));
    if (last) {
        put_resumed(rq, w, last);
        return true;
    }
    id_uuid(id);
    struct session_spec spec = {
        .workspace = buf_str(&root),
        .id = str_of(id),
        .model = str_of(k->slug),
        .effort = str_of(k->effort),
        .name = p->name,
        .mode = MODE_FULL,
        .created_ms = time_now_ms(),
        .settings = &k->settings,
    };
    kw_session_path(&path, k, spec.workspace, spec.created_ms, spec.id);
    spec.path = buf_str(&path);
    struct session *session = session_new(k->sv->engine, &spec, err);
    if (!session)
        return false;
    struct kw_session *s = kw_add_session(k, kw_add_file(k, session));
    kw_clean_up(k, s->file);
    kw_remember(k, s);
    kw_put_session(w, s);
    return true;
}

const struct method kw_sessions_create = {
    .name = "sessions/create",
    .params = create_params_rows,
    .params_size = sizeof(struct create_params),
    .result = kw_session_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = create_await,
    .about =
        "Makes a session with its file; the files of unused sessions are removed until they are used.",
    .errors = "Workspace root is not an existing directory: <path>",
};

/* ---- rename ---- */

struct rename_params {
    struct str session_id;
    yyjson_val *name;
};

static const struct row rename_params_rows[] = {
    ROW_AS(rename_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(rename_params, name, "name", T_ANY, NEEDED, "display name; blank or null clears it"),
    ROW_END,
};

static bool rename_session_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct rename_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    struct str name = str_trim(json_str(p->name));
    if (!s)
        return false;
    if (!yyjson_is_str(p->name) && !yyjson_is_null(p->name))
        return error_set(err, ERR_INVALID, "name must be a string or null");
    if (!session_set_name_await(s->file->session, name.n ? name : STR_NONE, err))
        return false;
    s = kw_find_session(rq->dialect, p->session_id, err);
    if (!s)
        return false;
    if (!name.n)
        kw_doubt(s->file);
    kw_put_session(w, s);
    return true;
}

const struct method kw_sessions_rename = {
    .name = "sessions/rename",
    .params = rename_params_rows,
    .params_size = sizeof(struct rename_params),
    .result = kw_session_rows,
    .lane = LANE_MAIN,
    .how = RUN_FIBER,
    .run = rename_session_await,
    .about = "Names a session, or clears its name.",
    .errors = "Unknown session: <id>",
};

/* ---- delete, close, transcript ---- */

static const struct row delete_rows[] = {
    ROW_OUT("deleted", T_BOOL, NEEDED, "always true"),
    ROW_OUT("path", T_STR, NEEDED, "the removed file"),
    ROW_END,
};

static bool delete_session(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    struct session_info info;
    if (!s)
        return false;
    session_info(s->file->session, &info);
    struct str path = arena_str(&rq->arena, info.path);
    if (!kw_delete_file(rq->dialect, s->file, err))
        return false;
    jw_obj(w);
    jw_kbool(w, "deleted", true);
    jw_kstr(w, "path", path);
    jw_obj_end(w);
    return true;
}

const struct method kw_sessions_delete = {
    .name = "sessions/delete",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = delete_rows,
    .lane = LANE_MAIN,
    .run = delete_session,
    .about = "Closes a session and removes its file; its turns end as canceled.",
    .errors = "Unknown session: <id>",
};

static const struct row close_rows[] = {
    ROW_OUT("closed", T_BOOL, NEEDED, "always true"),
    ROW_END,
};

static bool close_session(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    if (!s)
        return false;
    kw_close_session(rq->dialect, s);
    jw_obj(w);
    jw_kbool(w, "closed", true);
    jw_obj_end(w);
    return true;
}

const struct method kw_sessions_close = {
    .name = "sessions/close",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = close_rows,
    .lane = LANE_MAIN,
    .run = close_session,
    .about = "Closes a session; its turns end as canceled, an unused file is removed.",
    .errors = "Unknown session: <id>",
};

static const struct row transcript_rows[] = {
    ROW_OUT("session", T_OBJ, NEEDED, "the session", .rows = kw_session_rows),
    ROW_OUT("messages", T_ARR, NEEDED, "the conversation, format tauren-transcript-v1",
            .items = T_OBJ, .variants = kw_messages),
    ROW_END,
};

static bool transcript_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *s = kw_find_fresh_await(rq->dialect, p->session_id, err);
    if (!s)
        return false;
    jw_obj(w);
    jw_key(w, "session");
    kw_put_session(w, s);
    jw_key(w, "messages");
    if (!kw_put_messages_await(rq, p->session_id, w, err))
        return false;
    jw_obj_end(w);
    return true;
}

const struct method kw_sessions_transcript = {
    .name = "sessions/transcript",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = transcript_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = transcript_await,
    .about = "The session and its whole conversation.",
    .errors = "Unknown session: <id>",
};
