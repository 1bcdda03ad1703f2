/*
 * catalog_log_read.c - apply the records of the catalog's log to the catalog.
 *
 * The checksum of the log has been verified, yet every length and id is checked before use.
 *
 * Format     docs/FORMAT.md "Catalog"
 * Threads    while the catalog is opened; no other thread uses it
 * Not here   writing (catalog_log_write.c)
 */
#include <zstd.h>

#include "base/bytes.h"
#include "storage/catalog/catalog_int.h"
#include "storage/catalog/catalog_log.h"

#define AHEAD    8u          /* memory is prefetched for that many items ahead */
#define MAX_HINT (32u << 20) /* most entries that the log can reserve: 400 MB of untouched pages */

/* Bytes being read. p is NULL after reading past the end, which is checked once for each block. */
struct in {
    const uint8_t *p, *end;
};

static int damaged(struct ts_error *err, const char *what)
{
    return ts_error_set(err, TS_ECORRUPT, "catalog: %s", what);
}

/* Reserve the slot of a number. Even a file with correct checksums may contain a number that needs
 * gigabytes. */
static int room_for(struct sto_dense *d, uint32_t id, struct ts_error *err)
{
    return sto_dense__reserve(d, id) ? 0 : ts_error_set(err, TS_ENOMEM, "catalog: no memory for id %u", id);
}

static uint64_t get_varint(struct in *in)
{
    uint64_t v = 0;
    if (in->p)
        in->p = ts_get_varint(in->p, in->end, &v);
    return in->p ? v : 0;
}

/* A varint of at most 32 bits. */
static uint32_t get_u32(struct in *in)
{
    uint64_t v = get_varint(in);
    if (v > UINT32_MAX)
        in->p = NULL;
    return in->p ? (uint32_t)v : 0;
}

static uint8_t get_u8(struct in *in)
{
    if (!in->p || in->p == in->end)
        in->p = NULL;
    return in->p ? *in->p++ : 0;
}

static size_t left(const struct in *in)
{
    return in->p ? (size_t)(in->end - in->p) : 0;
}

/* Expand the ids of a block; the caller frees them. NULL: *rc has the error. */
static uint32_t *get_ids(struct in *in, uint32_t *out_n, int *rc, struct ts_error *err)
{
    uint64_t n_runs = get_varint(in), at = 0;
    uint32_t n = 0, *ids = NULL;
    *rc = 0;
    if (!in->p || n_runs == 0 || n_runs > STO_CATALOG_LOG_BLOCK_ITEMS)
        goto bad;
    ids = ts_xmalloc(STO_CATALOG_LOG_BLOCK_ITEMS * sizeof(*ids));
    for (uint64_t r = 0; r < n_runs; r++) {
        uint64_t first = at + get_u32(in), len = get_u32(in);
        at = first + len;
        if (!in->p || len == 0 || len > STO_CATALOG_LOG_BLOCK_ITEMS - n || at > UINT32_MAX)
            goto bad;
        for (uint64_t id = first; id < at; id++)
            ids[n++] = (uint32_t)id;
    }
    *out_n = n;
    return ids;
bad:
    ts_free(ids);
    *rc = damaged(err, "ids of a block are out of range");
    return NULL;
}

/* --- names --- */

/* Put n interned names into the table. */
static int put_names(struct sto_uidtab *t, const uint32_t *ids, const void *const *names, uint32_t n,
                     struct ts_error *err)
{
    uint32_t *hashes = ts_xmalloc(n * sizeof(*hashes));
    int rc = 0;
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = sto_uidtab__hash(sto_uidtab__slice(names[i]));
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (i + AHEAD < n)
            sto_idtab__prefetch(&t->by_name, hashes[i + AHEAD]);
        uint32_t known = sto_uidtab__find(t, sto_uidtab__slice(names[i]), hashes[i]);
        if (known && known != ids[i])
            rc = damaged(err, "one name has two ids");
        else if (!sto_uidtab__name(t, ids[i])
                      .p && /* a block may occur twice: the first one and its renames count */
                 (rc = room_for(&t->names, ids[i], err)) == 0)
            sto_uidtab__put(t, ids[i], names[i], hashes[i]);
    }
    ts_free(hashes);
    return rc;
}

