/*
 * fake_hbase.h - an HBase for tests: a Thrift2 gateway on a loopback port of its own, over tables in memory.
 *
 * It answers the calls of storage/hbase/thrift/calls.h as HBase 2.5 does; tests/hbase/thrift_live.c holds both to the same. Cells have versions,
 * timestamps in milliseconds and delete markers: a marker hides cells up to its own timestamp, also those that are put afterwards, until
 * fake_hbase_compact. Cells of one qualifier and timestamp replace each other. Everything of one request has one timestamp, and the next request a later one, unless the
 * test sets the clock.
 *
 * Faults, the clock, scanners that expire and other writers are under the control of the test, and none of them depends on time.
 * Threads    every function from any thread; one thread serves each connection
 * Not here   the bytes of OpenTSDB
 */
#ifndef TESTS_HBASE_FAKE_HBASE_H
#define TESTS_HBASE_FAKE_HBASE_H

#include "base/buf.h"
#include "storage/hbase/thrift/calls.h"

struct fake_hbase;

/** Start a gateway that listens on 127.0.0.1. port: 0 = a free one. NULL: it cannot listen there (errno). */
struct fake_hbase *fake_hbase_start(enum sto_thrift_transport transport, unsigned port);
/** Close all connections, end all threads, forget all tables. NULL is harmless. */
void fake_hbase_stop(struct fake_hbase *f);
/** The port in digits. */
const char *fake_hbase_port(const struct fake_hbase *f);
/** Refuse connections and close those that are open; tables and counters stay. */
void fake_hbase_down(struct fake_hbase *f);
/** Listen again, at the same port. Scanners were forgotten, as a gateway does that is started again. */
void fake_hbase_up(struct fake_hbase *f);
/** The time of cells and deletes that come without one, which stands still until it is set again; 0 = the wall clock, but later with each change. */
void fake_hbase_set_clock(struct fake_hbase *f, int64_t now_ms);

/** From now on it is a gateway of HBase before 2.2, which leaves filters alone that are messages of protocol buffers. */
void fake_hbase_set_old(struct fake_hbase *f);

/* --- tables; names, rows and qualifiers are any bytes --- */

/** Create a table with families, names with blanks between them: "t id". Each keeps one version. */
void fake_hbase_create(struct fake_hbase *f, const char *table, const char *families);
/** Create OpenTSDB's four tables: tsdb, tsdb-uid, tsdb-tree, tsdb-meta. */
void fake_hbase_create_opentsdb(struct fake_hbase *f);
/** Write a cell as another client would; the table and the family exist. ts_ms 0 = now. */
void fake_hbase_put(struct fake_hbase *f, const char *table, struct ts_slice row, const char *family,
                    struct ts_slice qualifier, struct ts_slice value, int64_t ts_ms);
/** Delete a cell (all its versions), or with a qualifier whose p is NULL a whole row. */
void fake_hbase_delete(struct fake_hbase *f, const char *table, struct ts_slice row, const char *family,
                       struct ts_slice qualifier);
/** Append the newest version of a cell to out. False: there is none. out_ts_ms may be NULL. */
bool fake_hbase_get(struct fake_hbase *f, const char *table, struct ts_slice row, const char *family,
                    struct ts_slice qualifier, struct ts_buf *out, int64_t *out_ts_ms);
/** Cells that a scan of the table would find. */
size_t fake_hbase_cells(struct fake_hbase *f, const char *table);
/** Append what a scan would find, a line a cell: "ROW FAMILY:QUALIFIER@TIMESTAMP=VALUE", all but the family in hexadecimal digits; without
 * "@TIMESTAMP" unless with_ts. In the order of rows, families, qualifiers, and newest first. */
void fake_hbase_dump(struct fake_hbase *f, const char *table, bool with_ts, struct ts_buf *out);
/** Write the rows of a file like tests/golden/hbase/plain.jsonl; tables and families that are missing are created. False: it cannot be read. */
bool fake_hbase_load(struct fake_hbase *f, const char *path);
/** A major compaction: forget delete markers, what they hide, and versions beyond the limit of the family. */
void fake_hbase_compact(struct fake_hbase *f, const char *table);
/** The lease of every open scanner ends. */
void fake_hbase_expire_scanners(struct fake_hbase *f);
/** Scanners that are open. */
size_t fake_hbase_scanners(struct fake_hbase *f);

