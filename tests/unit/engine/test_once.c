/*
 * test_once.c - repeated additions are recognised: single rules, and clients that send, fail, crash and repeat at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "storage/engine/once_all.h"
#include "tests/unit/t_random.h"

#define NOW  1000000u
#define KEPT 1000u

static const struct sto_once_id A = {NOW, 1}, B = {NOW, 2}, C = {NOW - 10, 1};

static struct sto_once *make_for(size_t max_ids, size_t max_client_ids, struct ts_budget *budget)
{
    struct sto_once *t;
    struct sto_once_limits limits = {
        .max_ids = max_ids, .max_client_ids = max_client_ids, .kept_s = KEPT, .budget = budget};
    assert_int_equal(sto_once_new(&limits, &t), 0);
    return t;
}

static struct sto_once *make(size_t max_ids, struct ts_budget *budget)
{
    return make_for(max_ids, 0, budget);
}

/* The moment at which a store that opened at NOW has run for some seconds, and its clock has not jumped. */
static struct sto_once_time moment(uint64_t ran_s)
{
    uint64_t s = NOW + ran_s;
    return (struct sto_once_time){
        .ran_s = STO_ONCE_RAN_START + ran_s, .steady_s = s, .earliest_s = s, .latest_s = s};
}

static enum sto_once_answer look_of(struct sto_once *t, uint64_t client, const struct sto_once_id *id,
                                    uint64_t seq, uint64_t stream, const struct sto_once_time *now)
{
    struct sto_stream s = {.id = *id, .number = stream, .client = client};
    return sto_once_look(t, &s, seq, now);
}

/* After so many seconds. */
static enum sto_once_answer look_at(struct sto_once *t, const struct sto_once_id *id, uint64_t seq,
                                    uint64_t stream, uint64_t ran_s)
{
    struct sto_once_time now = moment(ran_s);
    return look_of(t, 0, id, seq, stream, &now);
}

static enum sto_once_answer look(struct sto_once *t, const struct sto_once_id *id, uint64_t seq,
                                 uint64_t stream)
{
    return look_at(t, id, seq, stream, 0);
}

/* The table after a crash that comes then: what was encoded, in a new one. */
static struct sto_once *reload_at(struct sto_once *t, uint64_t ran_s)
{
    struct sto_once *copy = make(100, NULL);
    struct sto_once_time now = moment(ran_s);
    struct ts_buf buf;
    ts_buf_init(&buf, 0);
    assert_int_equal(sto_once_encode(t, &now, &buf), 0);
    assert_int_equal(sto_once_decode(copy, ts_buf_get(&buf), NULL), 0);
    assert_int_equal(sto_once_former_s(copy), NOW + ran_s);
    ts_buf_release(&buf);
    sto_once_free(t);
    return copy;
}

static struct sto_once *reload(struct sto_once *t)
{
    return reload_at(t, 0);
}

static void test_once__a_repeat_is_recognised_and_gaps_are_not_errors(void **state)
{
    (void)state;
    struct sto_once *t = make(100, NULL);
    assert_int_equal(look(t, &A, 1, 1), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &A, 1), 0);
    assert_int_equal(look(t, &A, 7, 1), STO_ONCE_NEW); /* 2 to 6 concern other owners */
    assert_int_equal(sto_once_added(t, &A, 7), 0);
    assert_int_equal(look(t, &B, 1, 1), STO_ONCE_NEW);
    assert_int_equal(look(t, &C, 1, 1), STO_ONCE_NEW);
    t = reload(t);
    assert_int_equal(sto_once_n(t), 1); /* ids that have added nothing are not kept */
    assert_int_equal(look(t, &A, 1, 1), STO_ONCE_REPEAT);
    assert_int_equal(look(t, &A, 7, 1), STO_ONCE_REPEAT);
    assert_int_equal(look(t, &A, 8, 1), STO_ONCE_NEW);
    assert_int_equal(look(t, &B, 1, 1), STO_ONCE_NEW);
    sto_once_free(t);
}

