/*
 * block_enc.c - encoding of rows as a block.
 *
 * Rows with many points are planned one by one. Runs of short rows of one kind are planned together and share
 * their parameters, which then cost nothing in the row table.
 *
 * Format     docs/FORMAT.md "Block"
 * Not here   the sequences of a row (block_rows.c), codecs (plan.c), streams (pack.c), reading
 * (block_dec.c)
 */
#include "storage/codecs/block_int.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#define SHORT_ROW 24u  /* rows with fewer points are planned in groups */
#define MANY      512u /* sequences with that many values are entropy coded */

struct sto_enc {
    struct sto_enc_row *rows;  /* of the open block */
    uint32_t n_rows, cap_rows; /* rows used, rows allocated */
    struct sto_cells cells;    /* points of all rows, one row after the other */
    int64_t *v, *t;            /* sequences of the rows being planned */
    uint32_t *ends;            /* ends of short rows in v and t */
    uint32_t cap_v;            /* elements of v, t and ends */
    int64_t *col;              /* one column of the row table, or first values */
    struct sto_seq *seqs[2];   /* results of a group: offsets, values */
    struct sto_plan plan[2];   /* the same */
    struct sto_pack table, pack;
    struct sto_zip zip;
    struct ts_buf out; /* the finished block */
    bool finished;     /* the next row begins a new block */
};

struct sto_enc *sto_enc_new(void)
{
    return ts_xcalloc(1, sizeof(struct sto_enc));
}

void sto_enc_set_level(struct sto_enc *e, unsigned level)
{
    e->zip.level = (uint8_t)level;
}

struct sto_zip *sto_enc__zip(struct sto_enc *e)
{
    return &e->zip;
}

size_t sto_enc_level_bytes(unsigned level)
{
    return sto_zip__level_bytes((uint8_t)level);
}

void sto_enc_free(struct sto_enc *e)
{
    if (!e)
        return;
    ts_free(e->rows);
    sto_cells_release(&e->cells);
    ts_free(e->v);
    ts_free(e->t);
    ts_free(e->ends);
    ts_free(e->col);
    for (int i = 0; i < 2; i++) {
        ts_free(e->seqs[i]);
        sto_plan__release(&e->plan[i]);
    }
    sto_pack__release(&e->table);
    sto_pack__release(&e->pack);
    sto_zip__release(&e->zip);
    ts_buf_release(&e->out);
    ts_free(e);
}

void sto_enc_row(struct sto_enc *e, const struct sto_key *key, const struct sto_cells *cells)
{
    if (cells->n == 0 || cells->n > STO_BLOCK_MAX_POINTS ||
        sto_enc_points(e) + cells->n > STO_BLOCK_CAP_POINTS)
        TS_BUG("row of %u cells in a block of %u", cells->n, sto_enc_points(e));
    if (e->finished) {
        e->n_rows = e->cells.n = 0;
        e->finished = false;
    }
    if (e->n_rows == e->cap_rows) {
        e->cap_rows = e->cap_rows ? e->cap_rows * 2 : 64;
        e->rows = ts_xrealloc(e->rows, e->cap_rows * sizeof *e->rows);
    }
    struct sto_enc_row *r = &e->rows[e->n_rows++];
    r->key = *key;
    r->at = e->cells.n;
    r->n = cells->n;
    sto_cells_reserve(&e->cells, r->at + r->n);
    memcpy(e->cells.meta + r->at, cells->meta, r->n * sizeof *cells->meta);
    memcpy(e->cells.m + r->at, cells->m, r->n * sizeof *cells->m);
    e->cells.n += r->n;
    sto_enc_row__classify(r, e->cells.meta + r->at, e->cells.m + r->at);
}

uint32_t sto_enc_points(const struct sto_enc *e)
{
    return e->finished ? 0 : e->cells.n;
}
uint32_t sto_enc_rows(const struct sto_enc *e)
{
    return e->finished ? 0 : e->n_rows;
}

static bool is_short(const struct sto_enc_row *r)
{
    return r->n < SHORT_ROW && !r->mixed;
}

static bool is_short_decimal(const struct sto_enc_row *r)
{
    return is_short(r) && r->mode == STO_MODE_SCALED && sto_meta_kind(r->flags) == TS_NUM_DEC;
}

/* Raise short rows of decimals of one metric to one exponent; otherwise "1.5" and "1.25" could not form a
 * group. */
