/*
 * store_remote.c - the public API of what concerns the remote store behind a store.
 */
#include "storage/store_int.h"

#include "storage/engine/engine.h"

int sto_set_sole_writer(struct sto_store *st, bool on, struct ts_error *err)
{
    return sto_engine_set_sole_writer(st->engine, on, err);
}

int64_t sto_complete_from(const struct sto_store *st)
{
    return sto_engine_complete_from(st->engine);
}

int sto_ship(struct sto_store *st, struct ts_error *err)
{
    return sto_engine_ship(st->engine, err);
}

int sto_reship(struct sto_store *st, int32_t from_hour, int32_t to_hour, struct ts_error *err)
{
    return sto_engine_reship(st->engine, from_hour, to_hour, err);
}

size_t sto_refused_rows(struct sto_store *st, struct sto_refused_row *out, size_t max)
{
    return sto_engine_refused(st->engine, out, max);
}

uint64_t sto_ship_failing(struct sto_store *st, struct ts_error *out)
{
    return sto_engine_ship_failing(st->engine, out);
}

int sto_drop_shipped(struct sto_store *st, int64_t before_ms, struct ts_error *err)
{
    return sto_engine_drop_shipped(st->engine, before_ms, err);
}
