/* SPDX-License-Identifier: MIT */
/* The module `index`: rows of sessions and the texts of their messages in SQLite.
 *
 *     <dir>/.trivet-index.sqlite3
 *     file   one row per *.jsonl: its size, time and inode when read, how far it was read,
 *            the saved scan, and the columns of a list
 *     text   FTS5 over messages; rowid = file.id << 24 | number of the message; filled by searches,
 *            since it takes twenty times as long as the rows: file.text_end and text_n say how far
 *
 * Every call opens the database, updates it from the directory, runs the query and closes it; there
 * is no state between calls, and any thread may call.  The files are authoritative: a corrupt
 * database or one of another version is deleted and rebuilt.  One that cannot be used (a read-only
 * directory, a full disk) is an error; the core then reads the files itself.
 *
 * The tokenizer keeps "_" inside of words, so that names in code are found as they are written.
 */
#include "base/limits.h"
#include "base/module.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "store/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

enum {
    SCHEMA_VERSION = 2,
    BUSY_MS = 3000,
    MESSAGE_BITS = 24,
    SNIPPET_WORDS = 32,
    QUERY_BYTES = 1000,
};

static const char schema[] =
    "CREATE TABLE file(id INTEGER PRIMARY KEY, rel TEXT UNIQUE NOT NULL,"
    " size INTEGER, mtime_ns INTEGER, inode INTEGER, end INTEGER,"
    " sid TEXT, name TEXT, cwd TEXT, first TEXT, parent_id TEXT, parent_path TEXT, model TEXT,"
    " created_ms INTEGER, n_messages INTEGER, text_end INTEGER DEFAULT 0, text_n INTEGER DEFAULT 0,"
    " state TEXT);" /* last, since it is long */
    "CREATE INDEX file_time ON file(mtime_ns);"
    "CREATE VIRTUAL TABLE text USING fts5(body, role UNINDEXED, prefix='2 3',"
    " tokenize=\"unicode61 remove_diacritics 2 tokenchars '_'\");"
    "PRAGMA user_version=2;";

struct db {
    sqlite3 *h;
    struct str dir;
    struct error *err; /* of the current call */
    bool has_failed;   /* err is filled */
    bool is_reading;   /* inside a read transaction */
    bool is_writing;   /* inside a write transaction, which closing rolls back */
};

/* ---- wrappers for SQLite ---- */

static bool fail(struct db *db, const char *what)
{
    enum err_code code;
    switch (sqlite3_errcode(db->h)) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* a table is missing */
    case SQLITE_CONSTRAINT:
        code = ERR_CORRUPT;
        break;
    case SQLITE_FULL:
        code = ERR_DISK_FULL;
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        code = ERR_BUSY;
        break;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        code = ERR_DENIED;
        break;
    default:
        code = ERR_IO;
    }
    if (!db->has_failed) /* keep the first error, which causes the others */
        error_set(db->err, code, "the index of %.*s: %s: %s", STR_FMT(db->dir), what,
                  sqlite3_errmsg(db->h));
    db->has_failed = true;
    return false;
}

static bool run(struct db *db, const char *sql)
{
    return sqlite3_exec(db->h, sql, NULL, NULL, NULL) == SQLITE_OK || fail(db, "statement");
}

static bool commit(struct db *db)
{
    if ((db->is_writing || db->is_reading) && !db->has_failed)
        db->is_writing = db->is_reading = !run(db, "COMMIT");
    return !db->has_failed;
}

/* Many queries in one transaction: each one alone would lock, check for changes and unlock. */
static bool begin_reading(struct db *db)
{
    return db->is_reading = run(db, "BEGIN");
}

/* Ends the read transaction: its snapshot may be outdated, and SQLite would refuse to write then.
 * Statements must be reset before. */
static bool begin(struct db *db)
{
    if (db->is_writing)
        return true;
    if (db->is_reading && !commit(db))
        return false;
    return db->is_writing = run(db, "BEGIN IMMEDIATE");
}

struct stmt {
    struct db *db;
    sqlite3_stmt *h; /* NULL when preparing failed; the other functions then do nothing */
    int n_bound;
};

static void stmt_clear(struct stmt *s)
{
    sqlite3_finalize(s->h);
}

static struct stmt prepare(struct db *db, const char *sql)
{
    struct stmt s = {.db = db};
    if (sqlite3_prepare_v2(db->h, sql, -1, &s.h, NULL) != SQLITE_OK)
        fail(db, "statement");
    return s;
}

static void bind_int(struct stmt *s, int64_t v)
{
    sqlite3_bind_int64(s->h, ++s->n_bound, v);
}

