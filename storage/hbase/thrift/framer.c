/*
 * framer.c - the walk over a message or a value: where it ends.
 *
 * The walk goes on by whole units: the head of a field together with a value of a fixed size, with a whole string, or with the head of a list.
 * What is not there as a whole is looked at again at the next call, at most 23 bytes of heads; levels are remembered.
 * Threads    see binary.h
 */
#include "storage/hbase/thrift/binary.h"

#define COMPACT_ID 0x82 /* first byte of the compact protocol */

/* Bytes of a value of a type; 0 = they differ. */
static size_t fixed_bytes(uint8_t type)
{
    static const uint8_t bytes[] = {
        [STO_THRIFT_BOOL] = 1, [STO_THRIFT_BYTE] = 1, [STO_THRIFT_DOUBLE] = 8,
        [STO_THRIFT_I16] = 2,  [STO_THRIFT_I32] = 4,  [STO_THRIFT_I64] = 8,
    };
    return type < sizeof(bytes) ? bytes[type] : 0;
}

void sto_thrift_framer_init(struct sto_thrift_framer *f, enum sto_thrift_transport transport,
                            size_t max_bytes)
{
    f->transport = transport;
    f->max_bytes = max_bytes;
    f->need_bytes = 4;
    f->at = 0;
    f->in_body = false;
    f->depth = 0;
    f->why = NULL;
}

static int corrupt(struct sto_thrift_framer *f, const char *why)
{
    f->why = why;
    return TS_ECORRUPT;
}

/* Are the first `end` bytes there? 1, 0 (later) or TS_ELIMIT (never). */
static int reach(struct sto_thrift_framer *f, size_t n_have, uint64_t end)
{
    if (end > f->max_bytes)
        return TS_ELIMIT;
    f->need_bytes = (size_t)end;
    return end <= n_have;
}

static int push(struct sto_thrift_framer *f, struct sto_thrift_level level)
{
    if (f->depth == STO_THRIFT_MAX_DEPTH)
        return corrupt(f, "it is nested too deeply");
    if (level.left > f->max_bytes) /* an item has at least one byte */
        return TS_ELIMIT;
    f->levels[f->depth++] = level;
    return 1;
}

/* Move *at behind a value that is not a number, or into it if it has values itself. 1; 0: more bytes are needed; or an error. */
static int walk_value(struct sto_thrift_framer *f, const uint8_t *p, size_t n, uint8_t type, size_t *at)
{
    size_t from = *at, n_head = type == STO_THRIFT_STRUCT ? 0 : type == STO_THRIFT_MAP ? 6 : 5;
    if (type == STO_THRIFT_STRING)
        n_head = 4;
    else if (type < STO_THRIFT_STRUCT || type > STO_THRIFT_LIST)
        return corrupt(f, "a value has an unknown type");
    int rc = reach(f, n, (uint64_t)from + n_head);
    if (rc < 1)
        return rc;
    *at = from + n_head;
    uint32_t count = n_head ? sto_thrift_ld32(p + from + n_head - 4) : 0;
    if (count > INT32_MAX)
        return corrupt(f, "a length is negative");
    switch (type) {
    case STO_THRIFT_STRING:
        rc = reach(f, n, (uint64_t)*at + count);
        *at += rc == 1 ? count : 0;
        return rc;
    case STO_THRIFT_STRUCT:
        return push(f, (struct sto_thrift_level){.kind = STO_THRIFT_STRUCT});
    case STO_THRIFT_MAP:
        return push(f, (struct sto_thrift_level){
                           .left = 2 * (uint64_t)count, .kind = type, .key = p[from], .value = p[from + 1]});
    default:
        return push(f, (struct sto_thrift_level){.left = count, .kind = STO_THRIFT_LIST, .value = p[from]});
    }
}

/* The next unit of a struct. */
static int walk_struct(struct sto_thrift_framer *f, const uint8_t *p, size_t n)
{
    size_t at = f->at;
    int rc = reach(f, n, (uint64_t)at + 1);
    if (rc < 1)
        return rc;
    uint8_t type = p[at];
    if (type == STO_THRIFT_STOP) {
        f->at = at + 1;
        f->depth--;
        return 1;
    }
    size_t fixed = fixed_bytes(type);
    at += 3 + fixed;
    rc = fixed ? reach(f, n, at) : walk_value(f, p, n, type, &at);
    if (rc == 1)
        f->at = at;
    return rc;
}

