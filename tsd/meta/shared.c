/*
 * shared.c - keys of annotations, metadata and trees in a remote store.
 *
 * Threads    see shared.h
 */
#include "tsd/meta/shared.h"

#include "query/tsuid.h"
#include "storage/remote_cell.h"
#include "tsd/meta/annotation.h"
#include "tsd/meta/tree.h"
#include "tsd/meta/tsmeta.h"
#include "tsd/meta/uidmeta.h"

#include <stdlib.h>

static int compare_tags(const void *pa, const void *pb)
{
    const struct sto_remote_tag *a = pa, *b = pb;
    return ts_slice_cmp(a->k, b->k);
}

bool tsd_meta_series_names(struct sto_catalog *cat, struct ts_slice tsuid, struct sto_remote_tag *tags,
                           struct sto_remote_series *out)
{
    uint32_t id[QRY_TSUID_MAX_IDS];
    size_t n;
    if (qry_tsuid_ids(tsuid, id, &n) < 0 || n < 3)
        return false;
    *out = (struct sto_remote_series){.key = STO_REMOTE_NO_KEY,
                                      .metric = sto_uid_name(cat, STO_UID_METRIC, id[0]),
                                      .tags = tags,
                                      .n_tags = (n - 1) / 2};
    bool known = out->metric.p != NULL;
    for (size_t i = 0; i < out->n_tags; i++) {
        tags[i] = (struct sto_remote_tag){sto_uid_name(cat, STO_UID_TAGK, id[1 + 2 * i]),
                                          sto_uid_name(cat, STO_UID_TAGV, id[2 + 2 * i])};
        known = known && tags[i].k.p && tags[i].v.p;
    }
    if (known)
        qsort(tags, out->n_tags, sizeof *tags, compare_tags);
    return known;
}

int tsd_meta_remote_cell(struct sto_store *st, struct ts_slice key, struct ts_buf *out)
{
    struct sto_catalog *cat = sto_store_catalog(st);
    struct sto_remote_cell cell = {.kind = STO_REMOTE_ANNOTATION};
    struct sto_remote_tag tags[TSD_META_TAGS_MAX];
    struct ts_slice tsuid;
    enum sto_uid_kind kind;
    uint32_t id;
    bool known = false;
    if (tsd_note_key_parse(key, &tsuid, &cell.start_ms)) {
        known = tsuid.n == 0 || tsd_meta_series_names(cat, tsuid, tags, &cell.series);
    } else if (tsd_uidmeta_key_parse(key, &kind, &id)) {
        _Static_assert((int)STO_UID_TAGV == (int)STO_REMOTE_TAGV, "the same order");
        cell.kind = STO_REMOTE_NAME_META;
        cell.name_kind = (enum sto_remote_kind)kind;
        cell.name = sto_uid_name(cat, kind, id);
        known = cell.name.p != NULL;
    } else if (tsd_tree_key_parse(key, &cell.tree)) {
        cell.kind = STO_REMOTE_TREE;
        known = true;
    } else if (tsd_tsmeta_key_parse(key, &tsuid)) {
        cell.kind = STO_REMOTE_SERIES_META;
        known = tsd_meta_series_names(cat, tsuid, tags, &cell.series);
    }
    return known ? sto_remote_cell_key(&cell, out) : TS_ENOTFOUND;
}
