/*
 * weblog_follow.c - turns: checks which file is at each path, and reads what is new in each file.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_follow.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "collectors/weblog/weblog_follow_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_MS 2000 /* interval of searches for files that were not found */
/* most bytes that are compared of two copies of a log, after the part that was read */
#define COMMON_MAX_BYTES ((uint64_t)1 << 30)
#define WARN_MS          600000 /* interval of messages about files that can't be read */

void col_web_follow_init(struct col_web_follow *f, const struct col_web_follow_opts *opts)
{
    *f = (struct col_web_follow){.opts = *opts};
    f->chunk = ts_xmalloc(COL_WEB_CHUNK_BYTES);
    ts_buf_init(&f->scratch, 0);
}

void col_web_follow_release(struct col_web_follow *f)
{
    for (uint32_t i = 0; i < f->n_tails; i++)
        col_web_tail_free(f->tails[i]);
    for (uint32_t i = 0; i < f->n_left_out; i++)
        ts_free(f->left_out[i]);
    col_web__lists_forget(f);
    ts_free(f->left_out);
    ts_free(f->tails);
    ts_free(f->slots);
    ts_free(f->inherited);
    ts_free(f->inherited_past);
    ts_free(f->chunk);
    ts_buf_release(&f->scratch);
    *f = (struct col_web_follow){.n_tails = 0};
}

/* --- from a checkpoint --- */

struct col_web_tail *col_web_follow_restore(struct col_web_follow *f, const char *path)
{
    return col_web__tail_at(f, path) ? NULL : col_web__tail_add(f, path, NULL);
}

void col_web_follow_inherit(struct col_web_follow *f, const struct col_web_head *head, bool past)
{
    f->inherited = ts_xrealloc(f->inherited, (f->n_inherited + 1) * sizeof(*f->inherited));
    f->inherited_past = ts_xrealloc(f->inherited_past, (f->n_inherited + 1) * sizeof(bool));
    f->inherited[f->n_inherited] = *head;
    f->inherited_past[f->n_inherited++] = past;
}

/* --- imported before --- */

bool col_web__hold(const struct col_web_follow *f, const struct col_web_tail *t)
{
    return !f->opts.hold || f->opts.hold(f->opts.arg, t);
}

uint64_t col_web__imported(const struct col_web_follow *f, const struct col_web_tail *t,
                           struct ts_slice first, bool packed)
{
    return first.n && f->opts.imported ? f->opts.imported(f->opts.arg, t, first, packed) : 0;
}

bool col_web__head_learn(struct col_web_follow *f, struct col_web_place *p, struct ts_slice first)
{
    char now[COL_WEB_HEAD_BYTES];
    if (!first.n)
        return true;
    if (!p->head.n_bytes) {
        if (!col_web__hold(f, p->tail))
            return false;
        size_t n =
            col_web__first_read(p->file, now); /* an import may know the file by more bytes than first */
        if (n > first.n && !memcmp(now, first.p, first.n))
            first = (struct ts_slice){now, n};
        p->imported = col_web__imported(f, p->tail, first, false);
        f->n_changes++;
    }
    p->head = col_web_head_of(first.p, first.n);
    return true;
}

/* --- roles --- */

/* Another file is at its path, or none: the place continues as a rotated file. */
static void place_rotate(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now)
{
    char first[COL_WEB_HEAD_BYTES];
    p->tail->scan = true;
    f->n_changes++;
    if (!col_web_place_open(p) && !p->head.n_bytes) { /* it was empty, so it can't be recognised later */
        col_web_place_remove(p);
        return;
    }
    if (p->file && !p->head.n_bytes)
        (void)col_web__head_learn(f, p, (struct ts_slice){first, col_web__first_read(p->file, first)});
    p->role = COL_WEB_ROTATED;
    p->quiet_ms = now->steady_ms;
}

/* It was read completely, or is given up. Its place stays, so that the file is not treated as a new one. */
static void place_finish(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now)
{
    bool twin = !p->head.n_bytes;
    for (uint32_t i = 0; i < p->tail->n_places && !twin; i++) {
        const struct col_web_place *o = p->tail->places[i];
        twin = o != p && !o->unlinked && o->head.n_bytes == p->head.n_bytes && o->head.hash == p->head.hash;
    }
    ts_log(TS_LOG_DEBUG, "weblog: done with a rotated %s at byte %llu", p->tail->path,
           (unsigned long long)p->off);
    f->n_changes++;
    col_web_place_close(p);
    p->role = COL_WEB_DONE;
    p->seen_ms = now->wall_ms;
    if (twin)
        col_web_place_remove(p);
}

