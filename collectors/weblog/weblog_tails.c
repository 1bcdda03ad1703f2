/*
 * weblog_tails.c - which logs there are: what the entries of collect_weblog stand for now, and logs that were followed before.
 *
 * Threads    one
 */
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "collectors/weblog/weblog_family.h"
#include "collectors/weblog/weblog_follow_int.h"

#include <glob.h>
#include <string.h>

#define FIRST_SLOTS  64u
#define LEFT_OUT_MAX 1000u /* paths remembered as reported */

/* --- table of logs --- */

static uint32_t *tail_slot(const struct col_web_follow *f, const char *path)
{
    uint32_t mask = f->n_slots - 1, i = (uint32_t)ts_hash(path, strlen(path)) & mask;
    while (f->slots[i] && strcmp(f->tails[f->slots[i] - 1]->path, path) != 0)
        i = (i + 1) & mask;
    return &f->slots[i];
}

static void tails_index(struct col_web_follow *f)
{
    while (f->n_slots < 2 * (f->n_tails + 1))
        f->n_slots = f->n_slots ? f->n_slots * 2 : FIRST_SLOTS;
    ts_free(f->slots);
    f->slots = ts_xcalloc(f->n_slots, sizeof(*f->slots));
    for (uint32_t i = 0; i < f->n_tails; i++)
        *tail_slot(f, f->tails[i]->path) = i + 1;
}

struct col_web_tail *col_web__tail_at(const struct col_web_follow *f, const char *path)
{
    uint32_t *slot = f->n_slots ? tail_slot(f, path) : NULL;
    return slot && *slot ? f->tails[*slot - 1] : NULL;
}

struct col_web_tail *col_web__tail_add(struct col_web_follow *f, const char *path,
                                       const struct col_web_log *log)
{
    f->tails = ts_xrealloc(f->tails, (f->n_tails + 1) * sizeof(struct col_web_tail *));
    struct col_web_tail *t = f->tails[f->n_tails] = col_web_tail_new(path, log);
    f->n_tails++;
    if (2 * f->n_tails > f->n_slots)
        tails_index(f);
    else
        *tail_slot(f, path) = f->n_tails;
    f->n_changes++;
    return t;
}

void col_web__tail_remove(struct col_web_follow *f, struct col_web_tail *t)
{
    uint32_t at = 0;
    while (f->tails[at] != t)
        at++;
    f->n_tails--;
    memmove(&f->tails[at], &f->tails[at + 1], (f->n_tails - at) * sizeof(struct col_web_tail *));
    col_web_tail_free(t);
    tails_index(f);
    f->n_changes++;
}

/* --- paths --- */

/* Warn of folders of rotated files that do not exist, which are usually misspelt. */
static void olddirs_check(const struct col_web_follow *f, const char *path)
{
    char dir[PATH_MAX];
    struct stat st;
    for (unsigned i = 0; col_web__olddir(f, path, i, dir); i++)
        if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
            ts_log(TS_LOG_WARN, "weblog: collect_weblog_olddir: %s, for rotated files of %s, is no folder",
                   dir, path);
}

/* Is the file that is open as a current one of a log also this path's? Another name of it is no other log. */
static bool other_name(const struct col_web_follow *f, const struct col_web_id *id)
{
    for (uint32_t i = 0; i < f->n_tails; i++) {
        const struct col_web_place *p = col_web_current(f->tails[i]);
        struct col_web_id now;
        if (p && p->ino == id->ino && p->dev == id->dev && f->tails[i]->log &&
            col_web__id_of_path(f->tails[i]->path, &now) && now.ino == id->ino && now.dev == id->dev)
            return true;
    }
    return false;
}

/* A path that an entry stands for. */
static void path_look(struct col_web_follow *f, const struct col_web_log *log, const char *path,
                      const struct col_web_now *now)
{
    struct col_web_tail *t = col_web__tail_at(f, path);
    struct col_web_id id;
    if (t && t->log)
        return;
    if (t) {
        t->log = log;
        t->scan = true;
        return;
    }
    if (!col_web__id_of_path(path, &id) || other_name(f, &id))
        return;
    uint64_t n_changes = f->n_changes;
    t = col_web__tail_add(f, path, log);
    t->fresh = true;
    t->seen_ms = now->wall_ms;
    if (!col_web__current_begin(f, t, now)) {
        col_web__tail_remove(f, t);
        f->n_changes = n_changes; /* as if nothing had happened */
        return;
    }
    olddirs_check(f, path);
    ts_log(TS_LOG_INFO, "weblog: following %s from=%llu", path, (unsigned long long)col_web_current(t)->off);
}

