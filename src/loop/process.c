/* SPDX-License-Identifier: MIT */
#include "loop/process.h"

#include "base/mem.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

/* Signals that have no use here and would end the process without a message.  Ignoring SIGXFSZ
 * makes write fail instead.  Commands start with the default actions. */
static const int ignored[] = {SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO};

static struct rlimit given, raised; /* RLIMIT_NOFILE at the start and now */
static bool is_raised;

static void raise_files(void)
{
    if (getrlimit(RLIMIT_NOFILE, &given) != 0 || given.rlim_cur == given.rlim_max)
        return;
    raised = (struct rlimit){given.rlim_max, given.rlim_max};
    is_raised = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

void process_begin(void)
{
    raise_files();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    abort_begin();
}

void process_spawn_begin(void)
{
    if (is_raised)
        setrlimit(RLIMIT_NOFILE, &given);
}

void process_spawn_end(void)
{
    if (is_raised)
        setrlimit(RLIMIT_NOFILE, &raised);
}
