/*
 * check.c - finds and repairs faults of the tables.
 */
#include "storage/hbase/remote/remote_int.h"

int sto_hbase__check(struct sto_remote *r, bool repair, const struct sto_remote_call *call,
                     void (*found)(void *arg, const char *text), void *arg, struct ts_error *err)
{
    (void)r, (void)repair, (void)call, (void)found, (void)arg;
    return ts_error_set(err, TS_ENOTFOUND, "not implemented yet");
}
