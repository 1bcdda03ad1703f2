/*
 * once_engine.h - ids of clients in an engine: from the manifest to the tables, and what the next flush makes durable.
 *
 * Threads    each function says whose
 * Not here   the tables (once.h), parts of a batch (parts.h)
 */
#ifndef STORAGE_ENGINE_ONCE_ENGINE_H
#define STORAGE_ENGINE_ONCE_ENGINE_H

#include "storage/engine/once_all.h"

struct sto_engine;
struct sto_owner;
struct sto_set_gen;
struct sto_parts_counts;

/** Read from the manifest which additions with ids are in files. Opening, before sto_recover__wal. 0, TS_ENOMEM, TS_ECORRUPT. */
int sto_once__open(struct sto_engine *e, struct ts_error *err);
/** Limits of the tables of a store with so many shards. */
struct sto_once_limits sto_once__limits(struct sto_engine *e, uint32_t n_shards);
/** After replay: keep what the first flush makes durable if nothing is added before it. */
void sto_once__replayed(struct sto_engine *e);
/** What time is it for the ids of an owner's shards? The owner. */
struct sto_once_time sto_once__now(struct sto_owner *o);
/** A generation ends: encode the tables of an owner's shards. The owner. */
void sto_once__encode(struct sto_owner *o, struct ts_buf *out);
/** Keep the tables that all owners have encoded, in place of those of an older generation. flush_mu held. */
void sto_once__take(struct sto_engine *e, struct sto_set_gen *msgs);
/** Count what became of parts. Any thread. */
void sto_once__count(struct sto_engine *e, const struct sto_parts_counts *counts);
/** The figures for sto_engine_stats. Any thread. */
void sto_once__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg);

#endif
