/*
 * importbulk.h - tsd import --bulk: put lines are parsed by all cores, sorted beside the store, and handed over at once.
 *
 *   import.c > importformat.c > importbulk.c (order, position, runs) > importbulk_parse.c (blocks of lines on a pool)
 *                                     > storage/bulk.h (sorting) and importbulk_store.c (a daemon, or a folder)
 *
 * Threads    the main thread, and a pool that parses and sorts
 */
#ifndef TSD_COMMANDS_IMPORTBULK_H
#define TSD_COMMANDS_IMPORTBULK_H

#include <pthread.h>

#include "tsd/commands/answer.h"
#include "tsd/commands/import.h"
#include "tsd/protocols/line/put.h"

/* --- importbulk_parse.c: blocks of lines --- */

/* Lines that are parsed together. */
struct tsd_bulk_block {
    char *text; /* lines, n_bytes of them and TSD_INPUT_PAD behind; owned, kept from block to block */
    size_t n_bytes, cap_text;
    const char *file;  /* borrowed to the end */
    size_t file_index; /* of the command's files */
    uint64_t first;    /* number of the first line, in its file */
    uint64_t *line_of; /* number of each line in its file; owned; NULL: first and those that follow */
    uint64_t
        n_other_bad; /* lines refused before the file, and those that the format of earlier files refused */
    uint64_t n_lines_done;       /* put lines of the file up to the end of the block */
    struct sto_bulk_chunk chunk; /* its points */
    struct ts_buf bad;           /* for each refused line: number, length of the reason, reason */
    uint64_t n_points;
    bool done; /* parsed; under the mutex of the parsers */
};

/* What one thread parses with. */
struct tsd_bulk_parser {
    struct tsd_ingest in;
    struct tsd_ingest_sink sink;
    struct tsd_chain chain;
    struct sto_batch *batch;      /* owned */
    struct tsd_bulk_block *block; /* at hand */
};

struct tsd_bulk_parsers {
    struct tsd_rules rules;
    struct sto_catalog *cat;       /* of the names that were seen; borrowed */
    struct ts_pool *pool;          /* borrowed */
    struct tsd_bulk_parser *all;   /* n; owned */
    struct tsd_bulk_parser **idle; /* n_idle; owned */
    unsigned n, n_idle;
    struct sto_bulk_chunk *spares; /* memory of chunks that are sorted, for the next ones; owned */
    size_t n_spares, cap_spares;
    pthread_mutex_t mu; /* protects idle, spares, and done of blocks */
    pthread_cond_t cond;
};

/** Make n parsers; p->rules, cat and pool are set. cache_bytes: of texts, for each. */
void tsd_bulk_parsers_init(struct tsd_bulk_parsers *p, unsigned n, size_t cache_bytes);
/** Release; no block is being parsed. */
void tsd_bulk_parsers_release(struct tsd_bulk_parsers *p);
/** Keep the memory of a chunk whose points are not needed any more, and empty the chunk. */
void tsd_bulk_spare_give(struct tsd_bulk_parsers *p, struct sto_bulk_chunk *c);
/** Free what was kept. */
void tsd_bulk_spares_release(struct tsd_bulk_parsers *p);
/** Parse a block on the pool. */
void tsd_bulk_parse(struct tsd_bulk_parsers *p, struct tsd_bulk_block *b);
/** Wait until a block is parsed. */
void tsd_bulk_await(struct tsd_bulk_parsers *p, struct tsd_bulk_block *b);
/** Count its refused lines, and list them. */
void tsd_bulk_report(struct tsd_import *im, const struct tsd_bulk_block *b);
/** Copy lines into a block. */
void tsd_bulk_block_fill(struct tsd_bulk_block *b, struct ts_slice lines);
/** Empty a block; its memory for lines stays. */
void tsd_bulk_block_clear(struct tsd_bulk_block *b);
/** Release what a block owns. */
void tsd_bulk_block_release(struct tsd_bulk_block *b);

/* --- importbulk_ahead.c: the input that comes next --- */

/* What asks for it. {0}: nothing does. */
struct tsd_bulk_ahead {
    const char *const *paths; /* of the files, n; borrowed */
    size_t n;
    uint64_t *
        begin; /* where each begins in the sequence of all, n + 1; owned. What is no file of the disk has no bytes */
    uint64_t window; /* bytes */
    uint64_t at;     /* how far the importer is, in the sequence; under mu */
    _Atomic bool ends;
    bool runs; /* the thread was started */
    pthread_t thread;
    pthread_mutex_t mu;
    pthread_cond_t cond;
};

