/*
 * sums.c - see sums.h.
 *
 * Format     docs/FORMAT.md "Summary block"
 */
#include "storage/codecs/sums.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/codecs/block_int.h"
#include "storage/codecs/row_keys.h"

#define SUMS_VERSION      1u
#define SUMS_VERSION_RARE 2u /* a column has STO_CODEC_RARE, which older programs do not know */

/* Columns, with one value for each row. The first three are unused in the first row, whose key is in the
 * header. */
enum col {
    COL_METRIC, /* difference from the previous row */
    COL_SERIES, /* difference from the previous row if the metric is the same; otherwise the number itself */
    COL_HOUR,   /* difference from the previous row */
    COL_FLAGS,  /* bits below, exponent of the sum << 8 */
    COL_KINDS,  /* kind | exponent << 2 of min, first << 7, last << 14, max << 21 */
    COL_N,
    COL_FIRST_OFF,
    COL_LAST_OFF, /* minus first */
    COL_MIN,
    COL_FIRST, /* the next three minus min */
    COL_LAST,
    COL_MAX,
    COL_QUOT, /* sum of the mantissas minus n * min, if FLAG_NEAR */
    COL_LOW,  /* low 64 bits of the remainder of the sum */
    COL_HIGH, /* high 64 bits of it, minus the sign of the low ones */
    COLS
};
enum flag {
    FLAG_HAS = 1,     /* has a summary; else all other columns are 0 */
    FLAG_INT = 2,     /* is_int */
    FLAG_SUM = 4,     /* has_sum */
    FLAG_SECONDS = 8, /* offsets are whole seconds */
    FLAG_NEAR = 16,   /* COL_QUOT is used */
};
#define FLAG_EXP_SHIFT 8
/* Elements of a decoded column: at a distance of 4096 bytes, columns would take the same places of the first cache. */
#define COL_ROWS (STO_SUMS_ROWS + 8u)
/* What sums, averages and counts do not need: first and last point, and the largest value. */
static const enum col late_cols[] = {COL_FIRST_OFF, COL_LAST_OFF, COL_FIRST, COL_LAST, COL_MAX};
#define LATE (sizeof late_cols / sizeof *late_cols)

struct sto_sums_enc {
    int64_t col[COLS][STO_SUMS_ROWS]; /* of the open block */
    struct sto_key first, last;       /* keys of its first and last row */
    uint32_t n;                       /* its rows */
    struct sto_plan plan;             /* of the column being stored */
    struct sto_pack pack;             /* columns */
    struct sto_zip own;               /* contexts for it, unless they are shared */
    struct sto_zip *zip;              /* compresses it: own, or borrowed (sto_sums_enc_share) */
    struct ts_buf out;                /* the finished block */
};

struct sto_sums_dec {
    /* memory of the decoder and all its buffers; must be the first member (memory_int.h) */
    struct sto_dec_memory memory;
    int64_t col[COLS][COL_ROWS];         /* of the open block */
    struct sto_key key[STO_SUMS_ROWS];   /* its keys */
    uint32_t n;                          /* rows */
    int64_t hours;                       /* most hours of a row */
    struct sto_unpack pack;              /* columns of the open block */
    struct sto_seq late[LATE];           /* columns that are decoded when they are first needed */
    struct sto_unpack_pos late_at[LATE]; /* where they begin */
    struct sto_seq place[2];             /* series and hours */
    struct sto_unpack_pos place_at[2];   /* where they begin */
    enum { LATE_NOT, LATE_GOT, LATE_BAD } late_state; /* LATE_BAD: they make no sense */
    bool same_head;  /* flags and kinds of all rows are those of the first one */
    bool no_high;    /* COL_HIGH is 0 in all rows */
    bool one_metric; /* COL_METRIC is 0 in all rows */
    bool one_count;  /* COL_N is the same in all rows */
    /* the first n_filled[c] rows of a column have the value filled[c]: most columns are constant, in one block as in the next */
    int64_t filled[COLS];
    uint32_t n_filled[COLS];
    struct sto_zip zip; /* inflates it */
};