/* --- files at a path --- */

/* An open file, and what it begins with. */
struct opened {
    FILE *file;                     /* owned until a place has it */
    struct col_web_id id;           /* its numbers */
    char first[COL_WEB_HEAD_BYTES]; /* of it */
    size_t n_first;                 /* bytes of these */
};

static void cant_read(struct col_web_follow *f, const char *path, const char *why, int64_t now_ms)
{
    if (now_ms >= f->warn_ms || !f->turned) /* after the first turn, one message at a time is enough */
        ts_log(TS_LOG_WARN, "weblog: can't read %s: %s", path, why);
    f->warn_ms = now_ms >= f->warn_ms ? now_ms + WARN_MS : f->warn_ms;
}

/* Read its present numbers and first bytes. */
static bool opened_look(struct opened *o)
{
    bool ok = col_web__id_of_file(o->file, &o->id);
    o->n_first = ok ? col_web__first_read(o->file, o->first) : 0;
    return ok;
}

static bool path_open(struct col_web_follow *f, const char *path, int64_t now_ms, struct opened *out)
{
    char why[200];
    out->file = fopen(path, "rbe");
    if (!out->file) {
        (void)snprintf(why, sizeof(why), "%s%s", strerror(errno),
                       errno == EACCES ? "; our user must be allowed to" : "");
        cant_read(f, path, why, now_ms);
        return false;
    }
    bool ok = opened_look(out);
    const struct ts_pack *pack = ts_pack_find((struct ts_slice){out->first, out->n_first});
    if (pack) {
        (void)snprintf(why, sizeof(why), "it is packed by %s; a log that is followed is plain text",
                       pack->name);
        cant_read(f, path, why, now_ms);
    }
    if (!ok || pack)
        fclose(out->file);
    return ok && !pack;
}

/* Let the place read this file from now on. off is reduced to the present size if the file is shorter. */
static void place_take(struct col_web_place *p, struct opened *o, const struct col_web_now *now)
{
    col_web_place_close(p);
    p->file = o->file;
    o->file = NULL;
    p->dev = o->id.dev;
    p->ino = o->id.ino;
    p->quiet_ms = now->steady_ms;
    p->seen_ms = now->wall_ms;
    if (p->off > o->id.size_bytes) { /* it is a copy of the beginning, all of which was counted */
        p->off = o->id.size_bytes;
        p->skip = false;
    }
    /* lines that follow such a copy are new; importing fewer lines again would lower counts */
    if (p->imported > o->id.size_bytes)
        p->imported = p->off < o->id.size_bytes ? o->id.size_bytes : 0;
    if (o->n_first > p->head.n_bytes)
        p->head = col_web_head_of(o->first, o->n_first);
}

/* Where two files that begin alike are no longer the same, behind off: at the end of the last line that both
 * have. */
static uint64_t common_bytes(struct col_web_follow *f, FILE *a, FILE *b, uint64_t off)
{
    const size_t half = COL_WEB_CHUNK_BYTES / 2;
    uint64_t end = off;
    for (uint64_t at = off; at < off + COMMON_MAX_BYTES;) {
        ssize_t n_a = pread(fileno(a), f->chunk, half, (off_t)at);
        ssize_t n_b = pread(fileno(b), f->chunk + half, half, (off_t)at);
        ssize_t n = n_a < n_b ? n_a : n_b, k = 0;
        for (; k < n && f->chunk[k] == f->chunk[half + (size_t)k]; k++)
            if (f->chunk[k] == '\n')
                end = at + (uint64_t)k + 1;
        if (n <= 0 || k < n)
            break;
        at += (uint64_t)n;
    }
    return end;
}

/* The file at the path is a copy of one that is still open (cp -p x y; mv y x). The server may continue with either. */
static struct col_web_place *place_copied(struct col_web_follow *f, struct col_web_place *p,
                                          const struct opened *o, const struct col_web_now *now)
{
    struct col_web_id old;
    if (!col_web__id_of_file(p->file, &old) || (old.n_links && !col_web__linked(f, p->tail, &old)))
        return p; /* not a copy: the same file with other numbers */
    struct col_web_place *copy = col_web_place_add(p->tail, COL_WEB_DONE);
    copy->head = p->head;
    copy->off = common_bytes(f, p->file, o->file, p->off);
    copy->kind = p->kind;
    copy->imported = p->imported;
    copy->mtime_ms = p->mtime_ms;
    p->unlinked = !old.n_links;
    place_rotate(f, p, now);
    return copy;
}

