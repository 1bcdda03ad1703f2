/*
 * catalog_log_write.c - encode names and series as blocks of columns compressed with zstd.
 *
 * Format     docs/FORMAT.md "Catalog"
 * Threads    see catalog_log.h
 * Not here   reading (catalog_log_read.c), when to write (catalog.c)
 */
#include <zstd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "storage/catalog/catalog_int.h"
#include "storage/catalog/catalog_log.h"

/* A block that is being filled. */
struct block {
    struct sto_reclog *log; /* log to which the block is added */
    int level;              /* zstd */
    struct ts_buf raw;      /* payload */
    struct ts_buf body;     /* record */
    struct sto_idruns runs; /* ids in the block */
    uint32_t n;             /* ids in the block */
};

static void put_varint(struct ts_buf *b, uint64_t v)
{
    uint8_t *p = (uint8_t *)ts_buf_reserve(b, TS_VARINT_MAX_BYTES);
    if (p)
        b->n += (size_t)(ts_put_varint(p, v) - p);
}

static void put_runs(struct ts_buf *b, const struct sto_idruns *runs)
{
    uint32_t at = 0;
    put_varint(b, runs->n);
    for (size_t i = 0; i < runs->n; i++) {
        put_varint(b, runs->runs[i].first - at);
        put_varint(b, runs->runs[i].n);
        at = runs->runs[i].first + runs->runs[i].n;
    }
}

/* Add the payload in blk->raw as a record, compressed if that is smaller. */
static int add_record(struct block *blk, enum sto_catalog_log_type type, struct ts_error *err)
{
    ts_buf_clear(&blk->body);
    ts_buf_char(&blk->body, (char)type);
    ts_buf_char(&blk->body, 0);
    put_varint(&blk->body, blk->raw.n);
    size_t head = blk->body.n, bound = ZSTD_compressBound(blk->raw.n);
    char *p = ts_buf_reserve(&blk->body, bound);
    if (!p || blk->raw.failed)
        return ts_error_set(err, TS_ENOMEM, "no memory for a block of the catalog");
    size_t n = ZSTD_compress(p, bound, blk->raw.p, blk->raw.n, blk->level);
    if (!ZSTD_isError(n) && n < blk->raw.n) {
        blk->body.p[1] = STO_CATALOG_LOG_FLAG_ZSTD;
        blk->body.n = head + n;
    } else {
        ts_buf_slice(&blk->body, ts_buf_get(&blk->raw));
    }
    return sto_reclog_add(blk->log, ts_buf_get(&blk->body), err);
}

/* --- names --- */

static int names_end(const struct sto_uidtab *t, enum sto_uid_kind kind, struct block *blk,
                     struct ts_error *err)
{
    struct ts_buf lens = {0}, tails = {0};
    struct ts_slice before = {NULL, 0};
    ts_buf_clear(&blk->raw);
    ts_buf_char(&blk->raw, (char)kind);
    put_runs(&blk->raw, &blk->runs);
    for (size_t r = 0; r < blk->runs.n; r++) {
        for (uint32_t i = 0; i < blk->runs.runs[r].n; i++) {
            struct ts_slice name = sto_uidtab__name(t, blk->runs.runs[r].first + i);
            size_t same = 0, most = before.n < name.n ? before.n : name.n;
            while (same < most && same < UINT8_MAX && before.p[same] == name.p[same])
                same++;
            ts_buf_char(&blk->raw, (char)(uint8_t)same);
            put_varint(&lens, name.n - same);
            ts_buf_append(&tails, name.p + same, name.n - same);
            before = name;
        }
    }
    ts_buf_slice(&blk->raw, ts_buf_get(&lens));
    ts_buf_slice(&blk->raw, ts_buf_get(&tails));
    blk->raw.failed |= lens.failed || tails.failed;
    ts_buf_release(&lens);
    ts_buf_release(&tails);
    blk->runs.n = blk->n = 0;
    return add_record(blk, STO_CATALOG_LOG_NAMES, err);
}

