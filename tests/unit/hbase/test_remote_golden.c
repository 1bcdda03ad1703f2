/*
 * test_remote_golden.c - shipping what OpenTSDB was told (tests/golden/hbase/puts.txt) makes the bytes that OpenTSDB stored.
 */
#include "tests/unit/hbase/t_fetch.h"
#include "tests/unit/hbase/t_golden.h"

#include "tests/unit/storage/remote_kit.h"

static struct t_fetch t;
static struct t_golden_puts puts_;
static bool fresh; /* rows are written without a look at HBase */
static const struct sto_hbase_schema plain = {3, 3, 3, 0, 20}, salted = {3, 3, 3, 1, 20};

/* --- shipping --- */

static void add_point(struct sto_cells *c, const struct t_golden_put *p)
{
    sto_cells_reserve(c, c->n + 1);
    c->meta[c->n] = p->off_ms | sto_meta_flags(STO_OP_PUT, p->value.kind, p->value.exp, p->ms);
    c->m[c->n++] = p->value.m;
}

static bool same_row(const struct t_golden_put *a, const struct t_golden_put *b)
{
    return a->base_s == b->base_s && a->ids.metric == b->ids.metric && a->ids.n_tags == b->ids.n_tags &&
           memcmp(a->ids.tag, b->ids.tag, a->ids.n_tags * sizeof a->ids.tag[0]) == 0;
}

static int by_key(const void *a, const void *b)
{
    return ts_slice_cmp(((const struct sto_remote_tag *)a)->k, ((const struct sto_remote_tag *)b)->k);
}

/* Ship points of one row. */
static void ship(const struct t_golden_put *p, const struct sto_cells *c)
{
    struct sto_remote_tag tags[8];
    struct r_result result = R_RESULT;
    for (size_t i = 0; i < p->ids.n_tags; i++) {
        tags[i].k = ts_slice_str(puts_.name[1][p->ids.tag[i].k - 1]);
        tags[i].v = ts_slice_str(puts_.name[2][p->ids.tag[i].v - 1]);
    }
    qsort(tags, p->ids.n_tags, sizeof tags[0], by_key);
    struct sto_remote_row row = {.series = {.key = STO_REMOTE_NO_KEY,
                                            .metric = ts_slice_str(puts_.name[0][p->ids.metric - 1]),
                                            .tags = tags,
                                            .n_tags = p->ids.n_tags},
                                 .hour = (int32_t)(p->base_s / 3600),
                                 .cells = c,
                                 .fresh = fresh};
    struct sto_shipment s = {
        .rows = &row, .n = 1, .n_bytes = 12 * c->n, .refused = r_refused, .arg = &result};
    t.remote->ops->ship(t.remote, &s, NULL, r_done, &result);
    assert_int_equal(r_wait(&result), 0);
    assert_int_equal(result.n_refused, 0);
}

static int by_time(const void *a, const void *b)
{
    const struct t_golden_put *x = *(const struct t_golden_put *const *)a,
                              *y = *(const struct t_golden_put *const *)b;
    return (x->off_ms > y->off_ms) - (x->off_ms < y->off_ms);
}

/* Rows that are not compared: those of r.dup, whose contradictions are never written here; and one that OpenTSDB had not compacted yet when its rows were
 * recorded. */
static bool is_left_out(const struct t_golden_put *p, bool compacts)
{
    const char *metric = puts_.name[0][p->ids.metric - 1];
    return strcmp(metric, "r.dup") == 0 ||
           (compacts && strcmp(metric, "r.hour") == 0 && p->base_s == 1357002000);
}

/* All rows of phase 1, each as one shipment. */
static void ship_all(bool compacts)
{
    static bool done[T_GOLDEN_PUTS];
    memset(done, 0, sizeof done);
    for (size_t i = 0; i < puts_.n; i++) {
        const struct t_golden_put *in_row[T_GOLDEN_PUTS];
        struct sto_cells c = {0};
        size_t n = 0;
        if (done[i] || puts_.put[i].phase != 1 || is_left_out(&puts_.put[i], compacts))
            continue;
        for (size_t k = i; k < puts_.n; k++)
            if (puts_.put[k].phase == 1 && same_row(&puts_.put[i], &puts_.put[k])) {
                in_row[n++] = &puts_.put[k];
                done[k] = true;
            }
        qsort(in_row, n, sizeof in_row[0], by_time);
        for (size_t k = 0; k < n; k++)
            add_point(&c, in_row[k]);
        ship(&puts_.put[i], &c);
        sto_cells_release(&c);
    }
}

/* --- the bytes --- */

