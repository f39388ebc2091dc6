/* SPDX-License-Identifier: MIT */
/* workspace/validate and workspace/info. */
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/path.h"

#include <fcntl.h>
#include <unistd.h>

struct workspace_params {
    struct str workspace_root;
};

static const struct row workspace_params_rows[] = {
    ROW_AS(workspace_params, workspace_root, "workspaceRoot", T_STR, NULLABLE | PATH,
           "a directory; where the process was started when absent"),
    ROW_END,
};

static const struct row validate_rows[] = {
    ROW_OUT("root", T_STR, NEEDED, "the real path"),
    ROW_END,
};

static const struct row info_rows[] = {
    ROW_OUT("root", T_STR, NEEDED, "the real path"),
    ROW_OUT("basename", T_STR, NEEDED, "its last part"),
    ROW_OUT("writable", T_BOOL, NEEDED, "whether it is writable"),
    ROW_END,
};

static bool validate(struct request *rq, struct jw *w, struct error *err)
{
    const struct workspace_params *p = rq->args;
    AUTO(buf) struct buf root = BUF_INIT;
    if (!kw_workspace(p->workspace_root, &root, err))
        return false;
    jw_obj(w);
    jw_kstr(w, "root", buf_str(&root));
    jw_obj_end(w);
    return true;
}

const struct method kw_workspace_validate = {
    .name = "workspace/validate",
    .params = workspace_params_rows,
    .params_size = sizeof(struct workspace_params),
    .result = validate_rows,
    .lane = LANE_MAIN,
    .run = validate,
    .about = "The real path of a workspace.",
    .errors = "Workspace root is not an existing directory: <path>",
};

static bool info(struct request *rq, struct jw *w, struct error *err)
{
    const struct workspace_params *p = rq->args;
    AUTO(buf) struct buf root = BUF_INIT;
    if (!kw_workspace(p->workspace_root, &root, err))
        return false;
    jw_obj(w);
    jw_kstr(w, "root", buf_str(&root));
    jw_kstr(w, "basename", path_base(buf_str(&root)));
    jw_kbool(w, "writable", faccessat(AT_FDCWD, root.p, W_OK, AT_EACCESS) == 0);
    jw_obj_end(w);
    return true;
}

const struct method kw_workspace_info = {
    .name = "workspace/info",
    .params = workspace_params_rows,
    .params_size = sizeof(struct workspace_params),
    .result = info_rows,
    .lane = LANE_MAIN,
    .run = info,
    .about = "Real path, name and writability of a workspace.",
    .errors = "Workspace root is not an existing directory: <path>",
};
