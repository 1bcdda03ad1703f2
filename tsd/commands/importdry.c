/*
 * importdry.c - tsd import --dry-run: put lines are checked and counted, and the first ones are printed.
 *
 * The rules are those without a configuration: a daemon may refuse more (a full catalog, a metric that may not be created).
 *
 * Threads    the main thread
 */
#include "tsd/commands/importformat.h"

#include "base/mem.h"
#include "base/text.h"
#include "tsd/ingest/args.h"

#define DRY_SHOWN 10u /* put lines printed */

struct dry_sink {
    struct tsd_import *im;  /* counts */
    struct tsd_rules rules; /* for in */
    struct tsd_ingest in;   /* scratch of the parser; it has no store */
    struct ts_buf reason;   /* of a bad line */
};

static int dry_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    (void)err;
    struct dry_sink *s = ts_xcalloc(1, sizeof(*s));
    s->im = im;
    tsd_rules_init(&s->rules, false, true, TSD_TAGS_MAX, "");
    s->rules.old_times = tsd_args_has(im->args, "data");
    s->in.rules = &s->rules;
    ts_buf_init(&s->in.msg, 4096);
    ts_buf_init(&s->in.recoded, 4096);
    ts_buf_init(&s->reason, 8192);
    *out_sink = s;
    return 0;
}

static int dry_point(struct dry_sink *s, struct ts_slice rest)
{
    struct tsd_line_args a;
    TS_TRY(tsd_args_begin(&s->in, rest, TSD_PUT_MIN_ARGS, TSD_PUT_MIN_ARGS, &a));
    TS_TRY(tsd_args_point(&s->in, &a));
    ts_buf_clear(&s->in.msg);
    return tsd_names_check(&s->rules, a.metric, s->in.tags, s->in.n_tags, &s->in.msg);
}

static int dry_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line, struct ts_error *err)
{
    struct dry_sink *s = sink;
    const char *p = lines.p, *end = p + lines.n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        struct ts_slice whole = {p, (size_t)(nl - p)}, rest;
        enum tsd_import_kind kind = tsd_import_line(whole, &rest);
        uint64_t number = tsd_import_number(s->im, (*line)++);
        p = nl + 1;
        int rc = kind == TSD_IMPORT_POINT ? dry_point(s, rest) : 0;
        if (rc < 0) {
            ts_buf_clear(&s->reason);
            ts_buf_str(&s->reason, tsd_refusal_text(tsd_refusal_of(rc), false));
            ts_buf_slice(&s->reason, ts_buf_get(&s->in.msg));
            tsd_import_bad(s->im, file, number, ts_buf_get(&s->reason));
        } else if (kind != TSD_IMPORT_NOTHING && s->im->n_points++ < DRY_SHOWN) {
            tsd_progress_clear(&s->im->bar);
            TS_TRY(tsd_print(ts_slice_str(tsd_import_word(kind)), err));
            TS_TRY(tsd_print(rest, err));
            TS_TRY(tsd_print(TS_SLICE_LIT("\n"), err));
        }
    }
    return 0;
}

static int dry_finish(void *sink, struct ts_error *err)
{
    (void)sink;
    return tsd_print_end(err);
}

static int dry_close(void *sink, struct ts_error *err)
{
    struct dry_sink *s = sink;
    (void)err;
    ts_buf_release(&s->in.msg);
    ts_buf_release(&s->in.recoded);
    ts_buf_release(&s->reason);
    ts_free(s->in.tags);
    ts_free(s);
    return 0;
}

const struct tsd_import_to tsd_import_dry = {
    .open = dry_open, .take = dry_take, .finish = dry_finish, .close = dry_close};
