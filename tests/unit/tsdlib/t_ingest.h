/*
 * t_ingest.h - a store in a folder of its own, an ingest on its only port, and the line protocol without
 * sockets.
 */
#ifndef TESTS_T_INGEST_H
#define TESTS_T_INGEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/t_folder.h"
#include "tsd/protocols/line/line.h"
#include "tsd/format/lines.h"

#define T_LINE_MAX 256

struct t_ingest {
    char dir[T_FOLDER_BYTES];
    struct sto_store *store;
    struct tsd_rules rules;
    struct tsd_ingest in;
    struct tsd_line line;
    struct ts_buf out, text, exported;
};

static inline void t_open_with(struct t_ingest *t, bool compat, struct sto_opts opts)
{
    struct ts_error err = {0};
    memset(t, 0, sizeof(*t));
    t_folder_make(t->dir);
    opts.dir = t->dir;
    opts.create = opts.no_background = true;
    opts.n_writers = 1;
    opts.wal_sync = STO_SYNC_NONE;
    if (sto_open(&opts, &t->store, &err) < 0)
        fail_msg("%s", err.text);
    tsd_rules_init(&t->rules, compat, true, 0, NULL);
    tsd_ingest_init(&t->in, &t->rules, t->store, sto_writer(t->store, 0), 1 << 20);
    ts_buf_init(&t->out, 1 << 20);
    ts_buf_init(&t->text, 0);
    ts_buf_init(&t->exported, 0);
    t->line = (struct tsd_line){
        .in = &t->in, .out = &t->out, .reply_max_bytes = 1 << 16, .line_max_bytes = T_LINE_MAX};
}

static inline void t_open(struct t_ingest *t, bool compat)
{
    t_open_with(t, compat, (struct sto_opts){.dir = NULL});
}

static inline void t_close(struct t_ingest *t)
{
    struct ts_error err = {0};
    tsd_ingest_turn(&t->in);
    tsd_ingest_release(&t->in);
    if (sto_close(t->store, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_release(&t->out);
    ts_buf_release(&t->text);
    ts_buf_release(&t->exported);
    assert_int_equal(t_folder_remove(t->dir), 0);
}

/* Bytes through the line protocol, from a block that ends right after the readable padding. Returns bytes
 * used. */
static inline size_t t_bytes(struct t_ingest *t, const char *p, size_t n, bool eof)
{
    const char *rest;
    char *copy = malloc(n + TSD_INPUT_PAD);
    assert_non_null(copy);
    memcpy(copy, p, n);
    memset(copy + n, 0x55, TSD_INPUT_PAD);
    tsd_ingest_begin(&t->in);
    (void)tsd_line_input(&t->line, copy, copy + n, eof, &rest);
    size_t used = (size_t)(rest - copy);
    free(copy);
    return used;
}

/* Send a whole text; returns the replies. */
static inline const char *t_send(struct t_ingest *t, const char *text)
{
    ts_buf_clear(&t->out);
    assert_int_equal(t_bytes(t, text, strlen(text), true), strlen(text));
    tsd_ingest_turn(&t->in);
    ts_buf_char(&t->out, 0);
    return t->out.p;
}

/* Send lines one by one; each must get its reply. */
static inline void t_each_line(struct t_ingest *t, const char *const (*rows)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char line[256];
        snprintf(line, sizeof(line), "%s\n", rows[i][0]);
        if (strcmp(t_send(t, line), rows[i][1]))
            fail_msg("%s: %s", rows[i][0], t->out.p);
    }
}

static inline int t_export_sink(void *arg, struct ts_slice text, struct ts_error *err)
{
    (void)err;
    return ts_buf_slice(arg, text);
}

/* All points as lines. */
static inline const char *t_points(struct t_ingest *t)
{
    struct tsd_lines_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct ts_error err = {0};
    tsd_ingest_turn(&t->in);
    ts_buf_clear(&t->exported);
    if (tsd_lines_export(t->store, &spec, NULL, t_export_sink, &t->exported, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ts_buf_char(&t->exported, 0);
    return t->exported.p;
}

/* The one of a file, opened and closed around each case. */
static struct t_ingest t;

static inline int set_up(void **state)
{
    (void)state;
    t_open(&t, false);
    return 0;
}

static inline int set_up_compat(void **state)
{
    (void)state;
    t_open(&t, true);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    t_close(&t);
    return 0;
}

#endif
