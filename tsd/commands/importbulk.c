/*
 * importbulk.c - the sink of tsd import --bulk: blocks of lines in their order, runs, merging, the hand-over; and how a killed import
 * continues.
 *
 * The note of each run says how many put lines of which file are in the runs so far. An import that continues leaves out the files
 * before that one, and as many put lines of it: the same files give the same lines.
 *
 * Threads    the main thread; while runs are merged, a thread that shows the progress
 * Not here   parsing (importbulk_parse.c), requests to the store (importbulk_store.c), sorting (storage/bulk.h)
 */
#include "tsd/commands/importbulk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cut.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/time.h"

#define BULK_MEMORY_BYTES                                                                                    \
    ((uint64_t)512 << 20) /* by default, or a quarter of the machine's memory if that is less */
#define BULK_NAMES_BYTES ((size_t)256 << 10)                 /* names of one request */
#define BULK_POINT_BYTES (2 * sizeof(struct sto_bulk_point)) /* a point, and again while it is sorted */
#define BULK_THREADS     64                                  /* most that parse and sort */
#define BULK_NICE        10 /* of all threads: the daemon's queries come first */
#define BULK_SHOW_NS     200000000
#define BULK_TOUCH_NS    5000000000 /* the folder is used so often, so that it does not expire */

/* Which points of a series the store takes. */
struct bulk_first {
    int64_t ms; /* the first time; what is before it has expired */
    bool told;  /* a point before it was refused, which was said */
};

struct bulk_sink {
    struct tsd_import *im;
    struct tsd_bulk_store store;
    struct sto_bulk_place place;
    struct sto_bulk_writer *writer;
    struct sto_catalog *cat; /* names that were seen, in the folder names/ of the staging folder */
    char *names_dir;         /* that folder; owned */
    struct ts_pool *pool;
    struct tsd_bulk_parsers parsers;
    struct tsd_bulk_ahead ahead;
    struct tsd_bulk_block *ring; /* n_ring; owned */
    unsigned n_ring, head, n_used;
    struct sto_bulk_chunk *chunks; /* of the run that is collected; owned */
    size_t n_chunks, cap_chunks;
    uint64_t n_run, max_run;        /* its points; a run has about so many */
    struct sto_bulk_id *ids;        /* by number of the series in cat; owned */
    struct bulk_first *first;       /* the same; owned */
    size_t n_ids, n_refused;        /* length; refused series among them */
    bool some_expired;              /* the store refuses points of some series because of their time */
    size_t n_told;                  /* series of which points were refused because of their time */
    struct ts_buf names, answer;    /* of a request */
    size_t file, resume_file;       /* at hand; where the runs of before end: */
    uint64_t n_lines, resume_lines; /* put lines of it */
    size_t pos_file; /* the same of the last block that is in a run, or will be in the next one */
    uint64_t pos_lines;
    uint64_t n_other_bad;      /* refused lines when the file began, and by its format before it */
    uint64_t n_own_bad;        /* of im->n_bad: refused by the parser or the store */
    uint64_t pos_bad;          /* refused lines up to the position */
    struct tsd_bulk_left left; /* what an import that fails leaves behind */
    bool done;                 /* the files are part of the store */
    int64_t touched_ns;        /* monotonic time when the folder was used */
    struct ts_error gone;      /* somebody has given the bulk load up; code 0 = nobody */
    _Atomic bool cancel;       /* Ctrl-C, or gone */
    _Atomic bool merging_ends; /* for the thread that shows the progress */
};

/* --- notes --- */

static void bulk_note(const struct bulk_sink *s, struct ts_buf *out)
{
    ts_buf_printf(out, "input %zu %" PRIu64 " points %" PRIu64 " bad %" PRIu64 " command %016" PRIx64,
                  s->pos_file, s->pos_lines, s->im->n_points, s->pos_bad, s->left.command);
}

