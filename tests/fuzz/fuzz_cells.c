/*
 * fuzz_cells.c - the small cells opened on any bytes.
 *
 * Input      cells.log, or bodies of its records: fuzz_one_log (fuzz_log.h)
 *
 * Checked    no crash, no leak; errors have a code and a text; keys ascend and are found; what opens takes
 *            changes and holds the same after it was closed
 */
#include "storage/cells.h"
#include "base/hash.h"
#include "tests/fuzz/fuzz_log.h"

/* What was seen. */
struct seen {
    struct sto_cellmap *map;
    struct ts_buf last; /* key before */
    uint64_t n, hash;
};

static int open_cells(struct t_faultfs *f, bool read_only, struct sto_cellmap **out)
{
    struct ts_error err = {0};
    *out = NULL;
    int rc = sto_cellmap_open(t_faultfs_fs(f), "d", read_only, true, out, &err);
    check_answer(rc, &err);
    CHECK((rc == 0) == (*out != NULL));
    return rc;
}

static bool on_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct seen *s = arg;
    struct ts_buf got;
    CHECK(key.n && value.n && (s->n == 0 || ts_slice_cmp(ts_buf_get(&s->last), key) < 0));
    ts_buf_clear(&s->last);
    ts_buf_slice(&s->last, key);
    ts_buf_init(&got, 0);
    CHECK(sto_cellmap_get(s->map, key, &got) == 0 && ts_slice_eq(ts_buf_get(&got), value));
    ts_buf_release(&got);
    s->n++;
    s->hash = ts_hash_u64(s->hash ^ ts_crc32c(ts_crc32c(0, key.p, key.n), value.p, value.n));
    return true;
}

static struct seen look(struct sto_cellmap *map)
{
    struct seen s = {.map = map};
    ts_buf_init(&s.last, 0);
    sto_cellmap_each(map, (struct ts_slice){"", 0}, on_cell, &s);
    ts_buf_release(&s.last);
    return s;
}

static void use(struct sto_cellmap *map)
{
    struct ts_error err = {0};
    int64_t now;
    CHECK(sto_cellmap_put(map, TS_SLICE_LIT("fuzz"), TS_SLICE_LIT("value"), false, &err) == 0);
    int rc = sto_cellmap_incr(map, TS_SLICE_LIT("counter"), 1, &now, &err);
    check_answer(rc, &err);
    CHECK(rc == 0 || rc == TS_EINVAL || rc == TS_ELIMIT); /* no counter, or as high as it can be */
    rc = sto_cellmap_cas(map, TS_SLICE_LIT("a"), TS_SLICE_LIT("b"), (struct ts_slice){"", 0}, false, &err);
    CHECK(rc == 0 || rc == TS_EEXIST);
}

static void try_cells(struct t_faultfs *f)
{
    struct sto_cellmap *map;
    struct seen a = {0}, b;
    int rc = open_cells(f, true, &map);
    if (rc == 0) {
        a = look(map);
        CHECK(sto_cellmap_close(map, NULL) == 0);
    }
    CHECK(open_cells(f, false, &map) == rc);
    if (rc < 0)
        return;
    b = look(map);
    CHECK(a.n == b.n && a.hash == b.hash);
    use(map);
    a = look(map);
    CHECK(sto_cellmap_close(map, NULL) == 0);
    CHECK(open_cells(f, true, &map) == 0);
    b = look(map);
    CHECK(a.n == b.n && a.hash == b.hash && sto_cellmap_close(map, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_one_log(data, n, "d/cells.log", "CELL", try_cells);
    return 0;
}
