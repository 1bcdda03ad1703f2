/*
 * keep.c - annotations and metadata of a series.
 *
 * Threads    see keep.h
 * Not here   what they say (annotation.h, tsmeta.h)
 */
#include "tsd/meta/keep.h"

#include "query/query.h"
#include "query/execution/select.h"
#include "tsd/meta/annotation.h"
#include "tsd/meta/tsmeta.h"

static bool found(void *arg, const struct tsd_record *note)
{
    (void)note;
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
        tsd_notes_each(st, ts_buf_get(&tsuid), 0, INT64_MAX, found, &keeps);
    ts_buf_release(&tsuid);
    return keeps;
}

int tsd_meta_mentioned(struct sto_store *st, struct ts_slice tsuid)
{
    const struct sto_series *s;
    return qry_select_tsuid(sto_store_catalog(st), tsuid, &s, NULL); /* who asks for a series makes it stay */
}
