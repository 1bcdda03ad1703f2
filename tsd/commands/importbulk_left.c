/*
 * importbulk_left.c - what tsd import --bulk leaves behind when it does not end: what it says, and what former runs have left.
 *
 * Threads    the main thread
 * Not here   continuing (importbulk.c), listing and giving up by hand (importbulk_list.c)
 */
#include "tsd/commands/importbulk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cut.h"
#include "base/mem.h"
#include "base/text.h"
#include "tsd/commands/terminal.h"

void tsd_bulk_explain_end(struct tsd_bulk_store *s, const struct tsd_bulk_left *left, struct ts_error *err)
{
    struct sto_bulk_ended ended;
    char n[32], what[400];
    bool keeps = left->command && left->n_kept;
    const char *none = left->replaces ? "nothing is replaced" : "nothing is stored";
    tsd_count_text(left->n_kept, n);
    if (keeps)
        (void)snprintf(what, sizeof what, "%s point%s sorted in %.300s", n,
                       left->n_kept == 1 ? " is" : "s are", left->dir);
    else if (tsd_bulk_store_end(s, &ended, NULL) == 0)
        (void)snprintf(what, sizeof what, "nothing is kept");
    else
        (void)snprintf(what, sizeof what, "nothing can be used again of %.300s", left->dir);
    tsd_say("%s yet; %s: %s %s%s", none, what,
            err->code == TS_ENOSPC ? "free space, and repeat the command, which" : "the same command",
            keeps ? "continues" : "begins again", left->command ? "" : ", with an input that has all points");
}

void tsd_bulk_explain_damage(const struct tsd_bulk_store *s, const struct ts_error *err)
{
    if (err->code == TS_ECORRUPT)
        tsd_say(
            "tsd import --bulk --cancel %s removes the damaged folder, then the same command begins again",
            s->id);
}

/* Has a folder what the same command has sorted? */
static bool is_of_command(const char *dir, uint64_t command)
{
    struct ts_buf note;
    char words[32];
    (void)snprintf(words, sizeof words, " command %016" PRIx64, command);
    ts_buf_init(&note, 4096);
    bool is = sto_bulk_note_read(ts_fs_real(), dir, &note, NULL) == 1 &&
              ts_slice_ends_nocase(ts_buf_get(&note), words);
    ts_buf_release(&note);
    return is;
}

void tsd_bulk_tell_others(struct tsd_bulk_store *s, const struct tsd_bulk_left *left)
{
    struct sto_bulk_load list[STO_BULK_MAX];
    const char *slash = strrchr(left->dir, '/');
    size_t n = 0;
    if (!left->command || !slash || tsd_bulk_store_list(s, list, &n, NULL) < 0)
        return;
    char *bulk = ts_xstrndup(left->dir, (size_t)(slash - left->dir));
    for (size_t i = 0; i < n; i++) {
        char *dir = ts_fs_join(bulk, list[i].id), size[TSD_FIGURE_BYTES];
        if (!list[i].done && strcmp(list[i].id, s->id) != 0 && is_of_command(dir, left->command))
            tsd_say(
                "an import of these files has left %s in %s, and a file has changed since: this one begins "
                "again; tsd import --bulk --cancel %s removes what is left",
                tsd_bytes_text((double)list[i].n_bytes, size), dir, list[i].id);
        ts_free(dir);
    }
    ts_free(bulk);
}
