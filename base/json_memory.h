/*
 * json_memory.h - what loading a text takes of the account of JSON trees; for base/json.c only.
 *
 * Threads    one text at a time per thread
 */
#ifndef BASE_JSON_MEMORY_H
#define BASE_JSON_MEMORY_H

#include <stdint.h>

/** Take what a text can need at most, before it is loaded. 0; TS_ENOMEM: the account does not have so much at present; TS_ELIMIT: it never has, but *out_most
 * (bytes). After an error ts_json__end must not be called. */
int ts_json__begin(uint64_t n_bytes, uint64_t *out_most);
/** The text is loaded, or was refused: give back what was not needed. */
void ts_json__end(void);

#endif
