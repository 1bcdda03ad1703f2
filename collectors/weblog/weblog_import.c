/*
 * weblog_import.c - counts the requests in files of log lines, one file at a time, and emits the counts as points.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_import.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/unpack.h"
#include "collectors/core/keys.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_bots.h"
#include "collectors/weblog/weblog_follow.h"
#include "collectors/weblog/weblog_journal.h"
#include "collectors/weblog/weblog_settings.h"
#include "collectors/weblog/weblog_known.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST_BYTES 256
#define SLOTS_A_S                                                                                            \
    500 /* slots in a second: points of imports have 500 to 999 ms, those of late lines of followed logs less than 500 */
#define FIRST_SLOT    500               /* ms */
#define WAITING_BYTES ((size_t)1 << 20) /* first lines kept until the format is known */
#define LOCK_WAIT_MS  60000             /* for the lock of a collector or another import */
#define TAIL_BYTES    4096              /* read at once in the search for the last line */
#define WARN_SHARING  32 /* number of last files among which two with the same slot are reported */

struct col_web_import {
    struct col_web_import_opts opts; /* as given */
    struct col_web_log log;          /* format and domain */
    struct col_web_known *known;     /* which files are followed */
    struct col_web_journal *journal; /* former imports; NULL = not recorded */
    struct ts_buf settings;          /* keys of this import, for the journal */
    struct col_web_limits limits;    /* of counting */
    struct col_web_count count;      /* of the current file */
    struct col_emit *emit;           /* its points */
    struct ts_buf scratch;           /* texts of JSON lines */
    const char *path;                /* of the current file; borrowed */
    uint64_t identity;               /* hash of its lines down to its first request */
    bool begun;                      /* the first request was seen */
    enum col_web_kind kind;          /* kind of its lines, if the format is auto */
    struct ts_buf waiting;           /* its lines until the kind is known */
    uint64_t n_waiting;              /* lines in waiting */
    bool left_out;                   /* no line of it is counted */
    bool fixed;               /* it is followed, and limit is where its part that was imported before ends */
    struct col_web_head head; /* its first bytes */
    char real[PATH_MAX];      /* its path, links resolved; "" = no regular file */
    uint64_t off, at,
        limit; /* bytes of its text so far; offset of the current line; lines at this offset or later are left to
                * a collector */
    uint64_t line;                      /* number of the next line */
    struct col_web_import_figures done; /* of files that ended */
    bool drop_bots;                     /* requests of bots are not counted */
    uint64_t n_bots;                    /* requests of bots in all files */
    uint64_t n_none;                    /* requests of the current file without a domain */
    int64_t slots_ms[WARN_SHARING];     /* slots of the last files */
    uint32_t n_files;                   /* files begun so far */
};

int col_web_import_new(const struct col_web_import_opts *opts, struct col_web_import **out,
                       struct ts_error *err)
{
    struct col_web_import *im = ts_xcalloc(1, sizeof(*im));
    char host[HOST_BYTES];
    *out = NULL;
    im->opts = *opts;
    im->drop_bots = !strcmp(ts_conf_str(opts->conf, "collect_weblog_bots"), "drop");
    ts_buf_init(&im->scratch, 0);
    ts_buf_init(&im->waiting, 0);
    ts_buf_init(&im->settings, 0);
    int rc = col_web_limits_get(opts->conf, &im->limits, err);
    if (rc == 0)
        rc = col_tags_check(ts_conf_str(opts->conf, "collect_tags"), err);
    if (rc == 0)
        rc = col_prefix_check(ts_conf_str(opts->conf, "collect_prefix"), err);
    if (rc == 0)
        rc = col_web_log_init(&im->log, ts_conf_str(opts->conf, "collect_weblog_format"),
                              ts_conf_str(opts->conf, "collect_weblog_domain"), err);
    if (rc == 0)
        rc = col_web_known_new(opts->conf, &im->known, err);
    if (rc < 0) {
        col_web_import_free(im);
        return rc;
    }
    col_host_name(opts->conf, host, sizeof(host));
    if (opts->remember)
        im->journal = col_web_journal_open(opts->conf);
    col_web_settings_get(opts->conf, &im->settings);
    im->emit = col_emit_new(&(struct col_emit_opts){.out = opts->out,
                                                    .host = host,
                                                    .tags = ts_conf_str(opts->conf, "collect_tags"),
                                                    .prefix = ts_conf_str(opts->conf, "collect_prefix")});
    *out = im;
    return 0;
}

