/*
 * once_kit.h - an engine without names whose additions are numbered: opening, crashes, parts.
 */
#ifndef TESTS_UNIT_ENGINE_ONCE_KIT_H
#define TESTS_UNIT_ENGINE_ONCE_KIT_H

#include "tests/unit/engine/engine_kit.h"

#include "base/time.h"

#define NOW_S 1793620800u
/* What the writer's user was told last. */
static struct {
    int n; /* times */
    uint64_t seq, stream;
    bool forgotten;
} t_refused;

static inline void on_refused(void *arg, const struct sto_refused *refused)
{
    (void)arg;
    t_refused.n++;
    t_refused.seq = refused->seq;
    t_refused.stream = refused->stream->number;
    t_refused.forgotten = refused->forgotten;
    assert_true(strlen(refused->why) > 10);
}

static uint64_t ids_bytes; /* memory alone bounds ids; 0: their number does */
static inline struct sto_engine *once_open_at(struct t_faultfs *f, unsigned n_writers, int64_t wall_ms)
{
    struct sto_opts opts = engine_opts(f, n_writers);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.pumped = opts.survive_sync_errors = true;
    opts.wal_sync = STO_SYNC_INTERVAL;
    opts.ids_bytes = ids_bytes;
    opts.max_ids = ids_bytes ? 1000000 : 4;
    opts.max_client_ids = ids_bytes ? 0 : 3;
    opts.ids_kept_s = 1000;
    opts.wal_segment_bytes = 2000;
    opts.log_grow_bytes = 600;
    ts_clock_set_fake(wall_ms);
    if (sto_engine_open(&opts, &t_owner, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    for (unsigned i = 0; i < n_writers; i++)
        sto_writer_on_refused(sto_engine_writer(e, i), on_refused, NULL);
    t_refused.n = 0;
    return e;
}

static inline struct sto_engine *once_open(struct t_faultfs *f, unsigned n_writers)
{
    return once_open_at(f, n_writers, (int64_t)NOW_S * 1000);
}

/* The end of the process, with or without that of the power, and a start with another number of owners. */
static inline struct sto_engine *crash(struct sto_engine *e, struct t_faultfs *f, bool power,
                                       unsigned n_writers)
{
    t_faultfs_power_cut(f);
    sto_engine_close(e, NULL);
    if (power)
        t_faultfs_reboot(f, T_KEEP_RANDOM);
    else
        t_faultfs_kill(f);
    return once_open_at(f, n_writers, ts_clock_ms());
}

/* n additions of a value to a series, as one part; false: the writer takes none. */
static inline bool add_part(struct sto_engine *e, unsigned writer, const struct sto_stream *stream,
                            uint64_t seq, unsigned series, int64_t value, unsigned n)
{
    struct sto_batch *b = sto_writer_batch_part(sto_engine_writer(e, writer), t_series[series], stream, n);
    if (!b)
        return false;
    assert_true(sto_batch_part(b, stream, seq, n));
    for (unsigned i = 0; i < n; i++)
        b->points[b->n++] = (struct sto_point){.series = t_series[series],
                                               .ts_ms = T0 + (int64_t)(seq % 5) * 1000,
                                               .m = value,
                                               .flags = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false)};
    return true;
}

static inline struct sto_stream stream_new(struct sto_engine *e, uint64_t id, uint32_t asker)
{
    return (struct sto_stream){
        .id = {NOW_S, id}, .number = sto_writer_stream(sto_engine_writer(e, 0)), .asker = asker};
}

/* Send sequences 1 to 3 of an id, once more. */
static inline void send_three(struct sto_engine *e, unsigned n_writers)
{
    struct sto_stream s = stream_new(e, 7, 1);
    for (uint64_t seq = 1; seq <= 3; seq++)
        for (unsigned i = 0; i < N_SERIES; i++)
            assert_true(add_part(e, 0, &s, seq, i, (int64_t)seq, 2));
    turn_all(e, n_writers);
    assert_int_equal(t_refused.n, 0);
    assert_int_equal(sum_of(e), N_SERIES * 12);
}

#endif
