/*
 * fuzz_line.c - the line protocol on any bytes.
 *
 * First byte: bit 0 = OpenTSDB's ways, the rest = how many bytes arrive at once.
 *
 * Checked    no crash; bytes in pieces give the replies and the points of the bytes as a whole; a second time
 * (series known, order guessed) gives the same again
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tsd/protocols/line/line.h"
#include "tests/fuzz/fuzz_store.h"

#define LINE_MAX_BYTES 200

static void start(void)
{
    ts_log_set_level(TS_LOG_ERROR);
    open_store((struct sto_opts){
        .n_writers = 1, .no_background = true, .max_series = 5000, .wal_sync = STO_SYNC_NONE});
}

/* What came of the bytes. */
struct result {
    struct ts_buf out;
    uint64_t n_points, n_commands;
};

/* Feed [p, p + n) in pieces as a connection would. */
static void feed(struct tsd_ingest *in, const char *p, size_t n, size_t piece, struct result *r)
{
    struct tsd_line l = {
        .in = in, .out = &r->out, .reply_max_bytes = 1 << 20, .line_max_bytes = LINE_MAX_BYTES};
    struct ts_buf tail;
    enum tsd_line_end how = TSD_LINE_MORE;
    ts_buf_init(&r->out, 4 << 20);
    ts_buf_init(&tail, 0);
    for (size_t at = 0; at < n && how == TSD_LINE_MORE; at += piece) {
        const char *rest;
        size_t k = n - at < piece ? n - at : piece;
        ts_buf_append(&tail, p + at, k);
        char *copy = ts_xmalloc(tail.n + TSD_INPUT_PAD);
        size_t copy_n = tail.n;
        memcpy(copy, tail.p, copy_n);
        memset(copy + copy_n, '0', TSD_INPUT_PAD);
        tsd_ingest_begin(in);
        how = tsd_line_input(&l, copy, copy + copy_n, at + k == n, &rest);
        CHECK(how != TSD_LINE_BUSY);
        ts_buf_clear(&tail);
        ts_buf_append(&tail, rest, copy_n - (size_t)(rest - copy));
        CHECK(how == TSD_LINE_EXIT || tail.n <= LINE_MAX_BYTES + 1);
        ts_free(copy);
    }
    CHECK(how == TSD_LINE_EXIT || tail.n == 0);
    ts_buf_release(&tail);
    r->n_points = l.n_points;
    r->n_commands = l.n_commands;
    tsd_ingest_turn(in);
}

static void same(const struct result *a, const struct result *b)
{
    CHECK(a->n_points == b->n_points);
    CHECK(a->out.n == b->out.n);
    CHECK(a->out.n == 0 || !memcmp(a->out.p, b->out.p, a->out.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tsd_rules rules;
    struct tsd_ingest in;
    struct result whole, again, pieces;
    if (!store)
        start();
    if (n < 1)
        return 0;
    tsd_rules_init(&rules, data[0] & 1, true, 0, NULL);
    tsd_ingest_init(&in, &rules, store, sto_writer(store, 0), 1 << 20);
    const char *p = (const char *)data + 1;
    feed(&in, p, n - 1, n, &whole);
    if (sto_series_count(in.cat) < 5000) { /* else new series are refused, later ones not */
        feed(&in, p, n - 1, n, &again);
        same(&whole, &again);
        feed(&in, p, n - 1, (size_t)(data[0] >> 1) + 1, &pieces);
        same(&whole, &pieces);
        ts_buf_release(&again.out);
        ts_buf_release(&pieces.out);
    }
    ts_buf_release(&whole.out);
    tsd_ingest_release(&in);
    return 0;
}
