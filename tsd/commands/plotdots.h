/*
 * plotdots.h - a canvas of characters for pictures in the terminal: braille characters have 2 by 4 dots, ASCII characters
 * are one dot each.
 *
 * Threads    one thread at a time
 * Not here   what is drawn where (plotterm.c)
 */
#ifndef TSD_COMMANDS_PLOTDOTS_H
#define TSD_COMMANDS_PLOTDOTS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSD_DOTS_NOBODY 255 /* of a character without dots; owners are smaller numbers */

/* How an area is filled. */
enum tsd_dots_fill { TSD_DOTS_FULL, TSD_DOTS_CHESS, TSD_DOTS_ROWS, TSD_DOTS_THIN };

/* A canvas. Dot 0, 0 is on the left at the bottom. */
struct tsd_dots {
    size_t cols, rows;    /* characters */
    size_t width, height; /* dots */
    bool braille;         /* else ASCII */
    const char *symbols;  /* ASCII: the character of each owner */
    size_t n_symbols;     /* of them; they are used again from the first one on */
    uint8_t *bits,
        *owner; /* [cols * rows] dots of each character; whose they are: the last one drawn; owned */
};

/** Make an empty canvas. */
void tsd_dots_init(struct tsd_dots *d, size_t cols, size_t rows, bool braille, const char *symbols);
/** Release; idempotent. */
void tsd_dots_release(struct tsd_dots *d);
/** One dot; outside of the canvas nothing happens. */
void tsd_dots_set(struct tsd_dots *d, int64_t x, int64_t y, uint8_t owner);
/** A straight line, both ends included. */
void tsd_dots_line(struct tsd_dots *d, int64_t x0, int64_t y0, int64_t x1, int64_t y1, uint8_t owner);
/** The dots from x0 to x1 and y0 to y1, both included, in either order of y. */
void tsd_dots_fill(struct tsd_dots *d, int64_t x0, int64_t x1, int64_t y0, int64_t y1,
                   enum tsd_dots_fill fill, uint8_t owner);
/** Append the character at a place, row 0 on top: a blank if it has no dots. Returns its owner. */
uint8_t tsd_dots_put(const struct tsd_dots *d, size_t col, size_t row, struct ts_buf *out);

#endif
