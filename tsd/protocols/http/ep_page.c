/*
 * ep_page.c - the web page at / and its files below /s.
 *
 * Threads    the connection's worker
 * Not here   the files (tsd/page/)
 */
#include "tsd/protocols/http/ep.h"

#include "tsd/page/page.h"

static void page_send(struct tsd_req *req, const struct tsd_page_file *f)
{
    tsd_reply_constant(
        req,
        &(struct tsd_constant){
            .type = f->type, .plain = f->plain, .gzip = f->gzip, .etag = f->etag, .etag_gzip = f->etag_gzip});
}

/* /: the page; what the address says behind # is for its script. */
void tsd_ep_page(struct tsd_req *req)
{
    const struct tsd_page_file *f = tsd_page_find(TS_SLICE_LIT("index.html"));
    if (f)
        page_send(req, f);
    else
        tsd_reply(req, 200, tsd_type_html,
                  TS_SLICE_LIT("<!DOCTYPE html>\n<html "
                               "lang=\"en\"><head><title>tsd</title></head><body><p>This tsd " TSD_VERSION
                               " was built without its web page (TSD_PAGE=OFF). Its HTTP API answers below "
                               "/api.</p></body></html>\n"));
}

/* /s/FILE: what the page loads. */
void tsd_ep_page_file(struct tsd_req *req)
{
    const struct tsd_page_file *f = tsd_page_find((struct ts_slice){req->path.p + 2, req->path.n - 2});
    if (f)
        page_send(req, f);
    else if (memmem(req->path.p, req->path.n, "..", 2))
        tsd_reply_error(req, 400, "Malformed path", NULL);
    else
        tsd_reply_error(req, 404, "Page not found", NULL);
}
