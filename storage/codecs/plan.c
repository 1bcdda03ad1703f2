/*
 * plan.c - choice of the codec of a sequence, its parameters, and the split of its residuals.
 *
 * The cost of a codec is the sum of the bit lengths of its residuals over a sample of up to 256 values from
 * four ranges. This is robust against outliers (a counter that resets) and close enough to the result of the
 * entropy coder to rank codecs.
 *
 * Not here   the codecs (table.c), storage of the residuals (pack.c)
 */
#include "base/bytes.h"
#include "base/clones.h"
#include "base/mem.h"
#include "storage/codecs/seq_int.h"

#include <string.h>

#define SAMPLE_MAX 128u
#define SPLIT_MAX  256u /* residuals examined to choose k and class */
#define MEDIAN_OF  31u
#define UNIT_MIN_N 16u /* no common unit is computed for shorter sequences */
#define SLOPE_BITS 20u /* approximate cost of a stored slope */
#define RARE_PART                                                                                            \
    48u /* an exception takes two escapes, about 28 bits, and a symbol at least 2 bits, which zstd may shorten to a quarter */
#define HIGH_BITS 4 /* the high part of an average residual keeps this many bits for the entropy coder */

void sto_plan__release(struct sto_plan *p)
{
    ts_free(p->y);
    ts_free(p->res);
    memset(p, 0, sizeof *p);
}

static void reserve(struct sto_plan *p, uint32_t n)
{
    if (n <= p->cap)
        return;
    uint32_t cap = p->cap ? p->cap : 1024;
    while (cap < n)
        cap *= 2;
    ts_free(p->y);
    ts_free(p->res);
    p->y = ts_xmalloc(cap * sizeof *p->y);
    p->res = ts_xmalloc(cap * sizeof *p->res);
    p->cap = cap;
}

/* Bits of x; 63 for all of 63 and 64 bits (so that no branch is needed). */
static inline unsigned bit_len(uint64_t x)
{
    return 63u - (unsigned)__builtin_clzll(x << 1 | 1 | (x & 1ull << 63));
}

static inline int64_t diff(const int64_t *v, uint32_t i)
{
    return (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);
}

/* Result of one pass over a sequence. */
struct shape {
    int64_t min, max; /* of the values */
    int64_t min_diff; /* smallest difference of neighbours */
    bool steady;      /* all differences are the same */
};

TS_CLONES static struct shape scan(const int64_t *v, uint32_t n)
{
    struct shape s = {.min = v[0], .max = v[0], .min_diff = n > 1 ? diff(v, 1) : 0};
    int64_t d0 = s.min_diff;
    uint64_t other = 0;
    for (uint32_t i = 1; i < n; i++) {
        int64_t d = diff(v, i);
        other |= (uint64_t)(d ^ d0);
        s.min = v[i] < s.min ? v[i] : s.min;
        s.max = v[i] > s.max ? v[i] : s.max;
        s.min_diff = d < s.min_diff ? d : s.min_diff;
    }
    s.steady = other == 0;
    return s;
}

/* Greatest common divisor of all differences; gives up at 1, which most data reach within a few values. */
static uint64_t common_unit(const int64_t *v, uint32_t n)
{
    uint64_t g = 0;
    for (uint32_t i = 1; i < n && g != 1; i++) {
        uint64_t d =
            v[i] >= v[i - 1] ? (uint64_t)v[i] - (uint64_t)v[i - 1] : (uint64_t)v[i - 1] - (uint64_t)v[i];
        while (d) {
            uint64_t r = g ? g % d : 0;
            if (g == 0) {
                g = d;
                break;
            }
            g = d;
            d = r;
        }
    }
    return g ? g : 1;
}

/* Differences at sampled places, first and second, and the values themselves. */
struct sample {
    uint32_t n;             /* differences */
    uint32_t at[4], len[4]; /* sampled ranges of the sequence */
    int64_t d[SAMPLE_MAX];  /* differences */
    int64_t dd[SAMPLE_MAX]; /* second differences */
};

