/*
 * compact.c - tsd compact: files of a range of time are compressed harder; tsd rebalance: the number of shards.
 *
 * Threads    the main thread; one that shows the progress of tsd compact
 * Not here   what they do (storage/store.h)
 */
#include "tsd/commands/answer.h"
#include "tsd/commands/client.h"
#include "tsd/commands/terminal.h"

#include "base/num.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/store.h"
#include "tsd/commands/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR_NS        200000000 /* between two requests for how far compressing has come */
#define BAR_ASK_MS    2000      /* an answer that comes later is not waited for */
#define COMPACT_LEVEL 9u        /* without --level */
#define PATH_BYTES    160u      /* of the longest request */
#define WAIT_MS       50        /* between two requests that ask whether the daemon has changed */
#define WAIT_TRIES    1200      /* of them at most: a minute */

const struct ts_opt tsd_compact_opts[] = {
    {.name = "from",
     .arg = "TIME",
     .help = "First time; dates are of the daemon's key timezone. Default: all there is."},
    {.name = "to", .arg = "TIME", .help = "Last time, inclusive. Default: now."},
    {.name = "level", .arg = "N", .help = "Level of zstd, 4 to 19. Default 9."},
    {.name = "data", .arg = "DIR", .help = "Work on this folder; no daemon may use it."},
    TSD_CLIENT_OPTS,
    {.name = "config",
     .arg = "FILE",
     .help = "With --data: the daemon's configuration, for its storage keys."},
    {.name = NULL},
};

const struct ts_opt tsd_rebalance_opts[] = {
    {.name = "shards",
     .arg = "N",
     .help = "The number that is wanted, a power of two up to 4096. Without it, print what there is."},
    {.name = "no-wait", .help = "Do not wait until the daemon has changed."},
    {.name = "data", .arg = "DIR", .help = "Work on this folder; no daemon may use it."},
    TSD_CLIENT_OPTS,
    {.name = "config",
     .arg = "FILE",
     .help = "With --data: the daemon's configuration, for its storage keys."},
    {.name = NULL},
};

const char tsd_compact_details[] =
    "All files that have points of the range are written again with this level of zstd, unless they "
    "have it "
    "already, or their day is not over.\n"
    "Later merges keep the level. From 16 on blocks are four times as large: short reads of one series "
    "take longer.\n"
    "It runs as merges do, beside everything else, and may take hours; tsd flush --compact merges "
    "first. What is done stays if it "
    "is interrupted.";

const char tsd_rebalance_details[] =
    "A running daemon changes within about a second, and puts wait for a fraction of it. A folder changes at "
    "once. Files do not depend on shards.\n"
    "Fewer shards may have to wait until ids of numbered increments are forgotten (counter_ids_kept_h): the "
    "daemon then remembers what is wanted, also when it is stopped, and tries again.";

/* The value of an option that is a number; *out stays as it is without it. False: it is no number. */
static bool number_of(const struct tsd_args *args, const char *name, unsigned *out)
{
    const char *text = tsd_args_get(args, name);
    int64_t n;
    if (!text)
        return true;
    if (ts_num_parse_int(ts_slice_str(text), &n, NULL) < 0 || n < 0 || n > UINT32_MAX)
        return false;
    *out = (unsigned)n;
    return true;
}

/* Send a request whose answer is an object. */
static int ask(const struct tsd_args *args, const char *method, const char *path, json_t **out,
               struct ts_error *err)
{
    struct tsd_client_reply reply;
    struct tsd_client_req req = {.method = method, .path = path};
    *out = NULL;
    int rc = tsd_client_request(args, &req, &reply, err);
    if (rc == 0)
        rc = ts_json_load(ts_buf_get(&reply.body), out, err);
    ts_buf_release(&reply.body);
    return rc;
}

static uint64_t count(const json_t *answer, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(answer, name));
}

/* --- compact --- */

