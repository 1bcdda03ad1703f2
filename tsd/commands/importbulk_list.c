/*
 * importbulk_list.c - tsd import --bulk --list and --cancel: which bulk loads there are, and giving one up.
 *
 * Threads    the main thread
 * Not here   the requests (importbulk_store.c), what giving up means (storage/bulk.h)
 */
#include "tsd/commands/importbulk.h"

#include <stdio.h>
#include <string.h>

#include "tsd/commands/terminal.h"

static const char *state_text(const struct sto_bulk_load *b)
{
    return b->given_up ? "given up: the hand-over ends"
           : b->busy   ? "being handed over or removed"
           : b->done   ? "handed over: its points are stored"
                       : "not handed over";
}

static int print_list(struct tsd_bulk_store *s, struct ts_error *err)
{
    struct sto_bulk_load list[STO_BULK_MAX];
    size_t n;
    TS_TRY(tsd_bulk_store_list(s, list, &n, err));
    if (!n)
        tsd_say("there is no bulk load");
    else
        printf("%-16s %12s %14s  %s\n", "ID", "SIZE", "UNUSED FOR", "STATE");
    for (size_t i = 0; i < n; i++) {
        char size[TSD_FIGURE_BYTES], unused[TSD_FIGURE_BYTES];
        printf("%-16s %12s %14s  %s\n", list[i].id, tsd_bytes_text((double)list[i].n_bytes, size),
               tsd_span_text(list[i].idle_ms / 1000, unused), state_text(&list[i]));
    }
    return 0;
}

static int cancel(struct tsd_bulk_store *s, struct ts_error *err)
{
    struct sto_bulk_ended ended;
    TS_TRY(tsd_bulk_store_end(s, &ended, err));
    if (!ended.found)
        return ts_error_set(err, TS_ENOTFOUND,
                            "there is no bulk load %s: tsd import --bulk --list shows those that there are",
                            s->id);
    tsd_say(ended.done ? "the bulk load %s had been handed over: its folder is removed, its points stay"
                       : "the bulk load %s is given up: its folder is removed, nothing of it is stored",
            s->id);
    return 0;
}

int tsd_import_bulk_manage(const struct tsd_args *args)
{
    struct tsd_bulk_store s = {.args = args};
    const char *id = tsd_args_get(args, "cancel");
    struct ts_error err = {0}, close_err = {0};
    if (id && (strlen(id) != STO_BULK_ID_CHARS || strspn(id, "0123456789abcdef") != STO_BULK_ID_CHARS))
        return tsd_usage(args, "--cancel takes the %u hexadecimal digits that --list shows, not \"%.60s\"",
                         STO_BULK_ID_CHARS, id);
    (void)snprintf(s.id, sizeof s.id, "%s", id ? id : "");
    int rc = tsd_bulk_store_open(&s, TSD_LOCAL_WRITE, &err);
    if (rc == 0)
        rc = id ? cancel(&s, &err) : print_list(&s, &err);
    int close_rc = tsd_bulk_store_close(&s, &close_err);
    return rc < 0 ? tsd_fail(&err) : close_rc < 0 ? tsd_fail(&close_err) : TSD_EXIT_OK;
}