_Static_assert(STO_SUMS_ROWS <= STO_UNPACK_LAZY, "columns are too long for a lazy pack");

/* Pool of unused decoders with their buffers. */
static struct ts_spare spares;

struct sto_sums_enc *sto_sums_enc_new(void)
{
    struct sto_sums_enc *e = ts_xcalloc(1, sizeof(struct sto_sums_enc));
    e->zip = &e->own;
    e->plan.rare = true;
    return e;
}

void sto_sums_enc_share(struct sto_sums_enc *e, struct sto_enc *points)
{
    e->zip = sto_enc__zip(points);
}

void sto_sums_enc_favour_reads(struct sto_sums_enc *e)
{
    e->own.quick = true;
}

void sto_sums_enc_free(struct sto_sums_enc *e)
{
    if (!e)
        return;
    sto_plan__release(&e->plan);
    sto_pack__release(&e->pack);
    sto_zip__release(&e->own);
    ts_buf_release(&e->out);
    ts_free(e);
}

uint32_t sto_sums_enc_rows(const struct sto_sums_enc *e)
{
    return e->n;
}

static int64_t sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Scale a number to exponent exp, if it is a decimal and fits; otherwise return it unchanged. */
static struct ts_num raised(struct ts_num v, uint8_t exp)
{
    if (v.kind != TS_NUM_DEC || exp <= v.exp || exp - v.exp > 15)
        return v;
    int64_t by = sto_pow10_int[exp - v.exp], limit = (1ll << 53) / by;
    if (v.m > limit || v.m < -limit)
        return v;
    return (struct ts_num){.m = v.m * by, .kind = TS_NUM_DEC, .exp = exp};
}

/* Map m to an integer whose differences are small. */
static int64_t ordered(struct ts_num v)
{
    return v.kind == TS_NUM_RAW ? sto_ordered_bits(v.m) : v.m;
}

/* Approximate sum of decimals whose mantissas add up to quot, in units of 2^-64. */
static __int128 near_sum(int64_t quot, uint8_t exp)
{
    return (__int128)((unsigned __int128)(__int128)quot << 64) / sto_pow10_int[exp];
}

/* Derive the sum of the mantissas from an exact sum; false if there is none that helps. */
static bool quotient(__int128 sum, uint8_t exp, int64_t *out)
{
    if (exp > 18)
        return false;
    __int128 limit = ((__int128)1 << 125) / sto_pow10_int[exp];
    if (sum > limit || sum < -limit)
        return false;
    __int128 q = (sum * sto_pow10_int[exp] + ((__int128)1 << 63)) >> 64;
    *out = (int64_t)q;
    return *out == q;
}

static void put_sum(const struct sto_summary *s, int64_t min, uint8_t exp, int64_t *flags, int64_t *quot,
                    int64_t *low, int64_t *high)
{
    unsigned __int128 rest = (unsigned __int128)s->sum;
    int64_t q;
    if (s->is_int) {
        rest -= (unsigned __int128)((__int128)min * s->n);
    } else if (s->min.kind == TS_NUM_DEC && s->max.kind == TS_NUM_DEC && quotient(s->sum, exp, &q)) {
        rest -= (unsigned __int128)near_sum(q, exp);
        *flags |= FLAG_NEAR | (int64_t)exp << FLAG_EXP_SHIFT;
        *quot = sub(q, (int64_t)((uint64_t)min * s->n));
    }
    *low = (int64_t)(uint64_t)rest;
    *high = sub((int64_t)(uint64_t)(rest >> 64), *low >> 63);
}