/* Place of another log whose file this is: renamed to a name that another entry takes, or that log's path is not in the
 * configuration any more. NULL. */
static struct col_web_place *place_elsewhere(const struct col_web_follow *f, const struct col_web_tail *t,
                                             const struct opened *o)
{
    struct ts_slice first = {o->first, o->n_first};
    for (uint32_t i = 0; i < f->n_tails; i++) {
        struct col_web_tail *other = f->tails[i];
        struct col_web_id id;
        struct col_web_place *p = other == t ? NULL : col_web_place_find(other, first, o->id.dev, o->id.ino);
        if (!p)
            continue;
        if (p->ino == o->id.ino && p->dev == o->id.dev)
            return p;
        if (p->head.n_bytes == COL_WEB_HEAD_BYTES && p->role == COL_WEB_CURRENT && !col_web_place_open(p) &&
            !col_web__id_of_path(other->path, &id))
            return p;
    }
    return NULL;
}

/* Find the place of the file at the path, or add one. */
static struct col_web_place *place_choose(struct col_web_follow *f, struct col_web_tail *t,
                                          const struct opened *o, const struct col_web_now *now)
{
    struct col_web_place *p =
        col_web_place_find(t, (struct ts_slice){o->first, o->n_first}, o->id.dev, o->id.ino);
    if (!p && t->fresh && (p = place_elsewhere(f, t, o)) != NULL) {
        ts_log(TS_LOG_INFO, "weblog: %s was followed as %s", t->path, p->tail->path);
        col_web_place_move(p, t);
        return p;
    }
    if (p && p->file) {
        struct col_web_id id;
        if (!col_web__id_of_file(p->file, &id) || id.dev != o->id.dev || id.ino != o->id.ino)
            p = place_copied(f, p, o, now);
    }
    return p;
}

bool col_web__current_begin(struct col_web_follow *f, struct col_web_tail *t, const struct col_web_now *now)
{
    struct opened o;
    if (!path_open(f, t->path, now->steady_ms, &o))
        return false;
    struct col_web_place *p = place_choose(f, t, &o, now), *before = col_web_current(t);
    if (!p && (!col_web__hold(f, t) || !opened_look(&o))) {
        fclose(o.file);
        return false;
    }
    if (!p) /* it may have grown before imports were suspended */
        p = place_choose(f, t, &o, now);
    if (before && before != p)
        place_rotate(f, before, now);
    if (!p) {
        p = col_web_place_add(t, COL_WEB_CURRENT);
        p->off = f->opts.from_end && !f->turned ? o.id.size_bytes : 0;
        p->imported = col_web__imported(f, t, (struct ts_slice){o.first, o.n_first}, false);
        p->mtime_ms = o.id.mtime_ms;
    } else if (p->role != COL_WEB_CURRENT) {
        col_web_place_move(p, t);
    }
    place_take(p, &o, now);
    t->scan = true;
    t->seen_ms = now->wall_ms;
    f->n_changes++;
    return true;
}

/* The same inode has new contents from its beginning: its old text may exist in a copy. */
static int file_truncated(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now)
{
    struct col_web_tail *t = p->tail;
    ts_log(TS_LOG_INFO, "weblog: %s was truncated or replaced", t->path);
    col_web_place_close(p);
    place_rotate(f, p, now);
    (void)col_web__current_begin(f, t, now);
    return 1;
}

/* Make the current place read the file at the path. 1 = something has changed. */
static int current_look(struct col_web_follow *f, struct col_web_tail *t, const struct col_web_now *now)
{
    struct col_web_place *p = col_web_current(t);
    struct col_web_id id, own;
    bool there = col_web__id_of_path(t->path, &id);
    if (there || !t->log->wild)
        t->seen_ms = now->wall_ms;
    if (p && p->file && there && col_web__id_of_file(p->file, &own) && own.dev == id.dev && own.ino == id.ino)
        return 0;
    if (there)
        return col_web__current_begin(f, t, now);
    if (p)
        place_rotate(f, p, now);
    return p != NULL;
}

/* --- turns --- */

/* Has the file had nothing new for so long that it is given up? */
static bool place_tired(const struct col_web_follow *f, const struct col_web_place *p,
                        const struct col_web_now *now)
{
    return now->steady_ms - p->quiet_ms > f->opts.rotated_ms;
}

