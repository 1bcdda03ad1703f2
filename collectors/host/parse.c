/*
 * parse.c - the state that collectors of plain texts share.
 *
 * Threads    see parse.h
 */
#include "collectors/host/parse.h"

#include "base/mem.h"
#include "collectors/core/source.h"

#define TEXT_MAX_BYTES ((size_t)64 << 20) /* of one file of /proc */

struct text_state {
    const struct col_ctx *ctx; /* borrowed */
    struct ts_buf text;        /* of the file read last */
};

int col_text_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    (void)err;
    struct text_state *s = ts_xcalloc(1, sizeof(*s));
    s->ctx = ctx;
    ts_buf_init(&s->text, TEXT_MAX_BYTES);
    *out_state = s;
    return 0;
}

void col_text_release(void *state)
{
    struct text_state *s = state;
    if (s)
        ts_buf_release(&s->text);
    ts_free(s);
}

int col_text_read(void *state, struct col_emit *emit, const char *path,
                  void (*parse)(struct ts_slice text, struct col_emit *emit), struct ts_error *err)
{
    struct text_state *s = state;
    TS_TRY(col_source_read(s->ctx->root, path, &s->text, err));
    parse(ts_buf_get(&s->text), emit);
    return 0;
}

const struct col_ctx *col_text_ctx(const void *state)
{
    return ((const struct text_state *)state)->ctx;
}

struct ts_buf *col_text_buf(void *state)
{
    return &((struct text_state *)state)->text;
}
