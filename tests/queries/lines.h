/*
 * lines.h - the lines of a query script, and indented blocks of them.
 */
#ifndef TESTS_QUERIES_LINES_H
#define TESTS_QUERIES_LINES_H

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES (1 << 20)

struct lines {
    FILE *f;
    char *line;  /* LINE_BYTES */
    bool pushed; /* line is to be read again */
    int number;
};

static inline bool next_line(struct lines *l)
{
    if (l->pushed) {
        l->pushed = false;
        return true;
    }
    while (fgets(l->line, LINE_BYTES, l->f)) {
        l->number++;
        size_t n = strlen(l->line);
        while (n && (l->line[n - 1] == '\n' || l->line[n - 1] == ' '))
            l->line[--n] = 0;
        if (n && l->line[strspn(l->line, " ")] != '#')
            return true;
    }
    return false;
}

/* The indented lines that follow, without their indentation. */
static inline void block(struct lines *l, struct ts_buf *out)
{
    ts_buf_clear(out);
    while (next_line(l)) {
        if (l->line[0] != ' ') {
            l->pushed = true;
            return;
        }
        ts_buf_printf(out, "%s\n", l->line + strspn(l->line, " "));
    }
}

#endif
