/*
 * bench_codec.c - size and speed of blocks on the shapes of the benchmark works: bench_codec [SHAPE]
 *
 *   w1 w1i   random walks, 10 s, two decimals or whole numbers     w1f  the same with all digits of a double
 *   w2       counters, 1 s                                         w3   a million series of five points
 *   w4       sparse hits of 500 domains                            flat w1 times, one value
 *
 * "hours" has a series' rows of many hours behind each other, as after compaction; "hour" one hour of each
 * series, as flushed. Deterministic. Bytes are those of blocks alone. Built with the tests, run by hand.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "storage/codecs/codec.h"
#include "storage/codecs/sums.h"

#define MAX_STEPS 86400u

/* Random numbers: splitmix64, and a normal from twelve of them is too coarse, so Marsaglia's polar way. */
static uint64_t seed;
static double spare;
static bool has_spare;

static uint64_t rnd(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
static double uniform(void)
{
    return (double)(rnd() >> 11) * 0x1p-53;
}
static double normal(void)
{
    if (has_spare) {
        has_spare = false;
        return spare;
    }
    double u, v, s;
    do {
        u = 2 * uniform() - 1;
        v = 2 * uniform() - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    double f = sqrt(-2 * log(s) / s);
    spare = v * f;
    has_spare = true;
    return u * f;
}

/* One shape of data. */
struct shape {
    const char *name;
    uint32_t n_series, n_steps, step_s; /* size of the whole work */
    uint32_t (*make)(uint32_t series, uint32_t n_steps, uint32_t step_s, uint32_t *at_s, struct ts_num *v);
};

static uint32_t walk(uint32_t n_steps, uint32_t step_s, int digits, uint32_t *at_s, struct ts_num *v)
{
    double x = uniform() * 100;
    for (uint32_t i = 0; i < n_steps; i++) {
        x += normal();
        x = x > 100 ? 100 : x < 0 ? 0 : x;
        at_s[i] = i * step_s;
        if (digits == 0)
            v[i] = (struct ts_num){.m = (int64_t)x, .kind = TS_NUM_INT};
        else if (digits == 2)
            v[i] = (struct ts_num){.m = (int64_t)(x * 100 + .5), .kind = TS_NUM_DEC, .exp = 2};
        else
            v[i] = ts_num_from_double(x);
    }
    return n_steps;
}

static uint32_t make_w1(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    (void)s;
    return walk(n, step, 2, at_s, v);
}
static uint32_t make_w1i(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    (void)s;
    return walk(n, step, 0, at_s, v);
}
static uint32_t make_w1f(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    (void)s;
    return walk(n, step, 17, at_s, v);
}

static uint32_t make_w2(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    (void)s;
    uint64_t c = rnd() % 1000000000;
    double rate = exp(uniform() * 12);
    for (uint32_t i = 0; i < n; i++) {
        if (rnd() % 100000 == 0)
            c = 0;
        double inc = rate * (1 + .3 * normal());
        c += inc > 0 ? (uint64_t)inc : 0;
        at_s[i] = i * step;
        v[i] = (struct ts_num){.m = (int64_t)c, .kind = TS_NUM_INT};
    }
    return n;
}

static uint32_t make_w3(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    (void)s;
    for (uint32_t i = 0; i < n; i++) {
        at_s[i] = i * step;
        v[i] = (struct ts_num){.m = (int64_t)(rnd() % 1000), .kind = TS_NUM_INT};
    }
    return n;
}

static uint32_t make_w4(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    double mean = 6.0 / (s + 1), p0 = 0, day = 1;
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i % 60 == 0) {
            day = 1 + .5 * sin((double)i / 86400 * 6.283185307);
            p0 = exp(-mean * day);
        }
        double u = uniform(), p = p0, sum = p0;
        if (u <= p0)
            continue;
        int64_t hits = 0;
        while (u > sum && hits < 200) {
            p *= mean * day / (double)++hits;
            sum += p;
        }
        at_s[k] = i * step;
        v[k++] = (struct ts_num){.m = hits, .kind = TS_NUM_INT};
    }
    return k;
}

