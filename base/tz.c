/*
 * tz.c - time zones: each one a sorted table of offset changes, made once from ICU.
 *
 * The Gregorian calendar repeats after 400 years = 20,871 weeks, and with it every rule of the kind "last
 * Sunday in March". So the table ends in the year 2500 and later times are looked up 400 years earlier, as
 * often as needed.
 * Threads    any: the list of zones is under a mutex, a zone never changes once it is in the list
 * Invariant  tables are sorted, neighbours differ in offset, the first entry begins at INT64_MIN
 */
#include "base/time.h"

#include "base/mem.h"

#include <pthread.h>
#include <unicode/ucal.h>
#include <unicode/ustring.h>

#define TZ_NAME_MAX      63                   /* longest IANA name is 32 bytes */
#define TZ_CYCLE_MS      (146097 * TS_DAY_MS) /* 400 Gregorian years */
#define TZ_END_MS        16725225600000ll     /* 2500-01-01: rules are looked up below this */
#define TZ_BEGIN_MS      (-11676096000000.0)  /* 1600-01-01: no zone changes earlier */
#define TZ_MAX_STEPS     8192                 /* more changes than this in 900 years: bad zone data */
#define TZ_MAX_OFFSET_MS TS_DAY_MS            /* no zone is a day or more away from UTC */

/* One stretch of constant offset, up to the next entry. */
struct tz_step {
    int64_t from_ms;   /* first instant of it */
    int64_t offset_ms; /* local time minus UTC */
};

struct ts_tz {
    struct ts_tz *next;         /* list of opened zones; under tz_lock */
    struct tz_step *steps;      /* sorted by from_ms; NULL for UTC */
    size_t n_steps;             /* entries; the last one begins after TZ_END_MS if the rules go on for ever */
    bool repeats;               /* rules go on for ever: fold later times back */
    char name[TZ_NAME_MAX + 1]; /* as asked for */
};

static struct tz_step tz_utc_step = {INT64_MIN, 0};
static struct ts_tz tz_utc = {.steps = &tz_utc_step, .n_steps = 1, .name = "UTC"};
static struct ts_tz *tz_list; /* opened zones, newest first */
static pthread_mutex_t tz_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- opening ---- */

/* Offset that a calendar shows at t. */
static int64_t tz_ask_icu(UCalendar *cal, double t, UErrorCode *st)
{
    ucal_setMillis(cal, t, st);
    return ucal_get(cal, UCAL_ZONE_OFFSET, st) + ucal_get(cal, UCAL_DST_OFFSET, st);
}

/* Walk all changes of a zone into its table. */
static bool tz_fill(struct ts_tz *tz, UCalendar *cal)
{
    UErrorCode st = U_ZERO_ERROR;
    size_t cap = 64;
    tz->steps = ts_xmalloc(cap * sizeof(tz->steps[0]));
    tz->steps[0] = (struct tz_step){INT64_MIN, tz_ask_icu(cal, TZ_BEGIN_MS, &st)};
    tz->n_steps = 1;
    for (int i = 0; i < TZ_MAX_STEPS && U_SUCCESS(st); i++) {
        UDate next;
        if (!ucal_getTimeZoneTransitionDate(cal, UCAL_TZ_TRANSITION_NEXT, &next, &st))
            return U_SUCCESS(st);
        int64_t offset = tz_ask_icu(cal, next, &st);
        if (offset == tz->steps[tz->n_steps - 1].offset_ms)
            continue; /* only the name of the time changed */
        if (tz->n_steps == cap)
            tz->steps = ts_xrealloc(tz->steps, (cap *= 2) * sizeof(tz->steps[0]));
        tz->steps[tz->n_steps++] = (struct tz_step){(int64_t)next, offset};
        if ((int64_t)next >= TZ_END_MS) {
            tz->repeats = true;
            return U_SUCCESS(st);
        }
    }
    return false;
}

/* Known to the zone database under this name? ICU also invents zones from texts such as GMT+5; those are
 * refused. */
static bool tz_is_known(const UChar *uname, int32_t n)
{
    UChar canonical[TZ_NAME_MAX + 1];
    UErrorCode st = U_ZERO_ERROR;
    UBool is_system = 0;
    ucal_getCanonicalTimeZoneID(uname, n, canonical, TZ_NAME_MAX + 1, &is_system, &st);
    return U_SUCCESS(st) && is_system;
}

