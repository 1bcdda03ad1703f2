/*
 * fuzz_block.c - blocks of rows: the decoder on any bytes, and encoder and decoder against each other.
 *
 * Input      fuzz_rows.h
 * Checked    no crash, nothing read or written out of bounds; errors have a code and a text
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/codecs/codec.h"
#include "tests/fuzz/fuzz_rows.h"

/* Same cell? A decimal may come back with more digits, or as the bits of its double. */
static bool same_cell(uint32_t meta_a, int64_t m_a, uint32_t meta_b, int64_t m_b)
{
    if (meta_a == meta_b && m_a == m_b)
        return true;
    if (((meta_a ^ meta_b) & ~(STO_META_EXP_MASK | STO_META_KIND_MASK)) ||
        sto_meta_kind(meta_a) != TS_NUM_DEC || sto_meta_kind(meta_b) == TS_NUM_INT)
        return false;
    double a = ts_num_double(sto_cell_num(meta_a, m_a)), b = ts_num_double(sto_cell_num(meta_b, m_b));
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Decode all; rows must be sorted. */
static void decode(struct ts_slice block)
{
    struct sto_dec *d = sto_dec_new();
    struct sto_cells c = {0};
    struct ts_error err = {0};
    int rc = sto_dec_open(d, block, &err);
    for (uint32_t i = 0; rc == 0 && i < sto_dec_n_rows(d); i++) {
        const struct sto_dec_row *row = sto_dec_row_at(d, i);
        rc = sto_dec_cells(d, i, &c, &err);
        if (rc == 0)
            CHECK(c.n == row->n && c.n >= 1 && c.n <= STO_BLOCK_MAX_POINTS);
        uint64_t sum = 0;
        for (uint32_t k = 0; rc == 0 && k < c.n; k++) /* touch all of it */
            sum += c.meta[k] ^ (uint64_t)c.m[k];
        __asm__ volatile("" : : "r"(sum)); /* and mean it */
    }
    if (rc < 0)
        CHECK((rc == TS_ECORRUPT || rc == TS_EVERSION || rc == TS_ENOMEM || rc == TS_ELIMIT) &&
              err.code == rc && err.text[0]);
    sto_cells_release(&c);
    sto_dec_free(d);
}

/* Rows as described into the encoder; keeps them for the comparison. */
static uint32_t encode(struct input *in, struct sto_enc *e, struct sto_key *keys, struct sto_cells *rows)
{
    struct sto_key key = {.metric = 1, .series = 1, .hour = -5};
    uint32_t n_rows = next8(in) % BLOCK_MAX_ROWS + 1, i;
    for (i = 0; i < n_rows && in->p < in->end && sto_enc_points(e) < STO_BLOCK_POINTS; i++) {
        next_key(in, &key);
        make_row(in, &rows[i]);
        keys[i] = key;
        sto_enc_row(e, &key, &rows[i]);
    }
    return i;
}

/* What was encoded is what comes back. */
static void compare(struct ts_slice block, uint32_t n_rows, const struct sto_key *keys,
                    const struct sto_cells *rows)
{
    struct sto_dec *d = sto_dec_new();
    struct sto_cells c = {0};
    CHECK(sto_dec_open(d, block, NULL) == 0 && sto_dec_n_rows(d) == n_rows);
    for (uint32_t i = n_rows; i-- > 0;) { /* any order will do */
        const struct sto_dec_row *row = sto_dec_row_at(d, i);
        CHECK(sto_key_cmp(&row->key, &keys[i]) == 0 && row->n == rows[i].n);
        CHECK(sto_dec_cells(d, i, &c, NULL) == 0 && c.n == rows[i].n);
        for (uint32_t k = 0; k < c.n; k++) {
            CHECK(same_cell(rows[i].meta[k], rows[i].m[k], c.meta[k], c.m[k]));
            CHECK(!c.uniform || (c.meta[k] & STO_META_FLAGS_MASK) == c.common);
        }
    }
    sto_cells_release(&c);
    sto_dec_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in;
    if (!rows_described(data, n, decode, &in))
        return 0;
    struct sto_key keys[BLOCK_MAX_ROWS];
    struct sto_cells rows[BLOCK_MAX_ROWS] = {{0}};
    struct sto_enc *e = sto_enc_new();
    sto_enc_set_level(e, data[0] & 0x40 ? STO_LEVEL_ROUGH : 0);
    uint32_t n_rows = encode(&in, e, keys, rows);
    if (n_rows) {
        struct ts_slice block = sto_enc_finish(e);
        if ((data[0] & 3) == 1)
            compare(block, n_rows, keys, rows);
        else
            damage_block(&in, block, decode);
    }
    for (uint32_t i = 0; i < BLOCK_MAX_ROWS; i++)
        sto_cells_release(&rows[i]);
    sto_enc_free(e);
    return 0;
}
