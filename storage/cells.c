/*
 * cells.c - small cells in a skip list, with a log of changes.
 *
 * Group commit: a change is applied and added to `queue` under `lock`; then its caller takes `log_lock` and
 * writes the whole queue. Callers that waited for the lock find their changes written.
 *
 * Format     docs/FORMAT.md "Cells"
 * Threads    lock: cells, queue, seq. log_lock: log, done_seq; taken before lock, held across I/O
 * Invariant  replaying the log and then the queue gives the cells
 */
#include "storage/cells.h"

#include <pthread.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/readonly.h"
#include "storage/reclog.h"

#define LOG_NAME          "cells.log"
#define LOG_KIND          "CELL"
#define MAX_LEVEL         16          /* of the skip list: 4^16 cells */
#define RECORD_BYTES      (1u << 20)  /* a record of a checkpoint is closed beyond this */
#define GROW_BYTES        (1u << 20)  /* default of sto_cellmap.grow_bytes */
#define COPY_BYTES        (64u << 10) /* cells copied for each() under one lock */
#define CELL_BLOCKS_BYTES 32          /* what the allocator adds to the two blocks of a cell */

/* One cell. */
struct cell {
    uint32_t n_key, n_value; /* bytes */
    char *value;             /* owned */
    char *key;               /* stored after next[] */
    unsigned n_levels;       /* links */
    struct cell *next[];     /* next cell on each level */
};

struct sto_cellmap {
    pthread_mutex_t lock;         /* of the seven below */
    struct cell *head[MAX_LEVEL]; /* first cell on each level */
    uint64_t n_bytes;             /* memory of cells */
    uint64_t n_log_bytes;         /* what a checkpoint of them takes */
    uint64_t random;              /* state of the level generator */
    struct ts_buf queue;          /* changes not yet added to the log, each encoded by put_op() */
    uint64_t seq;                 /* changes made */
    bool stuck;                   /* the log has changes that the disk did not take; under lock too */

    pthread_mutex_t log_lock; /* of the three below */
    struct sto_reclog *log;   /* cells.log */
    uint64_t done_seq;        /* changes that are as durable as configured */
    uint64_t retry_bytes;     /* a checkpoint failed at about this size of the log: not tried again before */

    uint64_t grow_bytes;  /* a log is rewritten when it is twice the cells and this larger; constant */
    uint64_t max_bytes;   /* limit of n_bytes; 0 = none; constant */
    bool read_only, sync; /* constant */
    const struct ts_error *read_only_why; /* constant; borrowed; NULL = the caller wants to read only */
};

/* --- cells; lock held --- */

static struct ts_slice key_of(const struct cell *c)
{
    return (struct ts_slice){c->key, c->n_key};
}

static struct ts_slice value_of(const struct cell *c)
{
    return (struct ts_slice){c->value, c->n_value};
}

/* The first cell whose key is not before key; links[] are the links that lead to it or past it. */
static struct cell *seek(struct sto_cellmap *map, struct ts_slice key, struct cell **links[MAX_LEVEL])
{
    struct cell **at = map->head;
    for (int level = MAX_LEVEL - 1; level >= 0; level--) {
        while (at[level] && ts_slice_cmp(key_of(at[level]), key) < 0)
            at = at[level]->next;
        if (links)
            links[level] = &at[level];
    }
    return at[0];
}

static struct cell *find(struct sto_cellmap *map, struct ts_slice key)
{
    struct cell *c = seek(map, key, NULL);
    return c && ts_slice_eq(key_of(c), key) ? c : NULL;
}

static uint64_t cell_bytes(const struct cell *c)
{
    return sizeof(*c) + c->n_levels * sizeof(struct cell *) + c->n_key + c->n_value + CELL_BLOCKS_BYTES;
}

static uint64_t op_bytes(size_t n_key, size_t n_value)
{
    return ts_varint_bytes(n_key) + n_key + ts_varint_bytes(n_value) + n_value;
}

