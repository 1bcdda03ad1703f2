/*
 * sink.h - the output of encoders: a piece of memory that is passed on when it is full.
 *
 * Threads    one thread at a time
 * Invariant  after ts_sink_room(s, n) == 0 at least n bytes may be written at s->p
 */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include "base/buf.h"
#include "base/err.h"

#define TS_SINK_MAX_ROOM 4096 /* most that may be requested at once */

struct ts_sink {
    char *start; /* of the present piece */
    char *p;     /* next byte to write */
    char *end;   /* of the present piece */
    /* Hand [start, p) on and give a piece with at least TS_SINK_MAX_ROOM bytes. < 0: stop writing. */
    int (*more)(struct ts_sink *s, struct ts_error *err);
    void *arg; /* for more */
};

/** Reserve n <= TS_SINK_MAX_ROOM bytes at s->p. */
static inline int ts_sink_room(struct ts_sink *s, size_t n, struct ts_error *err)
{
    if (__builtin_expect((size_t)(s->end - s->p) >= n, 1))
        return 0;
    return s->more(s, err);
}
/** Any number of bytes. */
int ts_sink_write(struct ts_sink *s, struct ts_slice bytes, struct ts_error *err);
/** The same for a C string. */
int ts_sink_str(struct ts_sink *s, const char *text, struct ts_error *err);

#endif
