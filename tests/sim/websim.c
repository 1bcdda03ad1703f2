/*
 * websim.c - random lives of followed web logs: seeds, one life, the comparison with the model.
 *
 *   websim --seeds A..B      each life; the failing ones are printed
 *   websim --seed N          one, and says what it does
 *
 * There are no threads and no real clocks: between two things that happen to logs the collector looks, or does not, is killed, started
 * again, with or without one of its logs in the configuration, while daemon and spool take what they like. In the end it is
 * configured as in the beginning, all is well, and hits by log, hour and status must be what was written.
 *
 * In every second life logs are imported, too: before they are followed first, and at any time beside it.
 */
#include "tests/sim/websim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "collectors/collect.h"
#include "collectors/core/collector.h"
#include "collectors/weblog/weblog_follow.h"
#include "tests/unit/t_random.h"

extern const struct col_collector col_weblog;

#define T0_MS 1793620800000ll /* 2026-11-02 12:00 UTC */

void ws_check(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "websim: %s\n", what);
    exit(2);
}

uint32_t ws_below(struct ws_life *l, uint32_t n)
{
    return (uint32_t)((t_random(&l->rnd) >> 20) % n);
}

void ws_say(const struct ws_life *l, const char *fmt, ...)
{
    va_list args;
    if (!l->verbose)
        return;
    va_start(args, fmt);
    (void)printf("%8lld  ", (long long)((l->t_ms - l->t0_ms) / 1000));
    (void)vprintf(fmt, args);
    (void)printf("\n");
    va_end(args);
}

/* --- the collector --- */

/* It, while it runs. */
struct collector {
    struct ws_life *l;
    struct ws_store *store;
    struct ts_conf *conf;
    struct col_emit *emit;
    char state_dir[WS_PATH_BYTES];
    bool patterns;   /* logs are named by patterns */
    char host;       /* its name */
    bool redress;    /* it has another one: nothing is read before the old counts are delivered */
    bool calm;       /* nothing happens beside it */
    char list[1000]; /* collect_weblog */
    void *state;     /* NULL = it does not run */
};

static void set(struct collector *c, const char *key, const char *value)
{
    ws_check(ts_conf_set(c->conf, key, ts_slice_str(value), "websim", NULL) == 0, key);
}

static void clocks(const struct ws_life *l)
{
    ts_clock_set_fake(l->t_ms + l->skew_ms);
    ts_clock_set_fake_mono((l->steady_ms + 1) * 1000000);
}

/* Configure it, all logs or without one of them, and start it. */
static void start(struct collector *c, bool all)
{
    static const char *const lates[] = {"0", "60", "600", "86400"}, *const buckets[] = {"60", "60", "300",
                                                                                        "10"};
    struct ws_life *l = c->l;
    char *list = c->list;
    size_t n = 0;
    *list = '\0';
    unsigned without = all || ws_below(l, 5) ? WS_LOGS : ws_below(l, WS_LOGS);
    struct ts_error err = {0};
    unsigned first = l->imports ? 2 + ws_below(l, 2) : 0; /* a look takes the lock with its first new log */
    for (unsigned k = 0; k < WS_LOGS; k++) {
        unsigned i = (first + k) % WS_LOGS;
        l->logs[i].configured = i != without;
        if (i != without && (!c->patterns || without < WS_LOGS))
            n += (size_t)snprintf(list + n, sizeof(c->list) - n, "vhost_combined:%s/%s,", l->dir,
                                  l->logs[i].name);
    }
    if (!n)
        (void)snprintf(list, sizeof(c->list), "vhost_combined:%s/*log*", l->dir);
    if (!ws_in_child() &&
        ws_below(l, 6) == 0) { /* another host name: what is open is sent under the old one first */
        c->host = c->host == 'a' ? 'b' : 'a';
        c->redress = true;
        ws_say(l, "the host is %c now", c->host);
    }
    char host[2] = {c->host, '\0'};
    col_emit_free(c->emit);
    c->emit = col_emit_new(&(struct col_emit_opts){
        .out = {.put = ws_store_put, .arg = c->store, .progress = ws_store_progress}, .host = host});
    set(c, "collect_host", host);
    set(c, "collect_weblog", list);
    set(c, "collect_weblog_late_s", lates[ws_below(l, 4)]);
    set(c, "collect_weblog_bucket_s", buckets[ws_below(l, 4)]);
    clocks(l);
    struct col_ctx *ctx = ts_xcalloc(1, sizeof(*ctx));
    *ctx = (struct col_ctx){.conf = c->conf, .root = "", .state_dir = c->state_dir};
    if (col_weblog.init(ctx, &c->state, &err) < 0)
        ws_check(false, err.text);
    ts_free(ctx);
    ws_say(l, "the collector starts%s%s", without < WS_LOGS ? " without " : "",
           without < WS_LOGS ? l->logs[without].name : "");
}

