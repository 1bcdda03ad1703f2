/*
 * binary.c - values of Thrift's binary protocol, written and read.
 *
 * Source     see binary.h
 * Invariant  nothing is read at or beyond `end`; no length is used before it is compared with the bytes that are left
 * Not here   where a message ends, and skipping (framer.c)
 */
#include "storage/hbase/thrift/binary.h"

#define STRICT_VERSION 0x80010000u /* of a message, in its upper 16 bits */
#define VERSION_MASK   0xffff0000u

/* --- writing --- */

static void st16(char *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof(v));
}

static void put_raw_i32(struct ts_buf *out, uint32_t v)
{
    char *p = ts_buf_reserve(out, 4);
    if (!p)
        return;
    sto_thrift_st32(p, v);
    out->n += 4;
}

/* Bytes behind a head of n_head bytes, whose last four are their length. Returns where to write the rest of the head. */
static char *put_counted(struct ts_buf *out, size_t n_head, struct ts_slice bytes)
{
    char *p = NULL;
    if (bytes.n <= INT32_MAX)
        p = ts_buf_reserve(out, n_head + bytes.n);
    if (!p) {
        out->failed = true;
        return NULL;
    }
    sto_thrift_st32(p + n_head - 4, (uint32_t)bytes.n);
    if (bytes.n)
        memcpy(p + n_head, bytes.p, bytes.n);
    out->n += n_head + bytes.n;
    return p;
}

void sto_thrift_put_message(struct ts_buf *out, enum sto_thrift_message type, struct ts_slice name,
                            int32_t seq)
{
    put_raw_i32(out, STRICT_VERSION | (uint32_t)type);
    put_counted(out, 4, name);
    put_raw_i32(out, (uint32_t)seq);
}

void sto_thrift_put_field(struct ts_buf *out, enum sto_thrift_type type, int16_t id)
{
    char *p = ts_buf_reserve(out, 3);
    if (!p)
        return;
    p[0] = (char)type;
    st16(p + 1, (uint16_t)id);
    out->n += 3;
}

void sto_thrift_put_stop(struct ts_buf *out)
{
    ts_buf_char(out, STO_THRIFT_STOP);
}

void sto_thrift_put_bool(struct ts_buf *out, int16_t id, bool v)
{
    sto_thrift_put_field(out, STO_THRIFT_BOOL, id);
    ts_buf_char(out, v);
}

void sto_thrift_put_i32(struct ts_buf *out, int16_t id, int32_t v)
{
    sto_thrift_put_field(out, STO_THRIFT_I32, id);
    put_raw_i32(out, (uint32_t)v);
}

void sto_thrift_put_i64(struct ts_buf *out, int16_t id, int64_t v)
{
    char *p = ts_buf_reserve(out, 11);
    if (!p)
        return;
    uint64_t be = __builtin_bswap64((uint64_t)v);
    p[0] = STO_THRIFT_I64;
    st16(p + 1, (uint16_t)id);
    memcpy(p + 3, &be, sizeof(be));
    out->n += 11;
}

void sto_thrift_put_bytes(struct ts_buf *out, int16_t id, struct ts_slice bytes)
{
    char *p = put_counted(out, 7, bytes);
    if (!p)
        return;
    p[0] = STO_THRIFT_STRING;
    st16(p + 1, (uint16_t)id);
}

size_t sto_thrift_put_list(struct ts_buf *out, int16_t id, enum sto_thrift_type items, int32_t n)
{
    sto_thrift_put_field(out, STO_THRIFT_LIST, id);
    ts_buf_char(out, (char)items);
    put_raw_i32(out, (uint32_t)n);
    return out->failed ? 0 : out->n - 4;
}

void sto_thrift_put_item(struct ts_buf *out, struct ts_slice bytes)
{
    put_counted(out, 4, bytes);
}

void sto_thrift_set_i32(struct ts_buf *out, size_t off, int32_t v)
{
    if (!out->failed)
        sto_thrift_st32(out->p + off, (uint32_t)v);
}

/* --- reading --- */

