/*
 * manifest_format.c - fields of the manifest's records.
 *
 * Format     docs/FORMAT.md "Manifest"
 */
#include "storage/engine/manifest_format.h"

#include "base/bytes.h"
#include "base/mem.h"

#define FILE_MIN_BYTES 12u /* least size of a file in a record: twelve varints, thirteen from version 2 on */

#define LIST_MIN_BYTES 2u /* least size of hours in a list: two varints, ship marks three */

void sto_manifest__put_u64(struct ts_buf *b, uint64_t v)
{
    uint8_t *p = (uint8_t *)ts_buf_reserve(b, TS_VARINT_MAX_BYTES);
    if (p)
        b->n += (size_t)(ts_put_varint(p, v) - p);
}

void sto_manifest__put_files(struct ts_buf *b, const struct sto_sst_info *files, size_t n)
{
    sto_manifest__put_u64(b, n);
    for (size_t i = 0; i < n; i++) {
        const struct sto_sst_info *f = &files[i];
        sto_manifest__put_u64(b, f->file_no);
        sto_manifest__put_u64(b, f->gen_lo);
        sto_manifest__put_u64(b, f->gen_hi);
        sto_manifest__put_u64(b, ts_zigzag(f->min_ms));
        sto_manifest__put_u64(b, ts_zigzag(f->max_ms));
        sto_manifest__put_u64(b, ts_zigzag(f->tomb_min_ms));
        sto_manifest__put_u64(b, ts_zigzag(f->tomb_max_ms));
        sto_manifest__put_u64(b, f->n_points);
        sto_manifest__put_u64(b, f->n_rows);
        sto_manifest__put_u64(b, f->n_tombs);
        sto_manifest__put_u64(b, f->t_bytes);
        sto_manifest__put_u64(b, f->s_bytes);
        sto_manifest__put_u64(b, 0); /* family */
    }
}

uint64_t sto_manifest__get_u64(struct sto_manifest__reader *r, uint64_t max)
{
    uint64_t v = 0;
    const uint8_t *p = r->bad ? NULL : ts_get_varint(r->p, r->end, &v);
    if (!p || v > max) {
        r->bad = true;
        return 0;
    }
    r->p = p;
    return v;
}

size_t sto_manifest__get_count(struct sto_manifest__reader *r, size_t min_bytes)
{
    uint64_t n = sto_manifest__get_u64(r, SIZE_MAX);
    if (n > (size_t)(r->end - r->p) / min_bytes)
        r->bad = true;
    return r->bad ? 0 : (size_t)n;
}

int sto_manifest__get_files(struct sto_manifest__reader *r, uint64_t version, struct sto_sst_info **out,
                            size_t *out_n, struct ts_error *err)
{
    uint64_t unknown = 0;
    size_t n = sto_manifest__get_count(r, FILE_MIN_BYTES);
    *out = NULL;
    *out_n = 0;
    if (n == 0)
        return 0;
    struct sto_sst_info *v = ts_try_malloc(n * sizeof(*v));
    if (!v)
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu files of the manifest", n);
    for (size_t i = 0; i < n; i++) {
        struct sto_sst_info *f = &v[i];
        *f = (struct sto_sst_info){0};
        f->file_no = sto_manifest__get_u64(r, UINT64_MAX - 1);
        f->gen_lo = sto_manifest__get_u64(r, UINT64_MAX);
        f->gen_hi = sto_manifest__get_u64(r, UINT64_MAX);
        f->min_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
        f->max_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
        f->tomb_min_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
        f->tomb_max_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
        f->n_points = sto_manifest__get_u64(r, UINT64_MAX);
        f->n_rows = sto_manifest__get_u64(r, UINT64_MAX);
        f->n_tombs = sto_manifest__get_u64(r, UINT64_MAX);
        f->t_bytes = sto_manifest__get_u64(r, UINT64_MAX);
        f->s_bytes = sto_manifest__get_u64(r, UINT64_MAX);
        unknown |= version > 1 ? sto_manifest__get_u64(r, UINT64_MAX) : 0;
    }
    *out = v;
    *out_n = n;
    if (unknown && !r->bad)
        return ts_error_set(err, TS_EVERSION,
                            "the manifest lists files of a family that this program does not know; it was "
                            "written by a newer one");
    return 0;
}

/* --- lists of hours --- */

static void put_list(struct ts_buf *b, unsigned type, const struct sto_mark_list *list)
{
    sto_manifest__put_u64(b, list->n);
    for (size_t i = 0; i < list->n; i++) {
        const struct sto_mark *m = &list->marks[i];
        sto_manifest__put_u64(b, ts_zigzag(m->hour_lo));
        sto_manifest__put_u64(b, (uint64_t)((int64_t)m->hour_hi - m->hour_lo));
        if (type == STO_MANIFEST__MARKS)
            sto_manifest__put_u64(b, m->gen);
    }
}

