/*
 * weblog_iis.c - logs of Microsoft's IIS in the W3C extended format: "#Fields: ..." names the words of the lines below.
 *
 *   #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus ...
 *   2026-11-06 12:00:00 10.0.0.1 GET /shop/cart - 443 - 192.0.2.7 Mozilla/5.0+(Windows) - 200 0 0 15
 *
 * IIS writes the fields that were chosen in an order that never changes, and fields of one's own behind them: a kind holds a bit for each
 * field. Words have no blanks (there is a '+' for each). Times are UTC, time-taken is in ms.
 *
 * Threads    pure
 * Source     W3C "Extended Log File Format" (WD-logfile-960323); learn.microsoft.com "W3C Logging" (order and meaning of fields)
 */
#include "collectors/weblog_own.h"

#include "base/cut.h"

#include <string.h>

static const struct {
    const char *name;
    enum col_web_field field;
} fields[] = {
    {"date", COL_WEB_NONE},
    {"time", COL_WEB_NONE},
    {"s-sitename", COL_WEB_NONE},
    {"s-computername", COL_WEB_NONE},
    {"s-ip", COL_WEB_NONE},
    {"cs-method", COL_WEB_NONE},
    {"cs-uri-stem", COL_WEB_PATH},
    {"cs-uri-query", COL_WEB_NONE},
    {"s-port", COL_WEB_NONE},
    {"cs-username", COL_WEB_NONE},
    {"c-ip", COL_WEB_CLIENT},
    {"cs-version", COL_WEB_NONE},
    {"cs(User-Agent)", COL_WEB_AGENT},
    {"cs(Cookie)", COL_WEB_NONE},
    {"cs(Referer)", COL_WEB_REFERRER},
    {"cs-host", COL_WEB_DOMAIN},
    {"sc-status", COL_WEB_STATUS},
    {"sc-substatus", COL_WEB_NONE},
    {"sc-win32-status", COL_WEB_NONE},
    {"sc-bytes", COL_WEB_BYTES},
    {"cs-bytes", COL_WEB_NONE},
    {"time-taken", COL_WEB_TOOK_MS},
};
#define N_FIELDS (sizeof(fields) / sizeof(*fields))
#define NEEDED   (1u << 0 | 1u << 1 | 1u << 16) /* date, time, sc-status */
_Static_assert(N_FIELDS + COL_WEB_KIND_BITS < 31, "a kind is an int");

static enum col_web_kind iis_fields(struct ts_slice names)
{
    struct ts_slice name;
    uint32_t mask = 0;
    size_t at = 0, i;
    bool own = false; /* fields of one's own follow, and nothing else */
    while (names.n) {
        name = ts_slice_cut(&names, ' ');
        if (!name.n)
            continue;
        for (i = at; i < N_FIELDS && !ts_slice_is(name, fields[i].name); i++)
            ;
        for (size_t k = 0; i == N_FIELDS && k < at; k++)
            if (ts_slice_is(name, fields[k].name)) /* another order */
                return COL_WEB_KIND_UNKNOWN;
        own |= i == N_FIELDS;
        if (own && i < N_FIELDS)
            return COL_WEB_KIND_UNKNOWN;
        if (!own) {
            mask |= 1u << i;
            at = i + 1;
        }
    }
    if ((mask & NEEDED) != NEEDED)
        return COL_WEB_KIND_UNKNOWN;
    return (enum col_web_kind)((uint32_t)COL_WEB_KIND_IIS | mask << COL_WEB_KIND_BITS);
}

static const char *iis_parse(enum col_web_kind kind, struct ts_slice line, struct ts_buf *scratch,
                             struct col_web_hit *out)
{
    uint32_t mask = (uint32_t)kind >> COL_WEB_KIND_BITS;
    struct ts_slice date = {NULL, 0}, word;
    const char *why = mask ? NULL : "the line #Fields above it is not known";
    col_web_hit_init(out);
    for (size_t i = 0; !why && i < N_FIELDS; i++) {
        if (!(mask >> i & 1))
            continue;
        word = ts_slice_cut(&line, ' ');
        if (!word.n)
            return "it has fewer words than #Fields";
        if (i == 0)
            date = word;
        why = i == 1 ? col_web_date_time(out, date, word, scratch)
                     : col_web_hit_set(out, fields[i].field, word);
    }
    return why;
}

const struct col_web_own col_web_iis = {
    .name = "iis", .kind = COL_WEB_KIND_IIS, .parse = iis_parse, .fields = iis_fields};