void col_web_import_free(struct col_web_import *im)
{
    if (!im)
        return;
    col_web_count_release(&im->count);
    col_web_log_release(&im->log);
    col_web_known_free(im->known);
    col_web_journal_close(im->journal);
    ts_buf_release(&im->settings);
    col_emit_free(im->emit);
    ts_buf_release(&im->scratch);
    ts_buf_release(&im->waiting);
    ts_free(im);
}

/* Find whether the current file, which begins with first, is followed. If so, only the part that a former import counted may be counted
 * again; if there is no such part, the file is left out. */
static void import_known(struct col_web_import *im, struct ts_slice first)
{
    char why[100];
    uint64_t imported = 0;
    bool known = col_web_known_find(im->known, im->path, first, im->journal, why, sizeof(why), &imported);
    im->left_out = known && !imported;
    im->fixed = known && imported;
    im->limit = im->fixed ? imported : COL_WEB_OFF_ALL;
    if (im->left_out)
        ts_log(TS_LOG_WARN,
               "weblog: %s is left out: %s, its lines would count twice; collect_dir = none counts it "
               "nevertheless",
               im->path, why);
}

void col_web_import_begin(struct col_web_import *im, const char *path)
{
    im->path = path;
    im->off = 0;
    im->head = (struct col_web_head){.n_bytes = 0};
    im->real[0] = '\0';
    im->begun = false;
    im->line = 1;
    im->kind = COL_WEB_KIND_UNKNOWN;
    ts_buf_clear(&im->waiting);
    im->n_waiting = 0;
    import_known(im, (struct ts_slice){NULL, 0});
}

/* Add a line to the identity of the file: all lines up to and including its first request. */
static void import_identify(struct col_web_import *im, struct ts_slice line)
{
    im->identity = col_web_journal_identity(im->line == 1 ? NULL : &im->identity, line);
}

/* Choose the offset of this file's points within a bucket, by the hash of its lines up to the first request. These lines do not change
 * when the file grows. The first line alone would not do: many files begin with the same empty line, comment or unreadable line. */
static void import_slot(struct col_web_import *im)
{
    uint64_t n_slots = (uint64_t)(im->limits.bucket_ms / 1000 * SLOTS_A_S);
    int64_t slot = (int64_t)(im->identity % n_slots);
    im->limits.slot_ms = slot / SLOTS_A_S * 1000 + FIRST_SLOT + slot % SLOTS_A_S;
    for (uint32_t i = 0; i < im->n_files && i < WARN_SHARING; i++)
        if (im->slots_ms[i] == im->limits.slot_ms)
            ts_log(TS_LOG_WARN,
                   "weblog: %s and a file before it put their points at the same times: the same log, or "
                   "by chance; buckets that both have would hold one of them only",
                   im->path);
    im->slots_ms[im->n_files++ % WARN_SHARING] = im->limits.slot_ms;
    col_web_count_release(&im->count);
    col_web_count_init(&im->count, &im->limits);
    im->begun = true;
}

/* --- undoing an import with other keys --- */

/* Output points with the value 0 instead of their own. */
static int undo_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct col_web_import *im = arg;
    struct ts_slice line, word;
    struct ts_buf zeros;
    ts_buf_init(&zeros, 0);
    while (col_line_next(&lines, &line)) {
        struct ts_slice rest = line;
        for (unsigned i = 0; i < 3; i++)
            (void)col_word_next(&rest, &word);
        ts_buf_append(&zeros, line.p, line.n - rest.n);
        (void)col_word_next(&rest, &word);
        ts_buf_str(&zeros, " 0");
        ts_buf_slice(&zeros, rest);
        ts_buf_char(&zeros, '\n');
    }
    int rc = im->opts.out.put(im->opts.out.arg, ts_buf_get(&zeros), n_points, durable, err);
    ts_buf_release(&zeros);
    return rc;
}

