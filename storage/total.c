/*
 * total.c - declared totals, as small cells: the key has the names, the value the number.
 *
 *   total/web.hits LF domain   ->  "1"
 *
 * Threads    total.h
 */
#include "storage/total.h"

#include "base/mem.h"
#include "base/num.h"
#include "storage/cells.h"
#include "storage/engine/engine.h"
#include "storage/engine/total_read.h"
#include "storage/internal.h"
#include "storage/store_int.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX     "total/"
#define NEXT_KEY   "totals.last" /* counter: the number given away last */
#define NAME_BYTES 4096u         /* longest name */

/* A declared total, read from its cell. */
struct declared {
    struct sto_total_row row; /* texts are parts of key */
    char *key;                /* owned */
};

struct list {
    struct declared at[STO_TOTALS_MAX];
    size_t n;
};

/* --- reading --- */

static bool decode(struct declared *d, struct ts_slice key, struct ts_slice value)
{
    int64_t no;
    struct ts_slice rest = {key.p + sizeof PREFIX - 1, key.n - (sizeof PREFIX - 1)};
    size_t n = 0;
    d->row = (struct sto_total_row){0};
    if (ts_num_parse_int(value, &no, NULL) < 0 || no < 1 || no > UINT32_MAX)
        return false;
    d->row.no = (uint32_t)no;
    for (bool more = true; more; n++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct ts_slice name = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
        more = end != NULL;
        if (!name.n || n > STO_TOTAL_KEYS)
            return false;
        if (n)
            d->row.over[n - 1] = name;
        else
            d->row.metric = name;
        rest.p += name.n + more;
        rest.n -= name.n + more;
    }
    d->row.n_over = n - 1;
    return n > 1;
}

static bool on_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct list *l = arg;
    struct declared *d = &l->at[l->n];
    d->key = ts_xmalloc(key.n + 1);
    memcpy(d->key, key.p, key.n);
    if (decode(d, (struct ts_slice){d->key, key.n}, value))
        l->n++;
    else
        ts_free(d->key);
    return l->n < STO_TOTALS_MAX;
}

static int cmp_no(const void *pa, const void *pb)
{
    const struct declared *a = pa, *b = pb;
    return a->row.no < b->row.no ? -1 : a->row.no > b->row.no;
}

static void list_read(struct sto_store *st, struct list *l)
{
    l->n = 0;
    sto_cellmap_each(st->cells, (struct ts_slice)TS_SLICE_LIT(PREFIX), on_cell, l);
    qsort(l->at, l->n, sizeof l->at[0], cmp_no);
}

static void list_release(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        ts_free(l->at[i].key);
}

