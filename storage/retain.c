/*
 * retain.c - the rules of an open store.
 *
 * DIR/RULES is a text: a line that says what it is, the rules, a line each, and a checksum of all lines before it.
 *
 * Threads    retain.h. Lock order: change_mu, then marks_mu (age.h), then mu; sto_keep_rule calls match without a lock
 */
#include "storage/retain.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/aged.h"
#include "storage/engine/engine.h"
#include "storage/internal.h"
#include "storage/remote.h"
#include "storage/readonly.h"
#include "storage/store_int.h"

#define FIRST_LINE     "# tsd retention rules, version 1; change them with tsd retention\n"
#define FIRST_BEGIN    "# tsd retention rules, version "
#define LAST_BEGIN     "# crc32c "
#define LAST_BYTES     (sizeof LAST_BEGIN - 1 + 8 + 1)
#define FILE_MAX_BYTES (2 * STO_RETAIN_TEXT_BYTES)

/* --- the file --- */

static int decode(const char *path, struct ts_slice text, struct sto_retain_rules *out, struct ts_error *err)
{
    size_t n = text.n > LAST_BYTES ? text.n - LAST_BYTES : 0;
    char crc[LAST_BYTES + 1];
    struct ts_error why = {0};
    (void)snprintf(crc, sizeof crc, LAST_BEGIN "%08x\n", ts_crc32c(0, text.p, n));
    if (!n || memcmp(text.p + n, crc, LAST_BYTES) != 0)
        return ts_error_set(
            err, TS_ECORRUPT,
            "%s is damaged: its checksum is wrong; tsd fsck --repair sets it aside, so that the "
            "rules can be set again",
            path);
    if (n < sizeof FIRST_LINE - 1 || memcmp(text.p, FIRST_LINE, sizeof FIRST_LINE - 1) != 0)
        return ts_error_set(err, TS_EVERSION, "%s was written by a newer program", path);
    int rc = sto_retain_rules_add(out, (struct ts_slice){text.p, n}, &why);
    return rc < 0 ? ts_error_set(err, TS_ECORRUPT, "%s is damaged: %s", path, why.text) : 1;
}

int sto_retain_file_read(const struct ts_fs *fs, const char *dir, struct sto_retain_rules *out,
                         struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_RULES_NAME), *p = NULL;
    size_t n = 0;
    int rc = ts_fs_read_small(fs, path, FILE_MAX_BYTES, &p, &n, err);
    if (rc == 1)
        rc = decode(path, (struct ts_slice){p, n}, out, err);
    ts_free(p);
    ts_free(path);
    return rc;
}

static int file_write(struct sto_store *st, const struct sto_retain_rules *r, struct ts_error *err)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_str(&text, FIRST_LINE);
    for (size_t i = 0; i < r->n; i++) {
        ts_buf_slice(&text, r->v[i].text);
        ts_buf_char(&text, '\n');
    }
    ts_buf_printf(&text, LAST_BEGIN "%08x\n", ts_crc32c(0, text.p, text.n));
    char *path = ts_fs_join(st->opts.dir, STO_RULES_NAME);
    int rc = text.failed ? ts_error_set(err, TS_ENOMEM, "no memory for the rules of retention")
                         : ts_fs_write_atomic(st->opts.fs, path, text.p, text.n, err);
    ts_free(path);
    ts_buf_release(&text);
    return rc;
}

/* Could the file of these rules be read again? */
static int check_length(const struct sto_retain_rules *r, struct ts_error *err)
{
    size_t n = sizeof FIRST_LINE - 1;
    for (size_t i = 0; i < r->n; i++)
        n += r->v[i].text.n + 1;
    if (n <= STO_RETAIN_TEXT_BYTES)
        return 0;
    return ts_error_set(err, TS_ELIMIT, "the rules of retention would be longer than %u bytes together",
                        STO_RETAIN_TEXT_BYTES);
}

/* --- which rule a series has --- */

/* What a struct sto_keep is made of: shared by those that are made one after the other when names change. */
struct sto_retain__match {
    atomic_uint refs;
    struct sto_catalog *catalog;
    struct sto_retain_rules rules; /* those set, then those configured */
    int64_t rest_ms;
    /* A rule that keeps hours longer than points has three rules of struct sto_keep more, whose numbers follow those of all others: of its
     * summaries of hours, of those of days, and of its rollups, histograms and versions. */
    size_t n_all;                   /* rules of struct sto_keep */
    uint8_t hours[STO_KEEP_RULES];  /* by rule: the one of its summaries; the rule itself if there are none */
    uint8_t days[STO_KEEP_RULES];   /* the same of days */
    uint8_t others[STO_KEEP_RULES]; /* the last one */
};
_Static_assert(STO_KEEP_RULES <= UINT8_MAX, "a byte holds a rule");

