/*
 * bench_line.c - nanoseconds a line (put, incr, incr!) costs the parser: bench_line FILE DATADIR [ROUNDS]
 *
 * Reads the file whole, runs it through the line protocol into batches as a worker would, in pieces of 256
 * KiB. The store's own work (log, memstore) happens in the turns and is timed apart. Lines incr! are repeats from the second round on.
 */
#include "base/fs.h"
#include "base/time.h"
#include "tsd/protocols/line/line.h"

#include <stdio.h>
#include <stdlib.h>

#define BENCH_PIECE ((size_t)256 << 10)

struct bench {
    struct tsd_ingest in;
    struct tsd_rules rules;
    struct ts_buf out;
    int64_t parse_ns, turn_ns;
    uint64_t n_lines;
};

static void bench_round(struct bench *b, struct tsd_line *l, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        const char *stop = (size_t)(end - p) > BENCH_PIECE ? p + BENCH_PIECE : end;
        const char *rest;
        int64_t t0 = ts_clock_thread_ns();
        enum tsd_line_end how = tsd_line_input(l, p, stop, false, &rest);
        int64_t t1 = ts_clock_thread_ns();
        b->parse_ns += t1 - t0;
        p = rest;
        tsd_ingest_turn(&b->in);
        b->turn_ns += ts_clock_thread_ns() - t1;
        if (how == TSD_LINE_MORE && rest != stop && stop == end)
            break;
    }
}

int main(int argc, char **argv)
{
    struct ts_error err = {0};
    char *text;
    size_t n;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_line FILE DATADIR [ROUNDS]\n");
        return 2;
    }
    if (ts_fs_read_file(ts_fs_real(), argv[1], (size_t)4 << 30, &text, &n, &err) < 0) {
        fprintf(stderr, "bench_line: %s\n", err.text);
        return 1;
    }
    text = ts_xrealloc(text, n + TSD_INPUT_PAD);
    memset(text + n, 0, TSD_INPUT_PAD);
    struct sto_opts opts = {.dir = argv[2], .create = true, .n_writers = 1, .wal_sync = STO_SYNC_NONE};
    struct sto_store *store;
    if (sto_open(&opts, &store, &err) < 0) {
        fprintf(stderr, "bench_line: %s\n", err.text);
        return 1;
    }
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3;
    struct bench b = {.parse_ns = 0};
    tsd_rules_init(&b.rules, false, true, 0, NULL);
    tsd_ingest_init(&b.in, &b.rules, store, sto_writer(store, 0), (size_t)256 << 20);
    ts_buf_init(&b.out, 1 << 20);
    for (int i = 0; i < rounds; i++) {
        struct tsd_once once = {.refused = 0};
        struct tsd_line l = {.in = &b.in,
                             .out = &b.out,
                             .reply_max_bytes = 4096,
                             .line_max_bytes = 65536,
                             .asker = 1,
                             .once = &once};
        b.parse_ns = b.turn_ns = 0;
        bench_round(&b, &l, text, n);
        printf("round=%d points=%llu parse_ns_per_line=%.1f turn_ns_per_line=%.1f guessed=%llu found=%llu "
               "missed=%llu\n",
               i, (unsigned long long)l.n_points, (double)b.parse_ns / (double)l.n_points,
               (double)b.turn_ns / (double)l.n_points, (unsigned long long)b.in.n_guessed,
               (unsigned long long)b.in.n_found, (unsigned long long)b.in.n_missed);
    }
    if (b.out.n)
        fprintf(stderr, "first replies: %.200s\n", b.out.p);
    tsd_ingest_release(&b.in);
    ts_buf_release(&b.out);
    ts_free(text);
    return sto_close(store, &err) < 0;
}
