/* SPDX-License-Identifier: MIT */
/* The rows at the bottom: what waits, what runs, the editor, the footer. */
#include "base/path.h"
#include "base/shown.h"
#include "base/time.h"
#include "terminal/complete.h"
#include "terminal/width.h"

enum { WAITING_ROWS = 3 };

/* Text of others, on one row of at most so many columns. */
static void put_cut(struct chat *c, unsigned style, struct str text, int columns)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    shown_add(&shown, str_cut(text, 4096), false);
    struct str cut = width_cut(buf_str(&shown), MIN(columns, live_left(&c->screen, LIVE_COLUMNS)));
    live_put(&c->screen, style, cut);
}

static void draw_waiting(struct chat *c)
{
    int n = 0;
    for (struct waiting_text *w = c->waiting; w; w = w->next, n++) {
        if (n == WAITING_ROWS) {
            live_row(&c->screen);
            live_print(&c->screen, STYLE_DIM, "  ...");
            break;
        }
        live_row(&c->screen);
        live_print(&c->screen, STYLE_DIM, "%s",
                   !w->is_late   ? "> "
                   : w->is_steer ? "  next: "
                                 : "  queued: ");
        put_cut(c, w->is_late ? STYLE_DIM : STYLE_BOLD, str_of(w->text), LIVE_COLUMNS);
    }
}

static void draw_status(struct chat *c)
{
    static const char wheel[] = "-\\|/";
    struct screen *s = &c->screen;
    int64_t seconds = (time_mono_us() - c->started_us) / 1000000;
    if (!c->is_busy)
        return;
    live_row(s);
    live_print(s, STYLE_YELLOW, "%c ", wheel[seconds & 3]);
    if (seconds >= 60)
        live_print(s, 0, "%lldm%02llds", (long long)(seconds / 60), (long long)(seconds % 60));
    else
        live_print(s, 0, "%llds", (long long)seconds);
    live_print(s, 0, "  ");
    const char *idle = c->is_thinking ? "thinking" : c->in_answer ? "answering" : "working";
    const char *doing = c->asked ? "waiting for your answer" : c->doing ? c->doing : idle;
    static const char way_out[] = "  esc stops";
    int room = live_left(s, LIVE_COLUMNS) - (int)strlen(way_out);
    put_cut(c, 0, str_of(c->is_stopping ? "stopping" : doing), MIN(36, MAX(room, 0)));
    live_print(s, STYLE_DIM, "%s", way_out);
    if (c->progress) {
        live_row(s);
        live_print(s, 0, "  ");
        put_cut(c, STYLE_DIM, str_of(c->progress), LIVE_COLUMNS);
    }
}

/* ---- the editor ---- */

struct drawing {
    struct chat *c;
    int n, cursor_row, cursor_col, first, max; /* rows; the first shown and how many */
    int at;
    bool is_counting;
};

static void on_row(void *arg, struct str shown, bool has_cursor, int col)
{
    struct drawing *d = arg;
    struct screen *s = &d->c->screen;
    int row = d->at++;
    if (d->is_counting) {
        d->n = row + 1;
        if (has_cursor)
            d->cursor_row = row;
        return;
    }
    if (row < d->first || row >= d->first + d->max)
        return;
    live_row(s);
    live_put(s, STYLE_BOLD | STYLE_GREEN, row == 0 ? STR("> ") : STR("  "));
    live_put(s, 0, shown);
    if (has_cursor) {
        live_cursor(s);
        s->next.cursor_col = 2 + col;
    }
}

static void draw_editor(struct chat *c)
{
    struct drawing d = {.c = c, .is_counting = true};
    c->editor.width = MIN(c->screen.cols - 1, LIVE_COLUMNS) - 2;
    editor_rows(&c->editor, on_row, &d);
    d.max = MAX(2, MIN(8, c->screen.lines - 6));
    d.first = d.cursor_row >= d.max ? d.cursor_row - d.max + 1 : 0;
    d.at = 0;
    d.is_counting = false;
    editor_rows(&c->editor, on_row, &d);
}

