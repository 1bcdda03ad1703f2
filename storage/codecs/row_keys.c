/*
 * row_keys.c - see row_keys.h.
 *
 * Format     docs/FORMAT.md "Summary block"
 */
#include "storage/codecs/row_keys.h"

#include "base/bytes.h"
#include "storage/codecs/key_cols.h"

#define RARE_MAX                                                                                             \
    ((STO_DIFF_RUNS - 1) / 2) /* a plain value that differs is a run, and so are those after it */

static uint32_t add_run(struct sto_diff_run *runs, uint32_t n, uint32_t at, uint64_t diff)
{
    if (runs[n - 1].at == at)
        n--;
    runs[n] = (struct sto_diff_run){at, diff};
    return n + 1;
}

uint32_t sto_row_keys__runs(const struct sto_unpack *u, const struct sto_unpack_pos *pos,
                            const struct sto_seq *s, uint32_t n, struct sto_diff_run *out)
{
    struct sto_rare rare[RARE_MAX];
    uint32_t n_rare = 0, n_runs = 1;
    uint64_t sum = 0;
    bool adds_up = s->codec == STO_CODEC_DELTA || s->codec == STO_CODEC_GAP;
    out[0] = (struct sto_diff_run){1, (uint64_t)s->first};
    if (s->codec == STO_CODEC_CONST)
        return 1;
    if ((!adds_up && s->codec != STO_CODEC_PLAIN && s->codec != STO_CODEC_RARE) || (adds_up && s->slope) ||
        !sto_unpack__rare(u, pos, s, n, rare, RARE_MAX, &n_rare))
        return 0;
    for (uint32_t i = 0; i < n_rare; i++) {
        uint32_t row = rare[i].at;
        uint64_t res = rare[i].res;
        if (adds_up) {
            sum += s->codec == STO_CODEC_DELTA ? (uint64_t)ts_unzigzag(res) : res;
            n_runs = add_run(out, n_runs, row, (uint64_t)s->first + sum * s->unit);
        } else if (row) { /* that of row 0 is not used */
            n_runs = add_run(out, n_runs, row, (uint64_t)s->first + res * s->unit);
            n_runs = add_run(out, n_runs, row + 1, (uint64_t)s->first);
        }
    }
    return n_runs;
}

bool sto_row_keys__of_runs(const struct sto_diff_run *series, uint32_t n_series,
                           const struct sto_diff_run *hours, uint32_t n_hours, struct sto_key first,
                           uint32_t n, struct sto_key *out)
{
    const struct sto_diff_run *s_end = series + n_series, *h_end = hours + n_hours;
    uint64_t id = first.series, hour = (uint64_t)first.hour;
    out[0] = first;
    for (uint32_t i = 1; i < n;) {
        uint32_t end = n;
        series += series + 1 < s_end && series[1].at <= i;
        hours += hours + 1 < h_end && hours[1].at <= i;
        if (series + 1 < s_end && series[1].at < end)
            end = series[1].at;
        if (hours + 1 < h_end && hours[1].at < end)
            end = hours[1].at;
        const int64_t step[2][2] = {{0, (int64_t)series->diff}, {0, (int64_t)hours->diff}};
        if (!sto_key_cols__ascend(step[0], step[1], 2, 1))
            return false;
        for (; i < end; i++) {
            id += series->diff;
            hour += hours->diff;
            out[i] = (struct sto_key){first.metric, (uint32_t)id, (int32_t)hour};
        }
        if (id > UINT32_MAX ||
            sto_key_cols__bad_hour(hour)) /* and no row before has a larger series, or an hour farther away */
            return false;
    }
    return true;
}

/* sto_row_keys__of_cols of one metric. */
static bool of_one_metric(const int64_t *s, const int64_t *h, struct sto_key first, uint32_t n,
                          struct sto_key *out)
{
    uint64_t series = first.series, hour = (uint64_t)first.hour, bad = 0;
    if (!sto_key_cols__ascend(s, h, n, 1))
        return false;
    out[0] = first;
    for (uint32_t i = 1; i < n; i++) {
        series += (uint64_t)s[i];
        hour += (uint64_t)h[i];
        bad |= sto_key_cols__bad_hour(hour);
        out[i] = (struct sto_key){first.metric, (uint32_t)series, (int32_t)hour};
    }
    return !bad && series <= UINT32_MAX;
}

bool sto_row_keys__of_cols(const int64_t *metrics, const int64_t *series, const int64_t *hours,
                           struct sto_key first, uint32_t n, struct sto_key *out)
{
    const uint64_t far = 1ull << STO_KEY_FAR_BITS;
    int64_t metric = first.metric, id = first.series, hour = first.hour;
    bool bad = false;
    if (!metrics)
        return of_one_metric(series, hours, first, n, out);
    out[0] = first;
    for (uint32_t i = 1; i < n; i++) {
        int64_t m = metrics[i], s = series[i], h = hours[i];
        bad |= (uint64_t)m > far || (uint64_t)s > far || (uint64_t)h + far > 2 * far;
        /* of bad differences nothing is added, so that nothing overflows */
        m = bad ? 0 : m;
        id = (m ? 0 : id) + (bad ? 0 : s);
        metric += m;
        hour += bad ? 0 : h;
        bad |= metric > UINT32_MAX || id > UINT32_MAX || hour != (int32_t)hour || (!m && !s && h <= 0);
        out[i] = (struct sto_key){(uint32_t)metric, (uint32_t)id, (int32_t)hour};
    }
    return !bad;
}
