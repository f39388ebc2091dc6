/* SPDX-License-Identifier: MIT */
/* The order of the set-up.  In the outer process, when the room of a session starts:
 *
 *     scratch directory       removed when the room is gone
 *     namespaces and view     in the keeper, which is forked into them
 *
 * In the process that becomes a command:
 *
 *     limits
 *     repositories            opened for plain git
 *     capabilities            none; root keeps those over files
 *     no new privileges       setuid has no effect; the next two need it
 *     Landlock
 *     filter                  last, since it blocks calls that the others make
 */
#include "sandbox/sandbox.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/bpf.h"
#include "sandbox/parts.h"
#include "sandbox/view.h"
#include "sandbox/remove.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* State of this process, which serves one session. */
static struct sandbox_policy policy;
static struct space space;
static struct marks marks;
static struct dirs watched; /* of the view, and of marks if is_marked */
static bool is_marked;
static struct landlock rules = {.fd = -1};
static char *scratch;             /* its path outside of the sandbox */
static int proxy_port;            /* on loopback; 0: none */
static struct sandbox_paths made; /* empty directories created only to be masked */
static struct bpf *filter;        /* NULL: not available here */

static struct variable { /* of the environment of every command */
    char *text;          /* NAME=value */
    size_t n_name;       /* with the = */
    bool is_forced;      /* also where the command has its own */
} * variables;
static size_t n_variables;

/* ---- capabilities ---- */

static bool is_kept(unsigned cap, bool network)
{
    switch (cap) {
    case CAP_CHOWN:
    case CAP_DAC_OVERRIDE:
    case CAP_FOWNER:
    case CAP_FSETID:
        return geteuid() == 0;
    case CAP_NET_BIND_SERVICE:
        return geteuid() == 0 && network;
    default:
        return false;
    }
}

/* In the keeper, for all commands: removes capabilities from the bounding set. */
static void bound_capabilities(bool network)
{
    bool may_drop = true; /* false without privileges, or after the last capability */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned cap = 0; cap < 64 && may_drop; cap++)
        if (!is_kept(cap, network))
            may_drop = prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0;
}

static bool drop_capabilities(bool network, struct error *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[2] = {{0}}, kept[2] = {{0}};
    if (syscall(SYS_capget, &head, now) != 0)
        return error_errno(err, errno, "cannot read the capabilities");
    for (unsigned cap = 0; cap < 64; cap++)
        if (is_kept(cap, network))
            kept[cap / 32].permitted |= 1u << (cap % 32);
    for (int i = 0; i < 2; i++) {
        kept[i].permitted &= now[i].permitted;
        kept[i].effective = kept[i].permitted;
    }
    if (syscall(SYS_capset, &head, kept) != 0)
        return error_errno(err, errno, "cannot drop the capabilities");
    return true;
}

/* ---- the room ---- */

static bool is_covered(const struct sandbox_policy *p, struct error *err)
{
    struct sandbox_report now;
    if (!p->is_required)
        return true;
    report_kernel(&now);
    for (int i = 0; i < SANDBOX_N_ABILITIES; i++)
        if (!now.can[i] && i != SANDBOX_MOUNTS) /* mounts are tested by using them */
            return error_set(err, ERR_DENIED, "this kernel cannot enforce: %s (%s)",
                             sandbox_ability_name((enum sandbox_ability)i),
                             sandbox_ability_loss((enum sandbox_ability)i));
    return true;
}

/* Opens a socket in the commands' network namespace and sends it to the engine, which runs the
 * proxy. */
static void offer_proxy(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &n) == 0 && hold_offer(fd))
        proxy_port = ntohs(at.sin_port);
    if (fd >= 0)
        close(fd);
}

static bool make_scratch(const char *path, struct error *err)
{
    struct stat st;
    if (mkdir(path, 0700) == 0)
        return true;
    if (errno == EEXIST && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        return true;
    return error_errno(err, errno, "cannot make a directory for temporary files");
}

static void set_variable(const char *name, const char *value, bool is_forced)
{
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s=%s", name, value);
    variables = xrealloc(variables, (n_variables + 1) * sizeof *variables);
    variables[n_variables++] = (struct variable){buf_take(&text), strlen(name) + 1, is_forced};
}

static void set_proxy(void)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"};
    char url[60];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", proxy_port);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        set_variable(names[i], url, true);
    set_variable("NO_PROXY", "localhost,127.0.0.1,::1", true);
    set_variable("no_proxy", "localhost,127.0.0.1,::1", true);
}

