/*
 * manifest.c - the list of the files that make up the store: a log of edits, which is rewritten as one record
 * at times.
 *
 * Format     docs/FORMAT.md "Manifest"
 * Threads    one background thread at a time (callers lock)
 * Invariant  the state in memory is what a reader of the file would find
 * Not here   framing, checksums, torn tails (reclog.c), fields of records (manifest_format.c)
 */
#include "storage/engine/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/manifest_format.h"
#include "storage/readonly.h"
#include "storage/reclog.h"

#define MANIFEST_KIND     "MANI"
#define MANIFEST_VERSION  2u          /* written; 1 is read too, and replaced by the first edit */
#define REWRITE_MIN_BYTES (64u << 10) /* default of sto_manifest.rewrite_min_bytes */
/* rewrite when the log is this many times as large as one record of the state */
#define REWRITE_DEAD 4u

/* First byte of a record. */
enum record {
    RECORD_STATE = 1, /* the whole state; the first record of the file, and only the first */
    RECORD_EDIT = 2,
};

struct sto_manifest {
    struct sto_reclog *log;
    struct sto_manifest_state state;
    bool read_only;
    uint64_t version; /* format of the log */
    bool made;        /* a STATE record was read or written */
    /* the log's buffer has an edit that was refused: the log must be replaced before it is used again */
    bool stale;
    uint64_t rewrite_min_bytes; /* a shorter log is never rewritten */
    uint64_t rewrite_bytes;     /* length of the log at which a rewrite is considered */
};

/* --- bytes --- */

/* The lists of a state, by type of extension. A state without marks was never shipped from, so that nothing was sent either. */
static struct sto_manifest__lists lists_of(const struct sto_manifest_state *s)
{
    struct sto_manifest__lists l = {.past = s->past.n ? &s->past : NULL,
                                    .once = s->once,
                                    .complete = s->complete.known ? &s->complete : NULL};
    l.list[STO_MANIFEST__MARKS] = s->marks.n ? &s->marks : NULL;
    l.list[STO_MANIFEST__SENT] = s->marks.n || s->sent.n ? &s->sent : NULL;
    l.list[STO_MANIFEST__AGAIN] = s->again.n ? &s->again : NULL;
    return l;
}

/* The lists of an edit of a state: marks are never written without the hours that were sent. */
static struct sto_manifest__lists lists_of_edit(const struct sto_manifest_state *s,
                                                const struct sto_manifest_edit *e)
{
    struct sto_manifest__lists l = {.past = e->past, .once = e->once, .complete = e->complete};
    l.list[STO_MANIFEST__MARKS] = e->marks;
    l.list[STO_MANIFEST__SENT] = e->sent ? e->sent : e->marks ? &s->sent : NULL;
    l.list[STO_MANIFEST__AGAIN] = e->again;
    return l;
}

static void put_state(struct ts_buf *b, const struct sto_manifest_state *s)
{
    ts_buf_char(b, RECORD_STATE);
    sto_manifest__put_u64(b, MANIFEST_VERSION);
    sto_manifest__put_u64(b, s->n_shards);
    sto_manifest__put_u64(b, s->flushed_gen);
    sto_manifest__put_u64(b, s->run);
    sto_manifest__put_u64(b, s->next_file_no);
    sto_manifest__put_u64(b, ts_zigzag(s->cutoff_ms));
    sto_manifest__put_u64(b, s->cutoff_gen);
    sto_manifest__put_files(b, s->files, s->n_files);
    struct sto_manifest__lists lists = lists_of(s);
    sto_manifest__put_lists(b, &lists);
}

static void put_edit(struct ts_buf *b, const struct sto_manifest_state *s, const struct sto_manifest_edit *e)
{
    ts_buf_char(b, RECORD_EDIT);
    sto_manifest__put_u64(b, e->flushed_gen);
    sto_manifest__put_u64(b, e->run);
    sto_manifest__put_u64(b, e->next_file_no);
    sto_manifest__put_u64(b, e->n_remove);
    for (size_t i = 0; i < e->n_remove; i++)
        sto_manifest__put_u64(b, e->remove[i]);
    sto_manifest__put_u64(b, ts_zigzag(e->cutoff_ms));
    sto_manifest__put_u64(b, e->cutoff_gen);
    sto_manifest__put_files(b, e->add, e->n_add);
    struct sto_manifest__lists lists = lists_of_edit(s, e);
    sto_manifest__put_lists(b, &lists);
}

