/*
 * versioned.h - metrics that keep versions: the last values that were written to each time, and when.
 *
 *   stats.users, 5 versions     each put writes the point as always, and a version of it (versions.h)
 *
 * A metric is declared with the number of versions that its times keep. From that moment on versions are written, so that what a query
 * answered at any later moment can be answered again. Declarations are small cells, so they are durable and are copied as those are.
 *
 *   \1 v w7 \1 stats.users     the internal metric with the versions of declaration 7; tags as the visible series
 *   \1 v d7 \1 stats.users     its deletes: time = when, ms; two versions of it, whose values are the first and the last ms deleted
 *
 * Each declaration has a number of its own, so that versions of an earlier one are never taken for those of a later one.
 *
 * Threads    any
 * Not here   the cells of a row (versions.h), writing versions (tsd/ingest/versions.h), reading them (query/execution/as_of.h)
 */
#ifndef STORAGE_VERSIONED_H
#define STORAGE_VERSIONED_H

#include "base/buf.h"
#include "storage/versions.h"

struct sto_store;

#define STO_VERSIONED_MAX 1024 /* declared metrics */

/* A declaration. */
struct sto_versioned {
    struct ts_slice metric; /* its name; borrowed */
    unsigned n;             /* versions of a time that are kept, 1 to STO_VERSIONS_MAX; 0 = it keeps none */
    uint32_t no;            /* number of the declaration; 0 = none */
    int64_t since_us;       /* when it was made, us since 1970 */
    int64_t last_ms; /* time of the newest point that the store had then, or the moment if that is later */
    uint32_t series_end; /* number from which on series did not exist then: all their writes have versions */
};
typedef void (*sto_versioned_fn)(void *arg, const struct sto_versioned *v);

/**
 * Declare how many versions a metric keeps. With another number the versions that are there stay, and times that are written to keep as many
 * as the new number says.
 *
 * @param metric  name; it need not exist yet. Rollups and histograms keep no versions
 * @param n       1 to STO_VERSIONS_MAX; 0: no longer, its versions are not found any more and expire as its points do
 * @return 0; TS_EINVAL: the name cannot be one, n is out of range, or the store is read-only or has a remote one; TS_ENOTFOUND: n is 0 and it keeps none;
 *         TS_ELIMIT: STO_VERSIONED_MAX are declared; errors of sto_cell_put
 */
int sto_versioned_set(struct sto_store *st, struct ts_slice metric, unsigned n, struct ts_error *err);
/** Let a declaration follow a metric that was renamed. A metric that takes a declared name is declared anew, since its points are older. 0, also if there is none; errors of sto_cell_put. */
int sto_versioned_rename(struct sto_store *st, struct ts_slice from, struct ts_slice to,
                         struct ts_error *err);
/** Does the metric of a series keep versions? Then err says that, and `so`: why an operation is refused. TS_EINVAL; 0. */
int sto_versioned_refuse(struct sto_store *st, const struct sto_series *series, const char *so,
                         struct ts_error *err);
/** The declaration of a metric; out->n is 0 if it keeps no versions. O(log cells). */
void sto_versioned_find(struct sto_store *st, struct ts_slice metric, struct sto_versioned *out);
/** Call each for the declared metrics, in the order of their names. */
void sto_versioned_each(struct sto_store *st, sto_versioned_fn each, void *arg);
/** A number that is another one after each change of the declarations; 0: there never was one in this run or before. O(1). */
uint64_t sto_versioned_epoch(const struct sto_store *st);
/** Read the epoch when a store is opened, once its small cells are. */
void sto_versioned__open(struct sto_store *st);

struct sto_snap;
/** Deletes of a series that were made before this time, ms, may not be remembered any more: they expire as points of their time do, while a point
 * that was written ahead of its time may outlive its delete. O(1) after the first call for a series. */
int64_t sto_versioned_deletes_from_ms(const struct sto_snap *snap, const struct sto_series *series);

enum sto_versioned_what { STO_VERSIONED_WRITES = 'w', STO_VERSIONED_DELETES = 'd' };
/** Append the name of an internal metric of a declaration. */
void sto_versioned_name(const struct sto_versioned *v, enum sto_versioned_what what, struct ts_buf *out);

#endif
