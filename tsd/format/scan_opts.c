/*
 * scan_opts.c - the options of a scan, from the words of a command or the parameters of a request.
 *
 * Threads    any
 */
#include "tsd/format/scan_int.h"

#include "base/num.h"
#include "base/text.h"
#include "base/time.h"

#include <string.h>

#define DAY_MS ((int32_t)TS_DAY_MS)

typedef int (*set_fn)(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err);

static int set_family(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    static const struct {
        const char *name;
        enum tsd_scan_family family;
    } families[] = {{"points", TSD_SCAN_POINTS},
                    {"hours", TSD_SCAN_HOURS},
                    {"days", TSD_SCAN_DAYS},
                    {"annotations", TSD_SCAN_ANNOTATIONS},
                    {"histograms", TSD_SCAN_HISTOGRAMS}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (ts_slice_is(value, families[i].name)) {
            o->family = families[i].family;
            return 0;
        }
    return ts_error_set(err, TS_EINVAL,
                        "No such family of rows: %.*s (points|hours|days|annotations|histograms)",
                        TS_SHOWN(value, 64));
}

static int set_prefix(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    struct tsd_scan_key prefix;
    TS_TRY(tsd_scan__key_read(value, "prefix", &prefix, err));
    tsd_scan__key_prefix(&prefix, &o->range);
    o->prefix = true;
    return 0;
}

/* One end of a range of keys. */
static int set_bound(struct tsd_scan_opts *o, struct ts_slice value, const char *option,
                     struct tsd_scan_key *out, struct ts_error *err)
{
    if (o->prefix)
        return ts_error_set(err, TS_EINVAL, "prefix is a range of keys: leave out startkey and stopkey");
    return tsd_scan__key_read(value, option, out, err);
}

static int set_startkey(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    return set_bound(o, value, "startkey", &o->range.from, err);
}

static int set_stopkey(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    return set_bound(o, value, "stopkey", &o->range.to, err);
}

static int set_import(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    (void)value, (void)err;
    o->form = TSD_SCAN_IMPORT;
    return 0;
}

static int set_keys(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    (void)value, (void)err;
    o->keys = true;
    return 0;
}

static int set_first(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    (void)value, (void)err;
    o->first = true;
    return 0;
}

static int set_limit(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    int64_t n;
    if (ts_num_parse_int(value, &n, NULL) < 0 || n < 1)
        return ts_error_set(err, TS_EINVAL, "limit is a number of rows, at least 1, not \"%.*s\"",
                            TS_SHOWN(value, 64));
    o->max_rows = (uint64_t)n;
    return 0;
}

static int set_after(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    struct tsd_scan_run read;
    o->after = value;
    return tsd_scan__token_read(&read, value, err);
}

static int set_sample(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    struct ts_num num;
    double part = ts_num_parse(value, &num, NULL) < 0 ? 0 : ts_num_double(num);
    if (!(part > 0 && part <= 1))
        return ts_error_set(err, TS_EINVAL,
                            "sample is a part of the rows, above 0 and at most 1, not \"%.*s\"",
                            TS_SHOWN(value, 64));
    o->sample = part < 1 ? part : 0;
    return 0;
}

/* Two digits; false: there are none. */
static bool two_digits(struct ts_slice *s, int32_t *out)
{
    if (s->n < 2 || s->p[0] < '0' || s->p[0] > '9' || s->p[1] < '0' || s->p[1] > '9')
        return false;
    *out = (s->p[0] - '0') * 10 + (s->p[1] - '0');
    s->p += 2;
    s->n -= 2;
    return true;
}

static bool cut_char(struct ts_slice *s, char c)
{
    if (!s->n || *s->p != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

/* A time of day, HH:MM or HH:MM:SS, up to 24:00, in ms. */
static bool time_of_day(struct ts_slice *s, int32_t *out_ms)
{
    int32_t h, m, second = 0;
    if (!two_digits(s, &h) || !cut_char(s, ':') || !two_digits(s, &m))
        return false;
    if (cut_char(s, ':') && !two_digits(s, &second))
        return false;
    *out_ms = ((h * 60 + m) * 60 + second) * 1000;
    return m < 60 && second < 60 && *out_ms <= DAY_MS;
}

static int set_between(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    struct ts_slice s = value;
    if (!time_of_day(&s, &o->day_from_ms) || !cut_char(&s, '-') || !time_of_day(&s, &o->day_to_ms) || s.n ||
        o->day_from_ms == o->day_to_ms)
        return ts_error_set(err, TS_EINVAL,
                            "between is a range of times of day, for example 08:00-09:00, not \"%.*s\"",
                            TS_SHOWN(value, 64));
    o->between = true;
    return 0;
}

static int set_format(struct tsd_scan_opts *o, struct ts_slice value, struct ts_error *err)
{
    static const struct {
        const char *name;
        enum tsd_scan_form form;
    } forms[] = {{"rows", TSD_SCAN_ROWS},
                 {"text", TSD_SCAN_ROWS},
                 {"import", TSD_SCAN_IMPORT},
                 {"csv", TSD_SCAN_CSV},
                 {"ndjson", TSD_SCAN_JSON}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (ts_slice_is(value, forms[i].name)) {
            if (o->form == TSD_SCAN_IMPORT && forms[i].form != TSD_SCAN_IMPORT)
                return ts_error_set(err, TS_EINVAL, "import is one of the forms: leave out format");
            o->form = forms[i].form;
            return 0;
        }
    return ts_error_set(err, TS_EINVAL, "No such format of a scan: %.*s (rows|import|csv|ndjson)",
                        TS_SHOWN(value, 64));
}

/* They are set in this order. */
static const struct {
    const char *name;
    set_fn set;
    bool flag; /* has no value */
} options[] = {
    {"import", set_import, true},    {"keys", set_keys, true},      {"first", set_first, true},
    {"family", set_family, false},   {"prefix", set_prefix, false}, {"startkey", set_startkey, false},
    {"stopkey", set_stopkey, false}, {"limit", set_limit, false},   {"after", set_after, false},
    {"sample", set_sample, false},   {"format", set_format, false}, {"between", set_between, false}};

const char *tsd_scan_opt_name(size_t i, bool *out_flag)
{
    if (i >= sizeof options / sizeof *options)
        return NULL;
    *out_flag = options[i].flag;
    return options[i].name;
}

int tsd_scan_opts_set(struct tsd_scan_opts *o, size_t i, struct ts_slice value, struct ts_error *err)
{
    return options[i].set(o, value, err);
}

/* What a family has not. */
static int check_family(const struct tsd_scan_opts *o, bool where, struct ts_error *err)
{
    const char *why = NULL;
    if ((o->family == TSD_SCAN_HOURS || o->family == TSD_SCAN_DAYS) && o->first)
        why = "Hours and days are summaries of all points: leave out first";
    else if (o->family == TSD_SCAN_DAYS && (o->keys || o->range.from.n || o->range.to.n))
        why = "Days have no keys: leave out keys, prefix, startkey and stopkey";
    else if (o->family == TSD_SCAN_DAYS && o->form == TSD_SCAN_IMPORT)
        why = "There are no lines of import for days: choose another format";
    else if (o->family >= TSD_SCAN_ANNOTATIONS && where)
        why = "Annotations and histograms have no value: leave out where";
    else if (o->family == TSD_SCAN_ANNOTATIONS && o->form == TSD_SCAN_IMPORT)
        why = "There are no lines of import for annotations: choose another format";
    else if (o->family == TSD_SCAN_HISTOGRAMS && o->form == TSD_SCAN_ROWS)
        why = "Histograms are not printed as OpenTSDB stores them: choose the format import, csv or ndjson";
    else if (o->family == TSD_SCAN_HISTOGRAMS && (o->range.from.n || o->range.to.n))
        why = "Rows of histograms have no keys: leave out prefix, startkey and stopkey";
    return why ? ts_error_set(err, TS_EINVAL, "%s", why) : 0;
}

int tsd_scan_opts_check(const struct tsd_scan_opts *o, bool where, struct ts_error *err)
{
    TS_TRY(check_family(o, where, err));
    if (o->keys && o->first)
        return ts_error_set(err, TS_EINVAL, "keys shows no points: leave out first");
    if (o->keys && o->form == TSD_SCAN_IMPORT)
        return ts_error_set(err, TS_EINVAL, "Lines of import have points: leave out keys");
    return 0;
}