/* How many rules of struct sto_keep these are. */
static size_t count(const struct sto_retain_rules *r)
{
    size_t n = r->n;
    for (size_t i = 0; i < r->n; i++)
        n += r->v[i].hours_ms > r->v[i].points_ms ? 3 : 0;
    return n;
}

/* The rule of struct sto_keep of a series that the i-th rule matches, as sto_keep_match_fn. */
static int rule_of(const struct sto_retain__match *m, size_t i, const struct sto_internal *internal)
{
    enum sto_aged_level level = internal ? sto_internal_level(internal) : STO_AGED_NONE;
    int rule = (int)m->n_all;
    if (i < m->rules.n && !internal)
        rule = (int)i;
    else if (i < m->rules.n)
        rule = level == STO_AGED_DAYS ? m->days[i] : level == STO_AGED_HOURS ? m->hours[i] : m->others[i];
    return level == STO_AGED_NONE ? rule : rule | STO_KEEP_SUMMARY;
}

static bool names_match(const struct sto_retain_rule *r, const struct sto_remote_series *names,
                        struct ts_slice metric)
{
    bool all = ts_slice_fits_stars(metric, r->metric);
    for (size_t i = 0, k = 0; all && i < r->n_tags; i++) {
        for (k = 0; k < names->n_tags && !ts_slice_eq(names->tags[k].k, r->tags[i].k); k++)
            ;
        all = k < names->n_tags && ts_slice_fits_stars(names->tags[k].v, r->tags[i].v);
    }
    return all;
}

static int on_names(void *arg, const struct sto_remote_series *names)
{
    const struct sto_retain__match *m = arg;
    struct sto_internal internal;
    bool is_internal = sto_internal_parse(names->metric, &internal);
    struct ts_slice metric = is_internal ? internal.metric : names->metric;
    size_t i = 0;
    while (i < m->rules.n && !names_match(&m->rules.v[i], names, metric))
        i++;
    return rule_of(m, i, is_internal ? &internal : NULL) & ~STO_KEEP_SUMMARY;
}

static bool has_tag(const struct sto_catalog *cat, const struct sto_series *s, struct ts_slice k,
                    struct ts_slice v)
{
    for (unsigned i = 0; i < s->n_tags; i++)
        if (ts_slice_eq(sto_uid_name(cat, STO_UID_TAGK, s->tags[i].k), k))
            return ts_slice_fits_stars(sto_uid_name(cat, STO_UID_TAGV, s->tags[i].v), v);
    return false;
}

static bool matches(const struct sto_catalog *cat, const struct sto_retain_rule *r, struct ts_slice metric,
                    const struct sto_series *s)
{
    bool all = ts_slice_fits_stars(metric, r->metric);
    for (size_t i = 0; all && i < r->n_tags; i++)
        all = has_tag(cat, s, r->tags[i].k, r->tags[i].v);
    return all;
}

static int on_match(void *arg, uint32_t series)
{
    const struct sto_retain__match *m = arg;
    size_t i = 0;
    struct sto_internal internal;
    bool is_internal = false;
    unsigned reading = sto_catalog_read_begin(m->catalog);
    const struct sto_series *s = series < STO_FOREIGN ? sto_series_get(m->catalog, series) : NULL;
    if (s) {
        struct ts_slice metric = sto_uid_name(m->catalog, STO_UID_METRIC, s->metric);
        is_internal = sto_internal_parse(metric, &internal);
        metric = is_internal ? internal.metric : metric;
        while (i < m->rules.n && !matches(m->catalog, &m->rules.v[i], metric, s))
            i++;
    }
    sto_catalog_read_end(m->catalog, reading);
    return s ? rule_of(m, i, is_internal ? &internal : NULL) : -1;
}

static void on_release(void *arg)
{
    struct sto_retain__match *m = arg;
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    sto_retain_rules_release(&m->rules);
    ts_free(m);
}

static void copy_rules(struct sto_retain_rules *out, const struct sto_retain_rules *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (sto_retain_rules_add(out, from->v[i].text, NULL) < 0)
            TS_BUG("a rule that was read is not read again");
}

