/*
 * sink.c - bytes into pieces.
 *
 * Threads    see sink.h
 */
#include "base/sink.h"

int ts_sink_write(struct ts_sink *s, struct ts_slice bytes, struct ts_error *err)
{
    while (bytes.n) {
        TS_TRY(ts_sink_room(s, 1, err));
        size_t room = (size_t)(s->end - s->p), n = bytes.n < room ? bytes.n : room;
        memcpy(s->p, bytes.p, n);
        s->p += n;
        bytes.p += n;
        bytes.n -= n;
    }
    return 0;
}

int ts_sink_str(struct ts_sink *s, const char *text, struct ts_error *err)
{
    return ts_sink_write(s, ts_slice_str(text), err);
}
