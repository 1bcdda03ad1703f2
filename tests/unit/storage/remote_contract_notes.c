/*
 * remote_contract_notes.c - what every remote store must do with annotations, see sto_fetch.note.
 */
#include "tests/unit/storage/remote_contract_int.h"
#include "tests/unit/storage/remote_kit.h"

#include "base/json.h"
#include "storage/remote_cell.h"

#define NOTE_T0_S (R_T0 / 1000)

/* Write an annotation of a series ("": global) that starts at R_T0 + at_s; text NULL: delete it, which had the text `was`. */
static int change_note(struct sto_remote *r, const char *series, int64_t at_s, const char *was,
                       const char *text)
{
    struct r_series *s = *series ? r_series(series) : NULL;
    struct sto_remote_cell at = {.kind = STO_REMOTE_ANNOTATION, .start_ms = R_T0 + at_s * 1000};
    char before[128] = "", after[128] = "";
    struct ts_error err = {0};
    struct ts_buf key;
    if (s)
        at.series = s->s;
    if (was)
        snprintf(before, sizeof before, "1{\"description\":\"%s\",\"startTime\":%lld}", was,
                 (long long)(NOTE_T0_S + at_s));
    if (text)
        snprintf(after, sizeof after, "1{\"description\":\"%s\",\"startTime\":%lld}", text,
                 (long long)(NOTE_T0_S + at_s));
    ts_buf_init(&key, 0);
    assert_int_equal(sto_remote_cell_key(&at, &key), 0);
    int rc = r->ops->cell_cas(r, ts_buf_get(&key), ts_slice_str(before), ts_slice_str(after), NULL, &err);
    ts_buf_release(&key);
    ts_free(s);
    return rc;
}

/* What a fetch reports. */
struct notes {
    char line[8][128];
    size_t n;
    int n_rows;
};

static int on_note(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    struct notes *out = arg;
    json_t *root;
    assert_int_equal(*note->record.p, STO_REMOTE_RECORD);
    assert_int_equal(ts_json_load((struct ts_slice){note->record.p + 1, note->record.n - 1}, &root, err), 0);
    assert_true(out->n < 8);
    struct ts_slice host = note->series ? note->series->tags[note->series->n_tags - 1].v : TS_SLICE_LIT("-");
    snprintf(out->line[out->n++], sizeof out->line[0], "%.*s[%d] %lld %s", (int)host.n, host.p,
             pos == SIZE_MAX ? -1 : (int)pos, (long long)((note->start_ms - R_T0) / 1000),
             json_string_value(json_object_get(root, "description")));
    json_decref(root);
    return 0;
}

static int count_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    (void)row, (void)pos, (void)err;
    ((struct notes *)arg)->n_rows++;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Fetch with annotations; points tells whether points are wanted, too. */
static void expect_notes(struct sto_remote *r, struct sto_fetch f, bool points, int n_rows,
                         const char *expected)
{
    struct notes got = {.n = 0};
    struct ts_error err = {0};
    char all[1024] = "";
    f.note = on_note;
    if (r->ops->fetch(r, &f, NULL, points ? count_row : NULL, &got, &err) < 0)
        fail_msg("%s", err.text);
    qsort(got.line, got.n, sizeof got.line[0], by_text);
    for (size_t i = 0; i < got.n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", got.line[i]);
    assert_string_equal(all, expected);
    assert_int_equal(got.n_rows, n_rows);
}

void remote_contract__a_fetch_reads_annotations(void **state)
{
    struct sto_remote *r = *state;
    struct r_series *a = r_series("cpu dc=x host=a"), *c = r_series("cpu dc=x host=c");
    struct sto_remote_series chosen[2] = {c->s, a->s};
    struct ts_slice x = TS_SLICE_LIT("x");
    struct sto_remote_cond cond = {.tagk = TS_SLICE_LIT("dc"), .values = &x, .n_values = 1};
    struct sto_fetch f = {.metric = TS_SLICE_LIT("cpu"),
                          .conds = &cond,
                          .n_conds = 1,
                          .from_ms = R_T0,
                          .to_ms = R_T0 + 2 * TS_HOUR_MS};
    assert_int_equal(r_ship(r, "cpu dc=x host=a", R_HOUR, R_CELLS(0, 1, 10, 2)), 0);
    assert_int_equal(change_note(r, "cpu dc=x host=a", 10, NULL, "first"), 0);
    assert_int_equal(change_note(r, "cpu dc=x host=a", 3601, NULL, "second"), 0);
    assert_int_equal(change_note(r, "cpu dc=x host=a", -1, NULL, "before"), 0);
    assert_int_equal(change_note(r, "cpu dc=x host=c", 7200, NULL, "no points"), 0);
    assert_int_equal(change_note(r, "cpu dc=y host=b", 20, NULL, "elsewhere"), 0);
    assert_int_equal(change_note(r, "mem dc=x host=a", 20, NULL, "another metric"), 0);
    assert_int_equal(change_note(r, "", 30, NULL, "for all"), 0);
    assert_int_equal(change_note(r, "", 4000, NULL, "for all, later"), 0);
    assert_int_equal(change_note(r, "", 7201, NULL, "for all, too late"), 0);
    expect_notes(r, f, true, 1, "a[-1] 10 first\na[-1] 3601 second\nc[-1] 7200 no points\n");
    expect_notes(r, f, false, 0, "a[-1] 10 first\na[-1] 3601 second\nc[-1] 7200 no points\n");
    f.series = chosen;
    f.n_series = 2;
    expect_notes(r, f, true, 1, "a[1] 10 first\na[1] 3601 second\nc[0] 7200 no points\n");
    f.n_series = 1;
    expect_notes(r, f, false, 0, "c[0] 7200 no points\n");
    f = (struct sto_fetch){.from_ms = f.from_ms, .to_ms = f.to_ms};
    expect_notes(r, f, false, 0, "-[-1] 30 for all\n-[-1] 4000 for all, later\n");
    assert_int_equal(change_note(r, "", 30, "for all", NULL), 0);
    expect_notes(r, f, false, 0, "-[-1] 4000 for all, later\n");
    ts_free(a);
    ts_free(c);
}

static int refuse_note(void *arg, const struct sto_remote_note *note, size_t pos, struct ts_error *err)
{
    (void)note, (void)pos;
    ++*(int *)arg;
    return ts_error_set(err, TS_EINVAL, "enough");
}

void remote_contract__a_fetch_ends_when_annotations_are_refused(void **state)
{
    struct sto_remote *r = *state;
    struct ts_error err = {0};
    int n = 0;
    struct sto_fetch f = {
        .metric = TS_SLICE_LIT("cpu"), .from_ms = R_T0, .to_ms = R_T0 + TS_HOUR_MS, .note = refuse_note};
    assert_int_equal(change_note(r, "cpu host=a", 10, NULL, "first"), 0);
    assert_int_equal(change_note(r, "cpu host=b", 11, NULL, "second"), 0);
    assert_int_equal(r->ops->fetch(r, &f, NULL, NULL, &n, &err), TS_EINVAL);
    assert_string_equal(err.text, "enough");
    assert_int_equal(n, 1);
}
