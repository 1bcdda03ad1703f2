/*
 * wal.c - write-ahead log, the writing half: numbers of series, append.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    the owner
 * Invariant  end_off is the end of a valid record
 * Not here   segments and their syncs (wal_segment.c), replay (wal_read.c), bytes (wal_format.c)
 */
#include "storage/engine/log/wal.h"

#include <limits.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "storage/engine/log/wal_int.h"
#include "storage/versions.h"

int sto_wal_new(const struct ts_fs *fs, const char *dir, uint32_t run, uint32_t owner, uint64_t gen,
                struct sto_wal **out_wal, struct ts_error *err)
{
    *out_wal = NULL;
    if (strlen(dir) + 1 + STO_WAL_NAME_BYTES > PATH_MAX)
        return ts_error_set(err, TS_EINVAL, "path too long: %s", dir);
    struct sto_wal *wal = ts_xcalloc(1, sizeof(*wal));
    wal->fs = fs;
    wal->dir = ts_xstrdup(dir);
    wal->name = (struct sto_wal_name){.run = run, .owner = owner, .gen = gen};
    wal->segment_bytes = STO_WAL_SEGMENT_BYTES;
    wal->prev_segment = STO_WAL_NO_SEGMENT;
    wal->slots = sto_slots_of((struct sto_shard_spread){1, 1, 1});
    pthread_mutex_init(&wal->lock, NULL);
    pthread_cond_init(&wal->sync_done, NULL);
    *out_wal = wal;
    return 0;
}

void sto_wal_set_segment_bytes(struct sto_wal *wal, uint64_t n_bytes)
{
    wal->segment_bytes = n_bytes ? n_bytes : STO_WAL_SEGMENT_BYTES;
}

void sto_wal_set_spread(struct sto_wal *wal, struct sto_shard_spread spread)
{
    wal->slots = sto_slots_of(spread);
}

size_t sto_wal_table_bytes(const struct sto_wal *wal)
{
    return (wal->slots_cap + wal->numbers_cap) * sizeof(uint32_t);
}

void sto_wal_set_known(struct sto_wal *wal, uint32_t (*n_known)(void *arg), void *arg)
{
    wal->n_known = n_known;
    wal->known_arg = arg;
}

int sto_wal_set_gen(struct sto_wal *wal, uint64_t gen, struct ts_error *err)
{
    if (gen < wal->name.gen)
        TS_BUG("generation goes back from %llu to %llu", (unsigned long long)wal->name.gen,
               (unsigned long long)gen);
    if (atomic_load_explicit(&wal->broken, memory_order_relaxed))
        return sto_wal__refuse(wal, err);
    if (gen == wal->name.gen)
        return 0;
    TS_TRY(sto_wal__close_segment(wal, err));
    wal->name.gen = gen;
    sto_wal__take_ahead(wal);
    return 0;
}

/* --- making the bytes of an append --- */

/* Reserve n more bytes of the buffer; returns their beginning, or NULL if there is no memory. */
static uint8_t *reserve(struct sto_wal *wal, size_t n)
{
    if (wal->buf_cap - wal->buf_n < n) {
        size_t cap = wal->buf_cap ? wal->buf_cap * 2 : 2 * STO_WAL_RECORD_BYTES;
        while (cap - wal->buf_n < n)
            cap *= 2;
        uint8_t *p = ts_try_realloc(wal->buf, cap);
        if (!p)
            return NULL;
        wal->buf = p;
        wal->buf_cap = cap;
    }
    return wal->buf + wal->buf_n;
}

static int no_memory(const struct sto_wal *wal, struct ts_error *err)
{
    return ts_error_set(err, TS_ENOMEM, "no memory for an append of %zu bytes to the write-ahead log",
                        wal->buf_n);
}

