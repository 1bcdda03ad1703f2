/*
 * binary.h - Thrift's binary protocol: values and messages written to a buffer, read from bytes that anybody may have sent.
 *
 * Writing    functions append to a ts_buf, which remembers the first append that was refused: look at `failed` once, at the end
 * Reading    a struct sto_thrift_in walks over bytes. The first thing that is wrong ends it: it has no bytes left then, and every
 *            further read gives zero, so that a decoder checks once, at the end
 * Framing    without frames only a walk over a message shows where it ends; struct sto_thrift_framer does that while the message
 *            arrives and continues where it stopped
 * Source     Apache Thrift, doc/specs/thrift-binary-protocol.md: strict messages, big-endian integers; doc/specs/thrift-rpc.md:
 *            messages, framed and unframed transport
 * Threads    plain values: one thread at a time
 * Not here   what the messages of HBase are (calls.h, replies.h)
 */
#ifndef STORAGE_HBASE_THRIFT_BINARY_H
#define STORAGE_HBASE_THRIFT_BINARY_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Types of values, as they stand before fields and in lists. */
enum sto_thrift_type {
    STO_THRIFT_STOP = 0, /* ends the fields of a struct */
    STO_THRIFT_BOOL = 2,
    STO_THRIFT_BYTE = 3,
    STO_THRIFT_DOUBLE = 4,
    STO_THRIFT_I16 = 6,
    STO_THRIFT_I32 = 8,
    STO_THRIFT_I64 = 10,
    STO_THRIFT_STRING = 11, /* bytes as well */
    STO_THRIFT_STRUCT = 12,
    STO_THRIFT_MAP = 13,
    STO_THRIFT_SET = 14,
    STO_THRIFT_LIST = 15,
};

enum sto_thrift_message { STO_THRIFT_CALL = 1, STO_THRIFT_REPLY = 2, STO_THRIFT_EXCEPTION = 3 };

/* Buffered: message after message. Framed: each has its length, 4 bytes, before it. Both ends must agree. */
enum sto_thrift_transport { STO_THRIFT_BUFFERED, STO_THRIFT_FRAMED };

#define STO_THRIFT_MAX_DEPTH      16  /* structs, lists and maps inside each other; HBase's replies have 6 */
#define STO_THRIFT_MAX_NAME_BYTES 256 /* name of a call */

/* --- writing --- */

/** Head of a strict message; a struct with the arguments follows. */
void sto_thrift_put_message(struct ts_buf *out, enum sto_thrift_message type, struct ts_slice name,
                            int32_t seq);
/** Head of a field; its value follows. */
void sto_thrift_put_field(struct ts_buf *out, enum sto_thrift_type type, int16_t id);
/** End of the fields of a struct. */
void sto_thrift_put_stop(struct ts_buf *out);
/** A whole field. */
void sto_thrift_put_bool(struct ts_buf *out, int16_t id, bool v);
/** The same of 4 bytes; enumerations too. */
void sto_thrift_put_i32(struct ts_buf *out, int16_t id, int32_t v);
/** The same of 8 bytes. */
void sto_thrift_put_i64(struct ts_buf *out, int16_t id, int64_t v);
/** The same of any bytes; more than INT32_MAX of them are refused (out->failed). */
void sto_thrift_put_bytes(struct ts_buf *out, int16_t id, struct ts_slice bytes);
/** Head of a field with a list of n items; the items follow. Returns where n stands, for sto_thrift_set_i32. */
size_t sto_thrift_put_list(struct ts_buf *out, int16_t id, enum sto_thrift_type items, int32_t n);
/** An item of a list of strings. */
void sto_thrift_put_item(struct ts_buf *out, struct ts_slice bytes);
/** Replace the 4 bytes at an offset of what was written. Nothing happens after a refused append. */
void sto_thrift_set_i32(struct ts_buf *out, size_t off, int32_t v);
/** Write 4 bytes, big-endian, at p. */
static inline void sto_thrift_st32(void *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof(v));
}
/** Read 4 bytes, big-endian. */
static inline uint32_t sto_thrift_ld32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap32(v);
}

/* --- reading --- */

