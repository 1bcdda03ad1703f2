/*
 * weblog_logs.c - parses the keys into formats, patterns and domains, and finds the domain of a request.
 *
 * Threads    see weblog_logs.h
 */
#include "collectors/weblog/weblog_logs.h"

#include "base/mem.h"
#include "base/time.h"
#include "base/unpack.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_family.h"
#include "collectors/weblog/weblog_own.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define QUARTER_HOUR_S 900 /* divides offsets of time zones and days */

static const struct {
    const char *word;
    enum col_web_from from;
} sources[] = {{"auto", COL_WEB_FROM_AUTO},
               {"vhost", COL_WEB_FROM_VHOST},
               {"file", COL_WEB_FROM_FILE},
               {"referrer", COL_WEB_FROM_REFERRER},
               {"client", COL_WEB_FROM_CLIENT}};

static int log_domain(struct col_web_log *log, struct ts_slice word, struct ts_error *err)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
        if (ts_slice_is(word, sources[i].word)) {
            log->from = sources[i].from;
            return 0;
        }
    if (!word.n || (!memchr(word.p, '.', word.n) && !ts_slice_is(word, "localhost")))
        return ts_error_set(
            err, TS_EINVAL,
            "\"%.*s\" says nothing about domains: auto, vhost, file, referrer, client, or a name "
            "with a dot",
            (int)word.n, word.p);
    log->from = COL_WEB_FROM_NAME;
    log->name = ts_xstrndup(word.p, word.n);
    return 0;
}

/* "iis:date time ...": the fields of lines that have no #Fields above them. */
static int log_fields(struct ts_slice names, enum col_web_kind *out, struct ts_error *err)
{
    *out = col_web_iis.fields(names);
    return *out ? 0
                : ts_error_set(
                      err, TS_EINVAL,
                      "\"iis:%.*s\": date, time and sc-status are needed, each name once, and the fields "
                      "that count among the first 31",
                      (int)names.n, names.p);
}

static int log_format(struct col_web_log *log, struct ts_slice word, struct ts_error *err)
{
    enum col_web_kind fixed = COL_WEB_KIND_UNKNOWN;
    struct ts_slice names = word;
    if (ts_slice_is(word, "iis"))
        return ts_error_set(
            err, TS_EINVAL,
            "iis needs the names of its fields, iis:date time ..., as #Fields has them; with auto that "
            "line says it");
    if (col_prefix_take(&names, "iis:"))
        TS_TRY(log_fields(col_trim(names), &fixed, err));
    else if (!ts_slice_is(word, "auto"))
        return col_web_format_new(word, &log->format, err);
    log->detect = col_web_auto_new();
    col_web_auto_fix(log->detect, fixed);
    return 0;
}

int col_web_log_init(struct col_web_log *log, const char *format, const char *domain, struct ts_error *err)
{
    *log = (struct col_web_log){.from = COL_WEB_FROM_AUTO};
    int rc = log_format(log, ts_slice_str(format), err);
    if (rc == 0)
        rc = log_domain(log, ts_slice_str(domain), err);
    if (rc < 0)
        col_web_log_release(log);
    return rc;
}

void col_web_log_release(struct col_web_log *log)
{
    ts_free(log->pattern);
    ts_free(log->name);
    col_web_format_free(log->format);
    col_web_auto_free(log->detect);
    *log = (struct col_web_log){.pattern = NULL};
}

void col_web_logs_release(struct col_web_logs *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        col_web_log_release(&l->logs[i]);
    ts_free(l->logs);
    *l = (struct col_web_logs){.n = 0};
}

