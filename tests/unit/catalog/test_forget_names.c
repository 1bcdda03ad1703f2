/*
 * test_forget_names.c - names that no series has leave the catalog, for good and not too early.
 */
#include "tests/unit/catalog/t_catalog.h"

#include "storage/catalog/catalog_log.h"
#include "storage/catalog/forget.h"
#include "tests/faults/faultfs.h"

static uint64_t stat_value;
static void on_stat(void *arg, const char *name, uint64_t value)
{
    if (strcmp(name, (const char *)arg) == 0)
        stat_value = value;
}
static uint64_t stat_of(struct sto_catalog *cat, const char *name)
{
    stat_value = UINT64_MAX;
    sto_catalog_stats(cat, on_stat, (void *)(uintptr_t)name);
    return stat_value;
}

/* One pass in which no series is in use but these, and then the memory of what went. Returns how many names
 * went. */
static uint64_t pass(struct sto_catalog *cat, const uint32_t *ids, size_t n_ids)
{
    roaring_bitmap_t *used = roaring_bitmap_of_ptr(n_ids, ids);
    struct ts_error err = {0};
    uint64_t n, before = stat_of(cat, "catalog.names_forgotten");
    if (sto_catalog_forget_begin(cat, used, NULL, NULL)) {
        sto_catalog_forget_spare(cat, used, NULL, NULL);
        if (sto_catalog_forget_finish(cat, &n, &err) < 0)
            fail_msg("%s", err.text);
    }
    roaring_bitmap_free(used);
    sto_catalog_reclaim(cat);
    sto_catalog_reclaim(cat);
    return stat_of(cat, "catalog.names_forgotten") - before;
}

/* Series go in the first pass, their names in the second. */
static uint64_t forget(struct sto_catalog *cat, const uint32_t *ids, size_t n_ids)
{
    uint64_t n = pass(cat, ids, n_ids);
    return n + pass(cat, ids, n_ids);
}

struct listed {
    char text[256];
};
static void t_list(void *arg, uint32_t id, struct ts_slice name)
{
    struct listed *l = arg;
    size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof(l->text) - n, "%u:%.*s ", id, (int)name.n, name.p);
}
static struct listed values(struct sto_catalog *cat)
{
    struct listed l = {""};
    sto_uid_suggest(cat, STO_UID_TAGV, (struct ts_slice){"", 0}, 20, t_list, &l);
    return l;
}

static void test_forget_names__follow_their_series_and_come_back_with_another_id(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    uint32_t stays = t_series(cat, "m host=a")->id;
    (void)t_series(cat, "m host=b");
    (void)t_series(cat, "gone dc=x host=c");
    assert_string_equal(values(cat).text, "1:a 2:b 4:c 3:x ");
    assert_int_equal(pass(cat, &stays, 1), 0);
    assert_int_equal(pass(cat, &stays, 1), 5);   /* gone, dc, b, x, c */
    for (int opened = 0; opened < 3; opened++) { /* at once, from the log, from a checkpoint */
        assert_int_equal(t_id(cat, STO_UID_METRIC, "gone"), 0);
        assert_int_equal(t_id(cat, STO_UID_TAGV, "b"), 0);
        assert_null(sto_uid_name(cat, STO_UID_TAGV, 2).p);
        assert_string_equal(values(cat).text, "1:a ");
        assert_int_equal(sto_uid_max(cat, STO_UID_METRIC), 2);
        assert_int_equal(sto_uid_max(cat, STO_UID_TAGK), 2);
        assert_int_equal(sto_uid_max(cat, STO_UID_TAGV), 4);
        assert_int_equal(stat_of(cat, "catalog.tag_values"), 1);
        t_close(cat);
        cat = t_open();
    }
    const struct sto_series *again = t_series(cat, "gone dc=x host=c");
    assert_int_equal(again->metric, 3);
    assert_int_equal(t_id(cat, STO_UID_TAGK, "dc"), 3);
    assert_int_equal(t_id(cat, STO_UID_TAGV, "x"), 5);
    assert_int_equal(t_id(cat, STO_UID_TAGV, "c"), 6);
    assert_string_equal(values(cat).text, "1:a 6:c 5:x ");
    t_close(cat);
}

