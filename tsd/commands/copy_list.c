/*
 * copy_list.c - which metrics the source has, those that cannot be copied, and rollups.
 *
 * Damaged   A name whose id in HBase's table cannot be read is left out, said and counted, so that it does not end the copy of all others.
 * Rollups   are listed like metrics of their own, by the names of their internal metrics
 * Threads   the main thread
 */
#include "base/mem.h"
#include "base/text.h"
#include "query/execution/internal_metric.h"
#include "tsd/commands/copy.h"

#include <stdlib.h>

#define NAME_BYTES   32  /* memory of a name beside its bytes */
#define LOOKUP_NAMES 500 /* that are looked up together */
#define LISTED_NAMES 20  /* of metrics that are left out */
#define SHOWN_BYTES  80  /* of a name in a text */

/* A list being filled. */
struct listing {
    struct tsd_copy *c;
    int rc;
    struct ts_error *err;
};

static bool add_metric(struct listing *l, struct ts_slice name)
{
    struct tsd_copy *c = l->c;
    l->rc = ts_budget_take(&c->memory, name.n + NAME_BYTES, l->err);
    if (l->rc == 0)
        l->rc = ts_budget_grow(&c->memory, &c->metrics, &c->cap_metrics, c->n_metrics + 1, sizeof *c->metrics,
                               l->err);
    if (l->rc == 0)
        c->metrics[c->n_metrics++] = (struct ts_slice){ts_arena_strndup(&c->names, name.p, name.n), name.n};
    return l->rc == 0;
}

/* --- --metric --- */

/* Does NAME, or NAME*, mean a metric? */
static bool matches(const char *pattern, struct ts_slice metric)
{
    size_t n = strlen(pattern);
    bool is_prefix = n && pattern[n - 1] == '*';
    return is_prefix ? metric.n >= n - 1 && memcmp(metric.p, pattern, n - 1) == 0
                     : ts_slice_is(metric, pattern);
}

/* The next --metric from *io_at on; NULL: there is none. */
static const char *next_pattern(const struct tsd_copy *c, unsigned *io_at)
{
    while (*io_at < c->args->n_uses) {
        const struct ts_opt_use *use = &c->args->uses[(*io_at)++];
        if (use->name && strcmp(use->name, "metric") == 0)
            return use->value;
    }
    return NULL;
}

static bool is_chosen(const struct tsd_copy *c, struct ts_slice metric)
{
    unsigned at = 0;
    const char *pattern = next_pattern(c, &at);
    if (!pattern)
        return true;
    for (; pattern; pattern = next_pattern(c, &at))
        if (matches(pattern, metric))
            return true;
    return false;
}

/* Each --metric means at least one metric of the source. */
static int check_patterns(const struct tsd_copy *c, struct ts_error *err)
{
    unsigned at = 0;
    for (const char *pattern; (pattern = next_pattern(c, &at));) {
        size_t i = 0;
        while (i < c->n_metrics && !matches(pattern, c->metrics[i]))
            i++;
        if (i == c->n_metrics)
            return ts_error_set(err, TS_ENOTFOUND,
                                "--metric %.80s matches no metric of %s%s; nothing was copied", pattern,
                                c->to_hbase ? "the folder " : "HBase's table ",
                                c->to_hbase ? c->dir : c->set.opts.tables.uid);
    }
    return 0;
}

/* --- names --- */

static void leave_out(struct tsd_copy *c, struct ts_slice metric, const char *why)
{
    if (c->n_left_out++ < LISTED_NAMES)
        tsd_say("the metric %.*s is left out: %s", TS_SHOWN(metric, SHOWN_BYTES), why);
}

static bool on_metric(void *arg, struct ts_slice name)
{
    struct listing *l = arg;
    if (!is_chosen(l->c, name))
        return true;
    if (!sto_name_internal(name))
        return add_metric(l, name);
    if (!l->c->to_hbase)
        leave_out(l->c, name, "such names are those of tsd's own series");
    return true;
}

static void on_own_metric(void *arg, uint32_t id, struct ts_slice name)
{
    struct listing *l = arg;
    (void)id;
    if (l->rc == 0 && !sto_uid_deleted(name))
        (void)on_metric(l, name);
}

/* Names that are looked up together. */
struct lookup {
    int rc;
    struct ts_error *err;
};

static void on_looked_up(void *arg, int rc, const struct ts_error *err)
{
    struct lookup *l = arg;
    l->rc = rc;
    if (err && l->err)
        *l->err = *err;
}

/* Keep those of the metrics [from, to) that HBase has an id for, or no id; *io_kept of all are kept so far. */
static int keep_readable(struct tsd_copy *c, struct sto_remote_name *list, size_t from, size_t to,
                         size_t *io_kept, struct ts_error *err)
{
    struct sto_remote_call call = tsd_copy_call(c);
    struct lookup l = {.err = err};
    for (size_t i = from; i < to; i++)
        list[i - from] = (struct sto_remote_name){.kind = STO_REMOTE_METRIC, .name = c->metrics[i]};
    c->remote->ops->names(c->remote, STO_REMOTE_FIND_EACH, list, to - from, &call, on_looked_up, &l);
    for (size_t i = from; i < to && l.rc == 0; i++) {
        if (list[i - from].rc == TS_ECORRUPT)
            leave_out(c, c->metrics[i],
                      "what HBase's table has of the name is no id; see tsd uid fsck --hbase");
        else
            c->metrics[(*io_kept)++] = c->metrics[i];
    }
    return l.rc;
}

