/*
 * state.c - reads and writes the file STATE.
 *
 * Threads    see state.h
 */
#include "storage/engine/bulk/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cut.h"
#include "base/hash.h"
#include "base/num.h"
#include "storage/bulk.h"

#define FIRST_LINE      "tsd bulk 1"
#define STATE_MAX_BYTES ((size_t)256 << 20) /* tens of thousands of runs of hundreds of files each */
#define UNITS_MAX       1000000 /* a unit has a million points or more, apart from the last ones */

void sto_bulk_state_release(struct sto_bulk_state *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        ts_free(s->runs[i].nos);
    for (size_t i = 0; i < s->n_units; i++)
        ts_free(s->units[i].nos);
    ts_free(s->runs);
    ts_free(s->units);
    ts_free(s->done);
    ts_free(s->days.days);
    ts_free(s->note);
    *s = (struct sto_bulk_state){0};
}

void sto_bulk_state_units(struct sto_bulk_state *s, size_t n)
{
    if (n <= s->n_units)
        return;
    s->units = ts_xrealloc(s->units, n * sizeof *s->units);
    s->done = ts_xrealloc(s->done, n * sizeof *s->done);
    memset(s->units + s->n_units, 0, (n - s->n_units) * sizeof *s->units);
    memset(s->done + s->n_units, 0, (n - s->n_units) * sizeof *s->done);
    s->n_units = n;
}

/* --- reading --- */

static bool take_number(struct ts_slice *rest, int64_t *out)
{
    return ts_num_parse_int(ts_slice_cut(rest, ' '), out, NULL) == 0;
}

static bool take_files(struct ts_slice rest, struct sto_bulk_part *out)
{
    size_t cap = 0;
    while (rest.n) {
        int64_t no;
        if (!take_number(&rest, &no) || no <= 0)
            return false;
        TS_ARRAY_GROW(out->nos, out->n, cap, 8);
        out->nos[out->n++] = (uint64_t)no;
    }
    return true;
}

static bool take_day(struct sto_bulk_state *s, struct ts_slice rest)
{
    int64_t day, n;
    if (!take_number(&rest, &day) || !take_number(&rest, &n) || rest.n || n <= 0 || day > INT32_MAX / 24 ||
        day < INT32_MIN / 24)
        return false;
    sto_day_counts_add(&s->days, (int32_t)day * 24, (uint64_t)n);
    return true;
}

static bool take_line(struct sto_bulk_state *s, struct ts_slice line)
{
    struct ts_slice rest = line, word = ts_slice_cut(&rest, ' ');
    if (ts_slice_is(word, "note")) {
        ts_free(s->note);
        s->note = ts_xstrndup(rest.p, rest.n);
        return true;
    }
    if (ts_slice_is(word, "day"))
        return take_day(s, rest);
    if (ts_slice_is(word, "merging"))
        return s->merging = true;
    if (ts_slice_is(word,
                    "merging-by-key")) /* a word of its own, so that an older program refuses the file */
        return s->merging = s->by_key = true;
    if (ts_slice_is(word, "merged"))
        return s->merged = true;
    if (ts_slice_is(word, "run")) {
        TS_ARRAY_GROW(s->runs, s->n_runs, s->cap_runs, 16);
        s->runs[s->n_runs] = (struct sto_bulk_part){0};
        return take_files(rest, &s->runs[s->n_runs++]);
    }
    int64_t unit;
    if (!ts_slice_is(word, "unit") || !take_number(&rest, &unit) || unit < 0 || unit >= UNITS_MAX)
        return false;
    sto_bulk_state_units(s, (size_t)unit + 1);
    if (s->done[unit])
        return false;
    s->done[unit] = true;
    return take_files(rest, &s->units[unit]);
}