/* Bytes that are being read; they must outlive what is borrowed from them. */
struct sto_thrift_in {
    const uint8_t *p;   /* next byte */
    const uint8_t *end; /* after the last one */
    const char *why;    /* the first thing that was wrong, static text; NULL = nothing was */
};

/** Read from bytes. */
struct sto_thrift_in sto_thrift_in(struct ts_slice bytes);
/** Remember what is wrong, unless something was before; nothing can be read afterwards. */
void sto_thrift_in_fail(struct sto_thrift_in *in, const char *why);
/** Fill err with what was wrong; `what` names the thing that was read ("the reply to get"). Returns TS_ECORRUPT, or 0 if nothing was wrong. */
int sto_thrift_in_error(const struct sto_thrift_in *in, const char *what, struct ts_error *err);
/** Head of a message. False: it is not one; in->why says why. */
bool sto_thrift_get_message(struct sto_thrift_in *in, enum sto_thrift_message *out_type,
                            struct ts_slice *out_name, int32_t *out_seq);
/** Head of the next field of a struct. False: there are no more, or something is wrong. The caller reads or skips the value. */
bool sto_thrift_get_field(struct sto_thrift_in *in, enum sto_thrift_type *out_type, int16_t *out_id);
/** Values, without a field's head. */
bool sto_thrift_get_bool(struct sto_thrift_in *in);
/** 4 bytes. */
int32_t sto_thrift_get_i32(struct sto_thrift_in *in);
/** 8 bytes. */
int64_t sto_thrift_get_i64(struct sto_thrift_in *in);
/** A string, borrowed; its p is never NULL, unless something is wrong. */
struct ts_slice sto_thrift_get_bytes(struct sto_thrift_in *in);
/** Head of a list of items of one type; returns how many follow, never more than there are bytes. */
uint32_t sto_thrift_get_list(struct sto_thrift_in *in, enum sto_thrift_type items);
/** Skip a value of any type. Cost: O(its bytes); at most STO_THRIFT_MAX_DEPTH levels. */
void sto_thrift_skip(struct sto_thrift_in *in, enum sto_thrift_type type);

/* --- where a message ends --- */

/* A struct, list, set or map that the walk is inside of. */
struct sto_thrift_level {
    uint64_t left; /* items that are still to come; of a map keys and values */
    uint8_t kind;  /* STO_THRIFT_STRUCT, _LIST (sets too) or _MAP */
    uint8_t key;   /* type of a map's keys */
    uint8_t value; /* type of items; of a map's values */
};

/* The walk over one message while it arrives. Callers read need_bytes. */
struct sto_thrift_framer {
    enum sto_thrift_transport transport; /* as given */
    size_t max_bytes;                    /* of a message */
    size_t need_bytes;                   /* of the message must be there before the next call helps */
    size_t at;                           /* bytes that were walked over */
    bool in_body;                        /* the head of the message was walked over */
    unsigned depth;                      /* levels in use */
    const char *why;                     /* what is wrong, static text */
    struct sto_thrift_level levels[STO_THRIFT_MAX_DEPTH]; /* innermost last */
};

/** Begin a message. max_bytes: the longest that is accepted, without the length of its frame. */
void sto_thrift_framer_init(struct sto_thrift_framer *f, enum sto_thrift_transport transport,
                            size_t max_bytes);
/**
 * Continue the walk.
 *
 * @param have      all bytes of the message that have arrived, from its first one; at each call the same ones and more, at any address
 * @param out_bytes [out] bytes of have that the message takes, with its frame's length
 * @param out_message [out] the message itself, borrowed from have
 * @return 1   the message is whole
 *         0   not yet: f->need_bytes of it must be there before another call helps
 *         TS_ELIMIT   it is longer than max_bytes; found as soon as a length in it says so
 *         TS_ECORRUPT it is no strict binary message; the text says what it looks like
 *
 * Cost: all calls for a message together O(its bytes), plus O(1) for each call.
 */
int sto_thrift_framer_walk(struct sto_thrift_framer *f, struct ts_slice have, size_t *out_bytes,
                           struct ts_slice *out_message, struct ts_error *err);

#endif
