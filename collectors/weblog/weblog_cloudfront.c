/*
 * weblog_cloudfront.c - Amazon CloudFront's standard logs: words between tabs, in an order that only grows at its end.
 *
 *   2019-12-04 21:02:31 LAX1 392 192.0.2.100 GET d111.cloudfront.net /index.html 200 - Mozilla/5.0 - - Hit ID example.org https 23 0.001 ...
 *
 * The domain is what the viewer requested (x-host-header), else the name of the distribution. Times are UTC.
 *
 * Threads    pure
 * Source     Amazon CloudFront Developer Guide, "Standard log file fields"
 */
#include "collectors/weblog/weblog_own.h"

#include "base/cut.h"
#include "collectors/core/fields.h"

#include <string.h>

#define WORDS 19u /* up to time-taken */

/* The field of each word, except date and time. */
static const enum col_web_field words[WORDS] = {
    [3] = COL_WEB_BYTES,    [4] = COL_WEB_CLIENT, [7] = COL_WEB_PATH,    [8] = COL_WEB_STATUS,
    [9] = COL_WEB_REFERRER, [10] = COL_WEB_AGENT, [15] = COL_WEB_DOMAIN, [18] = COL_WEB_TOOK_S,
};

static const char *cloudfront_parse(enum col_web_kind kind, struct ts_slice line, struct ts_buf *scratch,
                                    struct col_web_hit *out)
{
    struct ts_slice w[WORDS];
    const char *why = NULL;
    (void)kind;
    col_web_hit_init(out);
    for (unsigned i = 0; i < WORDS; i++) {
        if (!line.n)
            return "it is not of this format";
        w[i] = ts_slice_cut(&line, '\t');
    }
    if (w[0].n != 10 || w[1].n != 8)
        return "it is not of this format";
    why = col_web_date_time(out, w[0], w[1], scratch);
    for (unsigned i = 2; !why && i < WORDS; i++)
        why = col_web_hit_set(out, words[i], w[i]);
    if (!why) /* used only if no domain was set above */
        why = col_web_hit_set(out, COL_WEB_DOMAIN, w[6]);
    return why;
}

static enum col_web_kind cloudfront_fields(struct ts_slice names)
{
    return col_prefix_take(&names,
                           "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status")
               ? COL_WEB_KIND_CLOUDFRONT
               : COL_WEB_KIND_UNKNOWN;
}

const struct col_web_own col_web_cloudfront = {.name = "cloudfront",
                                               .kind = COL_WEB_KIND_CLOUDFRONT,
                                               .parse = cloudfront_parse,
                                               .fields = cloudfront_fields};
