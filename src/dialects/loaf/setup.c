/* SPDX-License-Identifier: MIT */
/* onboarding.status, onboarding.complete, debug.set. */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

/* ---- onboarding ---- */

const struct row loaf_onboarding_rows[] = {
    ROW_OUT("completed", T_BOOL, NEEDED, "onboarding is done"),
    ROW_END,
};

void loaf_put_onboarding(struct loaf *lf, struct jw *w)
{
    jw_obj(w);
    jw_kbool(w, "completed", lf->is_onboarded);
    jw_obj_end(w);
}

static bool onboarding_status(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    loaf_put_onboarding(rq->dialect, w);
    return true;
}

const struct method loaf_onboarding_status = {
    .name = "onboarding.status",
    .result = loaf_onboarding_rows,
    .lane = LANE_MAIN,
    .run = onboarding_status,
    .about = "Whether onboarding is done; ignores params.",
};

static bool onboarding_complete_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    bool was_onboarded = lf->is_onboarded;
    lf->is_onboarded = true;
    if (!loaf_home_save_await(lf, err)) {
        lf->is_onboarded = was_onboarded;
        return false;
    }
    loaf_say_state_changed(lf, STR("onboarding_complete"), NULL);
    loaf_put_onboarding(lf, w);
    return true;
}

const struct method loaf_onboarding_complete = {
    .name = "onboarding.complete",
    .result = loaf_onboarding_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = onboarding_complete_await,
    .about = "Stores that onboarding is done; ignores params.",
};

/* ---- debug.set ---- */

struct debug_params {
    bool super_debug;
};

static const struct row debug_rows[] = {
    ROW(debug_params, super_debug, T_BOOL, NEEDED, "send session.debug events"),
    ROW_END,
};

static const struct row debug_result[] = {
    ROW_OUT("super_debug", T_BOOL, NEEDED, "as it is now"),
    ROW_END,
};

static bool debug_set(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct loaf *lf = rq->dialect;
    const struct debug_params *p = rq->args;
    lf->settings.sends_requests = p->super_debug;
    jw_obj(w);
    jw_kbool(w, "super_debug", p->super_debug);
    jw_obj_end(w);
    return true;
}

const struct method loaf_debug_set = {
    .name = "debug.set",
    .params = debug_rows,
    .params_size = sizeof(struct debug_params),
    .params_needed = true,
    .result = debug_result,
    .lane = LANE_MAIN,
    .run = debug_set,
    .about = "Turns session.debug events of all sessions on or off.",
};
