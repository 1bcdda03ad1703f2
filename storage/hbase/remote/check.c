/*
 * check.c - what faults are called; the limits, threads and ranges of keys of a check.
 *
 * A range is a region of a table, or the rows of one metric in a salt bucket. Threads take the next range when they have
 * finished one.
 */
#include "storage/hbase/remote/check.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/hbase/remote/check_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AWAY_NS      (5 * 60 * 1000000000ll) /* HBase may be away for so long */
#define MOST_THREADS 16
#define TEXT_BYTES   500

/* --- faults --- */

#define DUPLICATES (STO_HBASE_FIX_NEWEST | STO_HBASE_FIX_OLDEST)
static const struct {
    const char *name;
    bool is_note;
    unsigned fixes;
} faults[STO_HBASE_N_FAULTS] = {
    [STO_HBASE_BAD_KEY] = {"bad_key", false, STO_HBASE_DELETE_ROWS},
    [STO_HBASE_WRONG_SALT] = {"wrong_salt", false, STO_HBASE_FIX},
    [STO_HBASE_ORPHAN] = {"orphan", false, STO_HBASE_DELETE_ORPHANS},
    [STO_HBASE_BAD_VALUE] = {"bad_value", false, STO_HBASE_DELETE_VALUES},
    [STO_HBASE_BAD_COLUMN] = {"bad_column", false, STO_HBASE_DELETE_COLUMNS},
    [STO_HBASE_BAD_ANNOTATION] = {"bad_annotation", false, STO_HBASE_DELETE_COLUMNS},
    [STO_HBASE_DUPLICATE_POINT] = {"duplicate_point", false, DUPLICATES},
    [STO_HBASE_OLD_ENCODING] = {"old_encoding", false, STO_HBASE_FIX},
    [STO_HBASE_IRREGULAR_COLUMN] = {"irregular_column", false, STO_HBASE_FIX},
    [STO_HBASE_UNKNOWN_COLUMN] = {"unknown_column", false, STO_HBASE_DELETE_UNKNOWN},
    [STO_HBASE_UNREADABLE_ROW] = {"unreadable_row", false, 0},
    [STO_HBASE_REPEATED_POINT] = {"repeated_point", true, STO_HBASE_FIX},
    [STO_HBASE_UNSORTED_APPENDS] = {"unsorted_appends", true, STO_HBASE_FIX},
    [STO_HBASE_LONG_INTEGER] = {"long_integer", true, STO_HBASE_FIX},
    [STO_HBASE_FUTURE_COLUMN] = {"future_column", true, 0},
    [STO_HBASE_UID_LENGTH] = {"uid_length", false, 0},
    [STO_HBASE_UID_COUNTER] = {"uid_counter", false, STO_HBASE_FIX},
    [STO_HBASE_COUNTER_LOW] = {"counter_low", false, STO_HBASE_FIX},
    [STO_HBASE_NO_REVERSE] = {"no_reverse", false, STO_HBASE_FIX},
    [STO_HBASE_NO_FORWARD] = {"no_forward", false, STO_HBASE_FIX},
    [STO_HBASE_SHARED_ID] = {"shared_id", false, STO_HBASE_FIX},
    [STO_HBASE_OTHER_NAME] = {"other_name", false, STO_HBASE_FIX},
    [STO_HBASE_SECOND_ID] = {"second_id", false, STO_HBASE_FIX},
    [STO_HBASE_UID_COLUMN] = {"uid_column", true, STO_HBASE_DELETE_UNKNOWN},
    [STO_HBASE_RANDOM_IDS] = {"random_ids", true, 0},
};

const char *sto_hbase_fault_name(enum sto_hbase_fault fault)
{
    return faults[fault].name;
}

bool sto_hbase_fault_is_note(enum sto_hbase_fault fault)
{
    return faults[fault].is_note;
}

unsigned sto_hbase_fault_fixes(enum sto_hbase_fault fault)
{
    return faults[fault].fixes;
}

void sto_hbase__found(struct sto_hbase__check *x, enum sto_hbase_fault fault, const char *table,
                      struct ts_slice row, struct ts_slice column, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct sto_hbase_found f = {fault, faults[fault].name, faults[fault].is_note, table, row, column, text};
    pthread_mutex_lock(&x->mu);
    x->res->n_found[fault]++;
    if (x->opts->found)
        x->opts->found(x->opts->arg, &f);
    pthread_mutex_unlock(&x->mu);
}

/* --- one thread --- */