/* Assign the next number to a series that this segment does not define yet. */
static int give_number(struct sto_wal *wal, const struct sto_series *series, struct ts_error *err)
{
    uint64_t slot = sto_slots_at(&wal->slots, series);
    if (slot >= wal->slots_cap) {
        size_t cap = wal->slots_cap ? wal->slots_cap : 1024;
        while (cap <= slot)
            cap *= 2;
        uint32_t *p = ts_try_realloc(wal->number_of, cap * sizeof(*p));
        if (!p)
            return no_memory(wal, err);
        wal->number_of = p;
        wal->slots_cap = cap;
    }
    if (wal->n_ids == wal->numbers_cap) {
        size_t cap = wal->numbers_cap ? wal->numbers_cap * 2 : 1024;
        uint32_t *p = ts_try_realloc(wal->ids, cap * sizeof(*p));
        if (!p)
            return no_memory(wal, err);
        wal->ids = p;
        wal->numbers_cap = cap;
    }
    wal->number_of[slot] = wal->n_ids;
    wal->ids[wal->n_ids++] = series->id;
    return 0;
}

/* A record of definitions under construction. */
struct defs {
    size_t off;      /* offset of its beginning; SIZE_MAX: none is open */
    uint32_t before; /* id of its last definition */
};

/* Add a definition to the open record; begins a new record if none is open or the open one is full. */
static int add_definition(struct sto_wal *wal, const struct sto_series *s, struct defs *rec,
                          struct ts_error *err)
{
    bool known = wal->n_known && s->id < wal->n_known(wal->known_arg);
    size_t bound = sto_wal__def_bound(s, known);
    if (bound + 1 + TS_VARINT_MAX_BYTES > STO_WAL_MAX_RECORD_BYTES)
        return ts_error_set(err, TS_ELIMIT, "series text of %u bytes is too long for the write-ahead log",
                            s->text_len);
    uint8_t *p = reserve(wal, STO_WAL_RECORD_HEAD_BYTES + 1 + TS_VARINT_MAX_BYTES + bound);
    if (!p)
        return no_memory(wal, err);
    TS_TRY(give_number(wal, s, err));
    if (rec->off != SIZE_MAX && wal->buf_n - rec->off + bound > STO_WAL_RECORD_BYTES) {
        sto_wal__record_close(wal->buf + rec->off, p, wal->salt);
        rec->off = SIZE_MAX;
    }
    if (rec->off == SIZE_MAX) {
        *rec = (struct defs){.off = wal->buf_n};
        p += STO_WAL_RECORD_HEAD_BYTES;
        *p++ = STO_WAL_SERIES_HEADED;
        p = ts_put_varint(p, wal->n_ids - 1);
    }
    wal->buf_n = (size_t)(sto_wal__def_put(p, s, known, &rec->before) - wal->buf);
    return 0;
}

/* Look up the numbers of n <= STO_WAL_CHUNK_POINTS points, and write definitions of series that have none
 * yet. Two comparisons a point. */
static int number_points(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err)
{
    struct defs rec = {.off = SIZE_MAX};
    for (size_t i = 0; i < n; i++) {
        const struct sto_series *s = points[i].series;
        uint64_t slot = sto_slots_at(&wal->slots, s);
        uint32_t k = slot < wal->slots_cap ? wal->number_of[slot] : UINT32_MAX;
        if (__builtin_expect(k >= wal->n_ids || wal->ids[k] != s->id, 0)) {
            TS_TRY(add_definition(wal, s, &rec, err));
            k = wal->n_ids - 1;
        }
        wal->numbers[i] = k;
    }
    if (rec.off != SIZE_MAX)
        sto_wal__record_close(wal->buf + rec.off, wal->buf + wal->buf_n, wal->salt);
    return 0;
}

/* Encode records of points, preceded by their definitions, into the buffer. Points of neighbouring chunks
 * share a record unless a definition comes between them. */
