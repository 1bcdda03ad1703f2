/*
 * fake_decode.c - the arguments of each call, as calls.c of storage/hbase/thrift writes them and as Thrift allows.
 */
#include "tests/hbase/fake_int.h"

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

/* Begin a list of structs: n items of item_bytes, zeroed. */
static void *list(struct sto_thrift_in *in, struct ts_arena *arena, size_t item_bytes, size_t *n)
{
    *n = sto_thrift_get_list(in, STO_THRIFT_STRUCT);
    return ts_arena_zalloc(arena, *n * item_bytes + 1);
}

static void get_column(struct sto_thrift_in *in, struct sto_thrift_column *out, int64_t *amount)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->family = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_STRING))
            out->qualifier = sto_thrift_get_bytes(in);
        else if (is(&f, 3, STO_THRIFT_I64) && amount)
            *amount = sto_thrift_get_i64(in);
        else if (is(&f, 3, STO_THRIFT_I64)) {
            out->ts_ms = sto_thrift_get_i64(in);
            out->has_ts = true;
        } else
            sto_thrift_skip(in, f.type);
    }
}

static struct sto_thrift_column *get_columns(struct sto_thrift_in *in, struct ts_arena *arena, size_t *n)
{
    struct sto_thrift_column *c = list(in, arena, sizeof *c, n);
    for (size_t i = 0; i < *n && !in->why; i++)
        get_column(in, &c[i], NULL);
    return c;
}

static struct sto_thrift_cell *get_cells(struct sto_thrift_in *in, struct ts_arena *arena, size_t *n)
{
    struct sto_thrift_cell *c = list(in, arena, sizeof *c, n);
    struct field f;
    for (size_t i = 0; i < *n && !in->why; i++)
        while (next(in, &f)) {
            if (is(&f, 1, STO_THRIFT_STRING))
                c[i].family = sto_thrift_get_bytes(in);
            else if (is(&f, 2, STO_THRIFT_STRING))
                c[i].qualifier = sto_thrift_get_bytes(in);
            else if (is(&f, 3, STO_THRIFT_STRING))
                c[i].value = sto_thrift_get_bytes(in);
            else if (is(&f, 4, STO_THRIFT_I64)) {
                c[i].ts_ms = sto_thrift_get_i64(in);
                c[i].has_ts = true;
            } else
                sto_thrift_skip(in, f.type);
        }
    return c;
}

/* TPut */
static void get_put(struct sto_thrift_in *in, struct ts_arena *arena, struct sto_thrift_put *out)
{
    struct field f;
    int64_t ts_ms = 0;
    bool has_ts = false;
    struct sto_thrift_cell *cells = NULL;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->row = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_LIST))
            out->cells = cells = get_cells(in, arena, &out->n_cells);
        else if (is(&f, 3, STO_THRIFT_I64)) {
            ts_ms = sto_thrift_get_i64(in);
            has_ts = true;
        } else
            sto_thrift_skip(in, f.type);
    }
    for (size_t i = 0; has_ts && i < out->n_cells; i++)
        if (!cells[i].has_ts) {
            cells[i].has_ts = true;
            cells[i].ts_ms = ts_ms;
        }
}

/* TAppend: its field 6 is another one than TPut's. */
static void get_append(struct sto_thrift_in *in, struct ts_arena *arena, struct sto_thrift_put *out,
                       bool *returns)
{
    struct field f;
    *returns = true;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->row = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_LIST))
            out->cells = get_cells(in, arena, &out->n_cells);
        else if (is(&f, 6, STO_THRIFT_BOOL))
            *returns = sto_thrift_get_bool(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* TIncrement: as a put whose values are the amounts. */
static void get_increment(struct sto_thrift_in *in, struct ts_arena *arena, struct sto_thrift_put *out)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING)) {
            out->row = sto_thrift_get_bytes(in);
        } else if (is(&f, 2, STO_THRIFT_LIST)) {
            struct sto_thrift_cell *cells = list(in, arena, sizeof *cells, &out->n_cells);
            for (size_t i = 0; i < out->n_cells && !in->why; i++) {
                struct sto_thrift_column c = {.family = {0}};
                int64_t *amount = ts_arena_zalloc(arena, sizeof *amount);
                *amount = 1;
                get_column(in, &c, amount);
                cells[i] = (struct sto_thrift_cell){.family = c.family,
                                                    .qualifier = c.qualifier,
                                                    .value = {(const char *)amount, sizeof *amount}};
            }
            out->cells = cells;
        } else {
            sto_thrift_skip(in, f.type);
        }
    }
}

