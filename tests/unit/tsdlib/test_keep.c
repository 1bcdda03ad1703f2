/*
 * test_keep.c - what people say about a series keeps it, whenever they say it; and deletes that meet a pass of forgetting.
 */
#include "t_ingest.h"

#include "base/budget.h"
#include "base/json.h"
#include "storage/catalog/forget.h"
#include "tsd/meta/annotation.h"
#include "tsd/meta/keep.h"
#include "tsd/meta/tsmeta.h"
#include "query/tsuid.h"

#define N_STEPS 4

struct t_keep {
    struct t_ingest in;
    struct ts_arena arena;
    enum sto_forget_step at;       /* where act is called */
    void (*act)(struct t_keep *k); /* NULL = nothing */
    const struct sto_series *series;
    char tsuid[64];
    int rc; /* of what act did */
};

static void on_step(void *arg, enum sto_forget_step where)
{
    struct t_keep *k = arg;
    if (k->act && where == k->at)
        k->act(k);
}

static const struct sto_series *find(struct t_keep *k, const char *host, bool create)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "m host=%s", host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    const struct sto_series *s = NULL;
    (void)sto_series_resolve(sto_store_catalog(k->in.store), (struct ts_slice){text, (size_t)n}, 1, &tag, 1,
                             create, &s, NULL);
    return s;
}

static void tsuid_of(const struct sto_series *s, char *out, size_t max)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    qry_tsuid(s, &b);
    snprintf(out, max, "%.*s", (int)b.n, b.p);
    ts_buf_release(&b);
}

/* Series "a" and "b" without points. */
static void t_start(struct t_keep *k, enum sto_forget_step at, void (*act)(struct t_keep *k))
{
    memset(k, 0, sizeof(*k));
    k->at = at;
    k->act = act;
    t_open_with(&k->in, false,
                (struct sto_opts){.pumped = true,
                                  .keeps_series = tsd_meta_keeps_series,
                                  .mentioned_names = tsd_meta_mentioned_names});
    ts_arena_init(&k->arena, 0);
    sto_catalog_forget_on_step(sto_store_catalog(k->in.store), on_step, k);
    k->series = find(k, "a", true);
    (void)find(k, "b", true);
    tsuid_of(k->series, k->tsuid, sizeof(k->tsuid));
}

static void t_end(struct t_keep *k)
{
    ts_arena_release(&k->arena);
    t_close(&k->in);
}

static void forget(struct t_keep *k)
{
    struct ts_error err = {0};
    tsd_ingest_turn(&k->in.in);
    if (sto_store_pump_forget(k->in.store, &err) < 0)
        fail_msg("%s", err.text);
}

