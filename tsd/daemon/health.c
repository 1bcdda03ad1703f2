/*
 * health.c - the problems that are known, a function each.
 *
 * Threads    see health.h
 */
#include "tsd/daemon/health.h"

#include "base/text.h"
#include "tsd/daemon/daemon.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define HEALTH_FREE_PCT   5  /* less free space of the data folder is a problem */
#define HEALTH_SHIPPING_S 60 /* so long, all passes of shipping have failed */

/* A new problem, whose texts the caller fills in. */
static struct tsd_health_problem *health_add(struct tsd_health *h, bool blocks)
{
    struct tsd_health_problem *p = &h->problems[h->n < TSD_HEALTH_MAX ? h->n++ : TSD_HEALTH_MAX - 1];
    *p = (struct tsd_health_problem){.blocks = blocks};
    return p;
}

#define HEALTH_TEXT(MEMBER, ...) (void)snprintf(MEMBER, sizeof(MEMBER), __VA_ARGS__)

static void health_stopping(const struct tsd_daemon *d, struct tsd_health *h)
{
    if (!atomic_load_explicit(&d->stopping, memory_order_relaxed))
        return;
    struct tsd_health_problem *p = health_add(h, true);
    HEALTH_TEXT(p->what, "the daemon is stopping");
    HEALTH_TEXT(p->action, "send requests to another daemon, or wait until it is started again");
}

static void health_refusing(const struct tsd_daemon *d, bool away, struct tsd_health *h)
{
    const char *why = sto_store_refusing(d->store);
    if (!why)
        return;
    struct tsd_health_problem *p = health_add(h, true);
    HEALTH_TEXT(p->what, "points are refused: %s", why);
    HEALTH_TEXT(p->action,
                "%sremove the cause that the sentence names (free disk space, memory or descriptors, repair "
                "the disk); "
                "queries are answered meanwhile, and the log has the details",
                away ? "let HBase answer again, since points that it lacks fill the data folder; " : "");
}

static enum tsd_hbase_health health_hbase(const struct tsd_daemon *d, struct ts_error *why)
{
    return d->hbase ? tsd_hbase_state(d->hbase, why) : TSD_HBASE_UNKNOWN;
}

static void health_away(enum tsd_hbase_health hbase, const struct ts_error *why, struct tsd_health *h)
{
    struct tsd_health_problem *p = health_add(h, false);
    if (hbase == TSD_HBASE_REFUSES) {
        HEALTH_TEXT(p->what, "HBase does not serve the table of ids: %s", why->text);
        HEALTH_TEXT(p->action,
                    "remove the cause that the sentence names (tsd hbase status looks at tables and region "
                    "servers); points are accepted and wait in the data folder");
        return;
    }
    HEALTH_TEXT(p->what, "HBase does not answer: %s", why->text);
    HEALTH_TEXT(p->action,
                "start the gateways that hbase_gateways names, or correct this key; points are accepted and "
                "wait in the data folder");
}

/* The salts or widths are not those of the table. */
static void health_keys(const struct tsd_daemon *d, struct tsd_health *h)
{
    struct ts_error why = {0};
    if (!d->hbase || !tsd_hbase_has_odd_keys(d->hbase, &why))
        return;
    struct tsd_health_problem *p = health_add(h, false);
    HEALTH_TEXT(p->what, "%s: answers lack points, and nobody else finds what is written", why.text);
    HEALTH_TEXT(p->action, "stop the daemon, and configure the numbers with which the table was made");
}

/* HBase answers, but does not take points: a table is missing, or access to it is denied. */
static void health_shipping(const struct tsd_daemon *d, struct tsd_health *h)
{
    struct ts_error why = {0};
    uint64_t s = sto_ship_failing(d->store, &why);
    if (s < HEALTH_SHIPPING_S)
        return;
    struct tsd_health_problem *p = health_add(h, false);
    HEALTH_TEXT(p->what, "points have not been sent to HBase for %llu minute%s: %s",
                (unsigned long long)s / 60, s < 120 ? "" : "s", why.text);
    HEALTH_TEXT(p->action,
                "remove the cause that the sentence names (tsd hbase status looks at tables); points "
                "are accepted and wait in the data folder");
}

/* Figures of the store of which each describes a state that is wrong. */
struct health_figures {
    uint64_t windows_left_alone, series_left, catalog_bytes_left, unreadable_hours;
    uint64_t over_limit, short_of_limit, held_s; /* of max_bytes */
};

static void health_figure(void *arg, const char *name, uint64_t value)
{
    struct health_figures *f = arg;
    if (!strcmp(name, "compaction.windows_left_alone"))
        f->windows_left_alone = value;
    else if (!strcmp(name, "catalog.series_left"))
        f->series_left = value;
    else if (!strcmp(name, "catalog.bytes_left"))
        f->catalog_bytes_left = value;
    else if (!strcmp(name, "ship.unreadable_hours"))
        f->unreadable_hours = value;
    else if (!strcmp(name, "quota.exceeded"))
        f->over_limit = value;
    else if (!strcmp(name, "quota.short"))
        f->short_of_limit = value;
    else if (!strcmp(name, "quota.held_s"))
        f->held_s = value;
}

