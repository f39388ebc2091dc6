/* SPDX-License-Identifier: MIT */
/* The data is not synced: a source file that was just edited is not worth stopping the loop for,
 * and the rename keeps either the old or the new text whole.
 */
#include "tools/write.h"

#include "base/id.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BOM STR("\xef\xbb\xbf")

void write_aside_name(struct str path, struct buf *out)
{
    char hex[13];
    id_hex(hex, 12);
    buf_addf(out, "%.*s/.trivet-%s.tmp", STR_FMT(path_dir(path)), hex);
}

static int open_temporary(struct str path, unsigned mode, struct buf *ret_path)
{
    for (int i = 0; i < 10; i++) {
        buf_reset(ret_path);
        write_aside_name(path, ret_path);
        int fd = path_open_straight(ret_path->p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Mode and owner of the file that is replaced.  A foreign owner that cannot be kept is no reason to
 * refuse; a mode is, for it may be what keeps others out. */
static bool copy_rights(int fd, const struct stat *old)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
        return fchmod(fd, old->st_mode & 0777) == 0;
    return fchmod(fd, old->st_mode & 07777) == 0;
}

/* In a directory that takes no new names, the file itself may still be writable. */
static bool write_in_place(const char *path, struct str bytes, struct error *err)
{
    int fd = path_open_straight(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(err, errno, "cannot write %s", path);
    bool ok = path_write_all(fd, bytes);
    int number = errno;
    if (close(fd) != 0 && ok) {
        number = errno;
        ok = false;
    }
    return ok || error_errno(err, number, "cannot write %s", path);
}

bool write_aside(struct str path, struct str bytes, const struct stat *old, struct buf *ret_aside,
                 struct error *err)
{
    AUTO(buf) struct buf temporary = BUF_INIT;
    int fd = open_temporary(path, old ? 0600 : 0644, &temporary);
    if (fd < 0)
        return error_errno(err, errno, "cannot write %.*s", STR_FMT(path));
    bool ok = path_write_all(fd, bytes) && (!old || copy_rights(fd, old));
    int number = errno;
    if (close(fd) != 0 && ok) {
        number = errno;
        ok = false;
    }
    if (ok)
        return buf_add(ret_aside, buf_str(&temporary));
    path_unlink_straight(temporary.p);
    return error_errno(err, number, "cannot write %.*s", STR_FMT(path));
}

bool write_bytes(struct str path, struct str bytes, struct error *err)
{
    struct stat old;
    struct error why;
    AUTO(buf) struct buf temporary = BUF_INIT;
    AUTO_FREE char *z = str_dup(path);
    bool exists = path_stat_straight(z, &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        return error_set(err, ERR_INVALID, "%s is not a regular file", z);
    if (exists && path_access_straight(z, W_OK) != 0)
        return error_errno(err, errno, "cannot write %s", z);
    if (!write_aside(path, bytes, exists ? &old : NULL, &temporary, &why)) {
        if (exists && why.status == EACCES)
            return write_in_place(z, bytes, err);
        *err = why;
        return false;
    }
    if (path_rename_straight(temporary.p, z) == 0)
        return true;
    int number = errno;
    path_unlink_straight(temporary.p);
    return error_errno(err, number, "cannot write %s", z);
}

struct shape shape_of(struct str text)
{
    /* Two marks, or a line with two \r, could not be put back: such texts are changed as they are.
     */
    struct shape s = {.has_bom = str_starts(text, BOM) && !str_starts(str_from(text, 3), BOM)};
    size_t n_lf = 0, n_crlf = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '\n')
            continue;
        n_lf++;
        n_crlf += i > 0 && text.p[i - 1] == '\r' && (i == 1 || text.p[i - 2] != '\r');
    }
    s.is_crlf = n_lf > 0 && n_lf == n_crlf;
    return s;
}

void shape_off(struct shape s, struct str text, struct buf *out)
{
    if (s.has_bom && str_starts(text, BOM))
        text = str_from(text, 3);
    if (!s.is_crlf) {
        buf_add(out, text);
        return;
    }
    for (;;) {
        size_t at = str_find(text, STR("\r\n"));
        buf_add(out, str_cut(text, at));
        if (at == SIZE_MAX)
            return;
        buf_addc(out, '\n');
        text = str_from(text, at + 2);
    }
}

void shape_on(struct shape s, struct str text, struct buf *out)
{
    if (s.has_bom && !str_starts(text, BOM))
        buf_add(out, BOM);
    if (!s.is_crlf) {
        buf_add(out, text);
        return;
    }
    for (;;) {
        size_t at = str_chr(text, '\n');
        struct str line = str_cut(text, at);
        buf_add(out, line);
        if (at == SIZE_MAX)
            return;
        buf_addz(out, str_ends(line, STR("\r")) ? "\n" : "\r\n");
        text = str_from(text, at + 1);
    }
}