/* Shows on a terminal how far compressing has come. */
struct compact_bar {
    const struct tsd_args *args;
    struct sto_store *store; /* NULL: of a daemon */
    struct tsd_progress bar; /* of the thread while it runs */
    uint64_t done, all;      /* figures of the moment */
    _Atomic bool ends;       /* set by the main thread */
    pthread_t thread;        /* runs if shows is set */
    bool shows;
};

/* One figure of a store or a daemon. */
static void bar_figure(void *arg, const char *name, uint64_t value)
{
    struct compact_bar *b = arg;
    if (strcmp(name, "compress.done_bytes") == 0)
        b->done = value;
    else if (strcmp(name, "compress.all_bytes") == 0)
        b->all = value;
}

static void bar_ask(struct compact_bar *b)
{
    static const char prefix[] = "tsd.storage.";
    json_t *list = NULL;
    if (tsd_client_json(b->args, "/api/stats", BAR_ASK_MS, &list, NULL) < 0)
        return;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i), *value = json_object_get(row, "value");
        const char *name = json_string_value(json_object_get(row, "metric"));
        int64_t n = json_integer_value(value);
        if (json_is_string(value))
            (void)ts_num_parse_int(ts_slice_str(json_string_value(value)), &n, NULL);
        if (name && strncmp(name, prefix, sizeof prefix - 1) == 0)
            bar_figure(b, name + sizeof prefix - 1, (uint64_t)n);
    }
    json_decref(list);
}

static void *bar_run(void *arg)
{
    struct compact_bar *b = arg;
    do {
        if (b->store)
            sto_stats(b->store, bar_figure, b);
        else
            bar_ask(b);
        if (b->all) {
            b->bar.all_bytes = b->all;
            tsd_progress_set(&b->bar, b->done < b->all ? b->done : b->all, 0);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = BAR_NS}, NULL);
    } while (!atomic_load(&b->ends));
    return NULL;
}

static void bar_begin(struct compact_bar *b, const struct tsd_args *args, struct sto_store *store)
{
    *b = (struct compact_bar){.args = args, .store = store};
    tsd_progress_begin(&b->bar, 0);
    b->bar.in_bytes = true;
    b->shows =
        b->bar.on && ts_thread_start(&b->thread, &(struct ts_thread_opts){.fn = bar_run, .arg = b}) == 0;
}

static void bar_end(struct compact_bar *b)
{
    atomic_store(&b->ends, true);
    if (b->shows)
        pthread_join(b->thread, NULL);
    tsd_progress_clear(&b->bar);
}

static int compact_local(const struct tsd_args *args, const struct sto_compact_spec *spec,
                         struct sto_compact_result *out, struct ts_error *err)
{
    struct sto_store *st;
    struct ts_error close_err = {0};
    struct compact_bar bar;
    TS_TRY(tsd_local_open(args, TSD_LOCAL_WRITE, &st, NULL, err));
    bar_begin(&bar, args, st);
    int rc = sto_compact(st, spec, out, err);
    bar_end(&bar);
    int close_rc = sto_close(st, &close_err);
    if (rc == 0 && close_rc < 0) {
        *err = close_err;
        rc = close_rc;
    }
    return rc;
}

static int compact_remote(const struct tsd_args *args, const struct sto_compact_spec *spec,
                          struct sto_compact_result *out, struct ts_error *err)
{
    char path[PATH_BYTES], from[PATH_BYTES / 2] = "";
    json_t *answer;
    if (tsd_args_has(args, "from"))
        (void)snprintf(from, sizeof from, "&from=%" PRId64 "ms", spec->from_ms);
    (void)snprintf(path, sizeof path, "/api/admin/compact?level=%u&to=%" PRId64 "ms%s", spec->level,
                   spec->to_ms, from);
    struct compact_bar bar;
    bar_begin(&bar, args, NULL);
    int rc = ask(args, "POST", path, &answer, err);
    bar_end(&bar);
    TS_TRY(rc);
    *out = (struct sto_compact_result){.n_files = count(answer, "files"),
                                       .n_bytes = count(answer, "bytes"),
                                       .n_files_after = count(answer, "filesAfter"),
                                       .n_bytes_after = count(answer, "bytesAfter"),
                                       .n_same = count(answer, "filesSame"),
                                       .n_same_bytes = count(answer, "bytesSame"),
                                       .n_recent = count(answer, "filesRecent")};
    json_decref(answer);
    return 0;
}