static void undo_bad(void *arg, uint64_t line, const char *why)
{
    (void)arg;
    (void)line;
    (void)why;
}

static int undo_lines(struct col_web_import *old, const char *path, uint64_t limit, struct ts_error *err)
{
    struct ts_lines *lines;
    struct ts_slice piece;
    TS_TRY(ts_lines_open(path, &lines, err));
    col_web_import_begin(old, path);
    old->limit = limit;
    int rc;
    while ((rc = ts_lines_next(lines, &piece, err)) > 0 && (rc = col_web_import_lines(old, piece, err)) == 0)
        ;
    ts_lines_close(lines);
    return rc < 0 ? rc : col_web_import_end(old, err);
}

/* Set the points to 0 that the current file produced when it was imported with these settings. */
static int import_undo(struct col_web_import *im, const char *settings, struct ts_error *err)
{
    struct ts_conf *conf = col_web_settings_conf(settings);
    struct col_web_import *old;
    if (!conf)
        return ts_error_set(err, TS_EINVAL,
                            "the keys it was imported with are not known to this version of tsd");
    struct col_web_import_opts opts = {
        .conf = conf, .out = {.put = undo_put, .arg = im}, .bad = undo_bad, .arg = im};
    int rc = col_web_import_new(&opts, &old, err);
    if (rc == 0)
        rc = undo_lines(old, im->path, im->limit, err);
    col_web_import_free(old);
    ts_conf_free(conf);
    return rc;
}

static void import_refuse(struct col_web_import *im, const char *why)
{
    im->opts.refused(im->opts.arg, why);
    im->left_out = true;
}

/* If the current file was imported with other keys before: leave it out, or, with --replace, set its former points to 0. */
static int import_again(struct col_web_import *im, struct ts_error *err)
{
    const char *before = col_web_journal_find(im->journal, im->identity);
    char differ[300], why[600];
    if (!before || !strcmp(before, im->settings.p))
        return 0;
    if (im->opts.replace)
        return import_undo(im, before, err);
    col_web_settings_differ(before, im->settings.p, differ, sizeof(differ));
    (void)snprintf(why, sizeof(why),
                   "it was imported before, with other keys: %s. It would count twice, so it is left "
                   "out; use these "
                   "keys again, or --replace to set what they counted to 0 first",
                   differ);
    import_refuse(im, why);
    return 0;
}

/* --- the part of a file that belongs to the import --- */

/* Offset behind the last line feed in the first size bytes of an open file; 0 = they have none. */
static uint64_t lines_end(FILE *file, uint64_t size)
{
    char text[TAIL_BYTES];
    while (size) {
        size_t n = size < sizeof(text) ? (size_t)size : sizeof(text);
        ssize_t got = pread(fileno(file), text, n, (off_t)(size - n));
        const char *nl = got > 0 ? memrchr(text, '\n', (size_t)got) : NULL;
        if (nl)
            return size - n + (uint64_t)(nl + 1 - text);
        if (got <= 0)
            break;
        size -= n;
    }
    return 0;
}

/* The file that is at the path of the current file while the lock is held. */
struct look {
    char first[COL_WEB_HEAD_BYTES]; /* the first bytes of its text */
    size_t n_first;                 /* bytes in first; 0 = it is no regular file */
    uint64_t size;                  /* of a plain file; else COL_WEB_OFF_ALL: import all of it */
    uint64_t limit;                 /* where the part of the import ends */
};

/* Examine the file at the path and find the part that belongs to the import: all of a packed file or of standard input; the complete lines
 * that a plain file has now. A server may still be writing the last line, in rotated files too. False: the path now names another file. */
static bool import_look(const struct col_web_import *im, struct look *out)
{
    const struct ts_pack *pack = NULL;
    struct stat st;
    *out = (struct look){.size = COL_WEB_OFF_ALL, .limit = COL_WEB_OFF_ALL};
    if (!*im->real)
        return true;
    FILE *file = fopen(im->real, "rbe"); /* one open file, even if it is renamed meanwhile */
    ssize_t n = file ? pread(fileno(file), out->first, sizeof(out->first), 0) : -1;
    bool ok = n >= 0 && fstat(fileno(file), &st) == 0;
    out->n_first = ok ? (size_t)n : 0;
    if (ok && ts_pack_find((struct ts_slice){out->first, out->n_first}))
        ok = ts_unpack_first(im->real, out->first, sizeof(out->first), &out->n_first, &pack) == 0;
    if (ok && !pack) {
        out->size = (uint64_t)st.st_size;
        out->limit = lines_end(file, out->size);
    }
    if (file)
        (void)fclose(file);
    return ok && col_web_head_matches(&im->head, (struct ts_slice){out->first, out->n_first});
}