/* An annotation on a series, or a global one. */
static struct tsd_record note(struct t_keep *k, const char *tsuid)
{
    struct tsd_record r;
    struct ts_error err = {0};
    const struct qry_param params[] = {{TS_SLICE_LIT("start_time"), TS_SLICE_LIT("1793620800")},
                                       {TS_SLICE_LIT("description"), TS_SLICE_LIT("a note")},
                                       {TS_SLICE_LIT("tsuid"), ts_slice_str(tsuid)}};
    struct qry_view view = qry_view_of(sto_store_catalog(k->in.store));
    if (tsd_note_from_params(params, 3, 0, false, &view, &k->arena, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void write_note(struct t_keep *k, const char *tsuid)
{
    struct tsd_record given = note(k, tsuid), stored;
    struct ts_error err = {0};
    bool changed;
    if (tsd_note_store(k->in.store, &given, 0, &k->arena, &stored, &changed, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(changed);
}

static int write_meta(struct t_keep *k)
{
    struct tsd_record given, stored;
    struct ts_error err = {0};
    bool changed;
    tsd_record_init(&given, tsd_tsmeta_fields);
    given.v[TSD_TSMETA_UNITS].text = TS_SLICE_LIT("ms");
    given.v[TSD_TSMETA_UNITS].given = true;
    return tsd_tsmeta_store(k->in.store, k->series, &given, false, &k->arena, &stored, &changed, &err);
}

static void test_keep__times_of_notes_are_seconds_up_to_32_bits(void **state)
{
    (void)state;
    assert_int_equal(tsd_note_ms(4294967295), 4294967295000);
    assert_int_equal(tsd_note_ms(4294967296), 4294967296);
}

static void test_keep__a_note_keeps_its_series(void **state)
{
    (void)state;
    struct t_keep k;
    struct ts_error err = {0};
    t_start(&k, 0, NULL);
    assert_false(tsd_meta_keeps_series(k.in.store, k.series));
    write_note(&k, k.tsuid);
    write_note(&k, ""); /* a global one is about no series */
    assert_true(tsd_meta_keeps_series(k.in.store, k.series));
    assert_false(tsd_meta_keeps_series(k.in.store, find(&k, "b", false)));
    forget(&k);
    assert_ptr_equal(find(&k, "a", false), k.series);
    assert_null(find(&k, "b", false));
    struct tsd_record which = note(&k, k.tsuid);
    assert_int_equal(tsd_note_delete(k.in.store, &which, &err), 0);
    forget(&k);
    assert_null(find(&k, "a", false));
    t_end(&k);
}

/* A TSUID may be sent in lower case and with longer ids than needed. */
static void test_keep__a_note_keeps_its_series_however_its_tsuid_was_sent(void **state)
{
    (void)state;
    struct t_keep k;
    char wide[32];
    t_start(&k, 0, NULL);
    snprintf(wide, sizeof(wide), "%08x%08x%08x", k.series->metric, k.series->tags[0].k, k.series->tags[0].v);
    write_note(&k, wide);
    forget(&k);
    assert_ptr_equal(find(&k, "a", false), k.series);
    t_end(&k);
}

static void test_keep__metadata_keep_their_series(void **state)
{
    (void)state;
    struct t_keep k;
    struct ts_error err = {0};
    t_start(&k, 0, NULL);
    assert_int_equal(write_meta(&k), 0);
    assert_true(tsd_meta_keeps_series(k.in.store, k.series));
    forget(&k);
    assert_ptr_equal(find(&k, "a", false), k.series);
    assert_null(find(&k, "b", false));
    assert_int_equal(tsd_tsmeta_delete(k.in.store, k.series, &err), 0);
    forget(&k);
    assert_null(find(&k, "a", false));
    t_end(&k);
}

/* Others may have used up the memory of JSON trees meanwhile. */
static void test_keep__a_note_keeps_its_series_without_memory(void **state)
{
    (void)state;
    struct t_keep k;
    struct ts_budget full;
    t_start(&k, 0, NULL);
    write_note(&k, k.tsuid);
    ts_budget_init(&full, "json", "http_body_total_bytes", NULL, 1000);
    ts_budget_force(&full, 1000);
    ts_json_count_in(&full);
    forget(&k);
    ts_json_count_in(NULL);
    assert_ptr_equal(find(&k, "a", false), k.series);
    t_end(&k);
}

/* --- said while a pass is under way --- */

static void say_note(struct t_keep *k)
{
    write_note(k, k->tsuid);
}

static void say_meta(struct t_keep *k)
{
    k->rc = write_meta(k);
}

static void test_keep__what_is_said_during_a_pass_counts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * N_STEPS; i++) {
        struct t_keep k;
        bool is_note = i / N_STEPS == 0;
        t_start(&k, (enum sto_forget_step)(i % N_STEPS), is_note ? say_note : say_meta);
        uint32_t id = k.series->id;
        forget(&k);
        k.act = NULL;
        bool in_time = k.at < STO_FORGET_WRITTEN;
        assert_true((find(&k, "a", false) != NULL) == in_time);
        assert_int_equal(k.rc, is_note || in_time ? 0 : TS_EBUSY);
        forget(&k);
        forget(&k);
        /* An annotation that came too late is stored, and belongs to the series again when somebody sends a point of it. */
        const struct sto_series *again = find(&k, "a", true);
        char tsuid[64];
        tsuid_of(again, tsuid, sizeof(tsuid));
        assert_true((again->id == id) == in_time);
        assert_string_equal(tsuid, k.tsuid);
        assert_true(tsd_meta_keeps_series(k.in.store, again));
        t_end(&k);
    }
}

/* --- deletes --- */

/* Another thread has found the series, and its worker now takes the delete. */
static void delete_found(struct t_keep *k)
{
    k->rc = tsd_ingest_delete(&k->in.in, k->series, 0, STO_MAX_TS_MS);
    tsd_ingest_turn(&k->in.in);
}

static void test_keep__a_delete_of_what_is_forgotten_does_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_STEPS; i++) {
        struct t_keep k;
        struct ts_error err = {0};
        t_start(&k, (enum sto_forget_step)i, delete_found);
        unsigned reads = sto_catalog_read_begin(sto_store_catalog(k.in.store));
        forget(&k);
        k.act = NULL;
        sto_catalog_read_end(sto_store_catalog(k.in.store), reads);
        assert_int_equal(k.rc, 0);
        bool in_time = k.at < STO_FORGET_WRITTEN;
        const struct sto_series *now = find(&k, "a", false);
        assert_true(now == (in_time ? k.series : NULL));
        for (unsigned n = 0; n < 3; n++) /* the memory of what is gone is used for others */
            forget(&k);
        for (char host[2] = "c"; host[0] <= 'z'; host[0]++)
            (void)find(&k, host, true);
        if (sto_flush(k.in.store, STO_LEVEL_FILES, &err) < 0)
            fail_msg("%s", err.text);
        t_end(&k);
    }
}

/* The tags have another number now: what was found is not what would be deleted. */
static void test_keep__a_delete_leaves_the_next_series_of_that_name_alone(void **state)
{
    (void)state;
    struct t_keep k;
    t_start(&k, 0, NULL);
    unsigned reads = sto_catalog_read_begin(sto_store_catalog(k.in.store));
    forget(&k);
    assert_string_equal(t_send(&k.in, "put m 1793620800 1 host=a\n"), "");
    assert_int_equal(tsd_ingest_delete(&k.in.in, k.series, 0, STO_MAX_TS_MS), 0);
    sto_catalog_read_end(sto_store_catalog(k.in.store), reads);
    assert_string_equal(t_points(&k.in), "m 1793620800 1 host=a\n");
    assert_int_equal(tsd_ingest_delete(&k.in.in, find(&k, "a", false), 0, STO_MAX_TS_MS), 0);
    assert_string_equal(t_points(&k.in), "");
    t_end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep__times_of_notes_are_seconds_up_to_32_bits),
        cmocka_unit_test(test_keep__a_note_keeps_its_series),
        cmocka_unit_test(test_keep__a_note_keeps_its_series_however_its_tsuid_was_sent),
        cmocka_unit_test(test_keep__a_note_keeps_its_series_without_memory),
        cmocka_unit_test(test_keep__metadata_keep_their_series),
        cmocka_unit_test(test_keep__what_is_said_during_a_pass_counts),
        cmocka_unit_test(test_keep__a_delete_of_what_is_forgotten_does_nothing),
        cmocka_unit_test(test_keep__a_delete_leaves_the_next_series_of_that_name_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
