/*
 * plotdots.c - dots of braille characters, lines between dots.
 *
 * Source     Unicode 15, block Braille Patterns (U+2800: bit 0 to 7 are dots 1 to 8); J. E. Bresenham, "Algorithm for computer
 *            control of a digital plotter", IBM Systems Journal 4 (1965)
 */
#include "tsd/commands/plotdots.h"

#include "base/mem.h"

#include <string.h>

#define BRAILLE_COLS 2
#define BRAILLE_ROWS 4

void tsd_dots_init(struct tsd_dots *d, size_t cols, size_t rows, bool braille, const char *symbols)
{
    *d = (struct tsd_dots){.cols = cols,
                           .rows = rows,
                           .width = braille ? cols * BRAILLE_COLS : cols,
                           .height = braille ? rows * BRAILLE_ROWS : rows,
                           .braille = braille,
                           .symbols = symbols,
                           .n_symbols = strlen(symbols)};
    d->bits = ts_xcalloc(cols * rows + 1, 1);
    d->owner = ts_xmalloc(cols * rows + 1);
    memset(d->owner, TSD_DOTS_NOBODY, cols * rows);
}

void tsd_dots_release(struct tsd_dots *d)
{
    ts_free(d->bits);
    ts_free(d->owner);
    d->bits = d->owner = NULL;
}

void tsd_dots_set(struct tsd_dots *d, int64_t x, int64_t y, uint8_t owner)
{
    /* bits of a character, rows from the top; dots 7 and 8 were added later below the six of Braille */
    static const uint8_t bits[BRAILLE_ROWS][BRAILLE_COLS] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || (size_t)x >= d->width || (size_t)y >= d->height)
        return;
    size_t from_top = d->height - 1 - (size_t)y, col = (size_t)x, row = from_top;
    uint8_t bit = 1;
    if (d->braille) {
        bit = bits[from_top % BRAILLE_ROWS][col % BRAILLE_COLS];
        col /= BRAILLE_COLS;
        row /= BRAILLE_ROWS;
    }
    d->bits[row * d->cols + col] |= bit;
    d->owner[row * d->cols + col] = owner;
}

void tsd_dots_line(struct tsd_dots *d, int64_t x0, int64_t y0, int64_t x1, int64_t y1, uint8_t owner)
{
    int64_t dx = x1 > x0 ? x1 - x0 : x0 - x1, dy = y1 > y0 ? y0 - y1 : y1 - y0;
    int64_t step_x = x1 > x0 ? 1 : -1, step_y = y1 > y0 ? 1 : -1, e = dx + dy;
    for (;;) {
        tsd_dots_set(d, x0, y0, owner);
        if (x0 == x1 && y0 == y1)
            break;
        int64_t twice = 2 * e;
        if (twice >= dy) {
            e += dy;
            x0 += step_x;
        }
        if (twice <= dx) {
            e += dx;
            y0 += step_y;
        }
    }
}

static bool fill_has(enum tsd_dots_fill fill, int64_t x, int64_t y)
{
    switch (fill) {
    case TSD_DOTS_CHESS:
        return (x + y) % 2 == 0;
    case TSD_DOTS_ROWS:
        return y % 2 == 0;
    case TSD_DOTS_THIN:
        return x % 2 == 0 && y % 2 == 0;
    case TSD_DOTS_FULL:
    default:
        return true;
    }
}

void tsd_dots_fill(struct tsd_dots *d, int64_t x0, int64_t x1, int64_t y0, int64_t y1,
                   enum tsd_dots_fill fill, uint8_t owner)
{
    int64_t low = y0 < y1 ? y0 : y1, high = y0 < y1 ? y1 : y0;
    for (int64_t x = x0; x <= x1; x++)
        for (int64_t y = low; y <= high; y++)
            if (!d->braille || fill_has(fill, x, y))
                tsd_dots_set(d, x, y, owner);
}

uint8_t tsd_dots_put(const struct tsd_dots *d, size_t col, size_t row, struct ts_buf *out)
{
    uint8_t bits = d->bits[row * d->cols + col], owner = d->owner[row * d->cols + col];
    if (!bits)
        ts_buf_char(out, ' ');
    else if (!d->braille)
        ts_buf_char(out, d->symbols[owner % d->n_symbols]);
    else /* U+2800 + bits as three bytes of UTF-8 */
        ts_buf_append(out, (char[]){(char)0xe2, (char)(0xa0 | bits >> 6), (char)(0x80 | (bits & 0x3f))}, 3);
    return bits ? owner : TSD_DOTS_NOBODY;
}
