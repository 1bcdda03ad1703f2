/*
 * fsck_logs.c - manifest, catalog and cells: makes one good log from a log and its copy, both of which may be
 * damaged.
 *
 * Both have the same bytes, so a record that is damaged in one is taken from the same offset of the other.
 *
 * Format     docs/FORMAT.md "Record log", "Copy of a record log"
 * Threads    one
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "storage/fsck_int.h"
#include "storage/reclog_int.h"

static const struct {
    const char *name, *kind;
    const char *lost; /* the consequence if neither can be read */
} logs[STO_FSCK_N_LOGS] = {
    {STO_MANIFEST_NAME, "MANI", "it is rebuilt from the sorted files and the write-ahead log"},
    {"catalog.log", "CATA", "all names are lost except those of series in the write-ahead log"},
    {"cells.log", "CELL", "all annotations and metadata are lost"},
};

/* One of the two files. */
struct side {
    const char *path;
    struct ts_slice bytes;   /* owned; p NULL: the file does not exist, or the disk can't read it */
    bool unreadable;         /* the disk can't read it */
    bool good;               /* header is good or can't be read, and the lineage is that of the other one */
    uint64_t bad_off;        /* offset of the first damage; UINT64_MAX = none */
    bool old;                /* the copy is of the log before its last checkpoint; this is no damage */
    struct ts_unread unread; /* what the disk can't read; zeros in bytes */
};

static int side_read(struct sto_fsck *k, struct side *s, const char kind[4], struct ts_error *err)
{
    char *p = NULL;
    size_t n = 0;
    struct ts_error why = {0};
    int rc = ts_fs_read_rest(k->fs, s->path, (size_t)1 << 40, &p, &n, &s->unread, &why);
    s->bad_off = s->unread.n_bytes ? s->unread.first_off : UINT64_MAX;
    if (rc == TS_ENOMEM || rc == TS_EMFILE)
        return ts_error_set(err, rc, "%s", why.text);
    s->unreadable = rc < 0 && rc != TS_ENOTFOUND;
    if (s->unreadable)
        s->bad_off = 0;
    if (rc < 0)
        return 0;
    s->bytes = (struct ts_slice){p, n};
    sto_fsck__read_bytes(k, n);
    rc = n < STO_RECLOG_HEADER_BYTES ? TS_ECORRUPT
                                     : sto_reclog__header_check((const uint8_t *)p, s->path, kind, &why);
    if (rc == TS_EVERSION)
        return ts_error_set(err, rc, "%s", why.text);
    /* a header on a bad sector says nothing against the records behind it */
    bool unread =
        n >= STO_RECLOG_HEADER_BYTES && s->unread.n_bytes && s->unread.first_off < STO_RECLOG_HEADER_BYTES;
    s->good = rc == 0 || unread;
    if (rc < 0)
        s->bad_off = 0;
    return 0;
}

static void note_bad(struct side *s, uint64_t off)
{
    if (s->bad_off == UINT64_MAX)
        s->bad_off = off;
}

static bool record_of(const struct side *s, uint64_t off, struct ts_slice *body, uint64_t *synced)
{
    return s->good && off < s->bytes.n && sto_reclog__record_get(s->bytes, off, body, synced);
}

/* Offset of the next good record after off, UINT64_MAX if there is none; *out_known: it, or a later one,
 * shows that the bytes at off had been synced. */
static uint64_t next_good(const struct side *s, uint64_t off, bool *out_known)
{
    uint64_t first = UINT64_MAX, synced = 0;
    struct ts_slice body;
    for (uint64_t at = off + 1; s->good && at < s->bytes.n;) {
        if (!record_of(s, at, &body, &synced)) {
            at++;
            continue;
        }
        first = first == UINT64_MAX ? at : first;
        if (synced > off) {
            *out_known = true;
            break;
        }
        at += STO_RECLOG_HEAD_BYTES + body.n;
    }
    return first;
}

/* The records end at off. Is that because more can't be read? */
static bool ends_unread(const struct side *a, const struct side *b, uint64_t off)
{
    const struct side *s = a->good ? a : b;
    return s->good && s->unread.n_bytes && s->unread.end_off > off;
}

/* Put the two together into log->whole. */
static void merge(struct sto_fsck *k, struct sto_fsck__reclog *log, struct side *a, struct side *b)
{
    uint64_t off = STO_RECLOG_HEADER_BYTES, synced_a, synced_b;
    struct ts_slice in_a, in_b;
    for (;;) {
        bool has_a = record_of(a, off, &in_a, &synced_a), has_b = record_of(b, off, &in_b, &synced_b);
        if (has_a && has_b && !ts_slice_eq(in_a, in_b)) {
            b->good = has_b = false; /* a copy of the log before a checkpoint */
            b->old = true;
        }
        if (has_a && !has_b && b->good && off < b->bytes.n) {
            bool unused = false;
            if (next_good(b, off, &unused) == UINT64_MAX) { /* torn: unlike the log, the copy is not synced */
                b->good = false;
                b->old = true;
            } else {
                note_bad(b, off);
            }
        }
        if (has_b && !has_a)
            note_bad(a, off);
        if (has_a || has_b) {
            struct ts_slice body = has_a ? in_a : in_b;
            ts_buf_append(&log->whole, body.p - STO_RECLOG_HEAD_BYTES, STO_RECLOG_HEAD_BYTES + body.n);
            off += STO_RECLOG_HEAD_BYTES + body.n;
            continue;
        }
        bool known = false;
        uint64_t next_a = next_good(a, off, &known), next_b = next_good(b, off, &known);
        uint64_t next = next_a < next_b ? next_a : next_b;
        if (next == UINT64_MAX || !known)
            break;
        note_bad(a, off);
        note_bad(b, off);
        log->holes = true;
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, off,
                       "records of %" PRIu64 " bytes are damaged in the log and in its copy: they are lost",
                       next - off);
        off = next;
    }
    if (ends_unread(a, b, off)) {
        log->holes = true;
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, off,
                       "can't be read from here on, and the copy ends here: records that follow are lost");
    }
    if (a->good && off < a->bytes.n && a->bad_off == UINT64_MAX)
        sto_fsck__find(k, STO_FIND_NOTE, log->path, off,
                       "torn tail of %" PRIu64
                       " bytes that were never synced: truncated when the store is opened",
                       a->bytes.n - off);
}