void sto_sums_enc_row(struct sto_sums_enc *e, const struct sto_key *key, const struct sto_summary *sum,
                      uint8_t exp)
{
    if (e->n == STO_SUMS_ROWS)
        TS_BUG("block of summaries is full");
    uint32_t i = e->n++;
    const struct sto_key *before = i ? &e->last : key;
    for (int c = 0; c < COLS; c++)
        e->col[c][i] = 0;
    e->col[COL_METRIC][i] = (int64_t)key->metric - before->metric;
    e->col[COL_SERIES][i] = (int64_t)key->series - (key->metric == before->metric ? before->series : 0);
    e->col[COL_HOUR][i] = (int64_t)key->hour - before->hour;
    if (i == 0)
        e->first = *key;
    e->last = *key;
    if (!sum)
        return;
    const struct ts_num v[4] = {raised(sum->min, exp), raised(sum->first, exp), raised(sum->last, exp),
                                raised(sum->max, exp)};
    uint32_t scale = sum->first_off % 1000 == 0 && sum->last_off % 1000 == 0 ? 1000 : 1;
    int64_t flags = FLAG_HAS | (sum->is_int ? FLAG_INT : 0) | (sum->has_sum ? FLAG_SUM : 0) |
                    (scale == 1000 ? FLAG_SECONDS : 0);
    for (int k = 0; k < 4; k++)
        e->col[COL_KINDS][i] |= (int64_t)(v[k].kind | v[k].exp << 2) << 7 * k;
    e->col[COL_N][i] = sum->n;
    e->col[COL_FIRST_OFF][i] = sum->first_off / scale;
    e->col[COL_LAST_OFF][i] = (sum->last_off - sum->first_off) / scale;
    e->col[COL_MIN][i] = ordered(v[0]);
    for (int k = 1; k < 4; k++)
        e->col[COL_MIN + k][i] = sub(ordered(v[k]), ordered(v[0]));
    if (sum->has_sum)
        put_sum(sum, v[0].m, exp, &flags, &e->col[COL_QUOT][i], &e->col[COL_LOW][i], &e->col[COL_HIGH][i]);
    e->col[COL_FLAGS][i] = flags;
}

struct ts_slice sto_sums_enc_finish(struct sto_sums_enc *e)
{
    ts_buf_clear(&e->out);
    if (e->n == 0)
        return ts_buf_get(&e->out);
    bool rare = false;
    uint8_t head[STO_BLOCK_HEADER_BYTES + 4 * TS_VARINT_MAX_BYTES] = {0}, *p = head + STO_BLOCK_HEADER_BYTES;
    p = ts_put_varint(p, e->n);
    p = ts_put_varint(p, e->first.metric);
    p = ts_put_varint(p, e->first.series);
    p = ts_put_varint(p, ts_zigzag(e->first.hour));
    (void)ts_buf_append(&e->out, head, (size_t)(p - head));
    sto_pack__clear(&e->pack);
    for (int c = 0; c < COLS; c++) {
        struct sto_seq s;
        if (c <= COL_HOUR && e->n > 1)
            e->col[c][0] = e->col[c][1]; /* unused in the first row, whose key is in the header */
        /* fifteen columns of different shapes share the symbols: storing them at full width takes less than
         * coding a mixed distribution */
        uint32_t n_res = sto_plan__one(&e->plan, e->col[c], e->n, false, &s);
        sto_pack__put(&e->pack, e->plan.res, n_res, &s);
        sto_seq__put(&e->out, &s);
        rare |= s.codec == STO_CODEC_RARE;
    }
    sto_pack__finish(&e->pack, e->zip, &e->out);
    if (e->out.failed)
        TS_BUG("no memory for a block of summaries");
    e->out.p[4] = rare ? SUMS_VERSION_RARE : SUMS_VERSION;
    ts_st32(e->out.p, ts_crc32c(0, e->out.p + 4, e->out.n - 4));
    e->n = 0;
    return ts_buf_get(&e->out);
}

