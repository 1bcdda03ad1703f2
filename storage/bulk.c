/*
 * bulk.c - the store's side of bulk loads.
 *
 * Threads    see bulk.h
 * Not here   staging folders (staging.c), handing over (engine/handover.c), the importer's side (engine/bulk/)
 */
#include "storage/bulk.h"

#include "storage/readonly.h"
#include "storage/store_int.h"

static int may_write(const struct sto_store *st, struct ts_error *err)
{
    return st->opts.read_only ? sto_read_only_refuse(&st->read_only_why, err) : 0;
}

int sto_bulk_begin(struct sto_store *st, struct ts_slice id, struct sto_bulk_place *out, struct ts_error *err)
{
    *out = (struct sto_bulk_place){0};
    TS_TRY(may_write(st, err));
    return sto_staging_begin(&st->staging, id, out, err);
}

int sto_bulk_hand_over(struct sto_store *st, struct ts_slice id, const struct sto_bulk_sum *expect,
                       struct sto_bulk_sum *out, struct ts_error *err)
{
    *out = (struct sto_bulk_sum){0};
    TS_TRY(may_write(st, err));
    return sto_staging_hand_over(&st->staging, id, expect, NULL, out, err);
}

int sto_bulk_replace(struct sto_store *st, struct ts_slice id, const struct sto_bulk_sum *expect,
                     const struct sto_bulk_replace *what, struct sto_bulk_sum *out, struct ts_error *err)
{
    *out = (struct sto_bulk_sum){0};
    TS_TRY(may_write(st, err));
    return sto_staging_hand_over(&st->staging, id, expect, what, out, err);
}

int sto_bulk_touch(struct sto_store *st, struct ts_slice id, struct ts_error *err)
{
    TS_TRY(may_write(st, err));
    return sto_staging_touch(&st->staging, id, err);
}

int sto_bulk_list(struct sto_store *st, struct sto_bulk_load out[STO_BULK_MAX], size_t *out_n,
                  struct ts_error *err)
{
    return sto_staging_list(&st->staging, out, out_n, err);
}

int sto_bulk_end(struct sto_store *st, struct ts_slice id, struct sto_bulk_ended *out, struct ts_error *err)
{
    *out = (struct sto_bulk_ended){0};
    TS_TRY(may_write(st, err));
    return sto_staging_end(&st->staging, id, out, err);
}
