/*
 * fsck_int.h - one file of a pair while it is checked: shared by fsck_file.c and fsck_blocks.c.
 */
#ifndef STORAGE_ENGINE_CHECK_FSCK_INT_H
#define STORAGE_ENGINE_CHECK_FSCK_INT_H

#include "storage/codecs/codec.h"
#include "storage/codecs/sums.h"
#include "storage/engine/check/fsck_file.h"
#include "storage/engine/files/sst_format.h"

/* State of a walk. */
struct sto_fsck__walk {
    const struct ts_fs *fs;
    const struct sto_sst_info *want; /* NULL: there is no manifest */
    const struct sto_fsck_file_ops *ops;
    void *arg;
    struct sto_fsck_file *out;
};

/* One of the two files. */
struct sto_fsck__one {
    struct sto_fsck__walk *w;
    enum sto_sst_kind kind;
    char *path;                   /* owned */
    struct ts_file *file;         /* NULL: it can't be opened */
    uint64_t bytes;               /* its length */
    bool has_footer;              /* foot is valid */
    struct sto_sst_footer foot;   /* if has_footer */
    struct sto_sst_block *blocks; /* n_blocks, from the index or found by a search; owned */
    uint32_t n_blocks, cap_blocks;
    bool indexed; /* blocks are from the index */
    uint8_t *buf; /* bytes of a block; owned */
    size_t cap;   /* of buf */
    struct sto_dec *dec;
    struct sto_sums_dec *sums;
};

/** Report that something is wrong. */
void sto_fsck__damage(struct sto_fsck__one *f, uint64_t off, const char *what);
/** Read bytes of the file to p, with a second attempt after an error. 0, TS_ECORRUPT (the file is cut off, or
 * the disk can't read it, which sto_fsck_file.unread remembers), TS_ENOMEM. */
int sto_fsck__read(struct sto_fsck__one *f, void *p, size_t n, uint64_t off);
/** Open a file and read header, footer, index; damage is reported. 0, TS_ENOMEM, TS_EMFILE. */
int sto_fsck__open(struct sto_fsck__one *f, const char *dir, uint64_t file_no, struct ts_error *err);
/** Close the file and free what belongs to it. */
void sto_fsck__close(struct sto_fsck__one *f);
/** Decode block i into f->dec or f->sums: 0, TS_ECORRUPT with a text. */
int sto_fsck__load(struct sto_fsck__one *f, uint32_t i, struct ts_error *err);
/** Read the section [off, end) and check its checksum; free out->p with ts_free. 0, TS_ECORRUPT,
 * TS_ENOMEM. */
int sto_fsck__section(struct sto_fsck__one *f, uint64_t off, uint64_t end, uint32_t crc,
                      struct ts_slice *out);
/** Find the blocks of a file whose index is damaged. 0, TS_ENOMEM. */
int sto_fsck__search(struct sto_fsck__one *f, struct ts_error *err);

#endif
