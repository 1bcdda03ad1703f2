/*
 * line.h - the line protocol, independent of sockets: splits bytes into lines, runs puts and commands,
 * collects replies.
 *
 * Threads    one worker
 * Invariant  a bad line never affects its neighbours; replies beyond the limit are dropped and counted, never
 *            waited for
 * Source     docs/OPENTSDB.md, section 1.2 (framing), 1.3 (commands)
 */
#ifndef TSD_PROTOCOLS_LINE_LINE_H
#define TSD_PROTOCOLS_LINE_LINE_H

#include "tsd/daemon/permissions.h"
#include "tsd/protocols/line/put.h"

struct tsd_histograms;
struct qry_rollups;

struct tsd_line;

/* Functions of the daemon that commands need; they may be NULL in tests. */
struct tsd_line_ops {
    bool (*sync)(struct tsd_line
                     *l); /* answer "ok N" later, when all so far is on disk; false: not now, too many wait */
    void (*stats)(struct tsd_line *l, struct ts_buf *out); /* the lines of stats */
    void (*drop_caches)(struct tsd_line *l);               /* drop caches */
    bool (*end_daemon)(struct tsd_line *l);                /* stop the program; false: not permitted */
};

/* Work of lines, about microseconds. Points of known series cost nothing here: a turn reads a bounded number
 * of bytes. */
#define TSD_LINE_TURN_WORK     1000 /* of a connection in one turn of its worker */
#define TSD_LINE_WORK_REFUSED  2    /* a refused line */
#define TSD_LINE_BYTES_OF_WORK 64   /* bytes of a line that is no put and costs one */

/* One connection's side of the protocol. Zeroed, then tsd_line_init. */
struct tsd_line {
    struct tsd_ingest *in;                   /* of the worker */
    const struct tsd_line_ops *ops;          /* static */
    void *arg;                               /* for ops */
    const struct tsd_histograms *histograms; /* configuration; NULL = none */
    const struct qry_rollups *rollups;       /* configuration; NULL = none */
    struct ts_buf *out;                      /* replies; the caller sends and empties it */
    size_t reply_max_bytes;                  /* replies are dropped while out holds more */
    size_t line_max_bytes;                   /* longest line without its end */
    struct tsd_chain chain;                  /* guess of the next series */
    uint64_t n_points;                       /* points accepted on this connection */
    uint64_t n_commands;                     /* lines that were no put, since the caller set it to 0 */
    uint64_t n_dropped;                      /* replies dropped, since the caller set it to 0 */
    unsigned work,
        max_work;  /* done since the caller set it to 0, and when to yield, in TSD_LINE_WORK_...; 0 = never */
    bool skipping; /* in the rest of a line that is too long */
    const struct tsd_identity *who; /* the client; NULL: one that may do everything */
};

/** May the client send points: neither mode = ro nor its permissions are against it? */
static inline bool tsd_line_stores(const struct tsd_line *l)
{
    return !l->in->rules->no_points && (!l->who || tsd_identity_may(l->who, TSD_MAY_WRITE));
}

enum tsd_line_end {
    TSD_LINE_MORE,  /* all lines are done; what is left is the beginning of one */
    TSD_LINE_BUSY,  /* the store accepts no more now: call again with the rest later */
    TSD_LINE_WAIT,  /* answers must be sent first: call again with the rest afterwards */
    TSD_LINE_YIELD, /* max_work is used up: call again with the rest after other connections had their turn */
    TSD_LINE_EXIT,  /* the client said exit */
};

/** Work through [p, end). TSD_INPUT_PAD bytes beyond end are readable.
 *  @param eof       nothing follows: a last line without line feed is a line
 *  @param out_rest  [out] first byte not used
 */
enum tsd_line_end tsd_line_input(struct tsd_line *l, const char *p, const char *end, bool eof,
                                 const char **out_rest);
/** May an answer of a command be appended? False and counted if too much waits already. */
bool tsd_line_may_answer(struct tsd_line *l);
/** Append an error line "text\n" unless too much waits already. */
void tsd_line_say(struct tsd_line *l, const char *a, const char *b, struct ts_slice c);

/* One command, a row of commands.c. */
struct tsd_line_cmd {
    const char *name; /* first word, lower case */
    enum tsd_line_end (*run)(struct tsd_line *l,
                             struct ts_slice rest); /* rest: after the word and one blank */
    unsigned needs;   /* enum tsd_permission; one that needs TSD_MAY_WRITE is not there with mode = ro */
    unsigned work;    /* what it costs, about microseconds */
    const char *help; /* one sentence */
};
/** All commands but put, ended by name == NULL. */
extern const struct tsd_line_cmd tsd_line_cmds[];
/** Run a line that is no put (its first word is not known yet). */
enum tsd_line_end tsd_line_command(struct tsd_line *l, struct ts_slice line);

/** End of a line that brought a point: rc 0 counts it, TS_EBUSY means try again, else a reply "WORD: class:
 * in->msg" (word with colon and blank) and a count. */
enum tsd_line_end tsd_line_taken(struct tsd_line *l, const char *word, int rc);
/** Refuse a command that stores because of mode = ro or of the client's permissions: "WORD: read-only: ...", counted. */
enum tsd_line_end tsd_line_read_only(struct tsd_line *l, const char *word);
/** Commands with a file of their own. */
enum tsd_line_end tsd_cmd_rollup(struct tsd_line *l, struct ts_slice rest);
enum tsd_line_end tsd_cmd_histogram(struct tsd_line *l, struct ts_slice rest);

/** The rest of a line "rollup SPEC METRIC TIME VALUE k=v": taken as a put line is (tsd_put_line). */
int tsd_rollup_line(struct tsd_ingest *in, const struct qry_rollups *conf, struct ts_slice raw);
/** The same of "histogram METRIC TIME [ID] DATA k=v". TS_EBUSY: it may be stored in part; the same line again
 * is harmless. */
int tsd_histogram_line(struct tsd_ingest *in, const struct tsd_histograms *conf, struct ts_slice raw);

#endif
