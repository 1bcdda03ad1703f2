/*
 * memory_int.h - the memory of a decoder: all of its buffers grow here, and are counted before they do.
 *
 * Threads    belongs to the decoder's thread
 */
#ifndef STORAGE_CODECS_MEMORY_INT_H
#define STORAGE_CODECS_MEMORY_INT_H

#include "base/budget.h"
#include "base/spare.h"

/* The first member of each kind of decoder, so that a pointer to it is one to the decoder. */
struct sto_dec_memory {
    struct ts_tally *tally; /* what is held counts in it; NULL: in nothing */
    uint64_t bytes;         /* held, the decoder's own included */
    struct ts_error *err;   /* of the call of the decoder that is under way: text of a refusal */
};

/** Room for need bytes in *buf, which has *cap; what is in it is lost when it grows.
 * @return 0, TS_ELIMIT with the text in m->err, TS_ENOMEM: the buffer is empty then */
int sto_dec_memory__grow(struct sto_dec_memory *m, void *buf, size_t *cap, size_t need);
/** Count it in tally from now on (NULL: in nothing), no longer where it was. 0, TS_ELIMIT: it counts in nothing now. */
int sto_dec_memory__count(struct sto_dec_memory *m, struct ts_tally *tally, struct ts_error *err);
/** A decoder that nobody uses and that counts in nothing; NULL: there is none. */
void *sto_dec_memory__take(struct ts_spare *spares);
/** Keep a decoder for others, if it is not too large and there are not too many; it counts in nothing then, but in
 * sto_dec_spare_bytes. False: the caller frees it. */
bool sto_dec_memory__keep(struct sto_dec_memory *m, struct ts_spare *spares);

#endif
