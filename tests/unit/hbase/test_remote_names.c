/*
 * test_remote_names.c - cached ids are bounded and follow the tables; series and TSUIDs; suggestions and renames.
 */
#include "tests/unit/hbase/ids_kit.h"

#define M STO_REMOTE_METRIC
#define K STO_REMOTE_TAGK
#define V STO_REMOTE_TAGV

/* --- the cache --- */

static void test_remote_names__cache_is_bounded_by_number(void **state)
{
    struct t_names *w = t_names_new(V, "w", 100);
    (void)state;
    sto_hbase_ids_free(ids);
    t_cache_open(10, NULL);
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    assert_int_equal(t_status("id_cache_names"), 10);
    uint64_t n = t_calls();
    assert_int_equal(t_id(STO_REMOTE_FIND, V, "w99"), w->list[99].id); /* used last */
    assert_int_equal(t_calls(), n);
    assert_int_equal(t_id(STO_REMOTE_FIND, V, "w0"), w->list[0].id);
    assert_int_equal(t_calls(), n + 1);
    /* what is used stays */
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(t_id(STO_REMOTE_FIND, V, "w99"), w->list[99].id);
        assert_int_equal(t_id(STO_REMOTE_FIND, V, w->text[i]), w->list[i].id);
    }
    assert_true(t_calls() <= n + 1 + 50);
    ts_free(w);
}

static void test_remote_names__cache_is_counted(void **state)
{
    struct t_names *w = t_names_new(V, "w", 2000);
    static struct ts_budget memory; /* until the teardown */
    (void)state;
    ts_budget_init(&memory, "ids", "hbase_id_cache", NULL, 128 << 10);
    sto_hbase_ids_free(ids);
    t_cache_open(0, &memory);
    for (size_t i = 0; i < w->n; i += 100)
        t_make(w->list + i, 100);
    t_check(w->list, w->n);
    assert_true(t_status("id_cache_bytes") > 32 << 10);
    assert_true(t_status("id_cache_bytes") <= 64 << 10); /* as much is left for others */
    assert_true(t_status("id_cache_names") < 2000);
    assert_true(t_status("id_cache_bytes") / t_status("id_cache_names") < 160);
    sto_hbase_ids_free(ids);
    ids = NULL;
    assert_int_equal(memory.used_bytes, 0);
    ts_free(w);
}

static void test_remote_names__each_direction_is_what_hbase_said(void **state)
{
    /* number 5 lost a race for the name a, and keeps its reverse mapping */
    struct sto_remote_name lost = {.kind = V, .id = 5};
    (void)state;
    t_put_forward(V, TS_SLICE_LIT("a"), 4);
    t_put_reverse(V, 4, TS_SLICE_LIT("a"));
    t_put_reverse(V, 5, TS_SLICE_LIT("a"));
    assert_int_equal(t_look_up(STO_REMOTE_BY_ID, &lost, 1), 0);
    assert_true(ts_slice_is(lost.name, "a"));
    assert_int_equal(t_id(STO_REMOTE_MAKE, V, "a"), 4);
    assert_int_equal(t_look_up(STO_REMOTE_BY_ID, &lost, 1), 0);
    assert_int_equal(lost.rc, 0);
    lost.id = 6;
    assert_int_equal(t_look_up(STO_REMOTE_BY_ID, &lost, 1), 0);
    assert_int_equal(lost.rc, TS_ENOTFOUND);
    lost.id = 1 << 24; /* wider than an id */
    assert_int_equal(t_look_up(STO_REMOTE_BY_ID, &lost, 1), 0);
    assert_int_equal(lost.rc, TS_ENOTFOUND);
}

/* Remove a name as `tsd uid delete` does. */
static void delete_name(enum sto_remote_kind kind, const char *name, uint64_t id)
{
    fake_hbase_delete(fake, T_UID, ts_slice_str(name), "id", sto_hbase_uid_qualifier(kind));
    fake_hbase_delete(fake, T_UID, t_bytes(kind, id), "name", sto_hbase_uid_qualifier(kind));
}