int64_t sto_hbase__check_now_ms(const struct sto_hbase__check *x)
{
    return x->h->opts.now_ms ? x->h->opts.now_ms() : ts_clock_ms();
}

int sto_hbase__no_memory(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT, "there is no memory for rows of HBase (hbase_memory_bytes)");
}

void sto_hbase__checker_init(struct sto_hbase__checker *c, struct sto_hbase__check *x)
{
    *c = (struct sto_hbase__checker){.x = x, .n_rows = 64};
    sto_thrift_request_init(&c->request, STO_HBASE__REQUEST_BYTES, x->memory);
    struct ts_buf *bufs[] = {&c->page, &c->row, &c->start};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++) {
        ts_buf_init(bufs[i], 0);
        bufs[i]->budget = x->memory;
    }
    sto_hbase_change_init(&c->change, x->memory);
    sto_hbase_columns_init(&c->columns, x->memory);
    ts_arena_init(&c->arena, 16u << 10);
    c->arena.budget = x->memory;
}

void sto_hbase__checker_release(struct sto_hbase__checker *c)
{
    sto_thrift_request_release(&c->request);
    ts_buf_release(&c->page);
    ts_buf_release(&c->row);
    ts_buf_release(&c->start);
    sto_hbase_change_release(&c->change);
    sto_hbase_columns_release(&c->columns);
    ts_budget_free(c->x->memory, c->cells, c->cap_cells * sizeof *c->cells);
    ts_budget_free(c->x->memory, c->states, c->cap_states * sizeof *c->states);
    sto_hbase__release_rollups(c);
    ts_arena_release(&c->arena);
}

int sto_hbase__checker_begin(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_remote_call call = {.deadline_ns = ts_clock_mono_ns() + AWAY_NS};
    if (c->x->call) {
        call = *c->x->call;
        call.deadline_ns = call.deadline_ns ? call.deadline_ns : ts_clock_mono_ns() + AWAY_NS;
    }
    return sto_hbase_begin(c->x->h->access, &call, &c->s, err);
}

int sto_hbase__checker_wait(struct sto_hbase__checker *c, struct ts_error *err)
{
    const struct sto_remote_call *call = c->x->call;
    if (!call || !call->deadline_ns)
        c->s.wait.until_ns = ts_clock_mono_ns() + AWAY_NS;
    if (c->s.wait.cancel && atomic_load_explicit(c->s.wait.cancel, memory_order_relaxed))
        return ts_error_set(err, TS_ECANCELLED, "the check was cancelled");
    return ts_clock_mono_ns() < c->s.wait.until_ns
               ? 0
               : ts_error_set(err, TS_ETIMEOUT, "the check did not end before its deadline");
}

/* The next range; NULL: there are no more. */
static struct sto_hbase__range *take_range(struct sto_hbase__check *x)
{
    struct sto_hbase__range *range = NULL;
    pthread_mutex_lock(&x->mu);
    if (!x->stop && x->next < x->n_ranges)
        range = &x->ranges[x->next++];
    pthread_mutex_unlock(&x->mu);
    return range;
}

static void *run(void *arg)
{
    struct sto_hbase__check *x = arg;
    struct sto_hbase__checker *c = ts_xmalloc(sizeof *c);
    struct ts_error err = {0};
    sto_hbase__checker_init(c, x);
    int rc = sto_hbase__checker_begin(c, &err);
    if (rc == 0) {
        for (struct sto_hbase__range *range; rc == 0 && (range = take_range(x)) != NULL;)
            rc = sto_hbase__check_range(c, range, &err);
        sto_hbase_end(&c->s);
    }
    if (rc < 0) {
        pthread_mutex_lock(&x->mu);
        if (x->rc == 0) {
            x->rc = rc;
            x->err = err;
        }
        pthread_mutex_unlock(&x->mu);
        atomic_store_explicit(&x->stop, true, memory_order_relaxed);
    }
    sto_hbase__checker_release(c);
    ts_free(c);
    return NULL;
}

static int run_threads(struct sto_hbase__check *x, struct ts_error *err)
{
    pthread_t threads[MOST_THREADS];
    size_t n = 0, most = x->h->opts.scan_connections;
    most = most > MOST_THREADS ? MOST_THREADS : most;
    most = most > x->n_ranges ? x->n_ranges : most;
    while (n + 1 < most && ts_thread_start(&threads[n], &(struct ts_thread_opts){
                                                            .name = "hbase-check", .fn = run, .arg = x}) == 0)
        n++;
    (void)run(x);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    if (x->rc < 0 && err)
        *err = x->err;
    return x->rc;
}

