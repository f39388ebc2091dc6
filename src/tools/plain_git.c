/* SPDX-License-Identifier: MIT */
/* The table of git, and how a line is held against it.
 *
 * Only full names of options count: git takes every unique beginning (--upl for --upload-pack), and
 * a list of what is forbidden would have to know them all.  A word that begins with "-" is judged
 * as an option wherever it stands, also behind "--", since whether that one ends the options
 * depends on the option in front of it.  The exception is the value of an option that surely takes
 * one. */
#include "tools/plain_git.h"

#include "base/buf.h"
#include "tools/command.h"

enum {
    ROW_LOOKS = 1,   /* takes the options of log and diff as well */
    ROW_REMOTE = 2,  /* the first argument is a remote */
    ROW_CLONES = 4,  /* the arguments are an address and a directory */
    ROW_MAKES = 8,   /* the arguments are paths it writes to */
    ROW_NO_ARGS = 16 /* has none but options */
};

struct git_row {
    const char *name;
    const char *shorts; /* letters; ":" behind one: it has a value, in the same word or the next;
                         * "?": the rest of the word is its value, if there is any */
    const char *longs;  /* names with spaces around; ":" behind one: it has a value.  no-NAME goes
                         * with NAME.  Where the first argument counts, every option that takes the
                         * next word as its value has the ":" */
    int flags;
};

/* Not here: --output, which writes any file; --ext-diff and --textconv, which run programs;
 * --submodule and --recurse-submodules, which follow other configurations; signatures (gpg). */
static const char look_shorts[] = "pusU?M?C?B?Dl?S?G?abwWRzmcn?L?giEFPrtq";
static const char look_longs[] =
    " oneline graph all stat shortstat numstat dirstat compact-summary summary name-only "
    "name-status"
    " patch patch-with-stat raw cached staged color color-words word-diff format pretty since until"
    " after before author committer grep all-match invert-grep regexp-ignore-case extended-regexp"
    " fixed-strings perl-regexp follow decorate merges first-parent reverse max-count skip date"
    " abbrev abbrev-commit unified ignore-all-space ignore-space-change ignore-space-at-eol"
    " ignore-blank-lines ignore-cr-at-eol find-renames find-copies find-copies-harder "
    "break-rewrites"
    " diff-filter pickaxe-regex pickaxe-all check exit-code quiet relative text binary full-index"
    " minimal patience histogram diff-algorithm function-context merge-base left-right cherry-pick"
    " cherry-mark cherry boundary topo-order date-order author-date-order branches tags remotes"
    " source parents children no-walk no-index no-ext-diff no-textconv root cc remerge-diff"
    " full-history simplify-merges ancestry-path walk-reflogs relative-date inter-hunk-context"
    " src-prefix dst-prefix no-prefix ignore-submodules count left-only right-only notes ";