static int encode(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err)
{
    size_t rec_off = SIZE_MAX; /* open record of points */
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    for (size_t at = 0; at < n;) {
        size_t n_chunk = n - at < STO_WAL_CHUNK_POINTS ? n - at : STO_WAL_CHUNK_POINTS;
        /* a stamp and its value are in one record */
        n_chunk -= n_chunk > 1 && n_chunk < n - at && sto_is_stamp(points[at + n_chunk - 1].flags);
        size_t before = wal->buf_n;
        uint32_t n_known = wal->n_ids;
        TS_TRY(number_points(wal, points + at, n_chunk, err));
        if (n_known != wal->n_ids && rec_off != SIZE_MAX) {
            sto_wal__record_close(wal->buf + rec_off, wal->buf + before, wal->salt);
            rec_off = SIZE_MAX;
        }
        for (size_t done = 0; done < n_chunk;) {
            uint8_t *p = reserve(wal, STO_WAL_RECORD_HEAD_BYTES + 1 +
                                          (STO_WAL_CHUNK_POINTS + 1) * STO_WAL_POINT_MAX_BYTES);
            if (!p)
                return no_memory(wal, err);
            if (rec_off == SIZE_MAX) {
                rec_off = wal->buf_n;
                ctx = (struct sto_wal_ctx)STO_WAL_CTX_INIT;
                p += STO_WAL_RECORD_HEAD_BYTES;
                *p++ = STO_WAL_POINTS;
            }
            const uint8_t *stop = wal->buf + rec_off + STO_WAL_RECORD_BYTES;
            size_t n_put;
            p = sto_wal__points_put(p, stop, &ctx, points + at + done, wal->numbers + done, n_chunk - done,
                                    &n_put);
            done += n_put;
            wal->buf_n = (size_t)(p - wal->buf);
            if (p >= stop) {
                sto_wal__record_close(wal->buf + rec_off, p, wal->salt);
                rec_off = SIZE_MAX;
            }
        }
        at += n_chunk;
    }
    if (rec_off != SIZE_MAX)
        sto_wal__record_close(wal->buf + rec_off, wal->buf + wal->buf_n, wal->salt);
    return 0;
}

/* Encode parts of one stream, which lie behind each other, as one record, preceded by its definitions. */
static int encode_once(struct sto_wal *wal, const struct sto_batch *b, const struct sto_part *parts,
                       size_t n_parts, struct ts_error *err)
{
    const struct sto_point *points = b->points + parts[0].first;
    const struct sto_part *last = &parts[n_parts - 1];
    size_t n = (size_t)(last->first + last->n - parts[0].first), n_put;
    struct sto_wal_ctx ctx = STO_WAL_CTX_INIT;
    TS_TRY(number_points(wal, points, n, err));
    uint8_t *rec = reserve(wal, STO_WAL_RECORD_HEAD_BYTES + STO_WAL_ONCE_MAX_BYTES(n) +
                                    (n + 1) * STO_WAL_POINT_MAX_BYTES);
    if (!rec)
        return no_memory(wal, err);
    uint8_t *p =
        sto_wal__once_put(rec + STO_WAL_RECORD_HEAD_BYTES, &b->streams[parts[0].stream].id, parts, n_parts);
    p = sto_wal__points_put(p, p + n * STO_WAL_POINT_MAX_BYTES, &ctx, points, wal->numbers, n, &n_put);
    if (n_put != n)
        TS_BUG("a part of a sequence does not fit its record");
    sto_wal__record_close(rec, p, wal->salt);
    wal->buf_n = (size_t)(p - wal->buf);
    return 0;
}

/* Parts that one record takes from part k on: of one stream, behind each other, of STO_WAL_CHUNK_POINTS in all or a single one. */
static size_t count_once(const struct sto_batch *b, size_t k)
{
    size_t n_points = b->parts[k].n, n = 1;
    for (; k + n < b->n_parts; n++) {
        const struct sto_part *p = &b->parts[k + n];
        if (!p->n || p->stream != b->parts[k].stream || p->first != b->parts[k].first + n_points ||
            n_points + p->n > STO_WAL_CHUNK_POINTS)
            break;
        n_points += p->n;
    }
    return n;
}

static int encode_batch(struct sto_wal *wal, const struct sto_batch *b, struct ts_error *err)
{
    size_t at = 0; /* points that are encoded */
    for (size_t k = 0, n; k < b->n_parts; k += n) {
        n = 1;
        if (!b->parts[k].n)
            continue;
        if (b->parts[k].first > at)
            TS_TRY(encode(wal, b->points + at, b->parts[k].first - at, err));
        n = count_once(b, k);
        TS_TRY(encode_once(wal, b, &b->parts[k], n, err));
        at = (size_t)b->parts[k + n - 1].first + b->parts[k + n - 1].n;
    }
    return at < b->n ? encode(wal, b->points + at, b->n - at, err) : 0;
}