static int cmp_id(const void *pa, const void *pb)
{
    const uint32_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* The ids of the names of a declaration; false: one is not known. */
static bool resolve(struct sto_store *st, const struct sto_total_row *row, struct sto_total_ids *out)
{
    bool known = sto_uid_find(st->catalog, STO_UID_METRIC, row->metric, &out->metric) == 0;
    for (size_t i = 0; known && i < row->n_over; i++)
        known = sto_uid_find(st->catalog, STO_UID_TAGK, row->over[i], &out->over[i]) == 0;
    out->no = row->no;
    out->n_over = (uint32_t)row->n_over;
    if (known)
        qsort(out->over, out->n_over, sizeof out->over[0], cmp_id);
    return known;
}

size_t sto_total_list(struct sto_store *st, struct sto_total_ids *out)
{
    struct list l;
    size_t n = 0;
    list_read(st, &l);
    for (size_t i = 0; i < l.n; i++)
        n += resolve(st, &l.at[i].row, &out[n]);
    list_release(&l);
    return n;
}

void sto_total_each(struct sto_store *st, sto_total_row_fn each, void *arg)
{
    struct list l;
    struct sto_total_ids ids[STO_TOTALS_MAX] = {{0}};
    struct sto_total_state states[STO_TOTALS_MAX];
    list_read(st, &l);
    for (size_t i = 0; i < l.n; i++)
        l.at[i].row.known = resolve(st, &l.at[i].row, &ids[i]);
    sto_engine_totals(st->engine, ids, l.n, states);
    for (size_t i = 0; i < l.n; i++) {
        l.at[i].row.state = l.at[i].row.known ? states[i] : (struct sto_total_state){0};
        each(arg, &l.at[i].row);
    }
    list_release(&l);
}

/* --- changing --- */

static int check_name(struct ts_slice name, const char *what, struct ts_error *err)
{
    size_t i = 0;
    while (i < name.n && (unsigned char)name.p[i] > ' ')
        i++;
    if (name.n == 0)
        return ts_error_set(err, TS_EINVAL, "the name of a %s is empty", what);
    if (i < name.n || name.n > NAME_BYTES)
        return ts_error_set(err, TS_EINVAL, "'%.*s' cannot be the name of a %s", (int)ts_utf8_cut(name, 80).n,
                            name.p, what);
    return 0;
}

static int cmp_slice(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

/* The key of the cell of a declaration. */
static int make_key(struct ts_slice metric, const struct ts_slice *over, size_t n, struct ts_buf *out,
                    struct ts_error *err)
{
    struct ts_slice keys[STO_TOTAL_KEYS];
    struct sto_internal internal;
    TS_TRY(check_name(metric, "metric", err));
    if (sto_internal_parse(metric, &internal))
        return ts_error_set(err, TS_EINVAL, "rollups and histograms have no kept totals");
    if (n == 0 || n > STO_TOTAL_KEYS)
        return ts_error_set(err, TS_EINVAL, "a total is over 1 to %u keys of tags, not %zu", STO_TOTAL_KEYS,
                            n);
    for (size_t i = 0; i < n; i++) {
        TS_TRY(check_name(over[i], "key of tags", err));
        keys[i] = over[i];
    }
    qsort(keys, n, sizeof keys[0], cmp_slice);
    ts_buf_str(out, PREFIX);
    ts_buf_slice(out, metric);
    for (size_t i = 0; i < n; i++) {
        if (i && ts_slice_eq(keys[i - 1], keys[i]))
            return ts_error_set(err, TS_EINVAL, "the key %.*s is named twice", (int)keys[i].n, keys[i].p);
        ts_buf_char(out, '\n');
        ts_buf_slice(out, keys[i]);
    }
    return out->failed ? ts_error_set(err, TS_ENOMEM, "no memory for a total") : 0;
}

int sto_total_names_check(struct ts_slice metric, const struct ts_slice *over, size_t n, struct ts_error *err)
{
    struct ts_buf key;
    ts_buf_init(&key, 0);
    int rc = make_key(metric, over, n, &key, err);
    ts_buf_release(&key);
    return rc;
}

static int add(struct sto_store *st, struct ts_slice key, uint32_t *out_no, struct ts_error *err)
{
    struct list l;
    int64_t no;
    struct ts_buf value;
    list_read(st, &l);
    size_t n = l.n;
    list_release(&l);
    if (n >= STO_TOTALS_MAX)
        return ts_error_set(err, TS_ELIMIT, "there are %u kept totals, which is the most; remove one first",
                            STO_TOTALS_MAX);
    ts_buf_init(&value, 0);
    TS_TRY(sto_cellmap_incr(st->cells, (struct ts_slice)TS_SLICE_LIT(NEXT_KEY), 1, &no, err));
    ts_buf_printf(&value, "%lld", (long long)no);
    int rc = sto_cellmap_cas(st->cells, key, (struct ts_slice){NULL, 0}, ts_buf_get(&value), false, err);
    ts_buf_release(&value);
    TS_TRY(rc);
    if (out_no)
        *out_no = (uint32_t)no;
    sto_engine_look_soon(st->engine);
    return 0;
}

/* An error about a total: "the total of METRIC over KEY,KEY WHAT". */
static int refuse(struct ts_slice metric, const struct ts_slice *over, size_t n, int code, const char *what,
                  struct ts_error *err)
{
    struct ts_buf keys;
    ts_buf_init(&keys, 0);
    for (size_t i = 0; i < n; i++) {
        ts_buf_str(&keys, i ? "," : "");
        ts_buf_slice(&keys, over[i]);
    }
    struct ts_slice name = ts_utf8_cut(metric, 80), list = ts_utf8_cut(ts_buf_get(&keys), 80);
    (void)ts_error_set(err, code, "the total of %.*s over %.*s %s", (int)name.n, name.p, (int)list.n, list.p,
                       what);
    ts_buf_release(&keys);
    return code;
}

int sto_total_add(struct sto_store *st, struct ts_slice metric, const struct ts_slice *over, size_t n,
                  uint32_t *out_no, struct ts_error *err)
{
    struct ts_buf key, was;
    ts_buf_init(&key, 0);
    ts_buf_init(&was, 0);
    int rc = make_key(metric, over, n, &key, err);
    if (rc == 0 && sto_cellmap_get(st->cells, ts_buf_get(&key), &was) == 0)
        rc = TS_EEXIST;
    if (rc == 0)
        rc = add(st, ts_buf_get(&key), out_no, err);
    if (rc == TS_EEXIST)
        (void)refuse(metric, over, n, rc, "is kept already", err);
    ts_buf_release(&key);
    ts_buf_release(&was);
    return rc;
}

int sto_total_remove(struct sto_store *st, struct ts_slice metric, const struct ts_slice *over, size_t n,
                     struct ts_error *err)
{
    struct ts_buf key, was;
    ts_buf_init(&key, 0);
    ts_buf_init(&was, 0);
    int rc = make_key(metric, over, n, &key, err);
    if (rc == 0 && sto_cellmap_get(st->cells, ts_buf_get(&key), &was) < 0)
        rc = refuse(metric, over, n, TS_ENOTFOUND, "is not kept; tsd total list shows those that are", err);
    if (rc == 0)
        rc = sto_cellmap_put(st->cells, ts_buf_get(&key), (struct ts_slice){NULL, 0}, false, err);
    if (rc == 0)
        sto_engine_look_soon(st->engine);
    ts_buf_release(&key);
    ts_buf_release(&was);
    return rc;
}

/* --- scans --- */

size_t sto_snap_totals(const struct sto_snap *snap, struct sto_total_ids *out)
{
    return sto_engine_declared(snap->e, out);
}

int sto_total_scan_new(struct sto_snap *snap, const struct sto_total_spec *spec, struct sto_total_scan **out,
                       struct ts_error *err)
{
    int64_t from_ms = snap->from_ms, complete_ms = sto_snap_complete_from(snap);
    bool by_series = sto_keep_by_series(snap->keep);
    for (size_t i = 0; by_series && i < spec->n_series; i++) {
        int64_t kept_ms = sto_keep_from_ms(snap->keep, spec->series[i]->id, snap->now_ms);
        from_ms = kept_ms > from_ms ? kept_ms : from_ms;
    }
    return sto_version_total_scan(snap->v, snap->floors, complete_ms > from_ms ? complete_ms : from_ms, spec,
                                  out, err);
}
