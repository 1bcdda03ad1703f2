/*
 * weblog_journal.c - reads and appends the lines of weblog.imports.
 *
 * Threads    see weblog_journal.h
 */
#include "collectors/weblog/weblog_journal.h"

#include "base/cut.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/keys.h"
#include "collectors/weblog/weblog_settings.h"
#include "collectors/core/fields.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME         "weblog.imports"
#define LOCK_NS      20000000 /* between two attempts */
#define MAX_BYTES    ((size_t)64 << 20)
#define FIRST_PLACES 64u

/* A log. */
struct entry {
    uint64_t identity; /* col_web_journal_identity */
    char *settings;    /* owned */
};

/* A file of which a part was imported. */
struct place {
    char *path;                 /* at that time, links resolved; owned */
    struct col_web_head head;   /* its first bytes */
    struct col_web_taken taken; /* the part that was imported */
    bool mine;                  /* imported by this process; the daemon may not have all points yet */
    uint64_t ended;             /* bytes of its text, if the whole file was read; 0 = not yet */
};

struct col_web_journal {
    char dir[PATH_MAX];            /* the folder; "" = nothing is recorded */
    char path[PATH_MAX];           /* the file in it */
    char *server;                  /* owned; NULL = entries of all servers, for reading only */
    struct entry *p;               /* owned */
    size_t n, cap;                 /* entries in use, allocated */
    struct place *places;          /* owned */
    uint32_t n_places, cap_places; /* places in use, allocated */
    uint32_t *slots;               /* hash table: index of a place + 1; 2 * cap_places; owned */
    struct stat read;              /* status of the file when last read or written */
    DIR *lock;                     /* the folder, while its lock is held; NULL */
    struct ts_file *claims;        /* the file, with one byte locked per claimed log; NULL */
    bool reported;                 /* a failure to write it was logged */
};

/* --- the file --- */

static void journal_add(struct col_web_journal *j, uint64_t identity, struct ts_slice settings)
{
    TS_ARRAY_GROW(j->p, j->n, j->cap, 64);
    j->p[j->n++] = (struct entry){.identity = identity, .settings = ts_xstrndup(settings.p, settings.n)};
}

static uint32_t *place_slot(const struct col_web_journal *j, struct ts_slice path,
                            const struct col_web_head *head)
{
    uint32_t mask = 2 * j->cap_places - 1, i = (uint32_t)(head->hash ^ ts_hash(path.p, path.n)) & mask;
    for (; j->slots[i]; i = (i + 1) & mask) {
        const struct place *p = &j->places[j->slots[i] - 1];
        if (p->head.n_bytes == head->n_bytes && p->head.hash == head->hash && ts_slice_is(path, p->path))
            break;
    }
    return &j->slots[i];
}

static void places_grow(struct col_web_journal *j)
{
    j->cap_places = j->cap_places ? 2 * j->cap_places : FIRST_PLACES;
    j->places = ts_xrealloc(j->places, j->cap_places * sizeof(*j->places));
    ts_free(j->slots);
    j->slots = ts_xcalloc(2 * (size_t)j->cap_places, sizeof(*j->slots));
    for (uint32_t i = 0; i < j->n_places; i++)
        *place_slot(j, ts_slice_str(j->places[i].path), &j->places[i].head) = i + 1;
}

/* Find the entry of a file, or create it. */
static struct place *place_at(struct col_web_journal *j, struct ts_slice path,
                              const struct col_web_head *head)
{
    if (j->n_places == j->cap_places)
        places_grow(j);
    uint32_t *slot = place_slot(j, path, head);
    if (!*slot) {
        j->places[j->n_places] = (struct place){.path = ts_xstrndup(path.p, path.n), .head = *head};
        *slot = ++j->n_places;
    }
    return &j->places[*slot - 1];
}

/* Apply a line of the journal to its entry. The part of a plain file only grows. The size of a packed file's text is known only at its end. */
static void place_set(struct place *p, uint64_t bytes, bool done, bool whole)
{
    if (bytes > p->taken.bytes || (whole && p->taken.bytes == COL_WEB_OFF_ALL))
        p->taken.bytes = bytes;
    p->taken.done = done && bytes == p->taken.bytes;
    p->taken.whole |= whole;
}