struct sto_sums_dec *sto_sums_dec_new(void)
{
    struct sto_sums_dec *d = ts_xcalloc(1, sizeof *d);
    d->memory.bytes = sizeof *d;
    return d;
}

void sto_sums_dec_free(struct sto_sums_dec *d)
{
    if (!d)
        return;
    sto_unpack__release(&d->pack);
    sto_zip__release(&d->zip);
    (void)sto_dec_memory__count(&d->memory, NULL, NULL);
    ts_free(d);
}

struct sto_sums_dec *sto_sums_dec_borrow(struct ts_tally *tally, struct ts_error *err)
{
    struct sto_sums_dec *d = sto_dec_memory__take(&spares);
    if (d && sto_dec_memory__count(&d->memory, tally, NULL) == 0)
        return d;
    sto_sums_dec_return(d); /* its buffers may exceed a small limit */
    d = sto_sums_dec_new();
    if (sto_dec_memory__count(&d->memory, tally, err) == 0)
        return d;
    sto_sums_dec_free(d);
    return NULL;
}

void sto_sums_dec_return(struct sto_sums_dec *d)
{
    if (!d)
        return;
    d->n = 0;
    if (!sto_dec_memory__keep(&d->memory, &spares))
        sto_sums_dec_free(d);
}

uint32_t sto_sums_dec_n_rows(const struct sto_sums_dec *d)
{
    return d->n;
}

const struct sto_key *sto_sums_dec_key(const struct sto_sums_dec *d, uint32_t i)
{
    return &d->key[i];
}

/* Are flags and kinds of a row valid? */
static bool head_valid(int64_t flags, int64_t kinds)
{
    if (flags == 0)
        return true;
    if (!(flags & FLAG_HAS) || flags < 0 || flags >> FLAG_EXP_SHIFT > 18 || kinds < 0 || kinds >> 28)
        return false;
    for (int k = 0; k < 4; k++) {
        unsigned kind = kinds >> 7 * k & 3, exp = kinds >> (7 * k + 2) & 31;
        if (exp > TS_NUM_MAX_EXP ||
            (flags & FLAG_INT ? kind != TS_NUM_INT : kind != TS_NUM_DEC && kind != TS_NUM_RAW))
            return false;
    }
    return true;
}

/* Check what sto_sums_dec_get relies on, but for the columns that are decoded later. */
static bool rows_valid(const struct sto_sums_dec *d, uint32_t n)
{
    const int64_t *flags = d->col[COL_FLAGS], *kinds = d->col[COL_KINDS], *count = d->col[COL_N];
    uint64_t most = d->hours ? (uint64_t)d->hours * TS_HOUR_MS : UINT32_MAX;
    bool bad = !head_valid(flags[0], kinds[0]);
    uint64_t out = 0; /* its sign is set if a row that has a summary has none of 1 to most points */
    for (uint32_t i = 1; i < n && !d->same_head; i++)
        bad |= !head_valid(flags[i], kinds[i]);
    for (uint32_t i = 0; i < (d->one_count && d->same_head ? 1 : n); i++) {
        uint64_t more = (uint64_t)count[i] - 1;
        out |= (more | (most - 1 - more)) & (0 - (uint64_t)flags[i]);
    }
    return !bad && !(out >> 63);
}

/* Check the offsets of the points of a row. */
static bool offsets_valid(const struct sto_sums_dec *d, uint32_t i)
{
    int64_t flags = d->col[COL_FLAGS][i], a = d->col[COL_FIRST_OFF][i], b = d->col[COL_LAST_OFF][i];
    int64_t last = d->hours ? d->hours * (flags & FLAG_SECONDS ? 3600 : TS_HOUR_MS) - 1 : 0;
    return flags == 0 || (a >= 0 && a <= last && b >= 0 && b <= last - a);
}

