/* SPDX-License-Identifier: MIT */
#include "tools/picture.h"

#include "base/base64.h"
#include "tools/program.h"
#include "tools/read.h"

enum { PDF_MS = 30000, PDF_BYTES = 1 << 20, FILE_BYTES = 64 << 20 };

/* ---- looking ---- */

static int64_t number(struct str s, size_t at, size_t n, bool is_little)
{
    int64_t v = 0;
    if (at + n > s.n)
        return 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)s.p[is_little ? at + n - 1 - i : at + i];
    return v;
}

/* The sizes stand in the first frame header; segments before it are passed over. */
static void look_jpeg(struct str s, struct picture *ret)
{
    for (size_t at = 2; at + 9 < s.n && (unsigned char)s.p[at] == 0xff;) {
        unsigned char kind = (unsigned char)s.p[at + 1];
        bool is_frame = kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 &&
                        kind != 0xcc;
        if (is_frame) {
            ret->height = number(s, at + 5, 2, false);
            ret->width = number(s, at + 7, 2, false);
            return;
        }
        at += kind == 0xff ? 1 : 2 + (size_t)number(s, at + 2, 2, false);
    }
}

static void look_webp(struct str s, struct picture *ret)
{
    if (s.n < 30)
        return;
    if (memcmp(s.p + 12, "VP8X", 4) == 0) {
        ret->width = 1 + number(s, 24, 3, true);
        ret->height = 1 + number(s, 27, 3, true);
    } else if (memcmp(s.p + 12, "VP8L", 4) == 0) {
        int64_t bits = number(s, 21, 4, true);
        ret->width = 1 + (bits & 0x3fff);
        ret->height = 1 + (bits >> 14 & 0x3fff);
    } else {
        ret->width = number(s, 26, 2, true) & 0x3fff;
        ret->height = number(s, 28, 2, true) & 0x3fff;
    }
}

bool picture_look(struct str s, struct picture *ret)
{
    *ret = (struct picture){0};
    if (str_starts(s, STR("\x89PNG\r\n\x1a\n"))) {
        ret->mime = "image/png";
        ret->width = number(s, 16, 4, false);
        ret->height = number(s, 20, 4, false);
    } else if (str_starts(s, STR("GIF87a")) || str_starts(s, STR("GIF89a"))) {
        ret->mime = "image/gif";
        ret->width = number(s, 6, 2, true);
        ret->height = number(s, 8, 2, true);
    } else if (str_starts(s, STR("\xff\xd8\xff"))) {
        ret->mime = "image/jpeg";
        look_jpeg(s, ret);
    } else if (s.n >= 12 && str_starts(s, STR("RIFF")) && memcmp(s.p + 8, "WEBP", 4) == 0) {
        ret->mime = "image/webp";
        look_webp(s, ret);
    }
    return ret->mime != NULL;
}

/* ---- reading ---- */

/* A command line that makes the picture smaller, with a program that is there. */
static void put_shrinking(const struct tool_cx *cx, struct str name, struct buf *out)
{
    static const struct {
        const char *program, *format;
    } ways[] = {
        {"magick", "magick '%.*s' -resize '%dx%d>' smaller.png"},
        {"convert", "convert '%.*s' -resize '%dx%d>' smaller.png"},
        {"ffmpeg", "ffmpeg -i '%.*s' -vf 'scale=min(%d\\,iw):min(%d\\,ih)' smaller.png"},
    };
    AUTO(buf) struct buf path = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (!program_find(ways[i].program, cx->env, &path))
            continue;
        buf_addz(out, "\nThis makes a smaller one: ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        buf_addf(out, ways[i].format, STR_FMT(name), PICTURE_SIDE, PICTURE_SIDE);
#pragma GCC diagnostic pop
        return;
    }
    buf_addz(out, "\nNo program that makes it smaller (magick, convert, ffmpeg) is installed.");
}

static void take_picture(const struct tool_cx *cx, const struct picture *p, struct str bytes,
                         struct str name, struct tool_result *ret)
{
    buf_addf(&ret->text, "%.*s is a picture (%s, ", STR_FMT(name), p->mime);
    if (p->width)
        buf_addf(&ret->text, "%lld x %lld pixels, ", (long long)p->width, (long long)p->height);
    buf_addf(&ret->text, "%zu bytes)", bytes.n);
    if (cx->is_blind) {
        buf_addz(&ret->text, "; this model does not take pictures");
    } else if (bytes.n > PICTURE_BYTES || MAX(p->width, p->height) > PICTURE_SIDE) {
        buf_addf(&ret->text, "; too large to be shown (at most %d pixels a side, %d bytes)",
                 PICTURE_SIDE, PICTURE_BYTES);
        put_shrinking(cx, name, &ret->text);
    } else {
        base64_put(&ret->picture, bytes);
        ret->picture_mime = p->mime;
    }
    buf_addc(&ret->text, '\n');
}

static bool read_pdf_await(struct tool_cx *cx, struct str path, struct str name,
                           struct tool_result *ret, struct error *err)
{
    AUTO(program_run) struct program_run run = PROGRAM_RUN_INIT;
    AUTO(buf) struct buf program = BUF_INIT, text = BUF_INIT;
    AUTO_FREE char *file = str_dup(path), *cwd = str_dup(cx->root);
    if (!program_find("pdftotext", cx->env, &program))
        return tool_fail(ret,
                         "%.*s is a PDF file; its text cannot be read here: pdftotext is not "
                         "installed",
                         STR_FMT(name));
    const char *const argv[] = {program.p, "-layout", file, "-", NULL};
    struct program_options o = {
        .argv = argv, .env = cx->env, .cwd = cwd, .timeout_ms = PDF_MS, .head_max = PDF_BYTES};
    if (!program_await(cx, &o, &run, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "%.*s is a PDF file; pdftotext failed: %s", STR_FMT(name), err->text);
    if (run.end.exit_code != 0)
        return tool_fail(ret, "%.*s is a PDF file; pdftotext cannot read it", STR_FMT(name));
    ring_put(&run.out, &text);
    buf_addf(&ret->text, "%.*s is a PDF file; its text:\n", STR_FMT(name));
    cut_text(buf_str(&text), tool_cut_size(cx, false), cx->saved, &ret->text);
    return true;
}

bool picture_read_await(struct tool_cx *cx, struct str path, struct str name,
                        struct tool_result *ret, bool *ret_is_known, struct error *err)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct picture p;
    *ret_is_known = false;
    if (!read_resolved_await(cx->loop, path, FILE_BYTES, &bytes, err))
        return err->code != ERR_CANCELED;
    *ret_is_known = true;
    if (picture_look(buf_str(&bytes), &p)) {
        take_picture(cx, &p, buf_str(&bytes), name, ret);
        return true;
    }
    if (str_starts(buf_str(&bytes), STR("%PDF-")))
        return read_pdf_await(cx, path, name, ret, err);
    *ret_is_known = false;
    return true;
}
