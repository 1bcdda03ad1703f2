/*
 * sim_once.c - clients in the simulation that number their increments, lose connections and repeat what was not confirmed.
 *
 * Each client has an id and sends sequences in ascending order, each one addition to a series that nothing else is written to, so that every
 * addition shows in a sum. The model decides about each part when it arrives, as an owner has to: a sequence up to the last one of that id
 * in the shard is a repeat, and what an older stream has left under way is refused. After a crash it knows what is there, and the
 * client, which does not, goes on behind what was confirmed. So nothing is ever there twice, and nothing is missing.
 *
 * Refusals that drop additions (a full disk) are left to test_engine_once, as those of additions without ids are.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <string.h>

#define KEPT_S   (60 * 86400u) /* ids may be used for so long */
#define RENEW_S  (5 * 86400u)  /* clients make a new one after this, if all is confirmed */
#define OPEN_MAX 1000          /* as in sim_ops.c */
#define EVERY    6u            /* of so many series one is for numbered increments, */
#define WHICH    3u            /* this one */

bool sim_once_is_for(const struct sim *s, unsigned series)
{
    return s->once.on && series % EVERY == WHICH;
}

void sim_once_configure(struct sim *s)
{
    s->once.n_shards = s->opts.n_shards;
    s->once.on = (s->seed < SIM_REMOTE_SEED && (s->seed % 13 == 0 || s->seed % 13 == 7)) ||
                 (s->seed > SIM_LEVEL_SEED && s->seed % 3 == 1);
    if (!s->once.on)
        return;
    s->has_adds = true;
    s->clock_steps = false;
    s->opts.retention_ms = s->retention_ms = 0;
    s->opts.ids_kept_s = KEPT_S;
    s->opts.max_ids = 400; /* clients make new ones, and no life is so long */
    s->opts.max_client_ids = 200;
}

static unsigned shard_of(const struct sim *s, unsigned hash)
{
    return hash & (s->once.n_shards - 1);
}

/* --- what the store has to decide --- */

bool sim_once_arrives(struct sim *s, const struct sim_part *part)
{
    struct sim_client *c = &s->once.clients[part->client - 1];
    if (part->id != c->id.random)
        return false; /* of an id that is not used any more: everything of it is confirmed */
    unsigned shard = shard_of(s, part->shard);
    if (part->seq <= c->last[shard] || part->stream < c->stream_in[shard])
        return false;
    c->stream_in[shard] = part->stream;
    c->last[shard] = part->seq;
    return true;
}

/* The first sequence that is not confirmed to be on disk. */
static uint64_t first_open(struct sim *s, unsigned client)
{
    const struct sim_client *c = &s->once.clients[client - 1];
    uint64_t first = c->next;
    for (uint64_t seq = c->ok + 1; seq < first; seq++) {
        bool there = seq <= c->kept[shard_of(s, c->parts[seq % SIM_PARTS].shard)];
        for (unsigned o = 0; o < SIM_WRITERS && !there; o++)
            for (size_t i = 0; i < s->owners[o].n_disk && i < s->owners[o].arrived.n && !there; i++) {
                const struct sim_op *op = &s->owners[o].arrived.v[i];
                there = op->part.client == client && op->part.seq == seq && op->part.id == c->id.random;
            }
        if (!there)
            first = seq;
    }
    return first;
}

void sim_once_survived(struct sim *s, const struct sim_part *part)
{
    struct sim_client *c = &s->once.clients[part->client - 1];
    unsigned shard = shard_of(s, part->shard);
    if (part->id == c->id.random && part->seq > c->kept[shard])
        c->kept[shard] = part->seq;
}

/* The same array for another number of shards. Shards become one only if all have the same; what is kept of a stream is not asked for then. */
static void divide(uint64_t *by_shard, uint32_t was, uint32_t now)
{
    uint64_t former[SIM_SHARDS];
    memcpy(former, by_shard, sizeof former);
    memset(by_shard, 0, sizeof former);
    for (uint32_t i = 0; i < (was > now ? was : now); i++) {
        uint64_t *to = &by_shard[i & (now - 1)], v = former[i & (was - 1)];
        *to = v > *to ? v : *to;
    }
}

void sim_once_shards(struct sim *s)
{
    uint32_t was = s->once.n_shards, now = sto_shards(s->st).n_now;
    for (unsigned k = 0; k < SIM_CLIENTS; k++) {
        divide(s->once.clients[k].kept, was, now);
        divide(s->once.clients[k].last, was, now);
        divide(s->once.clients[k].stream_in, was, now);
    }
    s->once.n_shards = now;
}

void sim_once_opened(struct sim *s)
{
    sim_once_shards(s);
    for (unsigned k = 0; k < SIM_CLIENTS; k++) {
        struct sim_client *c = &s->once.clients[k];
        c->stream.number = 0;
        c->next = c->ok + 1;
        for (unsigned i = 0; i < SIM_SHARDS; i++) {
            c->last[i] = c->kept[i];
            c->stream_in[i] = 0;
        }
    }
    memset(s->once.open, 0, sizeof s->once.open);
}

