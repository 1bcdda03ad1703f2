/*
 * fuzz_import.c - files of any format into put lines: mappings, CSV, fixed widths, and the formats without a mapping.
 *
 * First byte: number of the format; second: bit 0 a small longest line, bit 1 lines to skip, bit 2 another delimiter, bit 3 a zone. Then a mapping
 * up to the first line feed, then the lines.
 *
 * Checked    no crash; errors have a code and a text; a refused line leaves nothing; each put line is one line, within its limit, and its
 *            number that of a line that was given
 */
#include "base/cut.h"
#include "tests/fuzz/fuzz_kit.h"
#include "tsd/inputs/input.h"

#define SMALL_LINE 40

static void check_points(const struct tsd_input_run *run)
{
    struct ts_slice rest = ts_buf_get(&run->text), line;
    size_t n = 0;
    while (rest.n) {
        line = ts_slice_cut(&rest, '\n');
        CHECK(line.n && line.n <= TSD_INPUT_POINT_BYTES && ts_slice_count(line, ' ') >= 2);
        CHECK(run->line_of[n] >= 1 && run->line_of[n] <= run->line);
        CHECK(n == 0 || run->line_of[n - 1] <= run->line_of[n]);
        n++;
    }
    CHECK(n == run->n_points);
}

static void lines(struct tsd_input_run *run, struct ts_slice rest)
{
    for (uint64_t number = 1; rest.n; number++) {
        struct ts_error err = {0};
        size_t n = run->text.n, n_points = run->n_points;
        run->line = number;
        int rc = tsd_input_line(run, ts_slice_cut(&rest, '\n'), &err);
        check_answer(rc, &err);
        CHECK(rc == 0 || (run->text.n == n && run->n_points == n_points));
        CHECK(run->first_line >= 1 && run->first_line <= number);
        if (rc == TS_EINVAL)
            break;
    }
    struct ts_error err = {0};
    check_answer(tsd_input_end(run, &err), &err);
    check_points(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t n_rows = 0;
    ts_log_set_level(TS_LOG_ERROR + 1);
    while (tsd_inputs[n_rows].name)
        n_rows++;
    if (n < 2)
        return 0;
    char *copy = ts_xmalloc(n - 1); /* exactly: a sanitizer sees reads beyond */
    memcpy(copy, data + 2, n - 2);
    struct ts_slice rest = {copy, n - 2}, mapping = ts_slice_cut(&rest, '\n');
    struct tsd_input_opts opts = {.mapping = mapping,
                                  .missing = TS_SLICE_LIT("-9999,x"),
                                  .tags = data[1] & 16 ? TS_SLICE_LIT(" t=u") : (struct ts_slice){0},
                                  .max_line_bytes = data[1] & 1 ? SMALL_LINE : 0,
                                  .n_skip = data[1] & 2 ? 1 : 0,
                                  .delimiter = data[1] & 4 ? ';' : 0,
                                  .now_ms = 1793620800000};
    const struct tsd_input *row = &tsd_inputs[data[0] % n_rows];
    struct ts_error err = {0};
    struct tsd_input_run run;
    (void)tsd_input_guess(rest);
    if (data[1] & 8)
        (void)ts_tz_open(TS_SLICE_LIT("Europe/Berlin"), &opts.tz, NULL);
    if (!row->plain) {
        int rc = tsd_input_begin(&run, row, &opts, &err);
        check_answer(rc, &err);
        if (rc == 0) {
            tsd_input_file(&run);
            lines(&run, rest);
        }
        tsd_input_release(&run);
    }
    ts_free(copy);
    return 0;
}