static void test_remote_names__names_are_verified_every_ten_minutes(void **state)
{
    (void)state;
    uint64_t a = t_id(STO_REMOTE_MAKE, V, "a"), b = t_id(STO_REMOTE_MAKE, V, "b"), n = t_calls();
    /* another program renames a to c and deletes b */
    fake_hbase_delete(fake, T_UID, TS_SLICE_LIT("a"), "id", sto_hbase_uid_qualifier(V));
    t_put_forward(V, TS_SLICE_LIT("c"), a);
    t_put_reverse(V, a, TS_SLICE_LIT("c"));
    delete_name(V, "b", b);
    now_ms += STO_HBASE_IDS_VERIFY_MS - 1;
    assert_int_equal(t_id(STO_REMOTE_MAKE, V, "a"), a);
    assert_int_equal(t_id(STO_REMOTE_FIND, V, "b"), b);
    assert_int_equal(t_calls(), n);
    now_ms += 1;
    struct sto_remote_name list[] = {{.kind = V, .name = TS_SLICE_LIT("a")},
                                     {.kind = V, .name = TS_SLICE_LIT("b")}};
    assert_int_equal(t_look_up(STO_REMOTE_FIND, list, 2), 0);
    assert_int_equal(list[0].rc, TS_ENOTFOUND);
    assert_int_equal(list[1].rc, TS_ENOTFOUND);
    assert_int_equal(t_calls(), n + 1);
    struct sto_remote_name by_id = {.kind = V, .id = a};
    assert_int_equal(t_look_up(STO_REMOTE_BY_ID, &by_id, 1), 0);
    assert_true(ts_slice_is(by_id.name, "c"));
    assert_int_equal(t_id(STO_REMOTE_MAKE, V, "c"), a);
    assert_int_equal(t_id(STO_REMOTE_MAKE, V, "b"), 3); /* only now it gets a new one */
    assert_int_equal(t_id(STO_REMOTE_MAKE, V, "a"), 4);
}

static void test_remote_names__names_that_did_not_change_are_read_once(void **state)
{
    struct t_names *w = t_names_new(V, "w", 100);
    (void)state;
    t_make(w->list, w->n);
    now_ms += STO_HBASE_IDS_VERIFY_MS;
    uint64_t n = t_calls();
    t_make(w->list, w->n);
    assert_int_equal(t_calls(), n + 1);
    t_make(w->list, w->n);
    assert_int_equal(t_calls(), n + 1);
    /* without HBase a name is not used that nobody has verified */
    now_ms += STO_HBASE_IDS_VERIFY_MS;
    fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR});
    assert_int_equal(t_look_up(STO_REMOTE_FIND, w->list, w->n), TS_EBACKEND);
    ts_free(w);
}

/* --- series --- */

#define N_SERIES 500

/* Series of one metric; series i has the host w(i) and the tag dc. */
struct many {
    struct t_names *hosts;
    struct sto_remote_tag tags[N_SERIES][2];
    struct sto_remote_series series[N_SERIES];
    const struct sto_remote_series *list[N_SERIES];
    struct sto_hbase_series_id out[N_SERIES];
};

static struct many *many_new(void)
{
    struct many *m = ts_xcalloc(1, sizeof *m);
    m->hosts = t_names_new(V, "w", N_SERIES);
    for (size_t i = 0; i < N_SERIES; i++) {
        m->tags[i][0] = (struct sto_remote_tag){TS_SLICE_LIT("dc"), TS_SLICE_LIT("lga")};
        m->tags[i][1] = (struct sto_remote_tag){TS_SLICE_LIT("host"), m->hosts->list[i].name};
        m->series[i] = (struct sto_remote_series){
            .key = i + 7, .metric = TS_SLICE_LIT("sys.cpu"), .tags = m->tags[i], .n_tags = 2};
        m->list[i] = &m->series[i];
    }
    return m;
}

