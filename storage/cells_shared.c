/*
 * cells_shared.c - small cells that a remote store shares with other programs.
 */
#include "storage/cells_shared.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/time.h"

#define TRIES 8 /* of a change that other writers come before */

/* A shared cell during one call. */
struct shared {
    const struct sto_shared_cells *s;
    struct ts_slice key;
    struct ts_buf remote_key, before, value; /* of the copy; of the remote store */
    struct sto_remote_call call;
};

static void changes_begin(const struct sto_shared_cells *s)
{
    if (s->changes)
        atomic_fetch_add(&s->changes->n_begun, 1);
}

static void changes_end(const struct sto_shared_cells *s)
{
    if (s->changes)
        atomic_fetch_add(&s->changes->n_ended, 1);
}

static int begin(struct shared *c, int64_t wait_ms, struct ts_error *err)
{
    ts_buf_init(&c->remote_key, 0);
    ts_buf_init(&c->before, 0);
    ts_buf_init(&c->value, STO_CELL_MAX_VALUE_BYTES);
    if (!c->s->remote || !c->s->key)
        return TS_ENOTFOUND;
    int rc = c->s->key(c->s->arg, c->key, &c->remote_key);
    if (rc == 0 && ts_fs_is_nowait())
        return ts_error_set(err, TS_EBUSY, "the remote store has to be waited for");
    if (rc < 0 && rc != TS_ENOTFOUND)
        return ts_error_set(err, rc, "there is no memory for the key of a cell");
    c->call.deadline_ns = ts_clock_mono_ns() + wait_ms * 1000000;
    return rc;
}

static void end(struct shared *c)
{
    ts_buf_release(&c->remote_key);
    ts_buf_release(&c->before);
    ts_buf_release(&c->value);
}

/* An error of the remote store for a client: that a time limit of ours has passed means that it cannot be reached. */
static int failed(const struct shared *c, int rc, struct ts_error *err)
{
    if (rc != TS_EBACKEND && rc != TS_ETIMEOUT)
        return rc;
    struct ts_error why = err ? *err : (struct ts_error){.code = rc};
    return ts_error_set(
        err, TS_EBACKEND,
        "%s, which keeps annotations, metadata and trees, has not acknowledged this; try again later: %s",
        c->s->remote->ops->name, why.text);
}