/* Parse "place HEAD_BYTES HEAD BYTES STATE SERVER PATH". The server is ignored, since the checkpoint is shared by all servers. */
static void place_line(struct col_web_journal *j, struct ts_slice line)
{
    struct ts_slice words[7];
    uint64_t n_head, bytes = COL_WEB_OFF_ALL;
    struct ts_buf path;
    for (unsigned i = 0; i < 7; i++)
        words[i] = ts_slice_cut(&line, '\t');
    if (!words[6].n || !col_u64_of(words[1], &n_head) || n_head > COL_WEB_HEAD_BYTES ||
        (!ts_slice_is(words[3], "all") && !col_u64_of(words[3], &bytes)))
        return;
    char hex[17] = "", *end;
    if (words[2].n != 16)
        return;
    memcpy(hex, words[2].p, 16);
    struct col_web_head head = {.n_bytes = (uint32_t)n_head, .hash = strtoull(hex, &end, 16)};
    ts_buf_init(&path, 0);
    col_web_text_decode(words[6], &path);
    bool whole = bytes == COL_WEB_OFF_ALL || ts_slice_is(words[4], "whole");
    if (!*end)
        place_set(place_at(j, ts_buf_get(&path), &head), bytes, !ts_slice_is(words[4], "begun"), whole);
    ts_buf_release(&path);
}

/* Parse "IDENTITY SERVER SETTINGS". Lines for another server and incomplete lines are ignored. */
static void journal_line(struct col_web_journal *j, struct ts_slice line)
{
    char word[17] = "";
    if (line.n > 6 && !memcmp(line.p, "place\t", 6))
        place_line(j, line);
    if (line.n < 18 || line.p[16] != '\t')
        return;
    memcpy(word, line.p, 16);
    char *end;
    uint64_t identity = strtoull(word, &end, 16);
    struct ts_slice rest = {line.p + 17, line.n - 17};
    const char *tab = memchr(rest.p, '\t', rest.n);
    if (*end || !tab ||
        (j->server && !ts_slice_is((struct ts_slice){rest.p, (size_t)(tab - rest.p)}, j->server)))
        return;
    journal_add(j, identity, (struct ts_slice){tab + 1, (size_t)(rest.p + rest.n - tab - 1)});
}

static void journal_read(struct col_web_journal *j)
{
    struct ts_error err = {0};
    char *text;
    size_t n;
    if (stat(j->path, &j->read) < 0) /* before reading: lines appended meanwhile are then read next time */
        j->read = (struct stat){0};
    int rc = ts_fs_read_file(ts_fs_real(), j->path, MAX_BYTES, &text, &n, &err);
    if (rc == TS_ENOTFOUND)
        return;
    if (rc < 0) {
        ts_log(TS_LOG_WARN,
               "weblog: which logs were imported, and how far, is not known, they would count twice: %s",
               err.text);
        return;
    }
    struct ts_slice all = {text, n}, line;
    while (all.n && memchr(all.p, '\n', all.n) && col_line_next(&all, &line))
        journal_line(j, line);
    ts_free(text);
}

static struct col_web_journal *journal_new(const char *dir)
{
    struct col_web_journal *j = ts_xcalloc(1, sizeof(*j));
    if (!*dir || snprintf(j->dir, sizeof(j->dir), "%s", dir) >= (int)sizeof(j->dir) ||
        snprintf(j->path, sizeof(j->path), "%s/" NAME, dir) >= (int)sizeof(j->path))
        j->dir[0] = j->path[0] = '\0';
    return j;
}

struct col_web_journal *col_web_journal_open(const struct ts_conf *conf)
{
    char dir[PATH_MAX];
    struct col_web_journal *j = journal_new(col_state_dir(conf, dir, NULL) < 0 ? "" : dir);
    const char *servers = ts_conf_str(conf, "collect_server");
    struct ts_slice first = col_trim((struct ts_slice){servers, strcspn(servers, ",")});
    j->server = ts_xstrndup(first.p, first.n);
    if (*j->dir) {
        (void)ts_fs_mkdirs(ts_fs_real(), dir, NULL); /* an error is reported by the first write */
        journal_read(j);
    }
    return j;
}

struct col_web_journal *col_web_journal_look(const char *dir)
{
    struct col_web_journal *j = journal_new(dir);
    if (*j->dir)
        journal_read(j);
    return j;
}

static void journal_forget(struct col_web_journal *j)
{
    for (size_t i = 0; i < j->n; i++)
        ts_free(j->p[i].settings);
    for (size_t i = 0; i < j->n_places; i++)
        ts_free(j->places[i].path);
    ts_free(j->slots);
    j->slots = NULL;
    j->n = 0;
    j->n_places = j->cap_places = 0;
}

