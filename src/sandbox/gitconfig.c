/* SPDX-License-Identifier: MIT */
/* Checks that the settings of a repository make git run no program: every line must be one of those
 * known here, which git init and clone write.  Unknown settings and unusual syntax count as
 * dangerous. */
#include "sandbox/gitlinks.h"

#include "base/buf.h"
#include "base/mem.h"

/* clang-format off */
static const struct {
    const char *section, *keys; /* in lower case; a space around each key */
} known[] = {
    {"core", " repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode "
             "symlinks autocrlf eol safecrlf abbrev worktree quotepath sparsecheckout "
             "sparsecheckoutcone longpaths "},
    {"remote", " url fetch pushurl tagopt prune mirror promisor partialclonefilter "},
    {"branch", " remote merge rebase pushremote "},
    {"user", " name email "},
    {"extensions", " objectformat refstorage partialclone noop "},
    {"init", " defaultbranch "},
    {"pull", " rebase ff "},
    {"push", " default autosetupremote "},
    {"fetch", " prune "},
    {"submodule", " active url "},
    {"gc", " auto "},
    {"advice", " detachedhead "},
    {"lfs", " repositoryformatversion access "},
};
/* clang-format on */

static bool is_name(struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!(word.p[i] >= 'a' && word.p[i] <= 'z') && !(word.p[i] >= 'A' && word.p[i] <= 'Z') &&
            word.p[i] != '-')
            return false;
    return word.n > 0;
}

/* [core] or [remote "origin"], and nothing after it; SIZE_MAX: not known. */
static size_t find_section(struct str line)
{
    struct str name = str_n(line.p + 1, line.n - 2), rest;
    if (!str_ends(line, STR("]")))
        return SIZE_MAX;
    size_t blank = str_chr(name, ' ');
    rest = blank == SIZE_MAX ? STR("\"\"") : str_trim(str_from(name, blank));
    name = str_cut(name, MIN(blank, name.n));
    if (rest.n < 2 || rest.p[0] != '"' || rest.p[rest.n - 1] != '"' ||
        str_chr(str_n(rest.p + 1, rest.n - 2), '"') != SIZE_MAX || str_chr(rest, '\\') != SIZE_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_ieq(name, str_of(known[i].section)))
            return i;
    return SIZE_MAX;
}

static bool has_key(size_t section, struct str line)
{
    struct str key;
    str_split(line, '=', &key);
    key = str_trim(key);
    if (section == SIZE_MAX || !is_name(key))
        return false;
    AUTO(buf) struct buf word = BUF_INIT;
    buf_addc(&word, ' ');
    for (size_t i = 0; i < key.n; i++)
        buf_addc(&word, key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] + 32) : key.p[i]);
    buf_addc(&word, ' ');
    return str_find(str_of(known[section].keys), buf_str(&word)) != SIZE_MAX;
}

bool git_config_is_harmless(struct str text)
{
    size_t section = SIZE_MAX;
    struct str line;
    if (str_chr(text, '\0') != SIZE_MAX)
        return false;
    while (text.p) {
        text = str_split(text, '\n', &line);
        if (str_ends(line, STR("\\")) || str_ends(line, STR("\\\r")))
            return false; /* continued on the next line */
        line = str_trim(line);
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
            continue;
        if (line.p[0] == '[') {
            if (line.n < 3 || (section = find_section(line)) == SIZE_MAX)
                return false;
        } else if (!has_key(section, line)) {
            return false;
        }
    }
    return true;
}
