/*
 * files.c - open files of the whole system, from /proc/sys/fs/file-nr.
 *
 * Threads    the collector's own
 * Source     proc_sys_fs(5)
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"

static const struct col_metric metrics[] = {
    {"proc.sys.fs.file_open", "", "files", "Open files of all processes.", COL_GAUGE},
    {"proc.sys.fs.file_max", "", "files", "Most there may be.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* "allocated  allocated but unused  maximum"; the second is 0 since Linux 2.6 */
void col_files_parse(struct ts_slice text, struct col_emit *emit)
{
    uint64_t v[3];
    if (col_u64_row(text, v, 3) < 3)
        return;
    col_emit_u64(emit, metrics[0].name, v[0] >= v[1] ? v[0] - v[1] : 0, COL_NO_TAGS);
    col_emit_u64(emit, metrics[1].name, v[2], COL_NO_TAGS);
}

static int files_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    return col_text_read(state, emit, "/proc/sys/fs/file-nr", col_files_parse, err);
}

const struct col_collector col_files = {
    .name = "files",
    .help = "Open files of the whole system.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = files_read,
    .release = col_text_release,
};