static void stop(struct collector *c)
{
    if (c->state)
        ws_say(c->l, "the collector is killed");
    col_weblog.release(c->state);
    c->state = NULL;
}

static void beside_look(void *arg);
static void between(struct collector *c, void (*what)(void *arg));

/* It looks until nothing is new, and sends; others may come in between. */
static bool look(struct collector *c)
{
    struct ts_error err = {0};
    clocks(c->l);
    if (c->redress) {
        ws_store_mood(c->store, true);
        ws_store_deliver(c->store);
        (void)col_weblog.once(c->state, c->emit, &err);
        ws_store_deliver(c->store);
        c->redress = false;
    }
    bool beside = c->l->imports && !c->calm && !ws_in_child() && ws_below(c->l, 3) == 0;
    if (beside)
        between(c, beside_look);
    int rc = col_weblog.once(c->state, c->emit, &err);
    if (beside)
        ws_between(0, NULL, NULL);
    ws_say(c->l, "a look%s%s", rc < 0 ? ": " : "", rc < 0 ? err.text : "");
    if (rc == 0 && !beside)
        ws_logs_looked(c->l);
    ws_store_deliver(c->store);
    return rc == 0;
}

/* --- beside each other --- */

/* Something else happens in between from now: at any call, or where a lock is about to be taken. */
static void between(struct collector *c, void (*what)(void *arg))
{
    if (ws_below(c->l, 2))
        ws_before_lock(1 + ws_below(c->l, 3), what, c);
    else
        ws_between(1 + ws_below(c->l, 400), what, c);
}

/* A complete import, or one that is killed at any call. */
static void import_beside(void *arg)
{
    struct collector *c = arg;
    ws_import(c->l, c->store, ws_below(c->l, 2) ? c->list : "", false);
}

/* Servers write, and another process works or is killed behind at most n_calls calls. */
static void beside(struct collector *c, unsigned n_calls, void (*work)(void *arg))
{
    struct ws_life *l = c->l;
    ws_say(l, "-- in between:");
    l->t_ms += 1000000; /* buckets of their own: no import that is repeated mends what counts twice */
    for (unsigned n = ws_below(l, 12); n--;)
        ws_logs_write(l);
    ws_process(l, c->store, ws_below(l, 2) ? 1 + ws_below(l, n_calls) : 0, work, c);
    for (unsigned n = ws_below(l, 3); n--;)
        ws_logs_write(l);
}

/* While the collector looks, imports run. */
static void beside_look(void *arg)
{
    struct collector *c = arg;
    beside(c, 300, import_beside);
    ws_say(c->l, "-- the look goes on");
}

/* A collector that starts, looks, and is killed at any call. */
static void collector_beside(void *arg)
{
    struct collector *c = arg;
    start(c, true);
    for (unsigned n = 1 + ws_below(c->l, 2); n--;)
        (void)look(c);
}

/* While logs are imported, a collector works. */
static void beside_import(void *arg)
{
    struct collector *c = arg;
    beside(c, 400, collector_beside);
    ws_say(c->l, "-- the import goes on");
}

/* --- imports --- */

/* What was rotated before is only the import's. */
static void past_set(struct ws_life *l)
{
    for (unsigned i = 0; i < WS_LOGS; i++)
        for (unsigned k = 0; k < l->logs[i].n_files; k++)
            l->logs[i].files[k].past = true;
}

/* An import at any time, with the collector's keys or from a configuration that follows nothing. One that was killed is repeated. */
static void import(struct collector *c)
{
    struct ws_life *l = c->l;
    bool killed = ws_below(l, 3) == 0, beside = !c->state && ws_below(l, 2);
    clocks(l);
    if (beside) {
        ws_logs_present(l);
        past_set(l);
        ws_store_mood(c->store, true);
        ws_store_deliver(c->store);
        between(c, beside_import);
    }
    ws_import(l, c->store, ws_below(l, 2) ? c->list : "", killed);
    ws_between(0, NULL, NULL);
    if (!killed)
        return;
    if (c->state && ws_below(l, 2))
        (void)look(c);
    clocks(l);
    ws_import(l, c->store, ws_below(l, 2) ? c->list : "", false);
}

/* Servers write and logs are rotated and imported before anybody follows them. */
static void before(struct collector *c)
{
    struct ws_life *l = c->l;
    for (unsigned i = 0, n = ws_below(l, 60); i < n; i++) {
        ws_logs_step(l, false);
        if (ws_below(l, 12) == 0)
            import(c);
    }
    ws_logs_present(l);
}

/* --- a life --- */

