/*
 * weblog_follow.c - turns: what is new at each path, what is new in each file.
 *
 * Threads    one
 */
#include "collectors/weblog_follow.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNKS_A_TURN 8 /* of one file: others get their turn, the caller saves its place */
#define SEARCH_MS     2000
#define HISTORY_MS    86400000 /* younger rotated files are looked at when a log is first seen */
#define WARN_MS       600000   /* between two complaints about files that can't be read */
#define ODD_MS        10000 /* first lines of no known format are told after so long, or when they are many */

void col_web_follow_init(struct col_web_follow *f, const struct col_web_follow_opts *opts)
{
    *f = (struct col_web_follow){.opts = *opts};
    f->done = ts_xcalloc(COL_WEB_DONE_MAX, sizeof(*f->done));
    f->chunk = ts_xmalloc(COL_WEB_CHUNK_BYTES);
    ts_buf_init(&f->scratch, 0);
}

static void file_shut(struct col_web_file *file)
{
    if (file->file)
        fclose(file->file);
    ts_lines_close(file->lines);
    file->file = NULL;
    file->lines = NULL;
}

static void file_free(struct col_web_file *file)
{
    file_shut(file);
    ts_free(file->path);
    ts_free(file);
}

void col_web_follow_release(struct col_web_follow *f)
{
    for (uint32_t i = 0; i < f->n_files; i++)
        file_free(f->files[i]);
    ts_free(f->files);
    ts_free(f->done);
    ts_free(f->chunk);
    ts_buf_release(&f->scratch);
    *f = (struct col_web_follow){.n_files = 0};
}

/* --- first bytes --- */

struct col_web_head col_web__head_of(const char *p, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, n - i < 8 ? n - i : 8);
        h = ts_hash_u64(h ^ word) + 0x9e3779b97f4a7c15u;
    }
    return (struct col_web_head){.n_bytes = (uint32_t)n, .hash = h};
}

bool col_web__head_read(FILE *file, uint32_t n_bytes, struct col_web_head *out)
{
    char p[COL_WEB_HEAD_BYTES];
    ssize_t n = pread(fileno(file), p, n_bytes ? n_bytes : sizeof(p), 0);
    if (n < 0 || (n_bytes && n != (ssize_t)n_bytes))
        return false;
    *out = col_web__head_of(p, (size_t)n);
    return true;
}

/* Is it still the file it was? */
static bool file_same(const struct col_web_file *file)
{
    struct col_web_head now;
    return !file->head.n_bytes ||
           (col_web__head_read(file->file, file->head.n_bytes, &now) && now.hash == file->head.hash);
}

/* --- entries --- */

struct col_web_file *col_web__file_add(struct col_web_follow *f, const char *path,
                                       const struct col_web_log *log, uint32_t at)
{
    struct col_web_file *file = ts_xcalloc(1, sizeof(*file));
    file->path = ts_xstrdup(path);
    file->log = log;
    f->files = ts_xrealloc(f->files, (f->n_files + 1) * sizeof(struct col_web_file *));
    memmove(&f->files[at + 1], &f->files[at], (f->n_files - at) * sizeof(struct col_web_file *));
    f->files[at] = file;
    f->n_files++;
    f->n_changes++;
    return file;
}

/* All of it was taken: remember its first bytes, so that it is not taken for a new one. */
static void file_done(struct col_web_follow *f, uint32_t at)
{
    struct col_web_file *file = f->files[at];
    if (file->rotated)
        ts_log(TS_LOG_DEBUG, "weblog: done with a rotated %s at byte %llu", file->path,
               (unsigned long long)file->off);
    if (file->head.n_bytes)
        f->done[f->n_done++ % COL_WEB_DONE_MAX] = file->head;
    file_free(file);
    f->n_files--;
    f->n_changes++;
    memmove(&f->files[at], &f->files[at + 1], (f->n_files - at) * sizeof(struct col_web_file *));
}

bool col_web_follow_restore(struct col_web_follow *f, const struct col_web_file *saved)
{
    const struct col_web_log *log = f->opts.logs ? col_web_logs_find(f->opts.logs, saved->path) : NULL;
    if (!log && f->opts.logs)
        return false;
    struct col_web_file *file = col_web__file_add(f, saved->path, log, f->n_files);
    char *path = file->path;
    *file = *saved;
    file->path = path;
    file->log = log;
    return true;
}

