/*
 * sample.c - names, labels and their escapes.
 *
 * Threads    see sample.h
 */
#include "base/sample.h"

#include <stdio.h>
#include <string.h>

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':' || c == '.' || c == '-';
}

/* Take a name off the front. */
static bool take_name(struct ts_slice *s, char out[TS_SAMPLE_BYTES])
{
    size_t n = 0;
    while (n < s->n && name_char(s->p[n]))
        n++;
    if (!n || n >= TS_SAMPLE_BYTES)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = s->p[i] == ':' ? '_' : s->p[i];
    out[n] = '\0';
    *s = (struct ts_slice){s->p + n, s->n - n};
    return true;
}

static bool take_char(struct ts_slice *s, char c)
{
    while (s->n && (*s->p == ' ' || *s->p == '\t'))
        *s = (struct ts_slice){s->p + 1, s->n - 1};
    if (!s->n || *s->p != c)
        return false;
    *s = (struct ts_slice){s->p + 1, s->n - 1};
    return true;
}

/* Take "text" with its escapes; what is longer than fits is cut. */
static bool take_quoted(struct ts_slice *s, char out[TS_SAMPLE_BYTES])
{
    size_t n = 0;
    if (!take_char(s, '"'))
        return false;
    while (s->n && *s->p != '"') {
        size_t step = *s->p == '\\' && s->n > 1 ? 2 : 1;
        char c = s->p[step - 1];
        if (n + 1 < TS_SAMPLE_BYTES)
            out[n++] = step == 2 && c == 'n' ? ' ' : c;
        *s = (struct ts_slice){s->p + step, s->n - step};
    }
    out[n] = '\0';
    return take_char(s, '"');
}

/* {a="b",c="d"}; __name__ is the metric. */
static bool take_labels(struct ts_slice *s, struct ts_sample *p)
{
    if (!take_char(s, '{'))
        return true;
    while (!take_char(s, '}')) {
        char key[TS_SAMPLE_BYTES], value[TS_SAMPLE_BYTES];
        struct ts_slice name;
        if (!take_name(s, key) || !take_char(s, '=') || !take_quoted(s, value))
            return false;
        (void)take_char(s, ',');
        while (s->n && *s->p == ' ')
            *s = (struct ts_slice){s->p + 1, s->n - 1};
        if (strcmp(key, "__name__") == 0) {
            name = ts_slice_str(value);
            if (p->metric[0] || !take_name(&name, p->metric) || name.n)
                return false;
            continue;
        }
        if (!*value)
            continue;
        if (p->n_labels == TS_SAMPLE_LABELS)
            return false;
        (void)snprintf(p->keys[p->n_labels], TS_SAMPLE_BYTES, "%s", key);
        (void)snprintf(p->values[p->n_labels], TS_SAMPLE_BYTES, "%s",
                       value[0] == '+' ? value + 1 : value); /* le="+Inf" */
        p->n_labels++;
    }
    return true;
}

bool ts_sample_read(struct ts_slice *rest, struct ts_sample *out)
{
    out->n_labels = 0;
    out->metric[0] = '\0';
    if (rest->n && *rest->p != '{' && !take_name(rest, out->metric))
        return false;
    return take_labels(rest, out) && out->metric[0];
}
