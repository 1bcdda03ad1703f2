/*
 * fuzz_kit.h - what fuzzers share: a check that ends the program, and the input as numbers.
 *
 * Threads    one
 */
#ifndef TESTS_FUZZ_FUZZ_KIT_H
#define TESTS_FUZZ_FUZZ_KIT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

/** One input; what is wrong ends the program. Called by libFuzzer, or by replay_main.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            TS_BUG("%s", #x);                                                                                \
    } while (0)

/** A call that fails has a code and says something; one that does not says nothing. */
static inline void check_answer(int rc, const struct ts_error *err)
{
    CHECK(rc >= 0 || (err->code == rc && err->text[0]));
}

/* The input, front to back; zeros behind its end. */
struct input {
    const uint8_t *p, *end;
};

static inline uint8_t next8(struct input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

static inline uint64_t next64(struct input *in)
{
    uint64_t v = 0;
    unsigned n = next8(in) % 9; /* as many bytes as the first one says: small numbers are frequent */
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | next8(in);
    return v;
}

/** Change up to max bytes of p as described. */
static inline void change_bytes(struct input *in, uint8_t *p, size_t n, unsigned max)
{
    for (unsigned left = next8(in) % max + 1; left && n; left--) {
        size_t at = (size_t)(next64(in) % n);
        p[at] = (uint8_t)(p[at] ^ next8(in));
    }
}

#endif