static void many_free(struct many *m)
{
    ts_free(m->hosts);
    ts_free(m);
}

static void many_get(struct many *m, enum sto_remote_lookup what, size_t n)
{
    err = (struct ts_error){0};
    int rc = sto_hbase_ids_series(ids, &session, what, m->list, n, m->out, &err);
    if (rc < 0)
        fail_msg("series: %d %s", rc, err.text);
}

static void test_remote_names__series_are_found_without_their_names(void **state)
{
    struct many *m = many_new();
    (void)state;
    many_get(m, STO_REMOTE_FIND, N_SERIES);
    assert_int_equal(m->out[0].rc, TS_ENOTFOUND);
    assert_int_equal(m->out[0].n, 0);
    many_get(m, STO_REMOTE_MAKE, N_SERIES);
    assert_int_equal(m->out[3].rc, 0);
    assert_int_equal(m->out[3].n, 15);
    /* metric 1; dc = 1, lga = 1; host = 2, w3 = 5 */
    assert_memory_equal(m->out[3].tsuid, "\0\0\1\0\0\1\0\0\1\0\0\2\0\0\5", 15);
    uint64_t n = t_calls();
    m->series[3].metric = TS_SLICE_LIT("not looked at");
    many_get(m, STO_REMOTE_MAKE, N_SERIES);
    assert_int_equal(t_calls(), n);
    assert_memory_equal(m->out[3].tsuid, "\0\0\1\0\0\1\0\0\1\0\0\2\0\0\5", 15);
    assert_int_equal(t_status("id_cache_series"), N_SERIES);
    many_free(m);
}

static void test_remote_names__series_follow_the_tables(void **state)
{
    struct many *m = many_new();
    (void)state;
    many_get(m, STO_REMOTE_MAKE, N_SERIES);
    delete_name(V, "w3", 5);
    uint64_t n = t_calls();
    now_ms += STO_HBASE_IDS_VERIFY_MS;
    many_get(m, STO_REMOTE_FIND, N_SERIES);
    assert_int_equal(t_calls(), n + 3); /* one for each kind */
    assert_int_equal(m->out[3].rc, TS_ENOTFOUND);
    assert_int_equal(m->out[4].rc, 0);
    many_get(m, STO_REMOTE_MAKE, N_SERIES);
    assert_int_equal(m->out[3].rc, 0);
    assert_memory_equal(m->out[3].tsuid + 12, t_bytes(V, N_SERIES + 2).p, 3);
    n = t_calls();
    many_get(m, STO_REMOTE_FIND, N_SERIES);
    assert_int_equal(t_calls(), n);
    many_free(m);
}

static void test_remote_names__a_rename_here_changes_series_at_once(void **state)
{
    struct many *m = many_new();
    (void)state;
    many_get(m, STO_REMOTE_MAKE, 2);
    assert_int_equal(
        sto_hbase_ids_rename(ids, &session, M, TS_SLICE_LIT("sys.cpu"), TS_SLICE_LIT("cpu"), &err), 0);
    many_get(m, STO_REMOTE_FIND, 2);
    assert_int_equal(m->out[0].rc, TS_ENOTFOUND);
    m->series[0].metric = m->series[1].metric = TS_SLICE_LIT("cpu");
    many_get(m, STO_REMOTE_FIND, 2);
    assert_int_equal(m->out[0].rc, 0);
    assert_memory_equal(m->out[0].tsuid, "\0\0\1\0\0\1", 6);
    many_free(m);
}

static void test_remote_names__series_that_cannot_be_stored(void **state)
{
    struct many *m = many_new();
    (void)state;
    m->tags[1][1].v = TS_SLICE_LIT("\xe4\xba\xac");
    m->series[2].n_tags = 0;
    many_get(m, STO_REMOTE_MAKE, 4);
    assert_int_equal(m->out[0].rc, 0);
    assert_int_equal(m->out[1].rc, TS_EINVAL);
    assert_non_null(strstr(m->out[1].why.text, "ISO-8859-1"));
    assert_int_equal(m->out[2].rc, TS_EINVAL);
    assert_int_equal(m->out[3].rc, 0);
    many_free(m);
}

