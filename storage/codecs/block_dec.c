/*
 * block_dec.c - decoding of blocks, whose bytes are not trusted even if the checksum is correct.
 *
 * Opening a block decodes the row table; the streams of the points are inflated when the first row is read. The rows of many blocks differ in
 * their keys and values only, above all where each has one point: then the parameters of all rows are kept once.
 *
 * Format     docs/FORMAT.md "Block"
 * Not here   streams (unpack.c), writing (block_enc.c)
 */
#include "storage/codecs/block_int.h"
#include "storage/codecs/key_cols.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#define FAR (1ll << 33) /* more than any difference of keys */

/* Parameters of a row of the open block and the position of its points. */
struct dec_row {
    uint32_t n;                /* cells */
    uint32_t flags;            /* shared flags, shifted to their place in meta */
    uint32_t n_patches;        /* doubles in the list */
    uint8_t mode, exp;         /* enum sto_mode; exponent of the sequence */
    bool mixed, seconds;       /* each point has its own flags; offsets are seconds */
    struct sto_seq t, v;       /* sequences; their member first is set by row_of */
    struct sto_unpack_pos pos; /* position of the offsets; the values follow */
};

struct sto_dec {
    /* memory of the decoder and all its buffers; must be the first member (memory_int.h) */
    struct sto_dec_memory memory;
    struct sto_dec_row *keys;  /* n_rows */
    size_t keys_cap;           /* bytes of keys */
    struct dec_row *rows;      /* n_rows; one if the rows are alike */
    size_t rows_cap;           /* bytes of rows */
    bool alike;                /* all rows have the parameters of the first one, and as long residuals */
    int64_t *col[2];           /* columns of the row table; once inflated, first offsets and first values */
    size_t col_cap[2];         /* bytes of each */
    int64_t *t;                /* offsets of one row */
    size_t t_cap;              /* bytes of t */
    uint32_t n_rows, n_points; /* of the open block; 0 = none */
    struct sto_seq firsts[2];  /* of offsets and values */
    struct sto_unpack_pos firsts_at; /* where they begin */
    struct sto_unpack_pos step;      /* of rows that are alike: what each takes */
    struct sto_unpack table, pack;   /* row table; cells */
    struct sto_zip zip;              /* inflates both */
};

/* Pool of unused decoders with their buffers. */
static struct ts_spare spares;

struct sto_dec *sto_dec_new(void)
{
    struct sto_dec *d = ts_xcalloc(1, sizeof *d);
    d->memory.bytes = sizeof *d;
    return d;
}

void sto_dec_free(struct sto_dec *d)
{
    if (!d)
        return;
    ts_free(d->keys);
    ts_free(d->rows);
    ts_free(d->col[0]);
    ts_free(d->col[1]);
    ts_free(d->t);
    sto_unpack__release(&d->table);
    sto_unpack__release(&d->pack);
    sto_zip__release(&d->zip);
    (void)sto_dec_memory__count(&d->memory, NULL, NULL);
    ts_free(d);
}

struct sto_dec *sto_dec_borrow(struct ts_tally *tally, struct ts_error *err)
{
    struct sto_dec *d = sto_dec_memory__take(&spares);
    if (d && sto_dec_memory__count(&d->memory, tally, NULL) == 0)
        return d;
    sto_dec_return(d); /* its buffers may exceed a small limit */
    d = sto_dec_new();
    if (sto_dec_memory__count(&d->memory, tally, err) == 0)
        return d;
    sto_dec_free(d);
    return NULL;
}

void sto_dec_return(struct sto_dec *d)
{
    if (!d)
        return;
    d->n_rows = d->n_points = 0;
    if (!sto_dec_memory__keep(&d->memory, &spares))
        sto_dec_free(d);
}

uint32_t sto_dec_n_rows(const struct sto_dec *d)
{
    return d->n_rows;
}

const struct sto_dec_row *sto_dec_row_at(const struct sto_dec *d, uint32_t i)
{
    if (i >= d->n_rows)
        TS_BUG("row %u of %u", i, d->n_rows);
    return &d->keys[i];
}

/* The part of a block before the row table. */
struct head {
    uint64_t n_rows, n_points;
    struct sto_key key; /* of the first row */
    struct sto_seq cols[STO_COLS];
};

/* Blocks of points never have the codec of blocks of summaries, whose values in between take no symbols. */
static bool is_of_points(const struct sto_seq *s)
{
    return !sto_codec__get(s->codec)->in_escapes;
}