/* Decode the names of a block: length of the prefix shared with the previous name, length of the rest, and
 * the rest. */
static int get_names(struct sto_uidtab *t, struct in *in, const void **names, uint32_t n,
                     struct ts_error *err)
{
    if (left(in) < n)
        return damaged(err, "block of names is truncated");
    const uint8_t *same = in->p;
    struct in lens = {in->p + n, in->end}, tails = lens;
    for (uint32_t i = 0; i < n; i++)
        (void)get_u32(&tails); /* the remaining parts of the names follow the lengths */
    char *name = ts_xmalloc(STO_UID_MAX_NAME_BYTES);
    size_t n_before = 0;
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rest = get_u32(&lens);
        size_t n_name = (size_t)same[i] + rest;
        if (!lens.p || rest > left(&tails) || same[i] > n_before || n_name == 0 ||
            n_name > STO_UID_MAX_NAME_BYTES) {
            rc = damaged(err, "length of a name is out of range");
            break;
        }
        memcpy(name + same[i], tails.p, rest);
        tails.p += rest;
        n_before = n_name;
        names[i] = sto_uidtab__intern(t, (struct ts_slice){name, n_name});
    }
    ts_free(name);
    return rc;
}

static int replay_names(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    uint8_t kind = get_u8(in);
    uint32_t n;
    int rc;
    if (kind >= STO_UID_KINDS)
        return damaged(err, "names of an unknown kind");
    uint32_t *ids = get_ids(in, &n, &rc, err);
    if (!ids)
        return rc;
    if (ids[0] == 0 || ids[n - 1] > STO_UID_MAX_ID) {
        ts_free(ids);
        return damaged(err, "id of a name is out of range");
    }
    const void **names = ts_xmalloc(n * sizeof(*names));
    rc = get_names(&cat->uids[kind], in, names, n, err);
    if (rc == 0)
        rc = put_names(&cat->uids[kind], ids, names, n, err);
    ts_free(names);
    ts_free(ids);
    return rc;
}

/* One rename; all: its name is the rest of the payload, else its length stands before it. */
static int replay_one(struct sto_catalog *cat, uint8_t kind, bool all, struct in *in, struct ts_error *err)
{
    uint32_t id = get_u32(in);
    uint64_t n = all ? left(in) : get_varint(in);
    struct ts_slice name = {(const char *)in->p, (size_t)n};
    if (!in->p || n > left(in) || kind >= STO_UID_KINDS || name.n == 0 || name.n > STO_UID_MAX_NAME_BYTES)
        return damaged(err, "malformed rename");
    struct sto_uidtab *t = &cat->uids[kind];
    uint32_t other = sto_uidtab__find(t, name, sto_uidtab__hash(name));
    if (!sto_uidtab__name(t, id).p || (other && other != id))
        return damaged(err, "rename of an unknown id, or to a name that is in use");
    if (!other) {
        sto_uidtab__rename(t, id, name);
        sto_catalog__renamed(cat);
    }
    in->p += n;
    return 0;
}

static int replay_rename(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    uint8_t kind = get_u8(in);
    return replay_one(cat, kind, true, in, err);
}

static int replay_renames(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    uint8_t kind = get_u8(in);
    uint64_t n = get_varint(in);
    if (n < 2)
        return damaged(err, "malformed renames");
    for (uint64_t i = 0; i < n; i++)
        TS_TRY(replay_one(cat, kind, false, in, err));
    return left(in) ? damaged(err, "malformed renames") : 0;
}

/* --- series --- */

/* The common part of all series of a shape. */
struct shape {
    uint32_t metric;     /* id */
    uint8_t n_tags;      /* tags */
    uint32_t n;          /* series */
    uint32_t first;      /* place of its first series in the block, sorted by shape */
    const uint8_t *keys; /* varints of the keys, checked */
};

