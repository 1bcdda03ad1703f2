/*
 * fuzz_catalog.c - the catalog opened on any bytes.
 *
 * Input      catalog.log, or bodies of its records: fuzz_one_log (fuzz_log.h)
 *
 * Checked    no crash, no leak; errors have a code and a text; what opens has series whose names exist and
 *            whose text finds them; it takes new names and series, and holds the same after it was closed
 */
#include "storage/catalog/catalog.h"
#include "base/hash.h"
#include "tests/fuzz/fuzz_log.h"

#define MAX_LOOKED 2000u /* series and names looked at: a log can promise four billion */

static int open_catalog(struct t_faultfs *f, bool read_only, struct sto_catalog **out)
{
    struct ts_error err = {0};
    struct sto_catalog_opts opts = {.dir = "d", .n_shards = 16, .read_only = read_only};
    int rc = sto_catalog_open(t_faultfs_fs(f), &opts, out, &err);
    check_answer(rc, &err);
    CHECK((rc == 0) == (*out != NULL));
    return rc;
}

/* Hash of names and series; with check, each series is found by its ids. */
static uint64_t look(struct sto_catalog *cat, bool check)
{
    uint64_t hash = sto_series_count(cat);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        for (uint32_t id = 1; id && id <= sto_uid_max(cat, (enum sto_uid_kind)kind) && id < MAX_LOOKED;
             id++) {
            struct ts_slice name = sto_uid_name(cat, (enum sto_uid_kind)kind, id);
            uint32_t found;
            if (!name.p)
                continue;
            CHECK(name.n > 0 && sto_uid_find(cat, (enum sto_uid_kind)kind, name, &found) == 0 && found == id);
            hash = ts_hash_u64(hash ^ ts_crc32c(0, name.p, name.n) ^ (uint64_t)id << 34);
        }
    for (uint32_t id = 0; id < sto_series_count(cat) && id < MAX_LOOKED; id++) {
        const struct sto_series *s = sto_series_get(cat, id), *same;
        if (!s)
            continue;
        CHECK(s->id == id && s->n_tags >= 1 && s->metric_len < s->text_len);
        CHECK(sto_uid_name(cat, STO_UID_METRIC, s->metric).p);
        for (uint32_t i = 0; i < s->n_tags; i++)
            CHECK(sto_uid_name(cat, STO_UID_TAGK, s->tags[i].k).p &&
                  sto_uid_name(cat, STO_UID_TAGV, s->tags[i].v).p);
        if (check)
            CHECK(sto_series_find_ids(cat, s->metric, s->tags, s->n_tags, &same) == 0 && same == s);
        hash = ts_hash_u64(hash ^ ts_crc32c(0, sto_series_text(s).p, s->text_len) ^ (uint64_t)id << 34);
    }
    return hash;
}

/* A new name and series; refused only where numbers are used up. */
static void use(struct sto_catalog *cat)
{
    struct sto_tag_text tag = {TS_SLICE_LIT("fuzz-key"), TS_SLICE_LIT("fuzz-value")};
    const struct sto_series *s = NULL;
    struct ts_error err = {0};
    roaring_bitmap_t *set;
    int rc =
        sto_series_resolve(cat, TS_SLICE_LIT("fuzz-metric fuzz-key=fuzz-value"), 11, &tag, 1, true, &s, &err);
    check_answer(rc, &err);
    CHECK(rc == 0 || rc == TS_ELIMIT);
    if (rc < 0)
        return;
    CHECK(sto_select(cat, s->metric, NULL, 0, false, NULL, &set, &err) == 0 &&
          roaring_bitmap_contains(set, s->id));
    roaring_bitmap_free(set);
}

static void try_catalog(struct t_faultfs *f)
{
    struct sto_catalog *cat;
    int rc = open_catalog(f, true, &cat);
    uint64_t hash = 0;
    if (rc == 0) {
        hash = look(cat, true);
        CHECK(sto_catalog_close(cat, NULL) == 0);
    }
    CHECK(open_catalog(f, false, &cat) == rc);
    if (rc < 0)
        return;
    CHECK(look(cat, false) == hash);
    use(cat);
    hash = look(cat, true);
    CHECK(sto_catalog_close(cat, NULL) == 0);
    CHECK(open_catalog(f, true, &cat) == 0 && look(cat, false) == hash);
    CHECK(sto_catalog_close(cat, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_one_log(data, n, "d/catalog.log", "CATA", try_catalog);
    return 0;
}