static bool file_there(void *arg, const char *path)
{
    struct stat st;
    (void)arg;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool path_there(struct ts_slice path)
{
    char text[PATH_MAX];
    return path.n < sizeof(text) && snprintf(text, sizeof(text), "%.*s", (int)path.n, path.p) > 0 &&
           file_there(NULL, text);
}

/* [FORMAT:]PATTERN[=DOMAIN] */
static int logs_entry(struct col_web_log *log, struct ts_slice entry, const struct ts_conf *conf,
                      struct ts_error *err)
{
    struct ts_slice format = ts_slice_str(ts_conf_str(conf, "collect_weblog_format"));
    struct ts_slice domain = ts_slice_str(ts_conf_str(conf, "collect_weblog_domain"));
    const char *colon = memchr(entry.p, ':', entry.n), *slash = memchr(entry.p, '/', entry.n);
    struct ts_slice pattern = entry;
    bool own_format = false;
    if (colon && slash && colon < slash) {
        struct ts_slice word = {entry.p, (size_t)(colon - entry.p)};
        pattern = (struct ts_slice){colon + 1, entry.n - word.n - 1};
        own_format = !ts_slice_is(word, "custom");
        if (own_format)
            format = word;
    }
    const char *eq = pattern.n ? memrchr(pattern.p, '=', pattern.n) : NULL;
    if (eq && (memchr(eq, '/', (size_t)(pattern.p + pattern.n - eq)) || path_there(pattern)))
        eq = NULL; /* it belongs to the path: /srv/a=b/access.log */
    if (eq) {
        domain = (struct ts_slice){eq + 1, (size_t)(pattern.p + pattern.n - eq - 1)};
        pattern.n = (size_t)(eq - pattern.p);
    }
    if (!pattern.n || pattern.p[0] != '/')
        return ts_error_set(err, TS_EINVAL, "collect_weblog: \"%.*s\" is no path that begins with /",
                            (int)pattern.n, pattern.p);
    log->pattern = ts_xstrndup(pattern.p, pattern.n);
    log->wild = strpbrk(log->pattern, "*?[") != NULL;
    if (log_format(log, format, err) < 0)
        return ts_error_wrap(err, own_format ? "collect_weblog" : "collect_weblog_format");
    return log_domain(log, domain, err) < 0
               ? ts_error_wrap(err, eq ? "collect_weblog" : "collect_weblog_domain")
               : 0;
}

int col_web_logs_init(struct col_web_logs *l, const struct ts_conf *conf, struct ts_error *err)
{
    const char *list = ts_conf_str(conf, "collect_weblog");
    *l = (struct col_web_logs){.n = 0};
    while (*list) {
        size_t n = strcspn(list, ",");
        struct ts_slice entry = col_trim((struct ts_slice){list, n});
        list += n + (list[n] == ',');
        if (!entry.n)
            continue;
        l->logs = ts_xrealloc(l->logs, (l->n + 1) * sizeof(*l->logs));
        l->logs[l->n] = (struct col_web_log){.pattern = NULL};
        int rc = logs_entry(&l->logs[l->n++], entry, conf, err);
        if (rc < 0) {
            col_web_logs_release(l);
            return rc;
        }
    }
    return 0;
}

const struct col_web_log *col_web_logs_find(const struct col_web_logs *l, const char *path)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct col_web_log *log = &l->logs[i];
        if (log->wild ? fnmatch(log->pattern, path, FNM_PATHNAME) == 0 : !strcmp(log->pattern, path))
            return log;
    }
    return NULL;
}

bool col_web_logs_follow(const struct col_web_logs *l, const char *path)
{
    const struct col_web_log *log = col_web_logs_find(l, path);
    return log && (!log->wild || col_web_looks(path, file_there, NULL, NULL, 0) == COL_WEB_LOOKS_OWN);
}

int col_web_limits_get(const struct ts_conf *conf, struct col_web_limits *out, struct ts_error *err)
{
    int64_t bucket_s = ts_conf_int(conf, "collect_weblog_bucket_s");
    if (QUARTER_HOUR_S % bucket_s != 0)
        return ts_error_set(
            err, TS_EINVAL,
            "collect_weblog_bucket_s = %lld: hours and days must be whole buckets in every zone, "
            "so it has to divide 900",
            (long long)bucket_s);
    *out = (struct col_web_limits){
        .bucket_ms = bucket_s * 1000,
        .late_ms = ts_conf_int(conf, "collect_weblog_late_s") * 1000,
        .max_domains = (uint32_t)ts_conf_int(conf, "collect_weblog_domains"),
        .max_paths = (uint32_t)ts_conf_int(conf, "collect_weblog_paths"),
        .forget_ms = ts_conf_int(conf, "collect_weblog_name_h") * TS_HOUR_MS,
        .path_depth = (uint32_t)ts_conf_int(conf, "collect_weblog_path_depth"),
        .max_cells = (uint32_t)ts_conf_int(conf, "collect_weblog_cells"),
        .tag_bots = !strcmp(ts_conf_str(conf, "collect_weblog_bots"), "tag"),
    };
    return 0;
}

/* --- lines --- */

const char *col_web_log_parse(const struct col_web_log *log, enum col_web_kind kind, struct ts_slice line,
                              struct ts_buf *scratch, struct col_web_hit *out)
{
    return log->detect ? col_web_auto_parse(log->detect, kind, line, scratch, out)
                       : col_web_line_parse(log->format, line, scratch, out);
}

/* --- names of files --- */