static const uint8_t *read_head(struct sto_dec *d, const uint8_t *p, const uint8_t *end, struct head *h)
{
    uint64_t v[5];
    for (int i = 0; i < 5; i++) {
        p = ts_get_varint(p, end, &v[i]);
        if (!p)
            return NULL;
    }
    int64_t hour = ts_unzigzag(v[4]);
    if (v[0] == 0 || v[0] > v[1] || v[1] > STO_BLOCK_CAP_POINTS || v[2] > UINT32_MAX || v[3] > UINT32_MAX ||
        hour != (int32_t)hour)
        return NULL;
    h->n_rows = v[0];
    h->n_points = v[1];
    h->key = (struct sto_key){(uint32_t)v[2], (uint32_t)v[3], (int32_t)hour};
    bool ok = true;
    for (int c = 0; c < STO_COLS && p; c++) {
        p = sto_seq__get(p, end, &h->cols[c]);
        ok &= p && is_of_points(&h->cols[c]);
    }
    for (int i = 0; i < 2 && p; i++) {
        p = sto_seq__get(p, end, &d->firsts[i]);
        ok &= p && is_of_points(&d->firsts[i]);
    }
    return ok ? p : NULL;
}

/* Are these flags valid? */
static bool flags_valid(uint32_t flags)
{
    return sto_meta_op(flags) != STO_OP_DEL && sto_meta_kind(flags) <= TS_NUM_RAW &&
           (sto_meta_kind(flags) != TS_NUM_DEC || sto_meta_exp(flags) <= TS_NUM_MAX_EXP);
}

/* Set one part of the key of a row from its difference; false if it is out of range. */
static bool set_key(struct sto_key *key, const struct sto_key *before, enum sto_col c, int64_t v)
{
    int64_t x;
    if (v < -FAR || v > FAR)
        return false; /* so that nothing below overflows */
    switch (c) {
    case STO_COL_METRIC:
        x = before->metric + v;
        key->metric = (uint32_t)x;
        return v >= 0 && x <= UINT32_MAX;
    case STO_COL_SERIES:
        x = v + (key->metric == before->metric ? before->series : 0);
        key->series = (uint32_t)x;
        return v >= 0 && x <= UINT32_MAX;
    default:
        x = before->hour + v;
        key->hour = (int32_t)x;
        return x == (int32_t)x;
    }
}

/* Store the value of another column in a row; false if it is out of range. */
static bool set_column(struct dec_row *r, enum sto_col c, int64_t v)
{
    struct sto_seq *s = c >= STO_COL_VCODEC ? &r->v : &r->t;
    switch (c) {
    case STO_COL_N:
        r->n = (uint32_t)v;
        return v >= 1 && v <= STO_BLOCK_MAX_POINTS;
    case STO_COL_FLAGS:
        r->mixed = v == STO_FLAGS_MIXED;
        r->flags = r->mixed ? 0 : (uint32_t)v << STO_FLAGS_SHIFT;
        return v >= 0 && v <= STO_FLAGS_MIXED && flags_valid(r->flags);
    case STO_COL_MODE:
        r->mode = v & 3;
        r->exp = (uint8_t)(v >> 2);
        return v >= 0 && r->mode <= STO_MODE_AS_IS && v >> 2 <= TS_NUM_MAX_EXP;
    case STO_COL_TCODEC:
        r->seconds = (v & STO_TIME_SECONDS) != 0;
        v &= ~(int64_t)STO_TIME_SECONDS;
        /* fall through */
    case STO_COL_VCODEC:
        s->codec = v & 7;
        s->cls = v >> 3 & 3;
        return v >= 0 && v < 32;
    case STO_COL_TK:
    case STO_COL_VK:
        s->k = (uint8_t)v;
        return v >= 0 && v <= STO_SEQ_MAX_K;
    case STO_COL_TESC:
    case STO_COL_VESC:
        s->n_esc = (uint32_t)v;
        return v >= 0 && v <= STO_BLOCK_MAX_POINTS;
    case STO_COL_TUNIT:
    case STO_COL_VUNIT:
        s->unit = (uint64_t)v;
        return v >= 1;
    case STO_COL_TSLOPE:
    case STO_COL_VSLOPE:
        s->slope = v;
        return true;
    case STO_COL_PATCHES:
        r->n_patches = (uint32_t)v;
        return v >= 0 && v <= STO_BLOCK_MAX_POINTS;
    default:
        return false;
    }
}

