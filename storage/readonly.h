/*
 * readonly.h - the error with which a store that is open for reading only refuses a change.
 *
 * Such a store was either opened that way by its caller, or it could not be opened for writing, for example because
 * syncs find the disk full. Points, names, series, small cells and flushes are refused with the same code and text, so
 * that a client learns the cause whatever it tries to write first.
 */
#ifndef STORAGE_READONLY_H
#define STORAGE_READONLY_H

#include "base/err.h"

/** The error of a refused change. why: the error that keeps the store from being opened for writing; NULL or code 0
 * means that the caller wanted it for reading, which is TS_EINVAL. Returns why, or static storage. */
const struct ts_error *sto_read_only_error(const struct ts_error *why);
/** Copy the error of a refused change to err, which may be NULL; returns its code. */
int sto_read_only_refuse(const struct ts_error *why, struct ts_error *err);

#endif
