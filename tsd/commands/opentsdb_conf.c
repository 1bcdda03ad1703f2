/*
 * opentsdb_conf.c - reads the configuration file of an OpenTSDB and says what becomes of its keys.
 *
 * Keys that mean the same here are taken; the rows of the tables of keys name them. Of the others most have no meaning here, such as
 * addresses of ZooKeeper. A few would change what clients may do or what is stored: they are named with the reason, and if ignoring
 * them would be wrong, the program does not start.
 *
 * Threads    the main thread
 * Source     docs/OPENTSDB.md, section 10
 */
#include "base/cut.h"
#include "base/log.h"
#include "base/near.h"
#include "base/text.h"
#include "tsd/commands/cmd.h"

#include <string.h>

#define LINE_BYTES 1500 /* of a line of the log, about */
#define MISSPELT_MOST                                                                                        \
    2 /* letters in which a name differs from a key that means something here, and is taken for a slip */

/* A key that cannot be honoured if it has a certain value. */
struct conflict {
    const char *name;
    const char *value; /* "true", "false"; "" = any but empty and 0 */
    bool refuse;       /* ignoring it would be wrong */
    const char *why;
};
static const struct conflict conflicts[] = {
    {"tsd.core.authentication.enable", "true", true,
     "there is no authentication here, so that everyone could read and write"},
    {"tsd.core.config.include", "", true, "the file that it names is not read: put its lines into this file"},
    {"tsd.http.header_tag", "", true, "no header becomes a tag here, so that points would get other series"},
    {"tsd.uidfilter.enable", "true", true,
     "names are not filtered here, so that names would be created that it refuses"},
    {"tsd.timeseriesfilter.enable", "true", true,
     "points are not filtered here, so that points would be stored that it refuses"},
    {"tsd.core.auto_create_tagks", "false", false, "tag keys are created on first use"},
    {"tsd.core.auto_create_tagvs", "false", false, "tag values are created on first use"},
    {"tsd.core.enable_api", "false", false, "the HTTP API is always there"},
    {"tsd.core.enable_ui", "false", false, "the page is always there"},
    {"tsd.core.storage_exception_handler.enable", "true", false,
     "there are no plug-ins; points wait here while HBase is away"},
    {"tsd.core.uid.random_metrics", "true", false, "ids of new metrics are assigned in order"},
    {"tsd.query.limits.overrides.config", "", false, "limits are the same for all metrics"},
    {"tsd.rpc.telnet.return_errors", "false", false, "errors of put lines are always sent back"},
    {"tsd.rtpublisher.enable", "true", false, "there are no plug-ins"},
    {"tsd.storage.enable_appends", "true", false, "columns are written one by one; append columns are read"},
    {"tsd.storage.get_date_tiered_compaction_start", "", false,
     "cells are written with the time at which they are sent"},
    {"tsd.storage.use_otsdb_timestamp", "true", false,
     "cells are written with the time at which they are sent, so that they replace OpenTSDB's of the "
     "same point"},
};

struct report {
    const char *path;
    const struct ts_conf *conf;
    struct ts_buf taken, other; /* lists for the log */
    bool tracking,
        metadata; /* of tsd.core.meta.*: series are marked as seen; their metadata is written too */
};

static void flush_list(const struct report *r, struct ts_buf *list, const char *what)
{
    if (list->n)
        ts_log(TS_LOG_INFO, "%s: %s: %.*s", r->path, what, (int)list->n, list->p);
    ts_buf_clear(list);
}

static void add(const struct report *r, struct ts_buf *list, const char *what, const char *name,
                const char *own)
{
    if (list->n + strlen(name) + strlen(own) > LINE_BYTES)
        flush_list(r, list, what);
    ts_buf_str(list, list->n ? ", " : "");
    ts_buf_str(list, name);
    if (*own)
        ts_buf_printf(list, " (%s)", own);
}

#define TAKEN    "keys taken"
#define OTHER    "keys without meaning here"
#define COUNTERS "hbase_series_counters"