static int read_copy(struct shared *c)
{
    ts_buf_clear(&c->before);
    int rc = sto_cellmap_get(c->s->map, c->key, &c->before);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

static int read_remote(struct shared *c, struct ts_error *err)
{
    ts_buf_clear(&c->value);
    int rc = c->s->remote->ops->cell_get(c->s->remote, ts_buf_get(&c->remote_key), &c->call, &c->value, err);
    return rc == TS_ENOTFOUND ? 0 : failed(c, rc, err);
}

/* --- what the remote store is known to have had --- */

#define SEEN_BYTES 8

/* Length and checksum of a value. */
static void sum_of(struct ts_slice value, uint8_t *out)
{
    ts_st32(out, (uint32_t)value.n);
    ts_st32(out + 4, ts_crc32c(0, value.p, value.n));
}

/* The second cell of a key. NULL: there is no memory. */
static int seen_key(struct ts_slice key, struct ts_buf *out, struct ts_error *err)
{
    ts_buf_init(out, 0);
    if (ts_buf_str(out, STO_SHARED_SEEN) == 0 && ts_buf_slice(out, key) == 0)
        return 0;
    ts_buf_release(out);
    return ts_error_set(err, TS_ENOMEM, "there is no memory for the key of a cell");
}

/* Note that the remote store has a value; empty: that it has none. */
static int note_seen(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice value,
                     struct ts_error *err)
{
    uint8_t sum[SEEN_BYTES];
    struct ts_buf at, before;
    struct ts_slice noted = {(const char *)sum, value.n ? SEEN_BYTES : 0};
    TS_TRY(seen_key(key, &at, err));
    ts_buf_init(&before, 0);
    sum_of(value, sum);
    int rc = sto_cellmap_get(s->map, ts_buf_get(&at), &before);
    rc = rc == TS_ENOTFOUND ? 0 : rc;
    if (rc == 0 && !ts_slice_eq(ts_buf_get(&before), noted))
        rc = sto_cellmap_put(s->map, ts_buf_get(&at), noted, true, err);
    ts_buf_release(&before);
    ts_buf_release(&at);
    return rc;
}

/* Had the remote store this value? */
static bool was_seen(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice value)
{
    uint8_t sum[SEEN_BYTES];
    struct ts_buf at, noted;
    if (value.n == 0 || seen_key(key, &at, NULL) < 0)
        return false;
    ts_buf_init(&noted, 0);
    sum_of(value, sum);
    bool seen = sto_cellmap_get(s->map, ts_buf_get(&at), &noted) == 0 &&
                ts_slice_eq(ts_buf_get(&noted), (struct ts_slice){(const char *)sum, SEEN_BYTES});
    ts_buf_release(&noted);
    ts_buf_release(&at);
    return seen;
}

/* The copy has `before`, and the remote store `is` (empty: no such cell): correct the copy. TS_EEXIST: the copy has changed. */
static int correct(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice before,
                   struct ts_slice is, struct ts_error *err)
{
    if (is.n == 0 && !was_seen(s, key, before))
        return 0;
    if (!ts_slice_eq(before, is))
        TS_TRY(sto_cellmap_cas(s->map, key, before, is, true, err));
    return note_seen(s, key, is, err);
}

/* Bring the copy up to date. A value that only the copy has stays, unless the remote store had it. */
static int refresh(struct shared *c, struct ts_error *err)
{
    int rc = TS_EEXIST;
    for (int i = 0; i < TRIES && rc == TS_EEXIST; i++) {
        TS_TRY(read_copy(c));
        TS_TRY(read_remote(c, err));
        rc = correct(c->s, c->key, ts_buf_get(&c->before), ts_buf_get(&c->value), err);
    }
    return rc == TS_EEXIST ? 0
                           : rc; /* others write all the time, and the last one of them looks at it, too */
}

/* The remote store has the value now; before is the copy from before. */
static int follow(struct shared *c, struct ts_slice value, bool later, struct ts_error *err)
{
    int rc = sto_cellmap_cas(c->s->map, c->key, ts_buf_get(&c->before), value, true, err);
    if (rc == 0)
        rc = note_seen(c->s, c->key, value, err);
    if (rc == TS_EEXIST)
        rc = refresh(c, err);
    return rc == 0 && !later ? sto_cellmap_sync(c->s->map, err) : rc;
}

static int swap(struct shared *c, struct ts_slice expected, struct ts_slice value, bool later,
                struct ts_error *err)
{
    struct sto_remote *r = c->s->remote;
    TS_TRY(sto_cellmap_check_room(c->s->map, c->key, value, err));
    TS_TRY(read_copy(c));
    int rc = r->ops->cell_cas(r, ts_buf_get(&c->remote_key), expected, value, &c->call, err);
    if (rc == TS_EEXIST && expected.n && ts_slice_eq(ts_buf_get(&c->before), expected)) {
        TS_TRY(read_remote(c, err));
        if (c->value.n == 0) /* only the copy has the expected value */
            rc = value.n ? r->ops->cell_cas(r, ts_buf_get(&c->remote_key), (struct ts_slice){"", 0}, value,
                                            &c->call, err)
                         : 0;
    }
    if (rc == 0)
        return follow(c, value, later, err);
    if (rc != TS_EEXIST)
        return failed(c, rc, err);
    TS_TRY(refresh(c, err));
    return ts_error_set(err, TS_EEXIST, "the cell has another value");
}

static int replace(struct shared *c, struct ts_slice value, bool later, struct ts_error *err)
{
    struct sto_remote *r = c->s->remote;
    int rc = TS_EEXIST;
    TS_TRY(sto_cellmap_check_room(c->s->map, c->key, value, err)); /* not after the remote store has it */
    for (int i = 0; i < TRIES && rc == TS_EEXIST; i++) {
        TS_TRY(read_copy(c));
        TS_TRY(read_remote(c, err));
        rc = r->ops->cell_cas(r, ts_buf_get(&c->remote_key), ts_buf_get(&c->value), value, &c->call, err);
    }
    return rc == 0 ? follow(c, value, later, err) : failed(c, rc, err);
}

int sto_shared_put(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice value, bool later,
                   struct ts_error *err)
{
    struct shared c = {.s = s, .key = key};
    changes_begin(s);
    int rc = begin(&c, STO_SHARED_WRITE_MS, err);
    if (rc == TS_ENOTFOUND)
        rc = sto_cellmap_put(s->map, key, value, later, err);
    else if (rc == 0)
        rc = replace(&c, value, later, err);
    changes_end(s);
    end(&c);
    return rc;
}

int sto_shared_cas(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice expected,
                   struct ts_slice value, bool later, struct ts_error *err)
{
    struct shared c = {.s = s, .key = key};
    changes_begin(s);
    int rc = begin(&c, STO_SHARED_WRITE_MS, err);
    if (rc == TS_ENOTFOUND)
        rc = sto_cellmap_cas(s->map, key, expected, value, later, err);
    else if (rc == 0)
        rc = swap(&c, expected, value, later, err);
    changes_end(s);
    end(&c);
    return rc;
}

int sto_shared_refresh(const struct sto_shared_cells *s, struct ts_slice key, bool must, struct ts_error *err)
{
    struct shared c = {.s = s, .key = key};
    int rc = begin(&c, must ? STO_SHARED_WRITE_MS : STO_SHARED_READ_MS, err);
    if (rc == 0)
        rc = refresh(&c, err);
    end(&c);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

/* --- what fetches find --- */

uint64_t sto_shared_stamp(const struct sto_shared_cells *s)
{
    if (!s->changes)
        return 0;
    uint64_t n_ended = atomic_load(&s->changes->n_ended), n_begun = atomic_load(&s->changes->n_begun);
    return n_begun == n_ended ? n_begun : UINT64_MAX; /* a change is running: never the same again */
}

/* The remote store had `is` at a time after the stamp. */
static int follow_fetch(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice is,
                        uint64_t stamp, struct ts_error *err)
{
    struct ts_buf before;
    ts_buf_init(&before, 0);
    int rc = sto_cellmap_get(s->map, key, &before);
    rc = rc == TS_ENOTFOUND ? 0 : rc;
    bool same = ts_slice_eq(ts_buf_get(&before), is);
    /* The copy was read before the look at the counter: a change that begins now makes the swap fail. */
    if (rc == 0 && !same && s->changes && atomic_load(&s->changes->n_begun) != stamp)
        rc = TS_EEXIST;
    if (rc == 0)
        rc = correct(s, key, ts_buf_get(&before), is, err);
    ts_buf_release(&before);
    return rc == TS_EEXIST ? sto_shared_refresh(s, key, false, err) : rc;
}

int sto_shared_seen(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice value,
                    uint64_t stamp, struct ts_error *err)
{
    return follow_fetch(s, key, value, stamp, err);
}

int sto_shared_missing(const struct sto_shared_cells *s, struct ts_slice key, uint64_t stamp,
                       struct ts_error *err)
{
    return follow_fetch(s, key, (struct ts_slice){"", 0}, stamp, err);
}
