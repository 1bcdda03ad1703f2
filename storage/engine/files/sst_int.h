/*
 * sst_int.h - an open pair of sorted files, shared by sst_read.c and sst_cur.c.
 */
#ifndef STORAGE_ENGINE_FILES_SST_INT_H
#define STORAGE_ENGINE_FILES_SST_INT_H

#include <stdatomic.h>

#include "storage/engine/files/index.h"
#include "storage/engine/files/sst_series.h"
#include "storage/engine/files/total.h"

/* One of the files. */
struct sto_sst__file {
    bool there;               /* it exists and its footer is valid; constant once sto_sst_open returns */
    char *path;               /* owned */
    struct sto_handle handle; /* reads it */
    uint64_t bytes;           /* its length */
    struct sto_index index;   /* locations of its blocks */
};

/* A kept total of an open pair (total.h). */
struct sto_sst__total {
    struct sto_sst__total *next; /* constant once it is in the list */
    struct sto_total_file shown; /* what others see of it */
    struct sto_sst__file file;   /* unless it is `none` */
    void *arrays;                /* of shown; owned */
    size_t memory_bytes;         /* of all this without the index */
    atomic_bool lost;            /* it is damaged, or its file was removed; never cleared */
    atomic_bool dropped;         /* no declaration was of these ids: it may be made anew; never cleared */
};

struct sto_sst {
    const struct ts_fs *fs;       /* borrowed */
    struct sto_sst__file t, s;    /* points, summaries */
    struct sto_sst__file d;       /* day summaries; valid if has_days */
    struct sto_sst_info info;     /* as the manifest has it */
    uint32_t rows_crc;            /* of the index of the points, and so of all checksums of blocks */
    struct sto_sst_series series; /* series with rows */
    struct sto_tomb *tombs;       /* n_tombs, sorted */
    size_t n_tombs;
    struct sto_sst_wear wear;  /* progress of deletes */
    unsigned level;            /* of zstd, from the footer */
    struct sto_pages *pages;   /* cache of index pages; borrowed, may be NULL */
    size_t memory_bytes;       /* of all this without the indexes */
    char *broken;              /* why it can't be read, owned; NULL if it can */
    atomic_uint refs;          /* the last unref frees */
    struct sto_sst_held *held; /* counts it from sto_sst_unlink_later on; borrowed, may be NULL */
    atomic_bool unlink_later;  /* the last unref unlinks the files, too */
    atomic_bool no_remake;     /* writing it anew failed; it is not tried again until the file is reopened */
    /* attempts of that kind that errors of the disk ended; under compact_mu of the engine */
    unsigned n_unread;
    atomic_bool index_lost; /* the index of the points is damaged; never cleared */
    atomic_bool sums_lost;  /* the summaries are damaged; never cleared */
    atomic_bool has_days;   /* d is open and will not change; never cleared */
    bool days_tried;        /* see sto_sst_days_tried */
    atomic_bool days_lost;  /* the day summaries are damaged; never cleared */
    /* kept totals, the newest first; members are added by one thread at a time and stay */
    _Atomic(struct sto_sst__total *) totals;
};

/** Read a block of a file into buf (b->len bytes) and check that it begins with the checksum in the index.
 * Any thread. */
int sto_sst__read_block(struct sto_sst__file *f, const struct sto_sst_block *b, uint8_t *buf,
                        struct ts_error *err);
/** The same for the bytes of a block that were read with others. */
int sto_sst__check_block(const struct sto_sst__file *f, const struct sto_sst_block *b, const uint8_t *bytes,
                         struct ts_error *err);
/** To be called after an error of the index of a file: if the index of the points is damaged, the file
 * must be written anew (remake.h), and err says so. A damaged index of summaries is left to
 * sto_sst_lose_sums. Returns rc. Any thread. */
int sto_sst__index_failed(struct sto_sst *sst, const struct sto_sst__file *f, int rc, struct ts_error *err);

/** A cursor over a file of summaries of sst, as sto_sst_cur_new. */
struct sto_sst_cur *sto_sst__cur_of(struct sto_sst *sst, struct sto_sst__file *f, enum sto_sst_what what,
                                    struct sto_sst_share *share);
/** Free the kept totals when the last reference is removed, and unlink their files if unlink_them. */
void sto_sst__totals_free(struct sto_sst *sst, bool unlink_them);
/** Memory of the kept totals; bytes of their files. Any thread. */
size_t sto_sst__totals_memory(struct sto_sst *sst);
uint64_t sto_sst__totals_bytes(const struct sto_sst *sst);

#endif