static struct ts_tz *tz_load(struct ts_slice name)
{
    UChar uname[TZ_NAME_MAX + 1];
    UErrorCode st = U_ZERO_ERROR;
    struct ts_tz *tz = ts_xcalloc(1, sizeof(*tz));
    memcpy(tz->name, name.p, name.n);
    u_charsToUChars(tz->name, uname, (int32_t)name.n);
    uname[name.n] = 0;
    UCalendar *cal = NULL;
    bool ok = tz_is_known(uname, (int32_t)name.n);
    if (ok) {
        cal = ucal_open(uname, (int32_t)name.n, "en_US", UCAL_GREGORIAN, &st);
        ok = U_SUCCESS(st) && tz_fill(tz, cal);
    }
    ucal_close(cal);
    if (ok)
        return tz;
    ts_free(tz->steps);
    ts_free(tz);
    return NULL;
}

static bool tz_is_utc(struct ts_slice name)
{
    return name.n == 0 || ts_slice_is(name, "UTC") || ts_slice_is(name, "Etc/UTC") ||
           ts_slice_is(name, "GMT");
}

/* Letters, digits and a few signs, as all IANA names; "Etc/Unknown" is ICU's own word for nothing. */
static bool tz_may_be_name(struct ts_slice name)
{
    if (name.n > TZ_NAME_MAX || ts_slice_is(name, "Etc/Unknown"))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' ||
                  c == '_' || c == '-' || c == '+';
        if (!ok)
            return false;
    }
    return true;
}

int ts_tz_open(struct ts_slice name, const struct ts_tz **out_tz, struct ts_error *err)
{
    struct ts_tz *tz = NULL;
    *out_tz = NULL;
    if (tz_is_utc(name)) {
        *out_tz = &tz_utc;
        return 0;
    }
    if (tz_may_be_name(name)) {
        pthread_mutex_lock(&tz_lock);
        for (tz = tz_list; tz && !ts_slice_is(name, tz->name); tz = tz->next)
            ;
        if (!tz && (tz = tz_load(name))) {
            tz->next = tz_list;
            tz_list = tz;
        }
        pthread_mutex_unlock(&tz_lock);
    }
    if (!tz)
        return ts_error_set(err, TS_EPARSE, "Invalid timezone name: %.*s", name.n > 100 ? 100 : (int)name.n,
                            name.p);
    *out_tz = tz;
    return 0;
}

static const struct ts_tz *tz_default = &tz_utc;

const struct ts_tz *ts_tz_default(void)
{
    return tz_default;
}
void ts_tz_set_default(const struct ts_tz *tz)
{
    tz_default = tz ? tz : &tz_utc;
}

const char *ts_tz_name(const struct ts_tz *tz)
{
    return tz ? tz->name : tz_utc.name;
}

/* ---- looking up ---- */

static int64_t tz_add(int64_t a, int64_t b)
{
    int64_t r;
    if (a == INT64_MIN || a == INT64_MAX)
        return a; /* open ends stay open */
    return __builtin_add_overflow(a, b, &r) ? (b > 0 ? INT64_MAX : INT64_MIN) : r;
}

/* Last entry that begins at or before t. */
static size_t tz_find(const struct ts_tz *tz, int64_t t_ms)
{
    size_t lo = 0, hi = tz->n_steps;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (tz->steps[mid].from_ms <= t_ms)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* How far t must go back to lie in the table: a multiple of the calendar's cycle. */
static int64_t tz_fold(const struct ts_tz *tz, int64_t t_ms)
{
    if (!tz->repeats || t_ms < TZ_END_MS)
        return 0;
    return ((t_ms - TZ_END_MS) / TZ_CYCLE_MS + 1) * TZ_CYCLE_MS;
}

int64_t ts_tz_offset_ms(const struct ts_tz *tz, int64_t t_ms)
{
    return tz ? tz->steps[tz_find(tz, t_ms - tz_fold(tz, t_ms))].offset_ms : 0;
}

int64_t ts_tz_span(const struct ts_tz *tz, int64_t t_ms, int64_t *out_from_ms, int64_t *out_to_ms)
{
    if (!tz)
        tz = &tz_utc;
    int64_t fold = tz_fold(tz, t_ms);
    size_t i = tz_find(tz, t_ms - fold);
    *out_from_ms = tz_add(tz->steps[i].from_ms, fold);
    *out_to_ms = i + 1 < tz->n_steps ? tz_add(tz->steps[i + 1].from_ms, fold) : INT64_MAX;
    return tz->steps[i].offset_ms;
}

int64_t ts_tz_from_local(const struct ts_tz *tz, int64_t local_ms)
{
    /* begin in a stretch that is surely not too late, then go up: the first that holds the local time is the
     * earliest */
    int64_t from, to, offset, t = tz_add(local_ms, -TZ_MAX_OFFSET_MS);
    for (;;) {
        offset = ts_tz_span(tz, t, &from, &to);
        t = tz_add(local_ms, -offset);
        if (t < from)
            return from; /* the clock was put forward over it */
        if (t < to || to == INT64_MAX)
            return t;
        t = to;
    }
}
