/*
 * remote_cell.h - the small cells that a remote store can hold: annotations, metadata of names and series, trees.
 *
 * The keys of small cells have numbers of the catalog in them, which mean nothing elsewhere. So a cell that is shared with a remote
 * store has a second key there, made of names:
 *
 *   key         "a" series start u64      annotation; a global one has no series
 *               "n" kind u8 name          metadata of a name, enum sto_remote_kind
 *               "s" series                metadata of a series
 *               "t" id u16                definition and rules of a tree, whose id is the same everywhere
 *   series      bytes(metric) varint(tags) { bytes(tag key) bytes(tag value) }; bytes = varint length and the bytes; a global
 *               annotation has bytes("") alone
 *   value       a record as docs/FORMAT.md describes it: STO_REMOTE_RECORD and a JSON object; a missing member has its default
 *
 * Other small cells (settings, numbers of the daemon) are not shared.
 *
 * Who has what, with a remote store that holds small cells (cell_cas of storage/remote.h):
 *
 *   the remote store  has the truth. A change is sent there first by compare-and-set; if it is not acknowledged, the change fails and
 *                     nothing is changed here
 *   the store         has a copy, which answers the frequent reads (annotations of the series of a query, searches, kinds of metrics)
 *                     without the network. It follows its own writes, and reads the cell anew when a client asks for it by
 *                     its key (sto_cell_refresh), and when a compare-and-set finds another value
 *
 * Format     docs/FORMAT.md "Keys of cells"
 * Threads    pure functions
 */
#ifndef STORAGE_REMOTE_CELL_H
#define STORAGE_REMOTE_CELL_H

#include "storage/remote.h"

#define STO_REMOTE_RECORD        '1' /* first byte of a value */
#define STO_REMOTE_CELL_MAX_TAGS 255

enum sto_remote_cell_kind {
    STO_REMOTE_ANNOTATION,
    STO_REMOTE_NAME_META,
    STO_REMOTE_SERIES_META,
    STO_REMOTE_TREE
};

/* What a key says. */
struct sto_remote_cell {
    enum sto_remote_cell_kind kind;
    struct sto_remote_series series; /* ANNOTATION: without a metric = a global one; SERIES_META */
    int64_t start_ms;                /* ANNOTATION: not negative */
    enum sto_remote_kind name_kind;  /* NAME_META */
    struct ts_slice name;            /* NAME_META */
    uint16_t tree;                   /* TREE: its id, not 0 */
};

/** Append the key of a cell. 0; errors of ts_buf_append. */
int sto_remote_cell_key(const struct sto_remote_cell *cell, struct ts_buf *out);
/**
 * Parse a key.
 *
 * @param tags  [out] STO_REMOTE_CELL_MAX_TAGS items; out->series.tags points to it
 * @param out   [out] its texts are borrowed from key
 * @return 0; TS_EPARSE: it is no valid key (err has no text)
 */
int sto_remote_cell_parse(struct ts_slice key, struct sto_remote_tag *tags, struct sto_remote_cell *out);

#endif