struct sto_thrift_in sto_thrift_in(struct ts_slice bytes)
{
    static const uint8_t none[1]; /* so that p + 0 is defined */
    const uint8_t *p = bytes.p ? (const uint8_t *)bytes.p : none;
    return (struct sto_thrift_in){.p = p, .end = p + bytes.n};
}

void sto_thrift_in_fail(struct sto_thrift_in *in, const char *why)
{
    if (!in->why)
        in->why = why;
    in->p = in->end;
}

int sto_thrift_in_error(const struct sto_thrift_in *in, const char *what, struct ts_error *err)
{
    return in->why ? ts_error_set(err, TS_ECORRUPT, "%s is damaged: %s", what, in->why) : 0;
}

/* The next n bytes, or NULL. */
static const uint8_t *take(struct sto_thrift_in *in, size_t n)
{
    const uint8_t *p = in->p;
    if ((size_t)(in->end - p) < n) {
        sto_thrift_in_fail(in, "it ends inside a value");
        return NULL;
    }
    in->p = p + n;
    return p;
}

bool sto_thrift_get_message(struct sto_thrift_in *in, enum sto_thrift_message *out_type,
                            struct ts_slice *out_name, int32_t *out_seq)
{
    uint32_t version = (uint32_t)sto_thrift_get_i32(in);
    uint32_t type = version & 0xff;
    *out_type = STO_THRIFT_EXCEPTION;
    *out_name = (struct ts_slice){0};
    *out_seq = 0;
    if (!in->why && (version & VERSION_MASK) != STRICT_VERSION)
        sto_thrift_in_fail(in, "it is no strict message of the binary protocol");
    if (!in->why && type != STO_THRIFT_CALL && type != STO_THRIFT_REPLY && type != STO_THRIFT_EXCEPTION)
        sto_thrift_in_fail(in, "its type is unknown");
    *out_name = sto_thrift_get_bytes(in);
    *out_seq = sto_thrift_get_i32(in);
    if (!in->why)
        *out_type = (enum sto_thrift_message)type;
    return !in->why;
}

bool sto_thrift_get_field(struct sto_thrift_in *in, enum sto_thrift_type *out_type, int16_t *out_id)
{
    const uint8_t *p = take(in, 1);
    *out_type = STO_THRIFT_STOP;
    *out_id = 0;
    if (!p || *p == STO_THRIFT_STOP)
        return false;
    enum sto_thrift_type type = (enum sto_thrift_type) * p;
    p = take(in, 2);
    if (!p)
        return false;
    *out_type = type;
    *out_id = (int16_t)(p[0] << 8 | p[1]);
    return true;
}

bool sto_thrift_get_bool(struct sto_thrift_in *in)
{
    const uint8_t *p = take(in, 1);
    return p && *p;
}

int32_t sto_thrift_get_i32(struct sto_thrift_in *in)
{
    const uint8_t *p = take(in, 4);
    return p ? (int32_t)sto_thrift_ld32(p) : 0;
}

int64_t sto_thrift_get_i64(struct sto_thrift_in *in)
{
    const uint8_t *p = take(in, 8);
    uint64_t v = 0;
    if (p)
        memcpy(&v, p, sizeof(v));
    return (int64_t)__builtin_bswap64(v);
}

struct ts_slice sto_thrift_get_bytes(struct sto_thrift_in *in)
{
    uint32_t n = (uint32_t)sto_thrift_get_i32(in); /* a negative length is larger than whatever is left */
    const uint8_t *p = in->why ? NULL : take(in, n);
    return p ? (struct ts_slice){(const char *)p, n} : (struct ts_slice){0};
}

uint32_t sto_thrift_get_list(struct sto_thrift_in *in, enum sto_thrift_type items)
{
    const uint8_t *p = take(in, 1);
    uint32_t n = (uint32_t)sto_thrift_get_i32(in);
    if (in->why)
        return 0;
    if (n > (size_t)(in->end - in->p)) { /* an item has at least one byte */
        sto_thrift_in_fail(in, "a list has more items than bytes");
        return 0;
    }
    if (n && *p != items) {
        sto_thrift_in_fail(in, "a list has items of another type");
        return 0;
    }
    return n;
}
