/*
 * importbulk_id.c - which bulk load this is: the same command with the same files continues the one that was interrupted.
 *
 * Threads    the main thread
 */
#include "tsd/commands/importbulk.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/hash.h"

/* Mix bytes into a hash that is the same in every version. */
static uint64_t bulk_mix(uint64_t h, const void *p, size_t n)
{
    const uint8_t *b = p;
    h = ts_hash_u64(h ^ n);
    for (size_t i = 0; i < n; i++)
        h = ts_hash_u64(h ^ b[i]) + i;
    return h;
}

/* Mix a file into h, and its path alone into *command. */
static uint64_t bulk_mix_file(uint64_t h, const char *path, uint64_t *command, bool *out_again)
{
    struct stat st;
    char real[PATH_MAX];
    if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !realpath(path, real)) {
        *out_again = false;
        return h;
    }
    uint64_t facts[] = {(uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec,
                        (uint64_t)st.st_ino};
    *command = bulk_mix(*command, real, strlen(real));
    return bulk_mix(bulk_mix(h, real, strlen(real)), facts, sizeof facts);
}

int tsd_bulk_identify(const struct tsd_args *args, char out_id[STO_BULK_ID_CHARS + 1], uint64_t *out_command,
                      struct ts_error *err)
{
    static const char *const counts[] = {"format",  "csv",  "fixed",     "delimiter", "skip",
                                         "missing", "tag",  "time-unit", "tz",        "max-line",
                                         "series",  "from", "to"};
    uint64_t h = 1, command = 1;
    bool again = true;
    for (size_t i = 0; i < args->n_words; i++)
        h = bulk_mix_file(h, args->words[i], &command, &again);
    for (unsigned i = 0; i < args->n_uses; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            if (args->uses[i].name && strcmp(args->uses[i].name, counts[k]) == 0) {
                const char *value = args->uses[i].value ? args->uses[i].value : "";
                h = bulk_mix(h, counts[k], strlen(counts[k]));
                h = args->uses[i].value ? bulk_mix(h, value, strlen(value)) : h;
                command = bulk_mix(bulk_mix(command, counts[k], strlen(counts[k])), value, strlen(value));
            }
    if (!again && getrandom(&h, sizeof h, 0) != (ssize_t)sizeof h)
        return ts_error_set(err, TS_EIO, "cannot get random numbers");
    *out_command = again ? command | 1 : 0;
    (void)snprintf(out_id, STO_BULK_ID_CHARS + 1, "%016" PRIx64, h);
    return 0;
}