static int leave_out_damaged(struct tsd_copy *c, struct ts_error *err)
{
    struct sto_remote_name *list = ts_xcalloc(LOOKUP_NAMES, sizeof *list);
    size_t n_kept = 0;
    int rc = 0;
    for (size_t from = 0, to; from < c->n_metrics && rc == 0; from = to) {
        to = from + LOOKUP_NAMES < c->n_metrics ? from + LOOKUP_NAMES : c->n_metrics;
        rc = keep_readable(c, list, from, to, &n_kept, err);
    }
    c->n_metrics = n_kept;
    ts_free(list);
    return rc;
}

/* --- rollups --- */

static int by_bytes(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

bool tsd_copy_has(const struct tsd_copy *c, struct ts_slice metric)
{
    return c->n_metrics && bsearch(&metric, c->metrics, c->n_metrics, sizeof *c->metrics, by_bytes) != NULL;
}

static void sort_metrics(struct tsd_copy *c)
{
    if (c->n_metrics)
        qsort(c->metrics, c->n_metrics, sizeof *c->metrics, by_bytes);
}

/* The rollups of the folder that belong to the n metrics that are listed. */
static int list_own_rollups(struct listing *l, size_t n)
{
    const struct qry_internal_metric *list;
    struct tsd_copy listed = {.metrics = l->c->metrics, .n_metrics = n};
    struct ts_arena arena;
    size_t n_all;
    ts_arena_init(&arena, 0);
    qry_internal_list(sto_store_catalog(l->c->store), TS_SLICE_LIT(""), &arena, &list, &n_all);
    for (size_t i = 0; i < n_all && l->rc == 0; i++) {
        listed.metrics = l->c->metrics; /* it may have grown */
        if (list[i].parts.kind == STO_INTERNAL_ROLLUP && tsd_copy_has(&listed, list[i].parts.metric))
            (void)add_metric(l, list[i].name);
    }
    ts_arena_release(&arena);
    return l->rc;
}

static void add_rollup(struct listing *l, struct ts_slice metric, const char *spec)
{
    struct ts_buf name;
    ts_buf_init(&name, 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_ROLLUP, metric, ts_slice_str(spec)}, &name);
    if (l->rc == 0)
        (void)add_metric(l, ts_buf_get(&name));
    ts_buf_release(&name);
}

/* The rollups that HBase may have of the n metrics that are listed: all that are configured. */
static int list_rollups(struct listing *l, const struct sto_hbase_rollups *r, size_t n)
{
    char spec[128];
    for (size_t i = 0; i < n && l->rc == 0; i++) {
        struct ts_slice metric = l->c->metrics[i];
        for (size_t k = 0; k < r->n; k++)
            for (size_t id = 0; id <= STO_HBASE_MAX_FUNCTION; id++) {
                const char *name = r->functions[id];
                if (!name)
                    continue;
                name = strcmp(name, "squaresum") ? name : "squareSum"; /* as tsd writes it */
                for (int pre = 0; pre < 2; pre++) {
                    (void)snprintf(spec, sizeof spec, "%s-%s%s", r->intervals[k].text, name, pre ? ":" : "");
                    add_rollup(l, metric, spec);
                }
            }
        add_rollup(l, metric, ":");
    }
    return l->rc;
}

/* --- all --- */

static int list_names(struct listing *l)
{
    struct tsd_copy *c = l->c;
    struct sto_remote_call call = tsd_copy_call(c);
    if (c->to_hbase)
        sto_uid_suggest(sto_store_catalog(c->store), STO_UID_METRIC, TS_SLICE_LIT(""), SIZE_MAX,
                        on_own_metric, l);
    else
        TS_TRY(c->remote->ops->suggest(c->remote, STO_REMOTE_METRIC, TS_SLICE_LIT(""), SIZE_MAX, &call,
                                       on_metric, l, l->err));
    return l->rc;
}

int tsd_copy_list(struct tsd_copy *c, struct ts_error *err)
{
    struct listing l = {.c = c, .err = err};
    const struct sto_hbase_rollups *rollups = c->set.opts.rollups;
    TS_TRY(list_names(&l));
    if (c->n_left_out == 0)
        TS_TRY(check_patterns(c, err));
    TS_TRY(leave_out_damaged(c, err));
    sort_metrics(c);
    c->n_names = c->n_metrics;
    if (rollups)
        TS_TRY(c->to_hbase ? list_own_rollups(&l, c->n_names) : list_rollups(&l, rollups, c->n_names));
    sort_metrics(c);
    return 0;
}
