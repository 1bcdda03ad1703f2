/*
 * terminal.h - what differs between a terminal and a pipe: its size, colours, characters, a pager; figures as people read them.
 *
 * Threads    the main thread
 * Not here   the bar of long work (progress.h)
 */
#ifndef TSD_COMMANDS_TERMINAL_H
#define TSD_COMMANDS_TERMINAL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/** Is standard output a terminal that understands escape sequences (TERM is set and not "dumb")? */
bool tsd_term_on(void);
/** Shall standard output have colours: a terminal, and NO_COLOR is unset or empty (https://no-color.org)? */
bool tsd_term_colours(void);
enum tsd_style { TSD_STYLE_BOLD, TSD_STYLE_DIM, TSD_STYLE_GOOD, TSD_STYLE_WARN, TSD_STYLE_BAD };
/** Append a text in a style; without colours the text alone. */
void tsd_term_put(struct ts_buf *out, enum tsd_style style, struct ts_slice text);
/** Append a table whose first line is its header: bold with colours. */
void tsd_term_table(struct ts_buf *out, struct ts_slice table);

/** Print a long text, and release it. On a terminal that it does not fit into, the program that PAGER names shows it (default less, with
 * LESS=FRX unless LESS is set); an empty PAGER or "cat" means none. Returns an exit code, as tsd_print_page. */
int tsd_term_page(struct ts_buf *text);

/* Figures as texts; out takes TSD_FIGURE_BYTES. They return out. */
#define TSD_FIGURE_BYTES 48
/** 1536 as "1.5 KiB". */
char *tsd_bytes_text(double bytes, char *out);
/** 1234567.8 as "1,234,568", 12.34 as "12.3". */
char *tsd_number_text(double n, char *out);
/** A duration: "12 s", "5 min 3 s", "3 h 20 min", "12 d 4 h". */
char *tsd_span_text(int64_t seconds, char *out);

#endif