static void raise_exponents(struct sto_enc *e)
{
    for (uint32_t i = 0; i < e->n_rows;) {
        uint32_t end = i;
        uint8_t exp = 0;
        for (; end < e->n_rows && e->rows[end].key.metric == e->rows[i].key.metric &&
               is_short_decimal(&e->rows[end]);
             end++)
            exp = e->rows[end].exp > exp ? e->rows[end].exp : exp;
        for (uint32_t j = i; j < end; j++) {
            struct sto_enc_row *r = &e->rows[j];
            if (r->exp < exp)
                (void)sto_enc_row__raise(r, e->cells.meta + r->at, e->cells.m + r->at, exp);
        }
        i = end > i ? end : i + 1;
    }
}

static bool same_group(const struct sto_enc_row *a, const struct sto_enc_row *b)
{
    return is_short(b) && a->key.metric == b->key.metric && a->flags == b->flags && a->mode == b->mode &&
           a->exp == b->exp && a->seconds == b->seconds;
}

/* Plan and store the sequence of one row. */
static void put_sequence(struct sto_enc *e, const int64_t *v, uint32_t n, struct sto_seq *out)
{
    struct sto_plan *p = &e->plan[0];
    uint32_t n_res = e->zip.level == STO_LEVEL_ROUGH ? sto_plan__rough(p, v, n, out)
                                                     : sto_plan__one(p, v, n, e->cells.n >= MANY, out);
    sto_pack__put(&e->pack, p->res, n_res, out);
}

/* Plan and store the sequences of rows i..end, which are adjacent in e->v and e->t. */
static void put_rows(struct sto_enc *e, uint32_t i, uint32_t end)
{
    struct sto_enc_row *r = &e->rows[i];
    if (end == i + 1) {
        put_sequence(e, e->t, r->n, &r->t);
        put_sequence(e, e->v, r->n, &r->v);
        return;
    }
    sto_plan__group(&e->plan[0], e->t, e->ends, end - i, true, e->seqs[0]);
    sto_plan__group(&e->plan[1], e->v, e->ends, end - i, false, e->seqs[1]);
    uint64_t *res[2] = {e->plan[0].res, e->plan[1].res};
    for (uint32_t j = 0; j < end - i; j++) {
        for (int w = 0; w < 2; w++) {
            struct sto_seq *s = &e->seqs[w][j];
            uint32_t n_res = sto_codec__n_res(sto_codec__get(s->codec), r[j].n);
            sto_pack__put(&e->pack, res[w], n_res, s);
            res[w] += n_res;
        }
        r[j].t = e->seqs[0][j];
        r[j].v = e->seqs[1][j];
    }
}

static void put_cells(struct sto_enc *e)
{
    for (uint32_t i = 0; i < e->n_rows;) {
        uint32_t end = i + 1, n = 0;
        while (is_short(&e->rows[i]) && end < e->n_rows && same_group(&e->rows[i], &e->rows[end]))
            end++;
        for (uint32_t j = i; j < end; j++) {
            const struct sto_enc_row *r = &e->rows[j];
            const uint32_t *meta = e->cells.meta + r->at;
            const int64_t *m = e->cells.m + r->at;
            sto_enc_row__sequences(r, meta, m, e->v + n, e->t + n);
            sto_enc_row__extras(r, meta, m, &e->pack);
            n += r->n;
            e->ends[j - i] = n;
        }
        put_rows(e, i, end);
        i = end;
    }
}

/* Value of a column of the row table. */
static int64_t column(const struct sto_enc *e, uint32_t i, enum sto_col c)
{
    const struct sto_enc_row *r = &e->rows[i];
    const struct sto_key *before = i ? &e->rows[i - 1].key : &r->key;
    switch (c) {
    case STO_COL_METRIC:
        return (int64_t)r->key.metric - before->metric;
    case STO_COL_SERIES:
        return (int64_t)r->key.series - (r->key.metric == before->metric ? before->series : 0);
    case STO_COL_HOUR:
        return (int64_t)r->key.hour - before->hour;
    case STO_COL_N:
        return r->n;
    case STO_COL_FLAGS:
        return r->mixed ? STO_FLAGS_MIXED : (int64_t)(r->flags >> STO_FLAGS_SHIFT);
    case STO_COL_MODE:
        return r->mode | r->exp << 2;
    case STO_COL_TCODEC:
        return r->t.codec | r->t.cls << 3 | (r->seconds ? (int64_t)STO_TIME_SECONDS : 0);
    case STO_COL_TK:
        return r->t.k;
    case STO_COL_TESC:
        return r->t.n_esc;
    case STO_COL_TUNIT:
        return (int64_t)r->t.unit;
    case STO_COL_TSLOPE:
        return r->t.slope;
    case STO_COL_VCODEC:
        return r->v.codec | r->v.cls << 3;
    case STO_COL_VK:
        return r->v.k;
    case STO_COL_VESC:
        return r->v.n_esc;
    case STO_COL_VUNIT:
        return (int64_t)r->v.unit;
    case STO_COL_VSLOPE:
        return r->v.slope;
    case STO_COL_PATCHES:
        return r->n_patches;
    case STO_COLS:
        break;
    }
    TS_BUG("column %d", (int)c);
}

