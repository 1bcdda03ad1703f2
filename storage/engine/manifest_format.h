/*
 * manifest_format.h - fields of records of the manifest: numbers, descriptions of sorted files, lists of hours.
 *
 * Format     docs/FORMAT.md "Manifest"
 * Threads    pure functions
 * Not here   records (manifest.c), the record of an unfinished merge (unfinished.c)
 */
#ifndef STORAGE_ENGINE_MANIFEST_FORMAT_H
#define STORAGE_ENGINE_MANIFEST_FORMAT_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/engine/complete.h"
#include "storage/engine/files/sst.h"
#include "storage/engine/mark_history.h"

/** Append a varint. b->failed is set if it does not fit. */
void sto_manifest__put_u64(struct ts_buf *b, uint64_t v);
/** Append the number of files and their descriptions, as in version 2 of the manifest. */
void sto_manifest__put_files(struct ts_buf *b, const struct sto_sst_info *files, size_t n);

/* Reads varints. A varint that is incomplete or too large sets bad; it and all later ones are returned as 0. */
struct sto_manifest__reader {
    const uint8_t *p, *end;
    bool bad;
};
/** Read a varint of at most max. */
uint64_t sto_manifest__get_u64(struct sto_manifest__reader *r, uint64_t max);
/** Read a count of items that take at least min_bytes each. bad is set if the bytes left can't hold so many. */
size_t sto_manifest__get_count(struct sto_manifest__reader *r, size_t min_bytes);
/** Read descriptions of files, as in that version of the manifest, into a new array (ts_free it). 0, also if r is bad; TS_ENOMEM;
 *  TS_EVERSION: a file is of a family that this program does not know. */
int sto_manifest__get_files(struct sto_manifest__reader *r, uint64_t version, struct sto_sst_info **out,
                            size_t *out_n, struct ts_error *err);

/* Types of extensions of a record: what is known of shipping, and ids of clients. */
enum sto_manifest__list {
    STO_MANIFEST__MARKS = 1, /* ship marks */
    STO_MANIFEST__SENT = 2,  /* hours of which something was sent */
    STO_MANIFEST__AGAIN = 3, /* hours that are to be sent again */
    STO_MANIFEST__LISTS,
    STO_MANIFEST__PAST = STO_MANIFEST__LISTS, /* marks of earlier times */
    STO_MANIFEST__ONCE,                       /* ids of clients */
    STO_MANIFEST__COMPLETE                    /* from when on the remote store has nothing more */
};
/* Extensions by type; NULL = the record does not have it. */
struct sto_manifest__lists {
    const struct sto_mark_list *list[STO_MANIFEST__LISTS];
    const struct sto_mark_history *past;
    struct ts_slice once; /* n 0 = the record does not have it */
    const struct sto_complete *complete;
};
/** Append the number of lists and the lists. */
void sto_manifest__put_lists(struct ts_buf *b, const struct sto_manifest__lists *lists);
/** Read extensions into new arrays of got and past, which the caller frees, also after an error, and into *complete; *out refers to those
 *  that the record has, and out->once to its bytes.
 *  0, also if r is bad; TS_ENOMEM; TS_EVERSION: an extension is of an unknown type. */
int sto_manifest__get_lists(struct sto_manifest__reader *r, struct sto_mark_list got[STO_MANIFEST__LISTS],
                            struct sto_mark_history *past, struct sto_complete *complete,
                            struct sto_manifest__lists *out, struct ts_error *err);

#endif
