/*
 * spool_record.c - headers and checksums.
 *
 * Threads    see spool_record.h
 */
#include "collectors/core/spool_record.h"

#include "base/hash.h"

#include <stdio.h>

#define SUMMED_BYTES 24u /* of the header, in front of the checksum */

static uint32_t record_sum(const char *head, struct ts_slice lines)
{
    return ts_crc32c(ts_crc32c(0, head, SUMMED_BYTES), lines.p, lines.n);
}

void col_record_head(struct ts_slice lines, uint32_t n_points, char out[COL_RECORD_HEAD_BYTES + 1])
{
    (void)snprintf(out, COL_RECORD_HEAD_BYTES + 1, "batch %08x %08x ", (unsigned)lines.n, (unsigned)n_points);
    (void)snprintf(out + SUMMED_BYTES, COL_RECORD_HEAD_BYTES + 1 - SUMMED_BYTES, "%08x\n",
                   (unsigned)record_sum(out, lines));
}

/* Eight hexadecimal digits and what follows them. */
static bool record_number(const char *p, char end, uint32_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < 8; i++) {
        char c = p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        *out = *out << 4 | digit;
    }
    return p[8] == end;
}

int col_record_get(struct ts_slice text, struct col_record *out, size_t *out_need_bytes)
{
    uint32_t n_lines_bytes, n_points, sum;
    *out_need_bytes = COL_RECORD_HEAD_BYTES;
    if (text.n < COL_RECORD_HEAD_BYTES)
        return 0;
    if (memcmp(text.p, "batch ", 6) != 0 || !record_number(text.p + 6, ' ', &n_lines_bytes) ||
        !record_number(text.p + 15, ' ', &n_points) || !record_number(text.p + 24, '\n', &sum))
        return -1;
    *out_need_bytes += n_lines_bytes;
    if (text.n - COL_RECORD_HEAD_BYTES < n_lines_bytes)
        return 0;
    struct ts_slice lines = {text.p + COL_RECORD_HEAD_BYTES, n_lines_bytes};
    if (record_sum(text.p, lines) != sum)
        return -1;
    *out = (struct col_record){.lines = lines, .n_points = n_points, .n_bytes = *out_need_bytes};
    return 1;
}

size_t col_record_find(struct ts_slice text)
{
    struct col_record r;
    size_t need;
    for (size_t at = 0; at + COL_RECORD_HEAD_BYTES <= text.n; at++) {
        const char *p = memmem(text.p + at, text.n - at, "batch ", 6);
        if (!p)
            break;
        at = (size_t)(p - text.p);
        if (col_record_get((struct ts_slice){p, text.n - at}, &r, &need) == 1)
            return at;
    }
    return text.n;
}
