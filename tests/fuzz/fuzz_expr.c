/*
 * fuzz_expr.c - formulas, functions over queries, and requests for both, over a small store.
 *
 * First byte: low two bits: 0 = a formula; 1 = exp=..., functions; 2 = the body of /api/query/exp. Bit 4:
 * compat = opentsdb.
 *
 * Checked    no crash; errors have a code and a text; a program runs and gives the same values twice, in one
 *            block and over its end; what is understood can be asked; nothing takes more than its limit
 */
#include "query/expressions/exprquery.h"
#include "query/functions/gexp.h"
#include "tests/fuzz/fuzz_store.h"

#define START_S   1499997600ll
#define NOW_MS    1600000000000ll
#define ROWS      600
#define MAX_BYTES ((uint64_t)32 << 20)

/* Metrics a, b, c with hosts x, y and keys that differ. */
static void put(const char *text, const char *metric, const char *host, const char *dc)
{
    struct sto_tag_text tags[] = {{TS_SLICE_LIT("h"), ts_slice_str(host)},
                                  {TS_SLICE_LIT("dc"), ts_slice_str(dc)}};
    const struct sto_series *series;
    CHECK(sto_series_resolve(sto_store_catalog(store), ts_slice_str(text), (uint32_t)strlen(metric), tags, 2,
                             true, &series, NULL) == 0);
    for (int64_t i = 0; i < 20; i++) {
        struct ts_num v = {
            .m = (i * 7919 + text[0] * 31) % 50 - 20, .kind = i % 3 ? TS_NUM_INT : TS_NUM_DEC, .exp = 1};
        v.exp = v.kind == TS_NUM_INT ? 0 : 1;
        CHECK(sto_put(sto_writer(store, 0), series, (START_S + i * (10 + text[0] % 3)) * 1000, v, false) ==
              0);
    }
}

static void start(void)
{
    struct ts_error err = {0};
    ts_log_set_level(TS_LOG_ERROR + 1);
    open_store((struct sto_opts){
        .own_threads = true, .n_writers = 1, .no_background = true, .wal_sync = STO_SYNC_NONE});
    put("a h=x dc=l", "a", "x", "l");
    put("a h=y dc=l", "a", "y", "l");
    put("b h=x dc=l", "b", "x", "l");
    put("b h=z dc=m", "b", "z", "m");
    put("c h=x dc=m", "c", "x", "m");
    put("c h=x dc=l", "c", "x", "l");
    sto_writer_turn(sto_writer(store, 0));
    CHECK(sto_flush(store, STO_LEVEL_LOG, &err) == 0);
}

/* --- formulas --- */
static void formula(struct ts_slice text, bool compat, struct ts_arena *arena)
{
    struct ts_error err = {0};
    struct qry_expr e;
    int rc = qry_expr_parse(text, compat, arena, &e, &err);
    check_answer(rc, &err);
    if (rc < 0)
        return;
    CHECK(e.n_ops && e.n_stack && e.n_vars <= QRY_EXPR_MAX_VARS);
    double *in = ts_arena_alloc(arena, ROWS * sizeof *in),
           *out = ts_arena_zalloc(arena, 2 * ROWS * sizeof *out);
    const double **vars = ts_arena_alloc(arena, (e.n_vars + 1) * sizeof(*vars));
    for (size_t i = 0; i < ROWS; i++)
        in[i] = i % 7 == 3 ? __builtin_nan("") : (double)i - 40;
    for (size_t v = 0; v < e.n_vars; v++)
        vars[v] = in;
    char *scratch = ts_xmalloc(qry_expr_scratch_bytes(&e)); /* exactly: a sanitizer sees writes beyond */
    rc = qry_expr_run(&e, vars, ROWS, scratch, out, &err);
    check_answer(rc, &err);
    CHECK(rc == 0 || compat);
    if (rc == 0)
        CHECK(qry_expr_run(&e, vars, ROWS, scratch, out + ROWS, &err) == 0 &&
              memcmp(out, out + ROWS, ROWS * sizeof *out) == 0);
    ts_free(scratch);
}

/* --- requests --- */
/* Times are in order. */
static int take_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    (void)arg, (void)err;
    CHECK(s->metric.p && s->n_places <= 1000);
    for (size_t i = 1; i < s->n; i++)
        CHECK(s->ts_ms[i - 1] < s->ts_ms[i]);
    return 0;
}

static int take_columns(void *arg, const struct qry_exp_result *r, struct ts_error *err)
{
    double sum = 0;
    (void)arg, (void)err;
    for (size_t i = 1; i < r->n_rows; i++)
        CHECK(r->ts_ms[i - 1] < r->ts_ms[i]);
    for (size_t c = 0; c < r->n_cols; c++)
        for (size_t i = 0; i < r->n_rows; i++)
            sum += r->v[c][i];
    __asm__ volatile("" : : "g"(&sum)); /* all values were read */
    return 0;
}

static void functions(struct ts_slice text, bool compat, struct ts_arena *arena)
{
    struct qry_limit limit = {.max_bytes = MAX_BYTES, .max_points = 100000};
    struct ts_error err = {0};
    struct qry_gexp g;
    struct qry_param params[] = {{TS_SLICE_LIT("start"), TS_SLICE_LIT("1499997600")},
                                 {TS_SLICE_LIT("end"), TS_SLICE_LIT("1499998000")},
                                 {TS_SLICE_LIT("exp"), text}};
    int rc = qry_gexp_parse(params, 3, NOW_MS, compat, arena, &g, &err);
    check_answer(rc, &err);
    if (rc < 0)
        return;
    CHECK(g.n_exps == 1 && g.n_leaves && g.n_leaves >= g.spec.n_subs);
    rc = qry_gexp_run(store, NULL, &g, &limit, take_series, NULL, &err);
    check_answer(rc, &err);
}

static void request(struct ts_slice text, bool compat, struct ts_arena *arena)
{
    struct qry_limit limit = {.max_bytes = MAX_BYTES, .max_points = 100000};
    struct ts_error err = {0};
    struct qry_exp q;
    int rc = qry_exp_parse(text, NOW_MS, compat, arena, &q, &err);
    check_answer(rc, &err);
    if (rc < 0)
        return;
    CHECK(q.n_metrics && q.n_outputs && q.spec.n_subs == q.n_metrics);
    rc = qry_exp_run(store, NULL, &q, &limit, take_columns, NULL, &err);
    check_answer(rc, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!store)
        start();
    if (n == 0)
        return 0;
    struct ts_arena arena = {0};
    char *copy = ts_xmalloc(n); /* exactly: a sanitizer sees reads beyond */
    memcpy(copy, data + 1, n - 1);
    struct ts_slice text = {copy, n - 1};
    bool compat = data[0] & 16;
    if ((data[0] & 3) == 0)
        formula(text, compat, &arena);
    else if ((data[0] & 3) == 1)
        functions(text, compat, &arena);
    else
        request(text, compat, &arena);
    ts_arena_release(&arena);
    ts_free(copy);
    return 0;
}
