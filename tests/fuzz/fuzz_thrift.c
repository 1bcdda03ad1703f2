/*
 * fuzz_thrift.c - what a gateway sends: where messages end, and replies to every call, on any bytes.
 *
 * Input      first byte: bit 0 = frames, bit 1 = a request is encoded instead, bits 2 to 7 = how many bytes arrive at once, less one; then the bytes.
 *            A reply is read as one to the call that it names, with its own sequence id
 * Checked    no crash, nothing read out of bounds; messages in pieces end where they end as a whole; what is skipped is what was walked over;
 *            everything that is returned lies in the message; errors have a code and a text; requests are messages
 */
#include "storage/hbase/thrift/calls.h"
#include "storage/hbase/thrift/replies.h"
#include "tests/fuzz/fuzz_kit.h"

#define MAX_BYTES ((size_t)1 << 20)

static void check_inside(struct ts_slice part, struct ts_slice whole)
{
    CHECK(part.n == 0 || (part.p >= whole.p && part.n <= whole.n && part.p + part.n <= whole.p + whole.n));
}

static void read_rows(const struct sto_thrift_reply *reply, struct ts_slice message)
{
    struct sto_thrift_items it;
    struct sto_thrift_row row;
    struct sto_thrift_cell cell;
    struct ts_error err = {0};
    int rc, rc_cell;
    sto_thrift_items_init(&it, reply);
    while ((rc = sto_thrift_row(&it, &row, &err)) == 1) {
        check_inside(row.row, message);
        uint32_t n = row.n_left;
        while ((rc_cell = sto_thrift_row_next(&row, &cell, &err)) == 1) {
            CHECK(n-- > 0 && cell.family.p && cell.qualifier.p && cell.value.p);
            check_inside(cell.family, message);
            check_inside(cell.qualifier, message);
            check_inside(cell.value, message);
        }
        check_answer(rc_cell, &err);
        CHECK(rc_cell < 0 || n == 0);
    }
    check_answer(rc, &err);
}

static void read_tables(const struct sto_thrift_reply *reply, struct ts_slice message)
{
    struct sto_thrift_items it;
    struct sto_thrift_family family;
    struct sto_thrift_region region;
    struct ts_error err = {0};
    int rc;
    if (reply->call == STO_THRIFT_GET_TABLE_DESCRIPTOR)
        sto_thrift_families_init(&it, reply);
    else
        sto_thrift_items_init(&it, reply);
    do {
        if (reply->call == STO_THRIFT_GET_TABLE_DESCRIPTOR) {
            rc = sto_thrift_family(&it, &family, &err);
            check_inside(family.name, message);
        } else {
            rc = sto_thrift_region(&it, &region, &err);
            check_inside(region.host, message);
            check_inside(region.start, message);
            check_inside(region.stop, message);
        }
    } while (rc == 1);
    check_answer(rc, &err);
}

/* A whole message, perhaps a reply. */
static void read_message(struct ts_slice message, bool walked)
{
    struct sto_thrift_in in = sto_thrift_in(message);
    enum sto_thrift_message type;
    struct ts_slice name;
    int32_t seq;
    bool is_message = sto_thrift_get_message(&in, &type, &name, &seq);
    struct sto_thrift_in body = in;
    sto_thrift_skip(&in, STO_THRIFT_STRUCT);
    if (is_message && walked) /* the walk had one level for the body, as this has */
        CHECK(!in.why && in.p == in.end && body.p < in.p);
    int call = STO_THRIFT_N_CALLS - 1;
    while (call > 0 && !ts_slice_is(name, sto_thrift_call_info((enum sto_thrift_call)call)->name))
        call--;
    struct sto_thrift_reply reply;
    struct ts_error err = {0};
    int rc = sto_thrift_reply_open(message, (enum sto_thrift_call)call, seq, &reply, &err);
    check_answer(rc, &err);
    check_inside(reply.value, message);
    if (rc == TS_EBACKEND)
        CHECK(reply.outcome != STO_THRIFT_DONE);
    if (rc < 0)
        return;
    (void)sto_thrift_reply_bool(&reply);
    (void)sto_thrift_reply_scanner(&reply);
    if (reply.call == STO_THRIFT_GET_TABLE_DESCRIPTOR || reply.call == STO_THRIFT_GET_ALL_REGION_LOCATIONS)
        read_tables(&reply, message);
    else
        read_rows(&reply, message);
}