/* Report that no file matches an entry at the start: that may be intended, or the entry is misspelt. */
static void log_missing(const struct col_web_log *log)
{
    struct stat st;
    if (log->wild)
        ts_log(TS_LOG_WARN,
               "weblog: no file is like %s yet (collect_weblog); the first that is will be followed",
               log->pattern);
    else if (stat(log->pattern, &st) < 0)
        ts_log(TS_LOG_WARN, "weblog: %s (collect_weblog): %m; it will be followed when it is there",
               log->pattern);
    else if (S_ISDIR(st.st_mode))
        ts_log(TS_LOG_WARN, "weblog: %s (collect_weblog) is a folder; name files, as %s/*.log", log->pattern,
               log->pattern);
    else if (!S_ISREG(st.st_mode))
        ts_log(TS_LOG_WARN, "weblog: %s (collect_weblog) is no regular file", log->pattern);
}

/* --- names under patterns --- */

bool col_web__log_there(void *arg, const char *path)
{
    struct col_web_id id;
    return col_web__tail_at(arg, path) || col_web__id_of_path(path, &id);
}

/* Report a file that is not followed because its name is that of a rotated file: once for each log, or once for each such file without a log. */
static void left_out_report(struct col_web_follow *f, const struct col_web_log *log, const char *path,
                            const char *neighbour)
{
    const char *key = *neighbour ? neighbour : path;
    for (uint32_t i = 0; i < f->n_left_out; i++)
        if (!strcmp(f->left_out[i], key))
            return;
    if (f->n_left_out == LEFT_OUT_MAX)
        return;
    f->left_out = ts_xrealloc(f->left_out, (f->n_left_out + 1) * sizeof(char *));
    f->left_out[f->n_left_out++] = ts_xstrdup(key);
    if (*neighbour)
        ts_log(TS_LOG_INFO,
               "weblog: %s and its like are rotated files of %s, by their names, and are not followed by "
               "themselves; "
               "if one is a log of its own, name it in collect_weblog without * and ?",
               path, neighbour);
    else
        ts_log(TS_LOG_WARN,
               "weblog: %s is not followed, though %s takes it: its name is that of a rotated file, and its "
               "log is "
               "not there; if it is a log of its own, name it in collect_weblog without * and ?",
               path, log->pattern);
}

static void wild_look(struct col_web_follow *f, const struct col_web_log *log, const char *path,
                      const struct col_web_now *now)
{
    char neighbour[PATH_MAX];
    const struct col_web_tail *t = col_web__tail_at(f, path);
    if (t && t->log)
        return;
    enum col_web_looks looks =
        t ? COL_WEB_LOOKS_OWN : col_web_looks(path, col_web__log_there, f, neighbour, sizeof(neighbour));
    if (looks == COL_WEB_LOOKS_OWN)
        path_look(f, log, path, now);
    else if (looks == COL_WEB_LOOKS_ORPHAN || *neighbour) /* compressed files are not reported */
        left_out_report(f, log, path, neighbour);
}

void col_web__paths_scan(struct col_web_follow *f, const struct col_web_now *now)
{
    for (uint32_t i = 0; !f->turned && i < f->n_tails; i++) /* also those whose path is empty at present */
        f->tails[i]->log = col_web_logs_find(f->opts.logs, f->tails[i]->path);
    for (uint32_t i = 0; i < f->opts.logs->n; i++) {
        const struct col_web_log *log = &f->opts.logs->logs[i];
        glob_t found = {.gl_pathc = 0};
        if (!log->wild)
            path_look(f, log, log->pattern, now);
        else if (glob(log->pattern, 0, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++)
                wild_look(f, log, found.gl_pathv[k], now);
        if (!f->turned && !found.gl_pathc)
            log_missing(log);
        if (log->wild)
            globfree(&found);
    }
}
