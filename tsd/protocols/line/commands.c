/*
 * commands.c - the commands of the line protocol besides put.
 *
 * Threads    see line.h
 * Source     docs/OPENTSDB.md, section 1.3
 */
#include "tsd/protocols/line/line.h"
#include "tsd/daemon/version.h"

#include <strings.h>

static enum tsd_line_end cmd_version(struct tsd_line *l, struct ts_slice rest)
{
    (void)rest;
    if (tsd_line_may_answer(l))
        tsd_version_text(l->in->rules->compat, l->out);
    return TSD_LINE_MORE;
}

static enum tsd_line_end cmd_stats(struct tsd_line *l, struct ts_slice rest)
{
    (void)rest;
    if (l->ops && l->ops->stats && tsd_line_may_answer(l))
        l->ops->stats(l, l->out);
    return TSD_LINE_MORE;
}

static enum tsd_line_end cmd_help(struct tsd_line *l, struct ts_slice rest)
{
    (void)rest;
    bool stores = tsd_line_stores(l);
    if (!tsd_line_may_answer(l))
        return TSD_LINE_MORE;
    if (l->in->rules->compat) { /* its order, and only its own */
        ts_buf_str(l->out, "available commands: stats dropcaches version exit help ");
        ts_buf_str(l->out, stores ? "put rollup histogram diediedie \n" : "diediedie \n");
        return TSD_LINE_MORE;
    }
    ts_buf_str(l->out, stores ? "available commands: put " : "available commands: ");
    for (const struct tsd_line_cmd *c = tsd_line_cmds; c->name; c++) {
        if ((c->needs & TSD_MAY_WRITE) && !stores)
            continue;
        ts_buf_str(l->out, c->name);
        ts_buf_char(l->out, ' ');
    }
    ts_buf_char(l->out, '\n');
    return TSD_LINE_MORE;
}

static enum tsd_line_end cmd_exit(struct tsd_line *l, struct ts_slice rest)
{
    (void)l;
    (void)rest;
    return TSD_LINE_EXIT;
}

static enum tsd_line_end cmd_dropcaches(struct tsd_line *l, struct ts_slice rest)
{
    (void)rest;
    if (l->ops && l->ops->drop_caches)
        l->ops->drop_caches(l);
    if (tsd_line_may_answer(l))
        ts_buf_str(l->out, "Caches dropped.\n");
    return TSD_LINE_MORE;
}

static enum tsd_line_end cmd_sync(struct tsd_line *l, struct ts_slice rest)
{
    (void)rest;
    if (l->ops && l->ops->sync && !l->ops->sync(l))
        return TSD_LINE_WAIT;
    return TSD_LINE_MORE;
}

/* Sorted by name, as help shows them. */
const struct tsd_line_cmd tsd_line_cmds[] = {
    {.name = "dropcaches",
     .run = cmd_dropcaches,
     .needs = TSD_MAY_READ,
     .work = 100,
     .help = "Forget what can be learnt again from the store."},
    {.name = "exit", .run = cmd_exit, .help = "Close the connection."},
    {.name = "help", .run = cmd_help, .work = 5, .help = "Names of all commands."},
    {.name = "histogram",
     .run = tsd_cmd_histogram,
     .needs = TSD_MAY_WRITE,
     .help = "Counts of values in buckets."},
    {.name = "incr",
     .run = tsd_cmd_incr,
     .needs = TSD_MAY_WRITE,
     .help = "Add to the point of that time instead of replacing it."},
    {.name = "incr!",
     .run = tsd_cmd_once,
     .needs = TSD_MAY_WRITE,
     .help = "The same with an id and a sequence, by which a repeat is recognised."},
    {.name = "rollup",
     .run = tsd_cmd_rollup,
     .needs = TSD_MAY_WRITE,
     .help = "A point of a rollup or pre-aggregate."},
    {.name = "stats",
     .run = cmd_stats,
     .needs = TSD_MAY_READ,
     .work = 200,
     .help = "Counters of this daemon as put lines without put."},
    {.name = "sync",
     .run = cmd_sync,
     .work = 2,
     .help = "Answer \"ok N\" when the N points of this connection are on disk."},
    {.name = "version", .run = cmd_version, .work = 5, .help = "Two lines about this program."},
    {.name = NULL, .run = NULL, .help = NULL},
};

static bool command_is(const struct tsd_line *l, struct ts_slice word, const char *name)
{
    if (word.n != strlen(name))
        return false;
    return l->in->rules->compat ? !memcmp(word.p, name, word.n) : !strncasecmp(word.p, name, word.n);
}

enum tsd_line_end tsd_line_command(struct tsd_line *l, struct ts_slice line)
{
    const char *blank = line.n ? memchr(line.p, ' ', line.n) : NULL;
    struct ts_slice word = {line.p, blank ? (size_t)(blank - line.p) : line.n};
    struct ts_slice rest = {blank ? blank + 1 : NULL, blank ? line.n - word.n - 1 : 0};
    const struct tsd_rules *rules = l->in->rules;
    bool stores = tsd_line_stores(l);
    if (command_is(l, word, "put") && (stores || !rules->compat)) {
        /* PUT, Put: the exact word was recognised before; compat does not get here with it */
        return stores ? tsd_line_taken(l, "put: ", tsd_put_line(l->in, &l->chain, rest))
                      : tsd_line_read_only(l, "put");
    }
    for (const struct tsd_line_cmd *c = tsd_line_cmds; c->name; c++) {
        if (!command_is(l, word, c->name))
            continue;
        l->work += c->work;
        if ((c->needs & TSD_MAY_WRITE) && !stores) {
            if (!rules->compat)
                return tsd_line_read_only(l, c->name);
            continue;
        }
        if (l->who && !tsd_identity_may(l->who, c->needs)) {
            tsd_line_say(l, c->name, ": ", TS_SLICE_LIT("this client may not do that"));
            return TSD_LINE_MORE;
        }
        return c->run(l, rest);
    }
    if (command_is(l, word, "diediedie") && (!l->who || tsd_identity_may(l->who, TSD_MAY_ADMIN)) && l->ops &&
        l->ops->end_daemon && l->ops->end_daemon(l)) {
        ts_buf_str(l->out, "Cleaning up and exiting now.\n");
        return TSD_LINE_MORE;
    }
    l->work += TSD_LINE_WORK_REFUSED;
    struct ts_buf text;
    ts_buf_init(&text, 512);
    ts_buf_slice(&text, ts_utf8_cut(word, 200));
    ts_buf_str(&text, ".  Try `help'.");
    tsd_line_say(l, "unknown command: ", "", ts_buf_get(&text));
    ts_buf_release(&text);
    return TSD_LINE_MORE;
}