/* Not copied: it must live until the statement was stepped for the last time. */
static void bind_str(struct stmt *s, struct str v)
{
    sqlite3_bind_text64(s->h, ++s->n_bound, v.p, v.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* Whether there is another row; false at the end and upon failure. */
static bool next(struct stmt *s)
{
    int rc = s->h ? sqlite3_step(s->h) : SQLITE_DONE;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail(s->db, "query");
    return rc == SQLITE_ROW;
}

static bool finish(struct stmt *s)
{
    next(s);
    return !s->db->has_failed;
}

static struct str column(struct arena *a, struct stmt *s, int i)
{
    const void *p = sqlite3_column_text(s->h, i);
    return p ? arena_str(a, str_n(p, (size_t)sqlite3_column_bytes(s->h, i))) : STR_NONE;
}

/* ---- opening ---- */

static void db_name(struct str dir, struct buf *out)
{
    buf_addf(out, "%.*s/.trivet-index.sqlite3", STR_FMT(dir));
}

static void db_delete(struct str dir)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        db_name(dir, &path);
        buf_addz(&path, ends[i]);
        unlink(path.p);
    }
}

static void db_clear(struct db *db)
{
    sqlite3_close(db->h);
}

static int64_t schema_version(struct db *db)
{
    AUTO(stmt) struct stmt s = prepare(db, "PRAGMA user_version");
    return next(&s) ? sqlite3_column_int64(s.h, 0) : -1;
}

static bool make_schema(struct db *db)
{
    int64_t version = schema_version(db);
    if (db->has_failed)
        return false;
    if (version == SCHEMA_VERSION)
        return true;
    if (version != 0) {
        db->has_failed = true;
        return error_set(db->err, ERR_CORRUPT, "the index has version %lld", (long long)version);
    }
    if (!begin(db))
        return false;
    /* Another process may have created the schema meanwhile. */
    return (schema_version(db) == SCHEMA_VERSION || run(db, schema)) && commit(db);
}