/* Decode the columns that have not been needed so far; false if they make no sense. */
static bool need_late(struct sto_sums_dec *d)
{
    if (d->late_state != LATE_NOT)
        return d->late_state == LATE_GOT;
    bool ok = true;
    for (size_t k = 0; k < LATE && ok; k++) {
        struct sto_unpack_pos pos = d->late_at[k];
        ok = sto_unpack__get(&d->pack, &pos, &d->late[k], d->n, d->col[late_cols[k]]) == 0;
    }
    for (uint32_t i = 0; i < d->n && ok; i++)
        ok = offsets_valid(d, i);
    d->late_state = ok ? LATE_GOT : LATE_BAD;
    return ok;
}

static bool is_late(enum col c, size_t *out_k)
{
    for (size_t k = 0; k < LATE; k++)
        if (late_cols[k] == c) {
            *out_k = k;
            return true;
        }
    return false;
}

static bool is_const(const struct sto_seq *s, int64_t v)
{
    return s->codec == STO_CODEC_CONST && s->unit == 1 && s->first == v;
}

/* Decode a column; nothing is to be done if it is constant and the block before had the same. */
static int get_column(struct sto_sums_dec *d, struct sto_unpack_pos *pos, const struct sto_seq *s, int c,
                      uint32_t n)
{
    bool constant = s->codec == STO_CODEC_CONST && s->unit == 1;
    if (constant && d->n_filled[c] >= n && d->filled[c] == s->first)
        return sto_unpack__skip(pos, s, n) ? 0 : TS_ECORRUPT;
    d->n_filled[c] = 0;
    TS_TRY(sto_unpack__get(&d->pack, pos, s, n, d->col[c]));
    d->n_filled[c] = constant ? n : 0;
    d->filled[c] = s->first;
    return 0;
}

/* Compute the keys of all rows; false if they are out of range or not ascending. */
static bool place_keys(struct sto_sums_dec *d, uint32_t n, struct sto_key first)
{
    struct sto_diff_run runs[2][STO_DIFF_RUNS];
    uint32_t n_runs[2] = {0};
    for (int k = 0; k < 2 && d->one_metric && (k == 0 || n_runs[0]); k++)
        n_runs[k] = sto_row_keys__runs(&d->pack, &d->place_at[k], &d->place[k], n, runs[k]);
    if (n_runs[1])
        return sto_row_keys__of_runs(runs[0], n_runs[0], runs[1], n_runs[1], first, n, d->key);
    for (int k = 0; k < 2; k++) {
        struct sto_unpack_pos pos = d->place_at[k];
        if (get_column(d, &pos, &d->place[k], COL_SERIES + k, n) < 0)
            return false;
    }
    return sto_row_keys__of_cols(d->one_metric ? NULL : d->col[COL_METRIC], d->col[COL_SERIES],
                                 d->col[COL_HOUR], first, n, d->key);
}

/* Decode the columns that every reader needs, and remember where the others are. */
static int get_columns(struct sto_sums_dec *d, const struct sto_seq *cols, uint32_t n)
{
    struct sto_unpack_pos pos = {0};
    size_t k;
    for (int c = 0; c < COLS; c++) {
        if (c == COL_SERIES || c == COL_HOUR) {
            d->place[c - COL_SERIES] = cols[c];
            d->place_at[c - COL_SERIES] = pos;
            if (!sto_unpack__skip(&pos, &cols[c], n))
                return TS_ECORRUPT;
            continue;
        }
        if (!is_late((enum col)c, &k)) {
            TS_TRY(get_column(d, &pos, &cols[c], c, n));
            continue;
        }
        d->late[k] = cols[c];
        d->late_at[k] = pos;
        if (!sto_unpack__skip(&pos, &cols[c], n))
            return TS_ECORRUPT;
    }
    d->late_state = LATE_NOT;
    d->same_head =
        is_const(&cols[COL_FLAGS], d->col[COL_FLAGS][0]) && is_const(&cols[COL_KINDS], d->col[COL_KINDS][0]);
    d->no_high = is_const(&cols[COL_HIGH], 0);
    d->one_metric = is_const(&cols[COL_METRIC], 0);
    d->one_count = is_const(&cols[COL_N], d->col[COL_N][0]);
    return sto_unpack__ends_at(&d->pack, &pos) ? 0 : TS_ECORRUPT;
}

