/*
 * ep_logs.c - GET /logs: the last lines of the log, newest first; and the log level, if that is allowed.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, section 2.21: epoch_s TAB LEVEL TAB thread TAB logger TAB message
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"

#include <ctype.h>

struct logs {
    struct ts_buf out;   /* the reply */
    struct ts_json json; /* writes to out */
    struct ts_buf line;  /* scratch */
    bool as_json;        /* an array of strings */
};

/* "2026-11-02T10:00:00.123Z info message" to OpenTSDB's columns; our log has one thread column and no loggers. */
static void logs_line(void *arg, const char *text)
{
    struct logs *l = arg;
    const char *level = strchr(text, ' '), *message = level ? strchr(level + 1, ' ') : NULL;
    int64_t ts_ms = 0;
    ts_buf_clear(&l->line);
    if (message && ts_time_parse((struct ts_slice){text, (size_t)(level - text)}, NULL, 0, false, &ts_ms,
                                 NULL, NULL) == 0) {
        ts_buf_printf(&l->line, "%lld\t", (long long)ts_floor_div(ts_ms, 1000));
        for (const char *p = level + 1; p < message; p++)
            ts_buf_char(&l->line, (char)toupper((unsigned char)*p));
        ts_buf_str(&l->line, "\ttsd\ttsd\t");
        ts_buf_str(&l->line, message + 1);
    } else {
        ts_buf_str(&l->line, text);
    }
    if (l->as_json) {
        ts_json_slice(&l->json, ts_buf_get(&l->line));
        return;
    }
    ts_buf_char(&l->line, '\n');
    ts_buf_slice(&l->out, ts_buf_get(&l->line));
}

/* level=NAME: for the whole program, whatever logger is named. */
static void logs_level(struct tsd_req *req, struct ts_slice name)
{
    char word[16] = "", text[96];
    enum ts_log_level level;
    struct tsd_denial denial;
    for (size_t i = 0; i < name.n && i < sizeof(word) - 1; i++)
        word[i] = (char)tolower((unsigned char)name.p[i]);
    (void)snprintf(text, sizeof(text), "Invalid level: %.*s", TS_SHOWN(name, 40));
    if (ts_log_level_parse(word, &level) < 0) {
        tsd_reply_error(req, 400, text, NULL);
        return;
    }
    if (!req->d->set.http_log_level) {
        tsd_reply_error(req, 403, "The log level is not to be changed from here (http_log_level)", NULL);
        return;
    }
    if (!tsd_access_change(req, &denial)) {
        tsd_reply_error(req, denial.status, denial.message, NULL);
        return;
    }
    ts_log_set_level(level);
    int n = snprintf(text, sizeof(text), "Set the log level to %.*s on 1 loggers.\n", TS_SHOWN(name, 40));
    tsd_reply(req, 200, tsd_type_text, (struct ts_slice){text, (size_t)n});
}

void tsd_ep_logs(struct tsd_req *req)
{
    struct ts_slice level;
    struct logs l = {.as_json = tsd_req_flag(req, "json")};
    if (tsd_req_param(req, "level", &level)) {
        logs_level(req, level);
        return;
    }
    ts_buf_init(&l.out, 0);
    ts_buf_init(&l.line, 0);
    ts_json_init(&l.json, &l.out);
    if (l.as_json)
        ts_json_arr(&l.json);
    ts_log_recent(logs_line, &l);
    if (l.as_json)
        ts_json_arr_end(&l.json);
    tsd_reply(req, 200, l.as_json ? tsd_type_json : tsd_type_text, ts_buf_get(&l.out));
    ts_buf_release(&l.line);
    ts_buf_release(&l.out);
}