static bool db_open(struct db *db)
{
    AUTO(buf) struct buf path = BUF_INIT;
    db_name(db->dir, &path);
    /* Created here to set its mode, which SQLite copies to its journal files. */
    int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_errno(db->err, errno, "cannot open %s", path.p);
    close(fd);
    /* Used by one thread only, so SQLite needs no mutex. */
    if (sqlite3_open_v2(path.p, &db->h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return fail(db, "opening");
    sqlite3_busy_timeout(db->h, BUSY_MS);
    return run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;") && make_schema(db);
}

/* ---- updating ---- */

struct known {  /* the row of a file in the database */
    int64_t id; /* 0: nothing */
    int64_t size, mtime_ns, inode, end;
    struct str state;
};

static struct known look_up(struct db *db, struct arena *a, struct str rel)
{
    struct known k = {0};
    AUTO(stmt) struct stmt s = prepare(
        db, "SELECT id, size, mtime_ns, inode, end, state FROM file WHERE rel = ?");
    bind_str(&s, rel);
    if (next(&s)) {
        k.id = sqlite3_column_int64(s.h, 0);
        k.size = sqlite3_column_int64(s.h, 1);
        k.mtime_ns = sqlite3_column_int64(s.h, 2);
        k.inode = sqlite3_column_int64(s.h, 3);
        k.end = sqlite3_column_int64(s.h, 4);
        k.state = column(a, &s, 5);
    }
    return k;
}

static void delete_texts(struct db *db, int64_t file)
{
    AUTO(stmt) struct stmt s = prepare(db, "DELETE FROM text WHERE rowid BETWEEN ? AND ?");
    bind_int(&s, file << MESSAGE_BITS);
    bind_int(&s, ((file + 1) << MESSAGE_BITS) - 1);
    finish(&s);
}

static void delete_file(struct db *db, int64_t file)
{
    delete_texts(db, file);
    AUTO(stmt) struct stmt s = prepare(db, "DELETE FROM file WHERE id = ?");
    bind_int(&s, file);
    finish(&s);
}

static int64_t insert_file(struct db *db, struct str rel)
{
    AUTO(stmt) struct stmt s = prepare(db, "INSERT INTO file(rel) VALUES (?)");
    bind_str(&s, rel);
    return finish(&s) ? sqlite3_last_insert_rowid(db->h) : 0;
}

struct text_target {
    struct stmt insert;
    int64_t file;
};

static void text_target_clear(struct text_target *t)
{
    stmt_clear(&t->insert);
}

static void insert_text(void *arg, struct str role, struct str text, int64_t message)
{
    struct text_target *t = arg;
    struct stmt *s = &t->insert;
    if (s->db->has_failed || message >> MESSAGE_BITS)
        return;
    s->n_bound = 0;
    bind_int(s, t->file << MESSAGE_BITS | message);
    bind_str(s, utf8_cut(text, LIMIT_INDEXED_BYTES));
    bind_str(s, role);
    finish(s);
    sqlite3_reset(s->h);
}

static void set_text_end(struct db *db, int64_t file, int64_t end, int64_t n_messages)
{
    AUTO(stmt) struct stmt s = prepare(db, "UPDATE file SET text_end = ?, text_n = ? WHERE id = ?");
    bind_int(&s, end);
    bind_int(&s, n_messages);
    bind_int(&s, file);
    finish(&s);
}

static void update_row(struct db *db, int64_t id, const struct session_file *f, int64_t end,
                       const struct scan *scan)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf state = BUF_INIT;
    struct session_row row = {0}; /* all absent without a header */
    scan_row(scan, &a, &row);
    scan_save(scan, &state);
    AUTO(stmt) struct stmt s = prepare(
        db,
        "UPDATE file SET size = ?, mtime_ns = ?, inode = ?, end = ?, state = ?, sid = ?, name = ?,"
        " cwd = ?, first = ?, parent_id = ?, parent_path = ?, model = ?, created_ms = ?,"
        " n_messages = ? WHERE id = ?");
    bind_int(&s, f->size);
    bind_int(&s, f->mtime_ns);
    bind_int(&s, f->inode);
    bind_int(&s, end);
    bind_str(&s, buf_str(&state));
    const struct str texts[] = {row.id,        row.name,        row.cwd,  row.first_message,
                                row.parent_id, row.parent_path, row.model};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bind_str(&s, texts[i]);
    bind_int(&s, row.created_ms);
    bind_int(&s, row.n_messages);
    bind_int(&s, id);
    finish(&s);
}

/* Reads new lines; when the file did more than grow, reads it from the beginning and drops its
 * texts. */
static bool read_new(struct db *db, struct scan *scan, int64_t file, const struct session_file *f,
                     const struct known *k, int64_t *ret_end)
{
    struct error ignored;
    bool has_grown = k->id && k->inode == f->inode && f->size > k->size && f->size >= k->end;
    if (has_grown && k->state.p && scan_load(scan, k->state) &&
        scan_file(scan, f->path, k->end, ret_end, &ignored))
        return true;
    scan_clear(scan);
    delete_texts(db, file);
    set_text_end(db, file, 0, 0);
    return scan_file(scan, f->path, 0, ret_end, &ignored);
}

static void update_file(struct db *db, const struct session_file *f, struct str rel)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(scan) struct scan scan = SCAN_INIT;
    struct known k = look_up(db, &a, rel);
    int64_t file = k.id ? k.id : insert_file(db, rel), end;
    if (db->has_failed)
        return;
    if (read_new(db, &scan, file, f, &k, &end))
        update_row(db, file, f, end, &scan);
    else
        delete_file(db, file); /* unreadable: left out of lists */
}

/* Adds the texts of new messages; the file's row is up to date. */
static void update_texts(struct db *db, int64_t file, const struct session_file *f, int64_t from,
                         int64_t n_messages)
{
    AUTO(scan) struct scan scan = SCAN_INIT;
    AUTO(text_target) struct text_target t = {.file = file};
    struct error ignored;
    int64_t end;
    t.insert = prepare(db, "INSERT INTO text(rowid, body, role) VALUES (?, ?, ?)");
    scan.n_messages = n_messages;
    scan.on_text = insert_text;
    scan.arg = &t;
    if (!db->has_failed && scan_file(&scan, f->path, from, &end, &ignored))
        set_text_end(db, file, end, scan.n_messages);
}

static struct str rel_of(struct db *db, const struct session_file *f)
{
    return str_from(f->path, db->dir.n + 1);
}

static struct str path_of(struct db *db, struct arena *a, struct str rel)
{
    return arena_fmt(a, "%.*s/%.*s", STR_FMT(db->dir), STR_FMT(rel));
}

static int by_path(const void *a, const void *b)
{
    const struct session_file *x = a, *y = b;
    return str_cmp(x->path, y->path);
}

/* Ids of rows whose file no longer exists; files are sorted by path.  A flat list does not cover
 * subdirectories. */