/* A checkpoint has no record of most forgotten names; nevertheless no id is given out again. */
static void test_forget_names__a_checkpoint_gives_out_no_id_again(void **state)
{
    (void)state;
    struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .grow_bytes = 1};
    struct sto_catalog *cat;
    struct ts_error err = {0};
    char text[32];
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    uint32_t stays = t_series(cat, "m host=a")->id;
    for (unsigned i = 0; i < 50; i++) {
        snprintf(text, sizeof(text), "m%u key%u=value%u", i, i, i);
        (void)t_series(cat, text);
    }
    assert_int_equal(forget(cat, &stays, 1), 150);
    uint64_t before = stat_of(cat, "catalog.log_bytes");
    assert_int_equal(sto_catalog_tidy(cat, &err), 0);
    assert_true(stat_of(cat, "catalog.log_bytes") < before);
    for (int opened = 0; opened < 2; opened++) {
        t_close(cat);
        cat = t_open();
        for (int kind = 0; kind < STO_UID_KINDS; kind++)
            assert_int_equal(sto_uid_max(cat, (enum sto_uid_kind)kind), 51);
    }
    assert_int_equal(t_series(cat, "again key0=value0")->metric, 52);
    t_close(cat);
}

static void test_forget_names__stay_while_a_reader_may_hold_their_series(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    const struct sto_series *s = t_series(cat, "m host=b");
    unsigned reads = sto_catalog_read_begin(cat);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pass(cat, NULL, 0), 0);
    t_assert_slice(sto_uid_name(cat, STO_UID_TAGV, s->tags[0].v), "b");
    sto_catalog_read_end(cat, reads);
    sto_catalog_reclaim(cat);
    sto_catalog_reclaim(cat);
    assert_int_equal(pass(cat, NULL, 0), 3);
    t_close(cat);
}

/* The bytes of a name serve the next one, but not while somebody may read them. */
static void test_forget_names__bytes_wait_for_readers(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    uint32_t id;
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("a-long-name"), &id, NULL), 0);
    struct ts_slice name = sto_uid_name(cat, STO_UID_TAGV, id);
    unsigned reads = sto_catalog_read_begin(cat);
    assert_int_equal(pass(cat, NULL, 0), 1);
    assert_true(sto_catalog_has_retired(cat));
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("b-long-name"), &id, NULL), 0);
    t_assert_slice(name, "a-long-name");
    sto_catalog_read_end(cat, reads);
    sto_catalog_reclaim(cat);
    sto_catalog_reclaim(cat);
    assert_false(sto_catalog_has_retired(cat));
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("c-long-name"), &id, NULL), 0);
    assert_ptr_equal(sto_uid_name(cat, STO_UID_TAGV, id).p, name.p);
    t_close(cat);
}