static int names(const struct sto_catalog *cat, enum sto_uid_kind kind, const struct sto_idruns *ids,
                 struct block *blk, struct ts_error *err)
{
    const struct sto_uidtab *t = &cat->uids[kind];
    size_t n_bytes = 0;
    for (size_t r = 0; r < ids->n; r++) {
        for (uint32_t i = 0; i < ids->runs[r].n; i++) {
            struct ts_slice name = sto_uidtab__name(t, ids->runs[r].first + i);
            if (!name.p)
                continue;
            sto_idruns__add(&blk->runs, ids->runs[r].first + i);
            n_bytes += name.n;
            if (++blk->n < STO_CATALOG_LOG_BLOCK_ITEMS && n_bytes < STO_CATALOG_LOG_BLOCK_BYTES)
                continue;
            TS_TRY(names_end(t, kind, blk, err));
            n_bytes = 0;
        }
    }
    return blk->n ? names_end(t, kind, blk, err) : 0;
}

/* --- series --- */

/* Shapes of a block: metric and keys in the order of the text, each represented by its first series. */
struct shapes {
    struct sto_idtab by_hash;        /* shape -> place in first */
    const struct sto_series **first; /* a series of each shape */
    uint32_t *n_series;              /* series of each shape */
    uint32_t n;                      /* shapes */
};

static uint32_t key_at(const struct sto_series *s, unsigned i)
{
    return s->tags[sto_seriestab__text_tag(s, i)].k;
}

static bool same_shape(const struct sto_series *a, const struct sto_series *b)
{
    if (a->metric != b->metric || a->n_tags != b->n_tags)
        return false;
    for (unsigned i = 0; i < a->n_tags; i++)
        if (key_at(a, i) != key_at(b, i))
            return false;
    return true;
}

/* Number of the shape of a series; a new number if the shape is new. */
static uint32_t shape_of(struct shapes *sh, const struct sto_series *s)
{
    uint64_t h = ts_hash_u64(s->metric);
    for (unsigned i = 0; i < s->n_tags; i++)
        h = ts_hash_u64(h ^ key_at(s, i));
    uint32_t i;
    for (struct sto_idtab_walk w = sto_idtab__walk(&sh->by_hash, (uint32_t)(h >> 32));
         sto_idtab__next(&w, &i);) {
        if (same_shape(sh->first[i], s)) {
            sh->n_series[i]++;
            return i;
        }
    }
    sh->first[sh->n] = s;
    sh->n_series[sh->n] = 1;
    sto_idtab__insert(&sh->by_hash, (uint32_t)(h >> 32), sh->n);
    return sh->n++;
}

/* Append a column of value ids, either unchanged or as differences, whichever takes fewer bytes. */
static void put_column(struct ts_buf *raw, const uint32_t *ids, size_t n)
{
    size_t plain = 0, delta = 0;
    for (size_t i = 0; i < n; i++) {
        plain += ts_varint_bytes(ids[i]);
        delta += ts_varint_bytes(ts_zigzag((int64_t)ids[i] - (int64_t)(i ? ids[i - 1] : 0)));
    }
    bool by_delta = delta < plain;
    uint8_t *p = (uint8_t *)ts_buf_reserve(raw, 1 + (by_delta ? delta : plain) + TS_VARINT_MAX_BYTES);
    if (!p)
        return;
    uint8_t *begin = p;
    *p++ = by_delta;
    for (size_t i = 0; i < n; i++)
        p = ts_put_varint(p, by_delta ? ts_zigzag((int64_t)ids[i] - (int64_t)(i ? ids[i - 1] : 0)) : ids[i]);
    raw->n += (size_t)(p - begin);
}

static void put_shapes(struct ts_buf *raw, const struct shapes *sh)
{
    put_varint(raw, sh->n);
    for (uint32_t i = 0; i < sh->n; i++) {
        put_varint(raw, sh->first[i]->metric);
        ts_buf_char(raw, (char)sh->first[i]->n_tags);
        for (unsigned t = 0; t < sh->first[i]->n_tags; t++)
            put_varint(raw, key_at(sh->first[i], t));
    }
}