/* clang-format off */
static const struct git_row rows[] = {
    {"add", "AuNfvn",
     " all update force verbose dry-run intent-to-add ignore-removal renormalize ignore-errors"
     " refresh chmod pathspec-from-file ",
     0},
    {"am", "3kqs",
     " 3way continue skip abort quit show-current-patch signoff quiet keep keep-cr scissors"
     " whitespace committer-date-is-author-date ignore-date ",
     0},
    {"apply", "3RvNp?C?",
     " check index cached 3way reverse stat numstat summary verbose quiet whitespace reject recount"
     " ignore-whitespace ignore-space-change unidiff-zero allow-empty include exclude intent-to-add"
     " ours theirs union ",
     0},
    {"blame", "L?lwM?C?etsfnbpc",
     " porcelain line-porcelain since show-email show-name show-number date color-lines reverse"
     " first-parent ignore-rev abbrev root ",
     0},
    {"branch", "adrvmMcCDflqitu?",
     " all delete remotes list move copy force verbose merged contains sort show-current format"
     " set-upstream-to unset-upstream track points-at ignore-case column abbrev quiet color ",
     0},
    {"cat-file", "epts", "", 0},
    {"checkout", "b?B?fqtdlm",
     " quiet force detach track orphan ours theirs merge guess conflict overlay progress"
     " ignore-skip-worktree-bits ignore-other-worktrees pathspec-from-file ",
     0},
    {"cherry-pick", "enxsm:X?",
     " continue abort skip quit no-commit edit mainline signoff ff allow-empty allow-empty-message"
     " keep-redundant-commits strategy-option empty ",
     0},
    {"clean", "fdxXnq", " force dry-run quiet ", 0},
    {"clone", "qvnb:o:",
     " depth: branch: quiet verbose no-checkout single-branch tags origin: shallow-since: filter:"
     " progress ",
     ROW_CLONES},
    {"commit", "m:F:C:aqvsnoieu?",
     " message: file: reuse-message: amend edit all verify allow-empty allow-empty-message author:"
     " date: signoff fixup: squash: reset-author quiet verbose only include dry-run short porcelain"
     " status branch long cleanup: no-gpg-sign no-post-rewrite ",
     0},
    {"count-objects", "vH", " verbose human-readable ", 0},
    {"describe", "",
     " all tags abbrev always dirty broken long match exclude exact-match contains candidates"
     " first-parent ",
     0},
    {"diff", "", "", ROW_LOOKS},
    {"fetch", "atnpPqvfk46",
     " all tags prune prune-tags depth: deepen: shallow-since: unshallow quiet verbose force "
     "dry-run"
     " progress append atomic update-shallow set-upstream no-recurse-submodules ",
     ROW_REMOTE},
    {"grep", "nilcwEFPvIhHLqoae?A?B?C?f?W",
     " line-number ignore-case files-with-matches files-without-match count word-regexp"
     " extended-regexp fixed-strings perl-regexp basic-regexp invert-match heading break "
     "show-function"
     " function-context and or not all-match cached untracked no-index no-textconv color "
     "only-matching"
     " max-depth context after-context before-context column name-only quiet text ",
     0},
    {"init", "qb:", " quiet initial-branch: object-format: ", ROW_MAKES},
    {"log", "", "", ROW_LOOKS},
    {"ls-files", "cdmosiutvzkf",
     " cached deleted modified others stage ignored unmerged killed exclude-standard directory"
     " full-name error-unmatch eol exclude format deduplicate abbrev empty-directory ",
     0},
    {"ls-tree", "drtlz", " name-only name-status full-name full-tree long abbrev format ", 0},
    {"merge", "m:F:nqveX?",
     " message: file: ff ff-only squash commit edit abort continue quit stat quiet verbose"
     " strategy-option verify log allow-unrelated-histories signoff autostash progress "
     "no-gpg-sign ",
     0},
    {"merge-base", "a", " all octopus independent is-ancestor fork-point ", 0},
    {"mv", "fknv", " force dry-run verbose ", ROW_MAKES},
    {"pull", "r?qvfnapX:46",
     " rebase ff ff-only quiet verbose all tags prune depth: autostash strategy-option: edit commit"
     " squash allow-unrelated-histories unshallow force progress stat no-recurse-submodules "
     "verify ",
     ROW_REMOTE},
    {"push", "unqvfd46",
     " set-upstream force force-with-lease force-if-includes tags follow-tags all delete dry-run"
     " quiet verbose porcelain prune atomic mirror progress verify thin no-recurse-submodules"
     " no-signed ",
     ROW_REMOTE},
    {"rebase", "iqvfnmkr?X?",
     " onto continue abort skip quit interactive autosquash autostash root keep-empty empty"
     " rebase-merges update-refs force-rebase fork-point committer-date-is-author-date ignore-date"
     " merge apply quiet verbose stat show-current-patch strategy-option whitespace"
     " ignore-whitespace keep-base reapply-cherry-picks verify signoff no-gpg-sign ",
     0},
    {"reflog", "", "", ROW_LOOKS},
    {"remote", "v", " verbose ", ROW_NO_ARGS},
    {"reset", "qN", " soft mixed hard merge keep quiet refresh intent-to-add pathspec-from-file ",
     0},
    {"restore", "s?SWqm",
     " source staged worktree quiet ours theirs merge conflict overlay progress pathspec-from-file"
     " ignore-unmerged ",
     0},
    {"rev-list", "", " objects disk-usage ", ROW_LOOKS},
    {"rev-parse", "q",
     " show-toplevel abbrev-ref short verify git-dir absolute-git-dir git-common-dir git-path"
     " show-prefix show-cdup is-inside-work-tree is-inside-git-dir is-bare-repository"
     " is-shallow-repository symbolic symbolic-full-name quiet all branches tags remotes"
     " show-object-format ",
     0},
    {"revert", "enm:sX?",
     " continue abort skip quit no-commit edit mainline signoff strategy-option no-gpg-sign ", 0},
    {"rm", "rfnq", " cached force dry-run quiet ignore-unmatch pathspec-from-file ", 0},
    {"shortlog", "nsecw?", " numbered summary email group ", ROW_LOOKS},
    {"show", "", "", ROW_LOOKS},
    {"show-ref", "sdq", " head heads tags hash verify abbrev dereference quiet ", 0},
    /* list and show hand their options to log and diff, where -m has no value */
    {"stash", "m?uakqSp",
     " message include-untracked all keep-index quiet staged index stat patch oneline name-only"
     " name-status only-untracked pathspec-from-file ",
     0},
    {"status", "sbu?vz",
     " short branch porcelain long verbose untracked-files ignored show-stash renames find-renames"
     " column ignore-submodules ahead-behind null ",
     0},
    {"switch", "c?C?dtfmq",
     " create force-create detach track force discard-changes merge quiet orphan guess conflict"
     " progress ignore-other-worktrees ",
     0},
    {"tag", "am:F:dfln?i",
     " annotate message: file: list delete force sort contains merged points-at format ignore-case"
     " cleanup create-reflog column color no-sign ",
     0},
};
/* clang-format on */