/* In the keeper, once. */
static void set_variables(void)
{
    static const char *const names[] = {"TMPDIR", "TMP", "TEMP"};
    static const struct {
        const char *dir, *variable;
    } caches[] = {{".cache", "XDG_CACHE_HOME"}, {".npm", "npm_config_cache"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        set_variable(names[i], policy.tmp, true);
    if (proxy_port)
        set_proxy();
    for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", policy.home, caches[i].dir);
        if (path_is_dir(buf_str(&path)) && space.has_mounts)
            continue;
        buf_reset(&path);
        buf_addf(&path, "%s/%s", policy.tmp, caches[i].dir);
        set_variable(caches[i].variable, path.p, false);
    }
}

/* Once for all commands: it depends on nothing that changes. */
static bool make_filter(struct error *err)
{
    int abi = landlock_abi();
    struct filter_options o = {
        .arch = filter_arch_here(),
        .network = policy.network || space.has_network,
        .unix_sockets = policy.unix_sockets,
        .sees_outside = !space.has_processes,
        .guards_truncate = abi > 0 && abi < 3,
    };
    if (!filter_is_available())
        return true;
    filter = xnew(struct bpf);
    return filter_build(filter, &o, err);
}

static void room_release(void)
{
    if (policy.kind == SANDBOX_OFF || !scratch)
        return;
    remove_tree(scratch);
    for (size_t i = 0; i < made.n; i++)
        view_remove_placeholder(made.v[i]);
}

static int room_enter(int argc, char **argv, struct error *err)
{
    struct error ignored;
    if (argc == 0)
        return 0;
    bool is_read = sandbox_policy_decode(argc, argv, &policy, err);
    for (int i = 0; i < argc; i++)
        memset(argv[i], 0, strlen(argv[i])); /* hides the long argument list from `ps` */
    if (!is_read || policy.kind == SANDBOX_OFF || !is_covered(&policy, err) ||
        !nested_guard(&policy, err) || !make_scratch(policy.tmp, err)) {
        error_prefix(err, "cannot confine the command");
        return 0;
    }
    scratch = xstrdup(policy.tmp);
    links_guard(&policy, &ignored); /* a failure is reported by room_refresh */
    if (policy.kind == SANDBOX_WORKSPACE_WRITE)
        view_note_missing(&policy, &made);
    pid_t pid = space_fork(&policy, &space, err);
    if (pid < 0 && !policy.is_required) {
        *err = ERROR_INIT; /* go on without namespaces */
        if (policy.has_mounts)
            error_set(err, ERR_EXISTS,
                      "namespaces are not available for this sandbox, although they were "
                      "before; /tmp is not private, and there is no localhost");
        policy.shows_tmp = false;
        pid = fork();
    } else if (pid < 0) {
        room_release();
        error_prefix(err, "cannot confine the command");
        return 0;
    }
    policy.has_mounts = marks.has_mounts = space.has_mounts;
    if (pid == 0 && policy.proxied && space.has_network)
        offer_proxy();
    if (pid == 0 && make_filter(err)) {
        bound_capabilities(policy.network);
        set_variables();
    }
    return pid;
}

/* Without mounts the contents count, not only the names. */
static bool is_unchanged(void)
{
    return space.has_mounts && is_marked && dirs_are_same(&watched) && !view_hides_git(&policy);
}

static bool look_again(bool is_alone, struct error *err)
{
    dirs_clear(&watched);
    spots_record(&watched);
    bool ok = links_guard(&policy, err) && (!space.has_mounts || view_refresh(&policy, err));
    if (is_alone)
        marks_take(&marks, &policy);
    is_marked = is_alone;
    spots_record(NULL);
    spots_forget(); /* see view_open_git */
    return ok;
}

static bool room_refresh(bool is_alone, struct error *err)
{
    if (policy.kind == SANDBOX_OFF)
        return true;
    if (!is_unchanged() && !look_again(is_alone, err))
        return false;
    return landlock_refresh(&rules, &policy, &space, err) ||
           error_prefix(err, "cannot confine the command");
}

static bool room_check(struct error *err)
{
    if (policy.kind != SANDBOX_WORKSPACE_WRITE)
        return true;
    struct error why, also = ERROR_INIT;
    bool ok = is_unchanged() || marks_check(&marks, &policy, &why);
    if (nested_check(&policy, &also) && ok)
        return true;
    if (ok || also.code == ERR_NONE)
        *err = ok ? also : why;
    else if (why.code == ERR_EXISTS && also.code == ERR_EXISTS)
        error_set(err, ERR_EXISTS, "%.240s; %.240s", why.text, also.text);
    else
        *err = why.code == ERR_EXISTS ? also : why; /* the more serious one */
    return false;
}

static int room_measure(const struct pids *processes)
{
    return policy.kind == SANDBOX_OFF ? -1 : limits_measure(&policy, processes);
}

/* ---- the hooks ---- */

static const struct variable *find_variable(const char *text)
{
    for (size_t i = 0; i < n_variables; i++)
        if (strncmp(variables[i].text, text, variables[i].n_name) == 0)
            return &variables[i];
    return NULL;
}

static bool has_variable(char **env, const struct variable *v)
{
    for (; *env; env++)
        if (strncmp(*env, v->text, v->n_name) == 0)
            return true;
    return false;
}

static char **room_environment(char **given)
{
    size_t n = 0;
    for (char **text = given; *text; text++)
        n++;
    char **env = xcalloc(n + n_variables + 1, sizeof *env);
    n = 0;
    for (char **text = given; *text; text++) {
        const struct variable *v = find_variable(*text);
        if (!v || !v->is_forced)
            env[n++] = *text;
    }
    for (size_t i = 0; i < n_variables; i++)
        if (variables[i].is_forced || !has_variable(given, &variables[i]))
            env[n++] = variables[i].text;
    return env;
}

static bool confine(enum sandbox_purpose purpose, struct error *err)
{
    limits_set(&policy, &space);
    bool opens_git = purpose == SANDBOX_PLAIN_GIT && policy.kind == SANDBOX_WORKSPACE_WRITE;
    if (opens_git && space.has_mounts && !view_open_git(&policy, err))
        return false;
    if (!drop_capabilities(policy.network, err))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_errno(err, errno, "cannot set no_new_privs");
    /* A kernel without Landlock or seccomp is a failure only with is_required; a kernel that has
     * them and refuses is always one. */
    if (!landlock_confine(&rules, err))
        return false;
    return !filter || filter_install(filter, err);
}

static bool room_confine(int purpose, struct error *err)
{
    return policy.kind == SANDBOX_OFF || confine((enum sandbox_purpose)purpose, err);
}

static int room_probed(void)
{
    struct space found = space_probe();
    return (found.has_mounts ? PROBE_MOUNTS : 0) | (found.has_network ? PROBE_NETWORK : 0);
}

const struct hold_hooks sandbox_hooks = {
    .enter = room_enter,
    .refresh = room_refresh,
    .environment = room_environment,
    .confine = room_confine,
    .measure = room_measure,
    .check = room_check,
    .release = room_release,
    .probe = room_probed,
};

/* ---- the report ---- */

static const struct {
    const char *name, *loss;
} abilities[SANDBOX_N_ABILITIES] = {
    [SANDBOX_FILES] = {"files", "commands read and write whatever the user may"},
    [SANDBOX_RENAME] = {"rename", "files cannot be moved from one directory to another"},
    [SANDBOX_TRUNCATE] = {"truncate", "files outside can be truncated"},
    [SANDBOX_TCP] = {"tcp", "only the system call filter blocks the network"},
    [SANDBOX_DEVICES] = {"devices", "ioctl on devices is not restricted"},
    [SANDBOX_SIGNALS] = {"signals", "commands can signal other processes of the user"},
    [SANDBOX_CALLS] = {"calls", "network, ptrace and namespaces are not restricted"},
    [SANDBOX_MOUNTS] = {"mounts",
                        "files that programs outside run, such as .git/hooks, are only checked "
                        "after each command, modes and times of files outside can be "
                        "changed, and commands cannot open ports of their own"},
};

const char *sandbox_ability_name(enum sandbox_ability a)
{
    return abilities[a].name;
}

const char *sandbox_ability_loss(enum sandbox_ability a)
{
    return abilities[a].loss;
}

void report_kernel(struct sandbox_report *ret)
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
}