/* Append the columns, shape by shape. by_shape: the series of the block in the order of shapes. */
static void put_values(struct ts_buf *raw, const struct shapes *sh, const struct sto_series *const *by_shape)
{
    uint32_t *ids = ts_xmalloc(STO_CATALOG_LOG_BLOCK_ITEMS * sizeof(*ids));
    for (uint32_t i = 0; i < sh->n; i++) {
        for (unsigned t = 0; t < sh->first[i]->n_tags; t++) {
            unsigned place = sto_seriestab__text_tag(sh->first[i], t);
            for (uint32_t k = 0; k < sh->n_series[i]; k++)
                ids[k] = by_shape[k]->tags[place].v;
            put_column(raw, ids, sh->n_series[i]);
        }
        by_shape += sh->n_series[i];
    }
    ts_free(ids);
}

static int series_end(const struct sto_series *const *all, struct block *blk, struct ts_error *err)
{
    struct shapes sh = {.first = ts_xmalloc(blk->n * sizeof(*sh.first)),
                        .n_series = ts_xmalloc(blk->n * sizeof(*sh.n_series))};
    uint32_t *shape_no = ts_xmalloc(blk->n * sizeof(*shape_no)), *at = ts_xmalloc(blk->n * sizeof(*at)),
             sum = 0;
    const struct sto_series **by_shape = ts_xmalloc(blk->n * sizeof(*by_shape));
    for (uint32_t i = 0; i < blk->n; i++)
        shape_no[i] = shape_of(&sh, all[i]);
    for (uint32_t i = 0; i < sh.n; i++) {
        at[i] = sum;
        sum += sh.n_series[i];
    }
    for (uint32_t i = 0; i < blk->n; i++)
        by_shape[at[shape_no[i]]++] = all[i];

    ts_buf_clear(&blk->raw);
    put_runs(&blk->raw, &blk->runs);
    put_shapes(&blk->raw, &sh);
    for (uint32_t i = 0; sh.n > 1 && i < blk->n; i++)
        put_varint(&blk->raw, shape_no[i]);
    put_values(&blk->raw, &sh, by_shape);
    blk->runs.n = blk->n = 0;
    ts_free(by_shape);
    ts_free(at);
    ts_free(shape_no);
    ts_free(sh.n_series);
    ts_free(sh.first);
    sto_idtab__release(&sh.by_hash);
    return add_record(blk, STO_CATALOG_LOG_SERIES, err);
}

static int series(const struct sto_catalog *cat, const struct sto_idruns *ids, struct block *blk,
                  struct ts_error *err)
{
    const struct sto_series **all = ts_xmalloc(STO_CATALOG_LOG_BLOCK_ITEMS * sizeof(*all));
    size_t n_cells = 0;
    int rc = 0;
    for (size_t r = 0; r < ids->n && rc == 0; r++) {
        for (uint32_t i = 0; i < ids->runs[r].n && rc == 0; i++) {
            const struct sto_series *s = sto_seriestab__get(&cat->series, ids->runs[r].first + i);
            if (!s)
                continue;
            sto_idruns__add(&blk->runs, s->id);
            all[blk->n++] = s;
            n_cells += s->n_tags;
            if (blk->n < STO_CATALOG_LOG_BLOCK_ITEMS && n_cells < STO_CATALOG_LOG_BLOCK_CELLS)
                continue;
            rc = series_end(all, blk, err);
            n_cells = 0;
        }
    }
    if (rc == 0 && blk->n)
        rc = series_end(all, blk, err);
    ts_free(all);
    return rc;
}

/* --- ids alone --- */

/* Add the collected ids as a record of this type. */
static int ids_end(struct block *blk, enum sto_catalog_log_type type, unsigned kind, struct ts_error *err)
{
    ts_buf_clear(&blk->raw);
    ts_buf_char(&blk->raw, (char)kind);
    put_runs(&blk->raw, &blk->runs);
    blk->runs.n = blk->n = 0;
    return add_record(blk, type, err);
}

/* Names that people have assigned. */
static int assigned(const struct sto_idruns *ids, unsigned kind, struct block *blk, struct ts_error *err)
{
    for (size_t r = 0; r < ids->n; r++) {
        for (uint32_t i = 0; i < ids->runs[r].n; i++) {
            sto_idruns__add(&blk->runs, ids->runs[r].first + i);
            if (++blk->n == STO_CATALOG_LOG_BLOCK_ITEMS)
                TS_TRY(ids_end(blk, STO_CATALOG_LOG_ASSIGNED, kind, err));
        }
    }
    return blk->n ? ids_end(blk, STO_CATALOG_LOG_ASSIGNED, kind, err) : 0;
}