static void test_once__after_a_refusal_later_sequences_wait(void **state)
{
    (void)state;
    struct sto_once *t = make(100, NULL);
    assert_int_equal(look(t, &A, 5, 1), STO_ONCE_NEW);
    sto_once_refused(t, &A, 5);
    assert_int_equal(look(t, &A, 6, 1), STO_ONCE_WAIT);
    assert_int_equal(look(t, &B, 6, 1), STO_ONCE_NEW);
    assert_int_equal(look(t, &A, 4, 2), STO_ONCE_NEW);
    sto_once_refused(t, &A, 4);
    assert_int_equal(look(t, &A, 5, 2), STO_ONCE_WAIT);
    assert_int_equal(look(t, &A, 4, 2), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &A, 4), 0);
    assert_int_equal(look(t, &A, 6, 1), STO_ONCE_STALE); /* it would pass 5 */
    assert_int_equal(look(t, &A, 4, 1), STO_ONCE_REPEAT);
    assert_int_equal(look(t, &A, 5, 2), STO_ONCE_NEW);
    sto_once_refused(t, &A, 5);
    sto_once_refused(t, &A, 7); /* of the same batch: the lowest one counts */
    assert_int_equal(look(t, &A, 7, 2), STO_ONCE_WAIT);
    assert_int_equal(look(t, &A, 6, 2), STO_ONCE_WAIT);
    assert_int_equal(look(t, &A, 5, 2), STO_ONCE_NEW);
    sto_once_free(t);
}

/* An id may be used for KEPT seconds after it was made; repeats are recognised until the table forgets it. */
static void test_once__old_ids_add_nothing_and_are_forgotten_later(void **state)
{
    (void)state;
    const uint64_t end = KEPT + STO_ONCE_LONGER_S; /* of what is seen first at 0 */
    struct sto_once *t = make(2, NULL);
    assert_int_equal(look(t, &C, 1, 1), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &C, 1), 0);
    assert_int_equal(look_at(t, &C, 2, 1, KEPT - 11), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &C, 2), 0);
    assert_int_equal(look_at(t, &C, 3, 1, KEPT - 10), STO_ONCE_FORGOTTEN);
    assert_int_equal(look_at(t, &C, 2, 2, KEPT - 10), STO_ONCE_REPEAT);
    assert_int_equal(look_at(t, &C, 4, 2, 0), STO_ONCE_WAIT); /* the clock goes back: 3 must come first */
    assert_int_equal(look_at(t, &C, 3, 2, 0), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &C, 3), 0);
    t = reload_at(t, end - 1);
    assert_int_equal(sto_once_n(t), 1);
    assert_int_equal(look(t, &C, 3, 3), STO_ONCE_REPEAT);
    assert_int_equal(look_at(t, &C, 3, 3, 1), STO_ONCE_FORGOTTEN); /* it goes on being old where it was */
    assert_int_equal(look(t, &A, 1, 3), STO_ONCE_NEW);
    t = reload_at(t, 1);
    assert_int_equal(sto_once_n(t), 0);
    assert_true(sto_once_is_forgotten(t, C.made_s) && !sto_once_is_forgotten(t, C.made_s + 1));
    assert_int_equal(look(t, &C, 4, 4), STO_ONCE_FORGOTTEN);
    assert_int_equal(look(t, &A, 1, 4), STO_ONCE_NEW);
    sto_once_free(t);
}

static void test_once__what_is_forgotten_makes_room(void **state)
{
    (void)state;
    const uint64_t end = KEPT + STO_ONCE_LONGER_S;
    struct sto_once *t = make(2, NULL);
    struct sto_once_id late = {NOW + end, 1};
    assert_int_equal(look(t, &A, 1, 1), STO_ONCE_NEW);
    assert_int_equal(look(t, &B, 1, 1), STO_ONCE_NEW);
    assert_int_equal(look_at(t, &late, 1, 1, end - 1), STO_ONCE_FULL);
    assert_int_equal(look_at(t, &late, 2, 1, end),
                     STO_ONCE_FULL); /* room, but 1 was refused in this stream */
    assert_int_equal(look_at(t, &late, 1, 2, end), STO_ONCE_NEW);
    assert_int_equal(sto_once_n(t), 1);
    assert_int_equal(look(t, &A, 1, 3), STO_ONCE_FORGOTTEN); /* whatever the clock shows */
    struct sto_once_id ahead = {NOW + STO_ONCE_AHEAD_S + 1, 1};
    assert_int_equal(look(t, &ahead, 1, 3), STO_ONCE_AHEAD);
    assert_int_equal(look_at(t, &ahead, 2, 3, 1), STO_ONCE_FULL);
    assert_int_equal(look_at(t, &ahead, 1, 4, 1), STO_ONCE_NEW);
    sto_once_free(t);
}

