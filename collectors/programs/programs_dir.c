/*
 * programs_dir.c - looks through the interval folders.
 *
 * Threads    see programs_dir.h
 */
#include "collectors/programs/programs_dir.h"

#include "base/array.h"
#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/core/source.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool list_has(const struct col_program_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->p[i].name, name))
            return true;
    return false;
}

static struct col_program_file *list_add(struct col_program_list *l, const char *name, const char *path,
                                         unsigned interval_s)
{
    TS_ARRAY_GROW(l->p, l->n, l->cap, 16);
    l->p[l->n] = (struct col_program_file){
        .name = ts_xstrdup(name), .path = ts_xstrdup(path), .interval_s = interval_s};
    return &l->p[l->n++];
}

/* --- folder --- */

/* A walk through the folder. */
struct walk {
    const char *folder;            /* given */
    struct col_program_list *list; /* gets programs */
    unsigned *intervals;           /* owned; names of interval folders */
    size_t n_intervals, cap;       /* entries */
    unsigned interval_s;           /* folder looked through */
    bool safe;                     /* only root and we may change what is in it */
    struct ts_error *err;          /* of a folder that can't be listed; may be NULL */
    int rc;                        /* its code */
};

static int walk_interval(void *arg, const char *name)
{
    struct walk *w = arg;
    uint64_t v;
    if (!col_u64_of(ts_slice_str(name), &v) || v > COL_PROGRAMS_INTERVAL_MAX_S || (*name == '0' && name[1]))
        return 0;
    TS_ARRAY_GROW(w->intervals, w->n_intervals, w->cap, 8);
    w->intervals[w->n_intervals++] = (unsigned)v;
    return 0;
}

/* May only root and we change it? Who may write a folder may put another file in its place. */
static bool walk_safe(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & S_IWOTH);
}

static bool walk_safe_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && walk_safe(&st);
}

static int walk_file(void *arg, const char *name)
{
    struct walk *w = arg;
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/%u/%s", w->folder, w->interval_s, name);
    if (*name == '.' || n < 0 || (size_t)n >= sizeof(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (access(path, X_OK) < 0) {
        w->list->n_not_executable++;
        (void)snprintf(w->list->not_executable, sizeof(w->list->not_executable), "%u/%s", w->interval_s,
                       name);
    } else if (!w->safe || !walk_safe(&st)) {
        w->list->n_unsafe++;
        (void)snprintf(w->list->unsafe, sizeof(w->list->unsafe), "%u/%s", w->interval_s, name);
    } else if (list_has(w->list, name)) {
        w->list->n_twice++;
        (void)snprintf(w->list->twice, sizeof(w->list->twice), "%u/%s", w->interval_s, name);
    } else {
        list_add(w->list, name, path, w->interval_s)->changed_ns =
            (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    }
    return 0;
}

static int interval_cmp(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

int col_programs_scan(const char *folder, struct col_program_list *list, struct ts_error *err)
{
    struct walk w = {.folder = folder, .list = list};
    int rc = col_source_list("", folder, walk_interval, &w, err);
    if (w.n_intervals > 1)
        qsort(w.intervals, w.n_intervals, sizeof(*w.intervals), interval_cmp);
    for (size_t i = 0; rc >= 0 && i < w.n_intervals; i++) {
        char path[PATH_MAX];
        w.interval_s = w.intervals[i];
        int n = snprintf(path, sizeof(path), "%s/%u", folder, w.interval_s);
        /* a plain file with a number for its name, or a folder that vanished */
        w.safe = walk_safe_folder(folder) && walk_safe_folder(path);
        if (n > 0 && (size_t)n < sizeof(path))
            (void)col_source_list("", path, walk_file, &w, NULL);
    }
    ts_free(w.intervals);
    return rc < 0 ? rc : 0;
}

/* --- commands --- */

/* Name of a command: its first word without folders, with a number behind it if there is one already. */
static void command_add(struct col_program_list *l, struct ts_slice command, unsigned interval_s)
{
    char name[80], path[4096];
    struct ts_slice rest = command, word = {"", 0};
    (void)col_word_next(&rest, &word);
    const char *slash = memrchr(word.p, '/', word.n);
    if (slash && slash + 1 < word.p + word.n)
        word = (struct ts_slice){slash + 1, (size_t)(word.p + word.n - slash - 1)};
    (void)snprintf(name, sizeof(name), "%.*s", word.n < 60 ? (int)word.n : 60, word.p);
    for (unsigned i = 2; list_has(l, name); i++)
        (void)snprintf(name, sizeof(name), "%.*s-%u", word.n < 60 ? (int)word.n : 60, word.p, i);
    (void)snprintf(path, sizeof(path), "%.*s", (int)command.n, command.p);
    list_add(l, name, path, interval_s)->shell = 1;
}

int col_programs_commands(const char *text, struct col_program_list *list, struct ts_error *err)
{
    struct ts_slice part;
    while (col_list_next(&text, ';', &part)) {
        struct ts_slice rest = part;
        uint64_t interval_s;
        if (!col_u64_next(&rest, &interval_s) || interval_s > COL_PROGRAMS_INTERVAL_MAX_S ||
            !(rest = col_trim(rest)).n || rest.n >= 4096)
            return ts_error_set(err, TS_EINVAL,
                                "collect_commands: \"%.*s\" is no interval in seconds and a command",
                                part.n < 100 ? (int)part.n : 100, part.p);
        if (list)
            command_add(list, rest, (unsigned)interval_s);
    }
    return 0;
}

void col_programs_release(struct col_program_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        ts_free(list->p[i].name);
        ts_free(list->p[i].path);
    }
    ts_free(list->p);
    *list = (struct col_program_list){.p = NULL};
}