/* Does every row have this value in a column? */
static bool is_const(const struct sto_seq *col)
{
    return col->codec == STO_CODEC_CONST;
}

/* Columns that are equal in all rows, as most are, are set in one row, which is then copied unless the rows are alike. */
static int copy_constant(struct sto_dec *d, const struct head *h)
{
    struct dec_row row = {0};
    d->alike = true;
    for (int c = STO_COL_HOUR + 1; c < STO_COLS; c++) {
        d->alike &= is_const(&h->cols[c]);
        if (is_const(&h->cols[c]) && !set_column(&row, (enum sto_col)c, h->cols[c].first))
            return TS_ECORRUPT;
    }
    size_t n = d->alike ? 1 : h->n_rows;
    TS_TRY(sto_dec_memory__grow(&d->memory, &d->rows, &d->rows_cap, n * sizeof *d->rows));
    for (size_t i = 0; i < n; i++)
        d->rows[i] = row;
    return 0;
}

/* Set the keys of a block of one metric, whose columns are decoded; false if they are out of range or descend. */
static bool set_series(struct sto_dec *d, const struct head *h)
{
    const int64_t *s = d->col[0], *hr = d->col[1];
    uint64_t series = h->key.series, hour = (uint64_t)h->key.hour;
    uint64_t bad = 0;
    if (!sto_key_cols__ascend(s, hr, (uint32_t)h->n_rows, 0))
        return false;
    for (size_t i = 1; i < h->n_rows; i++) {
        series += (uint64_t)s[i];
        hour += (uint64_t)hr[i];
        bad |= sto_key_cols__bad_hour(hour);
        d->keys[i] = (struct sto_dec_row){{h->key.metric, (uint32_t)series, (int32_t)hour}, d->rows[0].n};
    }
    return !bad && series <= UINT32_MAX;
}

/* Decode the first three columns, and set the number of cells of rows that are alike. */
static int read_keys(struct sto_dec *d, const struct head *h, struct sto_unpack_pos *pos)
{
    uint32_t n = (uint32_t)h->n_rows;
    bool one_metric = is_const(&h->cols[STO_COL_METRIC]) && h->cols[STO_COL_METRIC].first == 0;
    d->keys[0] =
        (struct sto_dec_row){h->key, d->rows[0].n}; /* what the columns say of the first row is not used */
    if (one_metric) {
        for (int c = STO_COL_METRIC; c <= STO_COL_HOUR; c++)
            TS_TRY(sto_unpack__get(&d->table, pos, &h->cols[c], n, d->col[c == STO_COL_HOUR]));
        return set_series(d, h) ? 0 : TS_ECORRUPT;
    }
    for (int c = STO_COL_METRIC; c <= STO_COL_HOUR; c++) {
        TS_TRY(sto_unpack__get(&d->table, pos, &h->cols[c], n, d->col[0]));
        for (uint32_t i = 1; i < n; i++)
            if (!set_key(&d->keys[i].key, &d->keys[i - 1].key, (enum sto_col)c, d->col[0][i]))
                return TS_ECORRUPT;
    }
    for (uint32_t i = 1; i < n; i++) {
        d->keys[i].n = d->rows[0].n;
        if (sto_key_cmp(&d->keys[i].key, &d->keys[i - 1].key) < 0)
            return TS_ECORRUPT;
    }
    return 0;
}

static int read_table(struct sto_dec *d, const struct head *h)
{
    struct sto_unpack_pos pos = {0};
    TS_TRY(sto_dec_memory__grow(&d->memory, &d->keys, &d->keys_cap, h->n_rows * sizeof *d->keys));
    for (int k = 0; k < 2; k++)
        TS_TRY(sto_dec_memory__grow(&d->memory, &d->col[k], &d->col_cap[k], h->n_rows * sizeof *d->col[k]));
    TS_TRY(copy_constant(d, h));
    TS_TRY(read_keys(d, h, &pos));
    for (int c = STO_COL_HOUR + 1; c < STO_COLS; c++) {
        if (is_const(&h->cols[c]))
            continue;
        TS_TRY(sto_unpack__get(&d->table, &pos, &h->cols[c], (uint32_t)h->n_rows, d->col[0]));
        for (uint32_t i = 0; i < h->n_rows; i++)
            if (!set_column(&d->rows[i], (enum sto_col)c, d->col[0][i]))
                return TS_ECORRUPT;
    }
    for (uint32_t i = 0; i < h->n_rows && !d->alike; i++)
        d->keys[i].n = d->rows[i].n;
    return sto_unpack__ends_at(&d->table, &pos) ? 0 : TS_ECORRUPT;
}

