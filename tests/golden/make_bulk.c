/*
 * make_bulk.c - writes the golden records of a bulk load: STATE of a staging folder and BULK of a data folder.
 *
 * Usage: make_golden_bulk DIR
 */
#include <stdio.h>

#include "base/mem.h"
#include "storage/engine/bulk/state.h"
#include "storage/engine/handover_record.h"

static int write_state(const char *dir, struct ts_error *err)
{
    uint64_t first[] = {1, 2}, second[] = {7}, unit[] = {2, 300};
    struct sto_bulk_part runs[] = {{first, 2}, {second, 1}}, units[] = {{NULL, 0}, {unit, 2}};
    bool done[] = {false, true};
    struct sto_day_count days[] = {{-1, 5}, {20000, 1000000}};
    char note[] = "input 1 5000 points 1000005";
    struct sto_bulk_state s = {.note = note,
                               .merging = true,
                               .days = {.days = days, .n = 2},
                               .runs = runs,
                               .n_runs = 2,
                               .units = units,
                               .done = done,
                               .n_units = 2};
    return sto_bulk_state_write(ts_fs_real(), dir, &s, err);
}

static int write_record(const char *dir, struct ts_error *err)
{
    uint64_t nos[] = {17, 18};
    struct sto_handover_record r = {
        .id = "0123456789abcdef", .gen = 9, .sum = {2, 1000000, 2500000}, .nos = nos, .n = 2};
    return sto_handover_record_write(ts_fs_real(), dir, &r, err);
}

int main(int argc, char **argv)
{
    struct ts_error err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden_bulk DIR\n");
        return 2;
    }
    if (ts_fs_real()->mkdir(ts_fs_real(), argv[1], &err) < 0 || write_state(argv[1], &err) < 0 ||
        write_record(argv[1], &err) < 0) {
        fprintf(stderr, "make_golden_bulk: %s\n", err.text);
        return 1;
    }
    return 0;
}