static int64_t *find_gone(struct db *db, struct arena *a, const struct session_file *files,
                          size_t n_files, bool deep, size_t *ret_n)
{
    AUTO(buf) struct buf ids = BUF_INIT;
    AUTO(stmt) struct stmt s = prepare(db,
                                       "SELECT id, rel FROM file WHERE ? OR instr(rel, '/') = 0");
    bind_int(&s, deep);
    while (next(&s)) {
        int64_t id = sqlite3_column_int64(s.h, 0);
        struct str rel = column(a, &s, 1);
        struct session_file key = {.path = path_of(db, a, rel)};
        if (!n_files || !bsearch(&key, files, n_files, sizeof *files, by_path))
            buf_add(&ids, str_n((const char *)&id, sizeof id));
    }
    *ret_n = ids.n / sizeof(int64_t);
    int64_t *list = arena_array(a, int64_t, *ret_n + 1);
    if (ids.n)
        memcpy(list, ids.p, ids.n);
    return list;
}

static void delete_gone(struct db *db, struct session_file *files, size_t n_files, bool deep)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_gone;
    if (n_files)
        qsort(files, n_files, sizeof *files, by_path);
    int64_t *gone = find_gone(db, &a, files, n_files, deep, &n_gone);
    for (size_t i = 0; i < n_gone && !db->has_failed && begin(db); i++)
        delete_file(db, gone[i]);
}

static const char select_current[] =
    "SELECT sid, name, cwd, first, parent_id, parent_path, model, created_ms, n_messages,"
    " id, end, text_end, text_n FROM file WHERE rel = ? AND size = ? AND mtime_ns = ? AND inode = ?";

static bool find_current(struct stmt *s, const struct session_file *f)
{
    sqlite3_reset(s->h);
    s->n_bound = 0;
    bind_str(s, rel_of(s->db, f));
    bind_int(s, f->size);
    bind_int(s, f->mtime_ns);
    bind_int(s, f->inode);
    return next(s);
}

/* Steps s to the row of the file.  When the row is missing or outdated the file is read first; only
 * then the write lock is taken.  False when the file cannot be read. */
static bool to_current(struct stmt *s, const struct session_file *f)
{
    if (find_current(s, f))
        return true;
    sqlite3_reset(s->h);
    if (s->db->has_failed || !begin(s->db))
        return false;
    update_file(s->db, f, rel_of(s->db, f));
    return !s->db->has_failed && find_current(s, f);
}

static bool bring_up_to_date(struct db *db, struct session_file *files, size_t n_files)
{
    AUTO(stmt) struct stmt s = prepare(db, select_current);
    begin_reading(db);
    for (size_t i = 0; i < n_files && !db->has_failed; i++) {
        if (!to_current(&s, &files[i]))
            continue;
        int64_t id = sqlite3_column_int64(s.h, 9), end = sqlite3_column_int64(s.h, 10);
        int64_t text_end = sqlite3_column_int64(s.h, 11), n = sqlite3_column_int64(s.h, 12);
        sqlite3_reset(s.h);
        if (text_end < end && begin(db))
            update_texts(db, id, &files[i], text_end, n);
    }
    sqlite3_reset(s.h);
    delete_gone(db, files, n_files, true);
    return commit(db);
}

/* ---- queries ---- */

static void *keep_rows(struct arena *a, const struct buf *rows)
{
    void *kept = arena_alloc(a, rows->n + 1);
    if (rows->n)
        memcpy(kept, rows->p, rows->n);
    return kept;
}

static struct session_row get_row(struct arena *a, struct stmt *s, const struct session_file *f)
{
    struct session_row row = {
        .path = arena_str(a, f->path),
        .id = column(a, s, 0),
        .name = column(a, s, 1),
        .cwd = column(a, s, 2),
        .first_message = column(a, s, 3),
        .parent_id = column(a, s, 4),
        .parent_path = column(a, s, 5),
        .model = column(a, s, 6),
        .created_ms = sqlite3_column_int64(s->h, 7),
        .n_messages = sqlite3_column_int64(s->h, 8),
        .modified_ms = f->mtime_ns / 1000000,
    };
    if (row.created_ms == 0)
        row.created_ms = row.modified_ms;
    return row;
}

struct question { /* a list or, with a query, a search */
    struct arena *a;
    struct str dir, query;
    bool deep;
    size_t limit;
    struct session_list *ret_list;
    struct search_hits *ret_hits;
};

/* Goes through the files, newest first, until there are enough rows: a short list is fast even when
 * the database is empty. */