/* Record where the part of the import ends. The current file is not followed. */
static void import_divide(struct col_web_import *im, const struct look *look)
{
    im->limit = look->limit;
    if (look->n_first)
        im->head = col_web_head_of(look->first, look->n_first);
    if (look->limit < look->size)
        ts_log(TS_LOG_WARN,
               "weblog: the last line of %s has no end yet and is left out: it counts when the log is "
               "followed, or imported again",
               im->path);
}

/* Under the lock of the folder: check once more that no collector follows the file, and record in the journal how much of it the import
 * counts. The file is examined again, because another one may have replaced it. Returns 1 if the current line may be counted, else 0. */
static int import_take(struct col_web_import *im)
{
    struct stat st;
    struct look look;
    if (!col_web_journal_lock(im->journal, LOCK_WAIT_MS)) {
        import_refuse(im,
                      "another tsd collect or import holds the lock of collect_dir since a minute; import "
                      "it again when that has ended");
        return 0;
    }
    if (!realpath(im->path, im->real) || stat(im->real, &st) < 0 || !S_ISREG(st.st_mode))
        im->real[0] = '\0';
    if (import_look(im, &look)) {
        import_known(im, (struct ts_slice){look.first, look.n_first});
        if (!im->left_out && !im->fixed)
            import_divide(im, &look);
    } else {
        import_refuse(im, "it was replaced while it was read; import it again");
    }
    if (!im->left_out && im->at < im->limit) {
        col_web_journal_set(im->journal, im->identity, im->settings.p);
        if (!col_web_journal_claim(im->journal, im->identity))
            import_refuse(im, "another import of it is under way; import it again when that has ended");
        else if (*im->real)
            col_web_journal_take(im->journal, im->real, &im->head, im->limit);
    }
    col_web_journal_unlock(im->journal);
    return !im->left_out && im->at < im->limit;
}

/* May the first request of the current file be counted with these keys? 1 = yes; 0 = it is left out; < 0 = an error that ends the import. */
static int import_allowed(struct col_web_import *im, struct ts_error *err)
{
    if (!im->journal || !col_web_journal_keeps(im->journal))
        return 1;
    TS_TRY(import_again(im, err));
    return im->left_out ? 0 : import_take(im);
}

/* --- lines --- */

static int import_send(struct col_web_import *im, struct ts_error *err)
{
    TS_TRY(col_web_count_emit(&im->count, im->emit, err));
    TS_TRY(col_emit_end(im->emit, false, err));
    col_web_count_sent(&im->count, false);
    return 0;
}

static int import_line(struct col_web_import *im, struct ts_slice line, int64_t now_ms, struct ts_error *err)
{
    struct col_web_hit hit;
    if (!line.n || (line.n == 1 && line.p[0] == '\r'))
        return 0;
    const char *why = line.n > COL_WEB_CHUNK_BYTES
                          ? "it is too long"
                          : col_web_log_parse(&im->log, im->kind, line, &im->scratch, &hit);
    if (!why)
        why = col_web_too_late(&hit, now_ms);
    if (why)
        im->opts.bad(im->opts.arg, im->line, why);
    if (why)
        return 0;
    if (!im->begun) {
        int rc = import_allowed(im, err);
        if (rc <= 0)
            return rc;
        import_slot(im);
    }
    if (im->drop_bots && col_web_is_bot(hit.agent)) {
        im->n_bots++;
        return 0;
    }
    struct ts_slice domain = col_web_domain(&im->log, im->path, &hit);
    im->n_none += !domain.n;
    col_web_count_hit(&im->count, &hit, domain, 0);
    return 0;
}

