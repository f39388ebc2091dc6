/* SPDX-License-Identifier: MIT */
/* The environment of children: an allow-list of names, and none that looks like a secret.  Tools
 * run what a model writes; a key in their environment is a key given away.  TRIVET_PASS_ENV names
 * further variables (comma separated) that the user wants to hand down.
 *
 * An address is handed down without the user and password in it (https://ann:secret@proxy), unless
 * TRIVET_PASS_ENV names its variable.
 *
 * Commands have no terminal: variables that say so (shell_settled) replace the user's.
 *
 * What is not handed down is also taken out of the block of memory that /proc/PID/environ shows: a
 * tool of root can read that of every process, whatever PR_SET_DUMPABLE says. */
#include "engine/engine_impl.h"
#include "tools/shell.h"

#include <unistd.h>

/* clang-format off */
static const char *const allowed[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "LANG", "LANGUAGE", "TZ",
    "TMPDIR", "TMP", "TEMP", "EDITOR", "VISUAL", "DISPLAY", "WAYLAND_DISPLAY",
    "HOSTNAME", "CI", "DEBIAN_FRONTEND", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "MANPATH",
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "VIRTUAL_ENV",
    "GOPATH", "GOROOT", "GOFLAGS", "JAVA_HOME", "MAVEN_OPTS", "GRADLE_USER_HOME", "ANDROID_HOME",
    "CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH",
    "PYTHONPATH", "PYTHONUNBUFFERED", "PYENV_ROOT", "NODE_PATH", "NODE_ENV", "NODE_OPTIONS",
    "NVM_DIR", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "PERL5LIB", "LUA_PATH", "DOTNET_ROOT",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "all_proxy",
    /* files with certificates */
    "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "PIP_CERT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT",
    "NIX_SSL_CERT_FILE", "BUNDLE_SSL_CA_CERT", "COMPOSER_CAFILE", "NPM_CONFIG_CAFILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
};
/* clang-format on */
static const char *const allowed_starts[] = {"LC_", "XDG_", "CONDA_", "npm_config_", "HOMEBREW_"};
static const char *const secrets[] = {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"};

static bool looks_secret(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        if (str_ifind(name, str_of(secrets[i])) != SIZE_MAX)
            return true;
    return false;
}

static bool is_passed_by_user(struct str name)
{
    struct str list = str_of(getenv("TRIVET_PASS_ENV"));
    while (list.p) {
        struct str item;
        list = str_split(list, ',', &item);
        if (str_eq(str_trim(item), name))
            return true;
    }
    return false;
}

static bool is_allowed(struct str name)
{
    if (is_passed_by_user(name))
        return true;
    if (looks_secret(name))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        if (name.n && name.p[0] == allowed[i][0] && str_is(name, allowed[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(allowed_starts); i++)
        if (str_starts(name, str_of(allowed_starts[i])))
            return true;
    return false;
}

/* ---- addresses ---- */

/* The bytes of user and password at the start of an address, with the @ behind them.  is_proxy: the
 * whole of it is one address, so the last @ counts, whatever the password holds. */
static size_t userinfo(struct str address, bool is_proxy)
{
    size_t end = 0;
    while (end < address.n && (is_proxy || !strchr("/?# \t,;\"'", address.p[end])))
        end++;
    size_t at = str_rchr(str_cut(address, end), '@');
    return at == SIZE_MAX ? 0 : at + 1;
}

static void put_without_users(struct buf *out, struct str value, bool is_proxy)
{
    for (size_t at; (at = str_find(value, STR("://"))) != SIZE_MAX;) {
        buf_add(out, str_cut(value, at + 3));
        value = str_from(value, at + 3);
        value = str_from(value, userinfo(value, is_proxy));
        is_proxy = false;
    }
    buf_add(out, str_from(value, is_proxy ? userinfo(value, true) : 0));
}

/* The line NAME=value as children get it. */
static char *line_for_children(const char *line, struct str name, struct str value)
{
    struct buf out = BUF_INIT;
    bool is_proxy = str_ifind(name, STR("proxy")) != SIZE_MAX && !str_ieq(name, STR("no_proxy"));
    if (is_passed_by_user(name))
        return xstrdup(line);
    buf_addf(&out, "%.*s=", STR_FMT(name));
    put_without_users(&out, value, is_proxy);
    return buf_take(&out);
}

char **environment_for_children(void)
{
    size_t n = 0, capacity = 1;
    for (char **v = environ; *v; v++)
        capacity++;
    char **env = xcalloc(capacity + shell_n_settled + 1, sizeof *env);
    for (char **v = environ; *v; v++) {
        struct str name, value = str_split(str_of(*v), '=', &name);
        if (is_allowed(name))
            env[n++] = line_for_children(*v, name, value);
    }
    for (size_t i = 0; i < shell_n_settled; i++) {
        const struct shell_variable *v = &shell_settled[i];
        struct buf line = BUF_INIT;
        if (is_passed_by_user(str_of(v->name)) && getenv(v->name))
            continue;
        buf_addf(&line, "%s=%s", v->name, v->value);
        env[n++] = buf_take(&line);
    }
    env[n] = xstrdup("AI_AGENT=trivet");
    return env;
}

void engine_hide_environment(void)
{
    for (char **v = environ; *v; v++) {
        struct str name;
        size_t n = strlen(*v);
        struct str value = str_split(str_n(*v, n), '=', &name);
        AUTO_FREE char *handed = line_for_children(*v, name, value);
        if (is_allowed(name) && strcmp(handed, *v) == 0)
            continue;
        char *moved = xstrdup(*v);
        explicit_bzero(*v, n);
        *v = moved;
    }
}

void environment_free(char **env)
{
    for (char **v = env; v && *v; v++)
        free(*v);
    free(env);
}
