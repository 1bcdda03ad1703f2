/*
 * test_remote_ids.c - ids are assigned in batches beside other writers, over connections that break: one name has one id, one id one name.
 */
#include "tests/unit/hbase/ids_kit.h"

#include <errno.h>

static const enum sto_remote_kind KINDS[] = {STO_REMOTE_METRIC, STO_REMOTE_TAGV};
#define N_KINDS (sizeof KINDS / sizeof *KINDS)

/* --- bytes --- */

static void test_remote_ids__table_equals_opentsdbs(void **state)
{
    static const struct {
        enum sto_remote_kind kind;
        const char *name;
    } names[] = {{STO_REMOTE_METRIC, "r.int"},   {STO_REMOTE_TAGK, "host"},     {STO_REMOTE_TAGV, "a"},
                 {STO_REMOTE_METRIC, "r.float"}, {STO_REMOTE_METRIC, "r.ms"},   {STO_REMOTE_METRIC, "r.hour"},
                 {STO_REMOTE_TAGK, "dc"},        {STO_REMOTE_TAGV, "x"},        {STO_REMOTE_METRIC, "r.tags"},
                 {STO_REMOTE_TAGK, "zz"},        {STO_REMOTE_TAGV, "1"},        {STO_REMOTE_TAGK, "aa"},
                 {STO_REMOTE_TAGV, "2"},         {STO_REMOTE_TAGK, "mm"},       {STO_REMOTE_TAGV, "3"},
                 {STO_REMOTE_TAGV, "4"},         {STO_REMOTE_METRIC, "r.dup"},  {STO_REMOTE_METRIC, "r.one"},
                 {STO_REMOTE_TAGV, "b"},         {STO_REMOTE_METRIC, "r.order"}};
    struct sto_remote_name list[sizeof names / sizeof *names];
    size_t n = sizeof names / sizeof *names;
    (void)state;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct sto_remote_name){.kind = names[i].kind, .name = ts_slice_str(names[i].name)};
    t_make(list, n);
    struct fake_hbase *golden = fake_hbase_start(STO_THRIFT_BUFFERED, 0);
    assert_true(fake_hbase_load(golden, T_GOLDEN_FOLDER "/plain.jsonl"));
    struct ts_buf want = {0}, have = {0};
    fake_hbase_dump(golden, T_UID, false, &want);
    fake_hbase_dump(fake, T_UID, false, &have);
    assert_true(want.n > 1000);
    assert_int_equal(have.n, want.n);
    assert_memory_equal(have.p, want.p, want.n);
    ts_buf_release(&want);
    ts_buf_release(&have);
    fake_hbase_stop(golden);
}

static void test_remote_ids__names_in_latin_1(void **state)
{
    struct sto_remote_name list[] = {{.kind = STO_REMOTE_TAGV, .name = TS_SLICE_LIT("K\xc3\xb6ln")},
                                     {.kind = STO_REMOTE_TAGV, .name = TS_SLICE_LIT("\xe4\xba\xac")},
                                     {.kind = STO_REMOTE_TAGV, .name = TS_SLICE_LIT("")},
                                     {.kind = STO_REMOTE_TAGV, .name = TS_SLICE_LIT("ok")}};
    (void)state;
    assert_int_equal(t_look_up(STO_REMOTE_MAKE, list, 4), 0);
    assert_int_equal(list[0].rc, 0);
    assert_int_equal(list[1].rc, TS_EINVAL);
    assert_int_equal(list[2].rc, TS_EINVAL);
    assert_int_equal(list[3].rc, 0);
    assert_int_equal(t_forward(STO_REMOTE_TAGV, TS_SLICE_LIT("K\xf6ln")), list[0].id);
    t_cache_renew();
    struct sto_remote_name by_id = {.kind = STO_REMOTE_TAGV, .id = list[0].id};
    assert_int_equal(t_look_up(STO_REMOTE_BY_ID, &by_id, 1), 0);
    assert_int_equal(by_id.rc, 0);
    assert_true(ts_slice_is(by_id.name, "K\xc3\xb6ln"));
}

