/*
 * selection_args.h - what scan and delete share: series and a range by the words of a query, and deleting them.
 *
 * Threads    the main thread
 * Not here   daemon or folder (answer.h), what is deleted (query/execution/delete.c)
 */
#ifndef TSD_COMMANDS_SELECTION_ARGS_H
#define TSD_COMMANDS_SELECTION_ARGS_H

#include "query/query.h"
#include "tsd/commands/answer.h"

/* What was chosen. */
struct tsd_choice {
    struct ts_arena arena; /* of spec */
    struct qry_spec spec;  /* the choice */
    struct ts_buf
        uri; /* the same as request parameters; times are fixed, so that two requests mean the same */
};
/** From the words START [END] AGG ... METRIC [tag=value ...] [AGG ...], --tz and --kinds. Returns an exit code, the complaint
 * printed; release it in any case. */
int tsd_choice_parse(struct tsd_choice *c, const struct tsd_args *args);
/** For commands that delete: a START that names a day, a month or a year needs an END, since it may mean that
 * time alone or everything since. Prints errors and returns an exit code. */
int tsd_choice_need_end(const struct tsd_choice *c, const struct tsd_args *args);
/** Release. */
void tsd_choice_release(struct tsd_choice *c);
/** Delete it, or with dry only count; the summary goes to standard output, or to keep. TS_EINVAL:
 * query_allow_delete is not set. */
int tsd_choice_delete(struct tsd_choice *c, struct tsd_answer *a, bool dry, struct ts_buf *keep,
                      struct ts_error *err);

#endif