/* --- ranges --- */

static int add_range(struct sto_hbase__check *x, struct ts_slice start, struct ts_slice stop)
{
    struct sto_hbase__range *r = &x->ranges[x->n_ranges++];
    ts_buf_init(&r->start, 0);
    ts_buf_init(&r->stop, 0);
    TS_TRY(ts_buf_slice(&r->start, start));
    return ts_buf_slice(&r->stop, stop);
}

static int by_bytes(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

/* The regions of the table: each from its first key to that of the next one, so that no key is left out or read twice. */
static int ranges_of_regions(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_hbase__check *x = c->x;
    struct sto_thrift_reply reply;
    struct sto_thrift_items it;
    struct sto_thrift_region region;
    size_t n = 1, i = 0;
    int rc;
    (void)sto_thrift_call_get_all_region_locations(&c->request, ts_slice_str(x->table));
    TS_TRY(sto_hbase_call(&c->s, &c->request, &reply, NULL, err));
    sto_thrift_items_init(&it, &reply);
    while ((rc = sto_thrift_region(&it, &region, err)) == 1)
        n++;
    TS_TRY(sto_hbase_error(rc, err));
    struct ts_slice *starts = ts_budget_calloc(x->memory, n, sizeof *starts, err);
    x->ranges = starts ? ts_budget_calloc(x->memory, n, sizeof *x->ranges, err) : NULL;
    x->next = n; /* memory of ranges */
    if (x->ranges) {
        sto_thrift_items_init(&it, &reply);
        while (++i < n && sto_thrift_region(&it, &region, err) == 1)
            starts[i] = region.start;
        qsort(starts, n, sizeof *starts, by_bytes);
        for (i = 0; rc == 0 && i < n; i++)
            if (i + 1 == n || !ts_slice_eq(starts[i], starts[i + 1]))
                rc = add_range(x, starts[i], i + 1 < n ? starts[i + 1] : (struct ts_slice){NULL, 0});
    }
    rc = x->ranges && rc == 0 ? 0 : sto_hbase__no_memory(err);
    ts_budget_free(x->memory, starts, n * sizeof *starts);
    return rc;
}

/* The keys of a metric in a salt bucket. False: the table has no rows of the time range. */
static bool keys_of(const struct sto_hbase__check *x, uint64_t metric, uint32_t bucket,
                    struct sto_hbase_scan *out)
{
    const struct sto_hbase_schema *schema = &x->h->opts.schema;
    int64_t from_s = x->opts->from_ms < 0 ? 0 : x->opts->from_ms / 1000, to_s = x->opts->to_ms / 1000;
    if (!x->shape)
        return sto_hbase_scan_make(schema, metric, x->opts->from_ms, x->opts->to_ms, bucket, out);
    if (x->opts->to_ms < 0 || from_s > UINT32_MAX || from_s > to_s)
        return false;
    to_s = to_s < UINT32_MAX ? to_s : UINT32_MAX;
    sto_hbase_scan_bases(schema, metric, sto_hbase_rollup_base(x->shape, (uint32_t)from_s), (uint32_t)to_s,
                         bucket, out);
    return true;
}

/* The rows of one metric in each salt bucket. */
static int ranges_of_metric(struct sto_hbase__checker *c, struct ts_error *err)
{
    struct sto_hbase__check *x = c->x;
    struct sto_remote_name name = {.kind = STO_REMOTE_METRIC, .name = x->opts->metric};
    uint32_t n = sto_hbase_buckets(&x->h->opts.schema);
    struct ts_buf names;
    ts_buf_init(&names, 0);
    int rc = sto_hbase_ids_names(x->h->ids, &c->s, STO_REMOTE_FIND, &name, 1, &names, err);
    ts_buf_release(&names);
    TS_TRY(rc);
    if (name.rc < 0)
        return ts_error_set(err, TS_ENOTFOUND, "the metric \"%.*s\" does not exist in table %s",
                            TS_SHOWN(x->opts->metric, 80), x->h->opts.tables.uid);
    x->ranges = ts_budget_calloc(x->memory, n, sizeof *x->ranges, err);
    x->next = n;
    if (!x->ranges)
        return TS_ELIMIT;
    for (uint32_t i = 0; i < n; i++) {
        struct sto_hbase_scan keys;
        if (keys_of(x, name.id, i, &keys) &&
            add_range(x, (struct ts_slice){(const char *)keys.start, keys.n_start},
                      (struct ts_slice){(const char *)keys.stop, keys.n_stop}) < 0)
            return sto_hbase__no_memory(err);
    }
    return 0;
}

static int find_ranges(struct sto_hbase__check *x, size_t *out_cap, struct ts_error *err)
{
    struct sto_hbase__checker *c = ts_xmalloc(sizeof *c);
    sto_hbase__checker_init(c, x);
    int rc = sto_hbase__checker_begin(c, err);
    if (rc == 0) {
        rc = (x->opts->metric.n ? ranges_of_metric : ranges_of_regions)(c, err);
        sto_hbase_end(&c->s);
    }
    *out_cap = x->next;
    x->next = 0;
    sto_hbase__checker_release(c);
    ts_free(c);
    return rc;
}

/* Check one table. The first members of x are set, up to res. */
static int check_table(struct sto_hbase__check x, struct ts_error *err)
{
    size_t cap = 0;
    x.memory = x.call && x.call->memory ? x.call->memory : x.h->opts.access.memory;
    pthread_mutex_init(&x.mu, NULL);
    int rc = find_ranges(&x, &cap, err);
    if (rc == 0 && x.n_ranges)
        rc = run_threads(&x, err);
    for (size_t i = 0; i < x.n_ranges; i++) {
        ts_buf_release(&x.ranges[i].start);
        ts_buf_release(&x.ranges[i].stop);
    }
    ts_budget_free(x.memory, x.ranges, x.ranges ? cap * sizeof *x.ranges : 0);
    pthread_mutex_destroy(&x.mu);
    return rc;
}

int sto_hbase_check_data(struct sto_remote *r, const struct sto_hbase_check_opts *opts,
                         const struct sto_remote_call *call, struct sto_hbase_check_result *res,
                         struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    return check_table(
        (struct sto_hbase__check){
            .h = h, .table = h->opts.tables.data, .opts = opts, .call = call, .res = res},
        err);
}

int sto_hbase_check_rollups(struct sto_remote *r, const struct sto_hbase_check_opts *opts,
                            const struct sto_remote_call *call, struct sto_hbase_check_result *res,
                            struct ts_error *err)
{
    struct sto_hbase *h = sto_hbase_of(r);
    const struct sto_hbase_rollups *all = h->opts.rollups;
    struct sto_hbase__check x = {.h = h, .opts = opts, .call = call, .res = res};
    for (size_t i = 0; all && i < all->n; i++) {
        const struct sto_hbase_rollup_interval *of = &all->intervals[i];
        x.shape = &of->shape;
        x.table = of->table;
        TS_TRY(check_table(x, err));
        x.table = of->pre_table;
        if (strcmp(of->table, of->pre_table) != 0)
            TS_TRY(check_table(x, err));
    }
    if (!all || strcmp(all->pre_table, h->opts.tables.data) == 0)
        return 0;
    x.shape = NULL;
    x.table = all->pre_table;
    return check_table(x, err);
}

/* --- as storage/remote.h has it --- */

struct as_text {
    void (*found)(void *arg, const char *text);
    void *arg;
};

static void on_found(void *arg, const struct sto_hbase_found *f)
{
    const struct as_text *t = arg;
    char hex[2 * STO_HBASE_MAX_KEY_BYTES + 1], text[TEXT_BYTES + sizeof hex + 100];
    struct ts_slice row = f->row;
    row.n = row.n < STO_HBASE_MAX_KEY_BYTES ? row.n : STO_HBASE_MAX_KEY_BYTES;
    sto_hbase_hex_print(row, hex);
    hex[2 * row.n] = 0;
    (void)snprintf(text, sizeof text, "%s: table %s, row %s: %s", f->name, f->table, hex, f->text);
    t->found(t->arg, text);
}

int sto_hbase__check(struct sto_remote *r, bool repair, const struct sto_remote_call *call,
                     void (*found)(void *arg, const char *text), void *arg, struct ts_error *err)
{
    struct as_text text = {found, arg};
    struct sto_hbase_check_opts opts = STO_HBASE_CHECK_ALL;
    struct sto_hbase_check_result res = {0};
    opts.fixes = repair ? STO_HBASE_FIX : 0;
    opts.found = on_found;
    opts.arg = &text;
    TS_TRY(sto_hbase_check_ids(r, &opts, call, &res, err));
    TS_TRY(sto_hbase_check_data(r, &opts, call, &res, err));
    return sto_hbase_check_rollups(r, &opts, call, &res, err);
}