/* --- calls --- */

static void test_remote_ids__one_conditional_change_a_name(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "host", 10000);
    (void)state;
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    uint64_t n_cas = fake_hbase_count(fake, STO_THRIFT_CHECK_AND_PUT), n_others = t_calls() - n_cas;
    print_message("10000 new names: %llu compare-and-sets, %llu other calls\n", (unsigned long long)n_cas,
                  (unsigned long long)n_others);
    assert_int_equal(n_cas, 10000);
    assert_int_equal(n_others,
                     40); /* for 1000 names: look up, increment, look at the numbers, put their names */
    assert_int_equal(t_counter(STO_REMOTE_TAGV), 10000);
    t_make(w->list, w->n);
    assert_int_equal(t_calls(), n_cas + n_others);
    ts_free(w);
}

/* --- another writer --- */

/* What the other writer does before the at-th request. */
static struct {
    enum sto_remote_kind kind;
    uint64_t at, n;   /* requests so far */
    const char *name; /* gets an id */
    bool at_random;   /* the id is the next one of the counter, which is not incremented */
    uint64_t id;      /* [out] that it has */
    bool done;
} other;

static void other_writer(void *arg, const struct fake_hbase_request *r)
{
    (void)arg, (void)r;
    if (++other.n != other.at)
        return;
    other.done = true;
    if (!other.at_random) {
        other.id = t_opentsdb_assigns(other.kind, other.name);
        return;
    }
    for (other.id = 1; !t_reverse_is(other.kind, other.id, (struct ts_slice){NULL, 0}); other.id++)
        ;
    t_put_reverse(other.kind, other.id, ts_slice_str(other.name));
    t_put_forward(other.kind, ts_slice_str(other.name), other.id);
}

/* Let it come before each request in turn; our names are w0 to w6. */
static void race(enum sto_remote_kind kind, const char *name, bool at_random)
{
    bool done = true;
    for (uint64_t at = 1; done; at++) {
        t_close();
        t_open();
        struct t_names *w = t_names_new(kind, "w", 7);
        other.kind = kind;
        other.name = name;
        other.at = at;
        other.n = 0;
        other.done = false;
        other.at_random = at_random;
        fake_hbase_set_before(fake, other_writer, NULL);
        t_make(w->list, w->n);
        fake_hbase_set_before(fake, NULL, NULL);
        done = other.done;
        t_check(w->list, w->n);
        if (done) {
            struct sto_remote_name theirs = {.kind = kind, .name = ts_slice_str(name), .id = other.id};
            t_check(&theirs, 1);
        }
        assert_true(at < 100);
        ts_free(w);
    }
}

static void test_remote_ids__another_writer_assigns_one_of_our_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_KINDS; i++) {
        race(KINDS[i], "w0", false);
        race(KINDS[i], "w3", false);
    }
}

static void test_remote_ids__another_writer_assigns_another_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_KINDS; i++)
        race(KINDS[i], "other", false);
}

/* tsd.core.uid.random_metrics: numbers that do not come from the counter. */
static void test_remote_ids__another_writer_takes_numbers_at_random(void **state)
{
    (void)state;
    race(STO_REMOTE_METRIC, "other", true);
}

/* --- broken connections --- */

static void test_remote_ids__every_request_may_be_lost(void **state)
{
    static const enum fake_hbase_fault faults[] = {FAKE_HBASE_DROP, FAKE_HBASE_DROP_AFTER,
                                                   FAKE_HBASE_IO_ERROR, FAKE_HBASE_IO_ERROR_AFTER,
                                                   FAKE_HBASE_HALF};
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (size_t k = 0; k < N_KINDS; k++)
            for (unsigned skip = 0, happened = 1; happened; skip++) {
                t_close();
                t_open();
                struct t_names *w = t_names_new(KINDS[k], "w", 3);
                fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = faults[f], .skip = skip});
                t_make(w->list, w->n);
                happened = fake_hbase_faults(fake) > 0;
                t_check(w->list, w->n);
                assert_true(skip < 100);
                ts_free(w);
            }
}

