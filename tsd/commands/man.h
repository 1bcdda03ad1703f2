/*
 * man.h - manual pages, printed from the table of commands and the tables of configuration keys.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_MAN_H
#define TSD_COMMANDS_MAN_H

#include "tsd/commands/cmd.h"

/** Append the page tsd-COMMAND(1) as source of roff. */
void tsd_man_command(const struct tsd_cmd *cmd, struct ts_buf *out);
/** Append the page tsd(1). */
void tsd_man_program(const struct tsd_cmd *table, struct ts_buf *out);
/** Append the page tsd.conf(5): the keys of the command serve. */
void tsd_man_conf(const struct tsd_cmd *serve, struct ts_buf *out);

#endif
