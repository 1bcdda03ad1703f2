/*
 * pick_kit.h - files for tests of picking: nothing but generations, times and sizes.
 */
#ifndef TESTS_UNIT_ENGINE_PICK_KIT_H
#define TESTS_UNIT_ENGINE_PICK_KIT_H

#include "storage/engine/merge/partition.h"

#define DAY(d) ((int64_t)(d)*TS_DAY_MS)
#define NOW    DAY(20000)

/* A file of generations and times (ms) with one point. */
static inline struct sto_sst_info t_file(uint64_t gen_lo, uint64_t gen_hi, int64_t lo, int64_t hi,
                                         uint64_t bytes)
{
    return (struct sto_sst_info){.file_no = gen_lo,
                                 .gen_lo = gen_lo,
                                 .gen_hi = gen_hi,
                                 .min_ms = lo,
                                 .max_ms = hi,
                                 .n_points = 1,
                                 .n_rows = 1,
                                 .t_bytes = bytes,
                                 .tomb_min_ms = INT64_MAX,
                                 .tomb_max_ms = INT64_MIN};
}

#endif
