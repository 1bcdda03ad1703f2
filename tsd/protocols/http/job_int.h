/*
 * job_int.h - a job's members, shared by job.c (its life) and job_out.c (its reply on the way to the client).
 */
#ifndef TSD_PROTOCOLS_HTTP_JOB_INT_H
#define TSD_PROTOCOLS_HTTP_JOB_INT_H

#include "tsd/protocols/http/gzip.h"
#include "tsd/protocols/http/job.h"
#include "tsd/daemon/spool.h"
#include "tsd/net/worker.h"

#include <pthread.h>

#define JOB_PIECE_BYTES    ((size_t)128 << 10)
#define JOB_LEFT_OUT_BYTES 400
#define JOB_LAST_CHUNK     "0\r\n" /* what follows are trailers and an empty line */
#define JOB_HEAD_BYTES     12      /* space for the length of a chunk before its bytes */

/* A piece of the body. */
struct job_piece {
    struct tsd_call call;                             /* on its way to the worker */
    struct tsd_block block;                           /* in the connection */
    struct tsd_job *job;                              /* owner */
    struct ts_budget *account;                        /* that counts it; NULL = the job's reservation */
    size_t n;                                         /* bytes in data */
    bool spooled;                                     /* read from the spool */
    char bytes[JOB_HEAD_BYTES + JOB_PIECE_BYTES + 2]; /* the chunk's length, data, line end */
};

static inline char *job_data(struct job_piece *piece)
{
    return piece->bytes + JOB_HEAD_BYTES;
}

struct tsd_job {
    struct tsd_call end;      /* last message to the worker */
    struct tsd_block last;    /* end of the chunks */
    struct tsd_req *req;      /* worker's; what is constant may be read */
    tsd_job_fn run;           /* the work */
    enum tsd_job_kind kind;   /* constant */
    const char *type;         /* content type */
    struct ts_arena arena;    /* run's */
    struct ts_sink sink;      /* run's: writes to cur */
    struct job_piece *cur;    /* run's: being written */
    struct job_piece *packed; /* run's: being filled by the compressor */
    struct tsd_gzip *gzip;    /* run's: while it compresses; made with the first bytes */
    struct qry_limit limit;   /* budget */
    struct ts_budget memory;  /* account of what the run allocates, below that of all queries */
    struct ts_error err;      /* of run */
    int rc;                   /* of run */
    int ok_status;            /* of success; run's until a piece is posted */
    int status;               /* of an error; 0 = by its code */
    int64_t late_ns;    /* monotonic, when it need not begin any more; 0 = never; constant once queued */
    _Atomic bool begun; /* a thread has taken it */
    bool at_once;       /* runs in the worker: nothing may wait, the body fits one piece */
    bool has_max_age;   /* of success: how long clients may keep it, */
    int64_t max_age_s;  /* in seconds */
    char ignored[TS_JSON_UNKNOWN_BYTES]; /* members of the body that were ignored, for a header */
    char left_out[JOB_LEFT_OUT_BYTES];   /* the header of that name; the worker's */
    bool pages;                          /* there may be a trailer; constant once a piece is posted */
    struct ts_buf
        after; /* the last chunk with the trailer X-Tsd-After, or empty; run's, then the worker's until the job is freed */
    char details[256];             /* of the error object */
    struct tsd_query_entry *entry; /* run's: in the list of queries, or NULL */
    uint64_t n_bytes;              /* run's: body bytes so far (HEAD) */
    bool posted;                   /* run's: a piece is on its way */
    bool reserved;                 /* run's: one piece of memory is the job's until its end */
    bool packs;                    /* the body is compressed; constant once a piece is posted */
    bool head_sent;                /* worker's: status line is out */
    pthread_mutex_t mu;            /* guards what follows */
    pthread_cond_t cond;           /* signalled when the client has read something or disconnected */
    size_t unsent_bytes;           /* in pieces that are posted and not sent */
    struct tsd_spool spool; /* output that the client has not read yet; appended by run, read by one refill at
                             * a time */
    uint64_t spool_read;    /* offset of the next byte to read there */
    bool refilling;         /* a piece is being read from the spool, or on its way from there to the worker */
    bool end_waits;         /* the worker ends the reply when the spool is empty */
    bool gone;              /* the client has disconnected */
    bool ended;             /* it was cancelled through /api/stats/query */
};

/* --- job_out.c --- */
/** Begin the piece that sink writes to. Run's side. TS_ELIMIT: as job_out_piece. */
int job_out_begin(struct tsd_job *job, struct ts_error *err);
/** A new piece, counted with the memory of queries. Run's side. NULL: that is full (err says so); never for
 * small jobs, whose
 *  threads are few. */
struct job_piece *job_out_piece(struct tsd_job *job, struct ts_error *err);
/** Send a piece (taken), or keep it in the spool. Run's side; waits only as job.h says. < 0: it was not sent;
 * TS_ELIMIT with the
 *  job's status set when the first piece finds no memory (stream_total_bytes). */
int job_out_post(struct tsd_job *job, struct job_piece *piece, struct ts_error *err);
/** Worker: the run has ended and all its pieces were posted. True when the reply may be ended now, else
 * job_end_reply is
 *  called later. */
bool job_out_ended(struct tsd_job *job);
/** Free a piece that was not posted. */
void job_out_drop(struct tsd_job *job, struct job_piece *piece);
/** Free pieces, compressor, spool and reservation. */
void job_out_release(struct tsd_job *job);

/* --- job.c --- */
/** 0, or why the run must stop: cancelled, out of time. */
int job_check(struct tsd_job *job, struct ts_error *err);
/** Why a job that was cancelled ends. */
int job_cancelled(struct tsd_job *job, struct ts_error *err);
/** Worker: everything that was posted was passed to the connection: end the chunks. */
void job_end_reply(struct tsd_job *job);
/** Head of a success. Worker. */
void job_head(struct tsd_job *job, int64_t length);
/** What the run has left out so far, as a header says it; NULL: nothing. Kept in the job. The worker's. */
const char *job_left_out(struct tsd_job *job);
/** The run of a reply in chunks has ended: if it left something out after the head was sent, a trailer says so where the client takes trailers. The worker's. */
void job_trail_left_out(struct tsd_job *job);

#endif
