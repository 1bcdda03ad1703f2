/*
 * readonly.c - the error with which a store that is open for reading only refuses a change.
 */
#include "storage/readonly.h"

static const struct ts_error wanted = {.code = TS_EINVAL, .text = "the store is opened for reading only"};

const struct ts_error *sto_read_only_error(const struct ts_error *why)
{
    return why && why->code ? why : &wanted;
}

int sto_read_only_refuse(const struct ts_error *why, struct ts_error *err)
{
    const struct ts_error *refusal = sto_read_only_error(why);
    if (err)
        *err = *refusal;
    return refusal->code;
}
