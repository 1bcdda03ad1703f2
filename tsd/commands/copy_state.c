/*
 * copy_state.c - the progress file of tsd copy: DIR.copy, a text file.
 *
 *   tsd copy 1 WHAT                 the direction and both stores
 *   FROM_MS NEXT_MS METRIC          everything of the metric from FROM_MS until before NEXT_MS was copied
 *   ...                             a later line of a metric replaces an earlier one; a last line without its end is ignored
 *
 * Threads    one
 */
#include "base/cut.h"
#include "base/mem.h"
#include "base/time.h"
#include "tsd/commands/copy.h"

#include <stdlib.h>

#define FIRST_LINE     "tsd copy 1 "
#define MAX_FILE_BYTES ((size_t)1 << 30)
#define SYNC_NS        1000000000ll /* between two syncs: rollups have many metrics with few points */

/* A line. */
struct mark {
    struct ts_slice metric;
    int64_t from_ms, next_ms;
    size_t line; /* the last one counts */
    bool asked;  /* it is of what this command copies */
};

struct tsd_copy_state {
    char *path;
    struct ts_file *file;
    char *text;         /* as it was read; names of marks lie in it */
    struct mark *marks; /* sorted: one for each metric */
    size_t n_marks;
    struct ts_buf pending; /* lines that are not in the file yet */
    int64_t due_ns;        /* monotonic: when they should be */
    char *what;            /* what is copied; owned */
    bool is_new;           /* there was no file before, and no line is in this one */
};

static int compare(const void *pa, const void *pb)
{
    const struct mark *a = pa, *b = pb;
    int c = ts_slice_cmp(a->metric, b->metric);
    return c ? c : (a->line > b->line) - (a->line < b->line);
}

static bool take_mark(struct ts_slice line, struct mark *m)
{
    struct ts_slice from = ts_slice_cut(&line, ' '), next = ts_slice_cut(&line, ' ');
    m->metric = line;
    return ts_num_parse_int(from, &m->from_ms, NULL) == 0 && ts_num_parse_int(next, &m->next_ms, NULL) == 0 &&
           line.n > 0;
}

/* Whole lines behind the first one. */
static void take_marks(struct tsd_copy_state *s, struct ts_slice rest)
{
    size_t n = 0;
    s->marks = ts_xcalloc(ts_slice_count(rest, '\n') + 1, sizeof *s->marks);
    while (memchr(rest.p, '\n', rest.n)) {
        struct mark *m = &s->marks[n];
        m->line = n;
        n += take_mark(ts_slice_cut(&rest, '\n'), m);
    }
    qsort(s->marks, n, sizeof *s->marks, compare);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !ts_slice_eq(s->marks[i].metric, s->marks[i + 1].metric))
            s->marks[s->n_marks++] = s->marks[i];
}

static int load(struct tsd_copy_state *s, const char *what, struct ts_error *err)
{
    size_t n, head = strlen(FIRST_LINE);
    int rc = ts_fs_read_file(ts_fs_real(), s->path, MAX_FILE_BYTES, &s->text, &n, err);
    if (rc == TS_ENOTFOUND)
        return 0;
    TS_TRY(rc);
    s->is_new = false;
    struct ts_slice rest = {s->text, n};
    if (!memchr(rest.p, '\n', rest.n)) /* killed while it was created */
        return 0;
    struct ts_slice first = ts_slice_cut(&rest, '\n');
    if (first.n < head || memcmp(first.p, FIRST_LINE, head) != 0)
        return ts_error_set(err, TS_EINVAL, "%s is no progress file of tsd copy; move it away", s->path);
    if (!ts_slice_is((struct ts_slice){first.p + head, first.n - head}, what))
        return ts_error_set(err, TS_EINVAL,
                            "%s belongs to another copy that did not end, \"%.*s\", and this one is \"%s\": "
                            "finish that one first, or remove the file",
                            s->path, (int)(first.n - head), first.p + head, what);
    take_marks(s, rest);
    return 0;
}

static int append(struct tsd_copy_state *s, struct ts_slice text, struct ts_error *err)
{
    TS_TRY(ts_fs_real()->append(s->file, text.p, text.n, err));
    return ts_fs_real()->sync(s->file, err);
}