/* Messages in a stream, each found all at once and in pieces. */
static void read_stream(struct ts_slice s, enum sto_thrift_transport transport, size_t at_once)
{
    for (;;) {
        struct sto_thrift_framer whole, parts;
        struct ts_slice message, again;
        struct ts_error err = {0};
        size_t used = 0, used_parts = 0, n = 0;
        sto_thrift_framer_init(&whole, transport, MAX_BYTES);
        sto_thrift_framer_init(&parts, transport, MAX_BYTES);
        int rc = sto_thrift_framer_walk(&whole, s, &used, &message, &err), rc_parts = 0;
        check_answer(rc, &err);
        while (rc_parts == 0 && n < s.n) {
            n = s.n - n < at_once ? s.n : n + at_once;
            rc_parts = sto_thrift_framer_walk(&parts, (struct ts_slice){s.p, n}, &used_parts, &again, NULL);
            CHECK(rc_parts != 0 || parts.need_bytes > n);
        }
        CHECK(s.n == 0 || (rc_parts == rc && used_parts == used));
        if (rc != 1)
            return;
        CHECK(used <= s.n && used > 0 && again.n == message.n);
        read_message(message, transport == STO_THRIFT_BUFFERED);
        s = (struct ts_slice){s.p + used, s.n - used};
    }
}

/* The input as the parts of a request, which must then be one message. */
static void encode(struct ts_slice s)
{
    struct sto_thrift_request r;
    struct sto_thrift_framer f;
    struct ts_slice message;
    size_t used, n = s.n / 4;
    struct ts_slice a = {s.p, n}, b = {s.p + n, n}, c = {s.p + 2 * n, n}, d = {s.p + 3 * n, s.n - 3 * n};
    struct sto_thrift_cell cells[2] = {{a, b, c, (int64_t)n, true}, {d, a, b, 0, false}};
    struct sto_thrift_put put = {.row = d, .cells = cells, .n_cells = 2};
    struct sto_thrift_column column = {a, b, 0, false};
    struct sto_thrift_delete del = {.row = c, .columns = &column, .n_columns = 1};
    struct sto_thrift_mutation both[] = {{.put = &put}, {.delete = &del}};
    sto_thrift_request_init(&r, MAX_BYTES, NULL);
    for (int i = 0; i < 4; i++) {
        int rc =
            i == 0 ? sto_thrift_call_mutate_row(&r, a, d, both, 2)
            : i == 1
                ? sto_thrift_call_create_table(&r, d, &STO_THRIFT_FAMILY(a), 1, (struct ts_slice[]){b, c}, 2)
            : i == 2 ? sto_thrift_call_get(&r, a, &(struct sto_thrift_get){.row = b, .select = {.filter = d}})
                     : sto_thrift_call_put(&r, a, &put);
        sto_thrift_framer_init(&f, STO_THRIFT_BUFFERED, MAX_BYTES);
        CHECK(rc == (r.bytes.failed ? TS_ELIMIT : 0));
        if (rc == 0)
            CHECK(sto_thrift_framer_walk(&f, ts_buf_get(&r.bytes), &used, &message, NULL) == 1 &&
                  used == r.bytes.n);
    }
    sto_thrift_request_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    struct ts_slice s = {(const char *)data + 1, n - 1};
    if (data[0] & 2)
        encode(s);
    else
        read_stream(s, data[0] & 1 ? STO_THRIFT_FRAMED : STO_THRIFT_BUFFERED, (size_t)(data[0] >> 2) + 1);
    return 0;
}
