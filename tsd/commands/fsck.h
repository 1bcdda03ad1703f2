/*
 * fsck.h - exit codes of tsd fsck, which are those of other fsck programs; a usage error is 2 as everywhere in tsd.
 */
#ifndef TSD_COMMANDS_FSCK_H
#define TSD_COMMANDS_FSCK_H

#include "tsd/commands/cmd.h"

enum tsd_fsck_exit {
    TSD_FSCK_CLEAN = 0,    /* nothing is wrong */
    TSD_FSCK_REPAIRED = 1, /* all damage was repaired */
    TSD_FSCK_LEFT = 4,     /* damage is left */
    TSD_FSCK_ERROR = 8     /* it could not be done */
};

#endif
