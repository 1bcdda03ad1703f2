/*
 * tsuid.c - TSUIDs of the catalog.
 *
 * Source     docs/OPENTSDB.md, section 10.1
 */
#include "query/tsuid.h"

#include "base/text.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Ids have 3 or 4 bytes each; the right width is the one that gives an odd number of ids. */
int qry_tsuid_ids(struct ts_slice hex, uint32_t ids[QRY_TSUID_MAX_IDS], size_t *out_n)
{
    size_t width = hex.n % 6 == 0 && hex.n / 6 % 2 == 1 ? 6 : 8;
    if (hex.n == 0 || hex.n % width != 0 || hex.n / width % 2 == 0 || hex.n / width > QRY_TSUID_MAX_IDS)
        return TS_EINVAL;
    *out_n = hex.n / width;
    for (size_t i = 0; i < *out_n; i++) {
        uint32_t id = 0;
        for (size_t k = 0; k < width; k++) {
            int d = hex_digit(hex.p[i * width + k]);
            if (d < 0)
                return TS_EINVAL;
            id = id << 4 | (uint32_t)d;
        }
        ids[i] = id;
    }
    return 0;
}

int qry_tsuid_series(struct sto_catalog *cat, struct ts_slice hex, const struct sto_series **out,
                     struct ts_error *err)
{
    uint32_t ids[QRY_TSUID_MAX_IDS];
    struct sto_tag tags[QRY_TSUID_MAX_IDS / 2];
    size_t n = 0;
    *out = NULL;
    if (qry_tsuid_ids(hex, ids, &n) < 0)
        return ts_error_set(err, TS_EINVAL, "Invalid TSUID: %.*s", TS_SHOWN(hex, 150));
    for (size_t i = 0; i < n / 2; i++)
        tags[i] = (struct sto_tag){ids[1 + 2 * i], ids[2 + 2 * i]};
    if (sto_series_find_ids(cat, ids[0], tags, n / 2, out) < 0)
        return ts_error_set(err, TS_ENOTFOUND, "No such TSUID: %.*s", TS_SHOWN(hex, 150));
    return 0;
}

/* Bytes of an id: 3, or 4 if an id does not fit. */
static int tsuid_width(uint32_t all)
{
    return all >> 24 ? 8 : 6;
}

/* One id, width hex digits. Answers have thousands of them. */
static void put_id(struct ts_buf *out, int width, uint32_t id)
{
    static const char digits[] = "0123456789ABCDEF";
    char text[8];
    for (int i = width; i-- > 0; id >>= 4)
        text[i] = digits[id & 15];
    ts_buf_append(out, text, (size_t)width);
}

void qry_tsuid(const struct sto_series *s, struct ts_buf *out)
{
    uint32_t all = s->metric;
    for (size_t i = 0; i < s->n_tags; i++)
        all |= s->tags[i].k | s->tags[i].v;
    int width = tsuid_width(all);
    put_id(out, width, s->metric);
    for (size_t i = 0; i < s->n_tags; i++) {
        put_id(out, width, s->tags[i].k);
        put_id(out, width, s->tags[i].v);
    }
}

int qry_tsuid_plain(struct ts_slice hex, struct ts_buf *out, struct ts_error *err)
{
    uint32_t ids[QRY_TSUID_MAX_IDS], all = 0;
    size_t n = 0;
    if (qry_tsuid_ids(hex, ids, &n) < 0)
        return ts_error_set(err, TS_EINVAL, "Invalid TSUID: %.*s", TS_SHOWN(hex, 150));
    for (size_t i = 0; i < n; i++)
        all |= ids[i];
    for (size_t i = 0; i < n; i++)
        put_id(out, tsuid_width(all), ids[i]);
    return 0;
}
