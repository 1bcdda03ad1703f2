/*
 * sst_cur.c - iterates over the rows of a sorted file.
 *
 * A row longer than a block is stored as adjacent pieces of the same key, in one block or several. The cursor
 * is positioned on the first piece; sto_sst_cur_cells joins them.
 *
 * Threads    a cursor belongs to one thread
 * Not here   opening files (sst_read.c), what is in a block (codecs/)
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "storage/codecs/codec.h"
#include "storage/codecs/sums.h"
#include "storage/day.h"
#include "storage/engine/files/sst_int.h"

#define NO_BLOCK UINT32_MAX
#define AHEAD_MOST                                                                                           \
    32768u /* bytes: as long as a system call for a block of summaries takes, 32 KiB are copied */
#define PAGE_BYTES (sizeof(struct sto_page) + STO_PAGE_BLOCKS * sizeof(struct sto_sst_block))

/* Position of a row: its block and its number in the block. */
struct place {
    uint32_t block, row;
};

struct sto_sst_cur {
    struct sto_sst *sst;           /* one reference */
    struct sto_sst__file *f;       /* the file it walks */
    enum sto_sst_what what;        /* what it reads */
    struct sto_sst_share *share;   /* shared by all cursors of the scan; may be NULL */
    struct sto_dec *dec;           /* points, while a block is open; else NULL */
    struct sto_sums_dec *sums;     /* summaries, likewise */
    uint8_t *buf;                  /* bytes of the loaded block, perhaps with those of others */
    size_t cap;                    /* of buf */
    uint64_t buf_off;              /* where they are in the file */
    size_t n_buf;                  /* how many; 0: unknown */
    size_t ahead;                  /* bytes read at once last time; 0: a single block */
    struct sto_index_reader index; /* of f */
    struct sto_index_hit hit;      /* entry looked up last */
    bool has_hit;                  /* there is one */
    bool counts_page;              /* a page of its own is counted */
    struct sto_sst_block block;    /* entry of the block loaded last, or tried */
    uint32_t loaded;               /* block that dec or sums has open; NO_BLOCK */
    bool on_row;                   /* it is positioned on a row */
    struct place at;               /* its first piece */
    struct sto_key key;            /* its key */
    struct sto_cells cells, piece; /* joined; the piece being added */
    bool has_cells;                /* cells are those of the row */
    struct place end;              /* behind its last piece, if has_cells */
    struct sto_summary summary;    /* of the row, if has_summary */
    bool has_summary;              /* the row has one that is known */
    bool knows_summary; /* it is known whether the row has one; otherwise the block of the row is open */
};

_Static_assert(sizeof(struct sto_sst_cur) <= STO_SST_CUR_BYTES,
               "a cursor has more bytes than are counted for it");

_Static_assert(STO_SST_RUN_ROWS == STO_SUMS_ROWS, "a block has more rows than a run");

static struct ts_tally *tally_of(struct sto_sst_cur *cur)
{
    return cur->share ? &cur->share->tally : NULL;
}

struct sto_sst_cur *sto_sst__cur_of(struct sto_sst *sst, struct sto_sst__file *f, enum sto_sst_what what,
                                    struct sto_sst_share *share)
{
    struct sto_sst_cur *cur = ts_xcalloc(1, sizeof *cur);
    if (!f->there)
        TS_BUG("file %" PRIu64 " has no rows of kind %d", sst->info.file_no, (int)what);
    cur->sst = sto_sst_ref(sst);
    cur->f = f;
    cur->index.x = &f->index;
    cur->loaded = NO_BLOCK;
    cur->what = what;
    cur->share = share;
    ts_tally_force(tally_of(cur), STO_SST_CUR_BYTES);
    return cur;
}

struct sto_sst_cur *sto_sst_cur_new(struct sto_sst *sst, enum sto_sst_what what, struct sto_sst_share *share)
{
    struct sto_sst__file *const files[] = {
        [STO_SST_POINTS] = &sst->t, [STO_SST_SUMMARIES] = &sst->s, [STO_SST_DAYS] = &sst->d};
    return sto_sst__cur_of(sst, files[what], what, share);
}

void sto_sst_cur_set_walk(struct sto_sst_cur *cur)
{
    cur->index.alone = true;
}

bool sto_sst_cur_is_open(const struct sto_sst_cur *cur)
{
    return cur && (cur->dec || cur->sums);
}

