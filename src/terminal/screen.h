/* SPDX-License-Identifier: MIT */
/* The window of the chat: text that is finished goes into the terminal's own scrollback and is
 * printed once; below it a few live rows are drawn again whenever they change.
 *
 *     the answer, printed once, wrapped        scrollback
 *     by the terminal ...                      open row: more text goes on here
 *     - 14s  bash make test   esc stops        live rows
 *     > typed text_                            (the cursor is in one of them)
 *     model  tokens  mode
 *
 * All moves are relative to the cursor, and nothing is cleared but the live rows: what stood on the
 * terminal before stays.  A paragraph is one line to the terminal: its rows are filled with blanks
 * to the last column and go on without a line end, so that a copy is whole and a resize flows it
 * anew.  Live rows down to the cursor are at most LIVE_COLUMNS wide, so that a narrower window does
 * not wrap them and the moves stay right.
 *
 * The functions only fill `out`; one frame is one write, between the marks of a synchronized
 * update.  A plain screen has no live rows and emits no escape sequence at all.
 */
#ifndef TRIVET_TERMINAL_SCREEN_H
#define TRIVET_TERMINAL_SCREEN_H

#include "base/buf.h"

enum { LIVE_COLUMNS = 60, LIVE_ROWS = 24 };

/* A style: a colour of the terminal's own (0: the usual one) and attributes. */
enum {
    STYLE_RED = 1,
    STYLE_GREEN,
    STYLE_YELLOW,
    STYLE_BLUE,
    STYLE_MAGENTA,
    STYLE_CYAN,
    STYLE_COLOUR = 15, /* mask */
    STYLE_BOLD = 16,
    STYLE_DIM = 32,
    STYLE_ITALIC = 64,
    STYLE_UNDER = 128,
    STYLE_STRIKE = 256,
};

struct live_rows { /* the rows to be shown; filled anew for each frame */
    struct {
        struct buf text; /* with style sequences */
        int width;
    } rows[LIVE_ROWS];
    int n;
    int cursor_row, cursor_col;
};

struct text_run { /* text that waits to be laid out */
    size_t n;
    unsigned style;
    bool is_code; /* breaks nowhere */
    int hang;     /* columns of blanks that the rows have which continue it */
    char *link;   /* address that it leads to, or NULL */
};

struct screen {
    int cols, lines;
    bool is_plain, has_colour, has_links;
    struct buf out;     /* what is to be written */
    struct buf pending; /* text of the runs */
    struct text_run *runs;
    size_t n_runs, runs_capacity;
    bool is_whole; /* the pending text ends here: a word at its end is one */
    int hang;      /* of the text that is added */
    char *link;    /* the same */
    /* the open row */
    int col;     /* where its text ends; 0: there is none */
    bool is_cut; /* a resize moved it: text goes on in a new row */
    int gap;     /* blanks that wait for the next word */
    unsigned style;
    const char *open; /* the link that what is printed belongs to */
    int blank;        /* empty rows at the end of what was printed, at most 2 */
    /* what is drawn */
    struct live_rows live, next;
};

void screen_init(struct screen *s, int cols, int lines, bool is_plain, bool has_colour);
void screen_clear(struct screen *s);

/* ---- text ---- */

/* Text that flows; a line end ends its row.  It must be fit to be shown (base/shown.h). */
void screen_text(struct screen *s, unsigned style, struct str text);
void screen_code(struct screen *s, unsigned style, struct str text);
void screen_print(struct screen *s, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A thin line of so many columns, which ends no row. */
void screen_line(struct screen *s, int columns);
/* Pending text of another screen, from a byte on; it breaks nowhere. */
void screen_copy(struct screen *s, const struct screen *from, size_t at, size_t n);
/* The text that follows leads to this address; STR_NONE: nowhere.  Addresses other than those of
 * the web, and those that would have to be escaped, lead nowhere. */
void screen_link(struct screen *s, struct str address);
/* Drops the pending text. */
void screen_drop_text(struct screen *s);
/* The next text begins a row. */
void screen_fresh(struct screen *s);
/* The same, with an empty row before it unless there is one. */
void screen_paragraph(struct screen *s);
/* Something waits to be printed. */
bool screen_has_text(const struct screen *s);

/* ---- the live rows ---- */

/* Begins a row of s->next; live_put adds to it what fits in the window. */
void live_row(struct screen *s);
void live_put(struct screen *s, unsigned style, struct str text);
void live_print(struct screen *s, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Columns left in the row, which may become so wide. */
int live_left(const struct screen *s, int columns);
void live_cursor(struct screen *s); /* the cursor is at the end of what was put */

/* Lays the text out, draws s->next where it differs, and empties it for the next frame. */
void screen_frame(struct screen *s);
void screen_resize(struct screen *s, int cols, int lines);
/* Takes the live rows away; the cursor is at the beginning of an empty row. */
void screen_leave(struct screen *s);
/* The terminal was used by something else: the live rows are drawn below it. */
void screen_forget(struct screen *s);

#endif