/* --- what clients did --- */

/** Requests of a kind that arrived, those that failed included; STO_THRIFT_N_CALLS = of all kinds. */
uint64_t fake_hbase_count(struct fake_hbase *f, enum sto_thrift_call call);
/** Rows that these requests had. */
uint64_t fake_hbase_count_rows(struct fake_hbase *f, enum sto_thrift_call call);
/** Rows that scanners have looked at, those that a filter refused included; a filter may seek over others. */
uint64_t fake_hbase_looked(struct fake_hbase *f);
/** Connections that were accepted. */
uint64_t fake_hbase_connections(struct fake_hbase *f);

/* A request that is about to be executed. */
struct fake_hbase_request {
    enum sto_thrift_call call;
    uint64_t n;                        /* it is the n-th of its kind, from 1 */
    struct ts_slice table;             /* empty: the call has none */
    struct ts_slice row;               /* of the first row of it, the first row of a scan, or empty */
    struct ts_slice family, qualifier; /* of a conditional change; else empty */
};
/** Call fn before each request, on the thread of its connection: it may use every function of the fake but fake_hbase_stop, fake_hbase_down
 * and fake_hbase_up, and so play another writer, or block. NULL = none. */
void fake_hbase_set_before(struct fake_hbase *f, void (*fn)(void *arg, const struct fake_hbase_request *r),
                           void *arg);

/* --- faults --- */

enum fake_hbase_fault {
    FAKE_HBASE_HANG,             /* says nothing and reads nothing more, until the client closes */
    FAKE_HBASE_DROP,             /* closes the connection and executes nothing */
    FAKE_HBASE_DROP_AFTER,       /* executes and closes the connection */
    FAKE_HBASE_LATE,             /* executes and answers after fake_hbase_release */
    FAKE_HBASE_IO_ERROR,         /* TIOError that may be repeated; nothing is executed */
    FAKE_HBASE_IO_ERROR_AFTER,   /* the same after execution */
    FAKE_HBASE_FINAL_ERROR,      /* TIOError that must not be repeated; nothing is executed */
    FAKE_HBASE_ILLEGAL_ARGUMENT, /* TIllegalArgument; nothing is executed */
    FAKE_HBASE_SOME_ROWS, /* putMultiple, deleteMultiple: executes the first n_rows of them, then as FAKE_HBASE_IO_ERROR */
    FAKE_HBASE_FEWER_ROWS, /* getMultiple: executes and answers the first n_rows of them, as if there were no more */
    FAKE_HBASE_OTHER_ORDER, /* getMultiple: executes and answers the rows in reverse order */
    FAKE_HBASE_SAME_PAGE, /* getScannerResults: the rows from the beginning of the table on, whatever was asked */
    FAKE_HBASE_NO_STOP, /* openScanner: the scanner goes on to the end of the table */
    FAKE_HBASE_GARBAGE, /* executes and sends bytes that are no reply, then closes */
    FAKE_HBASE_HALF     /* executes, sends the first half of the reply, closes */
};
/* When a fault happens; all zero but the fault: to the next request, of any kind, once. */
struct fake_hbase_plan {
    enum fake_hbase_fault fault;
    bool of_call;              /* only to requests of this kind */
    enum sto_thrift_call call; /* that kind */
    unsigned skip;             /* so many of these requests are served well before */
    unsigned n;                /* so many are not; 0 = 1, UINT_MAX = all */
    size_t n_rows;             /* of FAKE_HBASE_SOME_ROWS and FAKE_HBASE_FEWER_ROWS */
};
/** Add a fault. Of several plans that apply the one that was added first wins. */
void fake_hbase_inject(struct fake_hbase *f, struct fake_hbase_plan plan);
/** Remove all faults that have not happened yet. Replies that are held back stay so. */
void fake_hbase_heal(struct fake_hbase *f);
/** Send the replies that FAKE_HBASE_LATE holds back. */
void fake_hbase_release(struct fake_hbase *f);
/** Wait until n faults have happened since the start; of those with _AFTER and of LATE the execution is over then. */
void fake_hbase_wait_faults(struct fake_hbase *f, uint64_t n);
/** Faults that have happened since the start. */
uint64_t fake_hbase_faults(struct fake_hbase *f);

#endif