/* Release cells that the tally counts. */
static void release_cells(struct sto_sst_cur *cur, struct sto_cells *c)
{
    ts_tally_give(tally_of(cur), sto_cells_bytes(c));
    sto_cells_release(c);
}

/* Decode the summary of the row while its block is open. */
static void know_summary(struct sto_sst_cur *cur)
{
    if (!cur->on_row || cur->knows_summary || cur->what == STO_SST_POINTS)
        return;
    cur->has_summary = sto_sums_dec_get(cur->sums, cur->at.row, &cur->summary);
    cur->knows_summary = true;
}

void sto_sst_cur_close_block(struct sto_sst_cur *cur)
{
    know_summary(cur);
    sto_dec_return(cur->dec);
    sto_sums_dec_return(cur->sums);
    cur->dec = NULL;
    cur->sums = NULL;
    ts_tally_give(tally_of(cur), cur->cap);
    ts_free(cur->buf);
    cur->buf = NULL;
    cur->cap = cur->n_buf = 0;
    cur->loaded = NO_BLOCK;
    release_cells(cur, &cur->piece);
    if (!cur->counts_page)
        return;
    sto_index_reader_release(&cur->index);
    ts_tally_give(tally_of(cur), PAGE_BYTES);
    cur->counts_page = false;
}

void sto_sst_cur_rest(struct sto_sst_cur *cur)
{
    if (!cur)
        return;
    sto_sst_cur_close_block(cur);
    release_cells(cur, &cur->cells);
    cur->has_cells = false;
}

void sto_sst_cur_free(struct sto_sst_cur *cur)
{
    if (!cur)
        return;
    sto_index_reader_release(&cur->index);
    sto_sst_cur_rest(cur);
    ts_tally_give(tally_of(cur), STO_SST_CUR_BYTES);
    sto_sst_unref(cur->sst);
    ts_free(cur);
}

static uint32_t n_rows(const struct sto_sst_cur *cur)
{
    return cur->dec ? sto_dec_n_rows(cur->dec) : sto_sums_dec_n_rows(cur->sums);
}

static const struct sto_key *key_of(const struct sto_sst_cur *cur, uint32_t row)
{
    return cur->dec ? &sto_dec_row_at(cur->dec, row)->key : sto_sums_dec_key(cur->sums, row);
}

static uint32_t n_blocks(const struct sto_sst_cur *cur)
{
    return cur->index.x->n_blocks;
}

/* Read the entry of block i into cur->hit. */
static int look_up(struct sto_sst_cur *cur, uint32_t i, struct ts_error *err)
{
    if (cur->has_hit && cur->hit.i == i)
        return 0;
    cur->has_hit = false;
    int rc = sto_index_at(&cur->index, i, &cur->hit, err);
    cur->has_hit = rc == 0;
    return sto_sst__index_failed(cur->sst, cur->f, rc, err);
}

/* Set err to say which rows the damaged block holds, according to the index, and what to do. The cause is
 * dropped, since the reader of this message needs the remedy. */
static int damaged(const struct sto_sst_cur *cur, struct ts_error *err)
{
    const struct sto_sst_block *b = &cur->block;
    int64_t lo = b->first.hour, hi = b->last.hour;
    if (b->first.series != b->last.series || b->first.metric != b->last.metric) {
        lo = ts_floor_div(cur->sst->info.min_ms, TS_HOUR_MS);
        hi = ts_floor_div(cur->sst->info.max_ms, TS_HOUR_MS);
    }
    struct ts_civil from = ts_civil_from_ms(NULL, lo * TS_HOUR_MS),
                    to = ts_civil_from_ms(NULL, hi * TS_HOUR_MS);
    return ts_error_set(err, TS_ECORRUPT,
                        "%s is damaged: block at %" PRIu64 ", series %u to %u, %04d-%02d-%02d %02d:00 to "
                        "%04d-%02d-%02d %02d:59 UTC at most; stop the store and run tsd fsck",
                        cur->f->path, b->off, b->first.series, b->last.series, from.year, from.month,
                        from.day, from.hour, to.year, to.month, to.day, to.hour);
}

/* After memory was refused: true if other cursors released some, so that the call can be repeated. */
static bool make_room(struct sto_sst_cur *cur, int rc)
{
    if (!cur->share)
        return false;
    if (rc == TS_ELIMIT)
        return cur->share->make_room && cur->share->make_room(cur->share->arg, cur);
    cur->share->tally.forced = false; /* for this block or row alone */
    return false;
}