/** Start. paths: n names of files, borrowed until the end; window: so many bytes may be in the page cache before they are needed. */
void tsd_bulk_ahead_start(struct tsd_bulk_ahead *a, const char *const *paths, size_t n, uint64_t window);
/** The importer has read up to byte `at` of a file. */
void tsd_bulk_ahead_at(struct tsd_bulk_ahead *a, size_t file, uint64_t at);
/** Stop; idempotent. */
void tsd_bulk_ahead_stop(struct tsd_bulk_ahead *a);

/* --- importbulk_id.c --- */

/** The id of a bulk load: the same command with the same files gets the same one; what can't be read again gets one of its own. TS_EIO.
 * *out_command: a number of the command and the paths of its files, which stays if the files change; 0: they cannot be read again. */
int tsd_bulk_identify(const struct tsd_args *args, char out_id[STO_BULK_ID_CHARS + 1], uint64_t *out_command,
                      struct ts_error *err);

/* --- importbulk_store.c: the store that gets the files --- */

struct tsd_bulk_store {
    const struct tsd_args *args;
    struct sto_store *local; /* --data; NULL: a daemon */
    struct tsd_rules rules;  /* of names, times and tags */
    char id[STO_BULK_ID_CHARS + 1];
};

/** Open the folder of --data, or nothing; s->args is set. Errors as tsd_local_open. */
int tsd_bulk_store_open(struct tsd_bulk_store *s, enum tsd_local how, struct ts_error *err);
/** Close it. */
int tsd_bulk_store_close(struct tsd_bulk_store *s, struct ts_error *err);
/** As sto_bulk_begin; fills s->rules too. TS_EINVAL: the folder is not on this machine, or may not be written to. */
int tsd_bulk_store_begin(struct tsd_bulk_store *s, struct sto_bulk_place *out, struct ts_error *err);
/** As tsd_bulk_names. */
int tsd_bulk_store_names(struct tsd_bulk_store *s, struct ts_slice lines, struct ts_buf *out,
                         struct ts_error *err);
/** As sto_bulk_touch. A daemon that cannot be reached, or that refuses the request for a while, is no error. Threads: any. */
int tsd_bulk_store_touch(struct tsd_bulk_store *s, struct ts_error *err);
/** Does the command replace what --series, --from and --to choose? */
bool tsd_bulk_store_replaces(const struct tsd_bulk_store *s);
/** As sto_bulk_hand_over, or as sto_bulk_replace if the command replaces; *out_deleted: points that were there. */
int tsd_bulk_store_take(struct tsd_bulk_store *s, const struct sto_bulk_sum *sum, uint64_t *out_deleted,
                        struct ts_error *err);
/** As sto_bulk_end. */
int tsd_bulk_store_end(struct tsd_bulk_store *s, struct sto_bulk_ended *out, struct ts_error *err);
/** As sto_bulk_list. */
int tsd_bulk_store_list(struct tsd_bulk_store *s, struct sto_bulk_load out[STO_BULK_MAX], size_t *out_n,
                        struct ts_error *err);

/* --- importbulk_left.c: what is left of an import that has not ended --- */

/* How far an import has come. */
struct tsd_bulk_left {
    uint64_t n_kept;  /* points that are sorted and on disk */
    bool replaces;    /* it is tsd replace */
    const char *dir;  /* its folder; borrowed */
    uint64_t command; /* of tsd_bulk_identify */
};

/** Say what is kept after err, and how to go on; remove the folder after Ctrl-C if nothing in it can be used again. */
void tsd_bulk_explain_end(struct tsd_bulk_store *s, const struct tsd_bulk_left *left, struct ts_error *err);
/** Say how to begin again, if err is that a file of the bulk load is damaged: no repeat would get past it. */
void tsd_bulk_explain_damage(const struct tsd_bulk_store *s, const struct ts_error *err);
/** Say that there are folders of the same command whose files have changed since, and how to remove them. */
void tsd_bulk_tell_others(struct tsd_bulk_store *s, const struct tsd_bulk_left *left);

/* --- importbulk_list.c: for the operator --- */

/** Run the command with --list, or with --cancel ID. Returns the exit code. */
int tsd_import_bulk_manage(const struct tsd_args *args);

/** The sink. */
extern const struct tsd_import_to tsd_import_bulk;
/** What --bulk-memory says, or its default. TSD_EXIT_OK, or TSD_EXIT_USAGE after printing what is wrong. */
int tsd_bulk_memory(const struct tsd_args *args, uint64_t *out_bytes);

#endif
