/*
 * importbulk_parse.c - parses blocks of put lines on a pool, with the daemon's own parser.
 *
 * Threads    a block belongs to the main thread, but while it is parsed; a parser to the thread that took it
 */
#include "tsd/commands/importbulk.h"

#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/time.h"
#include "tsd/ingest/histogram.h"
#include "tsd/ingest/rollups.h"
#include "tsd/protocols/line/line.h"

#define PARSE_BAD_BYTES ((size_t)256 << 20) /* reasons of one block */

/* --- points --- */

/* Take the points of a parser's batch. */
static void parse_take(struct tsd_bulk_parser *p)
{
    struct sto_bulk_chunk *c = &p->block->chunk;
    if (p->batch->n == 0)
        return;
    if (c->n + p->batch->n > c->cap) {
        c->cap = c->cap * 2 + STO_BATCH_POINTS;
        c->points = ts_xrealloc(c->points, c->cap * sizeof *c->points);
    }
    struct sto_bulk_point *out = c->points + c->n;
    for (uint32_t i = 0; i < p->batch->n; i++)
        out[i] = sto_bulk_point_of(&p->batch->points[i]);
    c->n += p->batch->n;
    p->batch->n = 0;
}

static struct sto_batch *parse_next(void *arg)
{
    struct tsd_bulk_parser *p = arg;
    parse_take(p);
    return p->batch;
}

/* --- lines --- */

static int parse_one(struct tsd_bulk_parser *p, enum tsd_import_kind kind, struct ts_slice rest)
{
    static const struct tsd_histograms any = {.on = true, .max_buckets = UINT_MAX};
    return kind == TSD_IMPORT_ROLLUP      ? tsd_rollup_line(&p->in, &tsd_rollups_any, rest)
           : kind == TSD_IMPORT_HISTOGRAM ? tsd_histogram_line(&p->in, &any, rest)
                                          : tsd_put_line(&p->in, &p->chain, rest);
}

/* A refused line: its number, the length of the reason, the reason. */
static void parse_bad(struct tsd_bulk_parser *p, uint64_t number, int rc)
{
    uint8_t head[12];
    const char *kind = tsd_refusal_text(tsd_refusal_of(rc), false);
    struct ts_slice why = ts_buf_get(&p->in.msg);
    ts_st64(head, number);
    ts_st32(head + 8, (uint32_t)(strlen(kind) + why.n));
    ts_buf_append(&p->block->bad, head, sizeof head);
    ts_buf_str(&p->block->bad, kind);
    ts_buf_slice(&p->block->bad, why);
}

static void parse_lines(struct tsd_bulk_parser *p, struct tsd_bulk_block *b)
{
    const char *at = b->text, *end = at + b->n_bytes;
    uint64_t index = 0;
    while (at < end) {
        uint64_t n = 0;
        struct ts_slice rest;
        at = tsd_put_run(&p->in, &p->chain, at, end, &n);
        index += n;
        if (at == end)
            break;
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        tsd_put_ahead(&p->in, nl + 1, end);
        enum tsd_import_kind kind = tsd_import_line((struct ts_slice){at, (size_t)(nl - at)}, &rest);
        int rc = kind == TSD_IMPORT_NOTHING ? 0 : parse_one(p, kind, rest);
        if (rc < 0)
            parse_bad(p, b->line_of ? b->line_of[index] : b->first + index, rc);
        at = nl + 1;
        index++;
    }
}

/* --- memory of chunks: pages that are used again need not be cleared --- */

void tsd_bulk_spare_give(struct tsd_bulk_parsers *p, struct sto_bulk_chunk *c)
{
    pthread_mutex_lock(&p->mu);
    TS_ARRAY_GROW(p->spares, p->n_spares, p->cap_spares, 64);
    p->spares[p->n_spares++] = (struct sto_bulk_chunk){.points = c->points, .cap = c->cap};
    pthread_mutex_unlock(&p->mu);
    *c = (struct sto_bulk_chunk){0};
}

void tsd_bulk_spares_release(struct tsd_bulk_parsers *p)
{
    for (size_t i = 0; i < p->n_spares; i++)
        ts_free(p->spares[i].points);
    ts_free(p->spares);
    p->spares = NULL;
    p->n_spares = p->cap_spares = 0;
}

/* A chunk that has grown gives back what it does not need. */
static void trim(struct sto_bulk_chunk *c)
{
    size_t cap = c->n + c->n / 16 + 1;
    if (c->cap <= cap)
        return;
    c->points = ts_xrealloc(c->points, cap * sizeof *c->points);
    c->cap = cap;
}

/* --- blocks --- */

/* What pool threads are given. */
struct parse_task {
    struct tsd_bulk_parsers *p;
    struct tsd_bulk_block *b;
};

