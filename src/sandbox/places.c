/* SPDX-License-Identifier: MIT */
/* The policy of a session: which paths are guarded and hidden by default, and its limits.
 *
 *     GUARD   not writable: programs outside run these files or read them as settings
 *     MASK    the same, and the directory is guarded while it does not exist
 *     HIDE    keys and private data; not readable
 *     CACHE   readable; writes go to the scratch directory
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/id.h"
#include "base/install.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "sandbox/gitlinks.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { MIN_MEMORY_MB = 1024 };

const struct sandbox_limit_row sandbox_limits[SANDBOX_N_LIMITS] = {
    [SANDBOX_MEMORY] = {"TRIVET_SANDBOX_MEMORY", "MB",
                        "memory of all processes of a command; a quarter of the machine's",
                        "the command is ended and told why"},
    [SANDBOX_PROCESSES] = {"TRIVET_SANDBOX_PROCESSES", "processes",
                           "processes and threads of a session's commands",
                           "none is started; the command is ended and told why"},
    [SANDBOX_CPU] = {"TRIVET_SANDBOX_CPU", "s", "processor time of each process",
                     "the process is ended"},
    [SANDBOX_OPEN] = {"TRIVET_SANDBOX_OPEN", "files", "open files of each process",
                      "opening fails"},
    [SANDBOX_DISK] = {"TRIVET_SANDBOX_DISK", "MB",
                      "scratch directory of a session, and each single file",
                      "writing fails; the command is ended and told why"},
};

static const char *const work_masked[] = {".scaiflux", ".trivet", ".vscode", ".husky", ".idea"};
static const char *const work_guarded[] = {".envrc"};

/* Settings of login, shell and ssh, guarded when the workspace is the home directory or below. */
/* clang-format off */
static const char *const home_guarded[] = {
    ".bashrc",   ".bash_profile", ".bash_login",   ".bash_logout", ".profile",
    ".zshrc",    ".zshenv",       ".zprofile",     ".zlogin",      ".zlogout",
    ".xprofile", ".xinitrc",      ".xsessionrc",   ".inputrc",     ".gitconfig",
    ".vimrc",    ".tmux.conf",    ".direnvrc",     ".crontab",     ".pam_environment",
};
static const char *const home_masked[] = {
    ".config/fish", ".config/git", ".config/autostart", ".config/systemd", ".config/environment.d",
    ".config/nvim", ".config/direnv", ".local/bin",
};
/* clang-format on */

/* Directories of trivet and of the programs it replaces. */
static const char *const own_guarded[] = {".loaf", ".kward", ".scaiflux"};
static const char *const own_hidden[] = {
    ".loaf/auth.json",    ".loaf/secrets-fallback.json", ".kward/auth.json",
    ".kward/config.json", ".scaiflux/credentials.json",  ".scaiflux/auth.json",
};

/* clang-format off */
static const char *const home_hidden[] = {
    ".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker/config.json", ".netrc",
    ".npmrc", ".pypirc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".terraform.d/credentials.tfrc.json", ".config/containers/auth.json",
    ".password-store", ".local/share/keyrings", ".config/op", ".vault-token",
    /* browsers */
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".thunderbird",
    /* other agents */
    ".codex/auth.json", ".claude/.credentials.json", ".claude.json", ".pi/agent/auth.json",
    ".gemini/oauth_creds.json", ".config/github-copilot", ".local/share/opencode/auth.json",
    /* other conversations */
    ".loaf/sessions", ".kward/sessions", ".scaiflux/sessions", ".codex/sessions",
    ".claude/projects", ".pi/agent/sessions", ".bash_history", ".zsh_history",
};
/* clang-format on */

/* clang-format off */
static const char *const home_caches[] = {
    ".cache", ".npm", ".cargo", ".rustup", "go/pkg", ".gradle", ".m2", ".ivy2", ".sbt", ".nuget",
    ".pnpm-store", ".local/share/pnpm", ".yarn", ".bun", ".deno", ".gem", ".bundle", ".composer",
    ".pub-cache", ".cpan", ".ccache", ".conan", ".conan2",
};
/* clang-format on */

