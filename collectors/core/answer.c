/*
 * answer.c - table of refusals.
 *
 * Threads    see answer.h
 */
#include "collectors/core/answer.h"

#include "collectors/core/fields.h"

#include <string.h>

/* The first row that fits decides. */
static const struct {
    const char *begins;       /* of the line */
    const char *holds;        /* anywhere behind that; NULL = anything */
    enum col_verdict verdict; /* what it means */
} rows[] = {
    {"put: illegal argument", NULL, COL_NEVER}, {"put: invalid value", NULL, COL_NEVER},
    {"put: unknown metric", NULL, COL_NEVER},   {"line too long", NULL, COL_NEVER},
    {"put: ", "max_series", COL_LATER_SERIES},  {"put: too many new series", NULL, COL_LATER_SERIES},
};

static bool holds(struct ts_slice text, const char *word)
{
    return !word || memmem(text.p, text.n, word, strlen(word));
}

enum col_verdict col_verdict_of(struct ts_slice line)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ts_slice rest = line;
        if (col_prefix_take(&rest, rows[i].begins) && holds(rest, rows[i].holds))
            return rows[i].verdict;
    }
    return COL_LATER;
}