/* The next items of a list, set or map. */
static int walk_items(struct sto_thrift_framer *f, const uint8_t *p, size_t n)
{
    struct sto_thrift_level *l = &f->levels[f->depth - 1];
    if (l->left == 0) {
        f->depth--;
        return 1;
    }
    uint8_t type = l->kind == STO_THRIFT_MAP && l->left % 2 == 0 ? l->key : l->value;
    size_t fixed = fixed_bytes(type), at = f->at;
    uint64_t k = 1;
    int rc;
    if (fixed && l->kind == STO_THRIFT_LIST) { /* as many numbers as there are */
        k = (n > at ? n - at : 0) / fixed;
        k = k < 1 ? 1 : k > l->left ? l->left : k;
    }
    if (fixed) {
        rc = reach(f, n, at + k * fixed);
        at += (size_t)k * fixed;
    } else {
        rc = walk_value(f, p, n, type, &at);
    }
    if (rc == 1) {
        f->at = at;
        l->left -= k;
    }
    return rc;
}

static int walk(struct sto_thrift_framer *f, const uint8_t *p, size_t n)
{
    int rc = 1;
    while (rc == 1 && f->depth)
        rc = f->levels[f->depth - 1].kind == STO_THRIFT_STRUCT ? walk_struct(f, p, n) : walk_items(f, p, n);
    return rc;
}

void sto_thrift_skip(struct sto_thrift_in *in, enum sto_thrift_type type)
{
    size_t n = (size_t)(in->end - in->p), at = fixed_bytes((uint8_t)type);
    if (in->why)
        return;
    struct sto_thrift_framer f;
    sto_thrift_framer_init(&f, STO_THRIFT_BUFFERED, n);
    int rc = at ? reach(&f, n, at) : walk_value(&f, in->p, n, (uint8_t)type, &at);
    f.at = at;
    if (rc == 1)
        rc = walk(&f, in->p, n);
    if (rc == 1)
        in->p += f.at;
    else
        sto_thrift_in_fail(in, f.why ? f.why : "it ends inside a value");
}

/* The head of a message: version, name, sequence id. */
static int walk_head(struct sto_thrift_framer *f, const uint8_t *p, size_t n)
{
    if (n && p[0] == COMPACT_ID)
        return corrupt(f, "it is in the compact protocol, but only the binary one is spoken here");
    int rc = reach(f, n, 8);
    if (n >= 4 && sto_thrift_ld32(p) >> 16 != 0x8001)
        return corrupt(f, p[0] == 0 && n >= 6 && p[4] == 0x80 && p[5] == 1
                              ? "it comes in a frame, but the transport is said to be buffered"
                              : "it is no strict message of the binary protocol");
    if (rc < 1)
        return rc;
    uint32_t n_name = sto_thrift_ld32(p + 4);
    if (n_name > STO_THRIFT_MAX_NAME_BYTES)
        return corrupt(f, "the name of its call is too long");
    rc = reach(f, n, 12 + (uint64_t)n_name);
    if (rc < 1)
        return rc;
    f->at = 12 + n_name;
    f->in_body = true;
    return push(f, (struct sto_thrift_level){.kind = STO_THRIFT_STRUCT});
}

/* A frame: 1, 0 (later) or an error. */
static int walk_frame(struct sto_thrift_framer *f, const uint8_t *p, size_t n, size_t *out_bytes)
{
    f->need_bytes = 4;
    if (n < 4)
        return 0;
    uint32_t len = sto_thrift_ld32(p);
    if (len >> 16 == 0x8001 || p[0] == COMPACT_ID)
        return corrupt(f, "it comes without a frame, but the transport is said to be framed");
    if (len > INT32_MAX)
        return corrupt(f, "the length of its frame is negative");
    if (len > f->max_bytes)
        return TS_ELIMIT;
    f->need_bytes = 4 + (size_t)len;
    *out_bytes = f->need_bytes;
    return n >= f->need_bytes;
}

int sto_thrift_framer_walk(struct sto_thrift_framer *f, struct ts_slice have, size_t *out_bytes,
                           struct ts_slice *out_message, struct ts_error *err)
{
    const uint8_t *p = (const uint8_t *)have.p;
    int rc = 1;
    *out_bytes = 0;
    *out_message = (struct ts_slice){0};
    if (f->transport == STO_THRIFT_FRAMED) {
        rc = walk_frame(f, p, have.n, out_bytes);
    } else {
        if (!f->in_body)
            rc = walk_head(f, p, have.n);
        if (rc == 1)
            rc = walk(f, p, have.n);
        *out_bytes = f->at;
    }
    if (rc == 1) {
        size_t skip = f->transport == STO_THRIFT_FRAMED ? 4 : 0;
        *out_message = (struct ts_slice){have.p + skip, *out_bytes - skip};
    } else {
        *out_bytes = 0;
    }
    if (rc == TS_ELIMIT)
        ts_error_set(err, rc, "a message has more than %zu bytes", f->max_bytes);
    else if (rc < 0)
        ts_error_set(err, rc, "what arrives is no message: %s", f->why);
    return rc;
}