/* Where shards become one, a stream of which one of them has refused the first sequence of an id does not go on with a later one. */
static void test_once__a_refused_stream_stays_refused_when_tables_are_joined(void **state)
{
    (void)state;
    struct sto_once *full = make(1, NULL), *t = make(2, NULL);
    assert_int_equal(look(full, &A, 1, 1), STO_ONCE_NEW);
    assert_int_equal(look(full, &B, 1, 5), STO_ONCE_FULL);
    assert_int_equal(sto_once_join(t, full), 0);
    assert_int_equal(look(t, &B, 2, 5), STO_ONCE_FULL);
    assert_int_equal(look(t, &B, 1, 6), STO_ONCE_NEW);
    sto_once_free(full);
    sto_once_free(t);
}

/* Ids of days to come arrive while the clock is ahead. They are forgotten like all others, and those that clients make until
 * then are not. */
static void test_once__a_clock_that_was_ahead_forgets_nothing_to_come(void **state)
{
    (void)state;
    const uint64_t end = KEPT + STO_ONCE_LONGER_S, year = 365 * 86400;
    struct sto_once *t = make(100, NULL);
    struct sto_once_time wrong = moment(0);
    struct sto_once_id future = {NOW + year, 1}, present = {NOW + end, 1};
    wrong.latest_s += year;
    assert_int_equal(look(t, &A, 1, 1), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &A, 1), 0);
    assert_int_equal(look_of(t, 0, &future, 1, 2, &wrong), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t, &future, 1), 0);
    assert_int_equal(look_of(t, 0, &B, 1, 3, &wrong), STO_ONCE_NEW); /* the clock of this client is right */
    t = reload_at(t, end);
    assert_int_equal(sto_once_n(t), 0);
    assert_int_equal(look_at(t, &A, 2, 4, 0), STO_ONCE_FORGOTTEN);
    assert_int_equal(look_of(t, 0, &future, 2, 4, &wrong), STO_ONCE_FORGOTTEN);
    assert_int_equal(look_at(t, &present, 1, 5, end), STO_ONCE_NEW);
    sto_once_free(t);
}

static void test_once__a_clock_that_jumped_refuses_no_id(void **state)
{
    (void)state;
    const uint64_t ages = 10 * KEPT;
    struct sto_once *t = make(100, NULL);
    struct sto_once_time ahead = moment(5), behind = moment(5);
    ahead.latest_s += ages;
    behind.earliest_s -= ages;
    struct sto_once_id by_it = {ahead.latest_s, 1}, before_it = {behind.earliest_s, 1};
    assert_int_equal(look(t, &A, 1, 1), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 0, &A, 2, 1, &ahead), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 0, &B, 1, 2, &ahead), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 0, &by_it, 1, 3, &ahead), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 0, &A, 3, 1, &behind), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 0, &C, 1, 4, &behind), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 0, &before_it, 1, 5, &behind), STO_ONCE_NEW);
    sto_once_free(t);
}

/* One address has its share of the ids; others, and those without one, are not concerned. */
static void test_once__an_address_takes_no_room_of_others(void **state)
{
    (void)state;
    struct sto_once *t = make_for(10, 3, NULL);
    struct sto_once_time now = moment(0), later = moment(KEPT + STO_ONCE_LONGER_S);
    struct sto_once_id id = {NOW, 0};
    for (id.random = 0; id.random < 3; id.random++)
        assert_int_equal(look_of(t, 7, &id, 1, 10, &now), STO_ONCE_NEW);
    for (; id.random < 100; id.random++)
        assert_int_equal(look_of(t, 7, &id, 1, 11, &now), STO_ONCE_SHARE);
    assert_non_null(strstr(sto_once_why(STO_ONCE_SHARE), "counter_ids_max_per_address"));
    id.random = 0;
    assert_int_equal(look_of(t, 7, &id, 2, 11, &now), STO_ONCE_NEW); /* known ids go on */
    for (id.random = 100; id.random < 103; id.random++)
        assert_int_equal(look_of(t, 8, &id, 1, 1, &now), STO_ONCE_NEW); /* older streams of others too */
    assert_int_equal(look_of(t, 8, &id, 1, 1, &now), STO_ONCE_SHARE);
    for (id.random = 200; id.random < 204; id.random++)
        assert_int_equal(look_of(t, 0, &id, 1, 1, &now), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 9, &id, 1, 20, &now), STO_ONCE_FULL);
    id = (struct sto_once_id){later.latest_s, 1};
    for (; id.random < 4; id.random++)
        assert_int_equal(look_of(t, 7, &id, 1, 21, &later), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 7, &id, 1, 21, &later), STO_ONCE_SHARE);
    assert_int_equal(sto_once_n(t), 3);
    sto_once_free(t);
}

