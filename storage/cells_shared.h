/*
 * cells_shared.h - small cells that a remote store shares with other programs: changes go there first.
 *
 * The remote store has the truth, and the map of small cells a copy (remote_cell.h says why). The copy changes only if nobody else has
 * changed it since the remote store was read; otherwise the remote store is read again. No lock is held while the network is
 * waited for.
 *
 * A cell that only the copy has may have been written before there was a remote store, or deleted there by another program. It
 * stays, so that nothing is lost, and is written to the remote store when it is changed here.
 *
 * Threads    any thread that may wait for the network; TS_EBUSY in others (ts_fs_set_nowait)
 */
#ifndef STORAGE_CELLS_SHARED_H
#define STORAGE_CELLS_SHARED_H

#include "storage/cells.h"
#include "storage/remote_cell.h"

#define STO_SHARED_WRITE_MS                                                                                  \
    5000 /* after this time a change fails that the remote store has not acknowledged */
#define STO_SHARED_READ_MS 2000 /* after this time a read is answered from the copy */

/* Where shared cells are. */
struct sto_shared_cells {
    struct sto_cellmap *map;   /* the copy */
    struct sto_remote *remote; /* NULL = nothing is shared */
    /* Appends the key that a cell has in the remote store (remote_cell.h). TS_ENOTFOUND: it is not shared. May be NULL:
     * nothing is shared */
    int (*key)(void *arg, struct ts_slice key, struct ts_buf *out);
    void *arg; /* argument of key */
};

/** As sto_cellmap_put. For a shared cell also TS_EBACKEND: the remote store has not acknowledged the change, which is not
 * visible here; it may have been made there. */
int sto_shared_put(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice value, bool later,
                   struct ts_error *err);
/** As sto_cellmap_cas; TS_EBACKEND as above. After TS_EEXIST the copy has the value that the remote store has. */
int sto_shared_cas(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice expected,
                   struct ts_slice value, bool later, struct ts_error *err);
/**
 * Read a shared cell from the remote store and correct the copy.
 *
 * @param must  wait as long as for a change, and report an error; otherwise only for STO_SHARED_READ_MS
 * @return 0, also for a cell that is not shared; TS_EBACKEND: the copy stays as it was
 */
int sto_shared_refresh(const struct sto_shared_cells *s, struct ts_slice key, bool must,
                       struct ts_error *err);

#endif