int sto_catalog_log__items(const struct sto_catalog *cat, const struct sto_catalog_log_items *items,
                           int level, struct sto_reclog *log, struct ts_error *err)
{
    struct block blk = {.log = log, .level = level};
    int rc = 0;
    for (int kind = 0; kind < STO_UID_KINDS && rc == 0; kind++)
        rc = names(cat, (enum sto_uid_kind)kind, &items->names[kind], &blk, err);
    if (rc == 0)
        rc = series(cat, &items->series, &blk, err);
    for (unsigned kind = 0; kind < STO_UID_KINDS && rc == 0; kind++)
        rc = assigned(&items->assigned[kind], kind, &blk, err);
    if (rc == 0 && items->mark_assigned) /* last: a crash must not leave it without the names before it */
        rc = ids_end(&blk, STO_CATALOG_LOG_ASSIGNED, 0, err);
    ts_buf_release(&blk.raw);
    ts_buf_release(&blk.body);
    sto_idruns__release(&blk.runs);
    return rc;
}

static uint64_t count(const struct sto_idruns *runs)
{
    uint64_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        n += runs->runs[i].n;
    return n;
}

int sto_catalog_log__sizes(const struct sto_catalog_log_items *items, struct sto_reclog *log,
                           struct ts_error *err)
{
    struct block blk = {.log = log, .level = STO_CATALOG_LOG_LEVEL_APPEND};
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        put_varint(&blk.raw, count(&items->names[kind]));
    put_varint(&blk.raw, count(&items->series));
    int rc = add_record(&blk, STO_CATALOG_LOG_SIZES, err);
    ts_buf_release(&blk.raw);
    ts_buf_release(&blk.body);
    return rc;
}

int sto_catalog_log__rename(struct sto_reclog *log, enum sto_uid_kind kind, const struct sto_uid_change *v,
                            size_t n, bool back, struct ts_error *err)
{
    struct block blk = {.log = log, .level = STO_CATALOG_LOG_LEVEL_APPEND};
    bool several = n > 1; /* one by itself has the record that older programs know */
    ts_buf_char(&blk.raw, (char)kind);
    if (several)
        put_varint(&blk.raw, n);
    for (size_t i = 0; i < n; i++) {
        struct ts_slice name = back ? v[i].from : v[i].to;
        put_varint(&blk.raw, v[i].id);
        if (several)
            put_varint(&blk.raw, name.n);
        ts_buf_slice(&blk.raw, name);
    }
    int rc = blk.raw.n > STO_CATALOG_LOG_MAX_RAW_BYTES
                 ? ts_error_set(err, TS_ELIMIT, "%zu names are too long to be renamed together", n)
                 : add_record(&blk, several ? STO_CATALOG_LOG_RENAMES : STO_CATALOG_LOG_RENAME, err);
    ts_buf_release(&blk.raw);
    ts_buf_release(&blk.body);
    return rc;
}

int sto_catalog_log__gone(struct sto_reclog *log, unsigned kind, const roaring_bitmap_t *ids,
                          struct ts_error *err)
{
    struct block blk = {.log = log, .level = STO_CATALOG_LOG_LEVEL_APPEND};
    roaring_uint32_iterator_t it;
    int rc = 0;
    for (roaring_init_iterator(ids, &it); it.has_value && rc == 0; roaring_advance_uint32_iterator(&it)) {
        sto_idruns__add(&blk.runs, it.current_value);
        if (++blk.n == STO_CATALOG_LOG_BLOCK_ITEMS)
            rc = ids_end(&blk, STO_CATALOG_LOG_GONE, kind, err);
    }
    if (rc == 0 && blk.n)
        rc = ids_end(&blk, STO_CATALOG_LOG_GONE, kind, err);
    ts_buf_release(&blk.raw);
    ts_buf_release(&blk.body);
    sto_idruns__release(&blk.runs);
    return rc;
}

void sto_catalog_log__release_items(struct sto_catalog_log_items *items)
{
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        sto_idruns__release(&items->names[kind]);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        sto_idruns__release(&items->assigned[kind]);
    sto_idruns__release(&items->series);
}