/* --- TSUIDs --- */

static void test_remote_names__tsuids_are_resolved_together(void **state)
{
    struct many *m = many_new();
    struct ts_slice tsuids[N_SERIES + 2];
    struct sto_remote_series *out = ts_xcalloc(N_SERIES + 2, sizeof *out);
    struct sto_remote_tag *tags = ts_xcalloc((N_SERIES + 2) * STO_HBASE_MAX_TAGS, sizeof *tags);
    int rcs[N_SERIES + 2];
    (void)state;
    many_get(m, STO_REMOTE_MAKE, N_SERIES);
    for (size_t i = 0; i < N_SERIES; i++)
        tsuids[i] = (struct ts_slice){(const char *)m->out[i].tsuid, m->out[i].n};
    tsuids[N_SERIES] = TS_SLICE_LIT("\0\0\1\0\0\1\0\x77\x77");
    tsuids[N_SERIES + 1] = TS_SLICE_LIT("\0\0\1\0\0");
    t_cache_renew();
    uint64_t n = t_calls();
    for (int round = 0; round < 2; round++) {
        ts_buf_clear(&found);
        assert_int_equal(
            sto_hbase_ids_of_tsuids(ids, &session, tsuids, N_SERIES + 2, &found, tags, out, rcs, &err), 0);
        assert_int_equal(t_calls(),
                         n + 3 + (unsigned)round); /* one for each kind; then the one that is missing */
        for (size_t i = 0; i < N_SERIES; i++) {
            assert_int_equal(rcs[i], 0);
            assert_true(ts_slice_is(out[i].metric, "sys.cpu"));
            assert_int_equal(out[i].n_tags, 2);
            assert_true(ts_slice_is(out[i].tags[0].k, "dc"));
            assert_true(ts_slice_is(out[i].tags[1].k, "host"));
            assert_true(ts_slice_eq(out[i].tags[1].v, m->hosts->list[i].name));
        }
        assert_int_equal(rcs[N_SERIES], TS_ENOTFOUND);
        assert_int_equal(rcs[N_SERIES + 1], TS_ECORRUPT);
    }
    ts_free(out);
    ts_free(tags);
    many_free(m);
}

static void test_remote_names__one_tsuid(void **state)
{
    struct sto_remote_tag tags[STO_HBASE_MAX_TAGS];
    struct sto_remote_series out;
    struct many *m = many_new();
    (void)state;
    many_get(m, STO_REMOTE_MAKE, 1);
    struct ts_slice tsuid = {(const char *)m->out[0].tsuid, m->out[0].n};
    assert_int_equal(sto_hbase_ids_of_tsuid(ids, &session, tsuid, &found, tags, &out, &err), 0);
    assert_true(ts_slice_is(out.metric, "sys.cpu"));
    assert_true(ts_slice_is(out.tags[1].v, "w0"));
    assert_int_equal(
        sto_hbase_ids_of_tsuid(ids, &session, TS_SLICE_LIT("\0\0\1\0\0\1\0\0\x77"), &found, tags, &out, &err),
        TS_ENOTFOUND);
    assert_int_equal(sto_hbase_ids_of_tsuid(ids, &session, TS_SLICE_LIT("x"), &found, tags, &out, &err),
                     TS_ECORRUPT);
    many_free(m);
}

/* --- suggestions --- */

struct seen {
    struct ts_buf text; /* names, a comma behind each */
    size_t n, stop;     /* names; it wants no more after so many, 0 = all */
};
static bool see(void *arg, struct ts_slice name)
{
    struct seen *s = arg;
    ts_buf_slice(&s->text, name);
    ts_buf_char(&s->text, ',');
    return ++s->n != s->stop;
}