/* TDelete */
static void get_delete(struct sto_thrift_in *in, struct ts_arena *arena, struct sto_thrift_delete *out)
{
    struct field f;
    out->type = STO_THRIFT_DELETE_COLUMNS;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->row = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_LIST))
            out->columns = get_columns(in, arena, &out->n_columns);
        else if (is(&f, 4, STO_THRIFT_I32))
            out->type = (enum sto_thrift_delete_type)sto_thrift_get_i32(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

static void get_time_range(struct sto_thrift_in *in, struct sto_thrift_select *out)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_I64))
            out->from_ts_ms = sto_thrift_get_i64(in);
        else if (is(&f, 2, STO_THRIFT_I64))
            out->to_ts_ms = sto_thrift_get_i64(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* TGet */
static void get_get(struct sto_thrift_in *in, struct ts_arena *arena, struct sto_thrift_get *out)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->row = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_LIST))
            out->select.columns = get_columns(in, arena, &out->select.n_columns);
        else if (is(&f, 4, STO_THRIFT_STRUCT))
            get_time_range(in, &out->select);
        else if (is(&f, 5, STO_THRIFT_I32))
            out->select.max_versions = sto_thrift_get_i32(in);
        else if (is(&f, 6, STO_THRIFT_STRING))
            out->select.filter = sto_thrift_get_bytes(in);
        else if (is(&f, 15, STO_THRIFT_STRING))
            out->select.filter_bytes = sto_thrift_get_bytes(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* TScan */
static void get_scan(struct sto_thrift_in *in, struct ts_arena *arena, struct sto_thrift_scan *out)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->start = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_STRING))
            out->stop = sto_thrift_get_bytes(in);
        else if (is(&f, 3, STO_THRIFT_LIST))
            out->select.columns = get_columns(in, arena, &out->select.n_columns);
        else if (is(&f, 5, STO_THRIFT_I32))
            out->select.max_versions = sto_thrift_get_i32(in);
        else if (is(&f, 6, STO_THRIFT_STRUCT))
            get_time_range(in, &out->select);
        else if (is(&f, 7, STO_THRIFT_STRING))
            out->select.filter = sto_thrift_get_bytes(in);
        else if (is(&f, 8, STO_THRIFT_I32))
            out->batch_cells = sto_thrift_get_i32(in);
        else if (is(&f, 11, STO_THRIFT_BOOL))
            out->reversed = sto_thrift_get_bool(in);
        else if (is(&f, 15, STO_THRIFT_I32))
            out->limit_rows = sto_thrift_get_i32(in);
        else if (is(&f, 18, STO_THRIFT_STRING))
            out->select.filter_bytes = sto_thrift_get_bytes(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* TRowMutations */
static void get_mutations(struct sto_thrift_in *in, struct ts_arena *arena, struct fake_args *a)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING)) {
            a->row = sto_thrift_get_bytes(in);
        } else if (is(&f, 2, STO_THRIFT_LIST)) {
            a->mutations = list(in, arena, sizeof *a->mutations, &a->n_mutations);
            for (size_t i = 0; i < a->n_mutations && !in->why; i++)
                while (next(in, &f)) {
                    struct sto_thrift_put *put = ts_arena_zalloc(arena, sizeof *put);
                    struct sto_thrift_delete *del = ts_arena_zalloc(arena, sizeof *del);
                    if (is(&f, 1, STO_THRIFT_STRUCT)) {
                        get_put(in, arena, put);
                        a->mutations[i].put = put;
                    } else if (is(&f, 2, STO_THRIFT_STRUCT)) {
                        get_delete(in, arena, del);
                        a->mutations[i].delete = del;
                    } else {
                        sto_thrift_skip(in, f.type);
                    }
                }
        } else {
            sto_thrift_skip(in, f.type);
        }
    }
}

/* TTableName: "namespace:name", or the name alone */
static struct ts_slice get_table_name(struct sto_thrift_in *in, struct ts_arena *arena)
{
    struct field f;
    struct ts_slice space = {0}, name = {0};
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            space = sto_thrift_get_bytes(in);
        else if (is(&f, 2, STO_THRIFT_STRING))
            name = sto_thrift_get_bytes(in);
        else
            sto_thrift_skip(in, f.type);
    }
    if (!space.n || ts_slice_is(space, "default"))
        return name;
    char *whole = ts_arena_alloc(arena, space.n + 1 + name.n);
    memcpy(whole, space.p, space.n);
    whole[space.n] = ':';
    if (name.n)
        memcpy(whole + space.n + 1, name.p, name.n);
    return (struct ts_slice){whole, space.n + 1 + name.n};
}