static void test_forget_names__who_assigns_a_name_keeps_it(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_error err = {0};
    uint32_t id, known;
    bool created;
    (void)t_series(cat, "m host=b");
    assert_int_equal(sto_uid_assign(cat, STO_UID_METRIC, TS_SLICE_LIT("ahead"), &id, &created, &err), 0);
    assert_true(created && id == 2);
    assert_int_equal(sto_uid_assign(cat, STO_UID_TAGV, TS_SLICE_LIT("b"), &known, &created, &err), 0);
    assert_true(!created && known == 1);
    assert_int_equal(sto_uid_assign(cat, STO_UID_TAGV, TS_SLICE_LIT("d"), &id, &created, &err), 0);
    for (int opened = 0; opened < 3; opened++) {
        assert_int_equal(forget(cat, NULL, 0), opened == 0 ? 2 : 0); /* m, host */
        assert_int_equal(t_id(cat, STO_UID_METRIC, "ahead"), 2);
        assert_int_equal(t_id(cat, STO_UID_TAGV, "b"), 1);
        assert_int_equal(t_id(cat, STO_UID_TAGV, "d"), 2);
        if (opened == 1)
            assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("d"), TS_SLICE_LIT("e"), &err),
                             0);
        if (opened == 1)
            assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("e"), TS_SLICE_LIT("d"), &err),
                             0);
        t_close(cat);
        cat = t_open();
    }
    /* A name that is given back is wanted, in this run and in the next. */
    for (int opened = 0; opened < 2; opened++) {
        assert_int_equal(sto_uid_delete(cat, STO_UID_TAGV, TS_SLICE_LIT("d"), &err), 0);
        assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("~2~d"), TS_SLICE_LIT("d"), &err), 0);
        if (opened == 1) {
            t_close(cat);
            cat = t_open();
        }
        assert_int_equal(forget(cat, NULL, 0), 0);
        assert_int_equal(t_id(cat, STO_UID_TAGV, "d"), 2);
    }
    /* What a person deletes, nobody wants to keep. */
    assert_int_equal(sto_uid_delete(cat, STO_UID_TAGV, TS_SLICE_LIT("d"), &err), 0);
    t_close(cat);
    cat = t_open();
    assert_int_equal(forget(cat, NULL, 0), 1);
    assert_null(sto_uid_name(cat, STO_UID_TAGV, 2).p);
    t_close(cat);
}

static void mention(void *arg, roaring_bitmap_t *const *ids)
{
    const uint32_t *id = arg;
    roaring_bitmap_add(ids[STO_UID_TAGV], *id);
}

static void test_forget_names__what_others_mention_stays(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    uint32_t said, id;
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("said"), &said, NULL), 0);
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("not"), &id, NULL), 0);
    assert_int_equal(sto_uid_make(cat, STO_UID_METRIC, TS_SLICE_LIT("kept"), &id, NULL), 0);
    sto_catalog_keep_names(
        cat, &(struct sto_name_keeper){.kinds = 1u << STO_UID_METRIC, .mentioned = mention, .arg = &said});
    assert_int_equal(forget(cat, NULL, 0), 1);
    assert_int_equal(t_id(cat, STO_UID_TAGV, "said"), said);
    assert_int_equal(t_id(cat, STO_UID_METRIC, "kept"), 1);
    assert_int_equal(t_id(cat, STO_UID_TAGV, "not"), 0);
    t_close(cat);
}

/* --- others act while a pass is under way --- */

enum { BY_NAME, BY_ID, BY_SERIES, BY_ASSIGNING, N_ACTS };

struct acting {
    struct sto_catalog *cat;
    enum sto_forget_step at;
    int act, rc;
    uint32_t got;
};

static void on_step(void *arg, enum sto_forget_step where)
{
    struct acting *x = arg;
    const struct sto_series *s = NULL;
    bool created;
    struct listed l = values(x->cat);
    assert_true(!strcmp(l.text, "1:v ") || (where >= STO_FORGET_WRITTEN && l.text[0] == '\0') ||
                (where == STO_FORGET_TAKEN && !strcmp(l.text, "2:v ")));
    if (where != x->at)
        return;
    if (x->act == BY_NAME)
        x->rc = sto_uid_find(x->cat, STO_UID_TAGV, TS_SLICE_LIT("v"), &x->got);
    else if (x->act == BY_ID)
        x->rc = sto_uid_keep(x->cat, STO_UID_TAGV, x->got = 1, NULL);
    else if (x->act == BY_SERIES)
        x->rc = t_resolve_rc(x->cat, "m host=v", true, &s, NULL);
    else
        x->rc = sto_uid_assign(x->cat, STO_UID_TAGV, TS_SLICE_LIT("v"), &x->got, &created, NULL);
    if (s)
        x->got = s->tags[0].v;
}