static uint32_t make_flat(uint32_t s, uint32_t n, uint32_t step, uint32_t *at_s, struct ts_num *v)
{
    for (uint32_t i = 0; i < n; i++) {
        at_s[i] = i * step;
        v[i] = (struct ts_num){.m = s, .kind = TS_NUM_INT};
    }
    return n;
}

static const struct shape shapes[] = {
    {"w1", 400, 2160, 10, make_w1},     {"w1i", 400, 2160, 10, make_w1i}, {"w1f", 100, 2160, 10, make_w1f},
    {"w2", 200, 10800, 1, make_w2},     {"w3", 200000, 5, 60, make_w3},   {"w4", 500, 21600, 1, make_w4},
    {"flat", 400, 2160, 10, make_flat},
};

/* All rows of a work, in key order. */
struct work {
    struct sto_key *keys;
    struct sto_cells *rows;
    uint32_t n_rows;
    uint64_t n_points;
};

static void add_rows(struct work *w, uint32_t series, uint32_t n, const uint32_t *at_s,
                     const struct ts_num *v)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t hour = at_s[i] / 3600, end = i;
        while (end < n && at_s[end] / 3600 == hour)
            end++;
        struct sto_cells *c = &w->rows[w->n_rows];
        memset(c, 0, sizeof *c);
        sto_cells_reserve(c, end - i);
        for (; i < end; i++, c->n++) {
            c->meta[c->n] = sto_meta_flags(STO_OP_PUT, v[i].kind, v[i].exp, false) | at_s[i] % 3600 * 1000;
            c->m[c->n] = v[i].m;
        }
        w->n_points += c->n;
        w->keys[w->n_rows++] = (struct sto_key){1, series, (int32_t)hour};
    }
}

/* hours: how many of a series lie behind each other; 0 = all. */
static void make_work(const struct shape *s, uint32_t hours, struct work *w)
{
    uint32_t *at_s = ts_xmalloc(MAX_STEPS * sizeof *at_s);
    struct ts_num *v = ts_xmalloc(MAX_STEPS * sizeof *v);
    uint32_t n_hours = (s->n_steps * s->step_s + 3599) / 3600;
    *w = (struct work){.keys = ts_xcalloc((size_t)s->n_series * n_hours, sizeof *w->keys),
                       .rows = ts_xcalloc((size_t)s->n_series * n_hours, sizeof *w->rows)};
    seed = 42;
    has_spare = false;
    for (uint32_t i = 0; i < s->n_series; i++) {
        uint32_t steps = hours ? hours * 3600 / s->step_s : s->n_steps;
        uint32_t n = s->make(i, steps < s->n_steps ? steps : s->n_steps, s->step_s, at_s, v);
        add_rows(w, i, n, at_s, v);
    }
    ts_free(at_s);
    ts_free(v);
}

static void free_work(struct work *w)
{
    for (uint32_t i = 0; i < w->n_rows; i++)
        sto_cells_release(&w->rows[i]);
    ts_free(w->rows);
    ts_free(w->keys);
}

/* Finished blocks behind each other. */
struct blocks {
    struct ts_buf bytes;
    size_t *ends;
    size_t n, cap;
};

static void keep(struct blocks *b, struct ts_slice block)
{
    if (b->n == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 1024;
        b->ends = ts_xrealloc(b->ends, b->cap * sizeof *b->ends);
    }
    (void)ts_buf_slice(&b->bytes, block);
    b->ends[b->n++] = b->bytes.n;
}

static int64_t encode(const struct work *w, struct sto_enc *e, struct blocks *b)
{
    int64_t start = ts_clock_mono_ns();
    b->n = 0;
    ts_buf_clear(&b->bytes);
    for (uint32_t i = 0; i < w->n_rows; i++) {
        sto_enc_row(e, &w->keys[i], &w->rows[i]);
        if (sto_enc_points(e) >= STO_BLOCK_POINTS)
            keep(b, sto_enc_finish(e));
    }
    if (sto_enc_rows(e))
        keep(b, sto_enc_finish(e));
    return ts_clock_mono_ns() - start;
}

