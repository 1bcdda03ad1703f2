/*
 * sim_clock.c - the clocks of the simulated store: they run, the wall clock is set, and retention must not trust it then.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#define JUMP_MS (10 * 60000ll)
#define HOLD_MS (7 * TS_DAY_MS)
#define LAG_MS  TS_HOUR_MS /* files go so much later than their points */

static int64_t mono_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The wall clock is set, the steady one goes on. */
static void step(struct sim *s, int64_t ms)
{
    s->now_ms += ms;
    sim_say(s, "the clock is set by %lld s", (long long)(ms / 1000));
}

/* The monotonic clock goes too, unless the wall clock was set, forward or back (not where points are added to: what is
 * added to a point that has gone would show again without it). */
void sim_clock_pass(struct sim *s)
{
    if (s->clock_steps && sim_chance(s, 50)) {
        int64_t ahead = s->clock.ahead_ms;
        step(s, ahead > 0 && sim_chance(s, 60)
                    ? -(sim_chance(s, 50) ? ahead : (int64_t)sim_rnd(s, (uint64_t)ahead + 1))
                    : (int64_t)sim_rnd(s, 40 * TS_DAY_MS));
        return;
    }
    if (!s->has_adds && sim_chance(s, 8)) {
        step(s, -(int64_t)sim_rnd(s, 5 * TS_DAY_MS));
        return;
    }
    int64_t ms = (int64_t)(sim_chance(s, 80) ? sim_rnd(s, TS_HOUR_MS) : sim_rnd(s, 5 * TS_DAY_MS));
    if (!sim_chance(s, 85)) {
        step(s, ms);
        return;
    }
    s->now_ms += ms;
    ts_clock_set_fake_mono(ts_clock_mono_ns() + ms * 1000000);
}

/* May files go by what the clock says? */
static bool is_trusted(struct sim_clock *c, int64_t wall_ms)
{
    int64_t now = mono_ms(), jump = (wall_ms - c->wall_ms) - (now - c->mono_ms);
    if (jump > JUMP_MS || jump < -JUMP_MS) {
        c->wall_ms = wall_ms;
        c->mono_ms = now;
        c->ahead_ms = jump > 0 ? c->ahead_ms + jump : c->ahead_ms - smaller(-jump, c->ahead_ms);
        int64_t until = now + smaller(jump, HOLD_MS);
        if (jump > 0 && until > c->until_mono_ms)
            c->until_mono_ms = until;
        if (jump < 0 && c->ahead_ms <= JUMP_MS)
            c->until_mono_ms = INT64_MIN;
    }
    if (now < c->until_mono_ms)
        return false;
    c->ahead_ms = 0;
    return true;
}

void sim_clock_look(struct sim *s)
{
    if (!s->opts.retention_ms)
        return;
    s->clock.known &= !s->faulty;
    bool trusted = is_trusted(&s->clock, s->now_ms);
    int64_t before = s->now_ms - s->opts.retention_ms - LAG_MS;
    if ((trusted || !s->clock.known) && before > s->horizon_ms)
        s->horizon_ms = before;
}

bool sim_clock_close(struct sim *s)
{
    if (!s->opts.retention_ms || !s->clock.known || s->faulty)
        return false;
    (void)is_trusted(&s->clock, s->now_ms);
    return true;
}

void sim_clock_open(struct sim *s, bool clean)
{
    struct sim_clock *c = &s->clock;
    if (!clean) /* the store remembers no less than this, and at most that the clock was ahead */
        *c = (struct sim_clock){.until_mono_ms = INT64_MIN};
    c->known = s->opts.retention_ms != 0;
    c->wall_ms = s->now_ms;
    c->mono_ms = mono_ms();
}
