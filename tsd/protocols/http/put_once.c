/*
 * put_once.c - see put_once.h. Only the outermost object is looked at; values are skipped by their brackets and quotes, since the reader of
 * points checks them.
 */
#include "tsd/protocols/http/put_once.h"

#include <string.h>

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* Behind the string that begins at p; NULL: it has no end. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p < end ? p + 1 : NULL;
}

/* Behind the value that begins at p; NULL: it has no end. */
static const char *skip_value(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        if (*p == '"') {
            if (!(p = skip_string(p, end)))
                return NULL;
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            if (depth == 0)
                return p;
            depth--;
            p++;
        } else if (depth == 0 && *p == ',') {
            return p;
        } else {
            p++;
            continue;
        }
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* The next member of an object: true, or false at its end or where it is no JSON. *p: behind it. */
static bool next_member(const char **p, const char *end, struct ts_slice *name, struct ts_slice *value)
{
    const char *q = skip_blanks(*p, end), *stop;
    if (q < end && *q == ',')
        q = skip_blanks(q + 1, end);
    if (q >= end || *q != '"' || !(stop = skip_string(q, end)))
        return false;
    *name = (struct ts_slice){q + 1, (size_t)(stop - q) - 2};
    q = skip_blanks(stop, end);
    if (q >= end || *q != ':')
        return false;
    q = skip_blanks(q + 1, end);
    if (q >= end || !(stop = skip_value(q, end)))
        return false;
    *p = stop;
    while (stop > q && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\n' || stop[-1] == '\r'))
        stop--;
    *value = (struct ts_slice){q, (size_t)(stop - q)};
    return true;
}

/* Numbers in the first of several points would be ignored, and a repeat would count twice. */
static int refuse_numbered_points(const char *p, const char *end, struct ts_error *err)
{
    struct ts_slice name, value;
    bool id = false, seq = false;
    p = skip_blanks(p, end);
    if (p >= end || *p++ != '{')
        return 0;
    while (next_member(&p, end, &name, &value)) {
        id |= ts_slice_eq(name, TS_SLICE_LIT("id"));
        seq |= ts_slice_eq(name, TS_SLICE_LIT("seq"));
    }
    return id && seq ? ts_error_set(err, TS_EINVAL,
                                    "id and seq belong to the body, beside its points, and not to each point")
                     : 0;
}

int tsd_put_once_read(struct ts_slice *points, struct tsd_put_once *out, struct ts_error *err)
{
    const char *p = points->p, *end = points->n ? p + points->n : p;
    struct ts_slice name, value, id = {NULL, 0}, seq = {NULL, 0}, list = {NULL, 0};
    *out = (struct tsd_put_once){.any = false};
    p = skip_blanks(p, end);
    if (p < end && *p == '[')
        return refuse_numbered_points(p + 1, end, err);
    if (p >= end || *p++ != '{')
        return 0;
    while (next_member(&p, end, &name, &value)) {
        struct ts_slice *to = ts_slice_eq(name, TS_SLICE_LIT("id"))       ? &id
                              : ts_slice_eq(name, TS_SLICE_LIT("seq"))    ? &seq
                              : ts_slice_eq(name, TS_SLICE_LIT("points")) ? &list
                                                                          : NULL;
        if (to && to->p)
            return ts_error_set(err, TS_EINVAL, "the body has two members '%.*s'", (int)name.n, name.p);
        if (to)
            *to = value;
    }
    if (!id.p && !seq.p)
        return list.p ? ts_error_set(err, TS_EINVAL, "the body has points, but no id and seq") : 0;
    p = skip_blanks(p, end);
    if (p >= end || *p != '}' || skip_blanks(p + 1, end) != end)
        return ts_error_set(err, TS_EINVAL, "Unable to parse the given JSON");
    if (id.n > 2 && id.p[0] == '"')
        out->text = (struct ts_slice){id.p + 1, id.n - 2};
    if (tsd_once_id(out->text, &out->id) < 0)
        return ts_error_set(err, TS_EINVAL, "the id must be a string like \"1793620800-9f3a5c0e12ab77d4\"");
    if (tsd_once_seq(seq, &out->seq) < 0)
        return ts_error_set(err, TS_EINVAL, "seq must be a number from 1 on");
    if (list.p)
        *points = list;
    out->any = true;
    return 0;
}
