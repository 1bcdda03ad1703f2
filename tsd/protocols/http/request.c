/*
 * request.c - request target to path and parameters.
 *
 * Threads    see http.h; tsd_req_param and tsd_req_flag from any thread while the request lives
 * Source     docs/OPENTSDB.md, section 2.1 ("Query string", "Paths")
 */
#include "tsd/protocols/http/http.h"

#include "base/near.h"
#include "base/text.h"

#define REQUEST_MAX_PARAMS 1024

static int request_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decoded copy; + is a blank if plus. A percent sign without two hex digits stands for itself. */
static struct ts_slice request_decode(struct ts_arena *arena, struct ts_slice s, bool plus)
{
    char *out = ts_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '+' && plus) {
            c = ' ';
        } else if (c == '%' && i + 2 < s.n && request_hex(s.p[i + 1]) >= 0 && request_hex(s.p[i + 2]) >= 0) {
            c = (char)(request_hex(s.p[i + 1]) << 4 | request_hex(s.p[i + 2]));
            i += 2;
        }
        out[n++] = c;
    }
    out[n] = 0;
    return (struct ts_slice){out, n};
}

static int request_params(struct tsd_req *req, struct ts_slice query, struct ts_error *err)
{
    size_t max = 1;
    for (size_t i = 0; i < query.n; i++)
        max += query.p[i] == '&' || query.p[i] == ';';
    if (max > REQUEST_MAX_PARAMS)
        return ts_error_set(err, TS_ELIMIT, "more than %d parameters", REQUEST_MAX_PARAMS);
    req->params = ts_arena_alloc(&req->arena, max * sizeof(*req->params));
    req->n_params = 0;
    for (size_t i = 0; i < query.n;) {
        size_t end = i;
        while (end < query.n && query.p[end] != '&' && query.p[end] != ';')
            end++;
        const char *eq = memchr(query.p + i, '=', end - i);
        struct ts_slice name = {query.p + i, eq ? (size_t)(eq - query.p) - i : end - i};
        struct ts_slice value = {eq ? eq + 1 : "", eq ? (size_t)(query.p + end - eq - 1) : 0};
        if (name.n)
            req->params[req->n_params++] = (struct qry_param){request_decode(&req->arena, name, true),
                                                              request_decode(&req->arena, value, true)};
        i = end + 1;
    }
    return 0;
}

/* Lower case, without slashes at the ends; "api/v1/x" is "api/x"; a version above 1 is refused. */
static int request_path(struct tsd_req *req, struct ts_slice raw, struct ts_error *err)
{
    struct ts_slice path = request_decode(&req->arena, raw, false);
    char *p = ts_arena_alloc(&req->arena, path.n + 1);
    for (size_t i = 0; i < path.n; i++)
        p[i] = path.p[i] >= 'A' && path.p[i] <= 'Z' ? (char)(path.p[i] | 0x20) : path.p[i];
    size_t n = path.n;
    while (n && *p == '/') {
        p++;
        n--;
    }
    while (n && p[n - 1] == '/')
        n--;
    size_t i = 5;
    while (i < n && p[i] >= '0' && p[i] <= '9')
        i++;
    if (n > 5 && !memcmp(p, "api/v", 5) && i > 5 && (i == n || p[i] == '/')) {
        if (i != 6 || p[5] > '1')
            return ts_error_set(err, TS_EVERSION,
                                "Requested API version is greater than the max implemented");
        memmove(p + 3, p + 6, n - 6);
        n -= 3;
    }
    req->path = (struct ts_slice){p, n};
    return 0;
}

int tsd_req_target(struct tsd_req *req, struct ts_slice target, struct ts_error *err)
{
    const char *end = target.p + target.n;
    const char *p = target.p;
    if (target.n > 7 && !memcmp(p, "http://", 7)) { /* absolute form: from proxies */
        const char *host = p + 7;
        for (p = host; p < end && *p != '/' && *p != '?' && *p != '#';)
            p++;
        req->target_host = (struct ts_slice){host, (size_t)(p - host)};
    }
    const char *frag = memchr(p, '#', (size_t)(end - p));
    end = frag ? frag : end;
    const char *mark = memchr(p, '?', (size_t)(end - p));
    struct ts_slice path = {p, (size_t)((mark ? mark : end) - p)};
    struct ts_slice query = {mark ? mark + 1 : end, mark ? (size_t)(end - mark - 1) : 0};
    TS_TRY(request_path(req, path, err));
    return request_params(req, query, err);
}

bool tsd_req_param(const struct tsd_req *req, const char *name, struct ts_slice *out_value)
{
    for (size_t i = req->n_params; i-- > 0;)
        if (ts_slice_is(req->params[i].name, name)) {
            *out_value = req->params[i].value;
            return true;
        }
    *out_value = (struct ts_slice){"", 0};
    return false;
}

bool tsd_req_flag(const struct tsd_req *req, const char *name)
{
    struct ts_slice value;
    return tsd_req_param(req, name, &value);
}

int tsd_req_params_known(const struct tsd_req *req, const struct tsd_endpoint *e, struct ts_error *err)
{
    if (req->d->set.rules.compat || !e->params)
        return 0;
    for (size_t i = 0; i < req->n_params; i++) {
        struct ts_near near;
        struct ts_slice name = req->params[i].name;
        ts_near_init(&near, name);
        if (ts_near_list(&near, e->params) || ((e->flags & TSD_EP_QUERY) && qry_param_known(&near)) ||
            ts_near_list(&near, "jsonp serializer method_override _") ||
            ((e->flags & TSD_EP_WRITER) && !near.n))
            continue;
        int rc = ts_error_set(err, TS_EINVAL, "Unknown parameter: %.*s", TS_SHOWN(name, 64));
        ts_near_hint(&near, err);
        return rc;
    }
    return 0;
}

struct ts_slice tsd_req_jsonp(const struct tsd_req *req)
{
    struct ts_slice cb;
    if (!req->d->set.jsonp || !tsd_req_param(req, "jsonp", &cb) || cb.n > 128)
        return (struct ts_slice){NULL, 0};
    for (size_t i = 0; i < cb.n; i++) {
        char c = cb.p[i];
        bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                  c == '.' || c == '$';
        if (!ok)
            return (struct ts_slice){NULL, 0};
    }
    return cb;
}

bool tsd_req_keep_body(struct tsd_req *req)
{
    if (!req->body_borrowed)
        return true;
    char *p = ts_arena_try(&req->arena, req->body.n + 1);
    if (!p)
        return false;
    if (req->body.n)
        memcpy(p, req->body.p, req->body.n);
    p[req->body.n] = 0;
    req->body.p = p;
    req->body_borrowed = false;
    return true;
}