/* A gateway that answers with the rows in another order: no name gets the id of another one. */
static void test_remote_ids__rows_in_another_order(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 5);
    (void)state;
    t_make(w->list, w->n);
    t_cache_renew();
    fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_OTHER_ORDER,
                                                     .of_call = true,
                                                     .call = STO_THRIFT_GET_MULTIPLE});
    assert_int_equal(t_look_up(STO_REMOTE_FIND, w->list, w->n), TS_EBACKEND);
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    ts_free(w);
}

static void test_remote_ids__all_conditional_changes_break_once(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 50);
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_DROP_AFTER,
                                                         .of_call = true,
                                                         .call = STO_THRIFT_CHECK_AND_PUT,
                                                         .skip = 10 * i});
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    assert_int_equal(t_counter(STO_REMOTE_TAGV), 50); /* no number was lost */
    ts_free(w);
}

static void test_remote_ids__a_repeat_after_the_deadline_gets_the_same_ids(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 5);
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + 300000000};
    (void)state;
    fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_HANG,
                                                     .of_call = true,
                                                     .call = STO_THRIFT_CHECK_AND_PUT,
                                                     .skip = 2,
                                                     .n = UINT_MAX});
    sto_hbase_end(&session);
    int rc = sto_hbase_begin(hbase, &call, &session, &err);
    if (rc == 0)
        rc = t_look_up(STO_REMOTE_MAKE, w->list, w->n);
    assert_true(rc < 0);
    sto_hbase_end(&session);
    fake_hbase_heal(fake);
    t_begin(&session);
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    ts_free(w);
}

static void test_remote_ids__a_final_error_ends_the_call(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_METRIC, "w", 5);
    (void)state;
    for (unsigned skip = 0; skip < 10; skip++) {
        fake_hbase_inject(fake, (struct fake_hbase_plan){.fault = FAKE_HBASE_FINAL_ERROR, .skip = skip});
        assert_int_equal(t_look_up(STO_REMOTE_MAKE, w->list, w->n), TS_EBACKEND);
        fake_hbase_heal(fake);
        t_make(w->list, 5);
        t_close();
        t_open();
    }
    ts_free(w);
}

/* --- numbers that cannot be used --- */

static void test_remote_ids__numbers_with_a_name_are_not_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_KINDS; i++) {
        struct t_names *w = t_names_new(KINDS[i], "w", 3);
        t_put_reverse(KINDS[i], 2, TS_SLICE_LIT("before"));
        t_make(w->list, w->n);
        t_check(w->list, w->n);
        assert_true(t_reverse_is(KINDS[i], 2, TS_SLICE_LIT("before")));
        assert_int_equal(t_counter(KINDS[i]), 4);
        ts_free(w);
    }
    assert_int_equal(t_status("ids_unused"), 2);
}

static void test_remote_ids__a_counter_far_behind_is_named(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGK, "w", 2);
    (void)state;
    for (uint64_t id = 1; id <= 30; id++)
        t_put_reverse(STO_REMOTE_TAGK, id, TS_SLICE_LIT("before"));
    assert_int_equal(t_look_up(STO_REMOTE_MAKE, w->list, w->n), TS_EBACKEND);
    assert_non_null(strstr(err.text, "tag keys"));
    assert_non_null(strstr(err.text, "fsck"));
    t_make(w->list, w->n); /* it goes on where it stopped */
    assert_int_equal(w->list[0].id, 31);
    t_check(w->list, w->n);
    ts_free(w);
}

