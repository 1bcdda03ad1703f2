/*
 * terminal.h - what the terminal of a command can show: its size, colours, characters.
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_TERMINAL_H
#define TSD_COMMANDS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Standard output. */
struct tsd_terminal {
    size_t width, height; /* characters */
    bool is_tty;          /* a terminal, not a pipe or file */
    bool colours;         /* it may be sent colours */
    bool utf8;            /* characters beyond ASCII are shown */
};

/**
 * Find out what standard output can show.
 *
 * Width and height are COLUMNS and LINES of the environment, else those of the terminal, else 80 and 24. Colours need a
 * terminal, a TERM other than "dumb", and NO_COLOR empty or unset. UTF-8 is what LC_ALL, LC_CTYPE or LANG says, the first
 * one that is not empty.
 */
void tsd_terminal_look(struct tsd_terminal *out);

#endif
