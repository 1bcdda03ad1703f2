/*
 * delete.h - deleting what a query matched: from a job to a worker's port and back.
 *
 *   job                              worker
 *   series with points > call ----> DEL operations into its open batches > barrier
 *   waits <------------------------- durable, or why not
 *
 * Threads    tsd_delete_run: a job's
 */
#ifndef TSD_HTTP_DELETE_H
#define TSD_HTTP_DELETE_H

#include "tsd/http/job.h"

/** Delete the points of all series of a query between its start and end, both inclusive; durable as a put is when
 *  0 is returned. Series that have no points there are not touched.
 *  @param out_points  [out] points that were there
 *  @return 0; errors of selecting and reading (nothing is deleted), TS_ECANCELLED before the first delete,
 *          TS_EBUSY, TS_ENOSPC, TS_ENOMEM, TS_EIO: some series may be deleted and others not, the text says so
 *  Blocks. */
int tsd_delete_run(struct tsd_job *job, const struct qry_spec *spec, uint64_t *out_points,
                   struct ts_error *err);

#endif