/* ---- options ---- */

struct reader {
    struct arena *arena;
    const struct git_row *row;
    struct str at; /* the directory, from where the line begins; empty: that one */
    struct str args[3];
    size_t n_args; /* may be more than fit in args */
    struct git_places places;
    size_t capacity;
};

/* A name among names with spaces around; *ret_value: ":" stands behind it. */
static bool has_name(const char *names, struct str name, bool *ret_value)
{
    struct str rest = str_of(names);
    for (size_t at; (at = str_find(rest, name)) != SIZE_MAX; rest = str_from(rest, at + 1)) {
        char before = at ? rest.p[at - 1] : '\0', after = rest.p[at + name.n];
        if (before == ' ' && (after == ' ' || after == ':')) {
            *ret_value = after == ':';
            return true;
        }
    }
    return false;
}

static bool is_row_name(const struct git_row *row, struct str name, bool *ret_value)
{
    return has_name(row->longs, name, ret_value) ||
           ((row->flags & ROW_LOOKS) && has_name(look_longs, name, ret_value));
}

static bool is_long_fine(const struct git_row *row, struct str word, bool *ret_takes)
{
    struct str name, value = str_split(str_from(word, 2), '=', &name);
    bool has_value = false;
    if (word.n == 2)
        return true;
    if (!name.n || str_chr(name, ' ') != SIZE_MAX || str_chr(name, ':') != SIZE_MAX)
        return false;
    if (is_row_name(row, name, &has_value)) {
        *ret_takes = has_value && !value.p;
        return true;
    }
    return str_starts(name, STR("no-")) && name.n > 3 && !value.p &&
           is_row_name(row, str_from(name, 3), &has_value);
}

static const char *find_letter(const struct git_row *row, char c)
{
    bool is_letter = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    const char *found = is_letter ? strchr(row->shorts, c) : NULL;
    if (!found && is_letter && (row->flags & ROW_LOOKS))
        found = strchr(look_shorts, c);
    return found;
}

