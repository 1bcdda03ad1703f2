/*
 * put.c - put lines: what they look like.
 *
 * Threads    see input.h
 * Not here   reading them (tsd/protocols/line/put.h)
 */
#include "tsd/inputs/formats.h"

#include "base/cut.h"
#include "base/text.h"

/* "put ...", "rollup ...", "histogram ..." or four words of which the last holds a tag and the first holds neither ',' nor '{'. */
bool tsd_put_guess(struct ts_slice lines)
{
    static const char *const words[] = {"put ", "rollup ", "histogram "};
    struct ts_slice line;
    if (!tsd_input_first(&lines, &line))
        return true; /* nothing but comments */
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ts_slice_begins_nocase(line, words[i]))
            return true;
    struct ts_slice metric = ts_slice_cut(&line, ' ');
    (void)ts_slice_cut(&line, ' ');
    struct ts_slice value = ts_slice_cut(&line, ' ');
    return value.n && line.n && memchr(line.p, '=', line.n) && !memchr(value.p, '=', value.n) &&
           !memchr(metric.p, ',', metric.n) && !memchr(metric.p, '{', metric.n);
}
