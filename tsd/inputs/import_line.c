/*
 * import_line.c - see import_line.h.
 *
 * Not here   reading what follows the first word (tsd/protocols/line)
 */
#include "tsd/inputs/import_line.h"

#include <string.h>

#include "base/cut.h"

const char *tsd_import_word(enum tsd_import_kind kind)
{
    return kind == TSD_IMPORT_ROLLUP ? "rollup " : kind == TSD_IMPORT_HISTOGRAM ? "histogram " : "put ";
}

/* Take a word off, if the line begins with it. */
static bool import_starts(struct ts_slice *line, enum tsd_import_kind kind)
{
    const char *word = tsd_import_word(kind);
    size_t n = strlen(word);
    if (line->n < n || memcmp(line->p, word, n) != 0)
        return false;
    *line = (struct ts_slice){line->p + n, line->n - n};
    return true;
}

/* Digits, signs and points up to the next blank. */
static bool import_is_time(struct ts_slice s)
{
    size_t n = 0;
    while (n < s.n && ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == '.' || s.p[n] == '-'))
        n++;
    return n > 0 && n < s.n && s.p[n] == ' ';
}

/* "METRIC TIME u=N:..", also where the metric's name is a number. */
static bool import_is_histogram(struct ts_slice rest)
{
    if (!import_is_time(rest))
        return true;
    const char *end = rest.p + rest.n, *a = memchr(rest.p, ' ', rest.n);
    const char *b = a ? memchr(a + 1, ' ', (size_t)(end - a - 1)) : NULL;
    if (!b || end - b <= 3 || b[1] != 'u' || b[2] != '=')
        return false;
    const char *c = memchr(b + 1, ' ', (size_t)(end - b - 1));
    return c && memchr(b, ':', (size_t)(c - b)); /* no character of a tag */
}

enum tsd_import_kind tsd_import_line(struct ts_slice line, struct ts_slice *out_rest)
{
    size_t i = 0;
    while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    *out_rest = line;
    if (import_starts(out_rest, TSD_IMPORT_POINT))
        return TSD_IMPORT_POINT;
    if (import_starts(out_rest, TSD_IMPORT_ROLLUP) && !import_is_time(*out_rest))
        return TSD_IMPORT_ROLLUP;
    *out_rest = line;
    if (import_starts(out_rest, TSD_IMPORT_HISTOGRAM) && import_is_histogram(*out_rest))
        return TSD_IMPORT_HISTOGRAM;
    *out_rest = line;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
        i++;
    return i == line.n || line.p[i] == '#' ? TSD_IMPORT_NOTHING : TSD_IMPORT_POINT;
}

struct ts_slice tsd_import_time(struct ts_slice line)
{
    struct ts_slice rest;
    if (tsd_import_line(line, &rest) == TSD_IMPORT_ROLLUP)
        (void)ts_slice_cut(&rest, ' '); /* its interval and aggregator */
    (void)ts_slice_cut(&rest, ' ');     /* the metric */
    return ts_slice_cut(&rest, ' ');
}