/* The limit of bytes removes points soon, or cannot be kept. */
static void health_limit(const struct health_figures *f, struct tsd_health *h)
{
    if (!f->short_of_limit && (!f->over_limit || !f->held_s))
        return;
    struct tsd_health_problem *p = health_add(h, false);
    if (f->short_of_limit) {
        HEALTH_TEXT(p->what,
                    "the store has more than max_bytes, and there is nothing left that could be removed");
        HEALTH_TEXT(p->action,
                    "raise the limit (tsd retention max-bytes); logs, names, points of the last hour and "
                    "what HBase has not received are not removed");
        return;
    }
    HEALTH_TEXT(p->what, "the store has more than max_bytes: the oldest points are removed in %llu second%s",
                (unsigned long long)f->held_s, ts_plural(f->held_s));
    HEALTH_TEXT(p->action, "if that is not meant, raise the limit now (tsd retention max-bytes)");
}

/* The catalog is full. */
static void health_series(const struct health_figures *f, struct tsd_health *h)
{
    if (f->series_left && f->catalog_bytes_left)
        return;
    const char *key = f->series_left ? "memory_limit" : "max_series";
    struct tsd_health_problem *p = health_add(h, false);
    HEALTH_TEXT(p->what, "points of new series are refused: %s is reached", key);
    HEALTH_TEXT(p->action,
                "find the tag whose values are always new (kind=tagv of /api/tsd/names lists values), "
                "or raise %s",
                key);
}

static void health_figures(const struct tsd_daemon *d, bool away, struct tsd_health *h)
{
    struct health_figures f = {.series_left = 1, .catalog_bytes_left = 1};
    sto_stats(d->store, health_figure, &f);
    health_series(&f, h);
    if (f.windows_left_alone) {
        struct tsd_health_problem *p = health_add(h, false);
        HEALTH_TEXT(p->what, "the files of %llu window%s of time could not be merged",
                    (unsigned long long)f.windows_left_alone, ts_plural(f.windows_left_alone));
        HEALTH_TEXT(p->action,
                    "read the log, which names the windows and the reason: a damaged file (tsd fsck) or no "
                    "free space; it is tried again by itself");
    }
    health_limit(&f, h);
    if (!away && !f.unreadable_hours)
        health_shipping(d, h);
    if (f.unreadable_hours) {
        struct tsd_health_problem *p = health_add(h, false);
        HEALTH_TEXT(p->what, "%llu hour%s cannot be sent to HBase because a file is damaged",
                    (unsigned long long)f.unreadable_hours, ts_plural(f.unreadable_hours));
        HEALTH_TEXT(p->action, "stop the daemon and run tsd fsck on the data folder");
    }
}

/* The daemon's own figures have gaps. */
static void health_self(struct tsd_daemon *d, struct tsd_health *h)
{
    uint64_t n_no_series = atomic_load_explicit(&d->n_self_no_series, memory_order_relaxed);
    uint64_t n_late = atomic_load_explicit(&d->n_self_late, memory_order_relaxed);
    if (!n_no_series && !n_late)
        return;
    struct tsd_health_problem *p = health_add(h, false);
    HEALTH_TEXT(p->what, "%llu of the daemon's own figures were not stored in the last round: %s",
                (unsigned long long)(n_no_series + n_late),
                n_no_series ? "they have no series, and no new ones are taken" : "the store took no points");
    HEALTH_TEXT(p->action, n_no_series ? "raise memory_limit, or set self_metrics = false"
                                       : "find out what overloads the daemon, or why it refuses points; "
                                         "self_metrics = false stores no figures");
}

static void health_disk(const struct tsd_daemon *d, struct tsd_health *h)
{
    struct statvfs fs;
    if (statvfs(d->set.data, &fs) < 0 || !fs.f_blocks)
        return;
    double pct = 100.0 * (double)fs.f_bavail / (double)fs.f_blocks;
    if (pct >= HEALTH_FREE_PCT)
        return;
    struct tsd_health_problem *p = health_add(h, false);
    HEALTH_TEXT(p->what, "only %.1f %% of the file system of the data folder are free (%llu MiB)", pct,
                (unsigned long long)fs.f_bavail * fs.f_frsize >> 20);
    HEALTH_TEXT(p->action, "free space or enlarge the file system: points are refused when it is full");
}

void tsd_health_look(struct tsd_daemon *d, bool disk, struct tsd_health *out)
{
    struct ts_error why = {0};
    enum tsd_hbase_health hbase = health_hbase(d, &why);
    bool away = hbase == TSD_HBASE_AWAY || hbase == TSD_HBASE_REFUSES;
    out->n = 0;
    health_stopping(d, out);
    health_refusing(d, away, out);
    if (away)
        health_away(hbase, &why, out);
    health_keys(d, out);
    if (disk)
        health_disk(d, out);
    health_figures(d, away, out);
    health_self(d, out);
}

bool tsd_health_ready(const struct tsd_health *h)
{
    return !h->n || !h->problems[0].blocks;
}
