/*
 * handover_record.c - reads and writes DIR/BULK, a text.
 *
 * Threads    see handover_record.h
 */
#include "storage/engine/handover_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cut.h"
#include "base/hash.h"
#include "base/num.h"

#define FIRST_LINE       "tsd bulk hand-over 1"
#define RECORD_MAX_BYTES ((size_t)64 << 20)

void sto_handover_record_release(struct sto_handover_record *r)
{
    ts_free(r->nos);
    *r = (struct sto_handover_record){0};
}

bool sto_handover_record_holds(const struct sto_handover_record *r, uint64_t flushed_gen, uint64_t file_no)
{
    if (r->gen && r->gen <= flushed_gen)
        return false;
    for (size_t i = 0; i < r->n; i++)
        if (r->nos[i] == file_no)
            return true;
    return false;
}

/* --- reading --- */

static bool take_number(struct ts_slice *rest, uint64_t *out)
{
    int64_t v;
    if (ts_num_parse_int(ts_slice_cut(rest, ' '), &v, NULL) < 0 || v < 0)
        return false;
    *out = (uint64_t)v;
    return true;
}

static bool take_line(struct sto_handover_record *r, struct ts_slice rest, size_t *cap)
{
    struct ts_slice word = ts_slice_cut(&rest, ' ');
    if (ts_slice_is(word, "id") && rest.n == STO_BULK_ID_CHARS) {
        memcpy(r->id, rest.p, rest.n);
        return true;
    }
    if (ts_slice_is(word, "gen"))
        return take_number(&rest, &r->gen) && !rest.n;
    if (ts_slice_is(word, "sum"))
        return take_number(&rest, &r->sum.n_files) && take_number(&rest, &r->sum.n_points) &&
               take_number(&rest, &r->sum.n_bytes) && !rest.n;
    if (!ts_slice_is(word, "file"))
        return false;
    TS_ARRAY_GROW(r->nos, r->n, *cap, 16);
    return take_number(&rest, &r->nos[r->n++]) && !rest.n;
}

static int parse(struct ts_slice text, const char *path, struct sto_handover_record *r, struct ts_error *err)
{
    static const size_t tail = sizeof "crc 00000000\n" - 1;
    char crc[16] = "";
    size_t cap = 0;
    if (text.n > tail)
        (void)snprintf(crc, sizeof crc, "crc %08x\n", ts_crc32c(0, text.p, text.n - tail));
    if (text.n <= tail || memcmp(text.p + text.n - tail, crc, tail) != 0)
        return ts_error_set(err, TS_ECORRUPT, "%s is damaged: stop the daemon and run tsd fsck --repair",
                            path);
    text.n -= tail;
    struct ts_slice first = ts_slice_cut(&text, '\n');
    if (!ts_slice_is(first, FIRST_LINE))
        return ts_error_set(err, TS_EVERSION, "%s was written by another version of tsd", path);
    while (text.n)
        if (!take_line(r, ts_slice_cut(&text, '\n'), &cap))
            return ts_error_set(
                err, TS_ECORRUPT,
                "%s has a line that makes no sense: stop the daemon and run tsd fsck --repair", path);
    return r->id[0]
               ? 0
               : ts_error_set(err, TS_ECORRUPT,
                              "%s names no staging folder: stop the daemon and run tsd fsck --repair", path);
}

int sto_handover_record_read(const struct ts_fs *fs, const char *dir, struct sto_handover_record *r,
                             struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_HANDOVER_NAME), *text = NULL;
    struct ts_error why = {0};
    size_t n = 0;
    *r = (struct sto_handover_record){0};
    int rc = ts_fs_read_file(fs, path, RECORD_MAX_BYTES, &text, &n, &why);
    if (rc == 0 && (rc = parse((struct ts_slice){text, n}, path, r, &why)) == 0)
        rc = 1;
    ts_free(text);
    ts_free(path);
    if (rc == 1 || rc == TS_ENOTFOUND)
        return rc == 1;
    sto_handover_record_release(r);
    if (err)
        *err = why;
    return rc;
}

/* --- writing --- */

int sto_handover_record_write(const struct ts_fs *fs, const char *dir, const struct sto_handover_record *r,
                              struct ts_error *err)
{
    char *path = ts_fs_join(dir, STO_HANDOVER_NAME);
    struct ts_buf b;
    ts_buf_init(&b, RECORD_MAX_BYTES);
    ts_buf_printf(&b, FIRST_LINE "\nid %s\ngen %" PRIu64 "\nsum %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r->id,
                  r->gen, r->sum.n_files, r->sum.n_points, r->sum.n_bytes);
    for (size_t i = 0; i < r->n; i++)
        ts_buf_printf(&b, "file %" PRIu64 "\n", r->nos[i]);
    ts_buf_printf(&b, "crc %08x\n", ts_crc32c(0, b.p, b.n));
    int rc = b.failed ? ts_error_set(err, TS_ELIMIT, "there are too many files for one hand-over: %zu", r->n)
                      : ts_fs_write_atomic(fs, path, b.p, b.n, err);
    ts_buf_release(&b);
    ts_free(path);
    return rc;
}