static void sample_take(struct sample *s, const int64_t *y, uint32_t n)
{
    memset(s->at, 0, sizeof s->at);
    memset(s->len, 0, sizeof s->len);
    if (n - 2 <= SAMPLE_MAX) {
        s->at[0] = 2;
        s->len[0] = n - 2;
    } else {
        for (uint32_t w = 0; w < 4; w++) {
            s->len[w] = SAMPLE_MAX / 4;
            s->at[w] = 2 + (uint32_t)((uint64_t)(n - 2 - SAMPLE_MAX / 4) * w / 3);
        }
    }
    s->n = 0;
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t i = s->at[w]; i < s->at[w] + s->len[w]; i++) {
            int64_t d = diff(y, i);
            s->d[s->n] = d;
            s->dd[s->n] = (int64_t)((uint64_t)d - (uint64_t)diff(y, i - 1));
            s->n++;
        }
}

static uint64_t cost_zigzag(const int64_t *x, uint32_t n, int64_t centre)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += bit_len(ts_zigzag((int64_t)((uint64_t)x[i] - (uint64_t)centre)));
    return sum;
}

static uint64_t cost_above(const int64_t *x, uint32_t n, int64_t floor)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += bit_len((uint64_t)x[i] - (uint64_t)floor);
    return sum;
}

static uint64_t cost_plain(const struct sample *s, const int64_t *y, int64_t min)
{
    uint64_t sum = 0;
    for (uint32_t w = 0; w < 4; w++)
        sum += cost_above(y + s->at[w], s->len[w], min);
    return sum;
}

/* Cost over every fourth value: most sequences are not a line. */
static uint64_t cost_line(const struct sample *s, const int64_t *y, int64_t slope)
{
    uint64_t sum = 0;
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t i = s->at[w]; i < s->at[w] + s->len[w]; i += 4)
            sum += bit_len(ts_zigzag((int64_t)((uint64_t)y[i] - (uint64_t)y[0] - i * (uint64_t)slope)));
    return sum * 4;
}

/* Mean of the values near the median: as exact as a mean, as robust as a median. */
static int64_t centre_of(const int64_t *x, uint32_t n)
{
    int64_t m[MEDIAN_OF] = {0}; /* some of the values, sorted */
    uint32_t k = n < MEDIAN_OF ? n : MEDIAN_OF;
    for (uint32_t i = 0; i < k; i++) {
        int64_t v = x[(uint64_t)i * n / k];
        uint32_t j = i;
        for (; j > 0 && m[j - 1] > v; j--)
            m[j] = m[j - 1];
        m[j] = v;
    }
    int64_t mid = m[k / 2];
    uint64_t middle_half = (uint64_t)m[k * 3 / 4] - (uint64_t)m[k / 4];
    int64_t near = middle_half < INT64_MAX / 8 ? (int64_t)middle_half * 4 + 1 : INT64_MAX;
    __int128 sum = 0;
    int64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t off = (int64_t)((uint64_t)x[i] - (uint64_t)mid);
        bool is_near = off <= near && off >= -near;
        sum += is_near ? off : 0;
        count += is_near;
    }
    if (count == 0)
        return mid;
    __int128 mean = sum >= 0 ? (sum + count / 2) / count : -((-sum + count / 2) / count);
    return (int64_t)((uint64_t)mid + (uint64_t)(int64_t)mean);
}

/* The cheapest codec of y (n >= 3, not steady): fills codec and slope. */
TS_CLONES static void choose(const int64_t *y, uint32_t n, const struct shape *sh, struct sto_seq *out)
{
    struct sample s;
    sample_take(&s, y, n);
    uint64_t best = UINT64_MAX;
    int64_t centre = centre_of(s.d, s.n);
    int64_t line = (int64_t)((uint64_t)y[n - 1] - (uint64_t)y[0]) / (int64_t)(n - 1);
    struct {
        uint8_t codec;
        int64_t slope;
        uint64_t cost;
        unsigned extra;
    } c[] = {
        {STO_CODEC_PLAIN, 0, cost_plain(&s, y, sh->min), 0},
        {STO_CODEC_DELTA, 0, cost_zigzag(s.d, s.n, 0), 0},
        {STO_CODEC_DELTA, centre, cost_zigzag(s.d, s.n, centre), SLOPE_BITS},
        {STO_CODEC_GAP, sh->min_diff, cost_above(s.d, s.n, sh->min_diff),
         sh->min_diff >= 0 && sh->min_diff < 16 ? 4 : SLOPE_BITS},
        {STO_CODEC_LINE, line, cost_line(&s, y, line), SLOPE_BITS},
        {STO_CODEC_LINE, line + 1, cost_line(&s, y, line + 1), SLOPE_BITS},
        {STO_CODEC_DELTA2, diff(y, 1), cost_zigzag(s.dd, s.n, 0), SLOPE_BITS},
    };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        uint64_t cost = c[i].cost * n / s.n + c[i].extra;
        if (cost < best) {
            best = cost;
            out->codec = c[i].codec;
            out->slope = c[i].slope;
        }
    }
}