static void draw_search(struct chat *c)
{
    struct screen *s = &c->screen;
    live_row(s);
    live_print(s, STYLE_YELLOW, "search: ");
    put_cut(c, 0, buf_str(&c->search), 30);
    live_cursor(s);
    if (c->found != SIZE_MAX) {
        live_row(s);
        live_print(s, 0, "  ");
        put_cut(c, STYLE_DIM, str_of(c->editor.history[c->found]), LIVE_COLUMNS);
    }
}

/* ---- the footer ---- */

static void put_tokens(struct buf *out, int64_t n)
{
    if (n < 1000)
        buf_addf(out, "%lld", (long long)n);
    else if (n < 100000)
        buf_addf(out, "%.1fk", (double)n / 1e3);
    else if (n < 1000000)
        buf_addf(out, "%lldk", (long long)(n / 1000));
    else
        buf_addf(out, "%.1fM", (double)n / 1e6);
}

static void put_context(struct buf *out, const struct chat *c, bool is_wide)
{
    if (!c->context && !c->window)
        return;
    buf_addz(out, is_wide ? "  context " : "  ");
    put_tokens(out, c->context);
    if (c->window) {
        buf_addz(out, is_wide ? " of " : "/");
        put_tokens(out, c->window);
    }
    if (c->window && is_wide)
        buf_addf(out, " (%lld%%)", (long long)(c->context * 100 / c->window));
}

static void put_usage(struct buf *out, const struct usage *u)
{
    if (!u->input)
        return;
    buf_addz(out, "  in ");
    put_tokens(out, u->input);
    buf_addz(out, " out ");
    put_tokens(out, u->output);
    if (u->cache_read)
        buf_addf(out, " cached %lld%%", (long long)(u->cache_read * 100 / u->input));
}

static void put_place(struct buf *out, const struct chat *c)
{
    struct str home = path_home(), place = c->launch.workspace;
    if (!place.n)
        return;
    buf_addz(out, "  ");
    if (home.n > 1 && path_is_inside(home, place)) {
        buf_addc(out, '~');
        place = str_from(place, home.n);
    }
    shown_add(out, place, false);
    if (c->branch[0]) {
        buf_addc(out, ' ');
        shown_add(out, str_of(c->branch), false);
    }
}

static void draw_footer(struct chat *c)
{
    struct screen *s = &c->screen;
    AUTO(buf) struct buf rest = BUF_INIT, model = BUF_INIT;
    struct session_info info = {0};
    bool is_wide = s->cols >= 110;
    live_row(s);
    if (c->hint) {
        live_print(s, STYLE_YELLOW, "%s", c->hint);
        return;
    }
    if (c->launch.session)
        session_info(c->launch.session, &info);
    else
        info.model = c->options.model.p ? c->options.model : STR("..."); /* not opened yet */
    shown_add(&model, info.model.p ? info.model : STR("no model"), false);
    live_put(s, 0, buf_str(&model));
    if (info.effort.n)
        live_print(s, 0, " %.*s", STR_FMT(info.effort));
    put_context(&rest, c, is_wide);
    if (is_wide)
        put_usage(&rest, &info.usage);
    if (info.usage.cost > 0)
        buf_addf(&rest, "  $%.*f", info.usage.cost < 0.1 ? 3 : 2, info.usage.cost);
    buf_addf(&rest, "  %s", c->options.mode->name);
    put_place(&rest, c);
    if (is_wide)
        buf_addf(&rest, "  %.8s", c->launch.name.p ? c->launch.name.p : "");
    live_put(s, STYLE_DIM, buf_str(&rest));
}

void live_draw(struct chat *c)
{
    draw_waiting(c);
    draw_status(c);
    c->pane->draw(c);
    if (c->pane->has_popup)
        draw_footer(c);
}

/* ---- panes ---- */

static void edit_draw(struct chat *c)
{
    draw_editor(c);
    complete_draw(c);
}

const struct pane pane_edit = {.draw = edit_draw, .key = input_edit_key, .has_popup = true};
const struct pane pane_search = {.draw = draw_search, .key = input_search_key, .has_popup = true};