static void test_forget_names__who_looks_one_up_in_time_keeps_it(void **state)
{
    (void)state;
    for (int i = 0; i < N_ACTS * 4; i++) {
        struct acting x = {.cat = t_open(), .at = (enum sto_forget_step)(i % 4), .act = i / 4};
        uint32_t id, first;
        assert_int_equal(sto_uid_make(x.cat, STO_UID_TAGV, TS_SLICE_LIT("v"), &first, NULL), 0);
        assert_int_equal(first, 1);
        sto_catalog_forget_on_step(x.cat, on_step, &x);
        uint64_t n = pass(x.cat, NULL, 0);
        sto_catalog_forget_on_step(x.cat, NULL, NULL);
        bool in_time = x.at < STO_FORGET_WRITTEN;
        assert_int_equal(n, in_time ? 0 : 1);
        for (int opened = 0; opened < 2; opened++) {
            id = t_id(x.cat, STO_UID_TAGV, "v");
            if (in_time)
                assert_true(x.rc == 0 && x.got == 1 && id == 1);
            else if (x.at == STO_FORGET_WRITTEN)
                assert_true(x.rc == (x.act == BY_NAME ? 0 : TS_EBUSY) && id == 0);
            else if (x.act == BY_NAME || x.act == BY_ID)
                assert_true(x.rc == TS_ENOTFOUND && id == 0);
            else
                assert_true(x.rc == 0 && x.got == 2 && id == 2);
            t_close(x.cat);
            x.cat = t_open();
        }
        t_close(x.cat);
        assert_int_equal(unlink(t_path), 0);
        t_drop_copy();
    }
}

/* --- files --- */

static void test_forget_names__a_full_disk_puts_it_off(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    struct sto_catalog *cat;
    struct sto_catalog_opts opts = {.dir = "/db", .n_shards = 16};
    const struct sto_series *s;
    uint64_t n;
    uint32_t id;
    assert_int_equal(t_faultfs_fs(f)->mkdir(t_faultfs_fs(f), "/db", &err), 0);
    assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
    (void)t_series(cat, "m host=a");
    assert_int_equal(pass(cat, NULL, 0), 0);
    roaring_bitmap_t *none = roaring_bitmap_create();
    assert_int_equal(sto_catalog_forget_begin(cat, none, NULL, NULL), 3);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_APPEND, .at = 1, .fault = T_FAULT_ENOSPC});
    assert_int_equal(sto_catalog_forget_finish(cat, &n, &err), TS_ENOSPC);
    assert_true(sto_catalog_forget_unfinished(cat));
    assert_int_equal(t_resolve_rc(cat, "m host=b", true, &s, &err), TS_EBUSY);
    assert_int_equal(sto_uid_max(cat, STO_UID_TAGV), 1); /* a refused series leaves no name behind */
    assert_int_equal(sto_uid_make(cat, STO_UID_TAGV, TS_SLICE_LIT("a"), &id, &err), TS_EBUSY);
    assert_int_equal(sto_uid_rename(cat, STO_UID_TAGV, TS_SLICE_LIT("a"), TS_SLICE_LIT("z"), &err), TS_EBUSY);
    assert_int_equal(sto_catalog_forget_finish(cat, &n, &err), 0);
    assert_int_equal(t_series(cat, "m host=b")->metric, 2);
    t_close(cat);
    assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
    assert_int_equal(t_id(cat, STO_UID_METRIC, "m"), 2);
    assert_int_equal(t_id(cat, STO_UID_TAGV, "a"), 0);
    roaring_bitmap_free(none);
    t_close(cat);
    t_faultfs_free(f);
}

static int ignore(void *arg, struct ts_slice body, struct ts_error *err)
{
    (void)arg, (void)body, (void)err;
    return 0;
}

/* A log of an older version: names without series, and nothing that says who made them. */
static void make_old_log(void)
{
    static const struct {
        enum sto_uid_kind kind;
        const char *name;
    } old[] = {{STO_UID_METRIC, "ahead"}, {STO_UID_TAGK, "dc"}, {STO_UID_TAGV, "fra"}};
    struct sto_catalog *cat = t_open_fs(ts_fs_real(), false);
    struct sto_catalog_log_items items = {.mark_assigned = false};
    struct ts_error err = {0};
    struct sto_reclog *log;
    char path[128];
    uint32_t id;
    for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++) {
        assert_int_equal(sto_uid_make(cat, old[i].kind, ts_slice_str(old[i].name), &id, &err), 0);
        sto_idruns__add(&items.names[old[i].kind], id);
    }
    snprintf(path, sizeof(path), "%s.old", t_path);
    assert_int_equal(sto_reclog_open(ts_fs_real(), path, "CATA", false, ignore, NULL, &log, &err), 0);
    assert_int_equal(sto_catalog_log__items(cat, &items, 3, log, &err), 0);
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    assert_int_equal(sto_reclog_close(log, &err), 0);
    sto_catalog_log__release_items(&items);
    t_close(cat);
    t_drop_copy();
    assert_int_equal(rename(path, t_path), 0);
}