/* Are all values but a few the same? Then their places and differences from it are written to p->res. Returns the number of these; 0: they are too many. */
static uint32_t find_rare(struct sto_plan *p, const int64_t *v, uint32_t n, struct sto_seq *out)
{
    int64_t most = v[0]; /* the majority, if there is one: Boyer and Moore, MJRTY, 1981 */
    uint32_t votes = 0, n_rare = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        most = votes ? most : v[i];
        votes += v[i] == most ? 1 : -1u;
    }
    for (uint32_t i = 0; i < n; i++)
        n_rare += v[i] != most;
    if (n_rare > n / RARE_PART)
        return 0;
    *out = (struct sto_seq){.codec = STO_CODEC_RARE, .unit = 1, .first = most};
    n_rare = 0;
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != most) {
            p->res[n_rare++] = i - at;
            p->res[n_rare++] = ts_zigzag((int64_t)((uint64_t)v[i] - (uint64_t)most));
            at = i;
        }
    return n_rare;
}

uint32_t sto_plan__one(struct sto_plan *p, const int64_t *v, uint32_t n, bool entropy, struct sto_seq *out)
{
    *out = (struct sto_seq){.codec = STO_CODEC_CONST, .unit = 1, .first = v[0]};
    struct shape sh = scan(v, n);
    if (sh.steady) {
        out->slope = n > 1 ? sh.min_diff : 0;
        out->codec = out->slope ? STO_CODEC_STEP : STO_CODEC_CONST;
        return 0;
    }
    reserve(p, n);
    uint32_t n_rare = p->rare ? find_rare(p, v, n, out) : 0;
    if (n_rare)
        return n_rare;
    const int64_t *y = v;
    if (n >= UNIT_MIN_N && (uint64_t)sh.max - (uint64_t)sh.min < INT64_MAX)
        out->unit = common_unit(v, n);
    if (out->unit > 1) {
        int64_t unit = (int64_t)out->unit;
        for (uint32_t i = 0; i < n; i++)
            p->y[i] = (v[i] - v[0]) / unit;
        y = p->y;
        sh.min = (sh.min - v[0]) / unit;
        sh.min_diff /= unit;
    }
    choose(y, n, &sh, out);
    int64_t start = y[0];
    if (out->codec == STO_CODEC_PLAIN) {
        start = sh.min;
        out->first = out->unit > 1 ? v[0] + sh.min * (int64_t)out->unit : sh.min;
    }
    const struct sto_codec *c = sto_codec__get(out->codec);
    c->encode(y, n, start, out->slope, p->res);
    uint32_t n_res = sto_codec__n_res(c, n);
    sto_plan__split(p->res, n_res, entropy, out);
    return n_res;
}

/* Largest difference of neighbours above the smallest one. */
TS_CLONES static uint64_t widest_gap(const int64_t *v, uint32_t n, int64_t min_diff)
{
    uint64_t most = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint64_t gap = (uint64_t)diff(v, i) - (uint64_t)min_diff;
        most = gap > most ? gap : most;
    }
    return most;
}

uint32_t sto_plan__rough(struct sto_plan *p, const int64_t *v, uint32_t n, struct sto_seq *out)
{
    *out = (struct sto_seq){.codec = STO_CODEC_CONST, .unit = 1, .first = v[0], .cls = STO_SYM_2};
    struct shape sh = scan(v, n);
    if (sh.steady) {
        out->cls = 0;
        out->slope = n > 1 ? sh.min_diff : 0;
        out->codec = out->slope ? STO_CODEC_STEP : STO_CODEC_CONST;
        return 0;
    }
    reserve(p, n);
    uint64_t range = (uint64_t)sh.max - (uint64_t)sh.min, gap = widest_gap(v, n, sh.min_diff);
    if (gap < range) {
        out->codec = STO_CODEC_GAP;
        out->slope = sh.min_diff;
    } else {
        out->codec = STO_CODEC_PLAIN;
        out->first = sh.min;
    }
    unsigned width = ts_bit_len(gap < range ? gap : range); /* exactly: a residual is split at the last bit */
    out->k = (uint8_t)(width < STO_SEQ_MAX_K ? width : STO_SEQ_MAX_K);
    const struct sto_codec *c = sto_codec__get(out->codec);
    c->encode(v, n, out->first, out->slope, p->res);
    return sto_codec__n_res(c, n);
}

