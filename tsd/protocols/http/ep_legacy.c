/*
 * ep_legacy.c - what OpenTSDB 1.x had besides graphs: counters as text, the end.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, section 2.21
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "tsd/net/stats.h"
#include "tsd/daemon/version.h"

#include <signal.h>
#include <unistd.h>

/* /stats: lines as the command of the line protocol; json: an array of them. */
void tsd_ep_stats_text(struct tsd_req *req)
{
    struct ts_buf text, b;
    struct ts_json j;
    ts_buf_init(&text, 0);
    ts_buf_init(&b, 0);
    tsd_stats_lines(req->d, &text);
    if (!tsd_req_flag(req, "json")) {
        tsd_reply(req, 200, tsd_type_text, ts_buf_get(&text));
    } else {
        ts_json_init(&j, &b);
        ts_json_arr(&j);
        for (const char *p = text.p, *end = p + text.n; p < end;) {
            const char *nl = memchr(p, '\n', (size_t)(end - p));
            ts_json_slice(&j, (struct ts_slice){p, (size_t)((nl ? nl : end) - p)});
            p = nl ? nl + 1 : end;
        }
        ts_json_arr_end(&j);
        tsd_reply_json(req, 200, ts_buf_get(&b));
    }
    ts_buf_release(&b);
    ts_buf_release(&text);
}

/* /favicon.ico: browsers request it, but there is none. */
void tsd_ep_favicon(struct tsd_req *req)
{
    tsd_reply_empty(req, 204);
}

/* /diediedie: as SIGTERM, if the configuration allows. */
void tsd_ep_diediedie(struct tsd_req *req)
{
    if (!req->d->set.allow_diediedie) {
        tsd_reply_error(req, 404, "Page not found", "allow_diediedie");
        return;
    }
    tsd_reply(req, 200, tsd_type_html,
              TS_SLICE_LIT("<html><body>Cleaning up and exiting now.</body></html>\n"));
    (void)kill(getpid(), SIGTERM);
}