static struct sto_retain__match *match_new(struct sto_store *st, const struct sto_retain_rules *set)
{
    struct sto_retain__match *m = ts_xcalloc(1, sizeof *m);
    atomic_init(&m->refs, 1);
    m->catalog = st->catalog;
    m->rest_ms = st->opts.retention_ms ? st->opts.retention_ms : STO_KEEP_FOREVER;
    copy_rules(&m->rules, set);
    copy_rules(&m->rules, &st->retain.conf);
    m->n_all = m->rules.n;
    for (size_t i = 0; i < m->rules.n; i++) {
        bool ages = m->rules.v[i].hours_ms > m->rules.v[i].points_ms;
        m->hours[i] = (uint8_t)(ages ? m->n_all++ : i);
        m->days[i] = (uint8_t)(ages ? m->n_all++ : i);
        m->others[i] = (uint8_t)(ages ? m->n_all++ : i);
    }
    return m;
}

/* Rules that have looked up no series yet. aged: as in struct sto_keep_opts. */
static struct sto_keep *keep_of(struct sto_retain__match *m, const struct sto_quota *quota,
                                struct sto_floors *aged)
{
    int64_t points_ms[STO_KEEP_RULES], hours_ms[STO_KEEP_RULES], days_ms[STO_KEEP_RULES];
    for (size_t i = 0; i < m->rules.n; i++) {
        const struct sto_retain_rule *r = &m->rules.v[i];
        points_ms[m->days[i]] = hours_ms[m->days[i]] = days_ms[m->days[i]] = r->days_ms;
        points_ms[m->hours[i]] = r->hours_ms;
        hours_ms[m->hours[i]] = days_ms[m->hours[i]] = r->days_ms; /* what hours become */
        points_ms[m->others[i]] = hours_ms[m->others[i]] = days_ms[m->others[i]] = r->points_ms;
        points_ms[i] = r->points_ms;
        hours_ms[i] = r->hours_ms;
        days_ms[i] = r->days_ms;
    }
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return sto_keep_new(&(struct sto_keep_opts){.points_ms = points_ms,
                                                .hours_ms = hours_ms,
                                                .days_ms = days_ms,
                                                .aged = aged,
                                                .n_rules = m->n_all,
                                                .rest_ms = m->rest_ms,
                                                .least_ms = sto_quota_cutoff_ms(quota),
                                                .least_points_ms = sto_quota_points_ms(quota),
                                                .match = on_match,
                                                .match_names = on_names,
                                                .release = on_release,
                                                .arg = m});
}

/* --- the rules in force --- */

struct sto_keep *sto_retain_keep(struct sto_store *st)
{
    struct sto_retain *r = &st->retain;
    struct sto_keep *old = NULL;
    pthread_mutex_lock(&r->mu);
    uint64_t generation = sto_catalog_generation(st->catalog);
    /* names have changed, or series were forgotten; or the limit of bytes has removed more; or summaries were made */
    bool by_names = r->match->rules.n || sto_keep_least_points_ms(r->keep) > sto_keep_least_ms(r->keep);
    if ((generation != r->generation && by_names) ||
        sto_quota_cutoff_ms(&st->quota) != sto_keep_least_ms(r->keep) ||
        sto_quota_points_ms(&st->quota) != sto_keep_least_points_ms(r->keep) ||
        r->aged != sto_keep_aged(r->keep)) {
        old = r->keep;
        r->keep = keep_of(r->match, &st->quota, r->aged);
    }
    r->generation = generation;
    struct sto_keep *keep = sto_keep_ref(r->keep);
    pthread_mutex_unlock(&r->mu);
    sto_keep_unref(old);
    return keep;
}

uint64_t sto_retain_epoch(const struct sto_store *st)
{
    return atomic_load_explicit(&st->retain.n_changes, memory_order_acquire) /* partner: publish */
           + sto_catalog_generation(st->catalog) + sto_quota_n_changes(&st->quota);
}

void sto_retain_set_aged(struct sto_store *st, struct sto_floors *aged)
{
    struct sto_retain *r = &st->retain;
    pthread_mutex_lock(&r->mu);
    struct sto_floors *old = r->aged;
    r->aged = sto_floors_ref(aged);
    pthread_mutex_unlock(&r->mu);
    sto_floors_unref(old);
    atomic_fetch_add_explicit(&r->n_changes, 1, memory_order_release); /* partner: sto_retain_epoch */
}

struct sto_floors *sto_retain_aged(struct sto_store *st)
{
    pthread_mutex_lock(&st->retain.mu);
    struct sto_floors *aged = sto_floors_ref(st->retain.aged);
    pthread_mutex_unlock(&st->retain.mu);
    return aged;
}

int64_t sto_retain_now_ms(const struct sto_store *st)
{
    return sto_engine_sure_ms(st->engine);
}