static int bulk_resume(struct bulk_sink *s, struct ts_slice note, struct ts_error *err)
{
    static const char *const words[] = {"input", NULL, "points", "bad"};
    int64_t v[4];
    for (int i = 0; i < 4; i++)
        if ((words[i] && !ts_slice_is(ts_slice_cut(&note, ' '), words[i])) ||
            ts_num_parse_int(ts_slice_cut(&note, ' '), &v[i], NULL) < 0 || v[i] < 0)
            return ts_error_set(err, TS_ECORRUPT,
                                "%s/STATE has a note that makes no sense: remove the folder and begin again",
                                s->place.dir);
    s->resume_file = s->pos_file = (size_t)v[0];
    s->resume_lines = s->pos_lines = (uint64_t)v[1];
    s->im->n_points = s->left.n_kept = (uint64_t)v[2];
    s->n_own_bad = s->pos_bad = (uint64_t)v[3];
    tsd_import_refused(s->im, s->pos_bad, TS_SLICE_LIT("refused before the import was interrupted"));
    char n[32];
    tsd_say("continuing an import that was interrupted: %s point%s sorted already",
            tsd_count_text(s->im->n_points, n), s->im->n_points == 1 ? " is" : "s are");
    return 0;
}

/* --- numbers of series --- */

/* Remember the answer for the series first..end: a line for each that exists. */
static int bulk_take_answer(struct bulk_sink *s, size_t first, size_t end, struct ts_error *err)
{
    struct ts_slice rest = ts_buf_get(&s->answer);
    for (size_t id = first; id < end; id++) {
        const struct sto_series *series = sto_series_get(s->cat, (uint32_t)id);
        int64_t metric, number, first_ms = STO_MIN_TS_MS;
        s->ids[id] = (struct sto_bulk_id){0};
        s->first[id] = (struct bulk_first){.ms = STO_MIN_TS_MS};
        if (!series)
            continue;
        struct ts_slice line = ts_slice_cut(&rest, '\n');
        if (line.n > 2 && line.p[0] == '!') {
            struct ts_slice text = sto_series_text(series);
            if (s->n_refused++ < s->im->max_listed) {
                tsd_progress_clear(&s->im->bar);
                tsd_say("%.*s: no point of this series is stored: %.*s", TS_SHOWN(text, 200),
                        (int)(line.n - 2), line.p + 2);
            }
        } else if (ts_num_parse_int(ts_slice_cut(&line, ' '), &metric, NULL) == 0 &&
                   ts_num_parse_int(ts_slice_cut(&line, ' '), &number, NULL) == 0 &&
                   (!line.n || ts_num_parse_int(line, &first_ms, NULL) == 0) && first_ms >= STO_MIN_TS_MS &&
                   first_ms <= STO_MAX_TS_MS && metric > 0 && metric <= UINT32_MAX && number >= 0 &&
                   number < UINT32_MAX) {
            s->ids[id] = (struct sto_bulk_id){(uint32_t)metric, (uint32_t)number};
            s->first[id].ms = first_ms;
            s->some_expired |= first_ms > STO_MIN_TS_MS;
        } else {
            return ts_error_set(err, TS_EPARSE, "the daemon's answer about names makes no sense");
        }
    }
    ts_buf_clear(&s->names);
    ts_buf_clear(&s->answer);
    return 0;
}

/* Ask for the numbers of all series that are new. */
static int bulk_resolve(struct bulk_sink *s, struct ts_error *err)
{
    size_t end = sto_series_count(s->cat), first = s->n_ids;
    if (end == first)
        return 0;
    TS_TRY(sto_catalog_sync(s->cat, false, err));
    s->ids = ts_xrealloc(s->ids, end * sizeof *s->ids);
    s->first = ts_xrealloc(s->first, end * sizeof *s->first);
    for (size_t id = first; id < end; id++) {
        const struct sto_series *series = sto_series_get(s->cat, (uint32_t)id);
        if (series) {
            ts_buf_slice(&s->names, sto_series_text(series));
            ts_buf_char(&s->names, '\n');
        }
        if (id + 1 < end && s->names.n < BULK_NAMES_BYTES)
            continue;
        if (s->names.n)
            TS_TRY(tsd_bulk_store_names(&s->store, ts_buf_get(&s->names), &s->answer, err));
        TS_TRY(bulk_take_answer(s, first, id + 1, err));
        first = id + 1;
    }
    s->n_ids = end;
    return 0;
}

/* --- runs --- */

/* Use the folder, so that it does not expire. An error if the bulk load was given up. The main thread; that which shows the progress while
 * the main thread merges. */
static int bulk_touch(struct bulk_sink *s)
{
    int64_t now = ts_clock_mono_ns();
    if (s->gone.code || now - s->touched_ns < BULK_TOUCH_NS)
        return s->gone.code;
    s->touched_ns = now;
    return tsd_bulk_store_touch(&s->store, &s->gone);
}