static unsigned compare(const struct ws_life *l, const struct ws_store *s)
{
    unsigned n_wrong = 0;
    for (unsigned i = l->imports ? 2 : 0; i < WS_LOGS; i++)
        for (unsigned h = 0; h < WS_HOURS; h++)
            for (unsigned k = 0; k < WS_STATUSES; k++) {
                uint64_t want = l->logs[i].written[h][k], have = ws_store_sum(s, i, h, k);
                if (i < 2) /* of equal lines */
                    want = i ? 0 : want + l->logs[1].written[h][k];
                if (want != have && ++n_wrong < 5)
                    (void)printf("seed %llu: %s hour %u status %u: %llu, written %llu\n",
                                 (unsigned long long)l->seed, l->logs[i].name, h, k, (unsigned long long)have,
                                 (unsigned long long)want);
            }
    if (!l->imports && l->n_bad != ws_store_bad(s) &&
        ++n_wrong) /* an import's own bad lines are in no metric */
        (void)printf("seed %llu: %llu bad lines, written %llu\n", (unsigned long long)l->seed,
                     (unsigned long long)ws_store_bad(s), (unsigned long long)l->n_bad);
    return n_wrong;
}

static void middle(struct collector *c)
{
    struct ws_life *l = c->l;
    unsigned n_steps = 40 + ws_below(l, 160);
    for (unsigned i = 0; i < n_steps && l->t_ms - l->t0_ms < (int64_t)(WS_HOURS - 40) * 3600000; i++) {
        unsigned n_before = l->n_ops[36];
        ws_logs_step(l, c->state != NULL);
        if (ws_below(l, 4) == 0)
            ws_store_mood(c->store, false);
        if (l->n_ops[36] != n_before) { /* an older copy: nothing comes before somebody looked */
            ws_store_mood(c->store, true);
            if (!c->state)
                start(c, true);
            c->calm = true;
            (void)look(c);
            c->calm = false;
        }
        if (c->state && ws_below(l, 2))
            (void)look(c);
        if (l->imports && ws_below(l, 10) == 0)
            import(c);
        if (c->state && ws_below(l, 12) == 0)
            stop(c);
        else if (!c->state && ws_below(l, 5) == 0)
            start(c, false);
    }
}

static bool life(uint64_t seed, bool verbose)
{
    static struct ws_life l;
    char command[100];
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct collector c = {.l = &l, .conf = ts_conf_new(tables, 1)};
    l = (struct ws_life){
        .seed = seed, .rnd = seed * 0x9e3779b97f4a7c15u + 1, .verbose = verbose, .t0_ms = T0_MS};
    l.t_ms = T0_MS + 1000;
    (void)snprintf(l.dir, sizeof(l.dir), "%s/tsd-websim-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ws_check(mkdtemp(l.dir) != NULL, l.dir);
    for (unsigned i = 0; i < 20; i++)
        (void)t_random(&l.rnd);
    ws_logs_begin(&l);
    char abs[100];
    (void)snprintf(abs, sizeof(abs), "old,%s/abs", l.dir);
    (void)snprintf(c.state_dir, sizeof(c.state_dir), "%s/state", l.dir);
    set(&c, "collect_weblog_olddir", abs);
    c.patterns = ws_below(&l, 2);
    c.store = ws_store_new(&l);
    c.host = 'a';
    l.imports = seed % 2 == 0;
    if (l.imports)
        before(&c);
    past_set(&l);
    start(&c, true);
    ws_check(look(&c), "the first look");
    if (l.imports)
        import(&c);
    middle(&c);
    ws_logs_end(&l);
    ws_store_mood(c.store, true);
    stop(&c);
    start(&c, true);
    c.calm = true;
    for (unsigned i = 0; i < 12; i++) {
        ws_check(look(&c), "the last looks");
        l.t_ms += 60000;
        l.steady_ms += 60000;
    }
    clocks(&l);
    if (l.imports)
        ws_import(&l, c.store, c.list, false);
    unsigned n_wrong = compare(&l, c.store);
    stop(&c);
    for (unsigned i = 0; i < WS_LOGS; i++)
        fclose(l.logs[i].server);
    col_emit_free(c.emit);
    ts_conf_free(c.conf);
    ws_store_free(c.store);
    col_web__remounts = 0;
    (void)snprintf(command, sizeof(command), "rm -rf %s", l.dir);
    if (!verbose)
        ws_check(system(command) == 0, command);
    return n_wrong == 0;
}

int main(int argc, char **argv)
{
    unsigned long long from = 1, to = 100, n_failed = 0;
    bool verbose = argc == 3 && !strcmp(argv[1], "--seed");
    if (verbose)
        from = to = strtoull(argv[2], NULL, 10);
    else if (argc != 3 || strcmp(argv[1], "--seeds") != 0 || sscanf(argv[2], "%llu..%llu", &from, &to) != 2) {
        (void)fprintf(stderr, "usage: websim --seeds A..B | --seed N\n");
        return 2;
    }
    ts_log_set_level(verbose ? TS_LOG_INFO : TS_LOG_ERROR);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned long long seed = from; seed <= to; seed++)
        n_failed += !life(seed, verbose);
    (void)printf("%s: %llu lives, %llu failed\n", n_failed ? "FAILED" : "ok", to - from + 1, n_failed);
    return n_failed != 0;
}
