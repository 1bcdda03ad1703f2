/*
 * memory_rows.h - the contents of a remote store in memory: names, series, rows.
 *
 * Threads    the caller's lock
 * Cost       lookups of names and series are linear, which suffices for tests
 */
#ifndef STORAGE_REMOTE_MEMORY_ROWS_H
#define STORAGE_REMOTE_MEMORY_ROWS_H

#include "storage/remote.h"

/* A name; its id is its index + 1. */
struct sto_memory_name {
    enum sto_remote_kind kind;
    char *text; /* owned; n bytes */
    size_t n;
};
/* Points of an hour. */
struct sto_memory_row {
    int32_t hour;
    struct sto_cells cells; /* owned; n may be 0 after deletes */
    struct sto_cells ever;  /* owned; offsets that were ever sent, deleted or not */
};
/* A series by the ids of its names. */
struct sto_memory_series {
    uint64_t metric;
    uint64_t *tags; /* owned: 2 * n_tags ids, key and value alternately, in the order of the first shipment */
    size_t n_tags;
    struct sto_memory_row *rows; /* ascending by hour; part of an owned block of cap_rows rows */
    size_t n_rows, cap_rows;     /* used, capacity */
    size_t n_before;             /* free rows of the block before rows */
};
struct sto_memory_rows {
    struct sto_memory_name *names;    /* owned */
    size_t n_names, cap_names;        /* used, capacity */
    struct sto_memory_series *series; /* owned */
    size_t n_series, cap_series;      /* used, capacity */
};

/** Points of all rows. */
size_t sto_memory_rows_points(const struct sto_memory_rows *m);
/** Free everything; empty afterwards. */
void sto_memory_rows_release(struct sto_memory_rows *m);
/** The id of a name; 0 = it has none. make: create an id if it has none. */
uint64_t sto_memory_name_id(struct sto_memory_rows *m, enum sto_remote_kind kind, struct ts_slice name,
                            bool make);
/** The name of an id; {NULL, 0} if there is none of that kind. Borrowed until it is renamed. */
struct ts_slice sto_memory_name_text(const struct sto_memory_rows *m, enum sto_remote_kind kind, uint64_t id);
/** The series with these names; NULL if there is none. make: create it if it is missing. Borrowed until the
 * next series is created. */
struct sto_memory_series *sto_memory_series_find(struct sto_memory_rows *m, const struct sto_remote_series *s,
                                                 bool make);
/** The row of an hour. make: create it if it is missing. Borrowed until the next row is created. */
struct sto_memory_row *sto_memory_row_find(struct sto_memory_series *s, int32_t hour, bool make);
/** Put the cells into the row, replacing those of the same times. */
void sto_memory_row_put(struct sto_memory_row *row, const struct sto_cells *cells);
/** Note that these offsets were sent. False: the row claims to be fresh, and one of them was sent before. */
bool sto_memory_row_note(struct sto_memory_row *row, const struct sto_remote_row *sent);
/** Delete the points within from_ms <= t <= to_ms of the row. */
void sto_memory_row_delete(struct sto_memory_row *row, int64_t from_ms, int64_t to_ms);
/** Append the points within from_ms <= t <= to_ms to out, which is emptied first. */
void sto_memory_row_read(const struct sto_memory_row *row, int64_t from_ms, int64_t to_ms,
                         struct sto_cells *out);

#endif