static int parse(struct ts_slice text, const char *path, struct sto_bulk_state *s, struct ts_error *err)
{
    static const size_t tail = sizeof "crc 00000000\n" - 1;
    char crc[16];
    if (text.n > tail)
        (void)snprintf(crc, sizeof crc, "crc %08x\n", ts_crc32c(0, text.p, text.n - tail));
    if (text.n <= tail || memcmp(text.p + text.n - tail, crc, tail) != 0)
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged", path);
    text.n -= tail;
    struct ts_slice first = ts_slice_cut(&text, '\n');
    if (!ts_slice_is(first, FIRST_LINE))
        return ts_error_set(err, TS_EVERSION, "%s was written by another version of tsd", path);
    while (text.n) {
        struct ts_slice line = ts_slice_cut(&text, '\n');
        if (!take_line(s, line))
            return ts_error_set(err, TS_ECORRUPT, "%s: \"%.*s\" is no line of it", path,
                                (int)(line.n < 80 ? line.n : 80), line.p);
    }
    return 0;
}

int sto_bulk_state_read(const struct ts_fs *fs, const char *dir, struct sto_bulk_state *s,
                        struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_BULK_STATE_NAME), *text = NULL;
    struct ts_error why = {0};
    size_t n = 0;
    *s = (struct sto_bulk_state){0};
    int rc = ts_fs_read_file(fs, path, STATE_MAX_BYTES, &text, &n, &why);
    if (rc == 0 && (rc = parse((struct ts_slice){text, n}, path, s, &why)) == 0)
        rc = 1;
    ts_free(text);
    ts_free(path);
    if (rc == 1 || rc == TS_ENOTFOUND)
        return rc == 1;
    sto_bulk_state_release(s);
    if (err)
        *err = why;
    return rc;
}

int sto_bulk_note_read(const struct ts_fs *fs, const char *dir, struct ts_buf *out_note, struct ts_error *err)
{
    struct sto_bulk_state s;
    int rc = sto_bulk_state_read(fs, dir, &s, err);
    bool found = rc == 1 && s.note;
    if (found)
        ts_buf_str(out_note, s.note);
    sto_bulk_state_release(&s);
    return rc < 0 ? rc : found;
}

/* --- writing --- */

static void put_files(struct ts_buf *b, const struct sto_bulk_part *part)
{
    for (size_t i = 0; i < part->n; i++)
        ts_buf_printf(b, " %" PRIu64, part->nos[i]);
    ts_buf_char(b, '\n');
}

int sto_bulk_state_write(const struct ts_fs *fs, const char *dir, const struct sto_bulk_state *s,
                         struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_BULK_STATE_NAME);
    struct ts_buf b;
    ts_buf_init(&b, STATE_MAX_BYTES);
    ts_buf_str(&b, FIRST_LINE "\n");
    if (s->note)
        ts_buf_printf(&b, "note %s\n", s->note);
    for (size_t i = 0; i < s->days.n; i++)
        ts_buf_printf(&b, "day %d %" PRIu64 "\n", s->days.days[i].day, s->days.days[i].n);
    for (size_t i = 0; i < s->n_runs; i++) {
        ts_buf_str(&b, "run");
        put_files(&b, &s->runs[i]);
    }
    if (s->merging)
        ts_buf_str(&b, s->by_key ? "merging-by-key\n" : "merging\n");
    for (size_t i = 0; i < s->n_units; i++)
        if (s->done[i]) {
            ts_buf_printf(&b, "unit %zu", i);
            put_files(&b, &s->units[i]);
        }
    if (s->merged)
        ts_buf_str(&b, "merged\n");
    ts_buf_printf(&b, "crc %08x\n", ts_crc32c(0, b.p, b.n));
    int rc = b.failed ? ts_error_set(err, TS_ELIMIT,
                                     "%s would have more than %zu bytes: import fewer files "
                                     "at a time, or with more memory",
                                     path, STATE_MAX_BYTES)
                      : ts_fs_write_atomic(fs, path, b.p, b.n, err);
    ts_buf_release(&b);
    ts_free(path);
    return rc;
}