/* Do more than half of the rows with two or more values have the same step as the first of them? */
static bool common_step(const int64_t *v, const uint32_t *ends, uint32_t n_rows, int64_t *out_step)
{
    uint32_t many = 0, same = 0;
    for (uint32_t r = 0, at = 0; r < n_rows; at = ends[r++]) {
        uint32_t n = ends[r] - at;
        if (n < 2)
            continue;
        if (many++ == 0)
            *out_step = diff(v + at, 1);
        bool fits = true;
        for (uint32_t i = 1; i < n; i++)
            fits &= diff(v + at, i) == *out_step;
        same += fits;
    }
    return same * 2 > many;
}

static bool is_step(const int64_t *v, uint32_t n, int64_t step)
{
    for (uint32_t i = 1; i < n; i++)
        if (diff(v, i) != step)
            return false;
    return true;
}

/* Smallest value, smallest difference inside a row, and the cost of plain values and of differences. */
struct group_shape {
    int64_t min, min_diff; /* over all rows */
    uint64_t plain, delta; /* approximate bits of all residuals */
};

TS_CLONES static struct group_shape group_scan(const int64_t *v, const uint32_t *ends, uint32_t n_rows)
{
    struct group_shape g = {.min = v[0], .min_diff = INT64_MAX};
    uint32_t n = ends[n_rows - 1];
    for (uint32_t i = 0; i < n; i++)
        g.min = v[i] < g.min ? v[i] : g.min;
    for (uint32_t r = 0, at = 0; r < n_rows; at = ends[r++]) {
        g.delta += bit_len((uint64_t)v[at] - (uint64_t)g.min);
        for (uint32_t i = at + 1; i < ends[r]; i++) {
            int64_t d = diff(v, i);
            g.min_diff = d < g.min_diff ? d : g.min_diff;
            g.delta += bit_len(ts_zigzag(d));
        }
    }
    for (uint32_t i = 0; i < n; i++)
        g.plain += bit_len((uint64_t)v[i] - (uint64_t)g.min);
    return g;
}

uint32_t sto_plan__group(struct sto_plan *p, const int64_t *v, const uint32_t *ends, uint32_t n_rows,
                         bool gaps, struct sto_seq *seqs)
{
    reserve(p, ends[n_rows - 1]);
    int64_t step = 0;
    bool steps = common_step(v, ends, n_rows, &step);
    struct group_shape g = group_scan(v, ends, n_rows);
    struct sto_seq rest = {.unit = 1, .codec = STO_CODEC_PLAIN};
    if (gaps) {
        rest.codec = STO_CODEC_GAP;
        rest.slope = g.min_diff;
    } else if (g.delta < g.plain || n_rows == ends[n_rows - 1]) {
        rest.codec = STO_CODEC_DELTA; /* also if all rows have one value: then only the first values remain */
    }
    const struct sto_codec *c = sto_codec__get(rest.codec);
    uint32_t n_res = 0;
    for (uint32_t r = 0, at = 0; r < n_rows; at = ends[r++]) {
        uint32_t n = ends[r] - at;
        struct sto_seq *s = &seqs[r];
        *s = rest;
        s->first = rest.codec == STO_CODEC_PLAIN ? g.min : v[at];
        if (steps && is_step(v + at, n, step)) {
            *s = (struct sto_seq){
                .codec = step ? STO_CODEC_STEP : STO_CODEC_CONST, .unit = 1, .first = v[at], .slope = step};
            continue;
        }
        c->encode(v + at, n, s->first, s->slope, p->res + n_res);
        n_res += sto_codec__n_res(c, n);
    }
    sto_plan__split(p->res, n_res, true, &rest);
    for (uint32_t r = 0; r < n_rows; r++) {
        if (seqs[r].codec == rest.codec) {
            seqs[r].k = rest.k;
            seqs[r].cls = rest.cls;
        } else {
            seqs[r].k = 0;
            seqs[r].cls = 0;
        }
    }
    return n_res;
}

