/* SPDX-License-Identifier: MIT */
/* The order of things, in the process that becomes the command:
 *
 *     limits                  no core files
 *     mounts                  need rights that are given up right after
 *     capabilities            none; root keeps those over files
 *     no new privileges       setuid programs stay what they are; the next two need it
 *     Landlock
 *     filter                  last, since it refuses calls that the others make
 */
#include "sandbox/sandbox.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/internal.h"
#include "sandbox/remove.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEMPLATE_TAIL = 6, FIRST_FOREIGN_FD = 4, CLOEXEC_RANGE = 4 /* CLOSE_RANGE_CLOEXEC */ };

/* ---- the private directory ---- */

static char *find_tmp(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "tmp=/", 5) == 0)
            return argv[i] + 4;
    return NULL;
}

static bool is_template(const char *path)
{
    size_t n = strlen(path);
    return n > TEMPLATE_TAIL && strcmp(path + n - TEMPLATE_TAIL, "XXXXXX") == 0;
}

static bool is_off(int argc, char **argv)
{
    return argc == 0 || strcmp(argv[0], "kind=off") == 0;
}

bool sandbox_prepare(int argc, char **argv, struct error *err)
{
    static const char *const names[] = {"TMPDIR", "TMP", "TEMP"};
    char *tmp = find_tmp(argc, argv);
    if (is_off(argc, argv) || !tmp)
        return true;
    if (is_template(tmp) && !mkdtemp(tmp))
        return error_errno(err, errno, "cannot make a private directory for temporary files");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        setenv(names[i], tmp, 1);
    return true;
}

/* A commondir in a repository of its own would lead git to hooks and settings elsewhere.  git
 * never puts one there; where only the name is missing, no mount can guard it. */
static void drop_commondir(int argc, char **argv)
{
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    struct error ignored;
    if (!sandbox_policy_decode(argc, argv, &p, &ignored) || p.kind != SANDBOX_WORKSPACE_WRITE)
        return;
    buf_addf(&path, "%s/.git/HEAD", p.root);
    if (!path_exists(buf_str(&path)))
        return;
    buf_reset(&path);
    buf_addf(&path, "%s/.git/commondir", p.root);
    unlink(path.p);
}

void sandbox_release(int argc, char **argv)
{
    char *tmp = find_tmp(argc, argv);
    if (is_off(argc, argv))
        return;
    if (tmp && !is_template(tmp))
        remove_tree(tmp);
    drop_commondir(argc, argv);
}

/* ---- rights that a command does not need ---- */

static bool is_kept(unsigned cap, bool network)
{
    switch (cap) {
    case CAP_CHOWN:
    case CAP_DAC_OVERRIDE:
    case CAP_FOWNER:
    case CAP_FSETID:
    case CAP_SETGID:
    case CAP_SETUID:
        return geteuid() == 0;
    case CAP_NET_BIND_SERVICE:
        return geteuid() == 0 && network;
    default:
        return false;
    }
}

static bool drop_capabilities(bool network, struct error *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[2] = {{0}}, kept[2] = {{0}};
    if (syscall(SYS_capget, &head, now) != 0)
        return error_errno(err, errno, "cannot read the capabilities");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    bool may_drop = true; /* who may not has nothing to lose; behind the last one there is nothing */
    for (unsigned cap = 0; cap < 64; cap++) {
        if (is_kept(cap, network))
            kept[cap / 32].permitted |= 1u << (cap % 32);
        else
            may_drop = may_drop && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0;
    }
    for (int i = 0; i < 2; i++) {
        kept[i].permitted &= now[i].permitted;
        kept[i].effective = kept[i].permitted;
    }
    if (syscall(SYS_capset, &head, kept) != 0)
        return error_errno(err, errno, "cannot drop the capabilities");
    return true;
}

static void set_limits(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_close_range, FIRST_FOREIGN_FD, ~0u, CLOEXEC_RANGE);
}

/* ---- all together ---- */