/* What OpenTSDB takes for true. */
static bool is_true(struct ts_slice value)
{
    return ts_slice_is_nocase(value, "true") || ts_slice_is(value, "1") || ts_slice_is_nocase(value, "yes");
}

static bool applies(const struct conflict *c, struct ts_slice value)
{
    if (*c->value)
        return !strcmp(c->value, "true") ? is_true(value) : value.n && !is_true(value);
    return value.n && !ts_slice_is(value, "0");
}

/* Keys that say together what becomes of the counters of series; true: it is one that no key of ours takes. */
static bool on_counters(struct report *r, const char *name, struct ts_slice value)
{
    if (!strcmp(name, "tsd.core.meta.enable_realtime_ts")) {
        r->metadata = is_true(value);
        return true;
    }
    if (!strcmp(name, "tsd.core.meta.enable_tsuid_tracking"))
        r->tracking = is_true(value);
    return false;
}

static void near_key(void *arg, const struct ts_conf_key *key, const char *value)
{
    (void)value;
    if (key->opentsdb)
        ts_near_see(arg, ts_slice_str(key->opentsdb));
}

/* Does the name look like a slip of one that would mean something? The log says which. */
static bool misspelt(const struct report *r, const char *name, const char *where)
{
    struct ts_near near;
    ts_near_init(&near, ts_slice_str(name));
    ts_conf_each(r->conf, near_key, &near);
    for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]); i++)
        ts_near_see(&near, ts_slice_str(conflicts[i].name));
    if (!near.n || !near.least ||
        near.least > MISSPELT_MOST) /* 0: it is spelt right, and its value does not matter here */
        return false;
    ts_log(TS_LOG_WARN, "%s: %s is not taken; did you mean %s?", where, name, near.best);
    return true;
}

static int on_property(void *arg, const char *name, struct ts_slice value, const struct ts_conf_key *key,
                       const char *where, struct ts_error *err)
{
    struct report *r = arg;
    value = ts_slice_trim(value); /* as OpenTSDB does before it compares it with true, 1 and yes */
    if (on_counters(r, name, value) || key) {
        add(r, &r->taken, TAKEN, name, key ? key->name : COUNTERS);
        return 0;
    }
    for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]); i++) {
        const struct conflict *c = &conflicts[i];
        if (strcmp(c->name, name) != 0 || !applies(c, value))
            continue;
        if (c->refuse)
            return ts_error_set(err, TS_EINVAL, "%s: %s = %.*s cannot be honoured: %s", where, name,
                                TS_SHOWN(value, 40), c->why);
        ts_log(TS_LOG_WARN, "%s: %s = %.*s is not honoured: %s", where, name, TS_SHOWN(value, 40), c->why);
        return 0;
    }
    if (!misspelt(r, name, where))
        add(r, &r->other, OTHER, name, "");
    return 0;
}

/* OpenTSDB counts the points of a series, or marks it as seen, only with tracking, whatever the other keys say. */
static int set_counters(const struct report *r, struct ts_conf *conf, struct ts_error *err)
{
    if (!r->tracking)
        return 0;
    struct ts_slice value = ts_slice_str(r->metadata ? "count" : "seen");
    int rc = ts_conf_set(conf, COUNTERS, value, r->path, err);
    if (rc == TS_ENOTFOUND) /* a program that writes no points */
        return 0;
    ts_log(TS_LOG_INFO, "%s: %s = %.*s, from the keys of tsd.core.meta", r->path, COUNTERS, (int)value.n,
           value.p);
    return rc;
}

int tsd_opentsdb_conf(struct ts_conf *conf, const char *path, struct ts_error *err)
{
    struct report r = {.path = path, .conf = conf};
    ts_buf_init(&r.taken, 0);
    ts_buf_init(&r.other, 0);
    int rc = ts_conf_load_properties(conf, path, on_property, &r, err);
    flush_list(&r, &r.taken, TAKEN);
    flush_list(&r, &r.other, OTHER);
    if (rc == 0)
        rc = set_counters(&r, conf, err);
    ts_buf_release(&r.taken);
    ts_buf_release(&r.other);
    return rc;
}