/* What an error of writing into the folder means if the bulk load was given up. */
static int bulk_explain(struct bulk_sink *s, int rc, struct ts_error *err)
{
    if (rc < 0 && !s->gone.code) {
        s->touched_ns = INT64_MIN / 2;
        (void)bulk_touch(s);
    }
    if (rc < 0 && s->gone.code)
        *err = s->gone;
    return rc;
}

/* Say once of a series that points of it are refused because of their time. */
static void bulk_tell_first(struct bulk_sink *s, uint32_t series, struct bulk_first *first)
{
    struct ts_buf time;
    first->told = true;
    if (s->n_told++ >= s->im->max_listed)
        return;
    ts_buf_init(&time, 0);
    ts_time_print(NULL, first->ms, false, &time);
    tsd_progress_clear(&s->im->bar);
    tsd_say("%.*s: points before %.*s have expired: they are refused",
            TS_SHOWN(sto_series_text(sto_series_get(s->cat, series)), 200), (int)time.n, time.p);
    ts_buf_release(&time);
}

/* Leave out the points that have expired. Returns how many. */
static uint64_t bulk_drop_expired(struct bulk_sink *s, struct sto_bulk_chunk *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct bulk_first *first = &s->first[c->points[i].series];
        if (c->points[i].hour * TS_HOUR_MS + sto_meta_off(c->points[i].meta) >= first->ms)
            c->points[kept++] = c->points[i];
        else if (!first->told)
            bulk_tell_first(s, c->points[i].series, first);
    }
    uint64_t n = c->n - kept;
    c->n = kept;
    return n;
}

/* Points of refused series, and those that have expired, are no points, but refused lines. */
static void bulk_count_refused(struct bulk_sink *s)
{
    uint64_t n_expired = 0, n = 0;
    for (size_t c = 0; c < s->n_chunks; c++) {
        n_expired += s->some_expired ? bulk_drop_expired(s, &s->chunks[c]) : 0;
        for (size_t i = 0; s->n_refused && i < s->chunks[c].n; i++)
            n += s->ids[s->chunks[c].points[i].series].metric == 0;
    }
    tsd_import_refused(s->im, n_expired, TS_SLICE_LIT("points have expired"));
    tsd_import_refused(s->im, n, TS_SLICE_LIT("their series is not stored"));
    n += n_expired;
    s->im->n_points -= n;
    s->n_own_bad += n;
    s->pos_bad += n;
}

/* Sort and write what was collected. */
static int bulk_end_run(struct bulk_sink *s, struct ts_error *err)
{
    struct ts_buf note;
    if (!s->n_run)
        return 0;
    if (bulk_touch(s) < 0)
        return bulk_explain(s, s->gone.code, err);
    TS_TRY(bulk_resolve(s, err));
    bulk_count_refused(s);
    ts_buf_init(&note, 4096);
    bulk_note(s, &note);
    int rc = sto_bulk_writer_run(s->writer, s->chunks, s->n_chunks, s->ids, s->n_ids, ts_buf_get(&note), err);
    ts_buf_release(&note);
    if (rc == 0)
        s->left.n_kept = s->im->n_points;
    for (size_t i = 0; i < s->n_chunks; i++)
        tsd_bulk_spare_give(&s->parsers, &s->chunks[i]);
    s->n_chunks = 0;
    s->n_run = 0;
    return bulk_explain(s, rc, err);
}

/* The oldest block is parsed: its points join the run. */
static int bulk_harvest(struct bulk_sink *s, struct ts_error *err)
{
    struct tsd_bulk_block *b = &s->ring[s->head];
    uint64_t before = s->im->n_bad;
    tsd_bulk_await(&s->parsers, b);
    tsd_bulk_report(s->im, b);
    s->n_own_bad += s->im->n_bad - before;
    s->im->n_points += b->n_points;
    s->pos_file = b->file_index;
    s->pos_lines = b->n_lines_done;
    s->pos_bad = s->n_own_bad + b->n_other_bad;
    TS_ARRAY_GROW(s->chunks, s->n_chunks, s->cap_chunks, 256);
    s->chunks[s->n_chunks++] = b->chunk;
    s->n_run += b->chunk.n;
    b->chunk = (struct sto_bulk_chunk){0};
    tsd_bulk_block_clear(b);
    s->head = (s->head + 1) % s->n_ring;
    s->n_used--;
    tsd_import_show(s->im);
    return s->n_run >= s->max_run ? bulk_end_run(s, err) : 0;
}

/* --- lines --- */

