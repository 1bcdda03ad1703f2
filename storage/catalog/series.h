/*
 * series.h - the table of series: number -> series, ids -> series.
 *
 * Threads    sto_seriestab__get and end: any thread, no lock. The rest: the catalog's lock.
 * Invariant  a series is never changed; it is freed only after it was taken out and nobody looks at it any more (forget.h)
 * Not here   the doors sto_series_* are declared in catalog.h; sets of series (tagindex.h)
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
    1u /* in sto_series.reserved: text is not in the order of tags[]; n_tags bytes behind text tell it */

/* Dense numbers of a shard's series. */
struct sto_series_locals {
    uint32_t n;             /* given out at most at once */
    uint32_t n_free, cap;   /* of them: free ones; room for these */
    uint32_t *free_numbers; /* owned */
};

struct sto_seriestab {
    struct sto_dense by_id;  /* number -> struct sto_series */
    struct sto_idtab by_ids; /* hash of metric and tags -> number */
    struct sto_slab slab;    /* of series and their texts */
    _Atomic uint32_t end;    /* highest number + 1; store(release) after the series - load(acquire) */
    uint32_t n;              /* series there are */
    uint32_t n_shards;       /* power of two */
    struct sto_series_locals *locals; /* owned; dense numbers within each shard */
    uint32_t *gone;                   /* owned; numbers taken out since the last trim */
    size_t n_gone, cap_gone;          /* used, room */
    struct sto_idruns pending;        /* numbers not handed to the log yet */
};

/* What a series is made from. Tags and texts are in the order of the text to be. */
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
/** Make a series in the table's memory; not published yet. */
struct sto_series *sto_seriestab__make(struct sto_seriestab *t, const struct sto_series_draft *draft);
/** Publish it; number and ids are new. */
void sto_seriestab__put(struct sto_seriestab *t, struct sto_series *s, uint64_t hash);
/** Take a series out: nobody finds it any more. It is still there for whoever has it, until sto_seriestab__free. */
void sto_seriestab__take_out(struct sto_seriestab *t, const struct sto_series *s);
/** A series that was taken out and that nobody looks at: its memory, and its number within its shard, are used again. */
void sto_seriestab__free(struct sto_seriestab *t, const struct sto_series *s);
/** Pages of the table in which all numbers are gone go back to the system. */
void sto_seriestab__trim(struct sto_seriestab *t);
/** Series by number, NULL if there is none. Any thread. */
static inline const struct sto_series *sto_seriestab__get(const struct sto_seriestab *t, uint32_t id)
{
    return sto_dense__get(&t->by_id, id);
}
/** Place in tags[] of the i-th tag of the text. */
static inline unsigned sto_seriestab__text_tag(const struct sto_series *s, unsigned i)
{
    return s->reserved & STO_SERIES_ORDERED ? (uint8_t)s->text[s->text_len + i] : i;
}
/** Sort tags by key id. */
void sto_seriestab__sort(struct sto_tag *tags, size_t n_tags);
/** Empty table. */
void sto_seriestab__init(struct sto_seriestab *t, uint32_t n_shards);
/** Memory away, series too; nobody may hold one any more. */
void sto_seriestab__release(struct sto_seriestab *t);

#endif
