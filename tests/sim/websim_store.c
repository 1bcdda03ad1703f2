/*
 * websim_store.c - a spool that keeps order, and a daemon with moods: the last value of every point.
 */
#include "tests/sim/websim.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#define SPOOL_BYTES  500000u /* more than a round of counts */
#define OTHERS_BYTES 150000u /* points of other collectors, while the daemon takes none */

/* How the daemon answers. */
enum mood { WELL, AWAY, READ_ONLY, FULL, N_MOODS };

/* A point: its name and time, and the last value. */
struct point {
    uint64_t key;       /* hash of metric, time and tags */
    unsigned log, hour; /* whose */
    unsigned status;    /* class, 0 = 2xx */
    uint64_t n;         /* value */
};

struct ws_store {
    struct ws_life *life;
    enum mood mood;
    bool refuses;                        /* the spool takes nothing (its disk is full) */
    struct ts_buf waiting;               /* lines of the spool */
    uint64_t n_taken, n_waiting, n_lost; /* points */
    struct point *points;
    size_t n_points, cap_points;
    uint32_t *slots; /* index + 1 */
    size_t n_slots;
    uint64_t n_bad;
    int tee_fd; /* a file that gets all lines, too; -1 = none */
};

struct ws_store *ws_store_new(struct ws_life *l)
{
    struct ws_store *s = ts_xcalloc(1, sizeof(*s));
    s->life = l;
    s->tee_fd = -1;
    s->n_slots = 1 << 16;
    s->slots = ts_xcalloc(s->n_slots, sizeof(*s->slots));
    ts_buf_init(&s->waiting, 0);
    return s;
}

void ws_store_tee(struct ws_store *s, int fd)
{
    s->tee_fd = fd;
}

void ws_store_free(struct ws_store *s)
{
    ts_buf_release(&s->waiting);
    ts_free(s->points);
    ts_free(s->slots);
    ts_free(s);
}

/* The oldest points go when there are too many. */
static void spool_bound(struct ws_store *s)
{
    size_t at = 0;
    while (s->waiting.n - at > SPOOL_BYTES) {
        const char *nl = memchr(s->waiting.p + at, '\n', s->waiting.n - at);
        at = (size_t)(nl + 1 - s->waiting.p);
        s->n_waiting--;
        s->n_lost++;
    }
    if (at)
        memmove(s->waiting.p, s->waiting.p + at, s->waiting.n - at);
    s->waiting.n -= at;
}

void ws_store_progress(void *arg, struct col_out_progress *out)
{
    const struct ws_store *s = arg;
    *out = (struct col_out_progress){
        .n_taken = s->n_taken, .n_left = s->n_taken - s->n_waiting, .n_lost = s->n_lost};
}

/* Taken; taken though an error is told; refused. */
int ws_store_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct ws_store *s = arg;
    unsigned what = s->refuses ? ws_below(s->life, 3) : 2;
    (void)durable;
    if (what > 0) {
        ts_buf_slice(&s->waiting, lines);
        s->n_taken += n_points;
        s->n_waiting += n_points;
        spool_bound(s);
    }
    return what > 1 ? 0 : ts_error_set(err, TS_ENOSPC, "the disk is full");
}

static struct point *point_of(struct ws_store *s, uint64_t key)
{
    size_t i = (size_t)key & (s->n_slots - 1);
    while (s->slots[i] && s->points[s->slots[i] - 1].key != key)
        i = (i + 1) & (s->n_slots - 1);
    if (!s->slots[i]) {
        ws_check(s->n_points < s->n_slots / 2, "more points than the store has room for");
        if (s->n_points == s->cap_points) {
            s->cap_points = s->cap_points ? s->cap_points * 2 : 256;
            s->points = ts_xrealloc(s->points, s->cap_points * sizeof(*s->points));
        }
        s->points[s->n_points] = (struct point){.key = key};
        s->slots[i] = (uint32_t)++s->n_points;
    }
    return &s->points[s->slots[i] - 1];
}

/* put METRIC TIME VALUE tags */
static void line_store(struct ws_store *s, const char *line)
{
    char metric[40], tags[160];
    unsigned long long time, n;
    unsigned log = 0;
    int status = 0;
    if (s->tee_fd >= 0)
        ws_check(dprintf(s->tee_fd, "%s\n", line) > 0, "the points of a process");
    if (sscanf(line, "put %39s %llu %llu %159[^\n]", metric, &time, &n, tags) != 4)
        return;
    if (!strcmp(metric, "web.log.lines") && !strncmp(tags, "state=bad", 9))
        s->n_bad = n;
    if (strcmp(metric, "web.hits") != 0)
        return;
    const char *domain = strstr(tags, "domain=l"), *class = strstr(tags, "status=");
    ws_check(domain && class && sscanf(domain, "domain=l%u", &log) == 1 && log < WS_LOGS &&
                 sscanf(class, "status=%dxx", &status) == 1,
             line);
    char key[256];
    int len = snprintf(key, sizeof(key), "%llu %s", time, tags);
    int64_t ms = (int64_t)(time < 100000000000ull ? time * 1000 : time);
    struct point *p = point_of(s, ts_hash(key, (size_t)len));
    p->log = log;
    p->hour = (unsigned)((ms - s->life->t0_ms) / 3600000);
    p->status = (unsigned)(status == 2 ? 0 : status == 3 ? 1 : 2);
    p->n = n;
}

int ws_store_put_now(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    char *text = ts_xstrndup(lines.p, lines.n), *rest = text, *line;
    (void)n_points;
    (void)durable;
    (void)err;
    while ((line = strsep(&rest, "\n")) != NULL)
        line_store(arg, line);
    ts_free(text);
    return 0;
}

void ws_store_deliver(struct ws_store *s)
{
    if (s->mood != WELL || !s->waiting.n)
        return;
    for (char *p = s->waiting.p, *end = p + s->waiting.n, *nl; p < end; p = nl + 1) {
        nl = memchr(p, '\n', (size_t)(end - p));
        ws_check(nl != NULL, "half a line in the spool");
        *nl = '\0';
        line_store(s, p);
    }
    ts_buf_clear(&s->waiting);
    s->n_waiting = 0;
}

void ws_store_mood(struct ws_store *s, bool well)
{
    s->mood = well || ws_below(s->life, 2) ? WELL : (enum mood)ws_below(s->life, N_MOODS);
    for (size_t n = 0; s->mood != WELL && n < OTHERS_BYTES; n += 19) {
        ts_buf_str(&s->waiting, "put other 1 1 a=b\n");
        s->n_taken++;
        s->n_waiting++;
    }
    spool_bound(s);
    s->refuses = !well && ws_below(s->life, 5) == 0;
}

uint64_t ws_store_sum(const struct ws_store *s, unsigned log, unsigned hour, unsigned status)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n_points; i++) {
        const struct point *p = &s->points[i];
        sum += p->log == log && p->hour == hour && p->status == status ? p->n : 0;
    }
    return sum;
}

uint64_t ws_store_bad(const struct ws_store *s)
{
    return s->n_bad;
}