/* The manifest has the address of an id; a log has not, and the id counts as soon as its client is back. */
static void test_once__addresses_are_known_after_a_start(void **state)
{
    (void)state;
    struct sto_once *t = make_for(100, 3, NULL), *copy = make_for(100, 3, NULL);
    struct sto_once_time now = moment(0);
    struct ts_buf buf;
    ts_buf_init(&buf, 0);
    struct sto_once_id id = {NOW, 0};
    for (; id.random < 2; id.random++) {
        assert_int_equal(look_of(t, 7, &id, 1, 1, &now), STO_ONCE_NEW);
        assert_int_equal(sto_once_added(t, &id, 1), 0);
    }
    assert_int_equal(sto_once_encode(t, &now, &buf), 0);
    assert_int_equal(sto_once_decode(copy, ts_buf_get(&buf), NULL), 0);
    assert_int_equal(sto_once_added(copy, &id, 1), 0);
    id.random = 10;
    assert_int_equal(look_of(copy, 7, &id, 1, 1, &now), STO_ONCE_NEW); /* the third */
    id.random = 2;
    assert_int_equal(look_of(copy, 7, &id, 2, 1, &now), STO_ONCE_NEW); /* known, and the fourth */
    id.random = 11;
    assert_int_equal(look_of(copy, 7, &id, 1, 1, &now), STO_ONCE_SHARE);
    ts_buf_release(&buf);
    sto_once_free(t);
    sto_once_free(copy);
}

static void test_once__the_account_limits_ids_but_not_replay(void **state)
{
    (void)state;
    struct ts_budget budget;
    ts_budget_init(&budget, "ids", "key", NULL, 4096);
    struct sto_once *t = make(1000000, &budget);
    struct sto_once_id id = {NOW, 0};
    while (look(t, &id, 1, 1) == STO_ONCE_NEW) {
        assert_int_equal(sto_once_added(t, &id, 1), 0);
        id.random++;
    }
    assert_in_range(id.random, 10, 100);
    assert_int_equal(look(t, &id, 1, 2), STO_ONCE_FULL);
    for (; id.random < 1000; id.random++)
        assert_int_equal(sto_once_added(t, &id, 1), 0);
    for (id.random = 0; id.random < 1000; id.random++)
        assert_int_equal(look(t, &id, 1, 1), STO_ONCE_REPEAT);
    sto_once_forget_all(t);
    assert_int_equal(sto_once_n(t), 0);
    for (id.random = 0; id.random < 1000; id.random++)
        assert_int_equal(look(t, &id, 1, 1), STO_ONCE_FORGOTTEN);
    sto_once_free(t);
    assert_int_equal(budget.used_bytes, 0);
}

/* What is forgotten at once, since there is no memory to write it down, takes no room of its addresses. */
static void test_once__addresses_have_room_after_all_is_forgotten(void **state)
{
    (void)state;
    struct sto_once *t = make_for(10, 3, NULL);
    struct sto_once_time now = moment(0);
    struct sto_once_id id = {NOW - 5, 0};
    for (; id.random < 3; id.random++)
        assert_int_equal(look_of(t, 7, &id, 1, 1, &now), STO_ONCE_NEW);
    sto_once_forget_all(t);
    id = (struct sto_once_id){NOW, 0};
    for (; id.random < 3; id.random++)
        assert_int_equal(look_of(t, 7, &id, 1, 2, &now), STO_ONCE_NEW);
    assert_int_equal(look_of(t, 7, &id, 1, 2, &now), STO_ONCE_SHARE);
    sto_once_free(t);
}

