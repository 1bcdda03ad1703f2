/*
 * table.c - all codecs, by id.
 *
 * Invariant  row i has id i; ids are stored on disk and never reused for another codec
 */
#include "storage/codecs/seq_int.h"

static const struct sto_codec *const codecs[] = {
    &sto_codec_const, &sto_codec_step,   &sto_codec_plain, &sto_codec_delta,
    &sto_codec_gap,   &sto_codec_delta2, &sto_codec_line,  &sto_codec_rare,
};
_Static_assert(sizeof codecs / sizeof codecs[0] == STO_CODEC_COUNT, "a row for each id");

const struct sto_codec *sto_codec__get(uint8_t id)
{
    return id < STO_CODEC_COUNT ? codecs[id] : NULL;
}