void col_web_journal_close(struct col_web_journal *j)
{
    if (!j)
        return;
    col_web_journal_unlock(j);
    (void)ts_fs_real()->close(j->claims, NULL);
    journal_forget(j);
    ts_free(j->p);
    ts_free(j->places);
    ts_free(j->server);
    ts_free(j);
}

uint64_t col_web_journal_identity(const uint64_t *before, struct ts_slice line)
{
    uint64_t hash = col_web_head_of(line.p, line.n < COL_WEB_HEAD_BYTES ? line.n : COL_WEB_HEAD_BYTES).hash;
    return before ? ts_hash_u64(*before) + hash : hash;
}

const char *col_web_journal_find(const struct col_web_journal *j, uint64_t identity)
{
    for (size_t i = j->n; i-- > 0;)
        if (j->p[i].identity == identity)
            return j->p[i].settings;
    return NULL;
}

/* Append to an open file. An incomplete line left by a crash is terminated first. If the write fails, what was
 * appended is removed again. */
static int journal_put(struct ts_file *file, struct ts_slice lines, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    uint64_t size;
    char last = '\n';
    size_t n = 0;
    TS_TRY(fs->size(file, &size, err));
    if (size)
        TS_TRY(fs->pread(file, &last, 1, size - 1, &n, err));
    int rc = last == '\n' ? 0 : fs->append(file, "\n", 1, err);
    if (rc == 0)
        rc = fs->append(file, lines.p, lines.n, err);
    if (rc < 0)
        (void)fs->truncate(file, size, NULL);
    return rc < 0 ? rc : fs->sync(file, err);
}

/* The folder belongs to the user of the collector, whom the user of the import may not trust, so the file is opened with care. */
static int journal_append(struct col_web_journal *j, struct ts_slice lines, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    struct ts_file *file;
    bool is_new;
    TS_TRY(ts_fs_open_guarded(j->path, &file, &is_new, err));
    int rc = journal_put(file, lines, err);
    int rc_close = fs->close(file, rc < 0 ? NULL : err);
    if (rc == 0)
        rc = rc_close;
    if (rc == 0 && is_new)
        rc = ts_fs_sync_folder_of(fs, j->path, err);
    return rc;
}

/* Append lines of this process. It knows them already, so they need not be read again. */
static void journal_write(struct col_web_journal *j, struct ts_slice lines, const char *then)
{
    struct ts_error err = {0};
    struct stat before;
    bool same = stat(j->path, &before) < 0 ? !j->read.st_ino : before.st_size == j->read.st_size;
    if (journal_append(j, lines, &err) < 0 && !j->reported) {
        ts_log(TS_LOG_WARN, "weblog: %s; %s", err.text, then);
        j->reported = true;
    }
    if (!same || stat(j->path, &j->read) < 0)
        j->read = (struct stat){0};
}

void col_web_journal_set(struct col_web_journal *j, uint64_t identity, const char *settings)
{
    const char *before = col_web_journal_find(j, identity);
    struct ts_buf line;
    if (!*j->dir || (before && !strcmp(before, settings)))
        return;
    ts_buf_init(&line, 0);
    ts_buf_printf(&line, "%016llx\t%s\t%s\n", (unsigned long long)identity, j->server, settings);
    journal_write(j, ts_buf_get(&line), "an import with other keys will count these logs twice");
    ts_buf_release(&line);
    journal_add(j, identity, ts_slice_str(settings));
}

bool col_web_journal_claim(struct col_web_journal *j, uint64_t identity)
{
    bool is_new;
    if (*j->dir && !j->claims)
        (void)ts_fs_open_guarded(j->path, &j->claims, &is_new, NULL);
    return !j->claims || ts_fs_lock_byte(j->claims, identity);
}

/* --- the lock --- */

bool col_web_journal_keeps(const struct col_web_journal *j)
{
    return *j->dir;
}

bool col_web_journal_locked(const struct col_web_journal *j)
{
    return j->lock;
}

void col_web_journal_unlock(struct col_web_journal *j)
{
    if (j->lock)
        (void)closedir(j->lock);
    j->lock = NULL;
}

/* Lock the folder itself, so that read permission is enough. Some network file systems can't lock folders; on these nothing prevents a
 * collector and an import from beginning with the same log at the same moment. */