/* A block of series that is being applied. */
struct series_block {
    uint32_t *ids;        /* numbers */
    uint32_t n;           /* series */
    struct shape *shapes; /* all shapes */
    uint32_t n_shapes;    /* number of shapes */
    uint32_t *by_shape;   /* numbers in the order of shapes */
};

static int get_shapes(struct series_block *b, struct in *in, struct ts_error *err)
{
    b->n_shapes = get_u32(in);
    if (!in->p || b->n_shapes == 0 || b->n_shapes > b->n)
        return damaged(err, "number of shapes is out of range");
    b->shapes = ts_xcalloc(b->n_shapes, sizeof(*b->shapes));
    for (uint32_t i = 0; i < b->n_shapes; i++) {
        struct shape *sh = &b->shapes[i];
        sh->metric = get_u32(in);
        sh->n_tags = get_u8(in);
        sh->keys = in->p;
        for (unsigned t = 0; t < sh->n_tags; t++)
            (void)get_u32(in);
        if (!in->p || sh->n_tags == 0)
            return damaged(err, "shape makes no sense");
    }
    return 0;
}

/* Read which shape each series has, and sort the numbers by shape. */
static int get_shape_numbers(struct series_block *b, struct in *in, struct ts_error *err)
{
    b->by_shape = ts_xmalloc(b->n * sizeof(*b->by_shape));
    uint32_t *no = ts_xcalloc(b->n, sizeof(*no)), sum = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        no[i] = b->n_shapes > 1 ? get_u32(in) : 0;
        if (!in->p || no[i] >= b->n_shapes) {
            ts_free(no);
            return damaged(err, "shape of a series is out of range");
        }
        b->shapes[no[i]].n++;
    }
    for (uint32_t i = 0; i < b->n_shapes; i++) {
        b->shapes[i].first = sum;
        sum += b->shapes[i].n;
        b->shapes[i].n = 0;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        struct shape *sh = &b->shapes[no[i]];
        b->by_shape[sh->first + sh->n++] = b->ids[i];
    }
    ts_free(no);
    return 0;
}

static int get_column(struct in *in, uint32_t *out, uint32_t n, struct ts_error *err)
{
    uint8_t by_delta = get_u8(in);
    int64_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = get_varint(in);
        before = by_delta ? (int64_t)((uint64_t)before + (uint64_t)ts_unzigzag(v)) : (int64_t)v;
        if (before < 0 || before > UINT32_MAX)
            in->p = NULL;
        out[i] = (uint32_t)before;
    }
    return in->p && by_delta <= 1 ? 0 : damaged(err, "value ids are out of range");
}

/* Ids and names of the next series of a shape; names must be known. */
static int fill_draft(const struct sto_catalog *cat, struct sto_series_draft *draft, struct sto_tag *tags,
                      struct sto_tag_text *texts, const uint32_t *values, uint32_t stride,
                      struct ts_error *err)
{
    for (size_t t = 0; t < draft->n_tags; t++) {
        tags[t].v = values[t * stride];
        texts[t].v = sto_uidtab__name(&cat->uids[STO_UID_TAGV], tags[t].v);
        if (!texts[t].v.p)
            return damaged(err, "series with a tag value that has no name");
    }
    return 0;
}

/* Publish the series created for one shape and add them to the sets. */
static int put_series(struct sto_catalog *cat, struct sto_series **made, uint32_t n, struct ts_error *err)
{
    uint64_t *hashes = ts_xmalloc(n * sizeof(*hashes));
    uint32_t n_new = 0;
    int rc = 0;
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = sto_seriestab__hash(made[i]->metric, made[i]->tags, made[i]->n_tags);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (i + AHEAD < n)
            sto_idtab__prefetch(&cat->series.by_ids, (uint32_t)(hashes[i + AHEAD] >> 32));
        struct sto_series *s = made[i];
        const struct sto_series *known = sto_seriestab__get(&cat->series, s->id);
        const struct sto_series *same =
            sto_seriestab__find(&cat->series, hashes[i], s->metric, s->tags, s->n_tags);
        if (known != same)
            rc = damaged(err, "one series has two numbers, or one number two series");
        else if (!known &&
                 (rc = room_for(&cat->series.by_id, s->id, err)) == 0) { /* a block may occur twice */
            sto_seriestab__put(&cat->series, s, hashes[i]);
            made[n_new++] = s;
        }
    }
    sto_tagindex__add_many(&cat->index, (const struct sto_series *const *)made, n_new);
    ts_free(hashes);
    return rc;
}

