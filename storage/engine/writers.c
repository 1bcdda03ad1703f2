/*
 * writers.c - makes the owners of a store and its writers, and frees them.
 *
 * Threads    that which opens and closes the store
 * Not here   what they do (writer.c)
 */
#include "storage/engine/absolute.h"
#include "storage/engine/engine_int.h"

int sto_writers__init(struct sto_engine *e, struct ts_error *err)
{
    e->owners = ts_xcalloc(e->n_owners, sizeof *e->owners);
    e->writers = ts_xcalloc(e->n_owners, sizeof *e->writers);
    for (unsigned i = 0; i < e->n_owners; i++) {
        struct sto_owner *o = &e->owners[i];
        struct sto_writer *p = &e->writers[i];
        o->e = p->e = e;
        o->index = p->index = i;
        o->once_clock = e->once_clock;
        p->stop.n_shards = sto_engine__n_shards(e);
        o->in = ts_queue_new(e->opts.queue_bytes);
        p->replies = e->opts.own_threads ? ts_queue_new(e->opts.queue_bytes) : o->in;
        p->open = ts_xcalloc(e->n_owners, sizeof(struct sto_batch *));
        if (e->opts.read_only)
            continue;
        TS_TRY(sto_wal_new(e->fs, e->wal_dir, e->run, i, e->gen, &o->wal, err));
        sto_wal_set_spread(o->wal, sto_engine__spread(e));
        sto_wal_set_known(o->wal, e->owner.n_known, e->owner.arg);
        sto_wal_set_segment_bytes(o->wal, e->opts.wal_segment_bytes);
    }
    return 0;
}

static void drop_messages(struct ts_queue *q)
{
    for (struct ts_msg *msg; (msg = ts_queue_pop(q));)
        if (msg->kind == STO_MSG_BATCH || msg->kind == STO_MSG_RETURN || msg->kind == STO_MSG_STOP ||
            msg->kind == STO_MSG_BARRIER_DONE || msg->kind == STO_MSG_WAKE)
            ts_free(msg); /* a message is the first member of each allocated struct */
        else if (msg->kind == STO_MSG_ABSOLUTE)
            sto_absolute__drop(msg);
}

static void free_list(struct ts_msg *first)
{
    for (struct ts_msg *msg = first, *next; msg; msg = next) {
        next = msg->next;
        ts_free(msg);
    }
}

void sto_writers__release(struct sto_engine *e)
{
    for (unsigned i = 0; e->writers && i < e->n_owners; i++) {
        struct sto_writer *p = &e->writers[i];
        if (p->replies) {
            drop_messages(p->replies);
            if (p->replies != e->owners[i].in)
                ts_queue_free(p->replies);
        }
        for (unsigned k = 0; p->open && k < e->n_owners; k++)
            ts_free(p->open[k]);
        ts_free(p->open);
        for (struct sto_batch *b = p->free_list, *next; b; b = next) {
            next = (struct sto_batch *)b->msg.next;
            ts_free(b);
        }
        free_list(e->owners[i].held);
        free_list(p->stop.aside);
        if (e->owners[i].in) {
            drop_messages(e->owners[i].in);
            ts_queue_free(e->owners[i].in);
        }
    }
    ts_free(e->writers);
    ts_free(e->owners);
    e->writers = NULL;
    e->owners = NULL;
}
