/*
 * rows.c - reads the files of /proc and /sys that the rows of a table describe, and emits their values.
 *
 * Threads    see rows.h
 */
#include "collectors/host/rows.h"

#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

#define ROW_TAGS_MAX   4u
#define ROW_PATH_BYTES 512
#define ROW_TEXT_BYTES ((size_t)1 << 20)

/* One row being read. */
struct walk {
    const char *root;                    /* see source.h */
    const struct col_row *row;           /* being read */
    const struct col_metric *metric;     /* its metric */
    struct col_emit *emit;               /* NULL = count only */
    struct ts_buf *text;                 /* of a file */
    unsigned n;                          /* points */
    char path[ROW_PATH_BYTES];           /* so far, without '*' */
    const char *rest;                    /* of the row's path, behind that */
    struct ts_slice names[ROW_TAGS_MAX]; /* what the '*' stand for, on the stack of the walk */
    unsigned n_names;                    /* of them known */
};

static void walk_emit(struct walk *w, struct ts_slice word)
{
    struct col_tag tags[ROW_TAGS_MAX];
    char keys[ROW_TAGS_MAX][32];
    struct ts_slice key, all = ts_slice_str(w->metric->tags);
    unsigned n = 0;
    int64_t v;
    if (!col_i64_of(word, &v))
        return;
    w->n++;
    if (!w->emit)
        return;
    while (n < ROW_TAGS_MAX && col_word_next(&all, &key)) {
        (void)snprintf(keys[n], sizeof(keys[n]), "%.*s", (int)key.n, key.p);
        tags[n] = (struct col_tag){keys[n], n < w->n_names ? w->names[n]
                                                           : ts_slice_str(w->row->type ? w->row->type : "")};
        n++;
    }
    if (w->row->scale != 0)
        col_emit_num(w->emit, w->metric->name, (double)v * w->row->scale, tags, n);
    else
        col_emit_int(w->emit, w->metric->name, v, tags, n);
}

/* Is this the line of the row? What is behind its key stays. */
static bool walk_key(const struct col_row *row, struct ts_slice *line)
{
    struct ts_slice word;
    if (!row->key)
        return true;
    if (!col_word_next(line, &word))
        return false;
    if (word.n && word.p[word.n - 1] == ':')
        word.n--;
    return ts_slice_is(word, row->key);
}

static void walk_file(struct walk *w)
{
    struct ts_slice text, line, word = {NULL, 0};
    if (col_source_read(w->root, w->path, w->text, NULL) < 0)
        return; /* not there, or a device that answers with an error */
    text = ts_buf_get(w->text);
    while (col_line_next(&text, &line)) {
        if (!walk_key(w->row, &line))
            continue;
        bool ok = true;
        for (unsigned i = 0; ok && i <= w->row->column; i++)
            ok = col_word_next(&line, &word);
        if (ok)
            walk_emit(w, word);
        break;
    }
}

static int walk_name(void *arg, const char *name);

/* Go on with w->rest: up to the next '*', or the file. */
static void walk_on(struct walk *w)
{
    size_t n = strlen(w->path);
    const char *star = strchr(w->rest, '*'), *rest = w->rest;
    size_t n_part = star ? (size_t)(star - rest) : strlen(rest);
    while (star && n_part && rest[n_part - 1] != '/')
        n_part--;
    if (n + n_part >= sizeof(w->path))
        return;
    memcpy(w->path + n, rest, n_part);
    w->path[n + n_part] = '\0';
    w->rest = rest + n_part;
    if (!star)
        walk_file(w);
    else if (w->n_names < ROW_TAGS_MAX)
        (void)col_source_list(w->root, w->path, walk_name, w, NULL);
    w->path[n] = '\0';
    w->rest = rest;
}

/* An entry of the folder w->path: w->rest begins with "front*back/..." */
static int walk_name(void *arg, const char *name)
{
    struct walk *w = arg;
    const char *pattern = w->rest, *star = strchr(pattern, '*'), *end = pattern + strcspn(pattern, "/");
    size_t n = strlen(w->path), n_name = strlen(name), n_front = (size_t)(star - pattern),
           n_back = (size_t)(end - star - 1);
    if (*name == '.' || n_name < n_front + n_back || n + n_name >= sizeof(w->path) ||
        memcmp(name, pattern, n_front) != 0 || memcmp(name + n_name - n_back, star + 1, n_back) != 0)
        return 0;
    memcpy(w->path + n, name, n_name + 1);
    w->names[w->n_names++] = (struct ts_slice){name, n_name - n_back};
    w->rest = end;
    walk_on(w);
    w->n_names--;
    w->rest = pattern;
    w->path[n] = '\0';
    return 0;
}

unsigned col_rows_read(const char *root, const struct col_row *rows, const struct col_metric *metrics,
                       struct col_emit *emit)
{
    struct ts_buf text;
    unsigned n = 0;
    ts_buf_init(&text, ROW_TEXT_BYTES);
    for (const struct col_row *row = rows; row->path; row++) {
        struct walk w = {.root = root,
                         .row = row,
                         .metric = &metrics[row->metric],
                         .emit = emit,
                         .text = &text,
                         .rest = row->path};
        walk_on(&w);
        n += w.n;
    }
    ts_buf_release(&text);
    return n;
}

int col_rows_init(const struct col_ctx *ctx, const struct col_row *rows, const struct col_metric *metrics,
                  const char *what, void **out_state, struct ts_error *err)
{
    if (!col_rows_read(ctx->root, rows, metrics, NULL))
        return ts_error_set(err, TS_ENOTFOUND, "there is nothing of %s below %s/", what, ctx->root);
    return col_text_init(ctx, out_state, err);
}
