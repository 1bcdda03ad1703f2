/*
 * once_all.c - see once_all.h. For each table: shard (varint) | length (varint) | the table.
 */
#include "storage/engine/once_all.h"

#include "base/bytes.h"
#include "base/mem.h"

int sto_once_all_new(uint32_t n_shards, const struct sto_once_limits *limits, struct sto_once ***out)
{
    *out = ts_try_calloc(n_shards, sizeof(struct sto_once *));
    if (!*out)
        return TS_ENOMEM;
    for (uint32_t i = 0; i < n_shards; i++)
        if (sto_once_new(limits, &(*out)[i]) < 0) {
            sto_once_all_free(*out, n_shards);
            *out = NULL;
            return TS_ENOMEM;
        }
    return 0;
}

void sto_once_all_free(struct sto_once **tables, uint32_t n_shards)
{
    for (uint32_t i = 0; tables && i < n_shards; i++)
        sto_once_free(tables[i]);
    ts_free(tables);
}

/* Append a table of a shard that is already encoded. */
static int put_table(struct ts_buf *out, uint32_t shard, struct ts_slice table)
{
    uint8_t head[2 * TS_VARINT_MAX_BYTES], *p = ts_put_varint(head, shard);
    p = ts_put_varint(p, table.n);
    size_t n = out->n;
    int rc = ts_buf_append(out, head, (size_t)(p - head));
    if (rc == 0)
        rc = ts_buf_append(out, table.p, table.n);
    if (rc < 0) { /* what is there may still be used */
        out->n = n;
        out->failed = false;
    }
    return rc;
}

void sto_once_all_encode(struct sto_once *const *tables, uint32_t n_shards, uint32_t first, uint32_t step,
                         const struct sto_once_time *now, struct ts_buf *out)
{
    struct ts_buf one;
    ts_buf_init(&one, 0);
    for (uint32_t i = first; i < n_shards; i += step) {
        if (sto_once_is_new(tables[i]))
            continue;
        ts_buf_clear(&one);
        int rc = sto_once_encode(tables[i], now, &one);
        if (rc == 0)
            rc = put_table(out, i, ts_buf_get(&one));
        if (rc == 0)
            continue;
        sto_once_forget_all(tables[i]);
        ts_buf_clear(&one);
        if (sto_once_encode(tables[i], now, &one) < 0 || put_table(out, i, ts_buf_get(&one)) < 0)
            TS_BUG("no memory for 200 bytes");
    }
    ts_buf_release(&one);
}

void sto_once_all_encode_forgotten(uint32_t n_shards, uint64_t made_s, struct ts_buf *out)
{
    uint8_t bytes[2 * TS_VARINT_MAX_BYTES + 3], *p = bytes;
    *p++ = 0;                                    /* the time is not known */
    *p++ = 1;                                    /* one range, */
    *p++ = 1;                                    /* from the first second on, */
    p = ts_put_varint(p, made_s - (made_s > 0)); /* of this length */
    *p++ = 0;                                    /* no id */
    for (uint32_t i = 0; i < n_shards; i++)
        (void)put_table(out, i, (struct ts_slice){(char *)bytes, (size_t)(p - bytes)});
}

bool sto_once_all_wait(struct sto_once *const *tables, uint32_t n_shards)
{
    for (uint32_t i = 0; i < n_shards; i++)
        if (sto_once_waits(tables[i]))
            return true;
    return false;
}

int sto_once_all_change(struct sto_once *const *tables, uint32_t n_shards, uint32_t n,
                        const struct sto_once_limits *limits, struct sto_once ***out)
{
    struct sto_once **made = ts_try_calloc(n, sizeof *made);
    int rc = made ? 0 : TS_ENOMEM;
    *out = NULL;
    for (uint32_t i = n; i < n_shards && rc == 0; i++)
        rc = sto_once_same(tables[i], tables[i & (n - 1)]) ? 0 : TS_EBUSY;
    for (uint32_t k = 0; k < n && rc == 0; k++)
        rc = sto_once_copy(tables[k & (n_shards - 1)], limits, &made[k]);
    for (uint32_t i = n; i < n_shards && rc == 0; i++)
        rc = sto_once_join(made[i & (n - 1)], tables[i]);
    if (rc == 0)
        *out = made;
    else
        sto_once_all_free(made, n);
    return rc;
}

uint64_t sto_once_all_former_s(struct sto_once *const *tables, uint32_t n_shards)
{
    uint64_t former_s = 0;
    for (uint32_t i = 0; i < n_shards; i++)
        if (sto_once_former_s(tables[i]) > former_s)
            former_s = sto_once_former_s(tables[i]);
    return former_s;
}

int sto_once_all_decode(struct sto_once *const *tables, uint32_t n_shards, struct ts_slice bytes,
                        struct ts_error *err)
{
    const uint8_t *p = (const uint8_t *)bytes.p, *end = bytes.n ? p + bytes.n : p;
    while (p < end) {
        uint64_t shard, n;
        p = ts_get_varint(p, end, &shard);
        p = p ? ts_get_varint(p, end, &n) : NULL;
        if (!p || shard >= n_shards || n > (uint64_t)(end - p))
            return ts_error_set(err, TS_ECORRUPT, "table of ids of clients: invalid shard or length");
        if (!sto_once_is_new(tables[shard]))
            return ts_error_set(err, TS_ECORRUPT, "table of ids of clients: a shard has two");
        TS_TRY(sto_once_decode(tables[shard], (struct ts_slice){(const char *)p, (size_t)n}, err));
        p += n;
    }
    return 0;
}