/* --- state --- */

/* Index of a file, SIZE_MAX if it is not there. A store has hundreds of files. */
static size_t find_file(const struct sto_sst_info *files, size_t n, uint64_t file_no)
{
    for (size_t i = 0; i < n; i++)
        if (files[i].file_no == file_no)
            return i;
    return SIZE_MAX;
}

static void free_state(struct sto_manifest_state *s)
{
    ts_free(s->files);
    ts_free(s->marks.marks);
    ts_free(s->sent.marks);
    ts_free(s->again.marks);
    sto_mark_history_release(&s->past);
    ts_free((char *)s->once.p);
    s->once = (struct ts_slice){NULL, 0};
    s->files = NULL;
    s->marks = s->sent = s->again = (struct sto_mark_list){0};
}

/* A copy of bytes, with ts_try_malloc; false: there is no memory. */
static bool copy_bytes(struct ts_slice from, struct ts_slice *out)
{
    char *p = from.n ? ts_try_malloc(from.n) : NULL;
    if (from.n && !p)
        return false;
    if (p)
        memcpy(p, from.p, from.n);
    *out = (struct ts_slice){p, from.n};
    return true;
}

/* Give the state after an edit its own copies of the lists; it has its own files already. */
static int copy_lists(const struct sto_manifest_state *s, const struct sto_manifest_edit *e,
                      struct sto_manifest_state *out, struct ts_error *err)
{
    out->marks = out->sent = out->again = (struct sto_mark_list){0};
    out->past = (struct sto_mark_history){0};
    out->once = (struct ts_slice){NULL, 0};
    if (copy_bytes(e->once.n ? e->once : s->once, &out->once) &&
        sto_mark_list_copy(e->marks ? e->marks : &s->marks, &out->marks) &&
        sto_mark_list_copy(e->sent ? e->sent : &s->sent, &out->sent) &&
        sto_mark_list_copy(e->again ? e->again : &s->again, &out->again) &&
        sto_mark_history_copy(e->past ? e->past : &s->past, &out->past))
        return 0;
    free_state(out);
    return ts_error_set(err, TS_ENOMEM, "no memory for the ship marks and ids of the manifest");
}

/* Apply the files of an edit; out->files has room for them. NULL, or how the edit contradicts the state, of *file_no. */
static const char *apply_files(const struct sto_manifest_edit *e, struct sto_manifest_state *out,
                               uint64_t *file_no)
{
    for (size_t i = 0; i < e->n_remove; i++) {
        *file_no = e->remove[i];
        size_t k = find_file(out->files, out->n_files, *file_no);
        if (k == SIZE_MAX)
            return "removes a file that is not listed";
        out->files[k] = out->files[--out->n_files];
    }
    for (size_t i = 0; i < e->n_add; i++) {
        *file_no = e->add[i].file_no;
        if (*file_no == 0 || *file_no == UINT64_MAX)
            return "adds a file with an invalid number";
        if (find_file(out->files, out->n_files, *file_no) != SIZE_MAX)
            return "adds a file that is listed already";
        out->files[out->n_files++] = e->add[i];
        if (*file_no >= out->next_file_no)
            out->next_file_no = *file_no + 1;
    }
    return NULL;
}

/* How an edit contradicts the state before it (s) in what it says of retention, or NULL. out: the state after it. */
static const char *check_cutoff(const struct sto_manifest_state *s, const struct sto_manifest_edit *e,
                                const struct sto_manifest_state *out, uint64_t *number)
{
    for (size_t i = 0; i < out->n_files && e->cutoff_gen && e->cutoff_ms < s->cutoff_ms; i++) {
        const struct sto_sst_info *f = &out->files[i];
        *number = f->file_no;
        if (f->n_points && f->gen_hi < s->cutoff_gen && f->min_ms < s->cutoff_ms)
            return "restores points that retention removed, of file";
    }
    *number = out->cutoff_gen;
    return out->cutoff_gen > out->flushed_gen + 1 ? "removes points in memory, of generations below" : NULL;
}

