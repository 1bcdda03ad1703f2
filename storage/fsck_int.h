/*
 * fsck_int.h - state of a running check, shared by fsck.c, fsck_logs.c, fsck_files.c, fsck_merge.c, fsck_bulk.c
 * and fsck_repair.c.
 */
#ifndef STORAGE_FSCK_INT_H
#define STORAGE_FSCK_INT_H

#include "storage/catalog/catalog.h"
#include "storage/engine/check/fsck_file.h"
#include "storage/engine/files/days.h"
#include "storage/engine/handover_record.h"
#include "storage/engine/log/wal.h"
#include "storage/engine/manifest.h"
#include "storage/engine/unfinished.h"
#include "storage/fsck.h"
#include "storage/fsck_view.h"

enum sto_fsck__log { STO_FSCK_MANIFEST, STO_FSCK_CATALOG, STO_FSCK_CELLS, STO_FSCK_N_LOGS };

/* One of the record logs and its copy. */
struct sto_fsck__reclog {
    char *path, *copy_path; /* owned */
    struct ts_buf whole;    /* a log made of every good record of the two; empty: nothing can be read */
    bool bad, copy_bad;     /* the log, or its copy, differs from whole */
    bool holes;             /* records are lost in both */
};

/* A sorted file that the manifest lists, or that a rebuilt manifest will list. */
struct sto_fsck__file {
    struct sto_sst_info info;
    bool damaged;
    bool bad_days;                      /* its day summaries are not those of its points */
    uint64_t n_rows, n_points, n_tombs; /* read by the check */
};

/* A series of files that the catalog does not know. */
struct sto_fsck__unnamed {
    uint32_t series, metric;
};

/* A part of the write-ahead log that the check could not read. */
struct sto_fsck__bad_part {
    char *path;      /* of the segment; owned */
    uint64_t off, n; /* n UINT64_MAX: any part of the segment */
    bool must_move;  /* the segment can't be copied */
};

struct sto_fsck {
    struct sto_fsck_opts opts;
    struct sto_fsck_result *out;
    const struct ts_fs *fs;
    char *wal_dir, *files_dir; /* owned */
    uint64_t all_bytes;        /* bytes that the check will read, an estimate; for progress */
    struct sto_fsck__reclog logs[STO_FSCK_N_LOGS];
    struct sto_fsck_view *view; /* the file system, with repaired logs in place of damaged ones */

    uint32_t n_shards, run;
    uint64_t flushed_gen, next_file_no;
    int64_t cutoff_ms;           /* cutoff of a rebuilt manifest: points before it, */
    uint64_t cutoff_gen;         /* of generations below this one, were removed by retention; 0 = not known */
    bool bad_retention;          /* DIR/RETENTION is damaged */
    bool bad_rules, bad_floors;  /* so are DIR/RULES, DIR/FLOORS, */
    bool bad_quota, bad_aged;    /* DIR/QUOTA, and DIR/AGED */
    struct sto_unfinished merge; /* an interrupted merge; owned */
    bool has_merge, bad_merge;   /* its record can be read; its record is damaged or can't be read */
    bool unread_merge;           /* its record can't be read */
    bool merge_fits;             /* it can continue: its finished files stay, and are not part of the store */
    struct sto_handover_record bulk; /* a hand-over of bulk files that is not noted as done; owned */
    bool bulk_done;                  /* its files are part of the store */
    bool bad_bulk;                   /* its record can't be read */
    bool manifest_rebuilt;           /* made from the footers of the files */
    struct sto_fsck__file *files;
    size_t n_files, cap_files;

    struct sto_catalog *cat; /* read through the view, with the names of the write-ahead log added */
    bool catalog_lost;    /* records of it could not be applied, or it ends before the series of the files */
    uint64_t catalog_end; /* series that its own records define have numbers below this */
    uint64_t files_end;   /* numbers of series in files are below this */
    struct sto_fsck__unnamed *unnamed; /* each series once; owned */
    roaring_bitmap_t *unnamed_ids;     /* their numbers; owned, NULL = none yet */
    size_t n_unnamed, cap_unnamed;