static int import_count(struct col_web_import *im, struct ts_slice lines, struct ts_error *err)
{
    int64_t now_ms = ts_clock_ms();
    const char *from = lines.p;
    uint64_t before = im->off;
    struct ts_slice line;
    im->off += lines.n;
    while (col_line_next(&lines, &line)) {
        if (!im->begun)
            import_identify(im, line);
        im->at = before + (uint64_t)(line.p - from);
        if (!im->left_out && im->at < im->limit &&
            !(im->log.detect && col_web_kind_directive(line, &im->kind)))
            TS_TRY(import_line(im, line, now_ms, err));
        im->line++;
        if (!col_web_count_full(&im->count))
            continue;
        TS_TRY(import_send(im, err)); /* at a line that is the same in each import */
        (void)col_web_count_evict(&im->count, 0, true);
    }
    return 0;
}

/* None of the first lines has a known format: report that once for the whole file. */
static void import_odd(struct col_web_import *im, const struct col_web_look *look)
{
    char odd[COL_WEB_ODD_BYTES], text[COL_WEB_ODD_BYTES + 200];
    const char *guess = col_web_guess(look->first);
    col_web_look_odd(look, "it is left out", odd);
    (void)snprintf(text, sizeof(text), "%s%s%s", guess ? guess : "", guess ? "; " : "", odd);
    im->opts.bad(im->opts.arg, 1, text);
    im->left_out = true;
}

/* Keep lines until one of them determines the format of the file. last: the file has no more lines. */
static int import_decide(struct col_web_import *im, bool last, struct ts_error *err)
{
    struct col_web_look look;
    col_web_auto_look(im->log.detect, ts_buf_get(&im->waiting), &im->scratch, &look);
    if (look.kind == COL_WEB_KIND_UNKNOWN && !last && look.n_lines < COL_WEB_LOOK_LINES &&
        im->waiting.n < WAITING_BYTES)
        return 0;
    im->kind = look.kind;
    int rc = 0;
    if (look.kind != COL_WEB_KIND_UNKNOWN) {
        rc = import_count(im, ts_buf_get(&im->waiting), err);
    } else {
        if (look.n_lines)
            import_odd(im, &look);
        im->line += im->n_waiting;
    }
    im->n_waiting = 0;
    ts_buf_clear(&im->waiting);
    return rc;
}

int col_web_import_lines(struct col_web_import *im, struct ts_slice lines, struct ts_error *err)
{
    if (!im->head.n_bytes)
        im->head = col_web_head_of(lines.p, lines.n ? lines.n - 1 : 0); /* the last line feed may be added */
    if (!im->left_out && (!im->log.detect || im->kind != COL_WEB_KIND_UNKNOWN))
        return import_count(im, lines, err);
    uint64_t n = 0;
    for (size_t i = 0; i < lines.n; i++)
        n += lines.p[i] == '\n';
    if (im->left_out) {
        im->line += n;
        return 0;
    }
    ts_buf_slice(&im->waiting, lines);
    im->n_waiting += n;
    return import_decide(im, false, err);
}

int col_web_import_end(struct col_web_import *im, struct ts_error *err)
{
    if (im->waiting.n)
        TS_TRY(import_decide(im, true, err));
    if (!im->begun)
        return 0;
    TS_TRY(import_send(im, err));
    if (*im->real && im->limit == COL_WEB_OFF_ALL)
        col_web_journal_ended(im->journal, im->real, &im->head, im->off);
    col_web_import_figures(im, &im->done);
    im->n_none = 0;
    col_web_count_release(&im->count);
    im->begun = false;
    return 0;
}

void col_web_import_done(struct col_web_import *im)
{
    if (im->journal)
        col_web_journal_done(im->journal);
}

void col_web_import_figures(const struct col_web_import *im, struct col_web_import_figures *out)
{
    *out = im->done;
    out->n_bots = im->n_bots;
    out->n_counted += im->count.n_counted;
    out->n_none += im->n_none;
    out->n_other_domains += im->count.names.n_other_domains;
    out->n_other_paths += im->count.names.n_other_paths;
}

uint64_t col_web_import_line(const struct col_web_import *im)
{
    return im->line + im->n_waiting;
}
