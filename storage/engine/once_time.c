/*
 * once_time.c - see once_time.h.
 */
#include "storage/engine/once_time.h"

#include <stdbool.h>

#define JUMP_MS   (10 * 60000ll) /* the wall clock was set if it differs by more; the same as in retention.c */
#define MOST_KEPT (INT64_MAX / 4000) /* seconds */

/* Steps of the wall clock up to JUMP_MS are followed. A larger difference is kept for kept_ms; that a machine was off looks like one. */
static void follow(struct sto_once_clock *c, int64_t wall_ms)
{
    int64_t ahead = wall_ms - c->steady_ms;
    bool jumped = ahead > JUMP_MS || ahead < -JUMP_MS;
    if (jumped && c->until_ms < 0)
        c->until_ms = c->ran_ms + c->kept_ms;
    if (jumped && c->ran_ms < c->until_ms)
        return;
    c->steady_ms = wall_ms;
    c->until_ms = -1;
}

void sto_once_clock_start(struct sto_once_clock *c, uint64_t kept_s, uint64_t former_s, int64_t wall_ms,
                          int64_t mono_ms)
{
    uint64_t kept = kept_s < MOST_KEPT ? kept_s : MOST_KEPT;
    *c = (struct sto_once_clock){.mono_ms = mono_ms,
                                 .steady_ms =
                                     former_s && former_s < MOST_KEPT ? (int64_t)former_s * 1000 : wall_ms,
                                 .until_ms = -1,
                                 .kept_ms = (int64_t)kept * 1000};
    follow(c, wall_ms);
}

static uint64_t seconds(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

struct sto_once_time sto_once_clock_read(struct sto_once_clock *c, int64_t wall_ms, int64_t mono_ms)
{
    int64_t ran = mono_ms > c->mono_ms ? mono_ms - c->mono_ms : 0;
    c->mono_ms = mono_ms;
    c->ran_ms += ran;
    c->steady_ms += ran;
    follow(c, wall_ms);
    bool ahead = wall_ms > c->steady_ms;
    return (struct sto_once_time){.ran_s = STO_ONCE_RAN_START + seconds(c->ran_ms),
                                  .steady_s = seconds(c->steady_ms),
                                  .earliest_s = seconds(ahead ? c->steady_ms : wall_ms),
                                  .latest_s = seconds(ahead ? wall_ms : c->steady_ms)};
}