static int print_result(const struct sto_compact_result *r)
{
    char was[TSD_FIGURE_BYTES], is[TSD_FIGURE_BYTES];
    struct ts_buf out;
    ts_buf_init(&out, 0);
    if (r->n_files)
        ts_buf_printf(&out, "%" PRIu64 " file%s of %s became %" PRIu64 " file%s of %s\n", r->n_files,
                      r->n_files == 1 ? "" : "s", tsd_bytes_text((double)r->n_bytes, was), r->n_files_after,
                      r->n_files_after == 1 ? "" : "s", tsd_bytes_text((double)r->n_bytes_after, is));
    else
        ts_buf_printf(&out, "nothing was compressed%s\n",
                      r->n_same || r->n_recent ? "" : ": no file has points of this range");
    if (r->n_same)
        ts_buf_printf(&out, "%" PRIu64 " file%s of %s had the level already\n", r->n_same,
                      r->n_same == 1 ? "" : "s", tsd_bytes_text((double)r->n_same_bytes, was));
    if (r->n_recent)
        ts_buf_printf(&out,
                      "%" PRIu64 " file%s left alone: the day is not over, or ended less than 3 hours ago\n",
                      r->n_recent, r->n_recent == 1 ? " was" : "s were");
    return tsd_print_page(&out);
}

int tsd_compact_run(const struct tsd_args *args)
{
    struct ts_error err = {0}, no_zone = {0};
    struct sto_compact_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = ts_clock_ms(), .level = COMPACT_LEVEL};
    struct sto_compact_result result;
    const char *from = tsd_args_get(args, "from"), *to = tsd_args_get(args, "to");
    int rc = 0;
    if (args->n_words)
        return tsd_usage(args, "compact takes no words");
    if (tsd_client_or_data(args) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    if (!number_of(args, "level", &spec.level) || spec.level < STO_LEVEL_LEAST || spec.level > STO_LEVEL_MOST)
        return tsd_usage(args, "--level takes a number from 4 to 19");
    int zone_rc = from || to ? tsd_zone_begin(args, &no_zone) : 0; /* wrong words are reported before */
    if (from)
        rc = ts_time_parse(ts_slice_str(from), NULL, ts_clock_ms(), false, &spec.from_ms, NULL, &err);
    if (rc == 0 && to)
        rc = ts_time_parse_end(ts_slice_str(to), NULL, ts_clock_ms(), false, &spec.to_ms, &err);
    if (rc < 0)
        return tsd_usage(args, "%s", err.text);
    if (spec.from_ms > spec.to_ms)
        return tsd_usage(args, "--from is later than --to%s",
                         to ? ": are they the wrong way round?" : ", which is now");
    if (zone_rc < 0)
        return tsd_fail(&no_zone);
    rc = tsd_args_has(args, "data") ? compact_local(args, &spec, &result, &err)
                                    : compact_remote(args, &spec, &result, &err);
    return rc < 0 ? tsd_fail(&err) : print_result(&result);
}

/* --- rebalance --- */

/* The store takes the number up when it is closed; a second opening shows whether it has. */
static int rebalance_local(const struct tsd_args *args, unsigned n, struct sto_shards *out,
                           struct ts_error *err)
{
    struct sto_store *st;
    if (n) {
        TS_TRY(tsd_local_open(args, TSD_LOCAL_WRITE, &st, NULL, err));
        int rc = sto_rebalance(st, n, err);
        int close_rc = sto_close(st, rc < 0 ? NULL : err);
        TS_TRY(rc < 0 ? rc : close_rc);
    }
    TS_TRY(tsd_local_open(args, TSD_LOCAL_READ, &st, NULL, err));
    *out = sto_shards(st);
    return sto_close(st, err);
}