static void on_refused(void *arg, const struct sto_refused *refused)
{
    struct sim *s = arg;
    for (unsigned k = 0; k < SIM_CLIENTS; k++)
        if (s->once.clients[k].stream.number == refused->stream->number && !s->broken && !s->faulty)
            sim_fail(s, "client %u: sequence %llu is refused: %s", k, (unsigned long long)refused->seq,
                     refused->why);
}

void sim_once_listen(struct sim *s)
{
    for (unsigned i = 0; s->once.on && i < s->opts.n_writers; i++)
        sto_writer_on_refused(sto_writer(s->st, i), on_refused, s);
}

/* --- clients --- */

/* A connection is lost, or begins; what the last one has sent may still be under way. */
static void connect(struct sim *s, unsigned client)
{
    struct sim_client *c = &s->once.clients[client - 1];
    uint64_t now_s = (uint64_t)s->now_ms / 1000;
    c->ok = first_open(s, client) - 1;
    if (!c->id.made_s || (c->ok + 1 == c->next && now_s > c->id.made_s + RENEW_S)) {
        *c = (struct sim_client){.id = {now_s, sim_rnd(s, UINT64_MAX)}, .next = 1};
        sim_say(s, "client %u has a new id", client);
    }
    c->next = c->ok + 1;
    c->writer = (unsigned)sim_rnd(s, s->opts.n_writers);
    c->stream = (struct sto_stream){
        .id = c->id, .number = sto_writer_stream(sto_writer(s->st, c->writer)), .client = client, .asker = 1};
    sim_say(s, "client %u connects to writer %u, sequence %llu comes next", client, c->writer,
            (unsigned long long)c->next);
}

/* Would the batch have to be sent before the part has room in it? */
static bool is_full(const struct sim *s, const struct sim_client *c, unsigned owner)
{
    const struct sim_once_open *open = &s->once.open[c->writer][owner];
    size_t n = s->open[c->writer][owner].n;
    return n >= OPEN_MAX || (n && open->stream != c->stream.number && open->n == STO_BATCH_STREAMS);
}

static void note_stream(struct sim *s, const struct sim_client *c, unsigned owner)
{
    struct sim_once_open *open = &s->once.open[c->writer][owner];
    if (!s->open[c->writer][owner].n)
        open->n = 0;
    open->n += !open->n || open->stream != c->stream.number;
    open->stream = c->stream.number;
}

static void send_next(struct sim *s, unsigned client)
{
    struct sim_client *c = &s->once.clients[client - 1];
    struct sim_sent *sent = &c->parts[c->next % SIM_PARTS];
    if (c->next - c->ok >= SIM_PARTS)
        return;
    if (sent->seq != c->next) {
        unsigned n = s->n_series / EVERY + (s->n_series % EVERY > WHICH);
        if (!n)
            return;
        *sent = (struct sim_sent){.seq = c->next,
                                  .series = (unsigned)sim_rnd(s, n) * EVERY + WHICH,
                                  .ts_ms = (s->now_ms / 3600000 - (int64_t)sim_rnd(s, 3)) * 3600000,
                                  .value = 1 + (int64_t)sim_rnd(s, 1000)};
    }
    const struct sto_series *h = sim_resolve(s, sent->series, true);
    struct sto_writer *p = sto_writer(s->st, c->writer);
    unsigned owner = h ? sto_writer_slot(p, h) : 0;
    if (!h || is_full(s, c, owner))
        return;
    struct sto_batch *b = sto_writer_batch_part(p, h, &c->stream, 1);
    if (!b) { /* a fault */
        c->stream.number = 0;
        return;
    }
    if (!sto_batch_part(b, &c->stream, c->next, 1))
        sim_fail(s, "client %u: no room in a batch", client);
    struct sto_point point = {.series = h,
                              .ts_ms = sent->ts_ms,
                              .m = sent->value,
                              .flags = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false)};
    b->points[b->n++] = point;
    point.series = &s->handles[sent->series];
    sent->shard = h->shard;
    note_stream(s, c, owner);
    sim_say(s, "client %u sends sequence %llu: series %u value %lld", client, (unsigned long long)c->next,
            sent->series, (long long)sent->value);
    sim_send_part(s, c->writer, owner, &point,
                  &(struct sim_part){.client = client,
                                     .shard = h->shard,
                                     .id = c->id.random,
                                     .seq = c->next,
                                     .stream = c->stream.number});
    c->next++;
    s->n_ops++;
}

void sim_once_step(struct sim *s)
{
    unsigned client = 1 + (unsigned)sim_rnd(s, SIM_CLIENTS);
    if (!s->once.clients[client - 1].stream.number || sim_chance(s, 6))
        connect(s, client);
    for (uint64_t n = 1 + sim_rnd(s, 6); n > 0 && s->once.clients[client - 1].stream.number; n--)
        send_next(s, client);
}