static bool folder_lock(struct col_web_journal *j, unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = LOCK_NS};
    DIR *dir = opendir(j->dir);
    bool held = false, busy = !dir && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    for (uint64_t waited_ns = 0; dir && !held && waited_ns <= (uint64_t)wait_ms * 1000000;
         waited_ns += LOCK_NS) {
        held = flock(dirfd(dir), LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR);
        if (!held)
            (void)nanosleep(&pause, NULL);
    }
    if (dir && !held)
        (void)closedir(dir);
    j->lock = held ? dir : NULL;
    return held ||
           (!dir && !busy); /* the folder does not exist, so that nothing can be recorded in it either */
}

bool col_web_journal_lock(struct col_web_journal *j, unsigned wait_ms)
{
    struct stat now = {0};
    if (!*j->dir || j->lock)
        return true;
    if (!folder_lock(j, wait_ms))
        return false;
    if (stat(j->path, &now) < 0 ||
        (now.st_ino == j->read.st_ino && now.st_dev == j->read.st_dev && now.st_size == j->read.st_size))
        return true;
    struct place *mine = j->places;
    size_t n_mine = j->n_places;
    j->places = NULL;
    j->n_places = 0; /* merged again below */
    journal_forget(j);
    journal_read(j);
    for (size_t i = 0; i < n_mine; i++) {
        if (mine[i].mine) {
            struct place *p = place_at(j, ts_slice_str(mine[i].path), &mine[i].head);
            p->mine = true;
            p->ended = mine[i].ended;
        }
        ts_free(mine[i].path);
    }
    ts_free(mine);
    return true;
}

/* --- how far --- */

bool col_web_journal_taken(const struct col_web_journal *j, struct ts_slice first,
                           bool (*of)(void *arg, const char *path), void *arg, struct col_web_taken *out)
{
    struct col_web_head have = {.n_bytes = 0}; /* reused, since most heads have the same length */
    *out = (struct col_web_taken){.bytes = 0};
    for (size_t i = 0; i < j->n_places; i++) {
        const struct place *p = &j->places[i];
        if (!p->taken.bytes || !p->head.n_bytes || p->head.n_bytes > first.n)
            continue;
        if (have.n_bytes != p->head.n_bytes)
            have = col_web_head_of(first.p, p->head.n_bytes);
        if (have.hash != p->head.hash || !of(arg, p->path))
            continue;
        bool whole = out->whole || p->taken.whole;
        if (p->taken.bytes > out->bytes)
            *out = p->taken;
        out->whole = whole;
    }
    return out->bytes > 0;
}

static void place_append(struct ts_buf *out, const struct col_web_journal *j, const struct place *p,
                         const char *state)
{
    ts_buf_printf(out, "place\t%u\t%016llx\t", p->head.n_bytes, (unsigned long long)p->head.hash);
    if (p->taken.bytes == COL_WEB_OFF_ALL)
        ts_buf_str(out, "all");
    else
        ts_buf_printf(out, "%llu", (unsigned long long)p->taken.bytes);
    ts_buf_printf(out, "\t%s\t%s\t", state, j->server);
    col_web_text_append(out, p->path);
    ts_buf_char(out, '\n');
}

void col_web_journal_take(struct col_web_journal *j, const char *path, const struct col_web_head *head,
                          uint64_t bytes)
{
    struct ts_buf line;
    if (!*j->dir)
        return;
    struct place *p = place_at(j, ts_slice_str(path), head);
    p->mine = true;
    if (bytes <= p->taken.bytes || p->taken.whole) /* the journal has this line already */
        return;
    place_set(p, bytes, false, bytes == COL_WEB_OFF_ALL);
    ts_buf_init(&line, 0);
    place_append(&line, j, p, "begun");
    journal_write(j, ts_buf_get(&line), "a collector that follows these logs later will count them twice");
    ts_buf_release(&line);
}

void col_web_journal_ended(struct col_web_journal *j, const char *path, const struct col_web_head *head,
                           uint64_t bytes)
{
    if (*j->dir)
        place_at(j, ts_slice_str(path), head)->ended = bytes;
}

void col_web_journal_done(struct col_web_journal *j)
{
    struct ts_buf lines;
    ts_buf_init(&lines, 0);
    for (size_t i = 0; i < j->n_places; i++) {
        struct place *p = &j->places[i];
        if (p->mine && p->taken.whole && p->ended)
            place_set(p, p->ended, false, true);
        if (p->mine && !p->taken.done && p->taken.bytes)
            place_append(&lines, j, p, p->taken.whole ? "whole" : "done");
        p->taken.done |= p->mine;
        p->mine = false;
    }
    if (lines.n)
        journal_write(j, ts_buf_get(&lines), "the import is not known to have ended");
    ts_buf_release(&lines);
}