static bool bulk_begin_file(void *sink, size_t index)
{
    struct bulk_sink *s = sink;
    s->file = index;
    s->n_lines = 0;
    s->n_other_bad = s->im->n_bad - s->n_own_bad;
    return !s->done && !sto_bulk_writer_is_merging(s->writer) && index >= s->resume_file;
}

/* Leave out the lines that the runs of before have. Returns how many. */
static uint64_t bulk_skip(const struct bulk_sink *s, struct ts_slice *lines)
{
    uint64_t n = 0;
    if (s->file != s->resume_file)
        return 0;
    while (lines->n && s->n_lines + n < s->resume_lines) {
        (void)ts_slice_cut(lines, '\n');
        n++;
    }
    return n;
}

/* Lines are long, so searching for their ends is faster than looking at each byte. */
static uint64_t bulk_count_lines(struct ts_slice lines)
{
    const char *p = lines.p, *end = p + lines.n;
    uint64_t n = 0;
    for (; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        n++;
    return n;
}

static int bulk_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line,
                     struct ts_error *err)
{
    struct bulk_sink *s = sink;
    if (s->im->lines)
        tsd_bulk_ahead_at(&s->ahead, s->file, ts_lines_done_bytes(s->im->lines));
    uint64_t n = bulk_count_lines(lines), n_skipped = bulk_skip(s, &lines), first = *line + n_skipped;
    *line += n;
    s->n_lines += n;
    if (!lines.n)
        return 0;
    if (s->n_used == s->n_ring)
        TS_TRY(bulk_harvest(s, err));
    struct tsd_bulk_block *b = &s->ring[(s->head + s->n_used++) % s->n_ring];
    b->file = file;
    b->file_index = s->file;
    b->first = first;
    b->n_lines_done = s->n_lines;
    b->n_other_bad = s->n_other_bad;
    tsd_bulk_block_fill(b, lines);
    if (s->im->line_of) {
        b->line_of = ts_xmalloc((n - n_skipped) * sizeof *b->line_of);
        memcpy(b->line_of, s->im->line_of + first, (n - n_skipped) * sizeof *b->line_of);
    }
    tsd_bulk_parse(&s->parsers, b);
    return 0;
}

/* --- the end --- */

/* Shows how far merging has come, uses the folder, and looks for Ctrl-C. */
static void *bulk_show(void *arg)
{
    struct bulk_sink *s = arg;
    while (!atomic_load(&s->merging_ends)) {
        uint64_t all, merged;
        sto_bulk_writer_progress(s->writer, &all, &merged);
        s->im->bar.all_bytes = all;
        tsd_progress_set(&s->im->bar, merged < all ? merged : all, merged);
        if (tsd_import_interrupted() || bulk_touch(s) < 0)
            atomic_store(&s->cancel, true);
        (void)nanosleep(&(struct timespec){.tv_nsec = BULK_SHOW_NS}, NULL);
    }
    return NULL;
}

static int bulk_merge(struct bulk_sink *s, struct sto_bulk_sum *out, struct ts_error *err)
{
    pthread_t thread;
    struct tsd_progress all = s->im->bar;
    atomic_store(&s->merging_ends, false);
    tsd_progress_clear(&s->im->bar);
    tsd_progress_begin(&s->im->bar, 0);
    bool shows = ts_thread_start(&thread, &(struct ts_thread_opts){.fn = bulk_show, .arg = s}) == 0;
    int rc = sto_bulk_writer_finish(s->writer, out, err);
    atomic_store(&s->merging_ends, true);
    if (shows)
        pthread_join(thread, NULL);
    tsd_progress_clear(&s->im->bar);
    s->im->bar = all;
    return bulk_explain(s, rc, err);
}

static void bulk_drop_names(struct bulk_sink *s);

static int bulk_hand_over(struct bulk_sink *s, const struct sto_bulk_sum *sum, struct ts_error *err)
{
    bool replaces = tsd_bulk_store_replaces(&s->store);
    if (sum->n_files || replaces)
        TS_TRY(tsd_bulk_store_take(&s->store, sum, &s->im->n_replaced, err));
    s->im->replaced = replaces;
    s->done = true;
    return 0;
}

/* A replacement without the lines that were refused would lose what they were to correct. */
static int bulk_is_whole(const struct bulk_sink *s, struct ts_error *err)
{
    if (!tsd_bulk_store_replaces(&s->store) || !(s->im->n_bad || s->im->n_bad_files))
        return 0;
    return ts_error_set(err, TS_EINVAL, "not all lines can be stored");
}