/* Reserve memory for the bytes of a block, and create its decoder. */
static int reserve_block(struct sto_sst_cur *cur, uint32_t len, struct ts_error *err)
{
    if (len > cur->cap) {
        size_t cap = len + len / 4;
        TS_TRY(ts_tally_take(tally_of(cur), cap - cur->cap, err));
        ts_free(cur->buf);
        cur->buf = ts_xmalloc(cap);
        cur->cap = cap;
        cur->n_buf = 0;
    }
    if (cur->index.alone && !cur->counts_page) {
        TS_TRY(ts_tally_take(tally_of(cur), PAGE_BYTES, err));
        cur->counts_page = true;
    }
    if (cur->what == STO_SST_POINTS && !cur->dec)
        cur->dec = sto_dec_borrow(tally_of(cur), err);
    if (cur->what != STO_SST_POINTS && !cur->sums)
        cur->sums = sto_sums_dec_borrow(tally_of(cur), err);
    return cur->dec || cur->sums ? 0 : TS_ELIMIT;
}

/* How many bytes to read at once: where blocks of summaries are read one after the other, more each time. */
static size_t ahead_of(const struct sto_sst_cur *cur, const struct sto_sst_block *b)
{
    uint64_t end = cur->index.x->blocks_end, left = end > b->off ? end - b->off : 0;
    size_t want = 2 * (cur->ahead ? cur->ahead : b->len);
    bool follows = cur->n_buf && b->off > cur->buf_off && b->off <= cur->buf_off + cur->n_buf;
    if (cur->what == STO_SST_POINTS || !follows)
        return 0;
    want = want < AHEAD_MOST ? want : AHEAD_MOST;
    want = want < left ? want : (size_t)left;
    return want > b->len ? want : 0;
}

/* Read a block, and those after it if blocks are read one after the other. */
static int fetch(struct sto_sst_cur *cur, const struct sto_sst_block *b, struct ts_error *err)
{
    size_t want = ahead_of(cur, b), got = 0;
    cur->ahead = want;
    TS_TRY(reserve_block(cur, b->len, err));
    if (want && reserve_block(cur, (uint32_t)want, NULL) < 0)
        want = cur->ahead = 0;
    cur->n_buf = 0;
    cur->buf_off = b->off;
    if (want && sto_handle_pread(&cur->f->handle, cur->buf, want, b->off, &got, NULL) == 0 && got >= b->len) {
        cur->n_buf = got;
        return sto_sst__check_block(cur->f, b, cur->buf, err);
    }
    TS_TRY(sto_sst__read_block(cur->f, b, cur->buf, err)); /* what follows it may be what cannot be read */
    cur->n_buf = b->len;
    return 0;
}

/* The bytes of a block. */
static int bytes_of(struct sto_sst_cur *cur, const struct sto_sst_block *b, struct ts_slice *out,
                    struct ts_error *err)
{
    bool is_there = cur->n_buf && b->off >= cur->buf_off && b->off + b->len <= cur->buf_off + cur->n_buf;
    if (is_there && cur->sums)
        TS_TRY(sto_sst__check_block(cur->f, b, cur->buf + (b->off - cur->buf_off), err));
    else
        TS_TRY(fetch(cur, b, err));
    *out = (struct ts_slice){(const char *)cur->buf + (b->off - cur->buf_off), b->len};
    return 0;
}

static int read_block(struct sto_sst_cur *cur, const struct sto_sst_block *b, struct ts_error *err)
{
    struct ts_slice bytes;
    TS_TRY(bytes_of(cur, b, &bytes, err));
    if (cur->dec)
        return sto_dec_open(cur->dec, bytes, err);
    static const unsigned hours_of[] = {
        [STO_SST_SUMMARIES] = 1, [STO_SST_DAYS] = STO_DAY_MAX_HOURS, [STO_SST_TOTAL] = 0};
    unsigned hours = hours_of[cur->what];
    return sto_sums_dec_open_long(cur->sums, bytes, hours, err);
}

/* Load block i, unless it is loaded. */
static int load(struct sto_sst_cur *cur, uint32_t i, struct ts_error *err)
{
    if (cur->loaded == i)
        return 0;
    TS_TRY(look_up(cur, i, err));
    const struct sto_sst_block *b = &cur->block;
    int rc;
    know_summary(cur);
    cur->block = cur->hit.block;
    cur->loaded = NO_BLOCK;
    do
        rc = read_block(cur, b, err);
    while (make_room(cur, rc));
    if (rc == 0 && (sto_key_cmp(key_of(cur, 0), &b->first) != 0 ||
                    sto_key_cmp(key_of(cur, n_rows(cur) - 1), &b->last) != 0))
        rc = TS_ECORRUPT;
    if (rc == TS_ECORRUPT)
        return damaged(cur, err);
    if (rc < 0)
        return rc;
    cur->loaded = i;
    return 0;
}

