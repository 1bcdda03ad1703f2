/*
 * series.h - the table of series: number -> series, ids -> series.
 *
 * Threads    sto_seriestab__get and end: any thread, no lock. The rest: the catalog's lock.
 * Invariant  a series is never changed; it is freed only after it was removed and no reader holds it any more
 *            (forget.h)
 * Not here   the public functions sto_series_* (catalog.h); sets of series (tagindex.h)
 */
#ifndef STORAGE_CATALOG_SERIES_H
#define STORAGE_CATALOG_SERIES_H

#include "base/mem.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/dense.h"
#include "storage/catalog/idruns.h"
#include "storage/catalog/idtab.h"
#include "storage/catalog/slab.h"

#define STO_SERIES_MAX_TAGS 255u
#define STO_SERIES_ORDERED                                                                                   \
    1u /* in sto_series.reserved: the text is not in the order of tags[]; n_tags bytes after it give its order */

/* Dense numbers of a shard's series. */
struct sto_series_locals {
    uint32_t n;             /* numbers in use or free */
    uint32_t n_free, cap;   /* free numbers among them; capacity of free_numbers */
    uint32_t *free_numbers; /* owned */
};

struct sto_seriestab {
    struct sto_dense by_id;  /* number -> struct sto_series */
    struct sto_idtab by_ids; /* hash of metric and tags -> number */
    struct sto_slab slab;    /* of series and their texts */
    _Atomic uint32_t end;    /* highest number + 1; store(release) after the series - load(acquire) */
    uint32_t n;              /* number of series */
    /* owned; numbers of those that do not count against max_series (sto_series_resolve_own); NULL = none */
    roaring_bitmap_t *own;
    uint32_t n_shards;                /* power of two */
    struct sto_series_locals *locals; /* owned; dense numbers within each shard */
    uint32_t *gone;                   /* owned; numbers removed since the last trim */
    size_t n_gone, cap_gone;          /* used, capacity */
    struct sto_idruns pending;        /* numbers not in the log yet */
};

/* What a series is made from. Tags and texts are in the order of the future text. */
struct sto_series_draft {
    uint32_t id, metric;              /* number, id of the metric */
    const struct sto_tag *tags;       /* ids */
    size_t n_tags;                    /* 1..STO_SERIES_MAX_TAGS */
    struct ts_slice metric_name;      /* text of the metric */
    const struct sto_tag_text *texts; /* texts of the tags */
};

/** Hash of the ids; tags sorted by key id. The shard is its lower bits: docs/FORMAT.md "Catalog". */
uint64_t sto_seriestab__hash(uint32_t metric, const struct sto_tag *tags, size_t n_tags);
/** Series of these ids (sorted), NULL if there is none. */
const struct sto_series *sto_seriestab__find(const struct sto_seriestab *t, uint64_t hash, uint32_t metric,
                                             const struct sto_tag *tags, size_t n_tags);
/** Same metric and tags (sorted)? */
bool sto_seriestab__same(const struct sto_series *s, uint32_t metric, const struct sto_tag *tags,
                         size_t n_tags);
/** Make a series in the memory of the table, without publishing it. */
struct sto_series *sto_seriestab__make(struct sto_seriestab *t, const struct sto_series_draft *draft);
/** Publish a series whose number and ids are new. */
void sto_seriestab__put(struct sto_seriestab *t, struct sto_series *s, uint64_t hash);
/** Remove a series, so that it is not found any more. Pointers to it stay valid until sto_seriestab__free. */
void sto_seriestab__take_out(struct sto_seriestab *t, const struct sto_series *s);
/** Free a removed series that no reader holds; its memory and its number within its shard are reused. */
void sto_seriestab__free(struct sto_seriestab *t, const struct sto_series *s);
/** Number of series that count against max_series. */
uint64_t sto_seriestab__counted(const struct sto_seriestab *t);
/** Return pages of the table whose series were all removed to the system. */
void sto_seriestab__trim(struct sto_seriestab *t);
/** Series by number, NULL if there is none. Any thread. */
static inline const struct sto_series *sto_seriestab__get(const struct sto_seriestab *t, uint32_t id)
{
    return sto_dense__get(&t->by_id, id);
}
/** Place in tags[] of the i-th tag of the text. */
static inline unsigned sto_seriestab__text_tag(const struct sto_series *s, unsigned i)
{
    return s->reserved & STO_SERIES_ORDERED ? (uint8_t)sto_series_text(s).p[s->text_len + i] : i;
}
/** Sort tags by key id. */
void sto_seriestab__sort(struct sto_tag *tags, size_t n_tags);
/** Initialise an empty table. */
void sto_seriestab__init(struct sto_seriestab *t, uint32_t n_shards);
/** Release the table and all series, which no reader may hold any more. */
void sto_seriestab__release(struct sto_seriestab *t);

#endif
