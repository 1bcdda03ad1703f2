/*
 * sink.h - where encoders write: a piece of memory that is handed on when it is full.
 *
 * Threads    one thread at a time
 * Invariant  after tsd_sink_room(s, n) == 0 at least n bytes may be written at s->p
 */
#ifndef TSD_OUT_SINK_H
#define TSD_OUT_SINK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdio.h>

#define TSD_SINK_MAX_ROOM 4096 /* most that may be asked for at once */

struct tsd_sink {
    char *start; /* of the present piece */
    char *p;     /* next byte to write */
    char *end;   /* of the present piece */
    /* Hand [start, p) on and give a piece with at least TSD_SINK_MAX_ROOM bytes. < 0: stop writing. */
    int (*more)(struct tsd_sink *s, struct ts_error *err);
    void *arg; /* for more */
};

/** Room for n <= TSD_SINK_MAX_ROOM bytes at s->p. */
static inline int tsd_sink_room(struct tsd_sink *s, size_t n, struct ts_error *err)
{
    if (__builtin_expect((size_t)(s->end - s->p) >= n, 1))
        return 0;
    return s->more(s, err);
}
/** Any number of bytes. */
int tsd_sink_write(struct tsd_sink *s, struct ts_slice bytes, struct ts_error *err);
/** The same for a C string. */
int tsd_sink_str(struct tsd_sink *s, const char *text, struct ts_error *err);

/* A sink that ends in a FILE. */
struct tsd_file_sink {
    struct tsd_sink sink; /* write here */
    FILE *file;           /* borrowed */
    char *piece;          /* owned */
};
/** Begin writing to a file. */
void tsd_file_sink_init(struct tsd_file_sink *s, FILE *file);
/** Write what is left, flush the file, free the piece. TS_EIO / TS_ENOSPC. */
int tsd_file_sink_end(struct tsd_file_sink *s, struct ts_error *err);

#endif
