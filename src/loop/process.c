/* SPDX-License-Identifier: MIT */
#include "loop/process.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

/* Nobody has a reason to send us these, and each would end the process without a word.  SIGXFSZ
 * becomes an error of write.  Commands start with the usual meanings. */
static const int ignored[] = {SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO};

static struct rlimit given, raised; /* of descriptors */
static bool is_raised;

static void raise_files(void)
{
    if (getrlimit(RLIMIT_NOFILE, &given) != 0 || given.rlim_cur == given.rlim_max)
        return;
    raised = (struct rlimit){given.rlim_max, given.rlim_max};
    is_raised = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

/* libuv aborts without a word when the kernel refuses a thread or a watch. */
static void on_abort(int signo)
{
    static const char text[] =
        "trivet: the system refuses a resource that the process cannot do without (threads, "
        "memory, descriptors or watches); it ends\n";
    (void)signo;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

void process_begin(void)
{
    raise_files();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGABRT, on_abort);
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