static int replay_shape(struct sto_catalog *cat, const struct series_block *b, const struct shape *sh,
                        struct in *in, struct ts_error *err)
{
    struct sto_tag tags[STO_SERIES_MAX_TAGS];
    struct sto_tag_text texts[STO_SERIES_MAX_TAGS];
    struct sto_series_draft draft = {
        .metric = sh->metric, .tags = tags, .n_tags = sh->n_tags, .texts = texts};
    draft.metric_name = sto_uidtab__name(&cat->uids[STO_UID_METRIC], sh->metric);
    struct in keys = {sh->keys, in->end};
    for (unsigned t = 0; t < sh->n_tags; t++) {
        tags[t].k = get_u32(&keys);
        texts[t].k = sto_uidtab__name(&cat->uids[STO_UID_TAGK], tags[t].k);
        for (unsigned u = 0; u < t; u++)
            if (tags[u].k == tags[t].k)
                return damaged(err, "series with a key twice");
        if (!texts[t].k.p)
            return damaged(err, "series with a tag key that has no name");
    }
    if (!draft.metric_name.p)
        return damaged(err, "series with a metric that has no name");
    if ((uint64_t)sh->n_tags * sh->n > left(in)) /* each value takes at least one byte */
        return damaged(err, "block of series is truncated");
    uint32_t *values = ts_try_malloc((size_t)sh->n_tags * sh->n * sizeof(*values) + 1);
    struct sto_series **made = ts_try_malloc(sh->n * sizeof(struct sto_series *) + 1);
    int rc = values && made ? 0 : ts_error_set(err, TS_ENOMEM, "no memory for a block of series");
    for (unsigned t = 0; t < sh->n_tags && rc == 0; t++)
        rc = get_column(in, values + (size_t)t * sh->n, sh->n, err);
    for (uint32_t i = 0; i < sh->n && rc == 0; i++) {
        draft.id = b->by_shape[sh->first + i];
        rc = fill_draft(cat, &draft, tags, texts, values + i, sh->n, err);
        if (rc == 0)
            made[i] = sto_seriestab__make(&cat->series, &draft);
    }
    if (rc == 0)
        rc = put_series(cat, made, sh->n, err);
    ts_free(values);
    ts_free(made);
    return rc;
}

static int replay_series(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    struct series_block b = {0};
    int rc;
    b.ids = get_ids(in, &b.n, &rc, err);
    if (!b.ids)
        return rc;
    rc = get_shapes(&b, in, err);
    if (rc == 0)
        rc = get_shape_numbers(&b, in, err);
    for (uint32_t i = 0; i < b.n_shapes && rc == 0; i++)
        rc = replay_shape(cat, &b, &b.shapes[i], in, err);
    ts_free(b.ids);
    ts_free(b.shapes);
    ts_free(b.by_shape);
    return rc;
}

/* --- records --- */

/* Allocate the tables once in their final size. The sizes are only a hint: excessive ones are reduced. */
static int replay_sizes(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    uint64_t n[STO_UID_KINDS + 1];
    for (int i = 0; i <= STO_UID_KINDS; i++) {
        n[i] = get_varint(in);
        if (!in->p)
            return damaged(err, "sizes make no sense");
        if (n[i] > MAX_HINT)
            n[i] = MAX_HINT;
    }
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        sto_idtab__reserve(&cat->uids[kind].by_name, n[kind]);
    sto_idtab__reserve(&cat->series.by_ids, n[STO_UID_KINDS]);
    return 0;
}

