/*
 * make_merge.c - writes the golden record of an unfinished merge into a folder: make_golden_merge DIR
 */
#include <stdio.h>

#include "storage/engine/unfinished.h"

static int write_record(const char *dir, struct ts_error *err)
{
    uint64_t inputs[] = {3, 17, 900};
    struct sto_sst_info outputs[] = {{.file_no = 901,
                                      .gen_lo = 2,
                                      .gen_hi = 9,
                                      .min_ms = -5000,
                                      .max_ms = 86399999,
                                      .tomb_min_ms = INT64_MAX,
                                      .tomb_max_ms = INT64_MIN,
                                      .n_points = 100000,
                                      .n_rows = 300,
                                      .t_bytes = 123456,
                                      .s_bytes = 7890},
                                     {.file_no = 902,
                                      .gen_lo = 2,
                                      .gen_hi = 9,
                                      .min_ms = 86400000,
                                      .max_ms = 86401000,
                                      .tomb_min_ms = INT64_MAX,
                                      .tomb_max_ms = INT64_MIN,
                                      .n_points = 2,
                                      .n_rows = 1,
                                      .t_bytes = 400}};
    struct sto_unfinished u = {.inputs = inputs,
                               .n_inputs = 3,
                               .gen_lo = 2,
                               .gen_hi = 9,
                               .carried_gen = 8,
                               .cutoff_ms = -3600000,
                               .cutoff_gen = 2,
                               .final = true,
                               .window = {STO_WINDOW_8, -1},
                               .cuts = {{INT32_MIN, 24}, {24, INT32_MAX}},
                               .n_cuts = 2,
                               .outputs = outputs,
                               .n_outputs = 2,
                               .last = {7, 70000, 24}};
    return sto_unfinished_write(ts_fs_real(), dir, &u, err);
}

int main(int argc, char **argv)
{
    struct ts_error err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden_merge DIR\n");
        return 2;
    }
    if (ts_fs_real()->mkdir(ts_fs_real(), argv[1], &err) < 0 || write_record(argv[1], &err) < 0) {
        fprintf(stderr, "make_golden_merge: %s\n", err.text);
        return 1;
    }
    return 0;
}