/* Tables of two shards become one: what only one of them has forgotten is not new in it, whatever the clock shows. */
static void test_once__shards_that_join_forget_what_each_has_forgotten(void **state)
{
    (void)state;
    const uint64_t end = KEPT + STO_ONCE_LONGER_S;
    struct sto_once *t[2] = {make(100, NULL), make(100, NULL)};
    const struct sto_once_id early = {NOW - 500, 3};
    assert_int_equal(look(t[1], &early, 1, 1),
                     STO_ONCE_NEW); /* a part for series of the second shard alone */
    assert_int_equal(sto_once_added(t[1], &early, 1), 0);
    assert_int_equal(look(t[1], &C, 1, 1), STO_ONCE_NEW);
    assert_int_equal(sto_once_added(t[1], &C, 1), 0);
    const struct sto_once_limits limits = {.max_ids = 100, .kept_s = KEPT};
    struct sto_once **joined = NULL;
    assert_int_equal(sto_once_all_change(t, 2, 1, &limits, &joined),
                     TS_EBUSY); /* a repeat could not be told apart */
    assert_null(joined);
    t[1] = reload_at(t[1], end);
    assert_true(sto_once_is_forgotten(t[1], early.made_s) && sto_once_is_forgotten(t[1], C.made_s));
    assert_int_equal(sto_once_all_change(t, 2, 1, &limits, &joined), 0);
    assert_int_equal(look(joined[0], &early, 1, 2), STO_ONCE_FORGOTTEN);
    assert_int_equal(look(joined[0], &C, 1, 2), STO_ONCE_FORGOTTEN);
    assert_int_equal(look(joined[0], &A, 1, 2), STO_ONCE_NEW);
    sto_once_all_free(joined, 1);
    sto_once_free(t[0]);
    sto_once_free(t[1]);
}

/* Tables of another number of shards know streams and refusals, as long as the store is open. */
static void test_once__a_change_of_shards_ends_no_stream(void **state)
{
    (void)state;
    struct sto_once *t[2] = {make(100, NULL), make(100, NULL)};
    const struct sto_once_limits limits = {.max_ids = 100, .kept_s = KEPT};
    struct sto_once **made = NULL, **fewer = NULL;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(look(t[i], &A, 1, 5 + i), STO_ONCE_NEW);
        assert_int_equal(sto_once_added(t[i], &A, 1), 0);
    }
    assert_int_equal(look(t[1], &C, 1, 9), STO_ONCE_NEW);
    assert_false(sto_once_all_wait(t, 2));
    sto_once_refused(t[1], &C, 1);
    assert_true(sto_once_all_wait(t, 2));
    assert_int_equal(sto_once_all_change(t, 2, 4, &limits, &made), 0);
    assert_int_equal(look(made[2], &A, 2, 4), STO_ONCE_STALE); /* as in shard 0 */
    assert_int_equal(look(made[2], &A, 1, 5), STO_ONCE_REPEAT);
    assert_int_equal(look(made[2], &A, 2, 5), STO_ONCE_NEW);
    assert_int_equal(look(made[3], &A, 2, 5), STO_ONCE_STALE); /* as in shard 1 */
    assert_int_equal(look(made[3], &C, 2, 9), STO_ONCE_WAIT);
    assert_int_equal(sto_once_all_change(t, 2, 1, &limits, &fewer), 0);
    assert_int_equal(look(fewer[0], &A, 2, 5), STO_ONCE_STALE); /* the newer stream of both */
    assert_int_equal(look(fewer[0], &A, 1, 6), STO_ONCE_REPEAT);
    assert_int_equal(look(fewer[0], &C, 1, 8), STO_ONCE_STALE);
    sto_once_all_free(made, 4);
    sto_once_all_free(fewer, 1);
    sto_once_free(t[0]);
    sto_once_free(t[1]);
}

/* Tables of another number of shards count in the account of the ids as those that they are made of. */
static void test_once__a_change_of_shards_is_counted(void **state)
{
    (void)state;
    struct ts_budget budget;
    ts_budget_init(&budget, "ids", "key", NULL, 1u << 20);
    struct sto_once *t[2] = {make(100, &budget), make(100, &budget)};
    const struct sto_once_limits limits = {.max_ids = 100, .kept_s = KEPT, .budget = &budget};
    struct sto_once **more = NULL, **fewer = NULL;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(look(t[i], &A, 1, 1), STO_ONCE_NEW);
        assert_int_equal(sto_once_added(t[i], &A, 1), 0);
    }
    uint64_t two = budget.used_bytes;
    assert_int_equal(sto_once_all_change(t, 2, 4, &limits, &more), 0);
    assert_int_equal(budget.used_bytes, 3 * two);
    assert_int_equal(sto_once_all_change(t, 2, 1, &limits, &fewer), 0);
    assert_int_equal(budget.used_bytes, 3 * two + two / 2);
    sto_once_all_free(more, 4);
    sto_once_all_free(fewer, 1);
    assert_int_equal(budget.used_bytes, two);
    sto_once_free(t[0]);
    sto_once_free(t[1]);
    assert_int_equal(budget.used_bytes, 0);
}