/* TColumnFamilyDescriptor */
static void get_family(struct sto_thrift_in *in, struct sto_thrift_family *out)
{
    struct field f;
    *out = STO_THRIFT_FAMILY(((struct ts_slice){"", 0}));
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRING))
            out->name = sto_thrift_get_bytes(in);
        else if (is(&f, 5, STO_THRIFT_I32))
            out->bloom = sto_thrift_get_i32(in);
        else if (is(&f, 6, STO_THRIFT_I32))
            out->compression = sto_thrift_get_i32(in);
        else if (is(&f, 8, STO_THRIFT_I32))
            out->encoding = sto_thrift_get_i32(in);
        else if (is(&f, 10, STO_THRIFT_I32))
            out->max_versions = sto_thrift_get_i32(in);
        else if (is(&f, 13, STO_THRIFT_I32))
            out->ttl_s = sto_thrift_get_i32(in);
        else
            sto_thrift_skip(in, f.type);
    }
}

/* createTable */
static void get_table(struct sto_thrift_in *in, struct ts_arena *arena, struct fake_args *a)
{
    struct field f;
    while (next(in, &f)) {
        if (is(&f, 1, STO_THRIFT_STRUCT)) {
            a->table = get_table_name(in, arena);
        } else if (is(&f, 2, STO_THRIFT_LIST)) {
            a->families = list(in, arena, sizeof *a->families, &a->n_families);
            for (size_t i = 0; i < a->n_families && !in->why; i++)
                get_family(in, &a->families[i]);
        } else {
            sto_thrift_skip(in, f.type);
        }
    }
}

static void get_splits(struct sto_thrift_in *in, struct ts_arena *arena, struct fake_args *a)
{
    a->n_splits = sto_thrift_get_list(in, STO_THRIFT_STRING);
    a->splits = ts_arena_zalloc(arena, a->n_splits * sizeof *a->splits + 1);
    for (size_t i = 0; i < a->n_splits; i++)
        a->splits[i] = sto_thrift_get_bytes(in);
}

/* --- the arguments of one call --- */

/* Field 2 of calls whose field 1 is the table. */
static void get_second(struct sto_thrift_in *in, struct ts_arena *arena, struct fake_args *a,
                       const struct field *f)
{
    switch (a->call) {
    case STO_THRIFT_GET:
    case STO_THRIFT_GET_MULTIPLE:
        a->gets = f->type == STO_THRIFT_LIST ? list(in, arena, sizeof *a->gets, &a->n_gets)
                                             : ts_arena_zalloc(arena, (a->n_gets = 1) * sizeof *a->gets);
        for (size_t i = 0; i < a->n_gets && !in->why; i++)
            get_get(in, arena, &a->gets[i]);
        return;
    case STO_THRIFT_PUT:
    case STO_THRIFT_PUT_MULTIPLE:
        a->puts = f->type == STO_THRIFT_LIST ? list(in, arena, sizeof *a->puts, &a->n_puts)
                                             : ts_arena_zalloc(arena, (a->n_puts = 1) * sizeof *a->puts);
        for (size_t i = 0; i < a->n_puts && !in->why; i++)
            get_put(in, arena, &a->puts[i]);
        return;
    case STO_THRIFT_DELETE_SINGLE:
    case STO_THRIFT_DELETE_MULTIPLE:
        a->deletes = f->type == STO_THRIFT_LIST
                         ? list(in, arena, sizeof *a->deletes, &a->n_deletes)
                         : ts_arena_zalloc(arena, (a->n_deletes = 1) * sizeof *a->deletes);
        for (size_t i = 0; i < a->n_deletes && !in->why; i++)
            get_delete(in, arena, &a->deletes[i]);
        return;
    case STO_THRIFT_INCREMENT:
    case STO_THRIFT_APPEND:
        a->puts = ts_arena_zalloc(arena, sizeof *a->puts);
        a->n_puts = 1;
        if (a->call == STO_THRIFT_APPEND)
            get_append(in, arena, a->puts, &a->returns_cells);
        else
            get_increment(in, arena, a->puts);
        return;
    case STO_THRIFT_MUTATE_ROW:
        get_mutations(in, arena, a);
        return;
    case STO_THRIFT_OPEN_SCANNER:
    case STO_THRIFT_GET_SCANNER_RESULTS:
        get_scan(in, arena, &a->scan);
        return;
    default:
        sto_thrift_skip(in, f->type);
    }
}