/* HBase loses all that it has acknowledged about names, as one does that cannot sync its log. */
static void lose_ids(void)
{
    struct ts_buf dump = {0};
    fake_hbase_dump(fake, T_UID, false, &dump);
    for (char *line = dump.p, *end; dump.n && (end = memchr(line, '\n', (size_t)(dump.p + dump.n - line)));
         line = end + 1) {
        uint8_t row[64];
        size_t n = 0;
        for (; line[2 * n] != ' '; n++) {
            unsigned byte = 0;
            assert_true(n < sizeof row && sscanf(line + 2 * n, "%2x", &byte) == 1);
            row[n] = (uint8_t)byte;
        }
        fake_hbase_delete(fake, T_UID, (struct ts_slice){(const char *)row, n}, "id",
                          (struct ts_slice){NULL, 0});
    }
    ts_buf_release(&dump);
    fake_hbase_compact(fake, T_UID);
    assert_int_equal(fake_hbase_cells(fake, T_UID), 0);
}

static void test_remote_ids__a_lost_id_is_not_given_to_another_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_KINDS; i++) {
        struct t_names *old = t_names_new(KINDS[i], "old", 3), *new = t_names_new(KINDS[i], "new", 3);
        t_make(old->list, old->n);
        uint64_t last = old->list[2].id;
        lose_ids();
        now_ms++;
        t_make(new->list, new->n); /* the counter begins with 1 again */
        t_check(new->list, new->n);
        for (size_t k = 0; k < new->n; k++)
            assert_true(new->list[k].id > last);
        now_ms++;
        t_make(old->list, old->n); /* it was noticed that their mappings are lost */
        t_check(old->list, old->n);
        t_make(new->list, new->n);
        t_check(new->list, new->n);
        ts_free(old);
        ts_free(new);
    }
}

static void test_remote_ids__what_is_distrusted_is_read_again(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 3);
    const struct sto_remote_tag tag = {TS_SLICE_LIT("k"), TS_SLICE_LIT("w0")};
    const struct sto_remote_series series = {
        .key = 1, .metric = TS_SLICE_LIT("m"), .tags = &tag, .n_tags = 1};
    const struct sto_remote_series *list = &series;
    struct sto_hbase_series_id id;
    (void)state;
    t_make(w->list, w->n);
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_MAKE, &list, 1, &id, &err), 0);
    uint64_t n_calls = t_calls();
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_FIND, &list, 1, &id, &err), 0);
    assert_int_equal(t_calls(), n_calls); /* from the cache */
    lose_ids();
    sto_hbase_ids_distrust(ids);
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_FIND, &list, 1, &id, &err), 0);
    assert_int_equal(id.rc, TS_ENOTFOUND);
    now_ms++;
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_MAKE, &list, 1, &id, &err), 0);
    assert_int_equal(id.rc, 0);
    assert_int_equal(sto_hbase_get(id.tsuid + 6, 3), t_forward(STO_REMOTE_TAGV, TS_SLICE_LIT("w0")));
    now_ms++; /* the numbers of the counter were known, which is noticed, too */
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_FIND, &list, 1, &id, &err), 0);
    n_calls = t_calls();
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_FIND, &list, 1, &id, &err), 0);
    assert_int_equal(t_calls(), n_calls); /* trusted again */
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    ts_free(w);
}

static void test_remote_ids__ids_of_another_width_are_refused(void **state)
{
    struct sto_remote_name name = {.kind = STO_REMOTE_TAGV, .name = TS_SLICE_LIT("a")};
    (void)state;
    schema.tagv_width = 4;
    t_put_forward(STO_REMOTE_TAGV, name.name, 7);
    schema.tagv_width = 3;
    assert_int_equal(t_look_up(STO_REMOTE_MAKE, &name, 1), TS_EBACKEND);
    assert_non_null(strstr(err.text, "\"a\""));
}