static struct col_web_file *current_at(const struct col_web_follow *f, const char *path)
{
    for (uint32_t i = 0; i < f->n_files; i++)
        if (!f->files[i]->rotated && !strcmp(f->files[i]->path, path))
            return f->files[i];
    return NULL;
}

static bool file_open(struct col_web_follow *f, struct col_web_file *file, int64_t now_ms)
{
    struct stat st;
    file->file = fopen(file->path, "rbe");
    if (!file->file) {
        if (now_ms >= f->warn_ms || !f->turned) /* later on, one of them is enough to know */
            ts_log(TS_LOG_WARN, "weblog: can't read %s: %m%s", file->path,
                   errno == EACCES ? "; our user must be allowed to" : "");
        f->warn_ms = now_ms >= f->warn_ms ? now_ms + WARN_MS : f->warn_ms;
        return false;
    }
    if (fstat(fileno(file->file), &st) < 0 || !S_ISREG(st.st_mode)) {
        file_shut(file);
        return false;
    }
    file->dev = st.st_dev;
    file->ino = st.st_ino;
    return true;
}

/* Folders of rotated files that are not there are a slip of the pen, mostly. */
static void olddirs_check(const struct col_web_follow *f, const char *path)
{
    char dir[PATH_MAX];
    struct stat st;
    for (unsigned i = 0; col_web__olddir(f, path, i, dir); i++)
        if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
            ts_log(TS_LOG_WARN, "weblog: collect_weblog_olddir: %s, for rotated files of %s, is no folder",
                   dir, path);
}

/* A path that no entry stands for. */
static void path_new(struct col_web_follow *f, const struct col_web_log *log, const char *path,
                     int64_t now_ms)
{
    struct stat st;
    if ((log->wild && col_web_is_rotated_name(path)) || current_at(f, path) || stat(path, &st) < 0 ||
        !S_ISREG(st.st_mode) || col_web__inode_known(f, path, &st))
        return;
    struct col_web_file *file = col_web__file_add(f, path, log, f->n_files);
    struct col_web_head head = {.n_bytes = 0};
    file->quiet_ms = now_ms;
    if (!file_open(f, file, now_ms) || (log->wild && col_web__head_read(file->file, 0, &head) &&
                                        col_web__head_known(f, &head))) { /* a rotated one */
        file_done(f, f->n_files - 1);
        f->n_changes -= 2; /* as if nothing had happened */
        return;
    }
    file->mtime_ms = col_web__mtime_ms(&st);
    if (f->opts.from_end && !f->turned)
        file->off = (uint64_t)st.st_size;
    (void)col_web__head_read(file->file, 0, &file->head);
    col_web__rotated_skip(f, file, now_ms - HISTORY_MS);
    olddirs_check(f, path);
    ts_log(TS_LOG_INFO, "weblog: following %s from=%llu", path, (unsigned long long)file->off);
}

/* Nothing stands for an entry at the start: that may be right, or a slip of the pen. */
static void log_missing(const struct col_web_log *log)
{
    struct stat st;
    if (log->wild)
        ts_log(TS_LOG_WARN,
               "weblog: no file is like %s yet (collect_weblog); the first that is will be followed",
               log->pattern);
    else if (stat(log->pattern, &st) < 0)
        ts_log(TS_LOG_WARN, "weblog: %s (collect_weblog): %m; it will be followed when it is there",
               log->pattern);
    else if (S_ISDIR(st.st_mode))
        ts_log(TS_LOG_WARN, "weblog: %s (collect_weblog) is a folder; name files, as %s/*.log", log->pattern,
               log->pattern);
    else if (!S_ISREG(st.st_mode))
        ts_log(TS_LOG_WARN, "weblog: %s (collect_weblog) is no regular file", log->pattern);
}