static int64_t decode(const struct blocks *b, struct sto_dec *d, struct sto_cells *out, uint64_t *sum)
{
    int64_t start = ts_clock_mono_ns();
    for (size_t i = 0, at = 0; i < b->n; at = b->ends[i++]) {
        struct ts_slice block = {b->bytes.p + at, b->ends[i] - at};
        if (sto_dec_open(d, block, NULL) < 0)
            TS_BUG("block does not open");
        for (uint32_t r = 0; r < sto_dec_n_rows(d); r++) {
            if (sto_dec_cells(d, r, out, NULL) < 0)
                TS_BUG("row can't be read");
            *sum += (uint64_t)out->m[out->n - 1];
        }
    }
    return ts_clock_mono_ns() - start;
}

/* Summaries: bytes and time a row. */
static void run_sums(const struct work *w)
{
    struct sto_sums_enc *e = sto_sums_enc_new();
    struct sto_sums_dec *d = sto_sums_dec_new();
    struct blocks b = {0};
    struct sto_summary s;
    int64_t made = 0, coded = 0, start = ts_clock_mono_ns(), best = INT64_MAX;
    for (uint32_t i = 0; i < w->n_rows; i++) {
        int64_t t = ts_clock_mono_ns();
        bool has = sto_summary_make(&w->rows[i], &s);
        made += ts_clock_mono_ns() - t;
        sto_sums_enc_row(e, &w->keys[i], has ? &s : NULL,
                         has && !s.is_int ? sto_meta_exp(w->rows[i].meta[0]) : 0);
        if (sto_sums_enc_rows(e) == STO_SUMS_ROWS)
            keep(&b, sto_sums_enc_finish(e));
    }
    if (sto_sums_enc_rows(e))
        keep(&b, sto_sums_enc_finish(e));
    coded = ts_clock_mono_ns() - start - made;
    for (int round = 0; round < 5; round++) {
        start = ts_clock_mono_ns();
        for (size_t i = 0, at = 0; i < b.n; at = b.ends[i++]) {
            if (sto_sums_dec_open(d, (struct ts_slice){b.bytes.p + at, b.ends[i] - at}, NULL) < 0)
                TS_BUG("summaries do not open");
            for (uint32_t r = 0; r < sto_sums_dec_n_rows(d); r++)
                (void)sto_sums_dec_get(d, r, &s);
        }
        int64_t t = ts_clock_mono_ns() - start;
        best = t < best ? t : best;
    }
    double n = w->n_rows;
    printf("  %6.2f %6.1f %6.1f %6.1f\n", (double)b.bytes.n / n, (double)made / (double)w->n_points,
           (double)coded / n, (double)best / n);
    ts_buf_release(&b.bytes);
    ts_free(b.ends);
    sto_sums_enc_free(e);
    sto_sums_dec_free(d);
}

static void run(const struct shape *s, uint32_t hours)
{
    struct work w;
    struct blocks b = {0};
    struct sto_enc *e = sto_enc_new();
    struct sto_dec *d = sto_dec_new();
    struct sto_cells out = {0};
    uint64_t sum = 0;
    int64_t enc_ns = INT64_MAX, dec_ns = INT64_MAX;
    make_work(s, hours, &w);
    for (int round = 0; round < 5; round++) {
        int64_t t = encode(&w, e, &b);
        enc_ns = t < enc_ns ? t : enc_ns;
        t = decode(&b, d, &out, &sum);
        dec_ns = t < dec_ns ? t : dec_ns;
    }
    double n = (double)w.n_points;
    printf("%-5s %-5s %9.0f %7.1f %7.4f %7.2f %7.2f", s->name, hours ? "hour" : "hours", n, n / w.n_rows,
           (double)b.bytes.n / n, (double)enc_ns / n, (double)dec_ns / n);
    run_sums(&w);
    sto_cells_release(&out);
    sto_dec_free(d);
    sto_enc_free(e);
    ts_buf_release(&b.bytes);
    ts_free(b.ends);
    free_work(&w);
}

int main(int argc, char **argv)
{
    printf("                                   blocks                    summaries\n"
           "shape rows     points   p/row bytes/p  enc_ns  dec_ns  bytes/r make/p enc/r dec/r (ns)\n");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (argc > 1 && strcmp(argv[1], shapes[i].name) != 0)
            continue;
        run(&shapes[i], 0);
        if (shapes[i].n_steps * shapes[i].step_s > 3600)
            run(&shapes[i], 1);
    }
    return 0;
}