static void parse_run(void *arg)
{
    struct parse_task task = *(struct parse_task *)arg;
    struct tsd_bulk_parsers *ps = task.p;
    ts_free(arg);
    pthread_mutex_lock(&ps->mu);
    struct tsd_bulk_parser *p = ps->idle[--ps->n_idle]; /* there are as many as threads */
    if (ps->n_spares)
        task.b->chunk = ps->spares[--ps->n_spares];
    pthread_mutex_unlock(&ps->mu);
    size_t cap = task.b->chunk.cap;
    uint64_t before = p->in.n_points;
    p->block = task.b;
    parse_lines(p, task.b);
    parse_take(p);
    if (p->in.n_slots)
        p->in.open[0] = NULL;
    task.b->n_points = p->in.n_points - before;
    if (task.b->chunk.cap != cap)
        trim(&task.b->chunk);
    pthread_mutex_lock(&ps->mu);
    ps->idle[ps->n_idle++] = p;
    task.b->done = true;
    pthread_cond_broadcast(&ps->cond);
    pthread_mutex_unlock(&ps->mu);
}

void tsd_bulk_parse(struct tsd_bulk_parsers *p, struct tsd_bulk_block *b)
{
    struct parse_task *task = ts_xmalloc(sizeof *task);
    *task = (struct parse_task){p, b};
    ts_buf_init(&b->bad, PARSE_BAD_BYTES);
    ts_pool_run(p->pool, TS_PRIO_HIGH, parse_run, task);
}

void tsd_bulk_await(struct tsd_bulk_parsers *p, struct tsd_bulk_block *b)
{
    pthread_mutex_lock(&p->mu);
    while (!b->done)
        pthread_cond_wait(&p->cond, &p->mu);
    pthread_mutex_unlock(&p->mu);
}

void tsd_bulk_report(struct tsd_import *im, const struct tsd_bulk_block *b)
{
    for (struct ts_slice rest = ts_buf_get(&b->bad); rest.n;) {
        uint32_t n = ts_ld32(rest.p + 8);
        tsd_import_bad(im, b->file, ts_ld64(rest.p), (struct ts_slice){rest.p + 12, n});
        rest = (struct ts_slice){rest.p + 12 + n, rest.n - 12 - n};
    }
}

void tsd_bulk_block_fill(struct tsd_bulk_block *b, struct ts_slice lines)
{
    if (lines.n + TSD_INPUT_PAD > b->cap_text) {
        ts_free(b->text);
        b->cap_text = lines.n + lines.n / 8 + TSD_INPUT_PAD;
        b->text = ts_xmalloc(b->cap_text);
    }
    memcpy(b->text, lines.p, lines.n);
    memset(b->text + lines.n, 0, TSD_INPUT_PAD);
    b->n_bytes = lines.n;
}

void tsd_bulk_block_clear(struct tsd_bulk_block *b)
{
    ts_free(b->line_of);
    ts_free(b->chunk.points);
    ts_buf_release(&b->bad);
    *b = (struct tsd_bulk_block){.text = b->text, .cap_text = b->cap_text};
}

void tsd_bulk_block_release(struct tsd_bulk_block *b)
{
    tsd_bulk_block_clear(b);
    ts_free(b->text);
    *b = (struct tsd_bulk_block){0};
}

/* --- parsers --- */

void tsd_bulk_parsers_init(struct tsd_bulk_parsers *p, unsigned n, size_t cache_bytes)
{
    p->n = p->n_idle = n;
    p->all = ts_xcalloc(n, sizeof *p->all);
    p->idle = ts_xcalloc(n, sizeof(struct tsd_bulk_parser *));
    pthread_mutex_init(&p->mu, NULL);
    pthread_cond_init(&p->cond, NULL);
    for (unsigned i = 0; i < n; i++) {
        struct tsd_bulk_parser *one = &p->all[i];
        one->sink = (struct tsd_ingest_sink){.next = parse_next, .arg = one};
        one->batch = ts_xcalloc(1, sizeof *one->batch);
        tsd_ingest_init_apart(&one->in, &p->rules, p->cat, &one->sink, cache_bytes);
        tsd_ingest_begin(&one->in);
        p->idle[i] = one;
    }
}

void tsd_bulk_parsers_release(struct tsd_bulk_parsers *p)
{
    if (!p->all)
        return;
    tsd_bulk_spares_release(p);
    for (unsigned i = 0; i < p->n; i++) {
        tsd_ingest_release(&p->all[i].in);
        ts_free(p->all[i].batch);
    }
    pthread_mutex_destroy(&p->mu);
    pthread_cond_destroy(&p->cond);
    ts_free(p->all);
    ts_free(p->idle);
    p->all = NULL;
}