static void put_past(struct ts_buf *b, const struct sto_mark_history *past)
{
    sto_manifest__put_u64(b, STO_MANIFEST__PAST);
    sto_manifest__put_u64(b, past->n);
    for (size_t i = 0; i < past->n; i++) {
        sto_manifest__put_u64(b, ts_zigzag(past->past[i].at_ms));
        put_list(b, STO_MANIFEST__MARKS, &past->past[i].list);
    }
}

static void put_complete(struct ts_buf *b, const struct sto_complete *c)
{
    sto_manifest__put_u64(b, STO_MANIFEST__COMPLETE);
    sto_manifest__put_u64(b, c->known);
    if (!c->known)
        return;
    sto_manifest__put_u64(b, ts_zigzag(c->from_ms));
    sto_manifest__put_u64(b, c->proof);
}

void sto_manifest__put_lists(struct ts_buf *b, const struct sto_manifest__lists *lists)
{
    unsigned n = (lists->past ? 1u : 0u) + (lists->once.n ? 1u : 0u) + (lists->complete ? 1u : 0u);
    for (unsigned type = 0; type < STO_MANIFEST__LISTS; type++)
        n += lists->list[type] != NULL;
    sto_manifest__put_u64(b, n);
    for (unsigned type = 0; type < STO_MANIFEST__LISTS; type++)
        if (lists->list[type]) {
            sto_manifest__put_u64(b, type);
            put_list(b, type, lists->list[type]);
        }
    if (lists->past)
        put_past(b, lists->past);
    if (lists->once.n) {
        sto_manifest__put_u64(b, STO_MANIFEST__ONCE);
        sto_manifest__put_u64(b, lists->once.n);
        ts_buf_slice(b, lists->once);
    }
    if (lists->complete)
        put_complete(b, lists->complete);
}

static int get_list(struct sto_manifest__reader *r, unsigned type, struct sto_mark_list *out,
                    struct ts_error *err)
{
    size_t n = sto_manifest__get_count(r, LIST_MIN_BYTES);
    out->marks = ts_try_calloc(n + 1, sizeof *out->marks);
    if (!out->marks)
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu ship marks of the manifest", n);
    for (; out->n < n; out->n++) {
        int64_t lo = ts_unzigzag(sto_manifest__get_u64(r, UINT32_MAX)),
                hi = lo + (int64_t)sto_manifest__get_u64(r, UINT32_MAX);
        uint64_t gen = type == STO_MANIFEST__MARKS ? sto_manifest__get_u64(r, UINT64_MAX) : 1;
        r->bad |= lo < INT32_MIN || lo > INT32_MAX || hi > INT32_MAX;
        out->marks[out->n] = (struct sto_mark){(int32_t)lo, (int32_t)hi, gen};
    }
    return 0;
}

static int get_past(struct sto_manifest__reader *r, struct sto_mark_history *out, struct ts_error *err)
{
    uint64_t n = sto_manifest__get_u64(r, STO_MARK_HISTORY_MAX);
    for (; n > 0 && !r->bad; n--) {
        struct sto_mark_past *past = &out->past[out->n];
        past->at_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
        TS_TRY(get_list(r, STO_MANIFEST__MARKS, &past->list, err));
        out->n++;
    }
    return 0;
}

static void get_complete(struct sto_manifest__reader *r, struct sto_complete *out)
{
    *out = (struct sto_complete){.known = sto_manifest__get_u64(r, 1) == 1};
    if (!out->known)
        return;
    out->from_ms = ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX));
    out->proof = sto_manifest__get_u64(r, UINT64_MAX);
}

int sto_manifest__get_lists(struct sto_manifest__reader *r, struct sto_mark_list got[STO_MANIFEST__LISTS],
                            struct sto_mark_history *past, struct sto_complete *complete,
                            struct sto_manifest__lists *out, struct ts_error *err)
{
    uint64_t n = sto_manifest__get_u64(r, UINT64_MAX), last = 0;
    for (; n > 0 && !r->bad; n--) {
        uint64_t type = n <= STO_MANIFEST__COMPLETE ? sto_manifest__get_u64(r, UINT64_MAX) : UINT64_MAX;
        if (r->bad)
            return 0;
        if (type <= last || type > STO_MANIFEST__COMPLETE)
            return ts_error_set(err, TS_EVERSION,
                                "the manifest has an extension that this program does not know; it was "
                                "written by a newer one");
        last = type;
        if (type == STO_MANIFEST__COMPLETE) {
            get_complete(r, complete);
            out->complete = complete;
        } else if (type == STO_MANIFEST__PAST) {
            TS_TRY(get_past(r, past, err));
            out->past = past;
        } else if (type == STO_MANIFEST__ONCE) {
            size_t n_bytes = sto_manifest__get_count(r, 1);
            r->bad |= n_bytes == 0;
            out->once = (struct ts_slice){(const char *)r->p, n_bytes};
            r->p += n_bytes;
        } else {
            TS_TRY(get_list(r, (unsigned)type, &got[type], err));
            out->list[type] = &got[type];
        }
    }
    return 0;
}