static void add_below(struct sandbox_paths *l, struct str dir, const char *path)
{
    AUTO(buf) struct buf full = BUF_INIT;
    buf_addf(&full, "%.*s/%s", STR_FMT(dir), path);
    sandbox_paths_add(l, buf_str(&full));
}

/* Adds the path and, for a link, its target: commands could change either. */
static void add_named(struct sandbox_paths *l, struct str dir, const char *name)
{
    AUTO(buf) struct buf full = BUF_INIT;
    buf_addf(&full, "%.*s%s%s", STR_FMT(dir), dir.n > 1 ? "/" : "", name);
    paths_put(l, buf_str(&full));
    add_below(l, dir, name);
}

static void add_all(struct sandbox_paths *l, struct str dir, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_named(l, dir, names[i]);
}

#define ADD_ALL(list, dir, names) add_all(list, dir, names, ARRAY_LEN(names))

/* ---- git ---- */

/* The text after `key` in a small regular file; links, pipes and large files are refused. */
static bool read_line(const char *path, struct str key, struct buf *ret)
{
    struct stat st;
    struct error ignored;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > PATH_MAX ||
        !path_read(ret, str_of(path), PATH_MAX, &ignored) || !str_starts(buf_str(ret), key))
        return false;
    struct str text = str_trim(str_from(buf_str(ret), key.n));
    AUTO_FREE char *z = str_dup(text);
    buf_reset(ret);
    buf_addz(ret, z);
    return ret->n > 0;
}

/* Whether the repository lists this as one of its work trees: a file in the workspace alone must
 * not open paths outside of it. */
static bool is_known_tree(const struct sandbox_policy *p, const char *dir)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT, wanted = BUF_INIT;
    buf_addf(&path, "%s/gitdir", dir);
    buf_addf(&wanted, "%s/.git", p->root);
    return read_line(path.p, STR(""), &text) && str_eq(buf_str(&text), buf_str(&wanted));
}

/* A .git file names the directory of the repository; a work tree shares most of another one. */
static void add_git_file(struct sandbox_policy *p)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT, dir = BUF_INIT, common = BUF_INIT;
    buf_addf(&path, "%s/.git", p->root);
    if (!read_line(path.p, STR("gitdir:"), &text))
        return;
    path_absolute(&dir, str_of(p->root), buf_str(&text));
    if (!policy_place_of(p, buf_str(&dir)) && !is_known_tree(p, dir.p))
        return;
    sandbox_paths_add(&p->git, buf_str(&dir));
    buf_reset(&path);
    buf_reset(&text);
    buf_addf(&path, "%s/commondir", dir.p);
    if (!read_line(path.p, STR(""), &text))
        return;
    path_absolute(&common, buf_str(&dir), buf_str(&text));
    sandbox_paths_add(&p->git, buf_str(&common));
}

static void guard_link(void *arg, struct str name)
{
    struct sandbox_policy *p = arg;
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%.*s/.git", p->root, STR_FMT(name));
    paths_put(&p->guarded, buf_str(&path));
}

static void add_git(struct sandbox_policy *p)
{
    struct error ignored;
    add_named(&p->git, str_of(p->root), ".git");
    add_git_file(p);
    for (size_t i = 0; i < p->git.n; i++) /* existing submodules */
        git_dir_links(str_of(p->git.v[i]), guard_link, p, &ignored);
}

/* ---- trivet itself ---- */

/* Adds the directories of the program and of its other files, if a command could write there. */
static void add_program(struct sandbox_policy *p)
{
    for (int i = 0; i < 2 * INSTALL_PLACES; i++) {
        AUTO(buf) struct buf dir = BUF_INIT, plain = BUF_INIT, real = BUF_INIT;
        struct error ignored;
        if (i == 1)
            continue; /* the program's directory again */
        install_place(i % 2 ? INSTALL_HELPER : INSTALL_MODULE, i / 2, &dir);
        path_absolute(&plain, STR("/"), buf_str(&dir));
        bool is_real = path_resolve(&real, buf_str(&plain), &ignored);
        paths_put(&p->guarded, buf_str(is_real ? &real : &plain));
    }
}

