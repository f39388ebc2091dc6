/* SPDX-License-Identifier: MIT */
#include "tools/syntax.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "tools/program.h"

enum { OUTPUT_BYTES = 8 << 10, TEXT_BYTES = 1 << 20 };

static const char python_code[] =
    "import sys\n"
    "try: compile(sys.stdin.buffer.read(), sys.argv[1], 'exec')\n"
    "except SyntaxError as e:\n"
    " print('%s:%s: %s: %s' % (sys.argv[1], e.lineno, type(e).__name__, e.msg))\n"
    " print('    ' + (e.text or '').strip())\n"
    "except ValueError as e: print('%s: %s' % (sys.argv[1], e))\n";

/* What only modules may contain is no error: whether the file is one is not known. */
static const char node_code[] =
    "const text = require('fs').readFileSync(0, 'utf8').replace(/^#!.*/, '');\n"
    "try { new (require('vm').Script)('(async () => {' + text + '\\n})', {filename: process.argv[1]}) }\n"
    "catch (e) {\n"
    " if (!/import|export|module/.test(e.message))\n"
    "  console.log(String(e.stack).split('\\n').filter(l => l.trim() && !/^    at /.test(l)).join('\\n'))\n"
    "}\n";

static const struct checker {
    const char *endings[4];
    const char *argv[6]; /* the file's name comes behind them when needs_name */
    bool needs_name;
} checkers[] = {
    {{".py", ".pyi"}, {"python3", "-I", "-S", "-c", python_code}, true},
    {{".js", ".cjs", ".mjs"}, {"node", "-e", node_code, "--"}, true},
    {{".bash"}, {"bash", "-n"}, false},
    {{".sh"}, {"sh", "-n"}, false},
    {{".rb"}, {"ruby", "-c", "-"}, false},
    {{".php"}, {"php", "-l"}, false},
};

static const struct checker *find_checker(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(checkers); i++)
        for (const char *const *e = checkers[i].endings; *e; e++)
            if (str_ends(path, str_of(*e)))
                return &checkers[i];
    return NULL;
}

/* Asks the checker; what it says goes to out, nothing when the text is fine or cannot be checked.
 */
static void ask_await(struct tool_cx *cx, const struct checker *c, struct str path, struct str text,
                      struct buf *out)
{
    AUTO(program_run) struct program_run run = PROGRAM_RUN_INIT;
    AUTO_FREE char *name = str_dup(path_base(path)), *cwd = str_dup(cx->root);
    const char *argv[ARRAY_LEN(c->argv) + 2] = {0};
    struct error ignored;
    size_t n = 0;
    for (; n < ARRAY_LEN(c->argv) && c->argv[n]; n++)
        argv[n] = c->argv[n];
    if (c->needs_name)
        argv[n] = name;
    struct program_options o = {.argv = argv,
                                .env = cx->env,
                                .cwd = cwd,
                                .input = text,
                                .timeout_ms = SYNTAX_MS,
                                .head_max = OUTPUT_BYTES};
    if (!program_await(cx, &o, &run, &ignored) || run.end.timed_out)
        return;
    bool fails_by_status = !c->needs_name; /* the others print errors and nothing else */
    if (fails_by_status ? run.end.exit_code <= 0 : run.end.exit_code != 0)
        return;
    ring_put(&run.out, out);
    if (fails_by_status)
        ring_put(&run.err, out);
}

/* Equal but for numbers: a change moves the lines below it. */
static bool is_same_error(struct str a, struct str b)
{
    for (;;) {
        while (a.n && a.p[0] >= '0' && a.p[0] <= '9')
            a = str_from(a, 1);
        while (b.n && b.p[0] >= '0' && b.p[0] <= '9')
            b = str_from(b, 1);
        if (!a.n || !b.n)
            return a.n == b.n;
        if (a.p[0] != b.p[0])
            return false;
        a = str_from(a, 1);
        b = str_from(b, 1);
    }
}

static bool has_error(struct str errors, struct str wanted)
{
    struct str line;
    while (str_line(&errors, &line))
        if (is_same_error(line, wanted))
            return true;
    return false;
}

static void put_new(const char *by, struct str errors, struct str old, struct buf *out)
{
    struct str line;
    int n = 0;
    while (str_line(&errors, &line)) {
        if (str_is_blank(line) || has_error(old, line) || n == SYNTAX_LINES)
            continue;
        if (n++ == 0)
            buf_addf(out, "\nsyntax errors (%s):", by);
        buf_addc(out, '\n');
        buf_add(out, str_cut(line, 300));
    }
}

/* Files that are JSON with comments in spite of their name. */
static bool is_loose_json(struct str path)
{
    struct str name = path_base(path);
    return str_starts(name, STR("tsconfig")) || str_starts(name, STR("jsconfig")) ||
           str_starts(name, STR(".")) || str_find(path, STR("/.vscode/")) != SIZE_MAX ||
           str_find(path, STR("/.devcontainer/")) != SIZE_MAX;
}

static void check_json(struct str text, struct buf *out)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    if (!json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, 1000, &j, &err))
        buf_addz(out, err.text);
}

void syntax_check_await(struct tool_cx *cx, struct str path, struct str before, struct str after,
                        struct buf *out)
{
    AUTO(buf) struct buf errors = BUF_INIT, old = BUF_INIT, program = BUF_INIT;
    const struct checker *c = find_checker(path);
    if (after.n > TEXT_BYTES || before.n > TEXT_BYTES)
        return;
    if (str_ends(path, STR(".json")) && !is_loose_json(path)) {
        check_json(after, &errors);
        if (errors.n && before.p)
            check_json(before, &old);
        if (!old.n) /* what was broken before is not news */
            put_new("JSON", buf_str(&errors), STR(""), out);
        return;
    }
    if (!c || !program_find(c->argv[0], cx->env, &program))
        return;
    ask_await(cx, c, path, after, &errors);
    if (!errors.n)
        return;
    if (before.p)
        ask_await(cx, c, path, before, &old);
    put_new(c->argv[0], buf_str(&errors), buf_str(&old), out);
}