    struct sto_wal_salvage_result wal;
    struct sto_fsck__bad_part *bad_parts; /* those of a segment follow each other; owned */
    size_t n_bad_parts;

    char **bad_totals; /* paths of kept totals that are not those of their points; owned */
    size_t n_bad_totals;

    struct sto_fsck__file *at; /* file being walked */
    char *at_path;             /* path of its .t file; owned */
};

/** Report a finding. */
void sto_fsck__find(struct sto_fsck *k, enum sto_finding_kind kind, const char *path, uint64_t off,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/** Report lost points; series UINT32_MAX: not known. */
void sto_fsck__lost(struct sto_fsck *k, const char *path, uint32_t metric, uint32_t series, int64_t from_ms,
                    int64_t to_ms, uint64_t n_points, const char *text);
/** Count n_bytes more as read, and report progress. */
void sto_fsck__read_bytes(struct sto_fsck *k, uint64_t n_bytes);

/* fsck_logs.c */
/** Read the three record logs and their copies, and make the view. */
int sto_fsck__logs(struct sto_fsck *k, struct ts_error *err);
/* fsck_files.c */
/** Fill `files` from the manifest, or from the folder if the manifest can't be read. */
int sto_fsck__list_files(struct sto_fsck *k, struct ts_error *err);
/** Read all files. */
int sto_fsck__files(struct sto_fsck *k, struct ts_error *err);
/* fsck_totals.c */
/** Compare kept totals with the points of their files, as far as those are not damaged. Errors of listing the folder. */
int sto_fsck__totals(struct sto_fsck *k, struct ts_error *err);
/** Set those aside that differ. */
int sto_fsck__drop_totals(struct sto_fsck *k, struct ts_error *err);
/** Release what the check has noted. */
void sto_fsck__totals_release(struct sto_fsck *k);
/* fsck_merge.c */
/** Read the record of an unfinished merge, before the list of files is made. */
int sto_fsck__read_merge(struct sto_fsck *k, struct ts_error *err);
/** Set merge_fits: can the merge continue with the files of k and this cutoff? */
void sto_fsck__fit_merge(struct sto_fsck *k, int64_t cutoff_ms, uint64_t cutoff_gen);
/** The same without a manifest: the folder has files with these numbers. TS_EIO: the record can't be read. */
int sto_fsck__fit_merge_to(struct sto_fsck *k, const uint64_t *numbers, size_t n, struct ts_error *err);
/** Is it a finished file of a merge that can continue? */
bool sto_fsck__is_merging(const struct sto_fsck *k, uint64_t file_no);
/** Read the finished files of the merge. */
int sto_fsck__merge_files(struct sto_fsck *k, struct ts_error *err);
/** Remove the record; the next start removes its files. */
int sto_fsck__drop_merge(struct sto_fsck *k, struct ts_error *err);
/* fsck_bulk.c */
/** Read the record of a hand-over of bulk files, before the list of files is made. */
int sto_fsck__read_bulk(struct sto_fsck *k, struct ts_error *err);
/** Set bulk_done by the manifest. */
void sto_fsck__fit_bulk(struct sto_fsck *k);
/** The same without a manifest: the folder has files with these numbers. flushed_gen may grow. */
void sto_fsck__fit_bulk_to(struct sto_fsck *k, const uint64_t *numbers, size_t n);
/** Is it a copy of a hand-over that was not completed? */
bool sto_fsck__is_bulk(const struct sto_fsck *k, uint64_t file_no);
/** Move the record and the copies of such a hand-over to DIR/damaged, before a repair calls anything flushed; also a damaged record. */
int sto_fsck__drop_bulk(struct sto_fsck *k, struct ts_error *err);
/* fsck_files.c */
/** Report files that the manifest does not list. */
int sto_fsck__strays(struct sto_fsck *k, struct ts_error *err);
/* fsck_repair.c */
/** Move a file into DIR/damaged; a missing file is no error. */
int sto_fsck__move_aside(struct sto_fsck *k, const char *path, struct ts_error *err);
/** Repair what the check has found. */
int sto_fsck__repair(struct sto_fsck *k, struct ts_error *err);

#endif
