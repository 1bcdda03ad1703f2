/*
 * replies.c - results and exceptions, field by field.
 *
 * Fields may come in any order. One of a known number and another type is skipped, as Thrift's own readers do.
 * Threads    see replies.h
 */
#include "storage/hbase/thrift/replies.h"

#include <ctype.h>
#include <stdio.h>

#define SHOWN_BYTES 180 /* of an exception's first line */

/* Fields of a struct whose value begins here. */
struct field {
    enum sto_thrift_type type;
    int16_t id;
};

static bool next(struct sto_thrift_in *in, struct field *f)
{
    return sto_thrift_get_field(in, &f->type, &f->id);
}

static bool is(const struct field *f, int16_t id, enum sto_thrift_type type)
{
    return f->id == id && f->type == type;
}

/* Skip a value and return its bytes. */
static struct ts_slice skipped(struct sto_thrift_in *in, enum sto_thrift_type type)
{
    const uint8_t *from = in->p;
    sto_thrift_skip(in, type);
    return in->why ? (struct ts_slice){0} : (struct ts_slice){(const char *)from, (size_t)(in->p - from)};
}

static int damaged(const struct sto_thrift_in *in, enum sto_thrift_call call, struct ts_error *err)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "the reply to %s", sto_thrift_call_info(call)->name);
    return sto_thrift_in_error(in, what, err);
}

/* --- the outer part --- */

