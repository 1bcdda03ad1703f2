/*
 * tz.c - time zones: each one a sorted table of offset changes, made once from the system's TZif file.
 *
 * The Gregorian calendar repeats after 400 years = 20,871 weeks, and with it every rule of the kind "last
 * Sunday in March". So the table ends in the year 2500 and later times are looked up 400 years earlier, as
 * often as needed.
 * Threads    any: the list of zones is under a mutex, a zone never changes once it is in the list
 * Invariant  tables are sorted, neighbours differ in offset, the first entry begins at INT64_MIN
 * Not here   the format of the files (tzif.c)
 */
#include "base/time.h"

#include "base/cut.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/text.h"
#include "base/tz_int.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define TZ_SHOWN_BYTES    60                   /* of a text in an error */
#define TZ_NAME_MAX       63                   /* longest IANA name is 32 bytes */
#define TZ_CYCLE_MS       (146097 * TS_DAY_MS) /* 400 Gregorian years */
#define TZ_FOLDER         "/usr/share/zoneinfo"
#define TZ_LIST           "zone.tab" /* in that folder: the zones of each country */
#define TZ_LIST_MAX_BYTES ((size_t)256 << 10)

struct ts_tz {
    struct ts_tz *next;         /* list of opened zones; under tz_lock */
    struct tz_table table;      /* its offsets */
    char name[TZ_NAME_MAX + 1]; /* as requested */
};

static struct tz_step tz_utc_step = {INT64_MIN, 0};
static struct ts_tz tz_utc = {.table = {.steps = &tz_utc_step, .n_steps = 1}, .name = "UTC"};
static struct ts_tz *tz_list; /* opened zones, newest first */
static pthread_mutex_t tz_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- opening ---- */

/* The folder of zone files. */
static const char *tz_folder(void)
{
    const char *dir = getenv("TZDIR");
    return dir && *dir ? dir : TZ_FOLDER;
}

static int tz_stop_at_first(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return 1; /* one entry is enough to know that the folder is there */
}

/* No zone has the name: is it wrong, or are there no zones at all? */
static int tz_unknown(struct ts_slice name, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    if (fs->list(fs, tz_folder(), tz_stop_at_first, NULL, NULL) < 0)
        return ts_error_set(
            err, TS_EIO,
            "Invalid timezone name: %.*s. This machine has no time zones in %.100s: install the "
            "package tzdata, or set TZDIR to their folder",
            (int)name.n, name.p, tz_folder());
    return ts_error_set(err, TS_EPARSE, "Invalid timezone name: %.*s", (int)name.n, name.p);
}

/* Table of a zone from its file. */
static int tz_read(struct ts_slice name, const char *path, struct tz_table *out, struct ts_error *err)
{
    char *bytes = NULL;
    size_t n = 0;
    struct ts_error why = {0};
    int rc = ts_fs_read_file(ts_fs_real(), path, TZ_MAX_FILE_BYTES, &bytes, &n, &why);
    if (rc == 0)
        rc = ts_tzif_read((struct ts_slice){bytes, n}, out, &why);
    ts_free(bytes);
    /* Europe is the name of a folder, and Europe/Berlin/Mitte goes through a file */
    if (rc == TS_ENOTFOUND || why.sys_errno == EISDIR || why.sys_errno == ENOTDIR)
        return tz_unknown(name, err);
    if (rc < 0)
        return ts_error_set(err, rc, "timezone %.*s: %s: %.100s", (int)name.n, name.p, path, why.text);
    return 0;
}

/* New zone; the name has been checked. */
static int tz_load(struct ts_slice name, struct ts_tz **out_tz, struct ts_error *err)
{
    struct ts_tz *tz = ts_xcalloc(1, sizeof(*tz));
    memcpy(tz->name, name.p, name.n);
    char *path = ts_fs_join(tz_folder(), tz->name);
    int rc = tz_read(name, path, &tz->table, err);
    ts_free(path);
    if (rc == 0) {
        *out_tz = tz;
        return 0;
    }
    ts_tzif_release(&tz->table);
    ts_free(tz);
    return rc;
}

static bool tz_is_utc(struct ts_slice name)
{
    return name.n == 0 || ts_slice_is(name, "UTC") || ts_slice_is(name, "Etc/UTC") ||
           ts_slice_is(name, "GMT");
}

/* As all IANA names: a capital, then letters, digits and a few signs. No dot and no slash in front, so that
 * the path stays in the folder; other files there (localtime, posixrules, right/...) begin with a small letter. */
