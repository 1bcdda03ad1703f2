/*
 * keep.c - what annotations and metadata mention.
 *
 * Threads    see keep.h
 * Not here   what they say (annotation.h, tsmeta.h)
 */
#include "tsd/meta/keep.h"

#include "query/query.h"
#include "query/tsuid.h"
#include "tsd/meta/annotation.h"
#include "tsd/meta/tsmeta.h"
#include "tsd/meta/uidmeta.h"

static bool found(void *arg, struct ts_slice key, struct ts_slice value)
{
    (void)key, (void)value; /* whatever it says; there may be no memory to read it */
    *(bool *)arg = true;
    return false;
}

bool tsd_meta_keeps_series(struct sto_store *st, const struct sto_series *s)
{
    struct ts_buf tsuid;
    ts_buf_init(&tsuid, 0);
    qry_tsuid(s, &tsuid);
    bool keeps = tsd_tsmeta_there(st, s);
    if (!keeps)
        tsd_notes_cells(st, ts_buf_get(&tsuid), 0, INT64_MAX, found, &keeps);
    ts_buf_release(&tsuid);
    return keeps;
}

/* Kind of the i-th id of a TSUID. */
static enum sto_uid_kind kind_at(size_t i)
{
    return i == 0 ? STO_UID_METRIC : i % 2 ? STO_UID_TAGK : STO_UID_TAGV;
}

static void add_tsuid(void *arg, struct ts_slice tsuid)
{
    roaring_bitmap_t *const *ids = arg;
    uint32_t id[QRY_TSUID_MAX_IDS];
    size_t n;
    if (qry_tsuid_ids(tsuid, id, &n) == 0)
        for (size_t i = 0; i < n; i++)
            roaring_bitmap_add(ids[kind_at(i)], id[i]);
}

static void add_name(void *arg, enum sto_uid_kind kind, uint32_t id)
{
    roaring_bitmap_t *const *ids = arg;
    roaring_bitmap_add(ids[kind], id);
}

void tsd_meta_mentioned_names(struct sto_store *st, roaring_bitmap_t *const *ids)
{
    void *arg = (void *)(uintptr_t)ids; /* the sets change, the array does not */
    tsd_notes_tsuids(st, add_tsuid, arg);
    tsd_tsmeta_tsuids(st, add_tsuid, arg);
    tsd_uidmeta_ids(st, add_name, arg);
}

int tsd_meta_mentioned(struct sto_store *st, struct ts_slice tsuid)
{
    const struct sto_series *s;
    uint32_t id[QRY_TSUID_MAX_IDS];
    size_t n;
    if (qry_tsuid_ids(tsuid, id, &n) == 0)
        for (size_t i = 0; i < n; i++)
            (void)sto_uid_keep(sto_store_catalog(st), kind_at(i), id[i], NULL);
    return qry_tsuid_series(sto_store_catalog(st), tsuid, &s, NULL); /* who asks for a series makes it stay */
}