/* Wherever a power cut ends the log, the names of an old one stay: what says that the log knows the assigned names
 * comes after all of them. */
static void test_forget_names__of_an_old_log_stay_wherever_the_first_records_end(void **state)
{
    (void)state;
    struct ts_error err = {0};
    make_old_log();
    uint64_t old_bytes = t_file_bytes();
    struct sto_catalog *cat = t_open();
    assert_int_equal(sto_catalog_sync(cat, true, &err), 0);
    uint64_t new_bytes = t_file_bytes();
    assert_true(new_bytes > old_bytes);
    t_close(cat);
    char *log;
    size_t n;
    assert_int_equal(ts_fs_read_file(ts_fs_real(), t_path, 1u << 20, &log, &n, NULL), 0);
    assert_true(n >= new_bytes);
    for (uint64_t end = old_bytes; end <= new_bytes; end++) {
        FILE *f = fopen(t_path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(log, 1, (size_t)end, f), end);
        assert_int_equal(fclose(f), 0);
        t_drop_copy();
        cat = t_open();
        assert_int_equal(forget(cat, NULL, 0), 0);
        assert_int_equal(t_id(cat, STO_UID_METRIC, "ahead"), 1);
        assert_int_equal(t_id(cat, STO_UID_TAGK, "dc"), 1);
        assert_int_equal(t_id(cat, STO_UID_TAGV, "fra"), 1);
        t_close(cat);
    }
    ts_free(log);
}

/* Only damage says that a name is forgotten that a series has. */
static void test_forget_names__a_log_that_takes_a_name_from_a_series_is_damaged(void **state)
{
    (void)state;
    struct sto_catalog *cat = t_open();
    struct ts_error err = {0};
    struct sto_reclog *log;
    uint32_t one = 1;
    (void)t_series(cat, "m host=a");
    (void)t_series(cat, "m host=b");
    t_close(cat);
    assert_int_equal(sto_reclog_open(ts_fs_real(), t_path, "CATA", false, ignore, NULL, &log, &err), 0);
    roaring_bitmap_t *ids = roaring_bitmap_of_ptr(1, &one);
    assert_int_equal(sto_catalog_log__gone(log, STO_UID_TAGV, ids, &err), 0);
    roaring_bitmap_free(ids);
    assert_int_equal(sto_reclog_flush(log, true, &err), 0);
    assert_int_equal(sto_reclog_close(log, &err), 0);
    t_drop_copy();
    struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16};
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), TS_ECORRUPT);
    opts.lenient = true;
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    assert_int_equal(sto_catalog_left_out(cat), 1);
    assert_null(sto_series_get(cat, 0));
    assert_non_null(sto_series_get(cat, 1));
    t_close(cat);
    cat = t_open(); /* closing has written it anew */
    assert_int_equal(stat_of(cat, "catalog.series"), 1);
    t_close(cat);
}

static void pod(char *text, size_t n, unsigned day, unsigned i)
{
    snprintf(text, n, "m pod=p%02u.%04u", day, i);
}
static void pid(char *text, size_t n, unsigned day, unsigned i)
{
    snprintf(text, n, "m pid=%u", 10000 + day * 1000 + i);
}