/* FIND fails for all names of a call, FIND_EACH for the damaged one alone. */
static void test_remote_ids__a_damaged_name_may_fail_alone(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 3);
    (void)state;
    t_make(w->list, w->n);
    t_cache_renew();
    schema.tagv_width = 4;
    t_put_forward(STO_REMOTE_TAGV, w->list[1].name, 7);
    schema.tagv_width = 3;
    assert_int_equal(t_look_up(STO_REMOTE_FIND, w->list, w->n), TS_EBACKEND);
    assert_non_null(strstr(err.text, "the entry of the tag value \"w1\" in table "));
    assert_non_null(strstr(err.text, " is damaged; run tsd uid fsck --hbase ("));
    assert_int_equal(t_look_up(STO_REMOTE_FIND_EACH, w->list, w->n), 0);
    assert_int_equal(w->list[0].rc, 0);
    assert_int_equal(w->list[1].rc, TS_ECORRUPT);
    assert_int_equal(w->list[2].rc, 0);
    ts_free(w);
}

static void test_remote_ids__a_full_width_names_its_key(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 10);
    (void)state;
    schema.tagv_width = 1;
    t_cache_renew();
    t_put_counter(STO_REMOTE_TAGV, 250);
    assert_int_equal(t_look_up(STO_REMOTE_MAKE, w->list, w->n), TS_ELIMIT);
    assert_non_null(strstr(err.text, "tag values"));
    assert_non_null(strstr(err.text, "hbase_tagv_width = 1"));
    t_make(w->list, 5); /* those got the last ids */
    assert_int_equal(w->list[4].id, 255);
    t_check(w->list, 5);
    assert_int_equal(t_id(STO_REMOTE_FIND, STO_REMOTE_TAGV, "w7"), 0);
    /* Only after a while it looks whether there are ids again. */
    uint64_t n = fake_hbase_count(fake, STO_THRIFT_INCREMENT);
    assert_int_equal(t_look_up(STO_REMOTE_MAKE, w->list, w->n), TS_ELIMIT);
    assert_int_equal(fake_hbase_count(fake, STO_THRIFT_INCREMENT), n);
    t_put_counter(STO_REMOTE_TAGV, 200);
    now_ms += STO_HBASE_IDS_VERIFY_MS;
    t_make(w->list, w->n);
    t_check(w->list, w->n);
    ts_free(w);
}

static void test_remote_ids__series_without_a_free_id_do_not_stop_others(void **state)
{
    struct sto_remote_tag old = {TS_SLICE_LIT("host"), TS_SLICE_LIT("a")},
                          new = {TS_SLICE_LIT("host"), TS_SLICE_LIT("b")};
    struct sto_remote_series s[] = {{.key = 1, .metric = TS_SLICE_LIT("m"), .tags = &new, .n_tags = 1},
                                    {.key = 2, .metric = TS_SLICE_LIT("m"), .tags = &old, .n_tags = 1}};
    const struct sto_remote_series *list[] = {&s[0], &s[1]};
    struct sto_hbase_series_id out[2];
    (void)state;
    schema.tagv_width = 1;
    t_cache_renew();
    t_put_counter(STO_REMOTE_TAGV, 254);
    assert_int_equal(t_id(STO_REMOTE_MAKE, STO_REMOTE_TAGV, "a"), 255);
    assert_int_equal(sto_hbase_ids_series(ids, &session, STO_REMOTE_MAKE, list, 2, out, &err), 0);
    assert_int_equal(out[0].rc, TS_ELIMIT);
    assert_non_null(strstr(out[0].why.text, "hbase_tagv_width"));
    assert_int_equal(out[1].rc, 0);
    assert_int_equal(out[1].n, 3 + 3 + 1);
}

/* --- threads --- */

static void *make_all(void *arg)
{
    struct t_names *w = arg;
    struct sto_hbase_session s;
    struct ts_error why = {0};
    struct ts_buf none = {0};
    int rc = sto_hbase_begin(hbase, NULL, &s, &why);
    if (rc == 0)
        rc = sto_hbase_ids_names(ids, &s, STO_REMOTE_MAKE, w->list, w->n, &none, &why);
    sto_hbase_end(&s);
    return rc < 0 ? w : NULL;
}

