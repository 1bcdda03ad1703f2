/*
 * faultfs_int.h - structures shared by faultfs.c (calls, faults), faultctl.c (the tests'
 * side) and faultdisk.c (what is on the disk).
 *
 * Threads    all under t_faultfs.mu
 */
#ifndef TESTS_FAULTS_FAULTFS_INT_H
#define TESTS_FAULTS_FAULTFS_INT_H

#include "tests/faults/faultfs.h"

#include <pthread.h>

#define T_N_OPS 14
#define T_N_BAD 8 /* unreadable places of a file, at most */

/* A file or folder, named by any number of entries. */
struct t_inode {
    uint64_t serial;             /* of no other one in the process; not 0 */
    unsigned refs;               /* entries in both tables, pending changes, handles */
    bool is_dir;                 /* folders have no bytes */
    const struct ts_file *owner; /* handle that holds the lock; NULL = none */
    uint8_t *now, *disk;         /* bytes as seen, and on disk; both have cap bytes, zeros behind the end */
    size_t now_n, disk_n, cap;   /* lengths, room */
    uint8_t *dirty;              /* by page, cap / page of them: seen and disk may differ */
    struct {
        uint64_t off, n;
    } bad[T_N_BAD]; /* parts that can't be read */
    unsigned n_bad; /* length */
};

/* A name. */
struct t_entry {
    char *path;          /* owned */
    struct t_inode *ino; /* one reference */
};

/* Names, in byte order. */
struct t_table {
    struct t_entry *v;
    size_t n, cap;
};

/* A change of a folder that is not on disk yet. Either part may be missing; a rename has both. */
struct t_pending {
    char *dir;           /* the folder to be synced; owned */
    char *del_path;      /* name that goes; owned, NULL = none */
    char *set_path;      /* name that comes; owned, NULL = none */
    struct t_inode *ino; /* what it names; one reference */
};

struct ts_file {
    struct t_faultfs *f;
    struct t_inode *ino;         /* one reference */
    char *path;                  /* as opened, for texts; owned */
    bool can_write;              /* not TS_OPEN_READ or TS_OPEN_REOPEN */
    uint64_t epoch;              /* of the file system when opened; an older one is dead */
    bool sync_failed;            /* a sync of it was answered with an error */
    struct ts_file *prev, *next; /* all open handles */
};

struct t_faultfs {
    struct ts_fs fs; /* first: calls get a pointer to it */
    pthread_mutex_t mu;
    uint64_t rand;            /* state of t_rand */
    size_t page;              /* bytes */
    uint64_t capacity;        /* bytes, 0 = no limit */
    uint64_t epoch;           /* counts reboots */
    bool off;                 /* no power */
    unsigned writeback_pm;    /* chance of a write-back after a change, in 1,000 */
    t_hook_fn hook;           /* called around calls, without mu; NULL = none */
    void *hook_arg;           /* its first argument */
    struct t_table now, disk; /* names as seen, and on disk */
    struct t_pending *pending;
    size_t n_pending, pending_cap;
    struct t_fault_plan plan;
    uint64_t n_planned; /* calls counted for the plan */
    bool fired;
    uint64_t n_calls[T_N_OPS];
    uint64_t n_synced_again; /* syncs of handles of which one had failed */
    struct ts_file *open;    /* list of handles */
};

/* faultfs.c; with mu held */
/** Is there such a folder, as seen now? */
bool t_has_dir(const struct t_faultfs *f, const char *dir);
/* faultdisk.c; all with mu held */
struct t_inode *t_inode_new(bool is_dir);
struct t_inode *t_inode_ref(struct t_inode *ino);
void t_inode_unref(struct t_inode *ino);
void t_inode_resize(struct t_faultfs *f, struct t_inode *ino, size_t n);
void t_inode_append(struct t_faultfs *f, struct t_inode *ino, const void *p, size_t n);
void t_inode_sync(struct t_faultfs *f, struct t_inode *ino, bool fails);
struct t_entry *t_table_find(const struct t_table *t, const char *path);
void t_table_set(struct t_table *t, const char *path, struct t_inode *ino);
void t_table_del(struct t_table *t, const char *path);
void t_table_clear(struct t_table *t);
/** Change of names as seen now; pending until its folder is synced. */
void t_change(struct t_faultfs *f, const char *del_path, const char *set_path, struct t_inode *ino);
void t_sync_dir(struct t_faultfs *f, const char *dir);
void t_pending_clear(struct t_faultfs *f);
/** Folder of a path; ts_free it. */
char *t_dir_of(const char *path);
/** Some of what is not on disk goes there: the oldest changes of names, pages and length of ino (may be NULL). */
void t_writeback(struct t_faultfs *f, struct t_inode *ino);
/** Decide what is left, and make it what is seen. */
void t_settle(struct t_faultfs *f, enum t_keep keep);
uint64_t t_used_bytes(const struct t_faultfs *f);

#endif