static void suggests(const char *prefix, size_t max, const char *want)
{
    struct seen s = {.n = 0};
    assert_int_equal(sto_hbase_ids_suggest(ids, &session, V, ts_slice_str(prefix), max, see, &s, &err), 0);
    ts_buf_char(&s.text, 0);
    assert_string_equal(s.text.p, want);
    ts_buf_release(&s.text);
}

static void test_remote_names__suggestions_are_in_byte_order(void **state)
{
    static const char *const names[] = {"b", "a", "ab", "\xc3\xa4pfel", "ac", "z", "\xc3\xbf", "\xc3\xbfz"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)t_id(STO_REMOTE_MAKE, V, names[i]);
    (void)t_id(STO_REMOTE_MAKE, M, "a.metric");
    suggests("", 25, "a,ab,ac,b,z,\xc3\xa4pfel,\xc3\xbf,\xc3\xbfz,");
    suggests("a", 25, "a,ab,ac,");
    suggests("a", 2, "a,ab,");
    suggests("a", 0, "");
    suggests("\xc3\xa4", 25, "\xc3\xa4pfel,");
    suggests("\xc3\xbf", 25, "\xc3\xbf,\xc3\xbfz,");
    suggests("none", 25, "");
    suggests("\xe4\xba\xac", 25, "");
}

static void test_remote_names__many_suggestions(void **state)
{
    struct t_names *w = t_names_new(V, "w", 1000);
    struct seen s = {.n = 0};
    (void)state;
    t_make(w->list, w->n);
    assert_int_equal(sto_hbase_ids_suggest(ids, &session, V, TS_SLICE_LIT("w"), SIZE_MAX, see, &s, &err), 0);
    assert_int_equal(s.n, 1000);
    s.n = 0;
    s.stop = 300;
    assert_int_equal(sto_hbase_ids_suggest(ids, &session, V, TS_SLICE_LIT(""), SIZE_MAX, see, &s, &err), 0);
    assert_int_equal(s.n, 300);
    ts_buf_release(&s.text);
    ts_free(w);
}

/* --- renames --- */

static int rename_to(const char *from, const char *to)
{
    err = (struct ts_error){0};
    return sto_hbase_ids_rename(ids, &session, V, ts_slice_str(from), ts_slice_str(to), &err);
}

static void test_remote_names__a_rename_keeps_the_id(void **state)
{
    (void)state;
    uint64_t a = t_id(STO_REMOTE_MAKE, V, "a"), b = t_id(STO_REMOTE_MAKE, V, "b");
    assert_int_equal(rename_to("a", "c"), 0);
    assert_int_equal(t_forward(V, TS_SLICE_LIT("a")), 0);
    assert_int_equal(t_forward(V, TS_SLICE_LIT("c")), a);
    assert_true(t_reverse_is(V, a, TS_SLICE_LIT("c")));
    assert_int_equal(t_id(STO_REMOTE_FIND, V, "a"), 0);
    assert_int_equal(t_id(STO_REMOTE_FIND, V, "c"), a);
    assert_int_equal(rename_to("a", "d"), TS_ENOTFOUND);
    assert_int_equal(rename_to("b", "c"), TS_EEXIST);
    assert_int_equal(rename_to("b", "b"), TS_EEXIST);
    assert_int_equal(rename_to("b", "\xe4\xba\xac"), TS_EINVAL);
    assert_int_equal(t_forward(V, TS_SLICE_LIT("b")), b);
    assert_true(t_reverse_is(V, b, TS_SLICE_LIT("b")));
}

