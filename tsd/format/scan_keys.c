/*
 * scan_keys.c - ranges of row keys: which series and hours have a key that a scan asks for.
 *
 * The key of a row is the one that the scan prints, OpenTSDB's: the id of the metric, the time of the hour in seconds (four bytes, eight outside of
 * 1970 to 2106), and the ids of tag keys and values. For a series all but the time is fixed, so a range of keys is one of hours for it.
 *
 * Threads    any; pure functions
 * Not here   the bytes of a series (scan_forms.c), reading (scan.c)
 */
#include "tsd/format/scan_int.h"

#include "base/num.h"
#include "base/text.h"

#include <string.h>

/* --- texts --- */

static bool add_byte(struct tsd_scan_key *k, unsigned v)
{
    if (k->n == sizeof k->p)
        return false;
    k->p[k->n++] = (uint8_t)v;
    return true;
}

/* "0000015080E227" */
static bool read_hex(struct ts_slice text, struct tsd_scan_key *out)
{
    uint32_t v;
    if (text.n % 2)
        return false;
    for (size_t i = 0; i < text.n; i += 2)
        if (!ts_num_parse_hex((struct ts_slice){text.p + i, 2}, &v) || !add_byte(out, v))
            return false;
    return text.n > 0;
}

/* "[0, 0, 1, 80, -30]", as rows are printed; bytes above 127 may be written either way. */
static bool read_list(struct ts_slice text, struct tsd_scan_key *out)
{
    const char *p = text.p + 1, *end = text.p + text.n - 1;
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        struct ts_slice one = {p, (size_t)((comma ? comma : end) - p)};
        int64_t v;
        while (one.n && *one.p == ' ') {
            one.p++;
            one.n--;
        }
        if (ts_num_parse_int(one, &v, NULL) < 0 || v < -128 || v > 255 || !add_byte(out, (unsigned)(v & 255)))
            return false;
        p = comma ? comma + 1 : end;
        if (comma && p == end)
            return false;
    }
    return out->n > 0;
}

int tsd_scan__key_read(struct ts_slice text, const char *option, struct tsd_scan_key *out,
                       struct ts_error *err)
{
    bool list = text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';
    *out = (struct tsd_scan_key){.n = 0};
    if (list ? read_list(text, out) : read_hex(text, out))
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "%s is a key or its beginning, as bytes or hexadecimal digits: \"[0, 0, 1, 80, -30]\" or "
        "00000150E2, of %zu bytes at most, not \"%.*s\"",
        option, sizeof out->p, TS_SHOWN(text, 64));
}

void tsd_scan__key_prefix(const struct tsd_scan_key *prefix, struct tsd_scan_range *out)
{
    *out = (struct tsd_scan_range){.from = *prefix, .to = *prefix};
    struct tsd_scan_key *to = &out->to; /* the first key behind those with the prefix; n 0: there is none */
    while (to->n && to->p[to->n - 1] == 0xff)
        to->n--;
    if (to->n)
        to->p[to->n - 1]++;
}

/* --- ranges --- */

static int compare(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    int c = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return c ? c : n_a < n_b ? -1 : n_a > n_b;
}

bool tsd_scan__key_has(const struct tsd_scan_range *range, const uint8_t *key, size_t n)
{
    const struct tsd_scan_key *from = &range->from, *to = &range->to;
    return (!from->n || compare(key, n, from->p, from->n) >= 0) &&
           (!to->n || compare(key, n, to->p, to->n) < 0);
}

/* Where a bound lies among the keys of a series: the time in it, filled with zeros, and how the tags compare with what follows it
 * (0: nothing does, or they are equal). */
enum place { ALL_BELOW = -1, AT_A_TIME, ALL_ABOVE };
static enum place place_of(const struct tsd_scan_key *bound, const uint8_t *ids, size_t n_ids,
                           size_t metric_n, int64_t *out_s, int *out_tags)
{
    size_t n = bound->n < metric_n ? bound->n : metric_n;
    int c = memcmp(ids, bound->p, n);
    *out_s = 0;
    *out_tags = 1;
    if (c || bound->n <= metric_n)
        return c < 0 ? ALL_BELOW : ALL_ABOVE; /* a key is above its own beginning */
    for (size_t i = 0; i < TSD_SCAN_TIME_BYTES; i++)
        *out_s = *out_s << 8 | (metric_n + i < bound->n ? bound->p[metric_n + i] : 0);
    if (bound->n > metric_n + TSD_SCAN_TIME_BYTES)
        *out_tags = compare(ids + metric_n, n_ids - metric_n, bound->p + metric_n + TSD_SCAN_TIME_BYTES,
                            bound->n - metric_n - TSD_SCAN_TIME_BYTES);
    return AT_A_TIME;
}

bool tsd_scan__key_hours(const struct tsd_scan_range *range, const uint8_t *ids, size_t n_ids,
                         size_t metric_n, int64_t *out_first_s, int64_t *out_last_s)
{
    int64_t s;
    int tags;
    enum place at;
    *out_first_s = 0;
    *out_last_s = UINT32_MAX;
    if (range->from.n) {
        at = place_of(&range->from, ids, n_ids, metric_n, &s, &tags);
        if (at == ALL_BELOW)
            return false;
        if (at == AT_A_TIME)
            *out_first_s = s + (tags < 0);
    }
    if (range->to.n) {
        at = place_of(&range->to, ids, n_ids, metric_n, &s, &tags);
        if (at == ALL_ABOVE)
            return false;
        if (at == AT_A_TIME)
            *out_last_s = s - (tags >= 0);
    }
    return *out_first_s <= *out_last_s;
}