static void test_once__damaged_bytes_are_refused(void **state)
{
    (void)state;
    /* the time, ranges that are forgotten, ids: second, random bits, sequence, age, address */
    static const struct ts_slice bad[] = {
        {NULL, 0},
        TS_SLICE_LIT("\x05"),
        TS_SLICE_LIT("\x05\x00"),
        TS_SLICE_LIT("\x05\x00\x01\x06\x01\x00\x01\x01"),                         /* no sequence */
        TS_SLICE_LIT("\x05\x00\x01\x00\x01\x01\x01\x01"),                         /* made at no time */
        TS_SLICE_LIT("\x05\x00\x02\x06\x01\x01\x01\x01"),                         /* one is missing */
        TS_SLICE_LIT("\x05\x00\x02\x06\x01\x01\x01\x01\x06\x01\x02\x01\x01"),     /* twice */
        TS_SLICE_LIT("\x05\x00\x01\x06\x01\x01\x01\x01\x00"),                     /* too long */
        TS_SLICE_LIT("\x05\x00\x01\x06\x01\x01\xff\xff\xff\xff\xff\xff\x01\x01"), /* too old */
        TS_SLICE_LIT("\x05\x01\x00\x01\x00"),                                     /* begins at no time */
        TS_SLICE_LIT("\x05\x02\x01\x01\x00\x01\x00"),                             /* ranges that touch */
        TS_SLICE_LIT("\x05\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00"),
        TS_SLICE_LIT("\x05\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00")}; /* beyond all time */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sto_once *t = make(10, NULL);
        struct ts_error err = {0};
        assert_int_equal(sto_once_decode(t, bad[i], &err), TS_ECORRUPT);
        assert_non_null(strstr(err.text, "ids of clients"));
        sto_once_free(t);
    }
}

/* --- one client, several owners, crashes --- */
#define OWNERS  3
#define SEQS    60
#define STREAMS 400

/* An owner: what its files have, what its log has, and its table. */
struct owner {
    struct sto_once *table;
    struct ts_buf frozen;       /* the table as encoded at the last flush */
    unsigned n_files[SEQS + 1]; /* how often each sequence was added, in files */
    uint64_t log[SEQS * 4];     /* sequences of the records after the flush */
    size_t n_log, n_synced;     /* records; those that survive a power cut */
};
/* A stream: its parts arrive in order at each owner. */
struct stream {
    uint64_t next[OWNERS], end; /* next sequence for each owner; where the client stopped sending */
};
static struct owner owners[OWNERS];
static struct stream streams[STREAMS];

static bool concerns(uint64_t seq, unsigned o)
{
    return seq % 7 % OWNERS == o || seq % 4 == o;
}

static bool has(const struct owner *o, uint64_t seq)
{
    unsigned n = o->n_files[seq];
    for (size_t i = 0; i < o->n_log; i++)
        n += o->log[i] == seq;
    assert_true(n <= 1);
    return n;
}

static void flush(struct owner *o)
{
    ts_buf_clear(&o->frozen);
    struct sto_once_time now = moment(0);
    assert_int_equal(sto_once_encode(o->table, &now, &o->frozen), 0);
    for (size_t i = 0; i < o->n_log; i++)
        o->n_files[o->log[i]]++;
    o->n_log = o->n_synced = 0;
}

static void crash(struct owner *o, uint64_t *x)
{
    o->n_log = o->n_synced + t_random(x) % (o->n_log - o->n_synced + 1);
    o->n_synced = o->n_log;
    sto_once_free(o->table);
    o->table = make(10, NULL);
    if (o->frozen.n)
        assert_int_equal(sto_once_decode(o->table, ts_buf_get(&o->frozen), NULL), 0);
    for (size_t i = 0; i < o->n_log; i++)
        assert_int_equal(sto_once_added(o->table, &A, o->log[i]), 0);
}

