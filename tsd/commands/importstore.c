/*
 * importstore.c - import straight into a stopped store: this thread parses, the store's thread logs and
 * keeps.
 *
 * Threads    the main thread is the port's; see storage/store.h
 * Not here   rules and texts of errors (line/put.c, rules.c): the same as the daemon's, but times before 1970
 * are taken
 */
#include "tsd/commands/import.h"

#include "base/mem.h"
#include "tsd/commands/answer.h"
#include "tsd/ingest/histogram.h"
#include "tsd/protocols/line/line.h"
#include "tsd/ingest/rollups.h"

#include <limits.h>
#include <poll.h>
#include <string.h>

#define STORE_CACHE_BYTES ((size_t)256 << 20) /* texts of series remembered */
#define STORE_WAIT_MS     20

struct store_sink {
    struct tsd_import *im;   /* counts */
    struct sto_store *store; /* ours */
    struct tsd_rules rules;  /* for in */
    struct tsd_ingest in;    /* of the one port */
    struct tsd_chain chain;  /* guess of the next series */
    struct ts_buf reason;    /* of a bad line */
};

static int store_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    TS_TRY(tsd_zone_begin(im->args, err)); /* of put lines, as where the daemon reads them */
    struct store_sink *s = ts_xcalloc(1, sizeof(*s));
    int rc = tsd_local_open(im->args, TSD_LOCAL_CREATE, &s->store, &s->rules, err);
    if (rc < 0) {
        ts_free(s);
        return rc;
    }
    s->im = im;
    ts_buf_init(&s->reason, 4096);
    tsd_ingest_init(&s->in, &s->rules, s->store, sto_writer(s->store, 0), STORE_CACHE_BYTES);
    tsd_ingest_begin(&s->in);
    *out_sink = s;
    return 0;
}

/* The store's thread has enough to do: let it. */
static void store_wait(struct store_sink *s)
{
    struct pollfd pfd = {.fd = sto_writer_fd(s->in.writer), .events = POLLIN};
    tsd_ingest_turn(&s->in);
    (void)poll(&pfd, 1, STORE_WAIT_MS);
    tsd_ingest_turn(&s->in);
}

static int store_one(struct store_sink *s, enum tsd_import_kind kind, struct ts_slice rest)
{
    static const struct tsd_histograms any = {.on = true, .max_buckets = UINT_MAX};
    return kind == TSD_IMPORT_ROLLUP      ? tsd_rollup_line(&s->in, &tsd_rollups_any, rest)
           : kind == TSD_IMPORT_HISTOGRAM ? tsd_histogram_line(&s->in, &any, rest)
                                          : tsd_put_line(&s->in, &s->chain, rest);
}

static int store_line(struct store_sink *s, const char *file, struct ts_slice line, uint64_t number,
                      struct ts_error *err)
{
    struct ts_slice rest;
    enum tsd_import_kind kind = tsd_import_line(line, &rest);
    if (kind == TSD_IMPORT_NOTHING)
        return 0;
    int rc;
    while ((rc = store_one(s, kind, rest)) == TS_EBUSY)
        store_wait(s);
    if (rc == 0)
        return 0;
    struct ts_slice text = ts_buf_get(&s->in.msg);
    if (tsd_refusal_is_stores(tsd_refusal_of(rc)))
        return ts_error_set(err, rc, "%s:%llu: %.*s", file, (unsigned long long)number, (int)text.n, text.p);
    ts_buf_clear(&s->reason);
    ts_buf_str(&s->reason, tsd_refusal_text(tsd_refusal_of(rc), false));
    ts_buf_slice(&s->reason, text);
    tsd_import_bad(s->im, file, number, ts_buf_get(&s->reason));
    return 0;
}

static int store_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line,
                      struct ts_error *err)
{
    struct store_sink *s = sink;
    const char *p = lines.p, *end = p + lines.n;
    uint64_t first = tsd_import_number(s->im, *line);
    while (p < end) {
        uint64_t n = 0;
        p = tsd_put_run(&s->in, &s->chain, p, end, &n);
        *line += n;
        if (p == end)
            break;
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        tsd_put_ahead(&s->in, nl + 1, end);
        TS_TRY(store_line(s, file, (struct ts_slice){p, (size_t)(nl - p)}, tsd_import_number(s->im, *line),
                          err));
        p = nl + 1;
        ++*line;
    }
    tsd_ingest_turn(&s->in);
    while (!sto_writer_ready(s->in.writer) && !sto_store_refusing(s->store))
        store_wait(s);
    s->im->n_points = s->in.n_points;
    struct ts_error why = {0};
    int rc = sto_store_refusing(s->store) ? sto_writer_error(s->in.writer, &why) : 0;
    return rc < 0 && rc != TS_EBUSY ? ts_error_set(err, rc, "%s:%llu: points are no longer accepted: %s",
                                                   file, (unsigned long long)first, why.text)
                                    : 0;
}

static int store_finish(void *sink, struct ts_error *err)
{
    struct store_sink *s = sink;
    tsd_ingest_turn(&s->in);
    return sto_flush(s->store, STO_LEVEL_FILES, err);
}

static void store_failed(void *sink, struct ts_error *err)
{
    (void)sink;
    if (err->code == TS_ENOSPC)
        tsd_import_say_full();
}

static int store_close(void *sink, struct ts_error *err)
{
    struct store_sink *s = sink;
    tsd_ingest_release(&s->in);
    int rc = sto_close(s->store, err);
    ts_buf_release(&s->reason);
    ts_free(s);
    return rc;
}

const struct tsd_import_to tsd_import_store = {.open = store_open,
                                               .take = store_take,
                                               .finish = store_finish,
                                               .failed = store_failed,
                                               .close = store_close};