/* Write what precedes the records of an append: the header of a new segment, a mark after a sync. */
static int begin(struct sto_wal *wal, struct ts_error *err)
{
    wal->buf_n = 0;
    wal->mark_off = wal->marked_off;
    wal->mark_put = wal->marked;
    uint8_t *p = reserve(wal, STO_WAL_HEADER_BYTES + STO_WAL_RECORD_HEAD_BYTES + STO_WAL_MARK_BODY_BYTES);
    if (!p)
        return no_memory(wal, err);
    if (wal->end_off == 0) {
        struct sto_wal_head head = {.name = wal->name,
                                    .prev_segment = wal->prev_segment,
                                    .prev_gen = wal->prev_gen,
                                    .prev_bytes = wal->prev_bytes};
        sto_wal__head_put(p, &head);
        p += STO_WAL_HEADER_BYTES;
    }
    uint64_t synced = sto_wal_synced(wal);
    bool first = !wal->marked &&
                 wal->prev_segment != STO_WAL_NO_SEGMENT; /* the mark says that the previous segments are
                                                           * on disk */
    if (synced > wal->base + wal->marked_off || (first && synced == wal->base)) {
        wal->mark_off = synced - wal->base;
        wal->mark_put = true;
        p = sto_wal__mark_put(p, wal->mark_off, wal->salt);
    }
    wal->buf_n = (size_t)(p - wal->buf);
    return 0;
}

/* Write the buffer at the end of the valid records. */
static int write_out(struct sto_wal *wal, struct ts_error *err)
{
    int rc = wal->fs->append(wal->file, wal->buf, wal->buf_n, err);
    if (rc == 0) {
        wal->end_off += wal->buf_n;
        wal->marked_off = wal->mark_off;
        wal->marked = wal->mark_put;
        atomic_fetch_add_explicit(&wal->written, wal->buf_n, memory_order_release);
        return 0;
    }
    if (wal->fs->truncate(wal->file, wal->end_off, NULL) < 0) /* part of a refused append would remain */
        return sto_wal__break(wal, err);
    return rc == TS_ENOSPC ? rc : sto_wal__break(wal, err);
}

/* Append n points, or those of a batch. */
static int append(struct sto_wal *wal, const struct sto_batch *b, const struct sto_point *points, size_t n,
                  struct ts_error *err)
{
    if (atomic_load_explicit(&wal->broken, memory_order_relaxed))
        return sto_wal__refuse(wal, err);
    if (n == 0)
        return 0;
    if (wal->file && wal->end_off >= wal->segment_bytes)
        TS_TRY(sto_wal__close_segment(wal, err));
    if (!wal->file)
        TS_TRY(sto_wal__open_segment(wal, err));
    uint32_t n_known = wal->n_ids;
    int rc = begin(wal, err);
    if (rc == 0)
        rc = b ? encode_batch(wal, b, err) : encode(wal, points, n, err);
    if (rc == 0)
        rc = write_out(wal, err);
    if (rc < 0)
        wal->n_ids = n_known;
    return rc;
}

int sto_wal_append(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err)
{
    return append(wal, NULL, points, n, err);
}

int sto_wal_append_batch(struct sto_wal *wal, const struct sto_batch *batch, struct ts_error *err)
{
    return append(wal, batch->n_parts ? batch : NULL, batch->points, batch->n, err);
}

/* Everything is on disk: record that in the file, too, so that later damage to the last records is
 * distinguished from a torn tail. */
static void mark_end(struct sto_wal *wal)
{
    if (!wal->file || wal->end_off == 0)
        return;
    if (begin(wal, NULL) == 0 && wal->fs->append(wal->file, wal->buf, wal->buf_n, NULL) < 0)
        wal->fs->truncate(wal->file, wal->end_off, NULL);
}

int sto_wal_close(struct sto_wal *wal, struct ts_error *err)
{
    if (!wal)
        return 0;
    int rc = sto_wal_sync(wal, err);
    if (rc == 0)
        mark_end(wal);
    int close_rc = sto_wal__free_segments(wal, rc < 0 ? NULL : err);
    pthread_cond_destroy(&wal->sync_done);
    pthread_mutex_destroy(&wal->lock);
    ts_free(wal->number_of);
    ts_free(wal->ids);
    ts_free(wal->buf);
    ts_free(wal->dir);
    ts_free(wal);
    return rc < 0 ? rc : close_rc;
}