static int replay_gone(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    uint8_t kind = get_u8(in);
    uint32_t n;
    int rc;
    if (kind > STO_CATALOG_LOG_GONE_SERIES)
        return ts_error_set(err, TS_EVERSION, "catalog: forgotten names of kind %u are from a newer program",
                            kind);
    uint32_t *ids = get_ids(in, &n, &rc, err);
    if (!ids)
        return rc;
    if (kind == STO_CATALOG_LOG_GONE_SERIES) {
        for (uint32_t i = 0; i < n; i++)
            sto_catalog__replay_gone(cat, ids[i]);
        sto_seriestab__trim(&cat->series);
    } else if (ids[0] == 0 || ids[n - 1] > STO_UID_MAX_ID) {
        rc = damaged(err, "id of a forgotten name is out of range");
    } else {
        sto_catalog__replay_gone_names(cat, (enum sto_uid_kind)kind, ids, n);
    }
    ts_free(ids);
    return rc;
}

/* Ids of names that people have assigned. One that has no name has no effect. The record without ids, which
 * follows those of all names of an old log, shows that the log has all assigned names. */
static int replay_assigned(struct sto_catalog *cat, struct in *in, struct ts_error *err)
{
    uint8_t kind = get_u8(in);
    struct in none = *in;
    uint32_t n;
    int rc;
    if (kind >= STO_UID_KINDS)
        return damaged(err, "assigned names of an unknown kind");
    if (get_varint(&none) == 0 && none.p) {
        cat->knows_assigned = true;
        return 0;
    }
    uint32_t *ids = get_ids(in, &n, &rc, err);
    for (uint32_t i = 0; ids && i < n; i++)
        if (sto_uidtab__name(&cat->uids[kind], ids[i]).p)
            (void)sto_uidtab__assign(&cat->uids[kind], ids[i]);
    ts_free(ids);
    return rc;
}

static int replay_raw(struct sto_catalog *cat, uint8_t type, struct ts_slice raw, struct ts_error *err)
{
    struct in in = {(const uint8_t *)raw.p, (const uint8_t *)raw.p + raw.n};
    switch (type) {
    case STO_CATALOG_LOG_SIZES:
        return replay_sizes(cat, &in, err);
    case STO_CATALOG_LOG_NAMES:
        return replay_names(cat, &in, err);
    case STO_CATALOG_LOG_SERIES:
        return replay_series(cat, &in, err);
    case STO_CATALOG_LOG_RENAME:
        return replay_rename(cat, &in, err);
    case STO_CATALOG_LOG_RENAMES:
        return replay_renames(cat, &in, err);
    case STO_CATALOG_LOG_GONE:
        return replay_gone(cat, &in, err);
    case STO_CATALOG_LOG_ASSIGNED:
        return replay_assigned(cat, &in, err);
    default:
        return ts_error_set(err, TS_EVERSION, "catalog: record of type %u is from a newer program", type);
    }
}

int sto_catalog_log__replay(void *arg, struct ts_slice body, struct ts_error *err)
{
    struct in in = {(const uint8_t *)body.p, (const uint8_t *)body.p + body.n};
    uint8_t type = get_u8(&in), flags = get_u8(&in);
    uint64_t n_raw = get_varint(&in);
    if (!in.p || n_raw > STO_CATALOG_LOG_MAX_RAW_BYTES)
        return damaged(err, "malformed head of a record");
    if (flags & ~STO_CATALOG_LOG_FLAG_ZSTD)
        return ts_error_set(err, TS_EVERSION, "catalog: record with flags %u is from a newer program", flags);
    struct ts_slice raw = {(const char *)in.p, left(&in)};
    if (!flags)
        return raw.n == n_raw ? replay_raw(arg, type, raw, err)
                              : damaged(err, "length of a record is out of range");
    char *p = ts_try_malloc((size_t)n_raw + 1);
    if (!p)
        return ts_error_set(err, TS_ENOMEM, "no memory for a block of the catalog");
    size_t n = ZSTD_decompress(p, (size_t)n_raw, raw.p, raw.n);
    int rc = ZSTD_isError(n) || n != n_raw ? damaged(err, "a record cannot be decompressed")
                                           : replay_raw(arg, type, (struct ts_slice){p, n}, err);
    ts_free(p);
    return rc;
}
