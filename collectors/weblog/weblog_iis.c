/*
 * weblog_iis.c - logs of Microsoft's IIS in the W3C extended format: "#Fields: ..." names the words of the lines below.
 *
 *   #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus ...
 *   2026-11-06 12:00:00 10.0.0.1 GET /shop/cart - 443 - 192.0.2.7 Mozilla/5.0+(Windows) - 200 0 0 15
 *
 * IIS writes the fields that were chosen in an order of its own, other programs in any other: a kind holds, for each field that says something here,
 * which word of the line it is. Words have no blanks (IIS writes a '+' for each). Times are UTC; time-taken is in ms, with a point in it
 * in seconds, as programs other than IIS write it.
 *
 * Threads    pure
 * Source     W3C "Extended Log File Format" (WD-logfile-960323); learn.microsoft.com "W3C Logging" (names and meaning of fields)
 */
#include "collectors/weblog/weblog_own.h"

#include "base/cut.h"

#include <string.h>

#define WORDS_MAX 31u /* words of a line that may be fields: 5 bits each, 0 = the field is not there */
#define WORD_BITS 5u

enum { DATE, TIME, STATUS }; /* rows that are needed */

static const struct {
    const char *name;
    enum col_web_field field;
} fields[] = {
    {"date", COL_WEB_NONE},
    {"time", COL_WEB_NONE},
    {"sc-status", COL_WEB_STATUS},
    {"cs-uri-stem", COL_WEB_PATH},
    {"c-ip", COL_WEB_CLIENT},
    {"cs(User-Agent)", COL_WEB_AGENT},
    {"cs(Referer)", COL_WEB_REFERRER},
    {"cs-host", COL_WEB_DOMAIN},
    {"sc-bytes", COL_WEB_BYTES},
    {"time-taken", COL_WEB_TOOK_MS},
};
#define N_FIELDS (sizeof(fields) / sizeof(*fields))
_Static_assert(N_FIELDS *WORD_BITS + COL_WEB_KIND_BITS < 63, "a kind has 63 bits");

static unsigned word_of(enum col_web_kind kind, size_t row)
{
    return (unsigned)((uint64_t)kind >> (COL_WEB_KIND_BITS + row * WORD_BITS) & WORDS_MAX);
}

static enum col_web_kind iis_fields(struct ts_slice names)
{
    struct ts_slice name;
    uint64_t kind = COL_WEB_KIND_IIS;
    unsigned at = 0;
    while (names.n) {
        name = ts_slice_cut(&names, ' ');
        if (!name.n)
            continue;
        at++;
        if (name.n > 7 && !memcmp(name.p, "x-edge-", 7)) /* CloudFront's, of a kind that is not known */
            return COL_WEB_KIND_UNKNOWN;
        for (size_t i = 0; i < N_FIELDS; i++) {
            if (!ts_slice_is(name, fields[i].name))
                continue;
            if (at > WORDS_MAX || word_of((enum col_web_kind)kind, i))
                return COL_WEB_KIND_UNKNOWN; /* too many, or twice */
            kind |= (uint64_t)at << (COL_WEB_KIND_BITS + i * WORD_BITS);
        }
    }
    for (size_t i = DATE; i <= STATUS; i++)
        if (!word_of((enum col_web_kind)kind, i))
            return COL_WEB_KIND_UNKNOWN;
    return (enum col_web_kind)kind;
}

static const char *iis_parse(enum col_web_kind kind, struct ts_slice line, struct ts_buf *scratch,
                             struct col_web_hit *out)
{
    struct ts_slice words[WORDS_MAX + 1];
    unsigned n = 0, at;
    const char *why = NULL;
    col_web_hit_init(out);
    if (!word_of(kind, DATE))
        return "the line #Fields above it is not known";
    while (n < WORDS_MAX && line.n && (words[n + 1] = ts_slice_cut(&line, ' ')).n)
        n++;
    for (size_t i = 0; i < N_FIELDS; i++)
        if (word_of(kind, i) > n)
            return "it has fewer words than #Fields";
    why = col_web_date_time(out, words[word_of(kind, DATE)], words[word_of(kind, TIME)], scratch);
    for (size_t i = STATUS; !why && i < N_FIELDS; i++) {
        if (!(at = word_of(kind, i)))
            continue;
        bool seconds = fields[i].field == COL_WEB_TOOK_MS && memchr(words[at].p, '.', words[at].n);
        why = col_web_hit_set(out, seconds ? COL_WEB_TOOK_S : fields[i].field, words[at]);
    }
    return why;
}

const struct col_web_own col_web_iis = {
    .name = "iis", .kind = COL_WEB_KIND_IIS, .parse = iis_parse, .fields = iis_fields};
