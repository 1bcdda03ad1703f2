/*
 * weblog_known.c - looks a file up in the configuration and in the checkpoint.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_known.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "collectors/core/keys.h"
#include "collectors/weblog/weblog_state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct col_web_known {
    struct col_web_logs logs;     /* logs that the configuration follows */
    struct col_web_limits limits; /* limits of counting */
    char path[PATH_MAX];          /* path of the checkpoint; "" = there is none */
    const char *olddirs;          /* folders of rotated files; borrowed */
    bool reported;                /* an unreadable checkpoint was logged */
};

/* The file to look up. */
struct candidate {
    char path[PATH_MAX];            /* its path, symbolic links resolved */
    struct stat st;                 /* its status */
    char first[COL_WEB_HEAD_BYTES]; /* the first bytes of its text */
    size_t n_first;                 /* number of bytes in first */
    bool placed;                    /* the checkpoint has a place for it */
    uint64_t imported;              /* bytes of it that an import counted */
};

int col_web_known_new(const struct ts_conf *conf, struct col_web_known **out, struct ts_error *err)
{
    struct col_web_known *k = ts_xcalloc(1, sizeof(*k));
    char dir[PATH_MAX];
    *out = NULL;
    k->olddirs = ts_conf_str(conf, "collect_weblog_olddir");
    int rc = col_web_limits_get(conf, &k->limits, err);
    if (rc == 0)
        rc = col_web_logs_init(&k->logs, conf, err);
    if (rc < 0) {
        col_web_known_free(k);
        return rc;
    }
    if (col_state_dir(conf, dir, NULL) == 0 && *dir &&
        snprintf(k->path, sizeof(k->path), "%s/" COL_WEB_STATE_NAME, dir) >= (int)sizeof(k->path))
        k->path[0] = '\0';
    *out = k;
    return 0;
}

void col_web_known_free(struct col_web_known *k)
{
    if (k)
        col_web_logs_release(&k->logs);
    ts_free(k);
}

/* Why the logs of a checkpoint know the file; NULL = they do not. kin selects the logs: true = those of whose family the file is by its
 * name, false = all others. */
static const char *follow_says(const struct col_web_follow *f, struct candidate *c, bool kin)
{
    char real[PATH_MAX];
    struct ts_slice first = {c->first, c->n_first};
    for (uint32_t i = 0; i < f->n_tails; i++) {
        const struct col_web_tail *t = f->tails[i];
        const struct col_web_place *p =
            col_web_place_find(t, first, (uint64_t)c->st.st_dev, (uint64_t)c->st.st_ino);
        bool here = realpath(t->path, real) && !strcmp(real, c->path);
        if (col_web_follow_family(f, t, c->path) != kin)
            continue;
        c->placed = p != NULL;
        c->imported = p && kin ? p->imported : 0;
        if (here)
            return "it is followed";
        if (p && p->role != COL_WEB_PAST)
            return p->role == COL_WEB_CURRENT   ? "it is followed"
                   : p->role == COL_WEB_ROTATED ? "it was followed until it was rotated"
                                                : "it was followed to its end";
    }
    c->placed = false;
    c->imported = 0;
    for (uint32_t i = 0; i < f->n_inherited; i++)
        if (!f->inherited_past[i] && col_web_head_matches(&f->inherited[i], first))
            return "it was followed to its end";
    return NULL;
}

static const char *checkpoint_says(struct col_web_known *k, struct candidate *c)
{
    struct col_web_follow follow;
    struct col_web_count count;
    uint64_t n_bad;
    struct ts_error err = {0};
    struct col_web_state st = {.path = k->path, .follow = &follow, .count = &count, .n_bad = &n_bad};
    const char *says = NULL;
    if (!*k->path)
        return NULL;
    col_web_follow_init(&follow, &(struct col_web_follow_opts){.logs = NULL, .olddirs = k->olddirs});
    col_web_count_init(&count, &k->limits);
    int rc = col_web_state_load(&st, 0, &err);
    if (rc == 0)
        says = follow_says(&follow, c, true);
    if (rc == 0 && !says) /* perhaps it is a copy with another name */
        says = follow_says(&follow, c, false);
    else if (rc != TS_ENOTFOUND && !k->reported) {
        ts_log(TS_LOG_WARN, "weblog: which logs were followed is not known, they would count twice: %s",
               err.text);
        k->reported = true;
    }
    col_web_follow_release(&follow);
    col_web_count_release(&count);
    return says;
}

static bool is_path(void *arg, const char *path)
{
    return !strcmp(arg, path);
}

static void first_set(struct candidate *c, struct ts_slice first)
{
    const struct ts_pack *pack;
    c->n_first = first.n < sizeof(c->first) ? first.n : sizeof(c->first);
    if (c->n_first)
        memcpy(c->first, first.p, c->n_first);
    else
        (void)ts_unpack_first(c->path, c->first, sizeof(c->first), &c->n_first, &pack);
}

bool col_web_known_find(struct col_web_known *k, const char *path, struct ts_slice first,
                        const struct col_web_journal *journal, char *why, size_t why_bytes,
                        uint64_t *out_imported)
{
    struct candidate *c = ts_xcalloc(1, sizeof(*c));
    const char *says = NULL;
    struct col_web_taken taken;
    if (*k->path && realpath(path, c->path) && stat(c->path, &c->st) == 0 && S_ISREG(c->st.st_mode)) {
        first_set(c, first);
        says = checkpoint_says(k, c);
        if (col_web_logs_follow(&k->logs, path) || col_web_logs_follow(&k->logs, c->path))
            says = "collect_weblog follows it";
        if (says && !c->placed && journal && /* no place yet: the collector will read the journal too */
            col_web_journal_taken(journal, (struct ts_slice){c->first, c->n_first}, is_path, c->path, &taken))
            c->imported = taken.bytes;
    }
    if (says)
        (void)snprintf(why, why_bytes, "%s", says);
    *out_imported = c->imported;
    ts_free(c);
    return says;
}