static bool tz_may_be_name(struct ts_slice name)
{
    if (name.n > TZ_NAME_MAX || name.p[0] < 'A' || name.p[0] > 'Z')
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

/* Which zone was meant, if it is in the list? Returns the code of the error: TS_EBUSY where a thread that must not wait cannot read the
 * list (ts_fs_set_nowait). */
static int tz_hint(struct ts_slice name, struct ts_error *err)
{
    struct ts_error why = {0};
    struct ts_near near;
    char *path = ts_fs_join(tz_folder(), TZ_LIST), *bytes = NULL;
    size_t n = 0;
    ts_near_init(&near, name);
    ts_near_see(&near, TS_SLICE_LIT("UTC"));
    if (ts_fs_read_file(ts_fs_real(), path, TZ_LIST_MAX_BYTES, &bytes, &n, &why) == 0) {
        struct ts_slice rest = {bytes, n};
        while (rest.n) { /* country, coordinates, zone, remark */
            struct ts_slice line = ts_slice_cut(&rest, '\n');
            if (!line.n || line.p[0] == '#')
                continue;
            (void)ts_slice_cut(&line, '\t');
            (void)ts_slice_cut(&line, '\t');
            ts_near_see(&near, ts_slice_cut(&line, '\t'));
        }
    }
    ts_near_hint(&near, err);
    ts_free(bytes);
    ts_free(path);
    return why.code == TS_EBUSY ? ts_error_set(err, TS_EBUSY, "%s", why.text) : TS_EPARSE;
}

int ts_tz_open(struct ts_slice name, const struct ts_tz **out_tz, struct ts_error *err)
{
    struct ts_tz *tz = NULL;
    int rc = 0;
    *out_tz = NULL;
    if (tz_is_utc(name)) {
        *out_tz = &tz_utc;
        return 0;
    }
    if (!tz_may_be_name(name)) {
        ts_error_set(err, TS_EPARSE, "Invalid timezone name: %.*s", name.n > 100 ? 100 : (int)name.n, name.p);
        return tz_hint(name, err);
    }
    pthread_mutex_lock(&tz_lock);
    for (tz = tz_list; tz && !ts_slice_is(name, tz->name); tz = tz->next)
        ;
    if (!tz && (rc = tz_load(name, &tz, err)) == 0) {
        tz->next = tz_list;
        tz_list = tz;
    }
    pthread_mutex_unlock(&tz_lock);
    if (rc == TS_EPARSE)
        rc = tz_hint(name, err);
    *out_tz = tz;
    return rc;
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
    size_t lo = 0, hi = tz->table.n_steps;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (tz->table.steps[mid].from_ms <= t_ms)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* How far t must go back to lie in the table: a multiple of the calendar's cycle. */
static int64_t tz_fold(const struct ts_tz *tz, int64_t t_ms)
{
    if (!tz->table.repeats || t_ms < TZ_END_MS)
        return 0;
    return ((t_ms - TZ_END_MS) / TZ_CYCLE_MS + 1) * TZ_CYCLE_MS;
}

int64_t ts_tz_offset_ms(const struct ts_tz *tz, int64_t t_ms)
{
    return tz ? tz->table.steps[tz_find(tz, t_ms - tz_fold(tz, t_ms))].offset_ms : 0;
}

int64_t ts_tz_span(const struct ts_tz *tz, int64_t t_ms, int64_t *out_from_ms, int64_t *out_to_ms)
{
    if (!tz)
        tz = &tz_utc;
    int64_t fold = tz_fold(tz, t_ms);
    size_t i = tz_find(tz, t_ms - fold);
    *out_from_ms = tz_add(tz->table.steps[i].from_ms, fold);
    *out_to_ms = i + 1 < tz->table.n_steps ? tz_add(tz->table.steps[i + 1].from_ms, fold) : INT64_MAX;
    return tz->table.steps[i].offset_ms;
}

int64_t ts_tz_from_local(const struct ts_tz *tz, int64_t local_ms)
{
    /* begin in a stretch that is surely not too late, then go up: the first that holds the local time is the
     * earliest */
    int64_t from, to, offset, t = tz_add(local_ms, -TZ_MAX_OFFSET_S * 1000ll);
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

bool ts_tz_has_local(const struct ts_tz *tz, int64_t local_ms, int64_t *out_ms)
{
    *out_ms = ts_tz_from_local(tz, local_ms);
    return tz_add(*out_ms, ts_tz_offset_ms(tz, *out_ms)) == local_ms;
}

int ts_tz_no_local(const struct ts_tz *tz, struct ts_slice text, struct ts_error *err)
{
    return ts_error_set(err, TS_ENOTFOUND,
                        "the time \"%.*s\" does not exist in %s: the clock is set forward there",
                        TS_SHOWN(text, TZ_SHOWN_BYTES), ts_tz_name(tz));
}