/* Store e->col as a sequence of pack p, and its parameters in the header. */
static void put_column(struct sto_enc *e, struct sto_pack *p)
{
    struct sto_seq s;
    uint32_t n_res = sto_plan__one(&e->plan[0], e->col, e->n_rows, e->n_rows >= MANY, &s);
    sto_pack__put(p, e->plan[0].res, n_res, &s);
    sto_seq__put(&e->out, &s);
}

static void reserve(struct sto_enc *e)
{
    uint32_t n = e->cells.n;
    if (n <= e->cap_v)
        return;
    ts_free(e->v);
    ts_free(e->t);
    ts_free(e->ends);
    ts_free(e->col);
    ts_free(e->seqs[0]);
    ts_free(e->seqs[1]);
    e->cap_v = n + n / 4;
    e->v = ts_xmalloc(e->cap_v * sizeof *e->v);
    e->t = ts_xmalloc(e->cap_v * sizeof *e->t);
    e->ends = ts_xmalloc(e->cap_v * sizeof *e->ends);
    e->col = ts_xmalloc(e->cap_v * sizeof *e->col); /* a row has at least one cell */
    for (int i = 0; i < 2; i++)
        e->seqs[i] = ts_xmalloc(e->cap_v * sizeof *e->seqs[i]);
}

static void put_header(struct sto_enc *e)
{
    const struct sto_key *key = &e->rows[0].key;
    uint8_t head[STO_BLOCK_HEADER_BYTES + 5 * TS_VARINT_MAX_BYTES] = {0}, *p = head + STO_BLOCK_HEADER_BYTES;
    head[4] = STO_BLOCK_VERSION;
    p = ts_put_varint(p, e->n_rows);
    p = ts_put_varint(p, e->cells.n);
    p = ts_put_varint(p, key->metric);
    p = ts_put_varint(p, key->series);
    p = ts_put_varint(p, ts_zigzag(key->hour));
    (void)ts_buf_append(&e->out, head, (size_t)(p - head));
}

struct ts_slice sto_enc_finish(struct sto_enc *e)
{
    ts_buf_clear(&e->out);
    if (sto_enc_rows(e) == 0)
        return ts_buf_get(&e->out);
    reserve(e);
    sto_pack__clear(&e->table);
    sto_pack__clear(&e->pack);
    raise_exponents(e);
    put_cells(e);
    put_header(e);
    for (int c = 0; c < STO_COLS; c++) {
        for (uint32_t i = 0; i < e->n_rows; i++)
            e->col[i] = column(e, i, (enum sto_col)c);
        if (c <= STO_COL_HOUR && e->n_rows > 1)
            e->col[0] = e->col[1]; /* unused in the first row, whose key is in the header */
        put_column(e, &e->table);
    }
    for (uint32_t i = 0; i < e->n_rows; i++)
        e->col[i] = e->rows[i].t.first;
    put_column(e, &e->pack);
    for (uint32_t i = 0; i < e->n_rows; i++)
        e->col[i] = e->rows[i].v.first;
    put_column(e, &e->pack);
    sto_pack__finish(&e->table, &e->zip, &e->out);
    sto_pack__finish(&e->pack, &e->zip, &e->out);
    if (e->out.failed || e->out.n > STO_BLOCK_MAX_BYTES)
        TS_BUG("block of %u points takes %zu bytes", e->cells.n, e->out.n);
    ts_st32(e->out.p, ts_crc32c(0, e->out.p + 4, e->out.n - 4));
    e->finished = true;
    return ts_buf_get(&e->out);
}