/* Write the marks into the file, and nothing else. */
static int write_marks(const struct tsd_copy_state *s, struct ts_error *err)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_printf(&text, FIRST_LINE "%s\n", s->what);
    for (size_t i = 0; i < s->n_marks; i++)
        ts_buf_printf(&text, "%lld %lld %.*s\n", (long long)s->marks[i].from_ms,
                      (long long)s->marks[i].next_ms, (int)s->marks[i].metric.n, s->marks[i].metric.p);
    int rc = ts_fs_write_atomic(ts_fs_real(), s->path, text.p, text.n, err);
    ts_buf_release(&text);
    return rc;
}

/* A file without a half line at its end. */
static int begin_file(struct tsd_copy_state *s, struct ts_error *err)
{
    int rc = write_marks(s, err);
    return rc < 0 ? rc : ts_fs_real()->open(ts_fs_real(), s->path, TS_OPEN_APPEND, &s->file, err);
}

int tsd_copy_state_open(const char *dir, const char *what, bool fresh, struct tsd_copy_state **out,
                        struct ts_error *err)
{
    struct tsd_copy_state *s = ts_xcalloc(1, sizeof *s);
    size_t n = strlen(dir);
    *out = NULL;
    ts_buf_init(&s->pending, 0);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    char *base = ts_xmalloc(n + 1);
    memcpy(base, dir, n);
    base[n] = 0;
    s->path = ts_fs_suffixed(base, ".copy");
    ts_free(base);
    s->what = ts_xstrdup(what);
    s->is_new = true;
    int rc = fresh ? 0 : load(s, what, err);
    if (rc == 0)
        rc = begin_file(s, err);
    if (rc < 0) {
        tsd_copy_state_close(s, false);
        return rc;
    }
    *out = s;
    return 0;
}

int64_t tsd_copy_state_next(struct tsd_copy_state *s, struct ts_slice metric, int64_t from_ms)
{
    struct mark key = {.metric = metric};
    size_t lo = 0, hi = s->n_marks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ts_slice_cmp(s->marks[mid].metric, key.metric) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct mark *m = lo < s->n_marks ? &s->marks[lo] : NULL;
    if (!m || !ts_slice_eq(m->metric, metric) || m->from_ms != from_ms)
        return from_ms;
    m->asked = true;
    return m->next_ms;
}

int tsd_copy_state_set(struct tsd_copy_state *s, struct ts_slice metric, int64_t from_ms, int64_t next_ms,
                       struct ts_error *err)
{
    if (memchr(metric.p, '\n', metric.n)) /* copied again the next time */
        return 0;
    if (s->pending.n == 0)
        s->due_ns = ts_clock_mono_ns() + SYNC_NS;
    return ts_buf_printf(&s->pending, "%lld %lld %.*s\n", (long long)from_ms, (long long)next_ms,
                         (int)metric.n, metric.p) < 0
               ? ts_error_set(err, TS_ENOMEM, "there is no memory for the progress of the copy")
               : 0;
}

bool tsd_copy_state_is_due(const struct tsd_copy_state *s)
{
    return s->pending.n && ts_clock_mono_ns() >= s->due_ns;
}

int tsd_copy_state_sync(struct tsd_copy_state *s, struct ts_error *err)
{
    if (s->pending.n == 0)
        return 0;
    s->is_new = false;
    TS_TRY(append(s, ts_buf_get(&s->pending), err));
    ts_buf_clear(&s->pending);
    return 0;
}

bool tsd_copy_state_is_new(const struct tsd_copy_state *s)
{
    return s->is_new;
}

/* What this command has copied is complete. Keep what the file says of others, which have copied other metrics or times. */
static void forget_own(struct tsd_copy_state *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_marks; i++)
        if (!s->marks[i].asked)
            s->marks[n++] = s->marks[i];
    s->n_marks = n;
    if (n)
        (void)write_marks(s, NULL);
    else
        (void)ts_fs_real()->unlink(ts_fs_real(), s->path, NULL);
}

void tsd_copy_state_close(struct tsd_copy_state *s, bool done)
{
    if (!s)
        return;
    if (s->file)
        (void)ts_fs_real()->close(s->file, NULL);
    if (done)
        forget_own(s);
    ts_buf_release(&s->pending);
    ts_free(s->marks);
    ts_free(s->text);
    ts_free(s->path);
    ts_free(s->what);
    ts_free(s);
}
