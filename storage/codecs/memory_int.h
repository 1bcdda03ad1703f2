/*
 * memory_int.h - memory of a decoder: all of its buffers grow here and are counted before they grow.
 *
 * Threads    belongs to the decoder's thread
 */
#ifndef STORAGE_CODECS_MEMORY_INT_H
#define STORAGE_CODECS_MEMORY_INT_H

#include "base/budget.h"
#include "base/spare.h"

/* The first member of each kind of decoder, so that a pointer to it is one to the decoder. */
struct sto_dec_memory {
    struct ts_tally *tally; /* account of the memory; NULL: not counted */
    uint64_t bytes;         /* bytes allocated, including the decoder itself */
    struct ts_error *err;   /* error of the running call of the decoder, for the text of a refusal */
};

/** Grow *buf of *cap bytes to at least need bytes; its contents are lost when it grows.
 * @return 0, TS_ELIMIT with the text in m->err, TS_ENOMEM: the buffer is empty then */
int sto_dec_memory__grow(struct sto_dec_memory *m, void *buf, size_t *cap, size_t need);
/** Move the count to tally (NULL: to none). 0, TS_ELIMIT: it is counted in none then. */
int sto_dec_memory__count(struct sto_dec_memory *m, struct ts_tally *tally, struct ts_error *err);
/** Take a decoder out of the pool; it is not counted. NULL: the pool is empty. */
void *sto_dec_memory__take(struct ts_spare *spares);
/** Put a decoder into the pool unless it is too large or the pool is full. Then it counts only in
 * sto_dec_spare_bytes. False: the caller frees it. */
bool sto_dec_memory__keep(struct sto_dec_memory *m, struct ts_spare *spares);

#endif