/* In a log with a hole, the `synced` of records exceeds their new offset: make new heads for them. */
static void frame(struct sto_fsck__reclog *log, const char kind[4])
{
    struct ts_buf old = log->whole;
    uint8_t header[STO_RECLOG_HEADER_BYTES];
    ts_buf_init(&log->whole, 0);
    sto_reclog__header_make(header, kind);
    ts_buf_append(&log->whole, header, sizeof header);
    for (size_t at = 0; at < old.n;) {
        uint32_t n;
        memcpy(&n, old.p + at, sizeof n);
        uint8_t head[STO_RECLOG_HEAD_BYTES];
        sto_reclog__head_make(head, (struct ts_slice){old.p + at + STO_RECLOG_HEAD_BYTES, n},
                              log->holes ? 0 : sto_reclog__synced(old.p + at));
        ts_buf_append(&log->whole, head, sizeof head);
        ts_buf_append(&log->whole, old.p + at + STO_RECLOG_HEAD_BYTES, n);
        at += STO_RECLOG_HEAD_BYTES + n;
    }
    ts_buf_release(&old);
}

static void report_damage(struct sto_fsck *k, const struct sto_fsck__reclog *log, const char *lost,
                          const struct side *a, const struct side *b)
{
    const char *cure = b->good || b->bytes.p ? "the copy has it" : "it has no copy";
    if (!a->good && !b->good)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, UINT64_MAX, "%s, and its copy too: %s",
                       a->bytes.p || a->unreadable ? "can't be read" : "is missing", lost);
    else if (!a->bytes.p)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, UINT64_MAX, "%s; %s",
                       a->unreadable ? "can't be read" : "is missing", cure);
    else if (a->bad_off != UINT64_MAX && !log->holes)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->path, a->bad_off, "%s; %s",
                       a->bad_off == 0            ? "header is damaged"
                       : a->bad_off >= a->bytes.n ? "its end is lost"
                                                  : "record is damaged",
                       cure);
    if (b->unreadable)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->copy_path, UINT64_MAX, "can't be read");
    else if (!b->bytes.p)
        sto_fsck__find(k, STO_FIND_NOTE, log->copy_path, UINT64_MAX,
                       "is missing: made again when the store is opened");
    else if (b->bad_off != UINT64_MAX && !log->holes)
        sto_fsck__find(k, STO_FIND_DAMAGE, log->copy_path, b->bad_off,
                       "differs from the log it is a copy of");
    else if (b->old || b->bytes.n != log->whole.n)
        sto_fsck__find(k, STO_FIND_NOTE, log->copy_path, UINT64_MAX,
                       "is older than the log: made again when the store is opened");
}

static int read_log(struct sto_fsck *k, enum sto_fsck__log which, struct ts_error *err)
{
    struct sto_fsck__reclog *log = &k->logs[which];
    log->path = ts_fs_join(k->opts.dir, logs[which].name);
    log->copy_path = sto_reclog__copy_path(log->path);
    ts_buf_init(&log->whole, 0);
    struct side a = {.path = log->path}, b = {.path = log->copy_path};
    int rc = side_read(k, &a, logs[which].kind, err);
    if (rc == 0)
        rc = side_read(k, &b, logs[which].kind, err);
    if (rc == 0 && (a.good || b.good)) {
        merge(k, log, &a, &b);
        frame(log, logs[which].kind);
    }
    if (rc == 0) {
        log->bad = !a.bytes.p || a.bad_off != UINT64_MAX;
        log->copy_bad = (b.bytes.p || b.unreadable) && b.bad_off != UINT64_MAX;
        report_damage(k, log, logs[which].lost, &a, &b);
        if (log->bad && log->whole.n)
            sto_fsck_view_set(k->view, log->path, log->whole.p, log->whole.n);
        if ((b.unread.n_bytes || b.unreadable) && log->whole.n) /* opening a log reads its copy */
            sto_fsck_view_set(k->view, log->copy_path, log->whole.p, log->whole.n);
        if (log->whole.failed)
            rc = ts_error_set(err, TS_ENOMEM, "%s: no memory", log->path);
    }
    ts_free((void *)(uintptr_t)a.bytes.p);
    ts_free((void *)(uintptr_t)b.bytes.p);
    return rc;
}

int sto_fsck__logs(struct sto_fsck *k, struct ts_error *err)
{
    for (int i = 0; i < STO_FSCK_N_LOGS; i++)
        TS_TRY(read_log(k, (enum sto_fsck__log)i, err));
    return 0;
}