/* Are the parameters of a row valid? Then *pos is advanced past its points. */
static bool place_row(struct dec_row *r, struct sto_unpack_pos *pos)
{
    r->pos = *pos;
    if (!sto_seq__valid(&r->t) || !sto_seq__valid(&r->v) || !is_of_points(&r->t) || !is_of_points(&r->v) ||
        r->n_patches > r->n || (r->n_patches && (!r->mixed || r->mode != STO_MODE_SCALED)) ||
        !sto_unpack__skip(pos, &r->t, r->n) || !sto_unpack__skip(pos, &r->v, r->n))
        return false;
    if (r->mixed)
        pos->byte += r->n * 2 + r->n_patches * 8;
    return true;
}

/* What n rows take that are alike; false if it exceeds 32 bits. */
static bool times(const struct sto_unpack_pos *one, uint64_t n, struct sto_unpack_pos *out)
{
    uint64_t most = (uint64_t)one->esc * n | (uint64_t)one->byte * n;
    for (int k = 0; k < STO_SYM_CLASSES; k++) {
        most |= (uint64_t)one->sym[k] * n;
        out->sym[k] = (uint32_t)(one->sym[k] * n);
    }
    out->bit = one->bit * n;
    out->esc = (uint32_t)(one->esc * n);
    out->byte = (uint32_t)(one->byte * n);
    return most <= UINT32_MAX;
}

/* Compute the position of the points of each row; check that all streams are used up. */
static int place_rows(struct sto_dec *d, const struct head *h)
{
    struct sto_unpack_pos pos = {0};
    uint64_t points = 0, n = d->alike ? 1 : h->n_rows;
    for (size_t i = 0; i < n; i++) {
        points += d->rows[i].n;
        if (points > h->n_points || !place_row(&d->rows[i], &pos))
            return TS_ECORRUPT;
    }
    if (d->alike) {
        d->step = pos;
        points *= h->n_rows;
        if (!times(&d->step, h->n_rows, &pos))
            return TS_ECORRUPT;
    }
    d->firsts_at = pos;
    for (int i = 0; i < 2; i++)
        if (!sto_unpack__skip(&pos, &d->firsts[i], (uint32_t)h->n_rows))
            return TS_ECORRUPT;
    return points == h->n_points && sto_unpack__ends_at(&d->pack, &pos) ? 0 : TS_ECORRUPT;
}

static int open_rows(struct sto_dec *d, const uint8_t *p, const uint8_t *end)
{
    struct head h;
    p = read_head(d, p, end, &h);
    if (!p)
        return TS_ECORRUPT;
    /* no stream of a valid block is longer than the uncompressed points */
    p = sto_unpack__open(&d->table, p, end, STO_BLOCK_CAP_POINTS * 16);
    p = p ? sto_unpack__open(&d->pack, p, end, STO_BLOCK_CAP_POINTS * 16) : NULL;
    if (p != end)
        return TS_ECORRUPT;
    TS_TRY(sto_unpack__inflate(&d->table, &d->zip, &d->memory));
    TS_TRY(read_table(d, &h));
    TS_TRY(place_rows(d, &h));
    d->n_rows = (uint32_t)h.n_rows;
    d->n_points = (uint32_t)h.n_points;
    return 0;
}

int sto_dec_open(struct sto_dec *d, struct ts_slice block, struct ts_error *err)
{
    d->n_rows = d->n_points = 0;
    d->memory.err = err;
    const uint8_t *p = (const uint8_t *)block.p;
    if (block.n < STO_BLOCK_HEADER_BYTES || block.n > STO_BLOCK_MAX_BYTES)
        return ts_error_set(err, TS_ECORRUPT, "block of %zu bytes", block.n);
    uint32_t crc = ts_crc32c(0, p + 4, block.n - 4);
    if (crc != ts_ld32(p))
        return ts_error_set(err, TS_ECORRUPT, "block has checksum %08x, its bytes give %08x", ts_ld32(p),
                            crc);
    if (p[4] != STO_BLOCK_VERSION)
        return ts_error_set(err, TS_EVERSION, "block has version %u", p[4]);
    int rc = open_rows(d, p + STO_BLOCK_HEADER_BYTES, p + block.n);
    if (rc == TS_ELIMIT)
        return rc;
    if (rc == TS_ENOMEM)
        return ts_error_set(err, rc, "no memory for the rows of a block");
    return rc < 0 ? ts_error_set(err, rc, "row table of a block is malformed") : 0;
}