static void count(struct sto_cellmap *map, const struct cell *c, bool add)
{
    uint64_t mem = cell_bytes(c), log = op_bytes(c->n_key, c->n_value);
    map->n_bytes = add ? map->n_bytes + mem : map->n_bytes - mem;
    map->n_log_bytes = add ? map->n_log_bytes + log : map->n_log_bytes - log;
}

static unsigned random_level(struct sto_cellmap *map)
{
    map->random ^= map->random << 13;
    map->random ^= map->random >> 7;
    map->random ^= map->random << 17;
    unsigned n = 1 + (unsigned)__builtin_ctzll(map->random | 1ull << 40) / 2;
    return n < MAX_LEVEL ? n : MAX_LEVEL;
}

static struct cell *insert(struct sto_cellmap *map, struct ts_slice key)
{
    struct cell **links[MAX_LEVEL];
    unsigned n_levels = random_level(map);
    size_t head = sizeof(struct cell) + n_levels * sizeof(struct cell *);
    struct cell *c = ts_try_malloc(head + key.n);
    if (!c)
        return NULL;
    *c = (struct cell){.n_key = (uint32_t)key.n, .n_levels = n_levels, .key = (char *)c + head};
    memcpy(c->key, key.p, key.n);
    (void)seek(map, key, links);
    for (unsigned level = 0; level < n_levels; level++) {
        c->next[level] = *links[level];
        *links[level] = c;
    }
    return c;
}

static void erase(struct sto_cellmap *map, struct cell *c)
{
    struct cell **links[MAX_LEVEL];
    (void)seek(map, key_of(c), links);
    for (unsigned level = 0; level < c->n_levels; level++)
        *links[level] = c->next[level];
    count(map, c, false);
    ts_free(c->value);
    ts_free(c);
}

/* Set or delete. TS_ENOMEM: nothing has changed. */
static int apply(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value)
{
    struct cell *c = find(map, key);
    if (value.n == 0) {
        if (c)
            erase(map, c);
        return 0;
    }
    char *copy = ts_try_malloc(value.n);
    if (!copy)
        return TS_ENOMEM;
    memcpy(copy, value.p, value.n);
    if (c)
        count(map, c, false);
    else
        c = insert(map, key);
    if (!c) {
        ts_free(copy);
        return TS_ENOMEM;
    }
    ts_free(c->value);
    c->value = copy;
    c->n_value = (uint32_t)value.n;
    count(map, c, true);
    return 0;
}

/* --- log --- */

static int put_op(struct ts_buf *b, struct ts_slice key, struct ts_slice value)
{
    uint8_t *begin = (uint8_t *)ts_buf_reserve(b, op_bytes(key.n, value.n)), *p = begin;
    if (!p)
        return TS_ENOMEM;
    p = ts_put_varint(p, key.n);
    memcpy(p, key.p, key.n);
    p = ts_put_varint(p + key.n, value.n);
    if (value.n)
        memcpy(p, value.p, value.n);
    b->n += (size_t)(p - begin) + value.n;
    return 0;
}

static const uint8_t *get_bytes(const uint8_t *p, const uint8_t *end, struct ts_slice *out)
{
    uint64_t n = 0;
    p = ts_get_varint(p, end, &n);
    if (!p || n > (uint64_t)(end - p))
        return NULL;
    *out = (struct ts_slice){(const char *)p, (size_t)n};
    return p + n;
}

static int replay(void *arg, struct ts_slice body, struct ts_error *err)
{
    const uint8_t *p = (const uint8_t *)body.p, *end = p + body.n;
    while (p < end) {
        struct ts_slice key, value;
        p = get_bytes(p, end, &key);
        p = p ? get_bytes(p, end, &value) : NULL;
        if (!p || key.n == 0 || key.n > STO_CELL_MAX_KEY_BYTES || value.n > STO_CELL_MAX_VALUE_BYTES)
            return ts_error_set(err, TS_ECORRUPT, "cells: length of a key or value is out of range");
        if (apply(arg, key, value) < 0)
            return ts_error_set(err, TS_ENOMEM, "no memory for a cell of %zu bytes", value.n);
    }
    return 0;
}