/* Whatever is wrong with a replacement, the same files would be refused again: nothing of them is kept. */
static int bulk_refused(struct bulk_sink *s, int rc, struct ts_error *err)
{
    struct sto_bulk_ended ended;
    if (rc != TS_EINVAL ||
        !tsd_bulk_store_replaces(&s->store)) /* it may be another time, or done although no answer came */
        return rc;
    (void)tsd_bulk_store_end(&s->store, &ended, NULL);
    return ts_error_wrap(err, "nothing is replaced");
}

static int bulk_all(struct bulk_sink *s, struct ts_error *err)
{
    struct sto_bulk_sum sum = {0};
    while (s->n_used)
        TS_TRY(bulk_harvest(s, err));
    tsd_bulk_ahead_stop(&s->ahead);
    sto_bulk_writer_last(s->writer);
    TS_TRY(bulk_end_run(s, err));
    tsd_bulk_spares_release(&s->parsers); /* merging needs the memory */
    TS_TRY(bulk_is_whole(s, err));
    TS_TRY(bulk_merge(s, &sum, err));
    if (tsd_bulk_store_replaces(&s->store) && !sum.n_points && !tsd_args_has(s->im->args, "empty"))
        return ts_error_set(err, TS_EINVAL, "the files have no points; to delete the range, add --empty");
    return bulk_hand_over(s, &sum, err);
}

static int bulk_finish(void *sink, struct ts_error *err)
{
    struct bulk_sink *s = sink;
    struct sto_bulk_ended ended;
    int rc = s->done ? 0 : bulk_all(s, err);
    if (rc < 0)
        return bulk_refused(s, rc, err);
    bulk_drop_names(s);
    return tsd_bulk_store_end(&s->store, &ended, err);
}

static void bulk_failed(void *sink, struct ts_error *err)
{
    struct bulk_sink *s = sink;
    if (!s->done && !s->gone.code && (err->code == TS_ECANCELLED || err->code == TS_ENOSPC))
        tsd_bulk_explain_end(&s->store, &s->left, err);
    tsd_bulk_explain_damage(&s->store, err);
}

/* --- opening and closing --- */

/* The scratch catalog, its files and its folder. */
static void bulk_drop_names(struct bulk_sink *s)
{
    static const char *const files[] = {"catalog.log", "catalog.log.copy", "catalog.log.tmp",
                                        "catalog.log.new"};
    const struct ts_fs *fs = ts_fs_real();
    if (!s->names_dir)
        return;
    tsd_bulk_parsers_release(&s->parsers);
    sto_catalog_discard(s->cat); /* the daemon may have removed its folder */
    s->cat = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = ts_fs_join(s->names_dir, files[i]);
        (void)fs->unlink(fs, path, NULL);
        ts_free(path);
    }
    (void)fs->unlink(fs, s->names_dir, NULL);
    ts_free(s->names_dir);
    s->names_dir = NULL;
}

static int bulk_close(void *sink, struct ts_error *err)
{
    struct bulk_sink *s = sink;
    tsd_bulk_ahead_stop(&s->ahead);
    for (unsigned i = 0; i < s->n_used; i++)
        tsd_bulk_await(&s->parsers, &s->ring[(s->head + i) % s->n_ring]);
    for (unsigned i = 0; i < s->n_ring; i++)
        tsd_bulk_block_release(&s->ring[i]);
    for (size_t i = 0; i < s->n_chunks; i++)
        ts_free(s->chunks[i].points);
    ts_pool_free(s->pool);
    bulk_drop_names(s);
    sto_bulk_writer_close(s->writer);
    int rc = tsd_bulk_store_close(&s->store, err);
    ts_buf_release(&s->names);
    ts_buf_release(&s->answer);
    ts_free(s->place.dir);
    ts_free(s->ring);
    ts_free(s->chunks);
    ts_free(s->ids);
    ts_free(s->first);
    ts_free(s);
    return rc;
}

int tsd_bulk_memory(const struct tsd_args *args, uint64_t *out_bytes)
{
    const char *text = tsd_args_get(args, "bulk-memory");
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), *n = out_bytes;
    *n = machine / 4 < BULK_MEMORY_BYTES ? machine / 4 : BULK_MEMORY_BYTES;
    if (!text || (ts_num_parse_bytes(ts_slice_str(text), n) == 0 && *n >= (1u << 20) && *n <= machine))
        return TSD_EXIT_OK;
    return tsd_usage(args,
                     "--bulk-memory takes bytes from 1M to %lluM, the memory of this machine, as in 512M; "
                     "not \"%.60s\"",
                     (unsigned long long)(machine >> 20), text);
}