/* Takes the reference of m. */
static void publish(struct sto_store *st, struct sto_retain__match *m)
{
    struct sto_retain *r = &st->retain;
    uint64_t generation = sto_catalog_generation(st->catalog);
    pthread_mutex_lock(&r->mu);
    struct sto_keep *keep = keep_of(m, &st->quota, r->aged);
    struct sto_keep *old = r->keep;
    struct sto_retain__match *was = r->match;
    r->keep = keep;
    r->match = m;
    r->generation = generation;
    pthread_mutex_unlock(&r->mu);
    atomic_fetch_add_explicit(&r->n_changes, 1, memory_order_release); /* partner: sto_retain_epoch */
    sto_keep_unref(old);
    on_release(was);
}

/* Read rules of the configuration. */
static int get_configured(const char *text, struct sto_retain_rules *out, struct ts_error *err)
{
    int rc = sto_retain_rules_add(out, ts_slice_str(text), err);
    return rc < 0 && err ? ts_error_wrap(err, "retention_rules") : rc;
}

int sto_retain_check(const char *text, struct ts_error *err)
{
    struct sto_retain_rules r = {0};
    int rc = get_configured(text, &r, err);
    sto_retain_rules_release(&r);
    return rc;
}

/* A remote store has points alone. */
static int check_remote(const struct sto_store *st, const struct sto_retain_rules *r, struct ts_error *err)
{
    if (!st->opts.remote || count(r) == r->n)
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "a rule of retention has hours= or days=, which is not possible with remote = hbase: "
                        "what is older is answered by HBase");
}

int sto_retain__open(struct sto_store *st, struct ts_error *err)
{
    struct sto_retain *r = &st->retain;
    TS_TRY(sto_retain_file_read(st->opts.fs, st->opts.dir, &r->set, err));
    if (st->opts.retention_rules)
        TS_TRY(get_configured(st->opts.retention_rules, &r->conf, err));
    if (count(&r->set) + count(&r->conf) > STO_KEEP_RULES)
        return ts_error_set(err, TS_ELIMIT,
                            "retention_rules has %zu rules, and %zu were set by commands: together there may "
                            "be %d (a rule with "
                            "hours= or days= counts four times)",
                            r->conf.n, r->set.n, STO_KEEP_RULES);
    TS_TRY(check_remote(st, &r->set, err));
    TS_TRY(check_remote(st, &r->conf, err));
    pthread_mutex_init(&r->mu, NULL);
    pthread_mutex_init(&r->change_mu, NULL);
    r->is_open = true;
    TS_TRY(sto_age__open(st, err));
    publish(st, match_new(st, &r->set));
    return 0;
}

void sto_retain__close(struct sto_store *st)
{
    struct sto_retain *r = &st->retain;
    sto_retain_rules_release(&r->set);
    sto_retain_rules_release(&r->conf);
    if (!r->is_open)
        return;
    sto_keep_unref(r->keep);
    sto_floors_unref(r->aged);
    on_release(r->match); /* NULL is harmless, as in an opening that has failed */
    pthread_mutex_destroy(&r->mu);
    pthread_mutex_destroy(&r->change_mu);
    r->is_open = false;
}

/* --- listing and changing --- */

static size_t find(const struct sto_retain_rules *r, struct ts_slice text)
{
    size_t i = 0;
    while (i < r->n && !ts_slice_eq(r->v[i].text, text))
        i++;
    return i;
}

static int missing(const struct sto_retain_rules *conf, struct ts_slice text, struct ts_error *err)
{
    bool configured = find(conf, text) < conf->n;
    struct ts_slice shown = ts_utf8_cut(text, 120);
    return ts_error_set(err, TS_ENOTFOUND, "the rule '%.*s' %s", (int)shown.n, shown.p,
                        configured ? "is one of retention_rules: change the configuration"
                                   : "was not set; tsd retention lists the rules");
}

