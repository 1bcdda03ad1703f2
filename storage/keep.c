/*
 * keep.c - durations of rules and the table of the rules of series.
 *
 * The table has a page of two bytes for each of 65,536 numbers of series that were looked up: the rule + 1, with STO_KEEP_SUMMARY, or 0.
 *
 * Threads    keep.h; entries and pages are set once, by whoever looks first
 */
#include "storage/keep.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "storage/floors.h"

#define PAGE_BITS 16
#define PAGE_IDS  (1u << PAGE_BITS)
#define N_PAGES   (STO_FOREIGN >> PAGE_BITS)
_Static_assert(STO_KEEP_RULES + 2 <= STO_KEEP_SUMMARY, "an entry holds a rule, the rest, and 0");

struct sto_keep {
    atomic_uint refs;
    struct sto_keep_opts opts;          /* points_ms: owned */
    int64_t *points_ms;                 /* n_rules + 1: the last one is the rest; owned */
    int64_t *hours_ms;                  /* the same of whole hours; owned */
    int64_t *days_ms;                   /* and of whole days; owned */
    bool ages;                          /* a rule keeps hours longer than points */
    int64_t top_mark_ms;                /* the highest mark; STO_MIN_TS_MS = there is none */
    int64_t longest_ms, shortest_ms;    /* of all */
    _Atomic(_Atomic uint16_t *) *pages; /* N_PAGES; NULL if all series are alike; owned */
};

static int64_t or_longer(const int64_t *rules_ms, size_t rule, int64_t ms)
{
    return rules_ms && rules_ms[rule] > ms ? rules_ms[rule] : ms;
}

struct sto_keep *sto_keep_new(const struct sto_keep_opts *opts)
{
    struct sto_keep *k = ts_xcalloc(1, sizeof *k);
    if (opts->n_rules > STO_KEEP_RULES)
        TS_BUG("%zu rules of retention", opts->n_rules);
    k->opts = *opts;
    atomic_init(&k->refs, 1);
    k->points_ms = ts_xcalloc(opts->n_rules + 1, sizeof *k->points_ms);
    k->hours_ms = ts_xcalloc(opts->n_rules + 1, sizeof *k->hours_ms);
    k->days_ms = ts_xcalloc(opts->n_rules + 1, sizeof *k->days_ms);
    k->opts.aged = sto_floors_ref(opts->aged);
    k->top_mark_ms = STO_MIN_TS_MS;
    for (size_t i = 0; opts->aged && i < opts->aged->n; i++)
        if (opts->aged->at[i].cutoff_ms > k->top_mark_ms)
            k->top_mark_ms = opts->aged->at[i].cutoff_ms;
    k->longest_ms = k->shortest_ms = opts->rest_ms;
    for (size_t i = 0; i <= opts->n_rules; i++) {
        int64_t ms = i < opts->n_rules ? opts->points_ms[i] : opts->rest_ms;
        k->points_ms[i] = ms;
        k->hours_ms[i] = or_longer(i < opts->n_rules ? opts->hours_ms : NULL, i, ms);
        k->days_ms[i] = or_longer(i < opts->n_rules ? opts->days_ms : NULL, i, k->hours_ms[i]);
        k->ages |= k->hours_ms[i] > ms;
        k->longest_ms = k->days_ms[i] > k->longest_ms ? k->days_ms[i] : k->longest_ms;
        k->shortest_ms = ms < k->shortest_ms ? ms : k->shortest_ms;
    }
    k->opts.points_ms = k->opts.hours_ms = k->opts.days_ms = NULL;
    if (k->opts.least_points_ms < k->opts.least_ms)
        k->opts.least_points_ms = k->opts.least_ms;
    if (opts->n_rules || k->opts.least_points_ms > k->opts.least_ms)
        k->pages = ts_xcalloc(N_PAGES, sizeof *k->pages);
    return k;
}

struct sto_keep *sto_keep_ref(struct sto_keep *k)
{
    if (k)
        atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void sto_keep_unref(struct sto_keep *k)
{
    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; k->pages && i < N_PAGES; i++)
        ts_free((void *)atomic_load_explicit(&k->pages[i], memory_order_relaxed));
    if (k->opts.release)
        k->opts.release(k->opts.arg);
    ts_free(k->pages);
    sto_floors_unref(k->opts.aged);
    ts_free(k->points_ms);
    ts_free(k->hours_ms);
    ts_free(k->days_ms);
    ts_free(k);
}

/* The page of a number; made if it is not there. */
static _Atomic uint16_t *page_of(struct sto_keep *k, uint32_t series)
{
    _Atomic(_Atomic uint16_t *) *at = &k->pages[series >> PAGE_BITS];
    _Atomic uint16_t *page = atomic_load_explicit(at, memory_order_acquire); /* partner: the exchange below */
    if (page)
        return page;
    _Atomic uint16_t *made = ts_xcalloc(PAGE_IDS, sizeof *made);
    if (atomic_compare_exchange_strong_explicit(at, &page, made, memory_order_acq_rel, memory_order_acquire))
        return made;
    ts_free((void *)made);
    return page;
}

/* As sto_keep_match_fn. */
static int look_up(struct sto_keep *k, uint32_t series)
{
    if (!k->pages)
        return 0;
    if (series >= STO_FOREIGN)
        return -1;
    _Atomic uint16_t *known = page_of(k, series) + (series & (PAGE_IDS - 1));
    int rule = atomic_load_explicit(known, memory_order_relaxed); /* whoever sets it sets the same */
    if (rule)
        return rule - 1;
    rule = k->opts.match(k->opts.arg, series);
    if (rule >= 0)
        atomic_store_explicit(known, (uint16_t)(rule + 1), memory_order_relaxed);
    return rule;
}

