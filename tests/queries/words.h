/*
 * words.h - questions of query scripts: parameters and words.
 */
#ifndef TESTS_QUERIES_WORDS_H
#define TESTS_QUERIES_WORDS_H

#include "query/query.h"

#include <string.h>

#define MAX_WORDS 64

static inline size_t split_params(char *text, struct qry_param *p)
{
    size_t n = 0;
    for (char *amp; text && n < MAX_WORDS; text = amp) {
        amp = strchr(text, '&');
        if (amp)
            *amp++ = 0;
        char *eq = strchr(text, '=');
        p[n].name = (struct ts_slice){text, eq ? (size_t)(eq - text) : strlen(text)};
        p[n++].value = eq ? ts_slice_str(eq + 1) : (struct ts_slice){"", 0};
    }
    return n;
}

/* Words with --by, --tz, --fill among them. */
static inline int parse_words(char *text, int64_t now_ms, struct ts_arena *arena, struct qry_spec *spec,
                              struct ts_error *err)
{
    const char *words[MAX_WORDS], *by = NULL, *tz = NULL, *fill = NULL;
    struct qry_param choices[MAX_WORDS];
    size_t n = 0, n_choices = 0;
    char *save;
    for (char *w = strtok_r(text, " ", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &save)) {
        const char **to = strcmp(w, "--by") == 0     ? &by
                          : strcmp(w, "--tz") == 0   ? &tz
                          : strcmp(w, "--fill") == 0 ? &fill
                                                     : NULL;
        if (to)
            *to = strtok_r(NULL, " ", &save);
        else if (strncmp(w, "--", 2) == 0)
            choices[n_choices++] =
                (struct qry_param){ts_slice_str(w + 2), ts_slice_str(strtok_r(NULL, " ", &save))};
        else
            words[n++] = w;
    }
    TS_TRY(qry_parse_words(words, n, by && strcmp(by, "-") == 0 ? "" : by, tz, fill, now_ms, arena, spec,
                           NULL, err));
    TS_TRY(qry_parse_choice(choices, n_choices, arena, spec, NULL, err));
    return qry_spec_check_choice(spec, err);
}

#endif