static void test_remote_names__every_request_of_a_rename_may_be_lost(void **state)
{
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP, FAKE_HBASE_DROP_AFTER,
                                                   FAKE_HBASE_IO_ERROR_AFTER};
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (unsigned skip = 0, happened = 1; happened; skip++) {
            t_close();
            t_open();
            uint64_t a = t_id(STO_REMOTE_MAKE, V, "a");
            fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = faults[f], .skip = skip});
            assert_int_equal(rename_to("a", "b"), 0);
            happened = fake_hbase_faults(fake) > 0;
            assert_int_equal(t_forward(V, TS_SLICE_LIT("a")), 0);
            assert_int_equal(t_forward(V, TS_SLICE_LIT("b")), a);
            assert_true(t_reverse_is(V, a, TS_SLICE_LIT("b")));
            assert_true(skip < 100);
        }
}

/* What another daemon does before the at-th request of our rename. */
static struct {
    uint64_t at, n;
    bool assigns; /* gives an id to the new name; else renames the same name to "other" */
    bool busy, done;
    int rc; /* of its rename */
} rival;

static void rival_acts(void *arg, const struct fake_hbase_request *r)
{
    (void)arg, (void)r;
    if (rival.busy || ++rival.n != rival.at)
        return;
    struct sto_hbase_session s;
    struct ts_error why = {0};
    struct ts_buf none = {0};
    struct sto_hbase_id_cache *theirs = sto_hbase_ids_new(&schema, T_UID, 0, NULL);
    struct sto_remote_name name = {.kind = V, .name = TS_SLICE_LIT("b")};
    rival.busy = true; /* its own requests come through here too */
    rival.rc = sto_hbase_begin(hbase, NULL, &s, &why);
    if (rival.rc == 0 && rival.assigns)
        rival.rc = sto_hbase_ids_names(theirs, &s, STO_REMOTE_MAKE, &name, 1, &none, &why);
    else if (rival.rc == 0)
        rival.rc = sto_hbase_ids_rename(theirs, &s, V, TS_SLICE_LIT("a"), TS_SLICE_LIT("other"), &why);
    sto_hbase_end(&s);
    sto_hbase_ids_free(theirs);
    rival.done = true;
}

static void test_remote_names__a_rename_beside_other_writers(void **state)
{
    (void)state;
    for (int assigns = 0; assigns < 2; assigns++)
        for (rival.at = 1, rival.done = true; rival.done; rival.at++) {
            t_close();
            t_open();
            uint64_t a = t_id(STO_REMOTE_MAKE, V, "a");
            rival.n = 0;
            rival.busy = rival.done = false;
            rival.assigns = assigns;
            fake_hbase_set_before(fake, rival_acts, NULL);
            int rc = rename_to("a", "b");
            fake_hbase_set_before(fake, NULL, NULL);
            uint64_t now_a = t_forward(V, TS_SLICE_LIT("a")), b = t_forward(V, TS_SLICE_LIT("b")),
                     o = t_forward(V, TS_SLICE_LIT("other"));
            /* exactly one name has the id, and the id shows it */
            assert_int_equal((now_a == a) + (b == a) + (o == a), 1);
            assert_true(t_reverse_is(V, a, ts_slice_str(now_a == a ? "a" : b == a ? "b" : "other")));
            assert_int_equal(rc == 0, b == a);
            if (rival.done && !assigns)
                assert_int_equal(rival.rc == 0, o == a);
            assert_true(rival.at < 100);
        }
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(test_remote_names__##NAME, t_setup, t_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cache_is_bounded_by_number),
        TEST(cache_is_counted),
        TEST(each_direction_is_what_hbase_said),
        TEST(names_are_verified_every_ten_minutes),
        TEST(names_that_did_not_change_are_read_once),
        TEST(series_are_found_without_their_names),
        TEST(series_follow_the_tables),
        TEST(a_rename_here_changes_series_at_once),
        TEST(series_that_cannot_be_stored),
        TEST(tsuids_are_resolved_together),
        TEST(one_tsuid),
        TEST(suggestions_are_in_byte_order),
        TEST(many_suggestions),
        TEST(a_rename_keeps_the_id),
        TEST(every_request_of_a_rename_may_be_lost),
        TEST(a_rename_beside_other_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
