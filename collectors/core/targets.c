/*
 * targets.c - names and addresses; when a page is tried again.
 *
 * Threads    see targets.h
 */
#include "collectors/core/targets.h"

#include "base/mem.h"
#include "collectors/core/fields.h"

#include <stdio.h>

#define TARGETS_MAX 256u /* of one key */
#define SKIP_MAX    16u  /* turns */

/* "[NAME=]URL" */
static int target_parse(struct ts_slice text, const char *key, const char *default_path, struct col_target *t,
                        struct ts_error *err)
{
    const char *eq = memchr(text.p, '=', text.n), *scheme = memmem(text.p, text.n, "://", 3);
    struct ts_slice name = {NULL, 0};
    if (eq && scheme && eq < scheme) {
        name = col_trim((struct ts_slice){text.p, (size_t)(eq - text.p)});
        text = col_trim((struct ts_slice){eq + 1, (size_t)(text.p + text.n - eq - 1)});
    }
    *t = (struct col_target){.n_failed = 0};
    if (col_url_parse(text, default_path, &t->url, err) < 0)
        return ts_error_wrap(err, "%s", key);
    if (!name.n)
        name = ts_slice_str(t->url.where);
    (void)snprintf(t->job, sizeof(t->job), "%.*s",
                   name.n < sizeof(t->job) ? (int)name.n : (int)sizeof(t->job) - 1, name.p);
    return 0;
}

int col_targets_parse(struct col_targets *l, const char *key, const char *text, const char *default_path,
                      struct ts_error *err)
{
    struct ts_slice one;
    while (col_list_next(&text, ';', &one)) {
        if (l->n == TARGETS_MAX)
            return ts_error_set(err, TS_EINVAL, "%s: more than %u pages", key, TARGETS_MAX);
        l->p = ts_xrealloc(l->p, (l->n + 1) * sizeof(*l->p));
        TS_TRY(target_parse(one, key, default_path, &l->p[l->n], err));
        l->n++;
    }
    return 0;
}

void col_targets_release(struct col_targets *l)
{
    ts_free(l->p);
    *l = (struct col_targets){.n = 0};
}

bool col_target_turn(struct col_target *t, int64_t timeout_ms, struct ts_buf *body,
                     struct ts_log_limit *limit)
{
    struct ts_error err = {0};
    if (t->skip) {
        t->skip--;
        return false;
    }
    if (col_fetch(&t->url, timeout_ms, body, &err) == 0) {
        if (t->n_failed)
            ts_log(TS_LOG_INFO, "collect: %s answers again", t->url.where);
        t->n_failed = 0;
        return true;
    }
    t->why = err;
    unsigned turns = t->n_failed < 5 ? 1u << t->n_failed : SKIP_MAX;
    if (!t->n_failed++)
        ts_log_limited(limit, TS_LOG_WARN, "collect: %s; it is tried again less often", err.text);
    t->skip = (turns < SKIP_MAX ? turns : SKIP_MAX) - 1;
    return false;
}

int col_targets_failed(const struct col_targets *l, struct ts_error *err)
{
    const struct col_target *first = NULL;
    unsigned n = 0;
    for (unsigned i = 0; i < l->n; i++) {
        if (!l->p[i].n_failed)
            continue;
        first = first ? first : &l->p[i];
        n++;
    }
    if (!n)
        return 0;
    return ts_error_set(err, TS_EIO, "%u of %u pages could not be fetched: %s", n, l->n, first->why.text);
}
