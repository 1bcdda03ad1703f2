/*
 * t_follow.h - a folder with logs that are followed: commands in it, turns, and what came of them.
 */
#ifndef T_FOLLOW_H
#define T_FOLLOW_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "collectors/weblog/weblog_follow.h"
#include "tests/unit/t_folder.h"

#define ROTATED_MS 5000

/* A folder with logs that are followed. */
struct t_dir {
    char path[T_FOLDER_BYTES];
    struct col_web_logs logs;
    struct col_web_follow f;
    struct ts_buf lines; /* what came, "line|" each; "<long>|" for one that is too long */
    int64_t now_ms;
    int64_t wall_ms;     /* added to it for the wall clock */
    int64_t keep_ms;     /* 0 = for ever */
    const char *olddirs; /* NULL = none */
    char first[2000];    /* see turn_first */
};

static inline void take_line(void *arg, const struct col_web_place *place, uint64_t off, struct ts_slice line)
{
    struct t_dir *d = arg;
    (void)off;
    assert_true(!place->tail->log->detect ||
                place->kind != COL_WEB_KIND_UNKNOWN); /* never before it is known */
    ts_buf_slice(&d->lines, line);
    ts_buf_char(&d->lines, '|');
}

static inline void take_long(void *arg, const struct col_web_place *place, uint64_t off)
{
    (void)place;
    (void)off;
    ts_buf_str(&((struct t_dir *)arg)->lines, "<long>|");
}

static inline struct col_web_follow_opts opts_of(struct t_dir *d)
{
    return (struct col_web_follow_opts){.logs = &d->logs,
                                        .olddirs = d->olddirs,
                                        .rotated_ms = ROTATED_MS,
                                        .keep_ms = d->keep_ms,
                                        .line = take_line,
                                        .too_long = take_long,
                                        .arg = d};
}

static inline void dir_init(struct t_dir *d, const char *pattern, const char *format)
{
    char full[512];
    *d = (struct t_dir){.now_ms = 1000000};
    t_folder_make(d->path);
    ts_log_set_level(TS_LOG_ERROR);
    d->logs.logs = ts_xcalloc(1, sizeof(*d->logs.logs));
    d->logs.n = 1;
    assert_int_equal(col_web_log_init(&d->logs.logs[0], format, "auto", NULL), 0);
    snprintf(full, sizeof(full), "%s/%s", d->path, pattern);
    d->logs.logs[0].pattern = ts_xstrdup(full);
    d->logs.logs[0].wild = strpbrk(pattern, "*?") != NULL;
    ts_buf_init(&d->lines, 0);
    struct col_web_follow_opts opts = opts_of(d);
    col_web_follow_init(&d->f, &opts);
}

static inline void dir_release(struct t_dir *d)
{
    col_web_follow_release(&d->f);
    col_web_logs_release(&d->logs);
    ts_buf_release(&d->lines);
    assert_int_equal(t_folder_remove(d->path), 0);
}

static struct t_dir dir; /* of the case at hand */

static inline int set_up(void **state)
{
    *state = &dir;
    dir_init(&dir, "a.log", "combined");
    return 0;
}

static inline int set_up_all(void **state)
{
    *state = &dir;
    dir_init(&dir, "*", "combined");
    return 0;
}

static inline int set_up_auto(void **state)
{
    *state = &dir;
    dir_init(&dir, "a.log", "auto");
    return 0;
}

static inline int tear_down(void **state)
{
    dir_release(*state);
    return 0;
}

/* Run a shell command in the folder. */
static inline void sh(struct t_dir *d, const char *command)
{
    char cmd[512];
    snprintf(cmd, sizeof(cmd), "cd %s && { %s; }", d->path, command);
    assert_int_equal(system(cmd), 0);
}

/* Take turns until no more lines come; returns the lines that came. */
static inline const char *turn(struct t_dir *d)
{
    static char out[4096];
    d->now_ms += 100;
    for (int i = 0; i < 100 && col_web_follow_turn(&d->f, d->now_ms + d->wall_ms, d->now_ms) > 0; i++)
        ;
    snprintf(out, sizeof(out), "%.*s", (int)d->lines.n, d->lines.p);
    ts_buf_clear(&d->lines);
    return out;
}

/* What comes now, and what comes of a command: macros, so that a failure names the line of its case. */
#define t_comes(d, want) assert_string_equal(turn(d), want)
#define t_after(d, command, want)                                                                            \
    do {                                                                                                     \
        sh(d, command);                                                                                      \
        t_comes(d, want);                                                                                    \
    } while (0)

/* As after a kill: a new process knows what a checkpoint would have kept. */
static inline void again(struct t_dir *d)
{
    struct col_web_follow old = d->f;
    struct col_web_follow_opts opts = opts_of(d);
    col_web_follow_init(&d->f, &opts);
    for (uint32_t i = 0; i < old.n_tails; i++) {
        const struct col_web_tail *was = old.tails[i];
        struct col_web_tail *t = col_web_follow_restore(&d->f, was->path);
        assert_non_null(t);
        t->floor_ms = was->floor_ms;
        t->seen_ms = was->seen_ms;
        for (uint32_t k = 0; k < was->n_places; k++) {
            struct col_web_place *p = col_web_place_add(t, was->places[k]->role), *from = was->places[k];
            p->head = from->head;
            p->off = from->off;
            p->kind = from->kind;
            p->skip = from->skip;
            p->whole = from->whole;
            p->dev = from->dev;
            p->ino = from->ino;
            p->mtime_ms = from->mtime_ms;
            p->seen_ms = from->seen_ms;
        }
    }
    col_web_follow_release(&old);
}

/* Files that are read, or looked for. */
static inline uint32_t n_files(const struct t_dir *d)
{
    uint32_t n;
    (void)col_web_follow_lag_bytes(&d->f, &n);
    return n;
}

/* Place k of the only log, finished ones not counted. */
static inline const struct col_web_place *live(const struct t_dir *d, uint32_t k)
{
    for (uint32_t i = 0; i < d->f.tails[0]->n_places; i++)
        if (d->f.tails[0]->places[i]->role <= COL_WEB_ROTATED && !k--)
            return d->f.tails[0]->places[i];
    fail_msg("no place");
    return NULL;
}

/* So much time goes by that rotated files are given up; nothing new is there, and one file is followed. */
static inline void settle(struct t_dir *d, int n_times)
{
    for (int i = 0; i < n_times; i++) {
        d->now_ms += ROTATED_MS + 1000;
        assert_string_equal(turn(d), "");
    }
    assert_int_equal(n_files(d), 1);
}

/* "1|2|...|400|": more than the first bytes that are hashed. */
static inline const char *turn_first(struct t_dir *d)
{
    size_t n = 0;
    for (unsigned i = 1; i <= 400; i++)
        n += (size_t)snprintf(d->first + n, sizeof(d->first) - n, "%u|", i);
    return d->first;
}

#define T_CASE(f, begin) cmocka_unit_test_setup_teardown(f, begin, tear_down)

#endif