/* Symbols will be stored at their full width: choose the cheapest pair of class and k. */
static void split_stored(const uint32_t *hist, uint32_t n, struct sto_seq *s)
{
    static const unsigned width[STO_SYM_CLASSES] = {8, 4, 2};
    uint64_t best = UINT64_MAX;
    for (uint8_t cls = 0; cls < STO_SYM_CLASSES; cls++)
        for (unsigned k = 0; k <= STO_SEQ_MAX_K; k++) {
            uint64_t cost = (uint64_t)n * (k + width[cls]);
            /* a residual with as many bits as fit is an escape in one of 128, 8 or 2 cases */
            cost += (uint64_t)hist[k + width[cls]] * (10 + k + width[cls]) >> (width[cls] - 1);
            for (unsigned b = k + width[cls] + 1; b <= 64; b++)
                cost += hist[b] * (10ull + b * 8 / 7);
            if (cost < best) {
                best = cost;
                s->cls = cls;
                s->k = (uint8_t)k;
            }
        }
}

/* Symbols of 8 bits will be entropy coded: choose k such that they fit and are not too coarse. */
static void split_wide(const uint32_t *hist, uint32_t n, unsigned k0, struct sto_seq *s)
{
    /* loss in 1/64 bits per value for k - k0: the high part becomes too coarse to follow the distribution */
    static const unsigned loss[] = {0, 0, 1, 2, 8, 26, 70};
    uint64_t best = UINT64_MAX, escaped = 0;
    for (unsigned b = 64; b > k0 + 8; b--)
        escaped += hist[b] * (64 * 14ull + b * 73ull);
    for (unsigned k = k0; k <= STO_SEQ_MAX_K; k++) {
        unsigned over = k - k0;
        uint64_t cost = n * (over < 7 ? loss[over] : 70ull + 64 * (over - 6)) + escaped;
        if (cost < best) {
            best = cost;
            s->k = (uint8_t)k;
        }
        if (k + 9 <= 64)
            escaped -= hist[k + 9] * (64 * 14ull + (k + 9) * 73ull);
    }
    s->cls = STO_SYM_8;
}

TS_CLONES void sto_plan__split(const uint64_t *res, uint32_t n, bool entropy, struct sto_seq *s)
{
    /* two histograms, so that updates for consecutive equal lengths do not depend on each other */
    uint32_t hist[65] = {0}, hist2[65] = {0};
    s->k = 0;
    s->cls = STO_SYM_2;
    if (n == 0)
        return;
    uint64_t small[SPLIT_MAX];
    if (n > SPLIT_MAX) {
        for (uint32_t i = 0; i < SPLIT_MAX; i++)
            small[i] = res[(uint64_t)i * n / SPLIT_MAX];
        res = small;
        n = SPLIT_MAX;
    }
    uint32_t i = 0;
    for (; i + 1 < n; i += 2) {
        hist[ts_bit_len(res[i])]++;
        hist2[ts_bit_len(res[i + 1])]++;
    }
    if (i < n)
        hist[ts_bit_len(res[i])]++;
    uint64_t sum = 0;
    for (unsigned b = 0; b <= 64; b++) {
        hist[b] += hist2[b];
        sum += (uint64_t)hist[b] * b;
    }
    if (!entropy) {
        split_stored(hist, n, s);
        return;
    }
    int64_t k0 = (int64_t)((sum * 2 + n) / (2ull * n)) - HIGH_BITS;
    if (k0 > 0) {
        split_wide(hist, n, (unsigned)k0, s);
        return;
    }
    /* small residuals: several symbols share a byte, so that less than a bit each is possible */
    uint64_t total = 0, over3 = 0, over15 = 0;
    for (i = 0; i < n; i++) {
        total += res[i] < 16 ? res[i] : 16;
        over3 += res[i] >= 3;
        over15 += res[i] >= 15;
    }
    if (total * 10 < n * 4ull && over3 * 64 <= n)
        s->cls = STO_SYM_2;
    else if (total < n * 2ull && over15 * 128 <= n)
        s->cls = STO_SYM_4;
    else
        split_wide(hist, n, 0, s);
}