/* Read a rotated file. 1 = there is more of it. The process may have been stopped for any time, so a file is
 * given up only if a read after the pause finds nothing new. */
static int rotated_turn(struct col_web_follow *f, struct col_web_place *p, const struct col_web_now *now)
{
    bool tired = place_tired(f, p, now);
    struct col_web_tail *t = p->tail;
    if (!col_web_place_open(p)) {
        if (tired && t->scanned_ms - p->quiet_ms <= f->opts.rotated_ms) {
            t->scan = true;
            return 1;
        }
        if (tired && (p->off || col_web__kind_wanted(p)))
            ts_log(TS_LOG_WARN, "weblog: what came after byte %llu of the rotated %s was not found",
                   (unsigned long long)p->off, t->path);
        if (tired)
            place_finish(f, p, now);
        else if (now->steady_ms >= t->scan_ms) {
            t->scan = true;
            t->scan_ms = now->steady_ms + SEARCH_MS;
        }
        return 0;
    }
    bool packed = p->lines != NULL;
    int rc = packed ? col_web__packed_read(f, p, now) : col_web__place_read(f, p, false, now);
    tired = place_tired(f, p, now); /* it is not given up if complete lines have arrived now */
    if (rc == 0 && tired && !packed)
        rc = col_web__place_read(f, p, true, now);
    if (rc > 0)
        return 1;
    if (rc < 0 && !tired) { /* damaged or incomplete: try again later; truncated: search for a copy */
        col_web_place_close(p);
        p->dev = p->ino = 0;
    } else if (tired || packed) {
        p->whole |= packed;
        place_finish(f, p, now);
    }
    return 0;
}

static int tail_turn(struct col_web_follow *f, struct col_web_tail *t, const struct col_web_now *now)
{
    int more = current_look(f, t, now);
    if (t->scan)
        col_web__scan(f, t, now);
    for (uint32_t i = 0; i < t->n_places; i++) {
        struct col_web_place *p = t->places[i];
        if (p->role != COL_WEB_ROTATED)
            continue;
        uint32_t n = t->n_places;
        more |= rotated_turn(f, p, now);
        i -= t->n_places < n; /* it was forgotten */
    }
    struct col_web_place *p = col_web_current(t);
    int rc = p && p->file ? col_web__place_read(f, p, false, now) : 0;
    if (rc < 0)
        rc = file_truncated(f, p, now);
    return more | rc | t->scan;
}

/* Is a log that is no longer configured, or that matches a pattern but does not exist, old enough to be
 * forgotten? */
static bool tail_expired(const struct col_web_follow *f, const struct col_web_tail *t, int64_t wall_ms)
{
    return f->opts.keep_ms && wall_ms - t->seen_ms > f->opts.keep_ms && (!t->log || t->log->wild);
}

int col_web_follow_turn(struct col_web_follow *f, int64_t wall_ms, int64_t steady_ms)
{
    struct col_web_now now = {.wall_ms = wall_ms, .steady_ms = steady_ms};
    int more = 0;
    f->n_packed = 0;
    for (uint32_t i = 0; i < f->n_tails; i++)
        for (uint32_t k = 0; k < f->tails[i]->n_places; k++) {
            f->n_packed += f->tails[i]->places[k]->lines != NULL;
            if (!f->turned) /* pauses of places from a checkpoint begin now */
                f->tails[i]->places[k]->quiet_ms = steady_ms;
        }
    col_web__paths_scan(f, &now);
    for (uint32_t i = 0; i < f->n_tails; i++) {
        if (f->tails[i]->log)
            more |= tail_turn(f, f->tails[i], &now);
        if (tail_expired(f, f->tails[i], wall_ms))
            col_web__tail_remove(f, f->tails[i--]);
    }
    col_web__lists_forget(f);
    f->turned = true;
    return more;
}

uint64_t col_web_follow_lag_bytes(const struct col_web_follow *f, uint32_t *out_n_files)
{
    uint64_t sum = 0;
    struct col_web_id id;
    *out_n_files = 0;
    for (uint32_t i = 0; i < f->n_tails; i++)
        for (uint32_t k = 0; k < f->tails[i]->n_places; k++) {
            const struct col_web_place *p = f->tails[i]->places[k];
            *out_n_files += f->tails[i]->log && p->role <= COL_WEB_ROTATED;
            if (p->file && col_web__id_of_file(p->file, &id) && id.size_bytes > p->off)
                sum += id.size_bytes - p->off;
        }
    return sum;
}
