/*
 * remote_cell.c - keys of the small cells that a remote store can hold.
 */
#include "storage/remote_cell.h"

#include "base/bytes.h"

static const char letters[] = {[STO_REMOTE_ANNOTATION] = 'a',
                               [STO_REMOTE_NAME_META] = 'n',
                               [STO_REMOTE_SERIES_META] = 's',
                               [STO_REMOTE_TREE] = 't'};

/* --- writing --- */

static int put_number(struct ts_buf *out, uint64_t v)
{
    uint8_t bytes[10];
    return ts_buf_append(out, bytes, (size_t)(ts_put_varint(bytes, v) - bytes));
}

static int put_text(struct ts_buf *out, struct ts_slice text)
{
    TS_TRY(put_number(out, text.n));
    return text.n ? ts_buf_slice(out, text) : 0;
}

static int put_series(struct ts_buf *out, const struct sto_remote_series *s)
{
    TS_TRY(put_text(out, s->metric));
    if (s->metric.n == 0)
        return 0;
    TS_TRY(put_number(out, s->n_tags));
    for (size_t i = 0; i < s->n_tags; i++) {
        TS_TRY(put_text(out, s->tags[i].k));
        TS_TRY(put_text(out, s->tags[i].v));
    }
    return 0;
}

int sto_remote_cell_key(const struct sto_remote_cell *cell, struct ts_buf *out)
{
    TS_TRY(ts_buf_char(out, letters[cell->kind]));
    if (cell->kind == STO_REMOTE_NAME_META) {
        TS_TRY(ts_buf_char(out, (char)cell->name_kind));
        return ts_buf_slice(out, cell->name);
    }
    if (cell->kind == STO_REMOTE_TREE) {
        TS_TRY(ts_buf_char(out, (char)(cell->tree >> 8)));
        return ts_buf_char(out, (char)(cell->tree & 255));
    }
    TS_TRY(put_series(out, &cell->series));
    for (int shift = 56; shift >= 0 && cell->kind == STO_REMOTE_ANNOTATION; shift -= 8)
        TS_TRY(ts_buf_char(out, (char)((uint64_t)cell->start_ms >> shift & 255)));
    return 0;
}

/* --- parsing --- */

/* What is left of a key. */
struct rest {
    const uint8_t *p, *end;
};

static bool get_text(struct rest *r, struct ts_slice *out)
{
    uint64_t n = 0;
    r->p = ts_get_varint(r->p, r->end, &n);
    if (!r->p || n > (uint64_t)(r->end - r->p))
        return false;
    *out = (struct ts_slice){(const char *)r->p, (size_t)n};
    r->p += n;
    return true;
}

static bool get_series(struct rest *r, struct sto_remote_tag *tags, struct sto_remote_series *out)
{
    uint64_t n_tags = 0;
    *out = (struct sto_remote_series){.key = STO_REMOTE_NO_KEY, .tags = tags};
    if (!get_text(r, &out->metric))
        return false;
    if (out->metric.n == 0)
        return true;
    r->p = ts_get_varint(r->p, r->end, &n_tags);
    if (!r->p || n_tags == 0 || n_tags > STO_REMOTE_CELL_MAX_TAGS)
        return false;
    for (; out->n_tags < n_tags; out->n_tags++)
        if (!get_text(r, &tags[out->n_tags].k) || !get_text(r, &tags[out->n_tags].v))
            return false;
    return true;
}

static bool get_time(struct rest *r, int64_t *out)
{
    uint64_t t = 0;
    if (r->end - r->p != 8)
        return false;
    while (r->p < r->end)
        t = t << 8 | *r->p++;
    *out = (int64_t)t;
    return *out >= 0;
}

int sto_remote_cell_parse(struct ts_slice key, struct sto_remote_tag *tags, struct sto_remote_cell *out)
{
    bool fine = false;
    *out = (struct sto_remote_cell){.start_ms = 0};
    if (key.n < 2)
        return TS_EPARSE;
    struct rest r = {(const uint8_t *)key.p + 1, (const uint8_t *)key.p + key.n};
    if (*key.p == 'n') {
        out->kind = STO_REMOTE_NAME_META;
        out->name_kind = (enum sto_remote_kind) * r.p;
        out->name = (struct ts_slice){key.p + 2, key.n - 2};
        return *r.p <= STO_REMOTE_TAGV && out->name.n ? 0 : TS_EPARSE;
    }
    if (*key.p == 't') {
        out->kind = STO_REMOTE_TREE;
        out->tree = (uint16_t)(r.p[0] << 8 | (r.end - r.p > 1 ? r.p[1] : 0));
        return r.end - r.p == 2 && out->tree ? 0 : TS_EPARSE;
    }
    if (*key.p == 'a') {
        out->kind = STO_REMOTE_ANNOTATION;
        fine = get_series(&r, tags, &out->series) && get_time(&r, &out->start_ms);
    } else if (*key.p == 's') {
        out->kind = STO_REMOTE_SERIES_META;
        fine = get_series(&r, tags, &out->series) && out->series.metric.n && r.p == r.end;
    }
    return fine ? 0 : TS_EPARSE;
}