static int open_columns(struct sto_sums_dec *d, const uint8_t *p, const uint8_t *end)
{
    uint64_t v[4];
    struct sto_seq cols[COLS];
    for (int i = 0; i < 4; i++) {
        p = ts_get_varint(p, end, &v[i]);
        if (!p)
            return TS_ECORRUPT;
    }
    int64_t hour = ts_unzigzag(v[3]);
    if (v[0] == 0 || v[0] > STO_SUMS_ROWS || v[1] > UINT32_MAX || v[2] > UINT32_MAX || hour != (int32_t)hour)
        return TS_ECORRUPT;
    uint32_t n = (uint32_t)v[0];
    for (int c = 0; c < COLS && p; c++)
        p = sto_seq__get(p, end, &cols[c]);
    d->pack.lazy = true;
    p = p ? sto_unpack__open(&d->pack, p, end, STO_SUMS_ROWS * COLS * 16) : NULL;
    if (p != end)
        return TS_ECORRUPT;
    TS_TRY(sto_unpack__inflate(&d->pack, &d->zip, &d->memory));
    TS_TRY(get_columns(d, cols, n));
    if (!place_keys(d, n, (struct sto_key){(uint32_t)v[1], (uint32_t)v[2], (int32_t)hour}) ||
        !rows_valid(d, n))
        return TS_ECORRUPT;
    d->n = n;
    return 0;
}

int sto_sums_dec_open(struct sto_sums_dec *d, struct ts_slice block, struct ts_error *err)
{
    return sto_sums_dec_open_long(d, block, 1, err);
}

int sto_sums_dec_open_long(struct sto_sums_dec *d, struct ts_slice block, unsigned hours,
                           struct ts_error *err)
{
    d->n = 0;
    d->hours = hours;
    d->memory.err = err;
    const uint8_t *p = (const uint8_t *)block.p;
    if (block.n < STO_BLOCK_HEADER_BYTES || block.n > STO_BLOCK_MAX_BYTES)
        return ts_error_set(err, TS_ECORRUPT, "summary block of %zu bytes", block.n);
    uint32_t crc = ts_crc32c(0, p + 4, block.n - 4);
    if (crc != ts_ld32(p))
        return ts_error_set(err, TS_ECORRUPT, "summary block has checksum %08x, its bytes give %08x",
                            ts_ld32(p), crc);
    if (p[4] != SUMS_VERSION && p[4] != SUMS_VERSION_RARE)
        return ts_error_set(err, TS_EVERSION, "summary block has version %u", p[4]);
    int rc = open_columns(d, p + STO_BLOCK_HEADER_BYTES, p + block.n);
    if (rc == TS_ELIMIT)
        return rc;
    if (rc == TS_ENOMEM)
        return ts_error_set(err, rc, "no memory for a summary block");
    return rc < 0 ? ts_error_set(err, rc, "summary block makes no sense") : 0;
}

static struct ts_num num_of(int64_t kinds, int which, int64_t m)
{
    struct ts_num v = {.m = m, .kind = kinds >> 7 * which & 3, .exp = kinds >> (7 * which + 2) & 31};
    if (v.kind == TS_NUM_RAW)
        v.m = sto_ordered_bits(m);
    return v;
}

