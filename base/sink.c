/*
 * sink.c - bytes into pieces, pieces into files.
 *
 * Threads    see sink.h
 */
#include "base/sink.h"

#include "base/mem.h"

#include <errno.h>

#define SINK_FILE_BYTES ((size_t)64 << 10)

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

static int sink_file_more(struct ts_sink *s, struct ts_error *err)
{
    struct ts_file_sink *f = s->arg;
    size_t n = (size_t)(s->p - s->start);
    s->p = s->start;
    if (n && fwrite(s->start, 1, n, f->file) != n)
        return ts_error_sys(err, TS_EIO, errno, "can't write the result");
    return 0;
}

void ts_file_sink_init(struct ts_file_sink *s, FILE *file)
{
    s->file = file;
    s->piece = ts_xmalloc(SINK_FILE_BYTES);
    s->sink = (struct ts_sink){.start = s->piece,
                               .p = s->piece,
                               .end = s->piece + SINK_FILE_BYTES,
                               .more = sink_file_more,
                               .arg = s};
}

int ts_file_sink_end(struct ts_file_sink *s, struct ts_error *err)
{
    int rc = sink_file_more(&s->sink, err);
    if (rc == 0 && fflush(s->file) != 0)
        rc = ts_error_sys(err, TS_EIO, errno, "can't write the result");
    ts_free(s->piece);
    s->piece = NULL;
    return rc;
}