static void short_lives(void (*name)(char *text, size_t n, unsigned day, unsigned i))
{
    enum { DAYS = 30, A_DAY = 1000 };
    struct sto_catalog_opts opts = {.dir = t_dir, .n_shards = 16, .grow_bytes = 8192};
    struct sto_catalog *cat;
    struct ts_error err = {0};
    uint64_t names[3] = {0}, log[3] = {0};
    assert_int_equal(sto_catalog_open(ts_fs_real(), &opts, &cat, &err), 0);
    for (unsigned day = 0; day < DAYS; day++) {
        for (unsigned i = 0; i < A_DAY; i++) {
            char text[64];
            name(text, sizeof(text), day, i);
            (void)t_series(cat, text);
        }
        assert_true(forget(cat, NULL, 0) >= A_DAY);
        assert_int_equal(sto_catalog_tidy(cat, &err), 0);
        unsigned third = day * 3 / DAYS;
        names[third] = stat_of(cat, "catalog.names_bytes");
        if (stat_of(cat, "catalog.log_bytes") > log[third])
            log[third] = stat_of(cat, "catalog.log_bytes");
    }
    assert_true(names[2] <= names[0] + 4096); /* a page of the table at the end of what is gone */
    assert_true(log[2] <= log[0] + log[0] / 4);
    t_close(cat);
}

static void test_forget_names__short_lives_level_off(void **state)
{
    (void)state;
    short_lives(pod);
}

/* As the ids of processes: names too short for a link in a list of free pieces. */
static void test_forget_names__short_names_level_off(void **state)
{
    (void)state;
    short_lives(pid);
}

/* A process that is killed again and again never closes its log: what is dead in it counts all the same. */
static void test_forget_names__dead_records_of_earlier_runs_count(void **state)
{
    (void)state;
    enum { RUNS = 40, A_RUN = 100, STAY = 400 };
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_catalog_opts opts = {.dir = "/db", .n_shards = 16, .grow_bytes = 4096, .tidied = true};
    struct sto_catalog *cat;
    struct ts_error err = {0};
    uint64_t log[2] = {0};
    char text[64];
    uint32_t stay[STAY];
    assert_int_equal(t_faultfs_fs(f)->mkdir(t_faultfs_fs(f), "/db", &err), 0);
    for (unsigned run = 0; run < RUNS; run++) {
        assert_int_equal(sto_catalog_open(t_faultfs_fs(f), &opts, &cat, &err), 0);
        for (unsigned i = 0; i < STAY; i++) {
            snprintf(text, sizeof(text), "m host=h%u", i);
            stay[i] = t_series(cat, text)->id;
        }
        for (unsigned i = 0; i < A_RUN; i++) {
            snprintf(text, sizeof(text), "m pod=%08x", (run * A_RUN + i) * 2654435761u);
            (void)t_series(cat, text);
        }
        assert_true(forget(cat, stay, STAY) >= A_RUN);
        assert_int_equal(sto_catalog_tidy(cat, &err), 0);
        uint64_t now = stat_of(cat, "catalog.log_bytes");
        if (now > log[run * 2 / RUNS])
            log[run * 2 / RUNS] = now;
        t_faultfs_power_cut(f); /* closing writes nothing */
        (void)sto_catalog_close(cat, NULL);
        t_faultfs_reboot(f, T_KEEP_ALL);
    }
    t_faultfs_free(f);
    assert_true(log[1] <= log[0] + log[0] / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_forget_names__follow_their_series_and_come_back_with_another_id),
        T_CASE(test_forget_names__a_checkpoint_gives_out_no_id_again),
        T_CASE(test_forget_names__stay_while_a_reader_may_hold_their_series),
        T_CASE(test_forget_names__bytes_wait_for_readers),
        T_CASE(test_forget_names__who_assigns_a_name_keeps_it),
        T_CASE(test_forget_names__what_others_mention_stays),
        T_CASE(test_forget_names__who_looks_one_up_in_time_keeps_it),
        T_CASE(test_forget_names__a_full_disk_puts_it_off),
        T_CASE(test_forget_names__a_log_that_takes_a_name_from_a_series_is_damaged),
        T_CASE(test_forget_names__short_lives_level_off),
        T_CASE(test_forget_names__short_names_level_off),
        T_CASE(test_forget_names__of_an_old_log_stay_wherever_the_first_records_end),
        T_CASE(test_forget_names__dead_records_of_earlier_runs_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