/* The same for the marks of what was shipped. */
static const char *check_marks(const struct sto_manifest_state *s, const struct sto_manifest_edit *e,
                               const struct sto_manifest_state *out, uint64_t *number)
{
    const struct sto_mark_list *marks = e->marks ? e->marks : &s->marks;
    *number = sto_mark_highest(marks);
    if (!sto_mark_list_valid(marks, out->flushed_gen))
        return "has ship marks that are out of order or cover points in memory, up to generation";
    *number = 0;
    if ((e->sent && !sto_mark_list_valid(e->sent, 1)) || (e->again && !sto_mark_list_valid(e->again, 1)) ||
        (e->past && !sto_mark_history_valid(e->past, out->flushed_gen)))
        return "has hours that are out of order";
    return NULL;
}

/* Compute the state after an edit; all of its arrays are new. code: the error for an edit that
 * contradicts the state. */
static int next_state(const struct sto_manifest_state *s, const struct sto_manifest_edit *e, int code,
                      struct sto_manifest_state *out, struct ts_error *err)
{
    *out = *s;
    if ((e->flushed_gen && e->flushed_gen < s->flushed_gen) || (e->run && e->run < s->run) ||
        (e->next_file_no && e->next_file_no < s->next_file_no) ||
        (e->cutoff_gen && e->cutoff_gen < s->cutoff_gen))
        return ts_error_set(err, code, "manifest edit goes back: generation %llu, run %u, next file %llu",
                            (unsigned long long)e->flushed_gen, e->run, (unsigned long long)e->next_file_no);
    out->flushed_gen = e->flushed_gen ? e->flushed_gen : s->flushed_gen;
    out->run = e->run ? e->run : s->run;
    out->cutoff_ms = e->cutoff_gen ? e->cutoff_ms : s->cutoff_ms;
    out->cutoff_gen = e->cutoff_gen ? e->cutoff_gen : s->cutoff_gen;
    out->complete = e->complete ? *e->complete : s->complete;
    out->next_file_no = e->next_file_no ? e->next_file_no : s->next_file_no;
    out->files = ts_try_malloc((s->n_files + e->n_add + 1) * sizeof(*out->files));
    if (!out->files)
        return ts_error_set(err, TS_ENOMEM, "no memory for %zu files of the manifest", s->n_files + e->n_add);
    if (s->n_files)
        memcpy(out->files, s->files, s->n_files * sizeof(*s->files));
    uint64_t number = 0;
    const char *what = apply_files(e, out, &number);
    if (!what)
        what = check_cutoff(s, e, out, &number);
    if (!what)
        what = check_marks(s, e, out, &number);
    if (!what)
        return copy_lists(s, e, out, err);
    ts_free(out->files);
    out->files = NULL;
    return ts_error_set(err, code, "manifest edit %s: %llu", what, (unsigned long long)number);
}

/* Replace the state by next, which has arrays of its own. */
static void replace_state(struct sto_manifest *m, const struct sto_manifest_state *next)
{
    free_state(&m->state);
    m->state = *next;
}

static int malformed(struct ts_error *err)
{
    return ts_error_set(err, TS_ECORRUPT, "malformed manifest record");
}

/* An earlier version of the program, which did not write down what it sent, has marked hours: it may have sent anything. */
static int all_sent(struct sto_mark_list *out, struct ts_error *err)
{
    struct sto_mark all = {INT32_MIN, INT32_MAX, 1};
    ts_free(out->marks);
    return sto_mark_list_copy(&(struct sto_mark_list){.marks = &all, .n = 1}, out)
               ? 0
               : ts_error_set(err, TS_ENOMEM, "no memory for the ship marks of the manifest");
}

/* Read the extensions of a record into new arrays of `to`; *out tells which were there. */
static int get_lists(const struct sto_manifest *m, struct sto_manifest__reader *r,
                     struct sto_manifest_state *to, struct sto_manifest__lists *out, struct ts_error *err)
{
    struct sto_mark_list got[STO_MANIFEST__LISTS] = {{0}};
    *out = (struct sto_manifest__lists){.past = NULL};
    int rc = m->version > 1 ? sto_manifest__get_lists(r, got, &to->past, &to->complete, out, err) : 0;
    to->marks = got[STO_MANIFEST__MARKS];
    to->sent = got[STO_MANIFEST__SENT];
    to->again = got[STO_MANIFEST__AGAIN];
    if (rc == 0 && !copy_bytes(out->once, &to->once))
        rc = ts_error_set(err, TS_ENOMEM, "no memory for the ids of the manifest");
    if (rc == 0 && to->marks.n && !out->list[STO_MANIFEST__SENT]) {
        rc = all_sent(&to->sent, err);
        out->list[STO_MANIFEST__SENT] = &to->sent;
    }
    return rc;
}