/* A field of checkAndPut and checkAndMutate. */
static void get_checked(struct sto_thrift_in *in, struct ts_arena *arena, struct fake_args *a,
                        const struct field *f)
{
    bool mutates = a->call == STO_THRIFT_CHECK_AND_MUTATE;
    struct sto_thrift_check *c = &a->check;
    if (is(f, 2, STO_THRIFT_STRING)) {
        c->row = sto_thrift_get_bytes(in);
    } else if (is(f, 3, STO_THRIFT_STRING)) {
        c->family = sto_thrift_get_bytes(in);
    } else if (is(f, 4, STO_THRIFT_STRING)) {
        c->qualifier = sto_thrift_get_bytes(in);
    } else if (mutates && is(f, 5, STO_THRIFT_I32)) {
        c->compare = (enum sto_thrift_compare)sto_thrift_get_i32(in);
    } else if (is(f, mutates ? 6 : 5, STO_THRIFT_STRING)) {
        c->value = sto_thrift_get_bytes(in);
    } else if (mutates && is(f, 7, STO_THRIFT_STRUCT)) {
        get_mutations(in, arena, a);
    } else if (!mutates && is(f, 6, STO_THRIFT_STRUCT)) {
        a->puts = ts_arena_zalloc(arena, sizeof *a->puts);
        a->n_puts = 1;
        get_put(in, arena, a->puts);
    } else {
        sto_thrift_skip(in, f->type);
    }
}

static void first_row(struct fake_args *a)
{
    bool checks = a->call == STO_THRIFT_CHECK_AND_PUT || a->call == STO_THRIFT_CHECK_AND_MUTATE;
    if (checks)
        a->row = a->check.row;
    else if (a->n_puts)
        a->row = a->puts[0].row;
    else if (a->n_deletes)
        a->row = a->deletes[0].row;
    else if (a->n_gets)
        a->row = a->gets[0].row;
    else if (a->call == STO_THRIFT_OPEN_SCANNER || a->call == STO_THRIFT_GET_SCANNER_RESULTS)
        a->row = a->scan.start;
}

bool fake__decode(struct sto_thrift_in *in, enum sto_thrift_call call, struct ts_arena *arena,
                  struct fake_args *out)
{
    struct field f;
    *out = (struct fake_args){.call = call, .n_rows = 1};
    while (next(in, &f)) {
        bool names = call == STO_THRIFT_TABLE_EXISTS || call == STO_THRIFT_GET_TABLE_DESCRIPTOR;
        if (is(&f, 1, STO_THRIFT_STRING))
            out->table = sto_thrift_get_bytes(in);
        else if (names && is(&f, 1, STO_THRIFT_STRUCT))
            out->table = get_table_name(in, arena);
        else if (call == STO_THRIFT_CREATE_TABLE && is(&f, 1, STO_THRIFT_STRUCT))
            get_table(in, arena, out);
        else if (call == STO_THRIFT_CREATE_TABLE && is(&f, 2, STO_THRIFT_LIST))
            get_splits(in, arena, out);
        else if (is(&f, 1, STO_THRIFT_I32))
            out->scanner = sto_thrift_get_i32(in);
        else if (f.type == STO_THRIFT_I32 && f.id == (call == STO_THRIFT_GET_SCANNER_ROWS      ? 2
                                                      : call == STO_THRIFT_GET_SCANNER_RESULTS ? 3
                                                                                               : -1))
            out->n_rows = sto_thrift_get_i32(in);
        else if (call == STO_THRIFT_CHECK_AND_PUT || call == STO_THRIFT_CHECK_AND_MUTATE)
            get_checked(in, arena, out, &f);
        else if (f.id == 2)
            get_second(in, arena, out, &f);
        else
            sto_thrift_skip(in, f.type);
    }
    first_row(out);
    return !in->why;
}

size_t fake__n_rows(const struct fake_args *a)
{
    size_t n = a->n_puts + a->n_deletes + a->n_gets;
    return n ? n : 1;
}
