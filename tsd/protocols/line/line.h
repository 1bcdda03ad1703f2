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

/* Functions of the daemon that commands call; they may be NULL in tests. */
struct tsd_line_ops {
    /* answer "ok N" when all points so far are on disk; false: refused, too many requests wait */
    bool (*sync)(struct tsd_line *l);
    void (*stats)(struct tsd_line *l, struct ts_buf *out); /* append the lines of the command stats */
    void (*drop_caches)(struct tsd_line *l);               /* empty the caches */
    bool (*end_daemon)(struct tsd_line *l);                /* end the program; false: not permitted */
};

/* Work of lines, in units of about a microsecond. Points of known series are not counted, since a turn reads
 * a bounded number of bytes. */
#define TSD_LINE_TURN_WORK     1000 /* limit for a connection in one turn of its worker */
#define TSD_LINE_WORK_REFUSED  2    /* work of a refused line */
#define TSD_LINE_BYTES_OF_WORK 64   /* this many bytes of a line other than put count as one unit */

/* State of the protocol on one connection. Set to zero, then call tsd_line_init. */
struct tsd_line {
    struct tsd_ingest *in;                   /* ingest state of the worker */
    const struct tsd_line_ops *ops;          /* static */
    void *arg;                               /* for ops */
    const struct tsd_histograms *histograms; /* configuration; NULL = none */
    const struct qry_rollups *rollups;       /* configuration; NULL = none */
    struct ts_buf *out;                      /* replies; the caller sends and empties it */
    size_t reply_max_bytes;                  /* replies are dropped while out holds more */
    size_t line_max_bytes;                   /* longest line, without its line end */
    uint32_t asker;                          /* of its additions (sto_point.asker) */
    struct tsd_once *once;                   /* of the connection; NULL = it takes no lines incr! */
    struct tsd_chain chain;                  /* guess of the next series */
    uint64_t n_points;                       /* points accepted on this connection */
    uint64_t n_commands;                     /* lines other than put, since the caller set it to 0 */
    uint64_t n_dropped;                      /* replies dropped, since the caller set it to 0 */
    unsigned work,
        max_work;  /* work done since the caller set it to 0; work after which to yield, 0 = never */
    bool skipping; /* the rest of a line that is too long is being skipped */
    bool cut;      /* the line at work has no line feed, since the input has ended: it may lack its end */
    const struct tsd_identity *who; /* the client; NULL: it has all permissions */
};

/** Do the configuration key mode and the client's permissions allow it to store points? */
static inline bool tsd_line_stores(const struct tsd_line *l)
{
    return !l->in->rules->no_points && (!l->who || tsd_identity_may(l->who, TSD_MAY_WRITE));
}

enum tsd_line_end {
    TSD_LINE_MORE,  /* all lines were handled; the rest is an incomplete line */
    TSD_LINE_BUSY,  /* the store accepts no points now: call again later with the rest */
    TSD_LINE_WAIT,  /* replies must be sent first: call again afterwards with the rest */
    TSD_LINE_YIELD, /* max_work is used up: call again with the rest after other connections were served */
    TSD_LINE_EXIT,  /* the client sent exit */
};

/** Handle the lines in [p, end). TSD_INPUT_PAD bytes beyond end must be readable.
 * @param eof       the input ends: a last line without line feed is handled too, except increments
 * @param out_rest  [out] first byte not used
 */
enum tsd_line_end tsd_line_input(struct tsd_line *l, const char *p, const char *end, bool eof,
                                 const char **out_rest);
/** May a reply to a command be appended? If too many bytes wait already, false is returned and the reply is
 * counted as dropped. */
bool tsd_line_may_answer(struct tsd_line *l);
/** Append an error line "text\n" unless too many bytes wait already. */
void tsd_line_say(struct tsd_line *l, const char *a, const char *b, struct ts_slice c);

/* One command, a row of commands.c. */
struct tsd_line_cmd {
    const char *name; /* first word, lower case */
    enum tsd_line_end (*run)(struct tsd_line *l,
                             struct ts_slice rest); /* rest: after the word and one blank */
    /* enum tsd_permission; with mode = ro a command that needs TSD_MAY_WRITE does not exist */
    unsigned needs;
    unsigned work;    /* cost, in units of about a microsecond */
    const char *help; /* one sentence */
};
/** All commands except put, terminated by name == NULL. */
extern const struct tsd_line_cmd tsd_line_cmds[];
/** Run a line other than put, whose first word was not looked up yet. */
enum tsd_line_end tsd_line_command(struct tsd_line *l, struct ts_slice line);

/** Finish a line with a point. rc 0: the point is counted; TS_EBUSY: the line must be tried again; other
 * errors are counted and answered by "WORD: class: in->msg" (word includes colon and blank). */
enum tsd_line_end tsd_line_taken(struct tsd_line *l, const char *word, int rc);
/** Refuse a command that stores, because of mode = ro or the client's permissions, with "WORD: read-only:
 * ..."; it is counted. */
enum tsd_line_end tsd_line_read_only(struct tsd_line *l, const char *word);
/** A line "incr METRIC TIME DELTA k=v ...", without the word. */
enum tsd_line_end tsd_cmd_incr(struct tsd_line *l, struct ts_slice rest);
/** A line "incr! ID SEQUENCE METRIC TIME DELTA k=v ...", without the word. */
enum tsd_line_end tsd_cmd_once(struct tsd_line *l, struct ts_slice rest);
/** Commands with a file of their own. */
enum tsd_line_end tsd_cmd_rollup(struct tsd_line *l, struct ts_slice rest);
enum tsd_line_end tsd_cmd_histogram(struct tsd_line *l, struct ts_slice rest);

/** The rest of a line "rollup SPEC METRIC TIME VALUE k=v": parsed and stored as by tsd_put_line. */
int tsd_rollup_line(struct tsd_ingest *in, const struct qry_rollups *conf, struct ts_slice raw);
/** The same for "histogram METRIC TIME [ID] DATA k=v". TS_EBUSY: it may be stored in part; sending the same
 * line again is harmless. */
int tsd_histogram_line(struct tsd_ingest *in, const struct tsd_histograms *conf, struct ts_slice raw);

#endif