static void test_remote_ids__threads_share_ids_and_waste_none(void **state)
{
    struct t_names *w[2] = {t_names_new(STO_REMOTE_TAGV, "w", 1000), t_names_new(STO_REMOTE_TAGV, "w", 1000)};
    pthread_t threads[2];
    void *failed;
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_all, w[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    t_check(w[0]->list, 1000);
    t_check(w[1]->list, 1000);
    assert_int_equal(t_counter(STO_REMOTE_TAGV), 1000);
    ts_free(w[0]);
    ts_free(w[1]);
}

/* Once, before the first increment: another thread gives ids to the same tag values. */
static void overtake(void *arg, const struct fake_hbase_request *r)
{
    struct t_names *w = arg;
    if (r->call != STO_THRIFT_INCREMENT || w->list[0].rc != -99)
        return;
    now_ms += 5;
    w->list[0].rc = 0;
    assert_null(make_all(w));
}

static void test_remote_ids__a_thread_that_began_later_assigns_first(void **state)
{
    struct t_names *w = t_names_new(STO_REMOTE_TAGV, "w", 4), *later = t_names_new(STO_REMOTE_TAGV, "w", 4);
    (void)state;
    w->list[0].kind = STO_REMOTE_METRIC; /* assigned before the tag values, which have been looked up then */
    fake_hbase_set_before(fake, overtake, later);
    t_make(w->list, 4);
    fake_hbase_set_before(fake, NULL, NULL);
    t_check(w->list, 4);
    t_check(later->list, 4);
    assert_int_equal(t_counter(STO_REMOTE_TAGV), 4);
    assert_int_equal(t_status("ids_unused"), 0);
    ts_free(w);
    ts_free(later);
}

/* Another daemon: a cache of its own. */
static void *make_elsewhere(void *arg)
{
    struct t_names *w = arg;
    struct sto_hbase_session s;
    struct ts_error why = {0};
    struct ts_buf none = {0};
    struct sto_hbase_id_cache *mine = sto_hbase_ids_new(&schema, T_UID, 0, NULL);
    int rc = sto_hbase_begin(hbase, NULL, &s, &why);
    if (rc == 0)
        rc = sto_hbase_ids_names(mine, &s, STO_REMOTE_MAKE, w->list, w->n, &none, &why);
    sto_hbase_end(&s);
    sto_hbase_ids_free(mine);
    return rc < 0 ? w : NULL;
}

static void test_remote_ids__daemons_agree(void **state)
{
    struct t_names *w[2] = {t_names_new(STO_REMOTE_METRIC, "w", 300),
                            t_names_new(STO_REMOTE_METRIC, "w", 300)};
    pthread_t threads[2];
    void *failed;
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_elsewhere, w[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    t_check(w[0]->list, 300);
    t_check(w[1]->list, 300);
    ts_free(w[0]);
    ts_free(w[1]);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(test_remote_ids__##NAME, t_setup, t_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(table_equals_opentsdbs),
        TEST(names_in_latin_1),
        TEST(one_conditional_change_a_name),
        TEST(another_writer_assigns_one_of_our_names),
        TEST(another_writer_assigns_another_name),
        TEST(another_writer_takes_numbers_at_random),
        TEST(every_request_may_be_lost),
        TEST(rows_in_another_order),
        TEST(all_conditional_changes_break_once),
        TEST(a_repeat_after_the_deadline_gets_the_same_ids),
        TEST(a_final_error_ends_the_call),
        TEST(numbers_with_a_name_are_not_used),
        TEST(a_counter_far_behind_is_named),
        TEST(a_lost_id_is_not_given_to_another_name),
        TEST(what_is_distrusted_is_read_again),
        TEST(ids_of_another_width_are_refused),
        TEST(a_damaged_name_may_fail_alone),
        TEST(a_full_width_names_its_key),
        TEST(series_without_a_free_id_do_not_stop_others),
        TEST(threads_share_ids_and_waste_none),
        TEST(a_thread_that_began_later_assigns_first),
        TEST(daemons_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