static int read_state(struct sto_manifest *m, struct sto_manifest__reader *r, struct ts_error *err)
{
    uint64_t version = sto_manifest__get_u64(r, UINT64_MAX);
    if (!r->bad && (version < 1 || version > MANIFEST_VERSION))
        return ts_error_set(err, TS_EVERSION, "manifest version %llu; this program reads up to version %u",
                            (unsigned long long)version, MANIFEST_VERSION);
    if (m->made)
        return ts_error_set(err, TS_ECORRUPT, "a second state in the manifest");
    m->state.n_shards = (uint32_t)sto_manifest__get_u64(r, UINT32_MAX);
    m->state.flushed_gen = sto_manifest__get_u64(r, UINT64_MAX);
    m->state.run = (uint32_t)sto_manifest__get_u64(r, UINT32_MAX);
    m->state.next_file_no = sto_manifest__get_u64(r, UINT64_MAX);
    m->version = version;
    m->state.cutoff_ms = version > 1 ? ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX)) : 0;
    m->state.cutoff_gen = version > 1 ? sto_manifest__get_u64(r, UINT64_MAX) : 0;
    TS_TRY(sto_manifest__get_files(r, version, &m->state.files, &m->state.n_files, err));
    m->made = true;
    struct sto_manifest__lists lists;
    TS_TRY(get_lists(m, r, &m->state, &lists, err));
    for (size_t i = 0; i < m->state.n_files; i++)
        r->bad |= m->state.files[i].file_no >= m->state.next_file_no;
    r->bad |= !sto_mark_list_valid(&m->state.marks, m->state.flushed_gen) ||
              !sto_mark_list_valid(&m->state.sent, 1) || !sto_mark_list_valid(&m->state.again, 1) ||
              !sto_mark_history_valid(&m->state.past, m->state.flushed_gen);
    return r->bad || r->p != r->end || m->state.n_shards == 0 ? malformed(err) : 0;
}

static int read_edit(struct sto_manifest *m, struct sto_manifest__reader *r, struct ts_error *err)
{
    struct sto_manifest_edit e = {0};
    struct sto_manifest_state next;
    struct sto_sst_info *add = NULL;
    struct sto_manifest_state read = {0}; /* its lists alone */
    struct sto_manifest__lists lists;
    if (!m->made)
        return ts_error_set(err, TS_ECORRUPT, "an edit before the first state in the manifest");
    e.flushed_gen = sto_manifest__get_u64(r, UINT64_MAX);
    e.run = (uint32_t)sto_manifest__get_u64(r, UINT32_MAX);
    e.next_file_no = sto_manifest__get_u64(r, UINT64_MAX);
    e.n_remove = sto_manifest__get_count(r, 1);
    uint64_t *remove = ts_try_malloc((e.n_remove + 1) * sizeof(*remove));
    if (!remove)
        return ts_error_set(err, TS_ENOMEM, "no memory for a manifest edit");
    for (size_t i = 0; i < e.n_remove; i++)
        remove[i] = sto_manifest__get_u64(r, UINT64_MAX);
    e.remove = remove;
    e.cutoff_ms = m->version > 1 ? ts_unzigzag(sto_manifest__get_u64(r, UINT64_MAX)) : 0;
    e.cutoff_gen = m->version > 1 ? sto_manifest__get_u64(r, UINT64_MAX) : 0;
    int rc = sto_manifest__get_files(r, m->version, &add, &e.n_add, err);
    e.add = add;
    if (rc == 0)
        rc = get_lists(m, r, &read, &lists, err);
    e.marks = rc == 0 && lists.list[STO_MANIFEST__MARKS] ? &read.marks : NULL;
    e.sent = rc == 0 && lists.list[STO_MANIFEST__SENT] ? &read.sent : NULL;
    e.again = rc == 0 && lists.list[STO_MANIFEST__AGAIN] ? &read.again : NULL;
    e.past = rc == 0 && lists.past ? &read.past : NULL;
    e.once = read.once;
    e.complete = rc == 0 ? lists.complete : NULL;
    if (rc == 0)
        rc = r->bad || r->p != r->end ? malformed(err) : next_state(&m->state, &e, TS_ECORRUPT, &next, err);
    if (rc == 0)
        replace_state(m, &next);
    ts_free(remove);
    free_state(&read);
    ts_free(add);
    return rc;
}