/* All cells as the contents of a new log. log_lock held. */
static int emit_checkpoint(void *arg, struct sto_reclog *fresh, struct ts_error *err)
{
    struct sto_cellmap *map = arg;
    struct ts_buf all;
    ts_buf_init(&all, 0);
    size_t begin = 0;
    int rc = 0;
    pthread_mutex_lock(&map->lock);
    if (!ts_buf_reserve(&all,
                        map->n_log_bytes)) /* allocate first, so that only copying is done under the lock */
        rc = ts_error_set(err, TS_ENOMEM, "no memory for a checkpoint of the cells");
    for (const struct cell *c = map->head[0]; c && rc == 0; c = c->next[0])
        rc = put_op(&all, key_of(c), value_of(c));
    pthread_mutex_unlock(&map->lock);
    while (rc == 0 && begin < all.n) {
        const uint8_t *p = (const uint8_t *)all.p + begin, *end = (const uint8_t *)all.p + all.n;
        size_t n = 0;
        while (p < end && n < RECORD_BYTES) {
            struct ts_slice ignored;
            p = get_bytes(get_bytes(p, end, &ignored), end, &ignored);
            n = (size_t)(p - ((const uint8_t *)all.p + begin));
        }
        rc = sto_reclog_add(fresh, (struct ts_slice){all.p + begin, n}, err);
        begin += n;
    }
    ts_buf_release(&all);
    return rc;
}

/* Rewrite a log whose records are mostly obsolete. A failed checkpoint only costs disk space, unless it broke
 * the log. */
static int maybe_checkpoint(struct sto_cellmap *map, struct ts_error *err)
{
    pthread_mutex_lock(&map->lock);
    uint64_t live = map->n_log_bytes;
    pthread_mutex_unlock(&map->lock);
    uint64_t now = sto_reclog_bytes(map->log);
    if (now < live * 2 + map->grow_bytes || now < map->retry_bytes)
        return 0;
    struct ts_error why = {0};
    int rc = sto_reclog_rewrite(map->log, emit_checkpoint, map, &why);
    if (rc < 0 && sto_reclog_broken(map->log)) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc < 0) {
        ts_log(TS_LOG_WARN, "cells checkpoint put off error=\"%s\"", why.text);
        map->retry_bytes = now + map->grow_bytes;
    }
    return 0;
}

/* Write the queue; log_lock held. */
static int write_queue(struct sto_cellmap *map, struct ts_error *err)
{
    pthread_mutex_lock(&map->lock);
    uint64_t seq = map->seq;
    int rc = map->queue.n ? sto_reclog_add(map->log, ts_buf_get(&map->queue), err) : 0;
    if (rc == 0)
        ts_buf_clear(&map->queue);
    pthread_mutex_unlock(&map->lock);
    if (rc == 0)
        rc = sto_reclog_flush(map->log, map->sync, err);
    if (rc == 0)
        rc = maybe_checkpoint(map, err);
    if (rc == 0)
        map->done_seq = seq;
    pthread_mutex_lock(&map->lock);
    map->stuck = rc < 0;
    pthread_mutex_unlock(&map->lock);
    return rc;
}

/* Wait until change number seq is durable; write it if no other thread has done so. */
static int commit(struct sto_cellmap *map, uint64_t seq, struct ts_error *err)
{
    pthread_mutex_lock(&map->log_lock);
    int rc = map->done_seq >= seq ? 0 : write_queue(map, err);
    pthread_mutex_unlock(&map->log_lock);
    return rc;
}