static int bulk_open_folder(struct bulk_sink *s, uint64_t memory, struct ts_error *err)
{
    struct sto_bulk_writer_opts opts = {.fs = ts_fs_real(),
                                        .dir = s->place.dir,
                                        .pool = s->pool,
                                        .memory_bytes = memory / 4,
                                        .cancel = &s->cancel};
    struct ts_buf note;
    ts_buf_init(&note, 4096);
    int rc = sto_bulk_writer_open(&opts, &note, &s->writer, err);
    if (rc == 0 && note.n)
        rc = bulk_resume(s, ts_buf_get(&note), err);
    ts_buf_release(&note);
    if (rc < 0)
        return rc;
    s->names_dir = ts_fs_join(s->place.dir, "names");
    TS_TRY(ts_fs_real()->mkdir(ts_fs_real(), s->names_dir, err));
    bulk_drop_names(s); /* of an import that was killed */
    s->names_dir = ts_fs_join(s->place.dir, "names");
    TS_TRY(ts_fs_real()->mkdir(ts_fs_real(), s->names_dir, err));
    return sto_catalog_open(ts_fs_real(), &(struct sto_catalog_opts){.dir = s->names_dir, .n_shards = 1},
                            &s->cat, err);
}

static int bulk_begin(struct bulk_sink *s, struct ts_error *err)
{
    uint64_t memory = s->im->bulk_memory_bytes;
    unsigned n = ts_pool_cores(BULK_THREADS);
    TS_TRY(tsd_zone_begin(s->im->args, err)); /* of put lines, as where the daemon reads them */
    TS_TRY(tsd_bulk_identify(s->im->args, s->store.id, &s->left.command, err));
    TS_TRY(tsd_bulk_store_open(&s->store, TSD_LOCAL_CREATE, err));
    TS_TRY(tsd_bulk_store_begin(&s->store, &s->place, err));
    s->touched_ns = ts_clock_mono_ns();
    if (s->place.done) {
        s->done = true;
        s->im->n_points = s->place.sum.n_points;
        tsd_say("this import was completed before: its files are part of the store");
        return 0;
    }
    if (tsd_args_has(s->im->args, "idle"))
        ts_thread_idle();
    else
        ts_thread_lower(BULK_NICE);
    s->pool = ts_pool_new(n, "tsd-import");
    TS_TRY(bulk_open_folder(s, memory, err));
    s->left.dir = s->place.dir;
    s->left.replaces = tsd_bulk_store_replaces(&s->store);
    if (!s->left.n_kept)
        tsd_bulk_tell_others(&s->store, &s->left);
    s->n_ring = 2 * n + 2;
    s->ring = ts_xcalloc(s->n_ring, sizeof *s->ring);
    s->max_run = memory / 4 * 3 / BULK_POINT_BYTES;
    s->parsers.rules = s->store.rules;
    s->parsers.rules.make_metrics = true; /* the store decides that */
    s->parsers.cat = s->cat;
    s->parsers.pool = s->pool;
    tsd_bulk_parsers_init(&s->parsers, n, memory / 8 / n);
    if (!sto_bulk_writer_is_merging(s->writer))
        tsd_bulk_ahead_start(&s->ahead, s->im->args->words, s->im->args->n_words, memory);
    return 0;
}

static int bulk_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    struct bulk_sink *s = ts_xcalloc(1, sizeof *s);
    s->im = im;
    s->store.args = im->args;
    ts_buf_init(&s->names, BULK_NAMES_BYTES * 2 + ((size_t)4 << 20));
    ts_buf_init(&s->answer, (size_t)256 << 20);
    int rc = bulk_begin(s, err);
    if (rc < 0) {
        tsd_bulk_explain_damage(&s->store, err);
        (void)bulk_close(s, NULL);
        return rc;
    }
    *out_sink = s;
    return 0;
}

const struct tsd_import_to tsd_import_bulk = {.open = bulk_open,
                                              .begin_file = bulk_begin_file,
                                              .take = bulk_take,
                                              .finish = bulk_finish,
                                              .failed = bulk_failed,
                                              .close = bulk_close};