/* TIOError, TIllegalArgument and TApplicationException: the text is field 1, canRetry is field 2 of the first. */
static void read_exception(struct sto_thrift_in *in, struct sto_thrift_reply *out)
{
    struct field f;
    out->text = TS_SLICE_LIT("no text");
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->text = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_BOOL))
            out->can_retry = sto_thrift_get_bool(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* The result struct: field 0 is the value, others are exceptions. */
static void read_result(struct sto_thrift_in *in, struct sto_thrift_reply *out)
{
    enum sto_thrift_type want = sto_thrift_call_info(out->call)->result;
    bool found = want == STO_THRIFT_STOP;
    struct field f;
    while (next(in, &f)) {
        if (f.id == 0 && f.type == want) {
            out->value = skipped(in, f.type);
            found = true;
        } else if (f.type == STO_THRIFT_STRUCT && (f.id == 1 || f.id == 2)) {
            out->outcome = f.id == 1 ? STO_THRIFT_IO_ERROR : STO_THRIFT_ILLEGAL_ARGUMENT;
            read_exception(in, out);
        } else {
            sto_thrift_skip(in, f.type);
        }
    }
    if (!found && out->outcome == STO_THRIFT_DONE)
        sto_thrift_in_fail(in, "there is no result of the expected type in it");
}

/* The first line of a text, short and without control characters, for a message. */
struct shown {
    char text[SHOWN_BYTES + 1];
};
static struct shown shown(struct ts_slice line)
{
    struct shown out = {""};
    const char *nl = line.n ? memchr(line.p, '\n', line.n) : NULL;
    if (nl)
        line.n = (size_t)(nl - line.p);
    line = ts_utf8_cut(line, SHOWN_BYTES);
    for (size_t i = 0; i < line.n; i++)
        out.text[i] = (char)((unsigned char)line.p[i] < ' ' || line.p[i] == 127 ? ' ' : line.p[i]);
    return out;
}

/* Does an exception say that a table is missing or disabled? The text of such exceptions is the name of the table and nothing else, which
 * Thrift2 passes on without the name of the exception (HBase 2.5, TableNotFoundException and TableNotEnabledException). */
static bool lacks_table(const struct sto_thrift_reply *r)
{
    const struct ts_slice other = TS_SLICE_LIT("Exception"); /* the name of one that has no text */
    if (r->outcome != STO_THRIFT_IO_ERROR || r->can_retry || !r->text.n)
        return false;
    for (size_t i = 0; i < r->text.n; i++)
        if (!isalnum((unsigned char)r->text.p[i]) && !memchr("_-.:", r->text.p[i], 4))
            return false;
    return r->text.n < other.n || memcmp(r->text.p + r->text.n - other.n, other.p, other.n) != 0;
}

static int refused(const struct sto_thrift_reply *r, struct ts_error *err)
{
    bool table = lacks_table(r);
    return ts_error_set(err, TS_EBACKEND, "HBase refuses %s: %s%s%s", sto_thrift_call_info(r->call)->name,
                        table ? "table " : "", shown(r->text).text,
                        table ? " is missing or disabled; tsd hbase create-tables creates it, and one of the "
                                "keys hbase_data_table, hbase_uid_table, hbase_tree_table and "
                                "hbase_meta_table names it"
                              : "");
}

int sto_thrift_reply_open(struct ts_slice message, enum sto_thrift_call call, int32_t seq,
                          struct sto_thrift_reply *out, struct ts_error *err)
{
    const char *name = sto_thrift_call_info(call)->name;
    struct sto_thrift_in in = sto_thrift_in(message);
    enum sto_thrift_message type;
    struct ts_slice got;
    int32_t got_seq;
    *out = (struct sto_thrift_reply){.call = call};
    if (sto_thrift_get_message(&in, &type, &got, &got_seq)) {
        if (type == STO_THRIFT_CALL)
            sto_thrift_in_fail(&in, "it is a call");
        else if (got_seq != seq)
            return ts_error_set(err, TS_ECORRUPT, "reply number %d to %s came where number %d to %s is due",
                                got_seq, shown(got).text, seq, name);
        else if (!ts_slice_is(got, name))
            return ts_error_set(err, TS_ECORRUPT, "a reply to %s came where one to %s is due",
                                shown(got).text, name);
        else if (type == STO_THRIFT_REPLY)
            read_result(&in, out);
        else
            read_exception(&in, out);
    }
    if (in.why) {
        *out = (struct sto_thrift_reply){.call = call};
        return damaged(&in, call, err);
    }
    if (type == STO_THRIFT_EXCEPTION) {
        out->outcome = STO_THRIFT_APPLICATION;
        out->can_retry = false;
    }
    return out->outcome == STO_THRIFT_DONE ? 0 : refused(out, err);
}

bool sto_thrift_reply_bool(const struct sto_thrift_reply *r)
{
    struct sto_thrift_in in = sto_thrift_in(r->value);
    return sto_thrift_get_bool(&in);
}

struct sto_thrift_scanner sto_thrift_reply_scanner(const struct sto_thrift_reply *r)
{
    struct sto_thrift_in in = sto_thrift_in(r->value);
    return (struct sto_thrift_scanner){.connection = r->connection, .id = sto_thrift_get_i32(&in)};
}

/* --- items --- */

void sto_thrift_items_init(struct sto_thrift_items *it, const struct sto_thrift_reply *r)
{
    *it = (struct sto_thrift_items){.in = sto_thrift_in(r->value), .call = r->call};
    it->left = sto_thrift_call_info(r->call)->result == STO_THRIFT_LIST
                   ? sto_thrift_get_list(&it->in, STO_THRIFT_STRUCT)
                   : r->value.n > 0;
}

/* Is there another item? 1, 0 or TS_ECORRUPT. */
static int more(struct sto_thrift_items *it, struct ts_error *err)
{
    if (it->in.why)
        return damaged(&it->in, it->call, err);
    if (!it->left)
        return 0;
    it->left--;
    return 1;
}

/* TResult; TDelete alike, without cells */
int sto_thrift_row(struct sto_thrift_items *it, struct sto_thrift_row *out, struct ts_error *err)
{
    *out = (struct sto_thrift_row){.cells = sto_thrift_in((struct ts_slice){0})};
    int rc = more(it, err);
    if (rc < 1)
        return rc;
    bool has_cells = it->call != STO_THRIFT_DELETE_MULTIPLE;
    struct field f;
    while (next(&it->in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING)) {
            out->row = sto_thrift_get_bytes(&it->in);
        } else if (is(&f, 2, STO_THRIFT_LIST) && has_cells) {
            out->cells = sto_thrift_in(skipped(&it->in, f.type));
            out->n_left = sto_thrift_get_list(&out->cells, STO_THRIFT_STRUCT);
            if (out->cells.why)
                sto_thrift_in_fail(&it->in, out->cells.why);
        } else if (is(&f, 4, STO_THRIFT_BOOL) && has_cells) {
            out->is_partial = sto_thrift_get_bool(&it->in);
        } else {
            sto_thrift_skip(&it->in, f.type);
        }
    }
    if (!out->row.p && out->n_left)
        sto_thrift_in_fail(&it->in, "cells come without their row");
    return it->in.why ? damaged(&it->in, it->call, err) : 1;
}