static bool is_short_fine(const struct git_row *row, struct str word, bool *ret_takes)
{
    int64_t number;
    if ((row->flags & ROW_LOOKS) && str_int(str_from(word, 1), &number))
        return word.p[1] != '-' && word.p[1] != '+'; /* log -5 */
    for (size_t i = 1; i < word.n; i++) {
        const char *letter = find_letter(row, word.p[i]);
        if (!letter)
            return false;
        if (letter[1] == ':')
            *ret_takes = i + 1 == word.n;
        if (letter[1] == ':' || letter[1] == '?')
            return true;
    }
    return true; /* also "-", the standard input or the branch before */
}

/* ---- places ---- */

/* A part of a path that is .git, in any case.  The rest of an option counts as a path. */
static bool names_git_dir(struct str word)
{
    size_t start = 0;
    for (size_t i = 0; i <= word.n; i++) {
        if (i < word.n && word.p[i] != '/' && word.p[i] != '=')
            continue;
        if (str_ieq(str_n(word.p + start, i - start), STR(".git")))
            return true;
        start = i + 1;
    }
    return false;
}

static struct str joined(struct arena *a, struct str at, struct str path)
{
    if (!at.n || str_starts(path, STR("/")))
        return path;
    return arena_fmt(a, "%.*s/%.*s", STR_FMT(at), STR_FMT(path));
}

static void add_place(struct reader *r, enum git_place_kind kind, struct str path)
{
    ARENA_GROW(r->arena, r->places.v, r->places.n, r->capacity);
    r->places.v[r->places.n++] = (struct git_place){kind, joined(r->arena, r->at, path)};
}

static bool enter(struct reader *r, struct str dir, bool is_open)
{
    if (!dir.n || dir.p[0] == '-' || is_open || names_git_dir(dir))
        return false;
    add_place(r, GIT_ENTERS, dir);
    r->at = joined(r->arena, r->at, dir);
    return true;
}

/* ---- remotes ---- */

/* An address that leads to another machine: no path, and none of the helpers NAME::... */
static bool is_far(struct str word)
{
    static const char *const schemes[] = {"https://", "http://", "ssh://", "git://"};
    size_t colon = str_chr(word, ':');
    if (str_find(word, STR("::")) != SIZE_MAX || str_find(word, STR("@-")) != SIZE_MAX ||
        str_find(word, STR("://-")) != SIZE_MAX)
        return false;
    if (str_find(word, STR("://")) == SIZE_MAX) /* HOST:PATH */
        return colon != SIZE_MAX && colon > 0 && str_chr(str_cut(word, colon), '/') == SIZE_MAX;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(word, str_of(schemes[i])))
            return true;
    return false;
}

static bool is_nick(struct str word)
{
    bool has_letter = false;
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        bool is_letter = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!is_letter && !strchr("._-", c))
            return false;
        has_letter |= is_letter;
    }
    return has_letter;
}

/* The directory that clone makes when none is named. */
static struct str dir_of(struct str address)
{
    while (address.n && address.p[address.n - 1] == '/')
        address.n--;
    for (size_t i = address.n; i > 0; i--)
        if (address.p[i - 1] == '/' || address.p[i - 1] == ':') {
            address = str_from(address, i);
            break;
        }
    return str_ends(address, STR(".git")) ? str_cut(address, address.n - 4) : address;
}

static bool judge_args(struct reader *r)
{
    int flags = r->row->flags;
    if ((flags & ROW_NO_ARGS) && r->n_args)
        return false;
    if ((flags & ROW_REMOTE) && r->n_args && !is_far(r->args[0])) {
        if (!is_nick(r->args[0]))
            return false;
        add_place(r, GIT_REMOTE, r->args[0]);
    }
    if (!(flags & ROW_CLONES))
        return true;
    if (r->n_args < 1 || r->n_args > 2 || !is_far(r->args[0]))
        return false;
    struct str dir = r->n_args == 2 ? r->args[1] : dir_of(r->args[0]);
    if (!dir.n)
        return false;
    add_place(r, GIT_MAKES, dir);
    return true;
}