/* Is there memory for the value of a cell (NULL: it does not exist)? One that does not grow has some. Lock held. */
static int check_room(const struct sto_cellmap *map, const struct cell *c, struct ts_slice key,
                      struct ts_slice value, struct ts_error *err)
{
    size_t n_key = c ? 0 : sizeof(*c) + key.n, n_before = c ? c->n_value : 0;
    if (!map->max_bytes || value.n <= n_before ||
        map->n_bytes + n_key + (value.n - n_before) <= map->max_bytes)
        return 0;
    return ts_error_set(
        err, TS_ENOSPC,
        "annotations, metadata and trees take %llu bytes of memory, and memory_limit leaves %llu for them; "
        "delete some of them, or raise memory_limit",
        (unsigned long long)map->n_bytes, (unsigned long long)map->max_bytes);
}

/* What a change does to the present value (empty = missing): sets *out_value, or refuses. Lock held. */
typedef int (*change_fn)(void *arg, struct ts_slice present, struct ts_slice *out_value,
                         struct ts_error *err);

static int change_locked(struct sto_cellmap *map, struct ts_slice key, change_fn change, void *arg,
                         uint64_t *out_seq, struct ts_error *err)
{
    struct cell *c = find(map, key);
    struct ts_slice value = {NULL, 0};
    TS_TRY(change(arg, c ? value_of(c) : value, &value, err));
    if (value.n > STO_CELL_MAX_VALUE_BYTES)
        return ts_error_set(err, TS_ELIMIT, "value of %zu bytes is longer than %u", value.n,
                            STO_CELL_MAX_VALUE_BYTES);
    TS_TRY(check_room(map, c, key, value, err));
    size_t n_before = map->queue.n;
    if (n_before + op_bytes(key.n, value.n) > STO_RECLOG_MAX_RECORD_BYTES)
        return ts_error_set(err, TS_EBUSY, "too many changes of cells wait for the disk");
    int rc = put_op(&map->queue, key, value);
    if (rc == 0)
        rc = apply(map, key, value);
    if (rc < 0) {
        map->queue.n = n_before;
        map->queue.failed = false;
        return ts_error_set(err, rc, "no memory for a cell of %zu bytes", value.n);
    }
    *out_seq = ++map->seq;
    return 0;
}

/* Apply a change. later: it is visible now and becomes durable with the next commit of any thread. */
static int change_cell(struct sto_cellmap *map, struct ts_slice key, change_fn change, void *arg, bool later,
                       struct ts_error *err)
{
    if (map->read_only)
        return sto_read_only_refuse(map->read_only_why, err);
    if (key.n == 0)
        return ts_error_set(err, TS_EINVAL, "a cell needs a key");
    if (key.n > STO_CELL_MAX_KEY_BYTES)
        return ts_error_set(err, TS_ELIMIT, "key of %zu bytes is longer than %u", key.n,
                            STO_CELL_MAX_KEY_BYTES);
    pthread_mutex_lock(&map->lock);
    bool stuck = map->stuck;
    uint64_t seq = map->seq;
    pthread_mutex_unlock(&map->lock);
    if (stuck) /* the disk was full: is there space again? */
        TS_TRY(commit(map, seq, err));
    pthread_mutex_lock(&map->lock);
    seq = map->seq;
    int rc = change_locked(map, key, change, arg, &seq, err);
    pthread_mutex_unlock(&map->lock);
    if (rc == TS_EBUSY && later) { /* many changes are pending: write those first */
        TS_TRY(commit(map, seq, err));
        return change_cell(map, key, change, arg, false, err);
    }
    return rc < 0 || later ? rc : commit(map, seq, err);
}

static int change_put(void *arg, struct ts_slice present, struct ts_slice *out_value, struct ts_error *err)
{
    (void)present;
    (void)err;
    *out_value = *(struct ts_slice *)arg;
    return 0;
}

/* Arguments of sto_cellmap_cas. */
struct cas {
    struct ts_slice expected, value;
};

static int change_cas(void *arg, struct ts_slice present, struct ts_slice *out_value, struct ts_error *err)
{
    const struct cas *cas = arg;
    *out_value = cas->value;
    return ts_slice_eq(present, cas->expected) ? 0
                                               : ts_error_set(err, TS_EEXIST, "the cell has another value");
}