/* TColumnValue */
int sto_thrift_row_next(struct sto_thrift_row *row, struct sto_thrift_cell *out, struct ts_error *err)
{
    struct sto_thrift_in *in = &row->cells;
    struct field f;
    *out = (struct sto_thrift_cell){0};
    if (!row->n_left)
        return sto_thrift_in_error(in, "a cell of HBase", err);
    row->n_left--;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING)) {
            out->family = sto_thrift_get_bytes(in);
        } else if (is(&f, 2, STO_THRIFT_STRING)) {
            out->qualifier = sto_thrift_get_bytes(in);
        } else if (is(&f, 3, STO_THRIFT_STRING)) {
            out->value = sto_thrift_get_bytes(in);
        } else if (is(&f, 4, STO_THRIFT_I64)) {
            out->ts_ms = sto_thrift_get_i64(in);
            out->has_ts = true;
        } else {
            sto_thrift_skip(in, f.type);
        }
    }
    if (!out->family.p || !out->qualifier.p || !out->value.p)
        sto_thrift_in_fail(in, "family, qualifier or value is missing");
    return in->why ? sto_thrift_in_error(in, "a cell of HBase", err) : 1;
}

/* TTableDescriptor */
void sto_thrift_families_init(struct sto_thrift_items *it, const struct sto_thrift_reply *r)
{
    struct sto_thrift_in in = sto_thrift_in(r->value);
    struct field f;
    *it = (struct sto_thrift_items){.in = sto_thrift_in((struct ts_slice){0}), .call = r->call};
    while (next(&in, &f)) {
        if (is(&f, 2, STO_THRIFT_LIST)) {
            it->in = sto_thrift_in(skipped(&in, f.type));
            it->left = sto_thrift_get_list(&it->in, STO_THRIFT_STRUCT);
        } else {
            sto_thrift_skip(&in, f.type);
        }
    }
    if (in.why)
        sto_thrift_in_fail(&it->in, in.why);
}

/* TColumnFamilyDescriptor */
int sto_thrift_family(struct sto_thrift_items *it, struct sto_thrift_family *out, struct ts_error *err)
{
    *out = STO_THRIFT_FAMILY(((struct ts_slice){0}));
    int rc = more(it, err);
    if (rc < 1)
        return rc;
    struct field f;
    while (next(&it->in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->name = sto_thrift_get_bytes(&it->in);
        else if (is(&f, 5, STO_THRIFT_I32))
            out->bloom = sto_thrift_get_i32(&it->in);
        else if (is(&f, 6, STO_THRIFT_I32))
            out->compression = sto_thrift_get_i32(&it->in);
        else if (is(&f, 8, STO_THRIFT_I32))
            out->encoding = sto_thrift_get_i32(&it->in);
        else if (is(&f, 10, STO_THRIFT_I32))
            out->max_versions = sto_thrift_get_i32(&it->in);
        else if (is(&f, 13, STO_THRIFT_I32))
            out->ttl_s = sto_thrift_get_i32(&it->in);
        else
            sto_thrift_skip(&it->in, f.type);
    }
    if (!out->name.p)
        sto_thrift_in_fail(&it->in, "a family has no name");
    return it->in.why ? damaged(&it->in, it->call, err) : 1;
}

/* TServerName */
static void read_server(struct sto_thrift_in *in, struct sto_thrift_region *out)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->host = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_I32))
            out->port = sto_thrift_get_i32(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* THRegionInfo */
static void read_region_info(struct sto_thrift_in *in, struct sto_thrift_region *out)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_I64))
            out->id = sto_thrift_get_i64(in);
        else if (is(&f, 3, STO_THRIFT_STRING))
            out->start = sto_thrift_get_bytes(in);
        else if (is(&f, 4, STO_THRIFT_STRING))
            out->stop = sto_thrift_get_bytes(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* THRegionLocation */
int sto_thrift_region(struct sto_thrift_items *it, struct sto_thrift_region *out, struct ts_error *err)
{
    *out = (struct sto_thrift_region){0};
    int rc = more(it, err);
    if (rc < 1)
        return rc;
    struct field f;
    while (next(&it->in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRUCT))
            read_server(&it->in, out);
        else if (is(&f, 2, STO_THRIFT_STRUCT))
            read_region_info(&it->in, out);
        else
            sto_thrift_skip(&it->in, f.type);
    }
    if (!out->host.p)
        sto_thrift_in_fail(&it->in, "a region has no server");
    return it->in.why ? damaged(&it->in, it->call, err) : 1;
}
