/*
 * evict_pick.c - finds the lowest cutoff that leaves little enough, since what is left only falls with the cutoff.
 *
 * Threads    any
 */
#include "storage/engine/evict_pick.h"

uint64_t sto_evict_left(const struct sto_evict_file *files, size_t n, int64_t ms)
{
    uint64_t left = 0;
    for (size_t i = 0; i < n; i++)
        left += files[i].spread.before[STO_SPREAD_PARTS] - sto_spread_before(&files[i].spread, ms);
    return left;
}

static uint64_t share_of(uint64_t max_bytes, unsigned parts)
{
    return max_bytes / STO_EVICT_PARTS * parts + max_bytes % STO_EVICT_PARTS * parts / STO_EVICT_PARTS;
}

/* Bytes that stay in files with a cutoff. */
static uint64_t stays(const struct sto_evict_opts *opts, const struct sto_evict_file *files, size_t n,
                      int64_t ms)
{
    uint64_t left = sto_evict_left(files, n, ms);
    return opts->before_bytes + (left > opts->going_bytes ? left - opts->going_bytes : 0);
}

/* The first hour from which on the files have at most so many bytes, within the bounds of opts. */
static int64_t lowest(const struct sto_evict_opts *opts, const struct sto_evict_file *files, size_t n,
                      uint64_t bytes)
{
    int64_t low = opts->from_ms, high = opts->last_ms; /* low leaves too much; high is allowed */
    if (low >= high || stays(opts, files, n, low) <= bytes)
        return low;
    while ((int64_t)sto_hour(high - 1) * TS_HOUR_MS > low) {
        int64_t mid =
            ((int64_t)sto_hour(low) + ((int64_t)sto_hour(high - 1) - sto_hour(low) + 1) / 2) * TS_HOUR_MS;
        if (stays(opts, files, n, mid) <= bytes)
            high = mid;
        else
            low = mid;
    }
    return high;
}

/* The first time from ms on at which a whole file goes; INT64_MAX: there is none. */
static int64_t next_end(const struct sto_evict_file *files, size_t n, int64_t ms)
{
    int64_t next_ms = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t end_ms = ((int64_t)sto_hour(files[i].max_ms) + 1) * TS_HOUR_MS;
        if (end_ms >= ms && end_ms < next_ms)
            next_ms = end_ms;
    }
    return next_ms;
}

struct sto_evict_pick sto_evict_pick(const struct sto_evict_opts *opts, const struct sto_evict_file *files,
                                     size_t n)
{
    uint64_t fixed = opts->fixed_bytes, was = stays(opts, files, n, opts->from_ms);
    struct sto_evict_pick pick = {
        .cutoff_ms = opts->from_ms, .left_bytes = fixed + was, .enough = fixed + was <= opts->max_bytes};
    if (pick.enough)
        return pick;
    uint64_t high = share_of(opts->max_bytes, STO_EVICT_HIGH), low = share_of(opts->max_bytes, STO_EVICT_LOW),
             rows = share_of(opts->max_bytes, STO_EVICT_ROWS);
    if (fixed >= rows) { /* the log may be written to files soon; until then all points could not make room */
        pick.enough = false;
        return pick;
    }
    int64_t whole_ms = next_end(files, n, lowest(opts, files, n, high > fixed ? high - fixed : 0));
    if (whole_ms <= opts->last_ms && fixed + stays(opts, files, n, whole_ms) >= low)
        pick.cutoff_ms = whole_ms;
    else
        pick.cutoff_ms = lowest(opts, files, n, rows > fixed ? rows - fixed : 0);
    uint64_t left = stays(opts, files, n, pick.cutoff_ms);
    pick.left_bytes = fixed + left;
    pick.freed_bytes = was - left;
    pick.enough = pick.left_bytes <= opts->max_bytes;
    return pick;
}