static void paths_scan(struct col_web_follow *f, int64_t now_ms)
{
    for (uint32_t i = 0; i < f->opts.logs->n; i++) {
        const struct col_web_log *log = &f->opts.logs->logs[i];
        glob_t found = {.gl_pathc = 0};
        if (!log->wild)
            path_new(f, log, log->pattern, now_ms);
        else if (glob(log->pattern, 0, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++)
                path_new(f, log, found.gl_pathv[k], now_ms);
        if (!f->turned && !found.gl_pathc)
            log_missing(log);
        if (log->wild)
            globfree(&found);
    }
}

/* --- formats that files decide --- */

static bool kind_wanted(const struct col_web_file *file)
{
    return file->log->detect && file->kind == COL_WEB_KIND_UNKNOWN;
}

static void kind_tell(struct col_web_file *file, const struct col_web_look *look)
{
    char odd[COL_WEB_ODD_BYTES];
    bool given_up = file->kind == COL_WEB_KIND_NONE;
    col_web_look_odd(look, given_up ? "it was rotated: they count as bad" : "nothing is read of it yet", odd);
    ts_log(TS_LOG_ERROR, "weblog: %s: %s", file->path, odd);
    file->told = true;
}

/* Look at a file's first lines. The last time: if none decides, none will. */
static void kind_look(struct col_web_follow *f, struct col_web_file *file, struct ts_slice text, bool last,
                      int64_t now_ms)
{
    struct col_web_look look;
    col_web_auto_look(file->log->detect, text, &f->scratch, &look);
    file->kind = look.kind;
    if (file->kind != COL_WEB_KIND_UNKNOWN)
        ts_log(TS_LOG_INFO, "weblog: lines of %s are %s", file->path, col_web_kind_name(file->kind));
    else if (last)
        file->kind = COL_WEB_KIND_NONE;
    bool waited = look.n_lines == COL_WEB_LOOK_LINES || now_ms - file->quiet_ms >= ODD_MS;
    if (look.n_lines &&
        (file->kind == COL_WEB_KIND_NONE || (file->kind == COL_WEB_KIND_UNKNOWN && !file->told && waited)))
        kind_tell(file, &look);
    f->n_changes += file->kind != COL_WEB_KIND_UNKNOWN;
}

/* Whole lines at the beginning of a text, without the rest of one that is too long; the last time also what nobody will end. */
static struct ts_slice whole_lines(const struct col_web_file *file, struct ts_slice text, bool last)
{
    const char *nl = file->skip && text.n ? memchr(text.p, '\n', text.n) : NULL;
    size_t from = nl ? (size_t)(nl + 1 - text.p) : 0;
    nl = text.n && !last ? memrchr(text.p, '\n', text.n) : NULL;
    size_t to = last ? text.n : nl ? (size_t)(nl + 1 - text.p) : 0;
    return (struct ts_slice){text.p + from, to > from ? to - from : 0};
}

/* May what stands at the file's place be given out? Text is what is there now. */
static bool kind_known(struct col_web_follow *f, struct col_web_file *file, struct ts_slice text,
                       uint64_t size_bytes, bool last, int64_t now_ms)
{
    if (!kind_wanted(file))
        return true;
    if (size_bytes == file->looked_bytes && !last && (file->told || now_ms - file->quiet_ms < ODD_MS))
        return false;
    struct ts_slice lines = whole_lines(file, text, last);
    if (!lines.n)
        return text.n == COL_WEB_CHUNK_BYTES; /* a line that is too long decides nothing */
    kind_look(f, file, lines, last, now_ms);
    file->looked_bytes = size_bytes;
    return file->kind != COL_WEB_KIND_UNKNOWN;
}

/* --- reading --- */

/* Give out the whole lines of p, which stands at file->off. Returns bytes taken. */
static size_t lines_take(struct col_web_follow *f, struct col_web_file *file, const char *p, size_t n)
{
    size_t at = 0;
    while (at < n) {
        const char *nl = memchr(p + at, '\n', n - at);
        if (!nl)
            break;
        struct ts_slice line = {p + at, (size_t)(nl - (p + at))};
        if (!file->skip && line.n > COL_WEB_CHUNK_BYTES)
            f->opts.too_long(f->opts.arg, file, file->off + at);
        else if (!file->skip)
            f->opts.line(f->opts.arg, file, file->off + at, line);
        file->skip = false;
        at = (size_t)(nl + 1 - p);
    }
    file->off += at;
    f->n_changes += at != 0;
    return at;
}

/* One chunk. *out_more: there may be more. False: it is not the file it was. */
static bool chunk_take(struct col_web_follow *f, struct col_web_file *file, bool last_too, int64_t now_ms,
                       bool *out_more)
{
    struct col_web_head head;
    struct stat st;
    *out_more = false;
    if (fstat(fileno(file->file), &st) < 0)
        return true;
    if ((uint64_t)st.st_size < file->off)
        return false;
    if (col_web__mtime_ms(&st) == file->mtime_ms && (uint64_t)st.st_size == file->off)
        return true;
    ssize_t n = pread(fileno(file->file), f->chunk, COL_WEB_CHUNK_BYTES, (off_t)file->off);
    if (!file_same(file)) /* looked at after the read: what was read is of the file it was */
        return false;
    if (n < 0)
        return true;
    if (n > 0 && file->head.n_bytes < COL_WEB_HEAD_BYTES && col_web__head_read(file->file, 0, &head))
        file->head = head;
    if (n > 0) /* an empty file may be one that began anew, after others that are older than this */
        file->mtime_ms = col_web__mtime_ms(&st);
    if (!kind_known(f, file, (struct ts_slice){f->chunk, (size_t)n}, (uint64_t)st.st_size, last_too, now_ms))
        return true;
    size_t taken = lines_take(f, file, f->chunk, (size_t)n);
    if (!taken && (size_t)n == COL_WEB_CHUNK_BYTES) {
        if (!file->skip)
            f->opts.too_long(f->opts.arg, file, file->off);
        file->skip = true;
        file->off += (uint64_t)n;
        taken = (size_t)n;
    } else if (last_too && taken < (size_t)n) { /* nobody will end this line */
        struct ts_slice line = {f->chunk + taken, (size_t)n - taken};
        if (!file->skip)
            f->opts.line(f->opts.arg, file, file->off, line);
        file->off += line.n;
        taken = (size_t)n;
    }
    if (taken) {
        file->quiet_ms = now_ms;
        f->n_changes++;
    }
    *out_more = taken && (size_t)n == COL_WEB_CHUNK_BYTES;
    return true;
}

/* All that is there, at most some chunks. 1 = more, 0 = not now, -1 = it is not the file it was. */
static int file_take(struct col_web_follow *f, struct col_web_file *file, bool last_too, int64_t now_ms)
{
    bool more = true;
    for (unsigned i = 0; more && i < CHUNKS_A_TURN; i++)
        if (!chunk_take(f, file, last_too, now_ms, &more))
            return -1;
    return more;
}

/* Pieces of a packed file. 1 = more, 0 = all was taken, -1 = not yet whole (it is being packed, say). */
static int packed_take(struct col_web_follow *f, struct col_web_file *file, int64_t now_ms)
{
    static struct ts_log_limit limit;
    struct ts_error err = {0};
    struct ts_slice piece;
    int rc = 0;
    for (unsigned i = 0; i < CHUNKS_A_TURN; i++) {
        rc = ts_lines_next(file->lines, &piece, &err);
        if (rc <= 0)
            break;
        if (kind_wanted(file)) /* nobody appends to it: what is there decides */
            kind_look(f, file, piece, true, now_ms);
        uint64_t end = file->lines_off + piece.n;
        if (end > file->off) { /* else all of it was taken before */
            size_t before = file->off > file->lines_off ? (size_t)(file->off - file->lines_off) : 0;
            (void)lines_take(f, file, piece.p + before, piece.n - before);
            file->quiet_ms = now_ms;
        }
        file->lines_off = end;
    }
    if (rc < 0)
        ts_log_limited(&limit, TS_LOG_WARN, "weblog: %s", err.text);
    return rc < 0 ? -1 : rc;
}

/* --- turns --- */

/* Something else stands at its path, or nothing: what it was goes on as a rotated one; a new entry waits for what comes. */
static void file_rotate(struct col_web_follow *f, uint32_t at, int64_t now_ms)
{
    struct col_web_file *file = f->files[at];
    file->rotated = true;
    file->quiet_ms = now_ms;
    file->search_ms = 0;
    if (file->file && !file_same(file)) { /* it was truncated before: what was read of lives on in a copy */
        file_shut(file);
        file->dev = file->ino = 0;
    }
    if (file->file && !file->head.n_bytes) /* so that it is known when it was packed meanwhile */
        (void)col_web__head_read(file->file, 0, &file->head);
    col_web__file_add(f, file->path, file->log, at + 1)->mtime_ms = file->mtime_ms;
}

/* The same inode begins anew: its old text may live on in a copy. */
static void file_truncated(struct col_web_follow *f, uint32_t at, int64_t now_ms)
{
    struct col_web_file *file = f->files[at];
    ts_log(TS_LOG_INFO, "weblog: %s was truncated or replaced", file->path);
    if (file->head.n_bytes) {
        struct col_web_file *old = col_web__file_add(f, file->path, file->log, at);
        old->head = file->head;
        old->off = file->off;
        old->skip = file->skip;
        old->kind = file->kind;
        old->mtime_ms = file->mtime_ms;
        old->rotated = true;
        old->quiet_ms = now_ms;
        (void)col_web__rotated_add(f, old, at + 1, now_ms);
    }
    file->head = (struct col_web_head){.n_bytes = 0};
    file->off = 0;
    file->skip = false;
    file->kind = COL_WEB_KIND_UNKNOWN;
    file->looked_bytes = 0;
    file->told = false;
    file->quiet_ms = now_ms;
}

static int current_turn(struct col_web_follow *f, uint32_t at, int64_t now_ms)
{
    struct col_web_file *file = f->files[at];
    uint32_t n_added = 0;
    struct stat st;
    bool there = stat(file->path, &st) == 0 && S_ISREG(st.st_mode);
    if (!file->ino) { /* it waits for a file: those that came and went before it first */
        if (!there || col_web__inode_known(f, file->path, &st))
            return 0;
        (void)col_web__rotated_add(f, file, at, now_ms);
        file->dev = st.st_dev;
        file->ino = st.st_ino;
        file->quiet_ms = now_ms;
        f->n_changes++;
        return 1;
    }
    if (!there || st.st_dev != file->dev || st.st_ino != file->ino) {
        file_rotate(f, at, now_ms);
        return 1;
    }
    if (!file->head.n_bytes && st.st_size) /* the first look into it: did it begin anew in between, unseen? */
        n_added = col_web__rotated_add(f, file, at, now_ms);
    if (!file->file && !file_open(f, file, now_ms))
        return 0;
    if (st.st_dev != file->dev || st.st_ino != file->ino)
        return 1; /* replaced between the two calls: the next turn sees it */
    int rc = file_take(f, file, false, now_ms);
    if (rc < 0)
        file_truncated(f, at + n_added, now_ms);
    return rc != 0 || n_added;
}

/* 1 = more; 0 = not now; -1 = done with it. */
static int rotated_turn(struct col_web_follow *f, struct col_web_file *file, int64_t now_ms)
{
    bool tired = now_ms - file->quiet_ms > f->opts.rotated_ms;
    if (!file->file && !file->lines) {
        if (now_ms < file->search_ms)
            return 0;
        file->search_ms = now_ms + SEARCH_MS;
        if (!col_web__rotated_find(f, file)) {
            if (tired && (file->off || kind_wanted(file)))
                ts_log(TS_LOG_WARN, "weblog: what came after byte %llu of the rotated %s was not found",
                       (unsigned long long)file->off, file->path);
            return tired ? -1 : 0;
        }
    }
    int rc = file->lines ? packed_take(f, file, now_ms) : file_take(f, file, tired, now_ms);
    if (rc > 0)
        return 1;
    if (file->lines && rc == 0)
        return -1; /* nobody appends to it */
    if (file->lines && !tired) {
        file_shut(file); /* damaged, or not whole yet: again later, from where it was */
        file->lines_off = 0;
        return 0;
    }
    if (rc < 0) { /* truncated: look for a copy */
        file_shut(file);
        file->dev = file->ino = 0;
    }
    return tired ? -1 : 0;
}

int col_web_follow_turn(struct col_web_follow *f, int64_t now_ms)
{
    int more = 0;
    paths_scan(f, now_ms);
    for (uint32_t i = 0; i < f->n_files; i++) {
        if (!f->files[i]->rotated) {
            more |= current_turn(f, i, now_ms);
            continue;
        }
        int rc = rotated_turn(f, f->files[i], now_ms);
        more |= rc > 0;
        if (rc < 0)
            file_done(f, i--);
    }
    f->turned = true;
    return more;
}

uint64_t col_web_follow_lag_bytes(const struct col_web_follow *f)
{
    uint64_t sum = 0;
    struct stat st;
    for (uint32_t i = 0; i < f->n_files; i++)
        if (f->files[i]->file && fstat(fileno(f->files[i]->file), &st) == 0 &&
            (uint64_t)st.st_size > f->files[i]->off)
            sum += (uint64_t)st.st_size - f->files[i]->off;
    return sum;
}