static bool is_covered(const struct sandbox_policy *p, struct error *err)
{
    struct sandbox_report now;
    if (!p->is_required)
        return true;
    sandbox_report(&now, false);
    for (int i = 0; i < SANDBOX_N_ABILITIES; i++)
        if (!now.can[i] && i != SANDBOX_MOUNTS) /* these are tried for real */
            return error_set(err, ERR_DENIED, "this kernel cannot enforce: %s (%s)",
                             sandbox_ability_name((enum sandbox_ability)i),
                             sandbox_ability_loss((enum sandbox_ability)i));
    return true;
}

/* In require mode and ahead of time missing mounts end it; otherwise what works is taken. */
static bool confine(const struct sandbox_policy *p, bool is_ahead, struct error *err)
{
    int abi = landlock_abi();
    struct filter_options filter = {
        .arch = filter_arch_here(),
        .network = p->network,
        .unix_sockets = p->unix_sockets,
        .guards_truncate = abi > 0 && abi < 3,
    };
    set_limits();
    if (!is_covered(p, err))
        return false;
    bool has_mounts = mounts_confine(p, err);
    if (!has_mounts && (p->is_required || is_ahead))
        return false;
    if (!drop_capabilities(p->network, err))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_errno(err, errno, "cannot give up new privileges");
    /* A kernel without Landlock or seccomp is no failure unless it must be; a kernel that has them
     * and refuses is one always. */
    if (abi > 0 && !landlock_confine(p, has_mounts, err))
        return false;
    return !filter_is_available() || filter_install(&filter, err);
}

static bool confine_by(int argc, char **argv, bool is_ahead, struct error *err)
{
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    if (argc == 0)
        return true;
    if (!sandbox_policy_decode(argc, argv, &p, err))
        return false;
    return p.kind == SANDBOX_OFF || confine(&p, is_ahead, err);
}

bool sandbox_confine(int argc, char **argv, struct error *err)
{
    return confine_by(argc, argv, false, err);
}

bool sandbox_confine_ahead(int argc, char **argv, struct error *err)
{
    return confine_by(argc, argv, true, err);
}

const struct hold_hooks sandbox_hooks = {
    .prepare = sandbox_prepare,
    .confine = sandbox_confine,
    .release = sandbox_release,
    .note = sandbox_note,
    .confine_ahead = sandbox_confine_ahead,
    .watch = sandbox_watch,
    .is_as_noted = sandbox_is_as_noted,
};

/* ---- the report ---- */

static const struct {
    const char *name, *loss;
} abilities[SANDBOX_N_ABILITIES] = {
    [SANDBOX_FILES] = {"files", "commands read and write whatever the user may"},
    [SANDBOX_RENAME] = {"rename", "files cannot be moved from one directory to another"},
    [SANDBOX_TRUNCATE] = {"truncate", "files outside could be emptied"},
    [SANDBOX_TCP] = {"tcp", "the network is only kept away by the system call filter"},
    [SANDBOX_DEVICES] = {"devices", "device files may be given orders"},
    [SANDBOX_SIGNALS] = {"signals", "commands may end other processes of the user"},
    [SANDBOX_CALLS] = {"calls", "network, ptrace and namespaces are open to commands"},
    [SANDBOX_MOUNTS] = {"mounts", ".git/hooks stays writable for commands, and modes and times of "
                                  "files outside can be changed"},
};

const char *sandbox_ability_name(enum sandbox_ability a)
{
    return abilities[a].name;
}

const char *sandbox_ability_loss(enum sandbox_ability a)
{
    return abilities[a].loss;
}

void sandbox_report(struct sandbox_report *ret, bool probes_mounts)
{
    int abi = landlock_abi();
    bool has_filter = filter_is_available();
    *ret = (struct sandbox_report){.landlock_abi = abi};
    ret->can[SANDBOX_FILES] = abi >= 1;
    ret->can[SANDBOX_RENAME] = abi >= 2;
    ret->can[SANDBOX_TRUNCATE] = abi >= 3 || (abi >= 1 && has_filter);
    ret->can[SANDBOX_TCP] = abi >= 4;
    ret->can[SANDBOX_DEVICES] = abi >= 5;
    ret->can[SANDBOX_SIGNALS] = abi >= 6;
    ret->can[SANDBOX_CALLS] = has_filter;
    ret->can[SANDBOX_MOUNTS] = probes_mounts ? mounts_probe() : mounts_look_possible();
}
