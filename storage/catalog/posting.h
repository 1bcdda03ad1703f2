/*
 * posting.h - one set of series numbers in 8 bytes: nothing, one number, a short sorted array, or a roaring
 * bitmap.
 *
 * A million tag values with one series each do not cost a bitmap each: a single number is stored in the word
 * itself.
 *
 *   word   0 empty | number << 2 | 1 | pointer to array + 2 | pointer to bitmap + 3
 *   array  n u32 · capacity u32 · numbers, ascending
 *
 * Threads    plain data: the catalog's lock
 */
#ifndef STORAGE_CATALOG_POSTING_H
#define STORAGE_CATALOG_POSTING_H

#include "base/mem.h"

#include <roaring/roaring.h>

#define STO_POSTING_CLASSES   3  /* arrays of 16, 32 and 64 bytes */
#define STO_POSTING_MAX_ARRAY 14 /* numbers in the largest array; larger sets are bitmaps */

typedef uint64_t sto_posting; /* the word; 0 = empty */

/* Memory of the arrays; arrays that were outgrown are reused. */
struct sto_posting_pool {
    struct ts_arena arena;                  /* of the arrays */
    void *free_arrays[STO_POSTING_CLASSES]; /* linked through their first word */
    size_t n_bitmaps;                       /* postings that are bitmaps */
};

/** Add a number; a number that is in the set is ignored. Ascending order is fastest. */
void sto_posting__add(sto_posting *set, struct sto_posting_pool *pool, uint32_t id);
/** Add n ascending numbers. */
void sto_posting__add_many(sto_posting *set, struct sto_posting_pool *pool, const uint32_t *ids, size_t n);
/** Remove a number; nothing happens if it is not in the set. An empty set is 0 again. */
void sto_posting__remove(sto_posting *set, struct sto_posting_pool *pool, uint32_t id);
/** Count of numbers. */
uint64_t sto_posting__count(sto_posting set);
/** Add all numbers of the set to a bitmap. */
void sto_posting__or_into(sto_posting set, roaring_bitmap_t *out);
/** A new bitmap with the numbers of the set; the caller frees it. */
roaring_bitmap_t *sto_posting__copy(sto_posting set);
/** Keep in b only the numbers that are also in the set. */
void sto_posting__and_into(sto_posting set, roaring_bitmap_t *b);
/** Free the bitmap of a large set; arrays are freed with the pool. */
void sto_posting__free(sto_posting set);

#endif