/* Move to a row of the loaded block. */
static int stand(struct sto_sst_cur *cur, uint32_t row)
{
    cur->at = (struct place){cur->loaded, row};
    cur->key = *key_of(cur, row);
    cur->on_row = true;
    cur->has_cells = false;
    cur->knows_summary = false;
    return 1;
}

static int stand_at_end(struct sto_sst_cur *cur)
{
    cur->on_row = false;
    cur->has_cells = false;
    cur->at = (struct place){n_blocks(cur), 0};
    return 0;
}

/* Find the first block whose last key is not below key and put its entry into cur->hit: 1, 0 = there is
 * none, < 0. */
static int find_block(struct sto_sst_cur *cur, const struct sto_key *key, struct ts_error *err)
{
    const struct sto_index_hit *hit = &cur->hit;
    if (cur->has_hit && sto_key_cmp(&hit->before, key) < 0 && sto_key_cmp(&hit->block.last, key) >= 0)
        return 1;
    int rc = sto_index_find(&cur->index, key, &cur->hit, err);
    cur->has_hit = rc == 1;
    return sto_sst__index_failed(cur->sst, cur->f, rc, err);
}

int sto_sst_cur_seek(struct sto_sst_cur *cur, const struct sto_key *key, struct ts_error *err)
{
    if (cur->on_row && sto_key_cmp(&cur->key, key) == 0)
        return 1;
    int rc = find_block(cur, key, err);
    if (rc == 1)
        rc = load(cur, cur->hit.i, err);
    else if (rc == 0)
        return stand_at_end(cur);
    if (rc < 0) {
        stand_at_end(cur);
        return rc;
    }
    uint32_t lo = 0, hi = n_rows(cur);
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (sto_key_cmp(key_of(cur, mid), key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return stand(cur, lo); /* lo is a row: the block's last key is not below key */
}

/* Find where the first row after the pieces of the current one begins; row = n_rows means the next block. */
static int find_end(struct sto_sst_cur *cur, struct place *out, struct ts_error *err)
{
    struct place p = cur->at;
    TS_TRY(load(cur, p.block, err));
    for (p.row++; p.row < n_rows(cur) && sto_key_cmp(key_of(cur, p.row), &cur->key) == 0;)
        p.row++;
    while (p.row == n_rows(cur) && p.block + 1 < n_blocks(cur)) {
        p = (struct place){p.block + 1, 0};
        TS_TRY(look_up(cur, p.block, err));
        if (sto_key_cmp(&cur->hit.block.first, &cur->key) != 0)
            break;
        TS_TRY(load(cur, p.block, err));
        while (p.row < n_rows(cur) && sto_key_cmp(key_of(cur, p.row), &cur->key) == 0)
            p.row++;
    }
    *out = p;
    return 0;
}

int sto_sst_cur_next(struct sto_sst_cur *cur, struct ts_error *err)
{
    if (!cur->on_row)
        return 0;
    struct place p = cur->end;
    int rc = cur->has_cells ? 0 : find_end(cur, &p, err);
    rc = rc < 0 ? rc : load(cur, p.block, err);
    if (rc < 0) {
        stand_at_end(cur);
        return rc;
    }
    return p.row < n_rows(cur) ? stand(cur, p.row) : stand_at_end(cur);
}

const struct sto_key *sto_sst_cur_key(const struct sto_sst_cur *cur)
{
    return &cur->key;
}

/* Reserve memory for n cells, which the tally counts. */
static int reserve_cells(struct sto_sst_cur *cur, struct sto_cells *c, uint32_t n, struct ts_error *err)
{
    uint64_t more = sto_cells_growth(c, n);
    int rc = 0;
    do
        rc = more ? ts_tally_take(tally_of(cur), more, err) : 0;
    while (make_room(cur, rc));
    TS_TRY(rc);
    sto_cells_reserve(c, n);
    return 0;
}

/* Append cur->piece to cur->cells. */
static int join(struct sto_sst_cur *cur, struct ts_error *err)
{
    struct sto_cells *all = &cur->cells, *p = &cur->piece;
    if (!sto_meta_follows(all->meta[all->n - 1], p->meta[0]))
        return damaged(cur, err);
    TS_TRY(reserve_cells(cur, all, all->n + p->n, err));
    memcpy(all->meta + all->n, p->meta, p->n * sizeof *p->meta);
    memcpy(all->m + all->n, p->m, p->n * sizeof *p->m);
    all->n += p->n;
    all->uniform = all->uniform && p->uniform && all->common == p->common;
    return 0;
}

static int decode(struct sto_sst_cur *cur, uint32_t row, struct sto_cells *out, struct ts_error *err)
{
    int rc;
    out->n = 0;
    TS_TRY(reserve_cells(cur, out, sto_dec_row_at(cur->dec, row)->n, err));
    do
        rc = sto_dec_cells(cur->dec, row, out, err);
    while (make_room(cur, rc));
    return rc == TS_ECORRUPT ? damaged(cur, err) : rc;
}

int sto_sst_cur_cells(struct sto_sst_cur *cur, const struct sto_cells **out_cells, struct ts_error *err)
{
    *out_cells = NULL;
    if (!cur->on_row || cur->what != STO_SST_POINTS)
        TS_BUG("cursor is not on a row of points");
    if (!cur->has_cells) {
        struct place p = cur->at;
        TS_TRY(load(cur, p.block, err));
        TS_TRY(decode(cur, p.row++, &cur->cells, err));
        for (;;) {
            if (p.row == n_rows(cur)) {
                if (p.block + 1 == n_blocks(cur))
                    break;
                p = (struct place){p.block + 1, 0};
                TS_TRY(look_up(cur, p.block, err));
                if (sto_key_cmp(&cur->hit.block.first, &cur->key) != 0)
                    break;
                TS_TRY(load(cur, p.block, err));
            }
            if (sto_key_cmp(key_of(cur, p.row), &cur->key) != 0)
                break;
            TS_TRY(decode(cur, p.row++, &cur->piece, err));
            TS_TRY(join(cur, err));
        }
        cur->end = p;
        cur->has_cells = true;
    }
    *out_cells = &cur->cells;
    return 0;
}

const struct sto_summary *sto_sst_cur_summary(struct sto_sst_cur *cur)
{
    know_summary(cur);
    return cur->on_row && cur->what != STO_SST_POINTS && cur->has_summary ? &cur->summary : NULL;
}

bool sto_sst_cur_has_summary(const struct sto_sst_cur *cur, bool with_sum)
{
    bool is_int;
    if (!cur->on_row || cur->what == STO_SST_POINTS)
        return false;
    return cur->knows_summary ? cur->has_summary && (cur->summary.has_sum || !with_sum)
                              : sto_sums_dec_has(cur->sums, cur->at.row, with_sum, &is_int);
}

size_t sto_sst_cur_rows(const struct sto_sst_cur *cur, bool with_sum, struct sto_sst_rows *out)
{
    uint32_t first = cur->at.row;
    bool is_int;
    if (!cur->on_row || cur->what == STO_SST_POINTS || !cur->sums || cur->loaded != cur->at.block)
        return 0;
    uint32_t n = sto_sums_dec_run(cur->sums, first, with_sum, &is_int);
    *out = (struct sto_sst_rows){sto_sums_dec_key(cur->sums, first), sto_sums_dec_counts(cur->sums) + first,
                                 is_int};
    return n;
}

void sto_sst_cur_sums(const struct sto_sst_cur *cur, size_t n, __int128 *out)
{
    sto_sums_dec_sums(cur->sums, cur->at.row, (uint32_t)n, out);
}

void sto_sst_cur_skip(struct sto_sst_cur *cur, size_t n)
{
    (void)stand(cur, cur->at.row + (uint32_t)n);
    cur->knows_summary = true; /* nobody will ask for it */
    cur->has_summary = false;
}

bool sto_sst_cur_is_vain(const struct sto_sst_cur *cur)
{
    return cur->on_row && cur->sums && cur->loaded == cur->at.block && sto_sums_dec_is_vain(cur->sums);
}

int sto_sst_cur_singles(struct sto_sst_cur *cur, int64_t end, struct sto_key *keys, __int128 *sums,
                        struct ts_error *err)
{
    int rc;
    if (!cur->on_row || !cur->dec || cur->loaded != cur->at.block)
        return 0;
    do
        rc = sto_dec_singles(cur->dec, cur->at.row, end, STO_SST_RUN_ROWS, keys, sums, err);
    while (make_room(cur, rc < 0 ? rc : 0));
    return rc == TS_ECORRUPT ? damaged(cur, err) : rc;
}
