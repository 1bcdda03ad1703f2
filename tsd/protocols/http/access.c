/*
 * access.c - Host, Origin, Sec-Fetch-Site, methods and keys.
 *
 * Threads    see access.h
 */
#include "tsd/protocols/http/access.h"

#include "base/text.h"
#include "tsd/protocols/http/http.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What each permission covers. */
static const struct {
    enum tsd_allow allow;
    const char *key;  /* that gives it */
    const char *what; /* "... is switched off" */
} access_keys[] = {
    {TSD_ALLOW_QUERY_DELETE, "query_allow_delete", "Deleting"},
    {TSD_ALLOW_UID_DELETE, "uid_allow_delete", "Deleting names"},
    {TSD_ALLOW_UID_RENAME, "uid_allow_rename", "Renaming"},
    {TSD_ALLOW_META_DELETE, "meta_allow_delete", "Deleting annotations and metadata in bulk"},
};

__attribute__((format(printf, 5, 6))) static bool access_refuse(const struct tsd_req *req,
                                                                struct tsd_denial *out,
                                                                enum tsd_denial_kind kind, int status,
                                                                const char *format, ...)
{
    va_list args;
    atomic_fetch_add_explicit(&req->d->n_denied[kind], 1, memory_order_relaxed);
    out->status = status;
    va_start(args, format);
    (void)vsnprintf(out->message, sizeof(out->message), format, args);
    va_end(args);
    return false;
}

/* Is a text one of a list with commas and blanks between, whatever their case? */
static bool access_listed(const char *list, struct ts_slice text)
{
    for (const char *p = list; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        if (n && n == text.n && !strncasecmp(p, text.p, n))
            return true;
        p += n;
    }
    return false;
}

bool tsd_access_origin_listed(const char *cors_domains, struct ts_slice origin)
{
    return !strcmp(cors_domains, "*") || access_listed(cors_domains, origin);
}

/* "name:port", "[::1]:port" without port, brackets and the root's dot. */
static struct ts_slice access_host_name(struct ts_slice host)
{
    if (!host.n)
        return host;
    if (host.p[0] == '[') {
        const char *end = memchr(host.p, ']', host.n);
        return end ? (struct ts_slice){host.p + 1, (size_t)(end - host.p) - 1} : host;
    }
    const char *colon = memchr(host.p, ':', host.n);
    if (colon)
        host.n = (size_t)(colon - host.p);
    if (host.n > 1 && host.p[host.n - 1] == '.')
        host.n--;
    return host;
}

static bool access_is_address(struct ts_slice name)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    if (name.n >= sizeof(text))
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* No name, an address, localhost, or a name of http_hosts; without that key any name while more than loopback is bound. */
static bool access_host_ok(const struct tsd_req *req, struct ts_slice host)
{
    const char *hosts = req->d->set.http_hosts;
    struct ts_slice name = access_host_name(host);
    if (!host.n || !strcmp(hosts, "*") || (!*hosts && !req->d->loopback_only))
        return true;
    return ts_slice_is_nocase(name, "localhost") || access_is_address(name) || access_listed(hosts, name);
}

bool tsd_access_request(const struct tsd_req *req, struct tsd_denial *out)
{
    struct ts_slice value, host = access_host_ok(req, req->host) ? req->target_host : req->host;
    bool compat = req->d->set.rules.compat;
    if (!access_host_ok(req, host))
        return access_refuse(req, out, TSD_DENIED_HOST, 403,
                             "The host name '%.*s' is not one of this daemon; add it to http_hosts if it is",
                             TS_SHOWN(host, 100));
    if (!compat && tsd_req_param(req, "method_override", &value))
        return access_refuse(req, out, TSD_DENIED_METHOD, 400,
                             "method_override is only taken with compat = opentsdb; send the method itself");
    if (!req->d->set.jsonp && tsd_req_param(req, "jsonp", &value))
        return access_refuse(req, out, TSD_DENIED_METHOD, 400,
                             "jsonp is switched off; http_jsonp = true allows it");
    return true;
}

