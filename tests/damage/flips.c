/*
 * flips.c - damages small stores at random and looks at what is noticed, what is answered and what a repair keeps.
 *
 *   flips [--rounds N] [--seed S] [--mode flip|cut|remove|pair] [--only ROUND] [--verbose]
 *
 * In each round one bit of one file is flipped (or a file is cut, or removed, or a record log together with its copy),
 * and then must hold:
 *   - opening the store and reading everything, read-only and for writing, gives an error or what was written; no
 *     other value, no point that was not there; points may be missing only if fsck tells of the place
 *   - fsck finds it, or opening does, or every answer is what it was before (bytes nobody reads: they are listed)
 *   - fsck --repair leaves a store that opens and in which fsck finds nothing, and only points are missing that it
 *     listed as lost; cells and names are all there
 *
 * Where a record log and its copy are both gone, opening must refuse, fsck must say what is lost, and the repair must
 * keep every point: without the names, under other names; without the cells, all but these.
 *
 * A cut or missing last segment of the write-ahead log looks as a power cut does: there what is missing needs no
 * finding.
 *
 * Threads    one (the stores have theirs)
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/fsck.h"
#include "tests/damage/content.h"
#include "tests/damage/shapes.h"

enum mode { MODE_FLIP, MODE_CUT, MODE_REMOVE, MODE_PAIR };

/* What fsck told. */
struct told {
    struct ts_buf text; /* all findings, a line each */
    struct lost {
        char *series; /* NULL: not known */
        int64_t from_ms, to_ms;
    } * lost;
    size_t n_lost;
    bool torn;    /* a torn tail */
    bool deletes; /* deletes are lost */
};

/* A store as it was before. */
struct base {
    struct t_faultfs *f;
    struct content content;
    struct told told;
};

/* Outcomes by kind of file. */
struct row {
    const char *kind;
    uint64_t n, by_open, by_query, by_fsck, unused, missing;
};

static struct row table[] = {{"points (.t)", 0, 0, 0, 0, 0, 0},     {"summaries (.s)", 0, 0, 0, 0, 0, 0},
                             {"write-ahead log", 0, 0, 0, 0, 0, 0}, {"MANIFEST", 0, 0, 0, 0, 0, 0},
                             {"catalog.log", 0, 0, 0, 0, 0, 0},     {"cells.log", 0, 0, 0, 0, 0, 0},
                             {"copies", 0, 0, 0, 0, 0, 0},          {"other", 0, 0, 0, 0, 0, 0}};

static struct row *row_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (strstr(path, ".copy"))
        return &table[6];
    if (dot && strcmp(dot, ".t") == 0)
        return &table[0];
    if (dot && strcmp(dot, ".s") == 0)
        return &table[1];
    if (strstr(path, "/wal/"))
        return &table[2];
    return strstr(path, "MANIFEST")      ? &table[3]
           : strstr(path, "catalog.log") ? &table[4]
           : strstr(path, "cells.log")   ? &table[5]
                                         : &table[7];
}

/* One round. */
struct round {
    uint64_t number;
    const struct base *base;
    const char *shape;
    char path[200];
    uint64_t off, size;
    char what[320];
    bool verbose;
    bool pair; /* a log and its copy are gone */
    struct told told, repair_told;
    uint64_t n_unlisted; /* missing points that nobody listed as lost */
    char unlisted[160];
    bool failed;
};

