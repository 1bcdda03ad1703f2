/*
 * delete.h - deletes the points that a query matched: a job passes the deletes to a worker's port and waits for the result.
 *
 *   job                              worker
 *   series with points > call ----> DEL operations into its open batches > barrier
 *   waits <------------------------- durable, or why not
 *
 * Threads    tsd_delete_run: a job's
 */
#ifndef TSD_PROTOCOLS_HTTP_DELETE_H
#define TSD_PROTOCOLS_HTTP_DELETE_H

#include "tsd/protocols/http/job.h"
#include "tsd/format/deleted.h"

/** Delete what a query matches between its start and end, both inclusive; durable as a put is when 0 is returned.
 *  Series that have nothing there are not touched.
 *  @param d  prepared; gets what was found. dry: nothing is deleted
 *  @return 0; errors of selecting and reading (nothing is deleted), TS_ECANCELLED before the first delete,
 *          TS_EBUSY, TS_ENOSPC, TS_EIO: some series may be deleted and others not, the text says so
 *  Blocks. */
int tsd_delete_run(struct tsd_job *job, struct tsd_deleted *d, struct ts_error *err);

#endif