static bool answer_list(struct db *db, const struct question *q, struct session_file *files,
                        size_t n_files)
{
    AUTO(buf) struct buf rows = BUF_INIT;
    AUTO(stmt) struct stmt s = prepare(db, select_current);
    size_t n = 0;
    begin_reading(db);
    for (size_t i = 0; i < n_files && !db->has_failed && (q->limit == 0 || n < q->limit); i++) {
        if (!to_current(&s, &files[i]))
            continue;
        struct session_row row = get_row(q->a, &s, &files[i]);
        if (row.id.p) {
            buf_add(&rows, str_n((const char *)&row, sizeof row));
            n++;
        }
    }
    sqlite3_reset(s.h);
    if (db->is_writing)
        delete_gone(db, files, n_files, q->deep);
    if (!commit(db))
        return false;
    *q->ret_list = (struct session_list){keep_rows(q->a, &rows), n};
    return true;
}

/* The query in FTS5 syntax: every word and every quoted phrase is a string. */
static void put_match(struct str query, struct buf *out)
{
    size_t i = 0;
    while (i < query.n) {
        bool is_quoted = query.p[i] == '"';
        size_t begin = i += is_quoted;
        while (i < query.n && query.p[i] != '"' &&
               (is_quoted || !str_is_blank(str_n(query.p + i, 1))))
            i++;
        struct str word = str_n(query.p + begin, i - begin);
        if (!str_is_blank(word))
            buf_addf(out, "%s\"%.*s\"%s", out->n ? " " : "", STR_FMT(word), is_quoted ? "" : "*");
        if (i < query.n && (is_quoted || query.p[i] != '"'))
            i++;
    }
}

static bool answer_search(struct db *db, const struct question *q)
{
    AUTO(buf) struct buf match = BUF_INIT;
    AUTO(buf) struct buf rows = BUF_INIT;
    put_match(utf8_cut(q->query, QUERY_BYTES), &match);
    AUTO(stmt) struct stmt s = prepare(
        db, "SELECT file.rel, file.sid, text.role, snippet(text, 0, '', '', '\xe2\x80\xa6', ?),"
            " text.rowid FROM text JOIN file ON file.id = text.rowid >> ? WHERE text MATCH ?"
            " AND file.sid IS NOT NULL ORDER BY text.rank, file.mtime_ns DESC, text.rowid LIMIT ?");
    bind_int(&s, SNIPPET_WORDS);
    bind_int(&s, MESSAGE_BITS);
    bind_str(&s, buf_str(&match));
    bind_int(&s, q->limit ? (int64_t)q->limit : -1);
    while (match.n && next(&s)) {
        struct str rel = column(q->a, &s, 0);
        struct search_hit hit = {
            .path = path_of(db, q->a, rel),
            .id = column(q->a, &s, 1),
            .role = column(q->a, &s, 2),
            .text = column(q->a, &s, 3),
            .message = sqlite3_column_int64(s.h, 4) & ((1 << MESSAGE_BITS) - 1),
        };
        buf_add(&rows, str_n((const char *)&hit, sizeof hit));
    }
    if (db->has_failed)
        return false;
    *q->ret_hits = (struct search_hits){keep_rows(q->a, &rows), rows.n / sizeof(struct search_hit)};
    return true;
}

static bool ask_once(const struct question *q, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(db) struct db db = {.dir = q->dir, .err = err};
    struct session_file *files;
    size_t n;
    if (!session_files(&a, q->dir, q->deep, &files, &n, err) || !db_open(&db))
        return false;
    if (q->ret_list)
        return answer_list(&db, q, files, n);
    return bring_up_to_date(&db, files, n) && answer_search(&db, q);
}

static bool ask(struct question *q, struct error *err)
{
    while (q->dir.n > 1 && q->dir.p[q->dir.n - 1] == '/')
        q->dir.n--;
    if (ask_once(q, err))
        return true;
    if (err->code != ERR_CORRUPT)
        return false;
    db_delete(q->dir);
    return ask_once(q, err);
}

static bool index_list(struct arena *a, struct str dir, bool deep, size_t limit,
                       struct session_list *ret, struct error *err)
{
    return ask(
        &(struct question){.a = a, .dir = dir, .deep = deep, .limit = limit, .ret_list = ret}, err);
}

static bool index_search(struct arena *a, struct str dir, struct str query, size_t limit,
                         struct search_hits *ret, struct error *err)
{
    return ask(
        &(struct question){
            .a = a, .dir = dir, .query = query, .deep = true, .limit = limit, .ret_hits = ret},
        err);
}

MODULE_SYMBOLS;

const void *trivet_module(void)
{
    static const struct index_api api = {.list = index_list, .search = index_search};
    return &api;
}
