/* SPDX-License-Identifier: MIT */
/* sessions/export: the conversation as Markdown or HTML (kward 158-166). */
#include "context/export.h"

#include "base/path.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

struct export_params {
    struct str session_id, path, format;
};

static const struct row export_params_rows[] = {
    ROW_AS(export_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(export_params, path, "path", T_STR, NULLABLE | TRIM | PATH,
           "relative to the workspace; beside the session file when absent"),
    ROW_AS(export_params, format, "format", T_STR, NULLABLE | TRIM,
           "markdown (also md) or html; markdown when absent"),
    ROW_END,
};

static const struct row export_rows[] = {
    ROW_OUT("path", T_STR, NEEDED, "the file that was written"),
    ROW_OUT("format", T_STR, NEEDED, "markdown or html"),
    ROW_END,
};

static bool read_format(struct str given, bool *ret_html, struct error *err)
{
    *ret_html = str_ieq(given, STR("html"));
    if (*ret_html || !given.n || str_ieq(given, STR("markdown")) || str_ieq(given, STR("md")))
        return true;
    return error_set(err, ERR_INVALID, "Unsupported export format: %.*s",
                     STR_FMT(str_cut(given, 100)));
}

static bool export_session_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct export_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct session_info info;
    bool is_html;
    size_t n;
    if (!s || !read_format(p->format, &is_html, err))
        return false;
    const struct message *m = session_whole_await(s->file->session, &rq->arena, &n);
    s = kw_find_session(rq->dialect, p->session_id, err);
    if (!s)
        return false;
    session_info(s->file->session, &info);
    size_t stem = info.path.n - (str_ends(info.path, STR(".jsonl")) ? 6 : 0);
    if (p->path.n)
        path_absolute(&path, info.workspace, p->path);
    else
        buf_addf(&path, "%.*s%s", (int)stem, info.path.p, is_html ? ".html" : ".md");
    (is_html ? export_html : export_markdown)(&text, STR("Kward Session"), m, n);
    if (!export_write_await(buf_str(&path), info.workspace, path_dir(info.path), buf_str(&text),
                            err))
        return false;
    jw_obj(w);
    jw_kstr(w, "path", buf_str(&path));
    jw_kz(w, "format", is_html ? "html" : "markdown");
    jw_obj_end(w);
    return true;
}

const struct method kw_sessions_export = {
    .name = "sessions/export",
    .params = export_params_rows,
    .params_size = sizeof(struct export_params),
    .result = export_rows,
    .lane = LANE_MAIN,
    .how = RUN_FIBER,
    .run = export_session_await,
    .about = "Writes the whole conversation as Markdown or HTML.",
    .errors = "Unsupported export format: <x>; export path outside workspace or session directory",
};