/* The next part of a stream arrives at an owner. */
static void arrive(unsigned s, unsigned k, uint64_t *x)
{
    struct owner *o = &owners[k];
    uint64_t seq = streams[s].next[k];
    if (seq >= streams[s].end)
        return;
    streams[s].next[k]++;
    if (!concerns(seq, k) || look(o->table, &A, seq, s + 1) != STO_ONCE_NEW)
        return;
    if (t_random(x) % 8 == 0) {
        sto_once_refused(o->table, &A, seq);
        return;
    }
    o->log[o->n_log++] = seq;
    assert_int_equal(sto_once_added(o->table, &A, seq), 0);
}

/* First sequence that has a part which is missing. The client repeats from there on or from before, as far as it has no answers. */
static uint64_t first_missing(void)
{
    for (uint64_t seq = 1; seq <= SEQS; seq++)
        for (unsigned k = 0; k < OWNERS; k++)
            if (concerns(seq, k) && !has(&owners[k], seq))
                return seq;
    return SEQS + 1;
}

static void run(uint64_t x)
{
    unsigned n = 0, oldest = 0; /* streams; the first one that a crash has not ended */
    memset(owners, 0, sizeof owners);
    for (unsigned k = 0; k < OWNERS; k++) {
        owners[k].table = make(10, NULL);
        ts_buf_init(&owners[k].frozen, 0);
    }
    while (first_missing() <= SEQS && n < STREAMS) {
        uint64_t missing = first_missing(), back_by = t_random(&x) % 4;
        uint64_t from = missing > back_by ? missing - back_by : 1;
        streams[n].end = missing + 1 + t_random(&x) % 12;
        streams[n].end = streams[n].end > SEQS + 1 ? SEQS + 1 : streams[n].end;
        for (unsigned k = 0; k < OWNERS; k++)
            streams[n].next[k] = from;
        n++;
        for (unsigned i = (unsigned)(t_random(&x) % 40); i; i--) {
            unsigned back = (unsigned)(t_random(&x) % 3), s = n - 1 >= oldest + back ? n - 1 - back : n - 1;
            arrive(s, (unsigned)(t_random(&x) % OWNERS), &x);
        }
        struct owner *o = &owners[t_random(&x) % OWNERS];
        if (t_random(&x) % 4 == 0)
            flush(o);
        if (t_random(&x) % 4 == 0)
            o->n_synced = o->n_log;
        if (t_random(&x) % 8 == 0) {
            for (unsigned k = 0; k < OWNERS; k++)
                crash(&owners[k], &x);
            oldest = n;
        }
    }
    assert_int_equal(first_missing(), SEQS + 1);
    for (unsigned k = 0; k < OWNERS; k++) {
        sto_once_free(owners[k].table);
        ts_buf_release(&owners[k].frozen);
    }
}

static void test_once__sums_are_exact_whatever_fails(void **state)
{
    (void)state;
    uint64_t x = 20261124;
    for (int i = 0; i < 2000; i++)
        run(t_random(&x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once__a_repeat_is_recognised_and_gaps_are_not_errors),
        cmocka_unit_test(test_once__after_a_refusal_later_sequences_wait),
        cmocka_unit_test(test_once__old_ids_add_nothing_and_are_forgotten_later),
        cmocka_unit_test(test_once__what_is_forgotten_makes_room),
        cmocka_unit_test(test_once__a_refused_stream_stays_refused_when_tables_are_joined),
        cmocka_unit_test(test_once__a_clock_that_was_ahead_forgets_nothing_to_come),
        cmocka_unit_test(test_once__a_clock_that_jumped_refuses_no_id),
        cmocka_unit_test(test_once__an_address_takes_no_room_of_others),
        cmocka_unit_test(test_once__addresses_are_known_after_a_start),
        cmocka_unit_test(test_once__the_account_limits_ids_but_not_replay),
        cmocka_unit_test(test_once__addresses_have_room_after_all_is_forgotten),
        cmocka_unit_test(test_once__shards_that_join_forget_what_each_has_forgotten),
        cmocka_unit_test(test_once__a_change_of_shards_ends_no_stream),
        cmocka_unit_test(test_once__a_change_of_shards_is_counted),
        cmocka_unit_test(test_once__damaged_bytes_are_refused),
        cmocka_unit_test(test_once__sums_are_exact_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
