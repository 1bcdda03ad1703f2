/*
 * legend.c - shortens names to what distinguishes them.
 *
 * Threads    any
 */
#include "tsd/format/picture.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

#define LEGEND_MAX_TAGS 64 /* of the first name: of more, the others stay */

/* A name's parts. */
struct parts {
    struct ts_slice metric, tags; /* tags without braces */
    const char *number;           /* " #2", or empty */
};

static struct parts legend_parts(const char *name)
{
    const char *open = strchr(name, '{'), *close = open ? strchr(open, '}') : NULL;
    size_t n = close ? (size_t)(open - name) : strcspn(name, " ");
    struct parts p = {.metric = {name, n}, .number = close ? close + 1 : name + n};
    if (close)
        p.tags = (struct ts_slice){open + 1, (size_t)(close - open - 1)};
    if (p.metric.n && name[p.metric.n - 1] == ' ')
        p.metric.n--;
    return p;
}

/* Take the first tag off; false: there is none. */
static bool legend_tag(struct ts_slice *tags, struct ts_slice *out)
{
    while (tags->n && (*tags->p == ',' || *tags->p == ' '))
        *tags = (struct ts_slice){tags->p + 1, tags->n - 1};
    const char *comma = tags->n ? memchr(tags->p, ',', tags->n) : NULL;
    size_t n = comma ? (size_t)(comma - tags->p) : tags->n;
    *out = (struct ts_slice){tags->p, n};
    if (n)
        *tags = (struct ts_slice){tags->p + n, tags->n - n};
    return n > 0;
}

static bool legend_has(struct ts_slice tags, struct ts_slice tag)
{
    struct ts_slice one;
    while (legend_tag(&tags, &one))
        if (ts_slice_eq(one, tag))
            return true;
    return false;
}

/* Tags of the first name that all names have; how many. */
static size_t legend_common(char *const *names, size_t n, struct ts_slice out[LEGEND_MAX_TAGS])
{
    struct ts_slice tags = legend_parts(names[0]).tags, one;
    size_t n_common = 0;
    while (n_common < LEGEND_MAX_TAGS && legend_tag(&tags, &one))
        out[n_common++] = one;
    for (size_t i = 1; i < n && n_common; i++) {
        size_t left = 0;
        tags = legend_parts(names[i]).tags;
        for (size_t k = 0; k < n_common; k++)
            if (legend_has(tags, out[k]))
                out[left++] = out[k];
        n_common = left;
    }
    return n_common;
}

/* A name without what is common; NULL: nothing is left. */
static char *legend_left(const char *name, bool same_metric, const struct ts_slice *common, size_t n_common)
{
    struct parts p = legend_parts(name);
    struct ts_slice one;
    struct ts_buf b;
    size_t n_tags = 0;
    ts_buf_init(&b, 0);
    if (!same_metric)
        ts_buf_slice(&b, p.metric);
    while (legend_tag(&p.tags, &one)) {
        size_t k = 0;
        while (k < n_common && !ts_slice_eq(common[k], one))
            k++;
        if (k < n_common)
            continue;
        ts_buf_str(&b, n_tags++ ? ", " : b.n ? " " : "");
        ts_buf_slice(&b, one);
    }
    bool empty = b.n == 0;
    ts_buf_str(&b, p.number);
    ts_buf_char(&b, 0);
    char *left = empty ? NULL : ts_xstrdup(b.p);
    ts_buf_release(&b);
    return left;
}

void tsd_legend_own(char **names, size_t n)
{
    struct ts_slice common[LEGEND_MAX_TAGS];
    bool same_metric = true, all = true;
    if (n < 2)
        return;
    size_t n_common = legend_common(names, n, common);
    for (size_t i = 1; i < n; i++)
        same_metric &= ts_slice_eq(legend_parts(names[i]).metric, legend_parts(names[0]).metric);
    char **left = ts_xcalloc(n, sizeof(*left));
    for (size_t i = 0; i < n; i++) {
        left[i] = legend_left(names[i], same_metric, common, n_common);
        all &= left[i] != NULL;
    }
    for (size_t i = 0; i < n; i++) {
        ts_free(all ? names[i] : left[i]);
        names[i] = all ? left[i] : names[i];
    }
    ts_free(left);
}

void tsd_legend_cut(char *name, size_t max)
{
    static const char mark[] = "\xe2\x80\xa6"; /* three dots as one character, of three bytes: */
    size_t kept = max > 3 ? max - 3 : 1,
           in_head = kept / 2; /* removing three characters always makes it fit */
    size_t n_chars = 0, n = strlen(name), head = 0, tail = n, k = 0;
    for (size_t i = 0; i < n; i++)
        n_chars += ((unsigned char)name[i] & 0xc0) != 0x80;
    if (n_chars <= max || n_chars < 4)
        return;
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)name[i] & 0xc0) == 0x80)
            continue;
        if (k == in_head)
            head = i;
        if (k == n_chars - (kept - in_head))
            tail = i;
        k++;
    }
    memmove(name + head + sizeof(mark) - 1, name + tail, n - tail + 1);
    memcpy(name + head, mark, sizeof(mark) - 1);
}
