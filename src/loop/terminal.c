/* SPDX-License-Identifier: MIT */
#include "loop/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_resize(int master, int cols, int rows, struct error *err)
{
    struct winsize size = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};
    return ioctl(master, TIOCSWINSZ, &size) == 0 ||
           error_errno(err, errno, "cannot set the size of a terminal");
}

static bool slave_open(int master, int *ret_slave, struct error *err)
{
    char name[100];
    if (grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, name, sizeof name) != 0)
        return error_errno(err, errno, "cannot set up a terminal");
    *ret_slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return *ret_slave >= 0 || error_errno(err, errno, "cannot open %s", name);
}

bool terminal_open(int cols, int rows, int *ret_master, int *ret_slave, struct error *err)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0)
        return error_errno(err, errno, "cannot make a terminal");
    if (terminal_resize(master, cols, rows, err) && slave_open(master, ret_slave, err)) {
        *ret_master = master;
        return true;
    }
    close(master);
    return false;
}
