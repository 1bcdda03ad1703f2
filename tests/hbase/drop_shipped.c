/*
 * drop_shipped.c - removes from the folder of a daemon that does not run every file whose points the ship marks cover, however young they are.
 *
 *   drop_shipped FOLDER
 *
 * A daemon waits hbase_keep_local_h with that. What a mark covers is never sent again after this, so a mark that was set too early is a loss that a
 * test can see (kill.py).
 */
#include <stdio.h>
#include <string.h>

#include "storage/store.h"

static uint64_t n_files;

static void each(void *arg, const char *name, uint64_t value)
{
    (void)arg;
    if (strcmp(name, "files.count") == 0)
        n_files = value;
}

static uint64_t count_files(struct sto_store *st)
{
    sto_stats(st, each, NULL);
    return n_files;
}

int main(int argc, char **argv)
{
    struct sto_store *st;
    struct ts_error err = {0};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: drop_shipped FOLDER\n");
        return 2;
    }
    const struct sto_opts opts = {.dir = argv[1], .pumped = true, .no_background = true, .n_writers = 1};
    if (sto_open(&opts, &st, &err) < 0) {
        (void)fprintf(stderr, "drop_shipped: %s\n", err.text);
        return 1;
    }
    uint64_t before = count_files(st);
    int rc = sto_drop_shipped(st, INT64_MAX, &err);
    (void)printf("%llu of %llu files removed\n", (unsigned long long)(before - count_files(st)),
                 (unsigned long long)before);
    if (rc == 0)
        rc = sto_close(st, &err);
    if (rc < 0)
        (void)fprintf(stderr, "drop_shipped: %s\n", err.text);
    return rc < 0;
}
