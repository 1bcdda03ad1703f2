/*
 * unordered.h - answers without the order of lines and tags, for comparison.
 */
#ifndef TESTS_QUERIES_UNORDERED_H
#define TESTS_QUERIES_UNORDERED_H

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static inline int cmp_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sort what stands between these characters; the text is cut up. */
static inline void sorted(char *text, const char *between, struct ts_buf *out)
{
    char **words = ts_xcalloc(strlen(text) + 1, sizeof(*words)), *save;
    size_t n = 0;
    for (char *w = strtok_r(text, between, &save); w; w = strtok_r(NULL, between, &save))
        words[n++] = w;
    qsort(words, n, sizeof(*words), cmp_words);
    for (size_t i = 0; i < n; i++)
        ts_buf_printf(out, "%s ", words[i]);
    ts_free(words);
}

/* An answer about series without the order of lines and of tags, and for functions without the metric of a line. */
static inline void unordered(struct ts_slice in, bool metric, struct ts_buf *out)
{
    char *text = ts_xstrndup(in.p, in.n), *save;
    struct ts_buf lines;
    ts_buf_init(&lines, 0);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *tags = strchr(line, '{');
        sorted(metric || !tags ? line : tags, " ,{}[]", &lines);
        ts_buf_char(&lines, '\n');
    }
    ts_buf_char(&lines, 0);
    sorted(lines.p, "\n", out);
    ts_buf_release(&lines);
    ts_free(text);
}

#endif
