/*
 * selection_args.c - the words, and deletes through a daemon or straight in a folder.
 *
 * A folder's owner may always delete: the switch query_allow_delete is about who may over the network.
 *
 * Threads    the main thread; with --data it is the port's
 */
#include "tsd/commands/selection_args.h"

#include "tsd/format/deleted.h"

#include <poll.h>
#include <string.h>

#define CHOICE_URI_MAX ((size_t)1 << 20)
#define CHOICE_WAIT_MS 20

/* Times of dates and "1h-ago" as numbers. Before 1970 they stay words: parameters know no such numbers. */
static void choice_fix_times(struct tsd_choice *c, const struct ts_buf *words)
{
    const char *m = c->spec.start_ms > 0 && words->n ? strstr(words->p, "&m=") : NULL;
    if (!m) {
        ts_buf_slice(&c->uri, (struct ts_slice){words->p, strlen(words->p)});
        return;
    }
    ts_buf_printf(&c->uri, "start=%lldms&end=%lldms%s", (long long)c->spec.start_ms,
                  (long long)c->spec.end_ms, m);
}

int tsd_choice_parse(struct tsd_choice *c, const struct tsd_args *args)
{
    struct qry_param kinds = {TS_SLICE_LIT("kinds"), tsd_answer_opt(args, "kinds")};
    struct ts_error err = {0};
    struct ts_buf words;
    ts_arena_init(&c->arena, 0);
    ts_buf_init(&c->uri, CHOICE_URI_MAX);
    ts_buf_init(&words, CHOICE_URI_MAX);
    int rc = qry_parse_words(args->words, args->n_words, NULL, tsd_args_get(args, "tz"), NULL, ts_clock_ms(),
                             &c->arena, &c->spec, &words, &err);
    if (rc == 0 && kinds.value.p)
        rc = qry_parse_choice(&kinds, 1, &c->arena, &c->spec, &words, &err);
    ts_buf_char(&words, 0);
    if (rc == 0 && words.failed)
        rc = ts_error_set(&err, TS_ELIMIT, "the query is too long");
    if (rc == 0)
        choice_fix_times(c, &words);
    ts_buf_release(&words);
    return rc < 0 ? tsd_usage(args, "%s", err.text) : tsd_client_or_data(args);
}

int tsd_choice_need_end(const struct tsd_choice *c, const struct tsd_args *args)
{
    struct ts_error err = {0};
    return qry_delete_need_end(&c->spec, &err) == 0 ? TSD_EXIT_OK : tsd_usage(args, "%s", err.text);
}

void tsd_choice_release(struct tsd_choice *c)
{
    ts_buf_release(&c->uri);
    ts_arena_release(&c->arena);
}

/* --- a folder --- */

static int choice_apply(struct sto_store *store, const struct tsd_deleted *d, struct ts_error *err)
{
    struct sto_port *port = sto_port(store, 0);
    struct pollfd pfd = {.fd = sto_port_fd(port), .events = POLLIN};
    for (size_t i = 0; i < d->n; i++) {
        const struct qry_delete_target *x = &d->targets[i];
        int rc;
        while ((rc = sto_delete(port, x->series, x->from_ms, x->to_ms)) == TS_EBUSY) {
            sto_port_turn(port);
            (void)poll(&pfd, 1, CHOICE_WAIT_MS);
        }
        if (rc < 0) {
            (void)sto_port_error(port, err);
            return ts_error_wrap(err, "deleted from %zu of %zu series", i, d->n);
        }
    }
    sto_port_turn(port);
    return sto_flush(store, STO_LEVEL_DISK, err);
}

/* One delete in a folder. */
struct choice_run {
    struct tsd_choice *choice; /* what */
    struct sto_store *store;   /* where */
    bool dry;                  /* only count */
};

static int choice_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct choice_run *r = arg;
    struct tsd_deleted d;
    tsd_deleted_init(&d, &r->choice->spec, r->dry, &r->choice->arena);
    int rc = tsd_deleted_find(&d, r->store, NULL, err);
    if (rc == 0 && !r->dry && d.n)
        rc = choice_apply(r->store, &d, err);
    if (rc == 0)
        rc = tsd_deleted_print(&d, false, sink, err);
    tsd_deleted_release(&d);
    return rc;
}

/* --- both --- */

int tsd_choice_delete(struct tsd_choice *c, struct tsd_answer *a, bool dry, struct ts_buf *keep,
                      struct ts_error *err)
{
    struct ts_buf path;
    if (a->store) {
        struct choice_run r = {c, a->store, dry};
        return tsd_answer_local(a, choice_local, &r, keep, err);
    }
    ts_buf_init(&path, 0);
    ts_buf_str(&path, "/api/delete?");
    ts_buf_slice(&path, ts_buf_get(&c->uri));
    ts_buf_str(&path, "&format=text");
    int rc = tsd_answer_remote(a, dry ? "GET" : "DELETE", ts_buf_get(&path), keep, err);
    ts_buf_release(&path);
    return rc;
}