static bool take_suffix(struct ts_slice *s, const char *suffix)
{
    size_t n = strlen(suffix);
    if (s->n < n || memcmp(s->p + s->n - n, suffix, n) != 0)
        return false;
    s->n -= n;
    return true;
}

static struct ts_slice base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return ts_slice_str(slash ? slash + 1 : path);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Does s end in this form? In form, # stands for a digit, and - for one of . - _ */
static bool ends_as(struct ts_slice s, const char *form)
{
    size_t n = strlen(form);
    for (size_t i = 0; i < n && n <= s.n; i++) {
        char c = s.p[s.n - n + i];
        if (form[i] == '#' ? !is_digit(c) : !c || !strchr(".-_", c))
            return false;
    }
    return n <= s.n;
}

/* Cut off a date, with or without an hour, as servers put it into the names of daily files: ".2026-11-20", "-20261120". Digits that are no
 * plausible date remain a part of the name. */
static bool take_date(struct ts_slice *s)
{
    static const char *const forms[] = {"####-##-##-##", "####-##-##", "########-##", "##########",
                                        "########"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        size_t n = strlen(forms[i]);
        if (!ends_as(*s, forms[i]))
            continue;
        const char *p = s->p + s->n - n, *month = p + 4 + !is_digit(p[4]);
        bool century = (p[0] == '1' && p[1] == '9') || (p[0] == '2' && p[1] == '0');
        bool fits = month[0] == '0' ? month[1] != '0' : month[0] == '1' && month[1] <= '2';
        if (!century || !fits || (n < s->n && !strchr(".-_", p[-1])))
            continue;
        s->n -= n;
        return true;
    }
    return false;
}

/* Is s a name that IIS gives its files: u_ex261119, u_ex26111907_x, u_extend1, ex261119? nc and in stand for its other formats. */
static bool is_iis_name(struct ts_slice s)
{
    static const char *const words[] = {"extend", "ex", "nc", "in"};
    size_t n_digits = 0;
    (void)take_suffix(&s, "_x");
    bool utf8 = s.n > 2 && !memcmp(s.p, "u_", 2);
    while (n_digits < s.n && is_digit(s.p[s.n - n_digits - 1]))
        n_digits++;
    struct ts_slice word = {s.p + (utf8 ? 2 : 0), s.n - n_digits - (utf8 ? 2 : 0)};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (ts_slice_is(word, words[i]))
            return utf8 ||
                   n_digits >=
                       (i ? 6 : 1); /* without u_ it may be a site: yymmdd, or "extend" with a number */
    return false;
}

/* The domain in the name of a file: "example.org" for example.org.access.log and example.org_ssl_access.log. Empty for access.log, Tomcat's
 * localhost_access_log.2026-11-20.txt and IIS's u_ex261120.log. */
static struct ts_slice file_domain(const char *path)
{
    static const char *const endings[] = {".log",        ".txt",       ".access",
                                          "_access",     "-access",    "_ssl",
                                          "-ssl",        ".ssl",       "localhost_access_log",
                                          "access",      "access_log", "other_vhosts",
                                          "_access_log", "-access_log"};
    char name[NAME_MAX + 1];
    struct ts_slice s = base_of(path);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(s.n - ts_pack_suffix(path)), s.p);
    bool rotated = col_web_looks(name, NULL, NULL, NULL, 0) != COL_WEB_LOOKS_OWN;
    size_t before;
    s.n -= ts_pack_suffix(path);
    do {
        before = s.n;
        for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
            (void)take_suffix(&s, endings[i]);
        (void)take_date(&s);
        if (is_iis_name(s))
            s.n = 0;
        while (rotated && s.n && is_digit(s.p[s.n - 1]))
            s.n--;
        while (s.n && strchr(".-_", s.p[s.n - 1]))
            s.n--;
    } while (s.n != before);
    return s;
}

struct ts_slice col_web_domain(const struct col_web_log *log, const char *path, const struct col_web_hit *h)
{
    struct ts_slice s = {NULL, 0};
    switch (log->from) {
    case COL_WEB_FROM_AUTO:
        s = col_web_host(h->domain);
        return s.n ? s : file_domain(path);
    case COL_WEB_FROM_VHOST:
        return col_web_host(h->domain);
    case COL_WEB_FROM_FILE:
        return file_domain(path);
    case COL_WEB_FROM_REFERRER:
        return col_web_host(h->referrer);
    case COL_WEB_FROM_CLIENT:
        return col_web_site(h->client);
    case COL_WEB_FROM_NAME:
        return ts_slice_str(log->name);
    }
    return s;
}