static int on_record(void *arg, struct ts_slice body, struct ts_error *err)
{
    struct sto_manifest *m = arg;
    const uint8_t *p = (const uint8_t *)body.p;
    struct sto_manifest__reader r = {.p = p + 1, .end = p + body.n};
    if (body.n && p[0] == RECORD_STATE)
        return read_state(m, &r, err);
    if (body.n && p[0] == RECORD_EDIT)
        return read_edit(m, &r, err);
    return body.n ? ts_error_set(err, TS_EVERSION, "manifest record of unknown type %u", p[0])
                  : malformed(err);
}

/* --- writing --- */

/* Add the record in b to the log; b is released. */
static int add_record(struct sto_reclog *log, struct ts_buf *b, struct ts_error *err)
{
    int rc = b->failed ? ts_error_set(err, TS_ENOMEM, "no memory for a manifest record")
                       : sto_reclog_add(log, ts_buf_get(b), err);
    ts_buf_release(b);
    return rc;
}

static int emit_state(void *arg, struct sto_reclog *fresh, struct ts_error *err)
{
    const struct sto_manifest_state *s = arg;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    put_state(&b, s);
    return add_record(fresh, &b, err);
}

/* The log has been replaced by one record. */
static void rewritten(struct sto_manifest *m)
{
    m->stale = false;
    m->version = MANIFEST_VERSION;
    m->rewrite_bytes = sto_reclog_bytes(m->log) * REWRITE_DEAD;
    if (m->rewrite_bytes < m->rewrite_min_bytes)
        m->rewrite_bytes = m->rewrite_min_bytes;
}

/* Replace the log by one record of the state s. */
static int rewrite(struct sto_manifest *m, struct sto_manifest_state *s, struct ts_error *err)
{
    TS_TRY(sto_reclog_rewrite(m->log, emit_state, s, err));
    rewritten(m);
    return 0;
}

/* Bytes of a record of the state, an estimate. */
static uint64_t snapshot_bytes(const struct sto_manifest_state *s)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    put_state(&b, s);
    uint64_t n = b.n;
    ts_buf_release(&b);
    return n;
}

/* After an edit: rewrite the log if most of it is obsolete. A rewrite that fails only costs disk space. */
static void tidy(struct sto_manifest *m)
{
    uint64_t n = sto_reclog_bytes(m->log);
    if (n < m->rewrite_bytes)
        return;
    struct ts_error err = {0};
    if (n < snapshot_bytes(&m->state) * REWRITE_DEAD || rewrite(m, &m->state, &err) < 0) {
        if (err.code < 0)
            ts_log(TS_LOG_WARN, "manifest not rewritten error=%s", err.text);
        m->rewrite_bytes = n + n / 2;
    }
}

/* The disk is full and an edit was refused; the log's buffer still holds it. Is it certain that the edit is
 * not on disk? */
static int refused(struct sto_manifest *m, struct ts_error *err)
{
    struct ts_error why = {0};
    m->stale = true;
    if (rewrite(m, &m->state, &why) == 0 || !sto_reclog_broken(m->log))
        return TS_ENOSPC;
    m->stale = false; /* the log is broken: nothing will be written any more */
    if (err)
        *err = why; /* the edit was written, but its sync failed */
    return TS_EIO;
}

/* Make one edit durable. */
static int write_edit(struct sto_manifest *m, const struct sto_manifest_edit *edit,
                      struct sto_manifest_state *next, struct ts_error *err)
{
    struct ts_buf b;
    if (m->stale || m->version < MANIFEST_VERSION)
        return rewrite(m, next, err);
    ts_buf_init(&b, 0);
    put_edit(&b, &m->state, edit);
    TS_TRY(add_record(m->log, &b, err));
    int rc = sto_reclog_flush(m->log, true, err);
    return rc == TS_ENOSPC ? refused(m, err) : rc;
}

int sto_manifest_apply(struct sto_manifest *m, const struct sto_manifest_edit *edit, struct ts_error *err)
{
    struct sto_manifest_state next;
    if (m->read_only)
        return sto_read_only_refuse(NULL, err);
    TS_TRY(next_state(&m->state, edit, TS_EINVAL, &next, err));
    int rc = write_edit(m, edit, &next, err);
    if (rc < 0) {
        free_state(&next);
        return rc;
    }
    replace_state(m, &next);
    tidy(m);
    return 0;
}

