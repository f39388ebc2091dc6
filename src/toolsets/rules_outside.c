/* SPDX-License-Identifier: MIT */
/* Which beginning of a command the user can let out of the sandbox for good by one answer.
 *
 * A beginning is a promise about all that begins so.  Programs that run what their arguments or
 * files of the workspace say promise nothing, and neither do those that destroy what they are
 * given: they are asked about each time.
 */
#include "toolsets/rules.h"

#include "base/path.h"
#include "tools/command.h"

/* clang-format off */
static const char *const never[] = {
    /* shells, and programs that run the program named behind them */
    "sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "sudo", "doas", "su", "pkexec",
    "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "script", "xargs", "parallel", "find",
    "fd", "watch", "time", "command", "builtin", "exec", "eval", "source", ".", "strace", "gdb",
    "ssh", "scp", "rsync", "docker", "podman", "systemd-run", "at", "batch", "crontab", "tmux",
    "screen", "chroot", "unshare", "nsenter", "flock", "start-stop-daemon",
    /* interpreters, editors */
    "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "irb", "perl", "php", "lua", "luajit",
    "tclsh", "wish", "expect", "osascript", "Rscript", "R", "julia", "java", "groovy", "scala",
    "kotlin", "elixir", "erl", "iex", "ghci", "runghc", "awk", "gawk", "mawk", "sed", "ed", "vi",
    "vim", "nvim", "emacs", "sqlite3", "psql", "mysql", "gcc", "cc", "clang", "tcc",
    /* they run what the workspace holds */
    "make", "gmake", "cmake", "ninja", "meson", "just", "task", "rake", "ant", "mvn", "gradle",
    "bazel", "sbt", "npm", "npx", "pnpm", "pnpx", "yarn", "corepack", "pip", "pipx", "poetry", "uv",
    "uvx", "pdm", "tox", "nox", "pytest", "cargo", "go", "dotnet", "composer", "bundle", "gem",
    "terraform", "ansible", "ansible-playbook", "git", "direnv", "pre-commit",
    /* they destroy or open what they are given */
    "rm", "rmdir", "shred", "unlink", "dd", "truncate", "mv", "cp", "install", "ln", "tee", "tar",
    "unzip", "chmod", "chown", "chattr", "kill", "pkill", "killall", "mount", "umount",
};
/* clang-format on */

static bool is_never(struct str program)
{
    struct str name = program;
    if (str_chr(program, '/') != SIZE_MAX || str_chr(program, '=') != SIZE_MAX)
        return true; /* a file that can be changed; an assignment */
    while (name.n && strchr("0123456789.-", name.p[name.n - 1]))
        name.n--; /* python3.12, gcc-13 */
    if (!name.n || str_starts(name, STR("python")) || str_starts(name, STR("pypy")) ||
        str_starts(name, STR("mkfs")))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        if (str_is(program, never[i]) || str_is(name, never[i]))
            return true;
    return false;
}

/* The same word in a rule: nothing in it means something to a shell or to a pattern. */
static bool is_plain(struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!(word.p[i] >= 'a' && word.p[i] <= 'z') && !(word.p[i] >= 'A' && word.p[i] <= 'Z') &&
            !(word.p[i] >= '0' && word.p[i] <= '9') && !strchr("-_./:=@%+,", word.p[i]))
            return false;
    return word.n > 0;
}

static bool is_subcommand(struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!(word.p[i] >= 'a' && word.p[i] <= 'z') && !(word.p[i] == '-' && i > 0))
            return false;
    return word.n > 0;
}

struct str rules_outside_like(struct arena *a, struct str line)
{
    struct commands list;
    AUTO(buf) struct buf text = BUF_INIT;
    if (!command_split(a, line, &list) || list.n != 1 || list.v[0].join != JOIN_END ||
        is_never(list.v[0].words[0]))
        return STR_NONE;
    const struct simple_command *c = &list.v[0];
    size_t n = c->n > 1 && is_subcommand(c->words[1]) ? 2 : c->n;
    for (size_t i = 0; i < n; i++) {
        if (!is_plain(c->words[i]))
            return STR_NONE;
        buf_addf(&text, "%s%.*s", i ? " " : "outside(", STR_FMT(c->words[i]));
    }
    buf_addc(&text, ')');
    return arena_str(a, buf_str(&text));
}