/* Arguments and result of sto_cellmap_incr. */
struct incr {
    int64_t delta, sum;
    char bytes[8]; /* sum as a value */
};

static int change_incr(void *arg, struct ts_slice present, struct ts_slice *out_value, struct ts_error *err)
{
    struct incr *incr = arg;
    if (present.n != 0 && present.n != 8)
        return ts_error_set(err, TS_EINVAL, "the cell is no counter");
    int64_t before = present.n ? (int64_t)ts_ld64(present.p) : 0;
    if (__builtin_add_overflow(before, incr->delta, &incr->sum))
        return ts_error_set(err, TS_ELIMIT, "the counter would leave 64 bits");
    ts_st64(incr->bytes, (uint64_t)incr->sum);
    *out_value = (struct ts_slice){incr->bytes, sizeof(incr->bytes)};
    return 0;
}

/* --- public functions --- */

static void map_free(struct sto_cellmap *map)
{
    for (struct cell *c = map->head[0]; c;) {
        struct cell *next = c->next[0];
        ts_free(c->value);
        ts_free(c);
        c = next;
    }
    ts_buf_release(&map->queue);
    pthread_mutex_destroy(&map->lock);
    pthread_mutex_destroy(&map->log_lock);
    ts_free(map);
}

int sto_cellmap_open(const struct ts_fs *fs, const char *dir, bool read_only, bool sync,
                     struct sto_cellmap **out_map, struct ts_error *err)
{
    *out_map = NULL;
    struct sto_cellmap *map = ts_xcalloc(1, sizeof(*map));
    pthread_mutex_init(&map->lock, NULL);
    pthread_mutex_init(&map->log_lock, NULL);
    ts_buf_init(&map->queue, 0);
    map->random = 0x9e3779b97f4a7c15ull;
    map->read_only = read_only;
    map->sync = sync;
    map->grow_bytes = GROW_BYTES;
    char *path = ts_fs_join(dir, LOG_NAME);
    int rc = sto_reclog_open(fs, path, LOG_KIND, read_only, replay, map, &map->log, err);
    ts_free(path);
    if (rc == 0)
        rc = sto_reclog_keep_copy(map->log, err);
    if (rc < 0) {
        sto_reclog_abandon(map->log);
        map_free(map);
        return rc;
    }
    *out_map = map;
    return 0;
}

void sto_cellmap_set_read_only_why(struct sto_cellmap *map, const struct ts_error *why)
{
    map->read_only_why = why;
}

void sto_cellmap_set_sizes(struct sto_cellmap *map, uint64_t grow_bytes, uint64_t max_bytes)
{
    map->grow_bytes = grow_bytes ? grow_bytes : GROW_BYTES;
    map->max_bytes = max_bytes;
}

int sto_cellmap_check_room(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value,
                           struct ts_error *err)
{
    pthread_mutex_lock(&map->lock);
    int rc = check_room(map, find(map, key), key, value, err);
    pthread_mutex_unlock(&map->lock);
    return rc;
}

int sto_cellmap_close(struct sto_cellmap *map, struct ts_error *err)
{
    if (!map)
        return 0;
    map->sync = true;
    int rc = 0;
    if (!map->read_only) {
        pthread_mutex_lock(&map->log_lock);
        rc = write_queue(map, err);
        pthread_mutex_unlock(&map->log_lock);
    }
    int rc_close = sto_reclog_close(map->log, rc < 0 ? NULL : err);
    map_free(map);
    return rc < 0 ? rc : rc_close;
}

int sto_cellmap_get(struct sto_cellmap *map, struct ts_slice key, struct ts_buf *out)
{
    pthread_mutex_lock(&map->lock);
    const struct cell *c = find(map, key);
    int rc = c ? ts_buf_slice(out, value_of(c)) : TS_ENOTFOUND;
    pthread_mutex_unlock(&map->lock);
    return rc;
}

