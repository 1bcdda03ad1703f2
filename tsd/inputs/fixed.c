/*
 * fixed.c - columns of fixed widths, as in files of NOAA.
 *
 * Threads    see input.h
 */
#include "tsd/inputs/formats.h"

#include "base/cut.h"
#include "tsd/inputs/mapping.h"

int tsd_fixed_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    if (!ts_slice_trim(line).n)
        return 0;
    tsd_mapping_cut(run->map, run, line);
    return tsd_mapping_points(run->map, run, err);
}