static void add_variable(struct sandbox_paths *l, const char *name)
{
    const char *value = getenv(name);
    if (value && *value) /* expands ~ and relative paths */
        sandbox_paths_add(l, str_of(value));
}

static void put_xdg(struct buf *out, const char *variable, const char *below_home)
{
    path_xdg(out, variable, below_home);
    buf_addz(out, "/trivet");
}

static void add_xdg(struct sandbox_paths *l, const char *variable, const char *below_home)
{
    AUTO(buf) struct buf path = BUF_INIT;
    put_xdg(&path, variable, below_home);
    sandbox_paths_add(l, buf_str(&path));
}

void sandbox_own_places(struct sandbox_paths *dirs, struct sandbox_paths *secrets)
{
    static const char *const names[] = {"credentials", "credentials.json", "auth.json",
                                        "secrets.json"};
    AUTO(buf) struct buf config = BUF_INIT;
    put_xdg(&config, "XDG_CONFIG_HOME", ".config");
    sandbox_paths_add(dirs, buf_str(&config));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_below(secrets, buf_str(&config), names[i]);
    add_xdg(dirs, "XDG_STATE_HOME", ".local/state");
    for (size_t i = 0; i < ARRAY_LEN(own_guarded); i++)
        add_below(dirs, path_home(), own_guarded[i]);
    for (size_t i = 0; i < ARRAY_LEN(own_hidden); i++)
        add_below(secrets, path_home(), own_hidden[i]);
    add_variable(secrets, "KWARD_CONFIG_PATH"); /* may hold a key */
    add_variable(secrets, "KWARD_AUTH_PATH");
}

/* ---- all ---- */

/* TRIVET_SANDBOX_HIDE adds paths; a `!` before one removes it from the table. */
static bool is_shown(struct str home, const char *name)
{
    struct str rest = str_of(getenv("TRIVET_SANDBOX_HIDE")), word;
    AUTO(buf) struct buf path = BUF_INIT, wanted = BUF_INIT;
    buf_addf(&path, "%.*s/%s", STR_FMT(home), name);
    while (rest.p) {
        rest = str_split(rest, ':', &word);
        buf_reset(&wanted);
        if (!str_starts(word, STR("!")))
            continue;
        path_absolute(&wanted, STR("/"), str_from(word, 1));
        if (str_eq(buf_str(&wanted), buf_str(&path)))
            return true;
    }
    return false;
}

static void add_hidden(struct sandbox_policy *p)
{
    struct str home = str_of(p->home), rest = str_of(getenv("TRIVET_SANDBOX_HIDE")), word;
    for (size_t i = 0; i < ARRAY_LEN(home_hidden); i++)
        if (!is_shown(home, home_hidden[i]))
            add_below(&p->hidden, home, home_hidden[i]);
    while (rest.p) {
        rest = str_split(rest, ':', &word);
        if (word.n && (word.p[0] == '/' || word.p[0] == '~'))
            sandbox_paths_add(&p->hidden, word);
    }
}

