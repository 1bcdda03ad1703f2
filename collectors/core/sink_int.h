/*
 * sink_int.h - addresses and one connection of a sink: open, send a block and read its answer.
 *
 * Threads    the sink's
 * Not here   when to connect and to which address (sink.c)
 */
#ifndef COLLECTORS_CORE_SINK_INT_H
#define COLLECTORS_CORE_SINK_INT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* One address. */
struct col_sink__addr {
    char *text; /* as given, owned */
    char *host; /* without brackets, owned */
    char *port; /* number or service, owned */
};

/* Addresses in the order given. */
struct col_sink__addrs {
    struct col_sink__addr *p; /* owned */
    unsigned n;               /* entries */
};

/** Split "host:port,[::1]:4242,host". TS_EINVAL names the bad one; nothing is kept then. */
int col_sink__addrs_parse(const char *servers, struct col_sink__addrs *out, struct ts_error *err);
/** Free the addresses. */
void col_sink__addrs_release(struct col_sink__addrs *a);

#define COL_SINK_VERSION_BYTES 128u /* of the first line of the answer to version, its end included */

/* A connection. */
struct col_sink__conn {
    int fd;                               /* -1 = closed */
    bool opentsdb;                        /* it does not know sync */
    uint64_t n_ok;                        /* N of the last "ok N" */
    uint64_t n_blocks;                    /* blocks answered */
    struct ts_buf in;                     /* bytes of an answer that is not whole */
    char version[COL_SINK_VERSION_BYTES]; /* first line of its answer to version, truncated; "" = not known
                                           * yet */
};

/* The daemon's response to a block. */
struct col_sink__answer {
    uint64_t n_taken; /* points it took */
    uint64_t n_never; /* lines it refuses for good */
    uint64_t n_later; /* lines it may take later, others now */
    char text[200];   /* the first refusal, terminated; "" = none */
};

/** Connect within timeout_ms. */
int col_sink__open(struct col_sink__conn *c, const struct col_sink__addr *a, int64_t timeout_ms,
                   struct ts_error *err);
/** Close; idempotent. */
void col_sink__close(struct col_sink__conn *c);
/** Send a block of n_lines lines that ends with sync and wait for the answer, all of it within timeout_ms.
 *  @return 0; TS_EIO, TS_ETIMEOUT: the connection is of no use any more; TS_EBACKEND: the daemon takes no points at
 *  present. Close it. */
int col_sink__exchange(struct col_sink__conn *c, struct ts_slice block, uint32_t n_lines, int64_t timeout_ms,
                       struct col_sink__answer *out, struct ts_error *err);
/** Find out which lines the daemon accepts: send them with a command between them whose response is known, then sync.
 * Afterwards verdicts holds an enum col_verdict a line, as a byte. What was taken is on disk. For a tsd only:
 * OpenTSDB reports late. Returns as above, but no TS_EBACKEND for a refused line. */
int col_sink__sort(struct col_sink__conn *c, struct ts_slice lines, uint32_t n_lines, int64_t timeout_ms,
                   struct ts_buf *verdicts, struct col_sink__answer *out, struct ts_error *err);

#endif