struct dump {
    const char *skip; /* metric id of rows that are left out, in hexadecimal digits */
    size_t salt;      /* bytes of the key before it */
    struct ts_buf text;
    bool compacts;
    size_t n_rows, n_not_compacted;
};

static void hex(struct ts_buf *out, struct ts_slice bytes)
{
    char digits[2 * T_HEX_BYTES + 1];
    sto_hbase_hex_print(bytes, digits);
    ts_buf_printf(out, "%.*s", (int)(2 * bytes.n), digits);
}

/* A recorded row as fake_hbase_dump prints it. */
static void recorded(void *arg, struct t_golden_row *row)
{
    struct dump *d = arg;
    struct ts_slice key = t_slice(&row->key);
    struct ts_buf metric;
    ts_buf_init(&metric, 0);
    hex(&metric, (struct ts_slice){key.p + d->salt, 3});
    bool skip = strncasecmp(metric.p, d->skip, 6) == 0;
    ts_buf_release(&metric);
    if (!skip && d->compacts && row->n > 1) {
        d->n_not_compacted++;
        skip = true;
    }
    for (size_t i = 0; i < row->n && !skip; i++) {
        hex(&d->text, key);
        ts_buf_printf(&d->text, " %s:", row->family[i]);
        hex(&d->text, t_slice(&row->qualifier[i]));
        ts_buf_char(&d->text, '=');
        hex(&d->text, t_slice(&row->value[i]));
        ts_buf_char(&d->text, '\n');
    }
    d->n_rows += !skip;
}

/* Lower the letters of hexadecimal digits, which the fake and OpenTSDB write differently. */
static char *lower(struct ts_buf *b)
{
    ts_buf_char(b, 0);
    for (char *p = b->p; *p; p++)
        *p = (char)(*p >= 'A' && *p <= 'F' ? *p + 32 : *p);
    return b->p;
}

static void expect_rows(const char *file, struct sto_hbase_schema schema, bool compacts)
{
    struct ts_buf got;
    char skip[8];
    struct dump d = {.skip = skip, .salt = schema.salt_width, .compacts = compacts};
    struct ts_error err = {0};
    t_fetch_open(&t, schema, 4);
    if (compacts) {
        struct sto_thrift_gateway gateway = {"127.0.0.1", fake_hbase_port(t.fake)};
        t.remote->ops->close(t.remote);
        if (sto_hbase_open(&(struct sto_hbase_opts){.access = {.gateways = &gateway, .n_gateways = 1},
                                                    .schema = schema,
                                                    .compacts = true},
                           &t.remote, &err) < 0)
            fail_msg("%s", err.text);
    }
    for (int kind = 0; kind < 3; kind++)
        for (size_t k = 0; k < puts_.n_names[kind]; k++)
            t_fetch_name(&t, (enum sto_remote_kind)kind, puts_.name[kind][k], k + 1);
    (void)snprintf(skip, sizeof skip, "%06x", (unsigned)t_golden_id(&puts_, 0, "r.dup"));
    ship_all(compacts);
    ts_buf_init(&d.text, 0);
    ts_buf_init(&got, 0);
    (void)t_golden_each(file, "tsdb", recorded, &d);
    fake_hbase_dump(t.fake, "tsdb", false, &got);
    assert_int_equal(d.n_rows, compacts ? 9 : 10);
    assert_int_equal(d.n_not_compacted, compacts ? 1 : 0);
    assert_string_equal(lower(&got), lower(&d.text));
    ts_buf_release(&got);
    ts_buf_release(&d.text);
    t_fetch_close(&t);
}

static void expect_file(const char *file, struct sto_hbase_schema schema, bool compacts)
{
    for (int i = 0; i < 2; i++) {
        fresh = i == 0;
        expect_rows(file, schema, compacts);
    }
}

static void test_remote_golden__plain(void **state)
{
    (void)state;
    expect_file("plain.jsonl", plain, false);
}

static void test_remote_golden__salted(void **state)
{
    (void)state;
    expect_file("salt.jsonl", salted, false);
}

static void test_remote_golden__compacted(void **state)
{
    (void)state;
    expect_file("compacted.jsonl", plain, true);
}

static int by_id(const void *a, const void *b)
{
    const struct sto_hbase_pair *x = a, *y = b;
    return (x->k > y->k) - (x->k < y->k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_golden__plain),
        cmocka_unit_test(test_remote_golden__salted),
        cmocka_unit_test(test_remote_golden__compacted),
    };
    t_golden_puts(&puts_);
    for (size_t i = 0; i < puts_.n; i++)
        qsort(puts_.put[i].ids.tag, puts_.put[i].ids.n_tags, sizeof puts_.put[i].ids.tag[0], by_id);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