/* What a daemon says; why: the reason why it has to wait, empty if there is none. */
static int rebalance_ask(const struct tsd_args *args, unsigned n, struct sto_shards *out, struct ts_buf *why,
                         struct ts_error *err)
{
    char path[PATH_BYTES] = "/api/admin/rebalance";
    json_t *answer;
    if (n)
        (void)snprintf(path, sizeof path, "/api/admin/rebalance?shards=%u", n);
    TS_TRY(ask(args, n ? "POST" : "GET", path, &answer, err));
    *out = (struct sto_shards){.n_now = (uint32_t)count(answer, "shards"),
                               .n_wanted = (uint32_t)count(answer, "wanted")};
    const char *waits = json_string_value(json_object_get(answer, "waits"));
    ts_buf_clear(why);
    if (waits)
        ts_buf_str(why, waits);
    json_decref(answer);
    return 0;
}

static int rebalance_remote(const struct tsd_args *args, unsigned n, struct sto_shards *out,
                            struct ts_buf *why, struct ts_error *err)
{
    int rc = rebalance_ask(args, n, out, why, err), i = 0;
    for (; rc == TS_EBUSY && n && i < WAIT_TRIES; i++) { /* another change is at work */
        *err = (struct ts_error){0};
        nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000l}, NULL);
        rc = rebalance_ask(args, n, out, why, err);
    }
    TS_TRY(rc);
    for (; n && !tsd_args_has(args, "no-wait") && out->n_now != out->n_wanted && !why->n && i < WAIT_TRIES;
         i++) {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000l}, NULL);
        TS_TRY(rebalance_ask(args, 0, out, why, err));
    }
    return 0;
}

static void rebalance_print(const struct sto_shards *shards, bool local, const struct ts_buf *why,
                            struct ts_buf *out)
{
    const char *are = shards->n_wanted == 1 ? "is" : "are";
    ts_buf_printf(out, "%u shard%s\n", shards->n_now, shards->n_now == 1 ? "" : "s");
    if (shards->n_wanted == shards->n_now)
        return;
    if (local)
        ts_buf_printf(out,
                      "%u %s wanted, but clients may still repeat numbered increments: the store tries "
                      "again when a daemon uses it, and each time it is closed\n",
                      shards->n_wanted, are);
    else if (why->n)
        ts_buf_printf(out, "%u %s wanted, but %s to wait: %.*s\nthe daemon tries again every 10 s\n",
                      shards->n_wanted, are, shards->n_wanted == 1 ? "has" : "have", (int)why->n, why->p);
    else
        ts_buf_printf(out, "%u %s wanted; the daemon is about to change\n", shards->n_wanted, are);
}

int tsd_rebalance_run(const struct tsd_args *args)
{
    struct ts_error err = {0};
    struct sto_shards shards;
    struct ts_buf out, why;
    unsigned n = 0;
    bool local = tsd_args_has(args, "data");
    if (args->n_words)
        return tsd_usage(args, "rebalance takes no words");
    if (tsd_client_or_data(args) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    if (!number_of(args, "shards", &n) ||
        (tsd_args_has(args, "shards") && (!n || n > STO_SHARDS_MOST || (n & (n - 1)))))
        return tsd_usage(args, "--shards takes a power of two up to 4096");
    ts_buf_init(&out, 0);
    ts_buf_init(&why, 0);
    int rc = local ? rebalance_local(args, n, &shards, &err) : rebalance_remote(args, n, &shards, &why, &err);
    if (rc == 0)
        rebalance_print(&shards, local, &why, &out);
    ts_buf_release(&why);
    if (rc < 0)
        return tsd_fail(&err);
    return tsd_print_page(&out);
}