/* Inflate the points and set the first values of the rows. After an error every further row fails as well: the columns may hold what
 * another block has left there. */
static int inflate(struct sto_dec *d)
{
    TS_TRY(sto_unpack__inflate(&d->pack, &d->zip, &d->memory));
    struct sto_unpack_pos pos = d->firsts_at;
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = sto_unpack__get(&d->pack, &pos, &d->firsts[i], d->n_rows, d->col[i]);
    if (rc == 0 && !sto_unpack__ends_at(&d->pack, &pos))
        rc = TS_ECORRUPT;
    d->pack.ready = rc == 0;
    return rc;
}

/* A row of an inflated block. */
static struct dec_row row_of(const struct sto_dec *d, uint32_t i)
{
    struct dec_row r = d->rows[d->alike ? 0 : i];
    if (d->alike)
        (void)times(&d->step, i, &r.pos);
    r.t.first = d->col[0][i];
    r.v.first = d->col[1][i];
    return r;
}

/* Fast path for offsets with a constant step, the usual case. */
static int get_steps(const struct dec_row *r, uint32_t *meta)
{
    const struct sto_seq *t = &r->t;
    uint32_t n = r->n, scale = r->seconds ? 1000 : 1;
    int64_t last = (TS_HOUR_MS - 1) / scale;
    if (t->first < 0 || t->first > last || t->slope <= 0 || t->slope > last ||
        (n - 1) * t->slope > last - t->first)
        return TS_ECORRUPT;
    uint32_t at = (uint32_t)t->first * scale | r->flags, step = (uint32_t)t->slope * scale;
    for (uint32_t i = 0; i < n; i++)
        meta[i] = at + i * step;
    return 0;
}

/* Offsets of which one is not above the one before it: those of a row of versions. */
static bool ascend_slowly(const int64_t *t, uint32_t n)
{
    bool bad = false;
    for (uint32_t i = 1; i < n; i++)
        bad |= t[i] < t[i - 1];
    return !bad;
}

/* Decode the offsets and add the flags that all points share. *out_repeats: some occur more than once. */
static int get_offsets(struct sto_dec *d, const struct dec_row *r, struct sto_unpack_pos *pos, uint32_t *meta,
                       bool *out_repeats)
{
    uint32_t n = r->n;
    if (r->t.codec == STO_CODEC_STEP && r->t.unit == 1)
        return get_steps(r, meta);
    TS_TRY(sto_dec_memory__grow(&d->memory, &d->t, &d->t_cap, n * sizeof *d->t));
    TS_TRY(sto_unpack__get(&d->pack, pos, &r->t, n, d->t));
    const int64_t *t = d->t;
    uint32_t scale = r->seconds ? 1000 : 1;
    uint64_t last = (uint64_t)(TS_HOUR_MS - 1) / scale;
    bool bad = false;
    for (uint32_t i = 1; i < n; i++)
        bad |= t[i] <= t[i - 1];
    *out_repeats = bad;
    if ((bad && !ascend_slowly(t, n)) || t[0] < 0 || (uint64_t)t[n - 1] > last)
        return TS_ECORRUPT;
    for (uint32_t i = 0; i < n; i++)
        meta[i] = (uint32_t)t[i] * scale | r->flags;
    return 0;
}

/* Decode the flags of each point and adjust its value accordingly. */
static int get_mixed(const struct sto_dec *d, const struct dec_row *r, uint32_t at, struct sto_cells *out)
{
    const uint8_t *flags = d->pack.out[STO_STREAM_BYTES] + at, *patch = flags + 2 * (size_t)r->n;
    uint32_t n_raw = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t f = (uint32_t)ts_ld16(flags + 2 * i) << STO_FLAGS_SHIFT;
        if (ts_ld16(flags + 2 * i) >= STO_FLAGS_MIXED || !flags_valid(f))
            return TS_ECORRUPT;
        out->meta[i] |= f;
        if (r->mode != STO_MODE_SCALED)
            continue;
        if (sto_meta_kind(f) == TS_NUM_RAW && r->n_patches) {
            if (n_raw == r->n_patches)
                return TS_ECORRUPT;
            out->m[i] = (int64_t)ts_ld64(patch + 8 * n_raw++);
        } else if (sto_meta_kind(f) == TS_NUM_INT && r->exp > 0) {
            out->m[i] = r->exp < 19 ? out->m[i] / sto_pow10_int[r->exp] : 0;
        }
    }
    return n_raw == r->n_patches ? 0 : TS_ECORRUPT;
}