static bool is_dir(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_caches(struct sandbox_policy *p)
{
    for (size_t i = 0; i < ARRAY_LEN(home_caches); i++) {
        AUTO(buf) struct buf full = BUF_INIT;
        buf_addf(&full, "%s/%s", p->home, home_caches[i]);
        if (is_dir(full.p) && !policy_place_of(p, buf_str(&full)))
            paths_put(&p->caches, buf_str(&full));
    }
}

/* In the home directory as workspace a command could make those that are missing. */
static void add_own_masks(struct sandbox_policy *p)
{
    ADD_ALL(&p->masked, str_of(p->home), own_guarded);
    add_xdg(&p->masked, "XDG_CONFIG_HOME", ".config");
    add_xdg(&p->masked, "XDG_STATE_HOME", ".local/state");
}

static void places_add(struct sandbox_policy *p)
{
    struct str root = str_of(p->root), home = str_of(p->home);
    struct error ignored;
    add_git(p);
    ADD_ALL(&p->masked, root, work_masked);
    ADD_ALL(&p->guarded, root, work_guarded);
    ADD_ALL(&p->guarded, home, home_guarded);
    ADD_ALL(&p->masked, home, home_masked);
    add_hidden(p);
    sandbox_own_places(&p->guarded, &p->hidden);
    add_own_masks(p);
    add_xdg(&p->hidden, "XDG_STATE_HOME", ".local/state"); /* conversations of other sessions */
    add_program(p);
    links_guard(p, &ignored); /* again by the room, which reports it */
    add_caches(p);
}

static void set_limits(struct sandbox_policy *p)
{
    struct sysinfo machine;
    bool is_known = sysinfo(&machine) == 0;
    int64_t all = is_known ? (int64_t)(machine.totalram >> 20) * (int64_t)machine.mem_unit : 8192;
    p->limits[SANDBOX_MEMORY] = MAX(all / 4, MIN_MEMORY_MB);
    p->limits[SANDBOX_PROCESSES] = 512;
    p->limits[SANDBOX_CPU] = 3600;
    p->limits[SANDBOX_OPEN] = 65536;
    p->limits[SANDBOX_DISK] = 8192;
    for (int i = 0; i < SANDBOX_N_LIMITS; i++) {
        const char *value = getenv(sandbox_limits[i].variable);
        char *end = NULL;
        long long number = value && *value ? strtoll(value, &end, 10) : 0;
        if (end && (*end || number < 0 || number > INT32_MAX))
            log_warn("%s is a number of %s, not %s; using %lld", sandbox_limits[i].variable,
                     sandbox_limits[i].unit, value, (long long)p->limits[i]);
        else if (end)
            p->limits[i] = number;
    }
}

/* Commands see the scratch directory as /tmp, unless they need files in the real one. */
static bool can_show_tmp(const struct sandbox_policy *p)
{
    return !path_is_inside(STR("/tmp"), str_of(p->root)) &&
           !path_is_inside(STR("/tmp"), str_of(p->home)) &&
           !path_is_inside(STR("/tmp"), str_of(path_program()));
}

void sandbox_scratch_name(struct buf *out)
{
    AUTO(buf) struct buf parent = BUF_INIT;
    struct error ignored;
    char name[17];
    const char *base = getenv("TMPDIR");
    if (!base || base[0] != '/' || !path_resolve(&parent, str_of(base), &ignored))
        buf_addz(&parent, "/tmp");
    id_hex(name, sizeof name - 1);
    buf_addf(out, "%s/trivet-%s", parent.p, name);
}

void sandbox_policy_init(struct sandbox_policy *p, enum sandbox_kind kind, struct str root)
{
    struct buf tmp = BUF_INIT;
    *p = (struct sandbox_policy){.kind = kind,
                                 .has_mounts = true,
                                 .has_loopback = true,
                                 .root = str_dup(root),
                                 .home = str_dup(path_home())};
    sandbox_scratch_name(&tmp);
    p->tmp = buf_take(&tmp);
    p->shows_tmp = can_show_tmp(p);
    set_limits(p);
    places_add(p);
}

static const char *describe_network(const struct sandbox_policy *p)
{
    if (p->network)
        return "on";
    if (!p->has_loopback)
        return "off, and so are ports on localhost";
    return p->proxied ? "limited to certain hosts, by proxy" : "off, but for ports on localhost";
}

void sandbox_describe(const struct sandbox_policy *p, struct buf *out)
{
    bool is_work = p->kind == SANDBOX_WORKSPACE_WRITE;
    buf_addz(out, "Commands run in a sandbox. They may write ");
    if (is_work)
        buf_addf(out, "in %s and ", p->root);
    for (size_t i = 0; is_work && i < p->writable.n; i++)
        buf_addf(out, "%s and ", p->writable.v[i]);
    buf_addf(out, "in %s, which is kept until the session ends; ",
             p->shows_tmp ? "/tmp" : "$TMPDIR");
    if (is_work)
        buf_addz(out, p->has_mounts
                          ? ".git only in a command line that consists of git commands alone; "
                          : "not the settings and hooks in .git; ");
    buf_addf(out, "the network is %s.", describe_network(p));
}