static void bad(struct round *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void bad(struct round *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("FAILED round %" PRIu64 ", %s: ", r->number, r->what);
    vprintf(fmt, ap);
    printf("\n%.*s", (int)r->told.text.n, r->told.text.p ? r->told.text.p : "");
    va_end(ap);
    r->failed = true;
}

/* --- fsck --- */

static void on_found(void *arg, const struct sto_finding *f)
{
    struct told *t = arg;
    static const char *const kinds[] = {"note", "damage", "lost", "done"};
    ts_buf_printf(&t->text, "  %s %s", kinds[f->kind], f->path);
    if (f->off != UINT64_MAX)
        ts_buf_printf(&t->text, " offset %" PRIu64, f->off);
    ts_buf_printf(&t->text, ": %s", f->text);
    if (f->kind == STO_FIND_LOST) {
        t->lost = ts_xrealloc(t->lost, (t->n_lost + 1) * sizeof *t->lost);
        struct lost *l = &t->lost[t->n_lost++];
        *l = (struct lost){.from_ms = f->from_ms, .to_ms = f->to_ms};
        if (f->series.p) {
            l->series = ts_xcalloc(1, f->series.n + 1);
            memcpy(l->series, f->series.p, f->series.n);
        }
        if (strstr(f->path, "/wal")) /* the times of a neighbour are a hint only */
            *l = (struct lost){.from_ms = INT64_MIN, .to_ms = INT64_MAX};
        t->deletes |= strncmp(f->text, "deletes", 7) == 0;
        ts_buf_printf(&t->text, " %s %" PRId64 "..%" PRId64 " points %" PRIu64, l->series ? l->series : "?",
                      f->from_ms, f->to_ms, f->n_points);
    }
    t->torn |= f->kind == STO_FIND_NOTE && strncmp(f->text, "torn", 4) == 0;
    ts_buf_char(&t->text, '\n');
}

static void told_release(struct told *t)
{
    for (size_t i = 0; i < t->n_lost; i++)
        ts_free(t->lost[i].series);
    ts_free(t->lost);
    ts_buf_release(&t->text);
    *t = (struct told){0};
}

static int run_fsck(struct t_faultfs *f, bool repair, struct told *told, struct sto_fsck_result *out,
                    struct ts_error *err)
{
    struct sto_fsck_opts opts = {
        .fs = t_faultfs_fs(f), .dir = SHAPE_DIR, .repair = repair, .found = on_found, .arg = told};
    ts_buf_init(&told->text, 0);
    return sto_fsck(&opts, out, err);
}

/* --- damage --- */

static void pick(struct round *r, struct t_faultfs *f, bool empty_too, uint64_t *seed)
{
    size_t n_files = t_faultfs_count(f), n;
    uint64_t all = 0, at;
    for (size_t i = 0; i < n_files; i++) {
        ts_free(t_faultfs_get(f, t_faultfs_path(f, i), &n));
        all += n;
    }
    if (t_rand(seed) % 4 == 0) { /* small files get their share; empty ones have no bits */
        do {
            snprintf(r->path, sizeof r->path, "%s", t_faultfs_path(f, t_rand(seed) % n_files));
            ts_free(t_faultfs_get(f, r->path, &n));
        } while (n == 0 && !empty_too);
        r->size = n;
        r->off = n ? t_rand(seed) % n : 0;
        return;
    }
    at = t_rand(seed) % all;
    for (size_t i = 0; i < n_files; i++) {
        ts_free(t_faultfs_get(f, t_faultfs_path(f, i), &n));
        if (at < n) {
            snprintf(r->path, sizeof r->path, "%s", t_faultfs_path(f, i));
            r->off = at;
            r->size = n;
            return;
        }
        at -= n;
    }
}

static void damage(struct round *r, struct t_faultfs *f, enum mode mode, uint64_t *seed)
{
    pick(r, f, mode == MODE_REMOVE, seed);
    unsigned bit = (unsigned)(t_rand(seed) % 8);
    const char *name = r->path + strlen(SHAPE_DIR) + 1;
    if (mode == MODE_FLIP) {
        t_faultfs_flip(f, r->path, r->off, (uint8_t)(1u << bit));
        snprintf(r->what, sizeof r->what, "%s: %s offset %" PRIu64 " of %" PRIu64 " bit %u", r->shape, name,
                 r->off, r->size, bit);
    } else if (mode == MODE_CUT) {
        size_t n;
        uint8_t *p = t_faultfs_get(f, r->path, &n);
        t_faultfs_put(f, r->path, p, (size_t)r->off);
        ts_free(p);
        snprintf(r->what, sizeof r->what, "%s: %s of %" PRIu64 " bytes cut at %" PRIu64, r->shape, name,
                 r->size, r->off);
    } else if (mode == MODE_PAIR) {
        static const char *const logs[] = {"MANIFEST", "catalog.log", "cells.log"};
        char copy[sizeof r->path + 8];
        snprintf(r->path, sizeof r->path, SHAPE_DIR "/%s", logs[t_rand(seed) % 3]);
        snprintf(copy, sizeof copy, "%s.copy", r->path);
        t_faultfs_remove(f, r->path);
        t_faultfs_remove(f, copy);
        snprintf(r->what, sizeof r->what, "%s: %s and its copy removed", r->shape,
                 r->path + strlen(SHAPE_DIR) + 1);
    } else {
        t_faultfs_remove(f, r->path);
        snprintf(r->what, sizeof r->what, "%s: %s removed", r->shape, name);
    }
}

/* --- one round --- */

/* Read a damaged store. 1 an error, 0 all is there, 2 points are missing. */
static int try_reading(struct round *r, const struct t_faultfs *f, bool read_only, bool excused,
                       bool *out_opened)
{
    struct t_faultfs *c = t_faultfs_clone(f, r->number);
    struct content got;
    struct ts_error err = {0};
    int rc = content_read(c, read_only, &got, &err), out = 1;
    *out_opened = rc == 0 || got.n_texts > 0;
    if (r->verbose && rc < 0)
        printf("  %s: %s\n", read_only ? "read-only" : "writable", err.text);
    if (rc < 0 && rc != TS_ECORRUPT && rc != TS_ENOTFOUND)
        bad(r, "%s: %s", ts_err_name(rc), err.text);
    if (rc == TS_ECORRUPT && !strstr(err.text, "fsck"))
        bad(r, "the error does not tell what to do: %s", err.text);
    if (rc == 0) {
        struct content_diff d = content_compare(&r->base->content, &got, NULL, NULL, NULL);
        if (d.n_other && !excused)
            bad(r, "%zu wrong points, %s", d.n_other, read_only ? "read-only" : "writable");
        out = d.n_missing || d.cells ? 2 : 0;
    }
    content_release(&got);
    t_faultfs_free(c);
    return out;
}

/* Did the repair list this point as lost? */
static bool listed(const struct round *r, const char *text, int64_t ts_ms)
{
    for (size_t i = 0; i < r->repair_told.n_lost; i++) {
        const struct lost *l = &r->repair_told.lost[i];
        if ((!l->series || strcmp(l->series, text) == 0) &&
            (l->from_ms > l->to_ms || (ts_ms >= l->from_ms && ts_ms <= l->to_ms)))
            return true;
    }
    return false;
}

/* Where a newer write is lost, the older one is seen again. */
static bool on_other(void *arg, const char *text, int64_t ts_ms)
{
    return !listed(arg, text, ts_ms);
}

static void on_missing(void *arg, const char *text, int64_t ts_ms)
{
    struct round *r = arg;
    if (!listed(r, text, ts_ms) && r->n_unlisted++ == 0)
        snprintf(r->unlisted, sizeof r->unlisted, "%s %" PRId64, text, ts_ms);
}

static int by_time_and_value(const void *a, const void *b)
{
    const struct content_point *x = a, *y = b;
    if (x->ts_ms != y->ts_ms)
        return x->ts_ms < y->ts_ms ? -1 : 1;
    if (x->value.kind != y->value.kind)
        return x->value.kind < y->value.kind ? -1 : 1;
    return x->value.m < y->value.m ? -1 : x->value.m > y->value.m ? 1 : (int)x->value.exp - (int)y->value.exp;
}

/* Both have as many series and the same points, whatever the series are called. Sorts b. */
static bool same_but_names(const struct content *a, struct content *b)
{
    if (a->n_texts != b->n_texts || a->n_points != b->n_points)
        return false;
    struct content_point *of_a = ts_xmalloc((a->n_points + 1) * sizeof *of_a);
    bool same = true;
    if (a->n_points) {
        memcpy(of_a, a->points, a->n_points * sizeof *of_a);
        qsort(of_a, a->n_points, sizeof *of_a, by_time_and_value);
        qsort(b->points, b->n_points, sizeof *of_a, by_time_and_value);
    }
    for (size_t i = 0; same && i < a->n_points; i++)
        same = by_time_and_value(&of_a[i], &b->points[i]) == 0;
    ts_free(of_a);
    return same;
}

/* After the loss of a log and its copy, and the repair. */
static void compare_pair(struct round *r, struct content *got)
{
    struct content_diff d = content_compare(&r->base->content, got, NULL, NULL, NULL);
    bool names = strstr(r->path, "catalog.log") != NULL, cells = strstr(r->path, "cells.log") != NULL;
    if (names ? !same_but_names(&r->base->content, got) : d.n_missing || d.n_other)
        bad(r, "%zu points are missing, %zu are other ones", d.n_missing, d.n_other);
    if (d.cells && !cells)
        bad(r, "cells are gone after the repair");
    static const char words[] = "and its copy too: ";
    if (!memmem(r->repair_told.text.p, r->repair_told.text.n, words, sizeof words - 1))
        bad(r, "fsck does not say what is lost");
}

static uint64_t repair(struct round *r, struct t_faultfs *f, bool excused)
{
    struct sto_fsck_result out, again;
    struct ts_error err = {0};
    struct told told = {0};
    struct content got = {0};
    uint64_t n_missing = 0;
    if (run_fsck(f, true, &r->repair_told, &out, &err) < 0)
        bad(r, "repair: %s", err.text);
    else if (out.n_left)
        bad(r, "repair leaves %" PRIu64 " findings\n%.*s", out.n_left, (int)r->repair_told.text.n,
            r->repair_told.text.p);
    else if (run_fsck(f, false, &told, &again, &err) < 0 || again.n_damage)
        bad(r, "fsck after the repair: %s\n%.*s", err.text, (int)told.text.n, told.text.p);
    else if (content_read(f, false, &got, &err) < 0)
        bad(r, "after the repair: %s", err.text);
    else if (r->pair)
        compare_pair(r, &got);
    else {
        struct content_diff d = content_compare(&r->base->content, &got, on_missing, on_other, r);
        n_missing = d.n_missing;
        if (d.n_other && !excused)
            bad(r, "%zu wrong points after the repair\n%.*s", d.n_other, (int)r->repair_told.text.n,
                r->repair_told.text.p);
        if (r->n_unlisted && !r->repair_told.torn && !excused)
            bad(r, "%" PRIu64 " healthy points are gone after the repair, the first one %s\n%.*s",
                r->n_unlisted, r->unlisted, (int)r->repair_told.text.n, r->repair_told.text.p);
        if (d.cells)
            bad(r, "cells are gone after the repair");
    }
    if (r->verbose)
        printf("%.*s", (int)r->repair_told.text.n, r->repair_told.text.p);
    content_release(&got);
    told_release(&told);
    return n_missing;
}

static bool run_round(uint64_t number, uint64_t seed, enum mode mode, struct base *bases, bool verbose)
{
    uint64_t s = seed * 1000003 + number;
    size_t shape = (size_t)(t_rand(&s) % n_shapes);
    struct round r = {.number = number,
                      .base = &bases[shape],
                      .shape = shapes[shape].name,
                      .verbose = verbose,
                      .pair = mode == MODE_PAIR};
    struct t_faultfs *f = t_faultfs_clone(bases[shape].f, seed);
    struct sto_fsck_result out;
    struct ts_error err = {0};
    bool opened_ro, opened_rw;
    damage(&r, f, mode, &s);
    struct row *row = row_of(r.path);
    if (verbose)
        printf("round %" PRIu64 " %s\n", number, r.what);
    bool excused = mode != MODE_FLIP && row == &table[2]; /* as a power cut would leave the log */
    int ro = try_reading(&r, f, true, excused, &opened_ro),
        rw = try_reading(&r, f, false, excused, &opened_rw);
    struct t_faultfs *c = t_faultfs_clone(f, seed);
    if (run_fsck(c, false, &r.told, &out, &err) < 0)
        bad(&r, "fsck: %s", err.text);
    t_faultfs_free(c);
    bool found = r.told.text.n != r.base->told.text.n ||
                 (r.told.text.n && memcmp(r.told.text.p, r.base->told.text.p, r.told.text.n) != 0);
    if (!found && (ro == 2 || rw == 2) && !excused)
        bad(&r, "points are missing and fsck does not know");
    if (r.pair && (opened_ro || opened_rw))
        bad(&r, "it was opened");
    row->n++;
    row->by_open += ro == 1 && !opened_ro;
    row->by_query += ro == 1 && opened_ro;
    row->by_fsck += found;
    if (ro == 0 && rw == 0 && !found) {
        row->unused++;
        printf("unused: round %" PRIu64 " %s\n", number, r.what);
    }
    row->missing += repair(&r, f, excused);
    told_release(&r.told);
    told_release(&r.repair_told);
    t_faultfs_free(f);
    return !r.failed;
}

static int prepare(struct base *bases, uint64_t seed)
{
    for (size_t i = 0; i < n_shapes; i++) {
        struct sto_fsck_result out;
        struct ts_error err = {0};
        struct base *b = &bases[i];
        b->f = shapes[i].make(seed + i);
        struct t_faultfs *c = t_faultfs_clone(b->f, 1);
        if (content_read(c, true, &b->content, &err) < 0 || run_fsck(c, false, &b->told, &out, &err) < 0 ||
            out.n_damage) {
            printf("%s: the store is not whole: %s\n%.*s", shapes[i].name, err.text, (int)b->told.text.n,
                   b->told.text.p ? b->told.text.p : "");
            return 1;
        }
        t_faultfs_free(c);
        printf("%s: %zu series, %zu points, %zu files, %" PRIu64 " bytes\n", shapes[i].name,
               b->content.n_texts, b->content.n_points, t_faultfs_count(b->f), out.n_bytes);
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t rounds = 60, seed = 1, only = UINT64_MAX, n_failed = 0;
    enum mode mode = MODE_FLIP;
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0)
            rounds = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--only") == 0)
            only = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--mode") == 0 && ++i)
            mode = strcmp(argv[i], "cut") == 0      ? MODE_CUT
                   : strcmp(argv[i], "remove") == 0 ? MODE_REMOVE
                   : strcmp(argv[i], "pair") == 0   ? MODE_PAIR
                                                    : MODE_FLIP;
        else
            return printf("usage: flips [--rounds N] [--seed S] [--mode flip|cut|remove|pair] [--only ROUND] "
                          "[--verbose]\n"),
                   2;
    }
    ts_log_set_level(TS_LOG_ERROR);
    struct base *bases = ts_xcalloc(n_shapes, sizeof *bases);
    if (prepare(bases, seed))
        return 1;
    for (uint64_t i = only == UINT64_MAX ? 0 : only; i < (only == UINT64_MAX ? rounds : only + 1); i++)
        n_failed += !run_round(i, seed, mode, bases, verbose);
    printf("%-16s %8s %8s %8s %8s %8s %8s\n", "file", "rounds", "open", "query", "fsck", "unused", "lost");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        printf("%-16s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
               table[i].kind, table[i].n, table[i].by_open, table[i].by_query, table[i].by_fsck,
               table[i].unused, table[i].missing);
    for (size_t i = 0; i < n_shapes; i++) {
        content_release(&bases[i].content);
        told_release(&bases[i].told);
        t_faultfs_free(bases[i].f);
    }
    ts_free(bases);
    printf("%" PRIu64 " rounds failed\n", n_failed);
    return n_failed ? 1 : 0;
}