/* Do to set, a copy, what the call says. changes: the rules that it gives. */
static int apply(const struct sto_retain_call *call, const struct sto_retain_rules *changes,
                 const struct sto_retain_rules *conf, struct sto_retain_rules *set, struct ts_error *err)
{
    size_t at = call->at < set->n ? call->at : set->n, n;
    if (call->what == STO_RETAIN_REPLACE) {
        sto_retain_rules_release(set);
        at = 0;
    } else if (changes->n == 0) {
        return ts_error_set(err, TS_EINVAL, "no rule is given");
    }
    for (size_t i = 0; i < changes->n; i++) {
        struct ts_slice text = changes->v[i].text;
        size_t known = find(set, text);
        if (call->what == STO_RETAIN_REMOVE) {
            if (known == set->n)
                return missing(conf, text, err);
            ts_free((char *)set->v[known].text.p);
            memmove(set->v + known, set->v + known + 1, (set->n - known - 1) * sizeof *set->v);
            set->n--;
            continue;
        }
        if (known < set->n)
            return ts_error_set(err, TS_EEXIST, "the rule '%.*s' is there already",
                                (int)ts_utf8_cut(text, 120).n, text.p);
        n = set->n;
        TS_TRY(sto_retain_rules_add(set, text, err));
        struct sto_retain_rule one = set->v[n];
        memmove(set->v + at + 1, set->v + at, (n - at) * sizeof *set->v);
        set->v[at++] = one;
    }
    if (count(set) + count(conf) > STO_KEEP_RULES)
        return ts_error_set(
            err, TS_ELIMIT,
            "there would be more than %d rules of retention (one with hours= or days= counts four times)",
            STO_KEEP_RULES);
    return call->what == STO_RETAIN_REMOVE ? 0 : check_length(set, err);
}

/* Report the rules of m, of which the first n_set were set. */
static int report(struct sto_store *st, struct sto_retain__match *m, size_t n_set,
                  const struct sto_retain_call *call, struct ts_error *err)
{
    struct sto_expired *does = ts_xcalloc(m->n_all + 1, sizeof *does);
    struct sto_floors *aged = sto_retain_aged(st);
    struct sto_keep *keep = keep_of(m, &st->quota, aged);
    int rc = call->explain ? sto_engine_expired(st->engine, keep, ts_clock_ms(), does, err) : 0;
    for (size_t i = 0; rc == 0 && i <= m->rules.n; i++) {
        size_t at = i < m->rules.n ? i : m->n_all;
        struct sto_retain_row row = {.source = i < n_set        ? STO_RETAIN_SET
                                               : i < m->rules.n ? STO_RETAIN_CONF
                                                                : STO_RETAIN_REST,
                                     .text = i < m->rules.n ? m->rules.v[i].text : (struct ts_slice){"", 0},
                                     .points_ms = sto_keep_rule_ms(keep, at),
                                     .hours_ms = sto_keep_rule_hours_ms(keep, at),
                                     .days_ms = i < m->rules.n ? m->rules.v[i].days_ms
                                                               : sto_keep_rule_hours_ms(keep, at),
                                     .does = call->explain ? &does[at] : NULL};
        if (call->explain && sto_keep_rule_ages(keep, at))
            row.hours_do = &does[m->hours[i]];
        if (row.hours_do && row.days_ms > row.hours_ms)
            row.days_do = &does[m->days[i]];
        call->each(call->arg, &row);
    }
    sto_keep_unref(keep);
    sto_floors_unref(aged);
    ts_free(does);
    return rc;
}

/* Put a new list in force; what it held is in set afterwards. */
static int put_in_force(struct sto_store *st, struct sto_retain_rules *set, struct sto_retain__match *m,
                        struct ts_error *err)
{
    struct sto_retain_rules was = st->retain.set;
    TS_TRY(file_write(st, set, err));
    st->retain.set = *set;
    *set = was;
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    /* a rule that keeps points longer lets points be taken that a pass under way has not read */
    sto_aged_hold(st);
    publish(st, m);
    sto_aged_let(st);
    sto_engine_look_soon(st->engine);
    return 0;
}

int sto_retain(struct sto_store *st, const struct sto_retain_call *call, struct ts_error *err)
{
    struct sto_retain *r = &st->retain;
    struct sto_retain_rules changes = {0}, set = {0};
    bool changed = call->what != STO_RETAIN_LIST;
    if (changed && !call->dry_run && st->opts.read_only)
        return sto_read_only_refuse(&st->read_only_why, err);
    TS_TRY(sto_retain_rules_add(&changes, call->text, err));
    pthread_mutex_lock(&r->change_mu);
    copy_rules(&set, &r->set);
    int rc = changed ? apply(call, &changes, &r->conf, &set, err) : 0;
    struct sto_retain__match *m = rc == 0 ? match_new(st, &set) : NULL;
    size_t n_set = set.n;
    if (rc == 0 && changed && call->what != STO_RETAIN_REMOVE)
        rc = check_remote(st, &set, err);
    if (rc == 0 && changed && !call->dry_run)
        rc = put_in_force(st, &set, m, err);
    pthread_mutex_unlock(&r->change_mu);
    if (rc == 0 && call->each)
        rc = report(st, m, n_set, call, err);
    on_release(m);
    sto_retain_rules_release(&set);
    sto_retain_rules_release(&changes);
    return rc;
}