/* ---- commands ---- */

static const struct git_row *find_row(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* What stands between git and the subcommand; *at gets to the subcommand. */
static bool read_front(struct reader *r, const struct simple_command *c, size_t *at)
{
    static const char *const plain[] = {"--no-pager", "-P", "--no-optional-locks",
                                        "--literal-pathspecs"};
    for (*at = 1; *at < c->n && str_starts(c->words[*at], STR("-")); ++*at) {
        bool is_plain = false;
        for (size_t i = 0; i < ARRAY_LEN(plain); i++)
            is_plain |= str_is(c->words[*at], plain[i]);
        if (is_plain)
            continue;
        if (!str_is(c->words[*at], "-C") || ++*at >= c->n ||
            !enter(r, c->words[*at], c->opens[*at]))
            return false;
    }
    return *at < c->n;
}

static bool read_arg(struct reader *r, struct str word, bool is_open)
{
    if (r->row->flags & (ROW_REMOTE | ROW_CLONES | ROW_MAKES) && is_open)
        return false;
    if ((r->row->flags & ROW_REMOTE) && r->n_args && word.n && strchr("/.~", word.p[0]))
        return false; /* names of references only */
    if (r->row->flags & ROW_MAKES)
        add_place(r, GIT_MAKES, word);
    if (r->n_args < ARRAY_LEN(r->args))
        r->args[r->n_args] = word;
    r->n_args++;
    return true;
}

/* One word behind the subcommand; *takes: the next one is its value. */
static bool read_word(struct reader *r, struct str word, bool is_open, bool *takes)
{
    if (is_open && word.n && strchr("*?[", word.p[0])) /* may become an option */
        return false;
    if (names_git_dir(word))
        return false;
    if (!str_starts(word, STR("-")))
        return read_arg(r, word, is_open);
    return str_starts(word, STR("--")) ? is_long_fine(r->row, word, takes)
                                       : is_short_fine(r->row, word, takes);
}

static bool read_git(struct reader *r, const struct simple_command *c)
{
    struct str start = r->at;
    size_t at;
    bool takes = false;
    if (!str_is(c->words[0], "git") || !read_front(r, c, &at))
        return false;
    r->row = c->opens[at] ? NULL : find_row(c->words[at]);
    r->n_args = 0;
    if (!r->row)
        return false;
    for (at++; at < c->n; at++) {
        if (takes) {
            if (c->opens[at]) /* may become several words */
                return false;
            takes = false;
        } else if (!read_word(r, c->words[at], c->opens[at], &takes))
            return false;
    }
    bool ok = judge_args(r);
    r->at = start;
    return ok;
}

/* The shell takes ".." out of the text of a path, the kernel follows links first: cd without. */
static bool has_up(struct str dir)
{
    struct str part;
    while (dir.p) {
        dir = str_split(dir, '/', &part);
        if (str_is(part, ".."))
            return true;
    }
    return false;
}

static bool read_cd(struct reader *r, const struct simple_command *c)
{
    return c->n == 2 && c->join == JOIN_AND && !has_up(c->words[1]) &&
           enter(r, c->words[1], c->opens[1]);
}

bool shell_plain_git(struct arena *a, struct str line, struct git_places *ret_places)
{
    struct reader r = {.arena = a};
    struct commands list;
    if (!command_split_texts(a, line, &list) || !list.n)
        return false;
    size_t i = str_is(list.v[0].words[0], "cd") ? 1 : 0;
    if (i && (!read_cd(&r, &list.v[0]) || list.n == 1))
        return false;
    for (; i < list.n; i++)
        if (list.v[i].join == JOIN_BACKGROUND || !read_git(&r, &list.v[i]))
            return false;
    *ret_places = r.places;
    return true;
}

bool shell_is_plain_git(struct str line)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct git_places places;
    return shell_plain_git(&a, line, &places);
}
