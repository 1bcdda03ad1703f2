/*
 * cells_shared.h - small cells that a remote store shares with other programs: changes go there first.
 *
 * The remote store has the truth, and the map of small cells a copy (remote_cell.h says why). The copy changes only if nobody else has
 * changed it since the remote store was read; otherwise the remote store is read again. No lock is held while the network is
 * waited for.
 *
 * A cell that only the copy has may have been written before there was a remote store, or deleted there by another program. To
 * tell them apart, the map has a second cell for each one that the remote store is known to have had: STO_SHARED_SEEN and the
 * key, with the length and the CRC-32C of the value. If the copy still has that value, another program has deleted the cell,
 * and it is deleted here too. Otherwise it stays, so that nothing is lost, and is written to the remote store when it is
 * changed here.
 *
 * What a fetch has read (sto_fetch.note) is older than what it is compared with when a cell is changed here at the same time. So
 * it is taken for the truth only if no change has run since before the fetch (sto_shared_stamp); otherwise the cell is
 * read again.
 *
 * Threads    any thread that may wait for the network; TS_EBUSY in others (ts_fs_set_nowait)
 */
#ifndef STORAGE_CELLS_SHARED_H
#define STORAGE_CELLS_SHARED_H

#include "storage/cells.h"
#include "storage/remote_cell.h"

#include <stdatomic.h>

#define STO_SHARED_WRITE_MS                                                                                  \
    5000 /* after this time a change fails that the remote store has not acknowledged */
#define STO_SHARED_READ_MS 2000 /* after this time a read is answered from the copy */

#define STO_SHARED_SEEN "remote/" /* keys of the second cells begin with it */

/* Changes of shared cells, counted. */
struct sto_shared_changes {
    _Atomic uint64_t n_begun, n_ended;
};
/* Where shared cells are. */
struct sto_shared_cells {
    struct sto_cellmap *map;   /* the copy */
    struct sto_remote *remote; /* NULL = nothing is shared */
    /* Appends the key that a cell has in the remote store (remote_cell.h). TS_ENOTFOUND: it is not shared. May be NULL:
     * nothing is shared */
    int (*key)(void *arg, struct ts_slice key, struct ts_buf *out);
    void *arg;                          /* argument of key */
    struct sto_shared_changes *changes; /* counters that all users of the map share */
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

/** A moment before a fetch, for sto_shared_seen and sto_shared_missing. */
uint64_t sto_shared_stamp(const struct sto_shared_cells *s);
/** A fetch that began after the stamp has found a cell: correct the copy. It becomes durable with a later change. Reads the
 * remote store only if cells were changed here at the same time. Errors as sto_shared_refresh and sto_cellmap_cas. */
int sto_shared_seen(const struct sto_shared_cells *s, struct ts_slice key, struct ts_slice value,
                    uint64_t stamp, struct ts_error *err);
/** A fetch that began after the stamp has not found a cell of the copy, although it has read its place: if the remote store had
 * it, delete it here. Otherwise as sto_shared_seen. */
int sto_shared_missing(const struct sto_shared_cells *s, struct ts_slice key, uint64_t stamp,
                       struct ts_error *err);

#endif
