/*
 * uid.h - the names of one kind and their ids.
 *
 * Threads    sto_uidtab__name and max_id: any thread, no lock. The rest: the catalog's lock.
 * Invariant  bytes of a name are never changed: a rename publishes new ones. They are freed only after the name
 *            was removed and no reader holds them any more (forget.h)
 * Not here   the public functions sto_uid_* (catalog.h), suggestions (suggest.h); the log (catalog_log.h)
 */
#ifndef STORAGE_CATALOG_UID_H
#define STORAGE_CATALOG_UID_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "storage/catalog/dense.h"
#include "storage/catalog/idruns.h"
#include "storage/catalog/idtab.h"
#include "storage/catalog/slab.h"
#include "storage/catalog/suggest.h"

#include <roaring/roaring.h>

#define STO_UID_MAX_NAME_BYTES 65535u            /* lengths are kept in 16 bits */
#define STO_UID_MAX_ID         (STO_FOREIGN - 1) /* highest id that may be used */

struct sto_uidtab {
    struct sto_dense names;     /* id -> length u16 and bytes */
    struct sto_idtab by_name;   /* hash of name -> id */
    struct sto_slab slab;       /* of names */
    _Atomic uint32_t max_id;    /* highest id ever used; store(release) after the name - load(acquire) */
    uint32_t n_names;           /* ids that have a name */
    struct sto_idruns pending;  /* ids not in the log yet */
    roaring_bitmap_t *assigned; /* owned; ids that people have assigned; NULL = none */
    struct sto_idruns assigned_pending; /* those of them that are not in the log as assigned yet */
    struct sto_suggest suggest;         /* sorted names; has a lock of its own */
    _Atomic uint64_t n_changes; /* names replaced, or given to an id below max_id: the sorted index is void */
};

/** Hash for the functions below. */
uint32_t sto_uidtab__hash(struct ts_slice name);
/** Id of a name, 0 if there is none. */
uint32_t sto_uidtab__find(const struct sto_uidtab *t, struct ts_slice name, uint32_t hash);
/** Copy of a name's bytes in the table's memory, for sto_uidtab__put. */
const void *sto_uidtab__intern(struct sto_uidtab *t, struct ts_slice name);
/** Publish the interned name of a new id; neither is in the table. */
void sto_uidtab__put(struct sto_uidtab *t, uint32_t id, const void *interned, uint32_t hash);
/** Publish another name for a known id. An id whose name is deleted counts as assigned no longer; one that a person gives a name
 *  back counts as assigned. */
void sto_uidtab__rename(struct sto_uidtab *t, uint32_t id, struct ts_slice name);
/** Remove the name of an id, so that neither is found. Returns the bytes of the name, which stay valid until
 * sto_uidtab__free; NULL if the id has no name. */
const void *sto_uidtab__take_out(struct sto_uidtab *t, uint32_t id);
/** Free the bytes of a removed name that no reader holds; the next names use them again. */
void sto_uidtab__free(struct sto_uidtab *t, const void *interned);
/** Never use this id or one below it for a new name. */
void sto_uidtab__raise(struct sto_uidtab *t, uint32_t id);
/** Note that a person has assigned an id; false if that was known. */
bool sto_uidtab__assign(struct sto_uidtab *t, uint32_t id);
/** Slice of what intern made. */
static inline struct ts_slice sto_uidtab__slice(const void *interned)
{
    return interned ? (struct ts_slice){(const char *)interned + 2, ts_ld16(interned)}
                    : (struct ts_slice){NULL, 0};
}
/** Name of an id, {NULL, 0} if there is none. Any thread. */
static inline struct ts_slice sto_uidtab__name(const struct sto_uidtab *t, uint32_t id)
{
    return sto_uidtab__slice(sto_dense__get(&t->names, id));
}
/** Initialise an empty table. */
void sto_uidtab__init(struct sto_uidtab *t);
/** Release; no reader may be left. */
void sto_uidtab__release(struct sto_uidtab *t);

#endif