int sto_manifest_set_shards(struct sto_manifest *m, const struct sto_manifest_shards *to,
                            struct ts_error *err)
{
    const struct sto_manifest_edit edit = {.once = to->once};
    struct sto_manifest_state next;
    if (m->read_only)
        return sto_read_only_refuse(NULL, err);
    TS_TRY(next_state(&m->state, &edit, TS_EINVAL, &next, err));
    next.n_shards = to->n;
    if (!to->once.n) {
        ts_free((char *)next.once.p);
        next.once = (struct ts_slice){NULL, 0};
    }
    const struct sto_reclog_replacement with = {
        .emit = emit_state, .arg = &next, .may = to->may, .may_arg = to->arg};
    int rc = sto_reclog_replace(m->log, &with, err);
    if (rc < 0) {
        free_state(&next);
        return rc;
    }
    rewritten(m);
    replace_state(m, &next);
    if (!to->may)
        sto_manifest_renew_copy(m);
    return 0;
}

void sto_manifest_renew_copy(struct sto_manifest *m)
{
    sto_reclog_renew_copy(m->log);
}

/* --- open and close --- */

static int not_a_store(const char *dir, struct ts_error *err)
{
    return ts_error_set(err, TS_ENOTFOUND, "%s is not a tsd store", dir);
}

/* The first record of a new store. */
static int make_store(struct sto_manifest *m, uint32_t n_shards, struct ts_error *err)
{
    m->state = (struct sto_manifest_state){.n_shards = n_shards, .next_file_no = 1};
    m->version = MANIFEST_VERSION;
    TS_TRY(emit_state(&m->state, m->log, err));
    TS_TRY(sto_reclog_flush(m->log, true, err));
    m->made = true;
    return 0;
}

static int open_log(struct sto_manifest *m, const struct ts_fs *fs, const char *path, const char *dir,
                    bool create, uint32_t n_shards, struct ts_error *err)
{
    int rc = ts_fs_exists(fs, path, err);
    if (rc == 0 && (!create || m->read_only))
        return not_a_store(dir, err);
    if (rc < 0)
        return rc;
    TS_TRY(sto_reclog_open(fs, path, MANIFEST_KIND, m->read_only, on_record, m, &m->log, err));
    TS_TRY(sto_reclog_keep_copy(m->log, err));
    if (m->made)
        return 0;
    /* the first start ended before the first record: nothing was stored yet */
    return create && !m->read_only ? make_store(m, n_shards, err) : not_a_store(dir, err);
}

int sto_manifest_open(const struct ts_fs *fs, const char *dir, bool create, bool read_only, uint32_t n_shards,
                      struct sto_manifest **out_m, struct ts_error *err)
{
    *out_m = NULL;
    if (create && n_shards == 0)
        TS_BUG("a store without shards");
    char *path = ts_fs_join(dir, STO_MANIFEST_NAME);
    struct sto_manifest *m = ts_xcalloc(1, sizeof(*m));
    m->read_only = read_only;
    m->rewrite_min_bytes = m->rewrite_bytes = REWRITE_MIN_BYTES;
    int rc = open_log(m, fs, path, dir, create, n_shards, err);
    ts_free(path);
    if (rc < 0) {
        sto_manifest_close(m);
        return rc;
    }
    *out_m = m;
    return 0;
}

void sto_manifest_set_rewrite_bytes(struct sto_manifest *m, uint64_t n_bytes)
{
    m->rewrite_min_bytes = m->rewrite_bytes = n_bytes;
}

void sto_manifest_close(struct sto_manifest *m)
{
    if (!m)
        return;
    if (m->stale && rewrite(m, &m->state, NULL) < 0)
        sto_reclog_abandon(m->log); /* its buffer has an edit that was refused */
    else
        sto_reclog_close(m->log, NULL);
    free_state(&m->state);
    ts_free(m);
}

const struct sto_manifest_state *sto_manifest_state(const struct sto_manifest *m)
{
    return &m->state;
}

const struct sto_sst_info *sto_manifest_file(const struct sto_manifest_state *state, uint64_t file_no)
{
    size_t i = find_file(state->files, state->n_files, file_no);
    return i == SIZE_MAX ? NULL : &state->files[i];
}
