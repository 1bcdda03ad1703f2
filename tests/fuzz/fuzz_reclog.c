/*
 * fuzz_reclog.c - the reader of record logs, and of the manifest in them, on any bytes.
 *
 * First byte even: the rest is a record log's file. Odd: the rest is bodies of manifest records, each after
 * its length (u16); framing and checksums are made here.
 *
 * Checked    no crash; read-only reading and cutting find the same; what was cut reads the same again; a
 *            manifest that opens takes edits
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/manifest.h"
#include "storage/reclog.h"
#include "tests/faults/faultfs.h"
#include "tests/fuzz/fuzz_log.h"

#define PATH "d/" STO_MANIFEST_NAME

/* Count and hash of the records read. */
struct seen {
    uint64_t n, hash;
};

static int on_record(void *arg, struct ts_slice body, struct ts_error *err)
{
    struct seen *s = arg;
    (void)err;
    s->n++;
    s->hash = ts_hash_u64(s->hash ^ ts_crc32c(0, body.p, body.n) ^ (uint64_t)body.n << 32);
    return 0;
}

static int read_log(struct t_faultfs *f, bool read_only, struct seen *out)
{
    struct sto_reclog *log;
    struct ts_error err = {0};
    *out = (struct seen){0};
    int rc = sto_reclog_open(t_faultfs_fs(f), PATH, "MANI", read_only, on_record, out, &log, &err);
    CHECK(rc == 0 ? log != NULL : log == NULL && err.code == rc && err.text[0]);
    if (rc == 0)
        CHECK(sto_reclog_close(log, NULL) == 0);
    return rc;
}

static void try_log(struct t_faultfs *f)
{
    struct seen a, b;
    int rc = read_log(f, true, &a);
    CHECK(read_log(f, false, &b) == rc && a.n == b.n && a.hash == b.hash);
    CHECK(read_log(f, true, &b) == rc && a.n == b.n && a.hash == b.hash);
    if (rc < 0)
        return;
    struct sto_reclog *log;
    CHECK(sto_reclog_open(t_faultfs_fs(f), PATH, "MANI", false, on_record, &b, &log, NULL) == 0);
    CHECK(sto_reclog_add(log, TS_SLICE_LIT("more"), NULL) == 0 && sto_reclog_close(log, NULL) == 0);
    CHECK(read_log(f, true, &b) == 0 && b.n == a.n + 1);
}

static void try_manifest(struct t_faultfs *f)
{
    struct sto_manifest *m;
    struct ts_error err = {0};
    int rc = sto_manifest_open(t_faultfs_fs(f), "d", false, false, 0, &m, &err);
    CHECK(rc == 0 ? m != NULL : m == NULL && err.code == rc && err.text[0]);
    if (rc < 0)
        return;
    const struct sto_manifest_state *s = sto_manifest_state(m);
    struct sto_sst_info add = {.file_no = s->next_file_no};
    struct sto_manifest_edit edit = {.add = &add, .n_add = 1};
    size_t n = s->n_files;
    CHECK(s->n_shards > 0);
    rc = sto_manifest_apply(m, &edit,
                            &err); /* refused only where numbers are used up or were given out twice */
    CHECK(rc == 0 || (rc == TS_EINVAL && err.text[0]));
    CHECK(sto_manifest_state(m)->n_files == n + (rc == 0));
    n = sto_manifest_state(m)->n_files;
    sto_manifest_close(m);
    CHECK(sto_manifest_open(t_faultfs_fs(f), "d", false, true, 0, &m, &err) == 0 &&
          sto_manifest_state(m)->n_files == n);
    sto_manifest_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    if (n == 0)
        return 0;
    struct t_faultfs *f = t_faultfs_new(1);
    t_faultfs_put(f, "d/x", "", 0); /* makes the folder */
    if (data[0] & 1) {
        put_records(f, PATH, "MANI", data + 1, n - 1);
        try_manifest(f);
    } else {
        t_faultfs_put(f, PATH, data + 1, n - 1);
        try_log(f);
    }
    CHECK(t_faultfs_n_open(f) == 0);
    t_faultfs_free(f);
    return 0;
}