int sto_cellmap_put(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value, bool later,
                    struct ts_error *err)
{
    return change_cell(map, key, change_put, &value, later, err);
}

int sto_cellmap_cas(struct sto_cellmap *map, struct ts_slice key, struct ts_slice expected,
                    struct ts_slice value, bool later, struct ts_error *err)
{
    struct cas cas = {expected, value};
    return change_cell(map, key, change_cas, &cas, later, err);
}

int sto_cellmap_sync(struct sto_cellmap *map, struct ts_error *err)
{
    pthread_mutex_lock(&map->lock);
    uint64_t seq = map->seq;
    pthread_mutex_unlock(&map->lock);
    return commit(map, seq, err);
}

int sto_cellmap_incr(struct sto_cellmap *map, struct ts_slice key, int64_t delta, int64_t *out_value,
                     struct ts_error *err)
{
    struct incr incr = {.delta = delta};
    TS_TRY(change_cell(map, key, change_incr, &incr, false, err));
    if (out_value)
        *out_value = incr.sum;
    return 0;
}

/* Range of keys of a walk. */
struct walk {
    struct ts_slice prefix; /* they begin with this */
    struct ts_slice to;     /* and are before this; empty = no end */
};

static bool in_walk(const struct walk *w, const struct cell *c)
{
    struct ts_slice front = {c->key, w->prefix.n};
    return c->n_key >= w->prefix.n && ts_slice_eq(front, w->prefix) &&
           (w->to.n == 0 || ts_slice_cmp(key_of(c), w->to) < 0);
}

/* Copy cells from key on (past: after it) into out, encoded as by put_op; at least one. Lock held. */
static void copy_some(struct sto_cellmap *map, struct ts_slice key, bool past, const struct walk *w,
                      struct ts_buf *out)
{
    const struct cell *c = seek(map, key, NULL);
    if (past && c && ts_slice_eq(key_of(c), key))
        c = c->next[0];
    for (; c && out->n < COPY_BYTES; c = c->next[0])
        if (!in_walk(w, c) || put_op(out, key_of(c), value_of(c)) < 0)
            return;
}

static void walk_cells(struct sto_cellmap *map, struct ts_slice from, const struct walk *w,
                       bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    struct ts_buf some, last;
    ts_buf_init(&some, 0);
    ts_buf_init(&last, 0);
    bool go_on = ts_buf_slice(&last, from) == 0, past = false;
    while (go_on) {
        ts_buf_clear(&some);
        pthread_mutex_lock(&map->lock);
        copy_some(map, ts_buf_get(&last), past, w, &some);
        pthread_mutex_unlock(&map->lock);
        struct ts_slice key = {NULL, 0}, value;
        const uint8_t *p = (const uint8_t *)some.p, *end = some.n ? p + some.n : p;
        while (go_on && p < end) {
            p = get_bytes(get_bytes(p, end, &key), end, &value);
            go_on = each(arg, key, value);
        }
        ts_buf_clear(&last);
        go_on = go_on && some.n && ts_buf_slice(&last, key) == 0;
        past = true;
    }
    ts_buf_release(&some);
    ts_buf_release(&last);
}

void sto_cellmap_each(struct sto_cellmap *map, struct ts_slice prefix,
                      bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    walk_cells(map, prefix, &(struct walk){.prefix = prefix}, each, arg);
}

void sto_cellmap_range(struct sto_cellmap *map, struct ts_slice from, struct ts_slice to,
                       bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg)
{
    walk_cells(map, from, &(struct walk){.to = to}, each, arg);
}

uint64_t sto_cellmap_bytes(const struct sto_cellmap *map)
{
    pthread_mutex_t *lock =
        (pthread_mutex_t *)(uintptr_t)&map->lock; /* counting changes nothing that callers see */
    pthread_mutex_lock(lock);
    uint64_t n = map->n_bytes + map->queue.cap;
    pthread_mutex_unlock(lock);
    return n;
}
