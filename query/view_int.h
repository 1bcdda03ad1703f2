/*
 * view_int.h - how a view takes names and series that the catalog lacks. Internal to view*.c.
 */
#ifndef QUERY_VIEW_INT_H
#define QUERY_VIEW_INT_H

#include "query/view.h"

/** The id of a name, which is copied into the view if neither it nor the catalog has it. TS_ELIMIT, TS_ENOMEM. */
int qry_view__intern(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                     struct ts_error *err);
/** The series of these names, all of which the view knows; it is made if neither the view nor the catalog has it.
 * tags: as struct sto_remote_series. TS_ELIMIT, TS_ENOMEM. */
int qry_view__series(struct qry_view *view, const struct sto_remote_series *names,
                     const struct sto_series **out, struct ts_error *err);

/** May this thread wait for the network? 0; TS_EBUSY. */
int qry_view__may_wait(struct ts_error *err);

#endif