bool tsd_access_same_origin(const struct tsd_req *req)
{
    const char *p = req->origin.n ? memmem(req->origin.p, req->origin.n, "://", 3) : NULL;
    if (!p || !req->host.n)
        return false;
    p += 3;
    size_t n = (size_t)(req->origin.p + req->origin.n - p);
    return n == req->host.n && !strncasecmp(p, req->host.p, n);
}

/* May a page send a body of this type without a preflight request (CORS "simple" types)? */
static bool access_simple_type(struct ts_slice type)
{
    static const char *const simple[] = {"text/plain", "application/x-www-form-urlencoded",
                                         "multipart/form-data"};
    const char *end = type.n ? memchr(type.p, ';', type.n) : NULL;
    struct ts_slice name = {type.p, end ? (size_t)(end - type.p) : type.n};
    while (name.n && name.p[name.n - 1] == ' ')
        name.n--;
    for (size_t i = 0; i < sizeof(simple) / sizeof(simple[0]); i++)
        if (ts_slice_is_nocase(name, simple[i]))
            return true;
    return name.n == 0;
}

/* Sec-Fetch-Site is the browser's own word; without it Origin is compared with our Host; without both no browser sent it. */
static bool access_site_ok(const struct tsd_req *req, struct tsd_denial *out)
{
    struct ts_slice site = req->fetch_site, origin = req->origin;
    struct ts_slice shown = origin.n ? origin : TS_SLICE_LIT("without Origin");
    if (ts_slice_is_nocase(site, "same-origin") || ts_slice_is_nocase(site, "none"))
        return true;
    if (!site.n && (!origin.n || tsd_access_same_origin(req)))
        return true;
    if (!origin.n || !tsd_access_origin_listed(req->d->set.cors_domains, origin))
        return access_refuse(
            req, out, TSD_DENIED_SITE, 403,
            "A page of another site (%.*s) may not change anything here; http_cors_domains lists the "
            "origins that may",
            TS_SHOWN(shown, 100));
    if (req->body.n && access_simple_type(req->content_type))
        return access_refuse(req, out, TSD_DENIED_SITE, 415,
                             "A page of another site must send its body as application/json");
    return true;
}

bool tsd_access_change(const struct tsd_req *req, struct tsd_denial *out)
{
    if (req->by_get && !req->d->set.rules.compat)
        return access_refuse(req, out, TSD_DENIED_METHOD, 405,
                             "GET changes nothing here (only with compat = opentsdb); use POST");
    return access_site_ok(req, out);
}

bool tsd_access_endpoint(const struct tsd_req *req, const struct tsd_endpoint *e, struct tsd_denial *out)
{
    unsigned method = (unsigned)req->method;
    const struct tsd_settings *set = &req->d->set;
    unsigned needs = (method & e->reads ? TSD_MAY_READ : 0u) | (method & e->changes ? TSD_MAY_WRITE : 0u) |
                     (method & e->admin ? TSD_MAY_ADMIN : 0u);
    if (!tsd_identity_may(&req->c->who, needs))
        return access_refuse(req, out, TSD_DENIED_CLIENT, 403, "This client may not %s",
                             needs & TSD_MAY_ADMIN   ? "administrate the daemon"
                             : needs & TSD_MAY_WRITE ? "change anything"
                                                     : "read");
    if (!(method & (e->changes | e->admin)))
        return true;
    if ((e->flags & TSD_EP_HARMLESS) ? !access_site_ok(req, out) : !tsd_access_change(req, out))
        return false;
    if ((method & e->admin) && !req->c->who.local && !set->admin_remote)
        return access_refuse(req, out, TSD_DENIED_ADMIN, 403,
                             "Only for clients on this machine; admin_remote = true opens it to others");
    if (!(method & e->guarded) || (set->allow & (unsigned)e->allow))
        return true;
    for (size_t i = 0; i < sizeof(access_keys) / sizeof(access_keys[0]); i++)
        if (access_keys[i].allow == e->allow)
            return access_refuse(req, out, TSD_DENIED_KEY, 403,
                                 "%s is switched off: the daemon needs %s = true", access_keys[i].what,
                                 access_keys[i].key);
    TS_BUG("%s names no permission", e->path);
}