/* Only versions may share a time. */
static int check_repeats(const struct dec_row *r, const uint32_t *meta)
{
    uint32_t ops = STO_META_OP_MASK;
    for (uint32_t i = 0; i < r->n; i++)
        ops &= meta[i];
    return sto_meta_op(ops) == STO_OP_KEEP ? 0 : TS_ECORRUPT;
}

static int get_cells(struct sto_dec *d, const struct dec_row *r, struct sto_cells *out)
{
    struct sto_unpack_pos pos = r->pos;
    bool repeats = false;
    TS_TRY(get_offsets(d, r, &pos, out->meta, &repeats));
    TS_TRY(sto_unpack__get(&d->pack, &pos, &r->v, r->n, out->m));
    if (r->mode == STO_MODE_BITS)
        for (uint32_t i = 0; i < r->n; i++)
            out->m[i] = sto_ordered_bits(out->m[i]);
    if (r->mixed)
        TS_TRY(get_mixed(d, r, r->pos.byte, out));
    return repeats ? check_repeats(r, out->meta) : 0;
}

int sto_dec_cells(struct sto_dec *d, uint32_t i, struct sto_cells *out, struct ts_error *err)
{
    if (i >= d->n_rows)
        TS_BUG("row %u of %u", i, d->n_rows);
    struct dec_row r;
    out->n = 0;
    d->memory.err = err;
    sto_cells_reserve(out, d->keys[i].n);
    int rc = d->pack.ready ? 0 : inflate(d);
    if (rc == 0) {
        r = row_of(d, i);
        rc = get_cells(d, &r, out);
    }
    if (rc == TS_ELIMIT)
        return rc;
    if (rc < 0)
        return ts_error_set(
            err, rc, rc == TS_ENOMEM ? "no memory for the cells of a block" : "cells of row %u are malformed",
            i);
    out->n = r.n;
    out->uniform = !r.mixed;
    out->common = r.flags;
    return 0;
}

/* Is a row with these parameters an integer that is its first value? */
static bool is_single(const struct dec_row *r)
{
    unsigned op = sto_meta_op(r->flags);
    return r->n == 1 && !r->mixed && (op == STO_OP_PUT || op == STO_OP_ADD) &&
           sto_meta_kind(r->flags) == TS_NUM_INT && r->mode != STO_MODE_BITS && r->exp == 0 &&
           sto_codec__n_res(sto_codec__get(r->v.codec), 1) == 0 &&
           sto_codec__n_res(sto_codec__get(r->t.codec), 1) == 0;
}

/* How many rows from row i are single points of its series before the hour end? Not the last one of the block, which the next block may go on with. */
static uint32_t count_singles(const struct sto_dec *d, uint32_t i, int64_t end, uint32_t max)
{
    const struct sto_dec_row *k = d->keys + i;
    const struct dec_row *r = d->rows + (d->alike ? 0 : i);
    const int64_t *t = d->col[0] + i;
    const struct sto_key first = k->key;
    uint32_t n = 0, step = !d->alike;
    max = max < d->n_rows - 1 - i ? max : d->n_rows - 1 - i;
    if (d->alike && !is_single(r))
        return 0;
    for (;
         n < max && k[n].key.series == first.series && k[n].key.metric == first.metric && k[n].key.hour < end;
         n++, r += step) {
        bool twice = k[n + 1].key.hour == k[n].key.hour && sto_key_cmp(&k[n].key, &k[n + 1].key) == 0;
        if (twice || (step && !is_single(r)) ||
            (uint64_t)t[n] >= (r->seconds ? TS_HOUR_MS / 1000 : (uint64_t)TS_HOUR_MS))
            break;
    }
    return n;
}

int sto_dec_singles(struct sto_dec *d, uint32_t i, int64_t end, uint32_t max, struct sto_key *keys,
                    __int128 *sums, struct ts_error *err)
{
    d->memory.err = err;
    int rc = d->pack.ready ? 0 : inflate(d);
    if (rc == TS_ELIMIT)
        return rc;
    if (rc < 0)
        return ts_error_set(err, rc,
                            rc == TS_ENOMEM ? "no memory for the cells of a block"
                                            : "cells of a block are malformed");
    uint32_t n = count_singles(d, i, end, max);
    for (uint32_t k = 0; k < n; k++) {
        keys[k] = d->keys[i + k].key;
        sums[k] = d->col[1][i + k];
    }
    return (int)n;
}
