/*
 * ep_legacy.c - what OpenTSDB 1.x had besides graphs: the page, static files, counters as text, the end.
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

/* /: a form for /q. Its style and its script are files, since the Content-Security-Policy allows none inside a page. */
void tsd_ep_home(struct tsd_req *req)
{
    static const char page[] =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tsd</title>"
        "<link rel=\"stylesheet\" href=\"/s/home.css\"><script src=\"/s/home.js\" defer></script>"
        "</head><body>\n<h1>tsd " TSD_VERSION "</h1>\n"
        "<form action=\"/q\" method=\"get\">\n"
        "<label>From <input type=\"text\" name=\"start\" value=\"1h-ago\" required></label>\n"
        "<label>To (empty: now) <input type=\"text\" name=\"end\"></label>\n"
        "<label>Query <input type=\"text\" name=\"m\" placeholder=\"sum:1m-avg:metric{host=*}\" "
        "required></label>\n"
        "<p><button name=\"png\" value=\"\">Picture</button> <button name=\"ascii\" "
        "value=\"\">Points</button></p>\n</form>\n"
        "<p><a href=\"/stats\">Counters</a> &middot; <a href=\"/logs\">Log</a> &middot; "
        "<a href=\"/api/suggest?type=metrics&amp;max=1000\">Metrics</a> &middot; <a "
        "href=\"/api/config\">Configuration</a> "
        "&middot; <a href=\"/version\">Version</a></p>\n</body></html>\n";
    tsd_reply(req, 200, tsd_type_html, ts_slice_str(page));
}

/* /favicon.ico: browsers request it, but there is none. */
void tsd_ep_favicon(struct tsd_req *req)
{
    tsd_reply_empty(req, 204);
}

/* /s/FILE: what our page needs; OpenTSDB's page lives there too. */
void tsd_ep_static(struct tsd_req *req)
{
    static const struct {
        const char *path, *type, *text;
    } files[] = {
        {"s/home.css", "text/css; charset=UTF-8",
         "body{font-family:sans-serif;max-width:44em;margin:2em auto;padding:0 1em}\n"
         "label{display:block;margin:.6em 0}\ninput[type=text]{width:100%;box-sizing:border-box}\n"},
        /* what /q sent to the page is in its address */
        {"s/home.js", "text/javascript; charset=UTF-8",
         "new URLSearchParams(location.hash.slice(1)).forEach((v,k)=>{\n"
         "const f=document.forms[0].elements[k];if(f)f.value=v})\n"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (ts_slice_is(req->path, files[i].path)) {
            tsd_reply(req, 200, files[i].type, ts_slice_str(files[i].text));
            return;
        }
    }
    if (memmem(req->path.p, req->path.n, "..", 2))
        tsd_reply_error(req, 400, "Malformed path", NULL);
    else
        tsd_reply_error(req, 404, "Page not found", NULL);
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