static int rule_in(int found)
{
    return found < 0 ? found : found & ~STO_KEEP_SUMMARY;
}

int sto_keep_rule(struct sto_keep *k, uint32_t series)
{
    return rule_in(look_up(k, series));
}

/* The limit of bytes for what was looked up. */
static int64_t least_of(const struct sto_keep *k, int found)
{
    return found < 0 || found & STO_KEEP_SUMMARY ? k->opts.least_ms : k->opts.least_points_ms;
}

bool sto_keep_is_summary(struct sto_keep *k, uint32_t series)
{
    int found = k->opts.least_points_ms > k->opts.least_ms ? look_up(k, series) : -1;
    return found >= 0 && found & STO_KEEP_SUMMARY;
}

bool sto_keep_by_series(const struct sto_keep *k)
{
    return k->opts.n_rules || sto_keep_ages(k) || k->opts.least_points_ms > k->opts.least_ms;
}

int64_t sto_keep_rule_ms(const struct sto_keep *k, size_t rule)
{
    return k->points_ms[rule];
}

int64_t sto_keep_rule_hours_ms(const struct sto_keep *k, size_t rule)
{
    return k->hours_ms[rule];
}

bool sto_keep_rule_ages(const struct sto_keep *k, size_t rule)
{
    return k->hours_ms[rule] > k->points_ms[rule];
}

bool sto_keep_ages(const struct sto_keep *k)
{
    return k->ages || (k->opts.aged && k->opts.aged->n);
}

struct sto_floors *sto_keep_aged(const struct sto_keep *k)
{
    return k->opts.aged;
}

/* The mark that a series is in; NULL: it has none. */
static const struct sto_floor *mark_of(const struct sto_keep *k, uint32_t series)
{
    for (size_t i = 0; k->opts.aged && i < k->opts.aged->n; i++)
        if (roaring_bitmap_contains(k->opts.aged->at[i].series, series))
            return &k->opts.aged->at[i];
    return NULL;
}

int64_t sto_keep_aged_to_ms(const struct sto_keep *k, uint32_t series)
{
    const struct sto_floor *mark = mark_of(k, series);
    return mark ? mark->cutoff_ms : STO_MIN_TS_MS;
}

bool sto_keep_aged_lost(const struct sto_keep *k, uint32_t series)
{
    const struct sto_floor *mark = mark_of(k, series);
    return mark && mark->cutoff_ms == STO_MIN_TS_MS;
}

size_t sto_keep_n_rules(const struct sto_keep *k)
{
    return k->opts.n_rules;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t from_ms(const struct sto_keep *k, int64_t keep_ms, int64_t now_ms)
{
    bool all = keep_ms == STO_KEEP_FOREVER || now_ms < STO_MIN_TS_MS + keep_ms;
    return later(all ? STO_MIN_TS_MS : now_ms - keep_ms, k->opts.least_ms);
}

int64_t sto_keep_from_ms(struct sto_keep *k, uint32_t series, int64_t now_ms)
{
    int found = look_up(k, series), rule = rule_in(found);
    int64_t ms = rule < 0 ? k->opts.least_ms : from_ms(k, k->points_ms[rule], now_ms);
    ms = later(ms, least_of(k, found));
    /* a mark is behind what has expired, unless a rule keeps points longer now, or the clock was set back */
    return k->top_mark_ms > ms ? later(ms, sto_keep_aged_to_ms(k, series)) : ms;
}

int64_t sto_keep_hours_from_ms(struct sto_keep *k, uint32_t series, int64_t now_ms)
{
    int rule = sto_keep_rule(k, series);
    if (rule < 0 || !sto_keep_rule_ages(k, (size_t)rule))
        return sto_keep_from_ms(k, series, now_ms);
    return from_ms(k, k->hours_ms[rule], now_ms);
}

int64_t sto_keep_days_from_ms(struct sto_keep *k, uint32_t series, int64_t now_ms)
{
    int rule = sto_keep_rule(k, series);
    if (rule < 0 || k->days_ms[rule] <= k->hours_ms[rule])
        return sto_keep_hours_from_ms(k, series, now_ms);
    return from_ms(k, k->days_ms[rule], now_ms);
}

int64_t sto_keep_any_ms(struct sto_keep *k, const struct sto_series *const *series, size_t n,
                        int64_t least_ms, int64_t now_ms)
{
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; i < n && first_ms > least_ms; i++) {
        int64_t ms = sto_keep_from_ms(k, series[i]->id, now_ms);
        first_ms = ms < first_ms ? ms : first_ms;
    }
    return n && first_ms > least_ms ? first_ms : least_ms;
}

int64_t sto_keep_names_from_ms(struct sto_keep *k, const struct sto_remote_series *names, int64_t now_ms)
{
    int rule = k->opts.n_rules ? k->opts.match_names(k->opts.arg, names) : 0;
    return rule < 0 ? k->opts.least_ms : from_ms(k, k->points_ms[rule], now_ms);
}

int64_t sto_keep_first_ms(const struct sto_keep *k, int64_t now_ms)
{
    return from_ms(k, k->longest_ms, now_ms);
}

int64_t sto_keep_all_ms(const struct sto_keep *k, int64_t now_ms)
{
    return later(from_ms(k, k->shortest_ms, now_ms), later(k->top_mark_ms, k->opts.least_points_ms));
}

bool sto_keep_expires(const struct sto_keep *k)
{
    return k->shortest_ms != STO_KEEP_FOREVER;
}

int64_t sto_keep_least_ms(const struct sto_keep *k)
{
    return k->opts.least_ms;
}

int64_t sto_keep_least_points_ms(const struct sto_keep *k)
{
    return k->opts.least_points_ms;
}