/* The sum of a row, which has one. */
static __int128 sum_of(const struct sto_sums_dec *d, uint32_t i)
{
    int64_t flags = d->col[COL_FLAGS][i], min = d->col[COL_MIN][i], n = d->col[COL_N][i];
    int64_t low = d->col[COL_LOW][i], high = add(d->col[COL_HIGH][i], low >> 63);
    unsigned __int128 sum = (unsigned __int128)(uint64_t)high << 64 | (uint64_t)low;
    if (flags & FLAG_INT) {
        sum += (unsigned __int128)((__int128)min * n);
    } else if (flags & FLAG_NEAR) {
        int64_t m = num_of(d->col[COL_KINDS][i], 0, min).m;
        sum += (unsigned __int128)near_sum(add(d->col[COL_QUOT][i], (int64_t)((uint64_t)m * (uint64_t)n)),
                                           (uint8_t)(flags >> FLAG_EXP_SHIFT));
    }
    return (__int128)sum;
}

bool sto_sums_dec_get(struct sto_sums_dec *d, uint32_t i, struct sto_summary *out)
{
    int64_t flags = d->col[COL_FLAGS][i], kinds = d->col[COL_KINDS][i], min = d->col[COL_MIN][i];
    if (!(flags & FLAG_HAS) || !need_late(d))
        return false;
    uint32_t scale = flags & FLAG_SECONDS ? 1000 : 1;
    memset(out, 0, sizeof *out);
    out->n = (uint32_t)d->col[COL_N][i];
    out->is_int = (flags & FLAG_INT) != 0;
    out->has_sum = (flags & FLAG_SUM) != 0;
    out->first_off = (uint32_t)d->col[COL_FIRST_OFF][i] * scale;
    out->last_off = out->first_off + (uint32_t)d->col[COL_LAST_OFF][i] * scale;
    out->min = num_of(kinds, 0, min);
    out->first = num_of(kinds, 1, add(min, d->col[COL_FIRST][i]));
    out->last = num_of(kinds, 2, add(min, d->col[COL_LAST][i]));
    out->max = num_of(kinds, 3, add(min, d->col[COL_MAX][i]));
    if (out->has_sum)
        out->sum = sum_of(d, i);
    return true;
}

bool sto_sums_dec_has(const struct sto_sums_dec *d, uint32_t i, bool with_sum, bool *out_is_int)
{
    int64_t flags = d->col[COL_FLAGS][i], want = FLAG_HAS | (with_sum ? FLAG_SUM : 0);
    *out_is_int = (flags & FLAG_INT) != 0;
    return (flags & want) == want;
}

uint32_t sto_sums_dec_run(const struct sto_sums_dec *d, uint32_t i, bool with_sum, bool *out_is_int)
{
    uint32_t lo = i + 1, hi = d->n; /* the end of the series lies in lo..hi */
    bool is_int;
    if (!sto_sums_dec_has(d, i, with_sum, out_is_int))
        return 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (d->key[mid].series == d->key[i].series && d->key[mid].metric == d->key[i].metric)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (d->same_head)
        return lo - i;
    for (hi = i + 1; hi < lo && sto_sums_dec_has(d, hi, with_sum, &is_int) && is_int == *out_is_int;)
        hi++;
    return hi - i;
}

bool sto_sums_dec_is_vain(const struct sto_sums_dec *d)
{
    return d->same_head && d->col[COL_FLAGS][0] == 0;
}

const int64_t *sto_sums_dec_counts(const struct sto_sums_dec *d)
{
    return d->col[COL_N];
}

void sto_sums_dec_sums(const struct sto_sums_dec *d, uint32_t i, uint32_t n, __int128 *out)
{
    const int64_t *low = d->col[COL_LOW] + i, *min = d->col[COL_MIN] + i, *count = d->col[COL_N] + i;
    if (d->same_head && d->no_high && (d->col[COL_FLAGS][0] & FLAG_INT)) {
        for (uint32_t k = 0; k < n; k++)
            out[k] = (__int128)((unsigned __int128)low[k] + (unsigned __int128)((__int128)min[k] * count[k]));
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        out[k] = sum_of(d, i + k);
}
