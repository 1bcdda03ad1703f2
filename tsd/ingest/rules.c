/*
 * rules.c - characters of names and forms of time, with OpenTSDB's messages.
 *
 * Threads    see rules.h
 * Not here   where a message goes (line/put.c, http/ep_put.c), numbers (base/num.h)
 */
#include "tsd/ingest/rules.h"

#include "base/num.h"
#include "base/time.h"

#include <unicode/uchar.h>

#define RULES_MAX_LATIN1  0xff            /* last character of ISO-8859-1 */
#define RULES_MAX_SECONDS 4294967295ll    /* larger numbers are milliseconds */
#define RULES_MAX_DATE    21991231        /* larger numbers are no dates without separators */
#define RULES_SHOWN_BYTES 64u             /* of a name that is too long */
#define RULES_MIN_MS      10000000000ll   /* what lies between may be either */
#define RULES_MAX_MS      9999999999999ll /* 13 digits */

void tsd_rules_init(struct tsd_rules *rules, bool compat, bool make_metrics, unsigned max_tags,
                    const char *special)
{
    *rules = (struct tsd_rules){.compat = compat,
                                .make_metrics = make_metrics,
                                .max_tags = max_tags,
                                .min_ms = -RULES_MAX_MS,
                                .max_ms = RULES_MAX_MS};
    if (!max_tags)
        rules->max_tags = compat ? TSD_TAGS_COMPAT : TSD_TAGS_DEFAULT;
    if (rules->max_tags > TSD_TAGS_MAX)
        rules->max_tags = TSD_TAGS_MAX;
    rules->max_name_bytes[STO_UID_METRIC] = TSD_METRIC_BYTES_DEFAULT;
    rules->max_name_bytes[STO_UID_TAGK] = TSD_TAGK_BYTES_DEFAULT;
    rules->max_name_bytes[STO_UID_TAGV] = TSD_TAGV_BYTES_DEFAULT;
    for (int c = 0; c < 128; c++)
        rules->ascii_ok[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    for (const char *p = "-_./"; *p; p++)
        rules->ascii_ok[(unsigned char)*p] = true;
    struct ts_slice cut = ts_utf8_cut(ts_slice_str(special ? special : ""), sizeof(rules->special) - 1);
    memcpy(rules->special, cut.p, cut.n);
    rules->special[cut.n] = 0;
    for (size_t i = 0; i < cut.n; i++)
        if ((unsigned char)cut.p[i] < 128)
            rules->ascii_ok[(unsigned char)cut.p[i]] = true;
}

void tsd_rules_for_hbase(struct tsd_rules *rules, int64_t min_ms, int64_t max_ms)
{
    rules->hbase = true;
    rules->min_ms = min_ms;
    rules->max_ms = max_ms;
    if (rules->max_tags > TSD_TAGS_HBASE)
        rules->max_tags = TSD_TAGS_HBASE;
}

/* The character s begins with, which is not ASCII; s becomes its bytes. -1 and one byte if that is no
 * character. */
static int32_t rules_utf8(struct ts_slice *s)
{
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char b = (unsigned char)*s->p;
    size_t n = b >= 0xc2 && b < 0xe0 ? 2 : b >= 0xe0 && b < 0xf0 ? 3 : b >= 0xf0 && b < 0xf5 ? 4 : 0;
    int32_t c = n ? b & (0x7f >> n) : -1;
    for (size_t i = 1; i < n && c >= 0; i++)
        c = i < s->n && (s->p[i] & 0xc0) == 0x80 ? c << 6 | (s->p[i] & 0x3f) : -1;
    if (c >= 0 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
        c = -1;
    s->n = c < 0 ? 1 : n;
    return c;
}

/* Letters of any script; in our own ways also the digits and marks that many scripts write words with. */
static bool rules_char_ok(const struct tsd_rules *rules, int32_t c, struct ts_slice bytes)
{
    if (c < 0 || (rules->hbase && c > RULES_MAX_LATIN1))
        return false;
    if (u_isalpha(c))
        return true;
    if (!rules->compat && (u_isdigit(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK)))
        return true;
    return *rules->special && memmem(rules->special, strlen(rules->special), bytes.p, bytes.n) != NULL;
}

/* Is this a character that is refused only since HBase's tables cannot hold it? */
static bool rules_not_for_hbase(const struct tsd_rules *rules, struct ts_slice bad)
{
    struct tsd_rules others = *rules;
    others.hbase = false;
    struct ts_slice bytes = bad;
    return rules->hbase && bad.n > 1 && rules_char_ok(&others, rules_utf8(&bytes), bad);
}

bool tsd_name_ok(const struct tsd_rules *rules, enum sto_uid_kind kind, struct ts_slice name,
                 struct ts_slice *out_bad)
{
    size_t i = 0;
    if (out_bad)
        *out_bad = (struct ts_slice){NULL, 0};
    if (name.n > rules->max_name_bytes[kind])
        return false;
    while (i < name.n) {
        unsigned char b = (unsigned char)name.p[i];
        if (b < 128) {
            if (rules->ascii_ok[b]) {
                i++;
                continue;
            }
            if (out_bad)
                *out_bad = (struct ts_slice){name.p + i, 1};
            return false;
        }
        struct ts_slice bytes = {name.p + i, name.n - i};
        int32_t c = rules_utf8(&bytes);
        if (!rules_char_ok(rules, c, bytes)) {
            if (out_bad)
                *out_bad = bytes;
            return false;
        }
        i += bytes.n;
    }
    return name.n > 0;
}

void tsd_name_why(const struct tsd_rules *rules, enum sto_uid_kind kind, struct ts_slice noun,
                  struct ts_slice name, struct ts_slice bad, struct ts_buf *msg)
{
    static const char *const keys[STO_UID_KINDS] = {"max_metric_bytes", "max_tagk_bytes", "max_tagv_bytes"};
    size_t max = rules->max_name_bytes[kind];
    ts_buf_str(msg, "Invalid ");
    ts_buf_slice(msg, noun);
    if (name.n == 0) {
        ts_buf_str(msg, ": empty string");
        return;
    }
    ts_buf_str(msg, " (\"");
    if (name.n > max) {
        ts_buf_slice(msg, ts_utf8_cut(name, RULES_SHOWN_BYTES));
        ts_buf_printf(msg, "...\"): %zu bytes, at most %zu (%s)", name.n, max, keys[kind]);
        return;
    }
    ts_buf_slice(msg, name);
    ts_buf_str(msg, "\"): illegal character: ");
    ts_buf_slice(msg, bad);
    if (rules_not_for_hbase(rules, bad))
        ts_buf_str(msg, " (HBase's tables hold names in ISO-8859-1)");
}

int tsd_time_from_int(const struct tsd_rules *rules, int64_t raw, struct tsd_time *out)
{
    *out = (struct tsd_time){.raw = raw, .ts_ms = raw, .ms = true};
    if (raw <= 0 && !rules->old_times)
        return TS_EINVAL;
    if (raw > RULES_MAX_SECONDS && raw < RULES_MIN_MS && !rules->old_times && !rules->compat)
        return TS_EINVAL;
    if (raw <= RULES_MAX_DATE && !rules->compat && ts_time_is_date(raw))
        return TS_EINVAL;
    if (raw <= RULES_MAX_SECONDS && raw >= -RULES_MAX_SECONDS) {
        out->ts_ms = raw * 1000;
        out->ms = false;
    }
    out->bad = tsd_time_is_bad(rules, raw);
    return 0;
}

bool tsd_time_not_for_hbase(const struct tsd_rules *rules, int64_t raw)
{
    return rules->hbase && tsd_time_is_bad(rules, raw) && raw <= RULES_MAX_MS && raw >= -RULES_MAX_MS;
}

void tsd_time_why(int64_t raw, struct ts_buf *msg)
{
    if (raw > RULES_MAX_MS)
        ts_buf_str(msg,
                   " (milliseconds, 13 digits, are the finest: 16 digits are microseconds, 19 nanoseconds)");
    else if (ts_time_is_date(raw))
        ts_buf_printf(msg, " (as a date write %04lld-%02lld-%02lldT00:00:00Z, as seconds in 1970 %lld.)",
                      (long long)raw / 10000, (long long)raw / 100 % 100, (long long)raw % 100,
                      (long long)raw);
    else if (raw > RULES_MAX_SECONDS && raw < 10000000000) /* ten digits; more are good milliseconds */
        ts_buf_str(msg, " (seconds end at 4294967295, milliseconds have 11 to 13 digits)");
}

static int rules_bad_time(struct ts_slice s, const char *why, struct ts_buf *msg)
{
    ts_buf_str(msg, "invalid timestamp: ");
    ts_buf_slice(msg, s);
    ts_buf_str(msg, why);
    return TS_EINVAL;
}

static int rules_time_int(const struct tsd_rules *rules, struct ts_slice s, struct tsd_time *out,
                          struct ts_buf *msg)
{
    struct ts_error err = {0};
    int64_t raw;
    if (ts_num_parse_int(s, &raw, &err) < 0) {
        ts_buf_str(msg, err.text);
        return TS_EPARSE;
    }
    if (tsd_time_from_int(rules, raw, out) == 0)
        return 0;
    ts_buf_printf(msg, "invalid timestamp: %lld", (long long)raw);
    tsd_time_why(raw, msg);
    return TS_EINVAL;
}

/* Seconds with 1 to 3 decimals. */
static int rules_time_fraction(const struct tsd_rules *rules, struct ts_slice s, size_t dot,
                               struct tsd_time *out, struct ts_buf *msg)
{
    struct ts_slice whole = {s.p, dot}, frac = {s.p + dot + 1, s.n - dot - 1};
    int64_t sec, part = 0;
    struct ts_error err = {0};
    if (ts_num_parse_int(whole, &sec, &err) < 0 ||
        (frac.n && (frac.p[0] == '-' || frac.p[0] == '+' || ts_num_parse_int(frac, &part, &err) < 0))) {
        ts_buf_str(msg, err.code ? err.text : "Invalid character '.' in ");
        if (!err.code)
            ts_buf_slice(msg, s);
        return TS_EPARSE;
    }
    if (frac.n > 3)
        return rules_bad_time(s, " (at most 3 decimals)", msg);
    if (sec > RULES_MAX_SECONDS || sec < -RULES_MAX_SECONDS)
        return rules_bad_time(s, " (decimals need seconds)", msg);
    for (size_t i = frac.n; i < 3; i++)
        part *= 10;
    int64_t ms = sec * 1000 + (s.p[0] == '-' ? -part : part);
    *out = (struct tsd_time){.raw = ms, .ts_ms = ms, .ms = frac.n > 0, .bad = tsd_time_is_bad(rules, ms)};
    if (ms <= 0 && !rules->old_times)
        return rules_bad_time(s, "", msg);
    return 0;
}

bool tsd_time_is_iso(struct ts_slice s)
{
    return s.n > 11 && s.p[4] == '-' && s.p[7] == '-' && s.p[10] == 'T';
}

/* Has it decimals beyond milliseconds? Two such points would become one. */
static bool rules_iso_is_finer(struct ts_slice s)
{
    size_t at = 0, n = 0;
    while (at < s.n && s.p[at] != '.' && s.p[at] != ',')
        at++;
    for (at++; at < s.n && s.p[at] >= '0' && s.p[at] <= '9'; at++)
        if (++n > 3 && s.p[at] != '0')
            return true;
    return false;
}

static int rules_time_iso(const struct tsd_rules *rules, struct ts_slice s, struct tsd_time *out,
                          struct ts_buf *msg)
{
    struct ts_error err = {0};
    int64_t ms;
    if (rules_iso_is_finer(s))
        return rules_bad_time(s, " (at most 3 decimals)", msg);
    int rc = memchr(s.p, ' ', s.n) ? TS_EPARSE : ts_time_parse_clock(s, NULL, 0, &ms, &err);
    if (rc < 0 && rc != TS_ENOTFOUND)
        return rules_bad_time(s, " (an ISO 8601 time looks like 2026-11-22T06:15:00Z)", msg);
    if (rc < 0)
        return rules_bad_time(s, " (there is no such time: the clock was set forward; write its zone)", msg);
    if ((ms <= 0 && !rules->old_times) || ms > RULES_MAX_MS || ms < -RULES_MAX_MS)
        return rules_bad_time(s, "", msg);
    *out = (struct tsd_time){
        .raw = ms, .ts_ms = ms, .ms = memchr(s.p, '.', s.n) != NULL, .bad = tsd_time_is_bad(rules, ms)};
    return 0;
}

int tsd_time_read(const struct tsd_rules *rules, struct ts_slice s, struct tsd_time *out, struct ts_buf *msg)
{
    const char *dot = s.n ? memchr(s.p, '.', s.n) : NULL;
    if (!rules->compat && tsd_time_is_iso(s))
        return rules_time_iso(rules, s, out, msg);
    if (!dot)
        return rules_time_int(rules, s, out, msg);
    if (!rules->compat)
        return rules_time_fraction(rules, s, (size_t)(dot - s.p), out, msg);
    char text[64];
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < sizeof(text); i++)
        if (s.p[i] != '.')
            text[n++] = s.p[i];
    return rules_time_int(rules, (struct ts_slice){text, n}, out, msg);
}

void tsd_tags_text(const struct sto_tag_text *tags, size_t n, struct ts_buf *out)
{
    ts_buf_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            ts_buf_str(out, ", ");
        ts_buf_slice(out, tags[i].k);
        ts_buf_char(out, '=');
        ts_buf_slice(out, tags[i].v);
    }
    ts_buf_char(out, '}');
}

/* "tag name with value [V]": what messages call a key or value. */
static void rules_tag_why(const struct tsd_rules *rules, enum sto_uid_kind kind, struct ts_slice other,
                          struct ts_slice name, struct ts_slice bad, struct ts_buf *msg)
{
    struct ts_buf text;
    ts_buf_init(&text, 1024);
    ts_buf_str(&text, kind == STO_UID_TAGK ? "tag name with value [" : "tag value with key [");
    ts_buf_slice(&text, ts_utf8_cut(other, 900));
    ts_buf_char(&text, ']');
    tsd_name_why(rules, kind, ts_buf_get(&text), name, bad, msg);
    ts_buf_release(&text);
}

int tsd_names_check(const struct tsd_rules *rules, struct ts_slice metric, const struct sto_tag_text *tags,
                    size_t n_tags, struct ts_buf *msg)
{
    struct ts_slice bad;
    if (n_tags == 0 || n_tags > rules->max_tags) {
        if (n_tags == 0) {
            ts_buf_str(msg, "Need at least one tag (metric=");
            ts_buf_slice(msg, metric);
            ts_buf_str(msg, ", tags={})");
            return TS_EINVAL;
        }
        ts_buf_printf(msg, "Too many tags: %zu maximum allowed: %u, tags: ", n_tags, rules->max_tags);
        tsd_tags_text(tags, n_tags, msg);
        if (!rules->hbase || n_tags <= TSD_TAGS_HBASE)
            return TS_EINVAL;
        ts_buf_str(msg, " (remote = hbase)");
        return TS_EBACKEND;
    }
    if (!tsd_name_ok(rules, STO_UID_METRIC, metric, &bad)) {
        tsd_name_why(rules, STO_UID_METRIC, TS_SLICE_LIT("metric name"), metric, bad, msg);
        return rules_not_for_hbase(rules, bad) ? TS_EBACKEND : TS_EINVAL;
    }
    for (size_t i = 0; i < n_tags; i++) {
        if (!tsd_name_ok(rules, STO_UID_TAGK, tags[i].k, &bad)) {
            rules_tag_why(rules, STO_UID_TAGK, tags[i].v, tags[i].k, bad, msg);
            return rules_not_for_hbase(rules, bad) ? TS_EBACKEND : TS_EINVAL;
        }
        if (!tsd_name_ok(rules, STO_UID_TAGV, tags[i].v, &bad)) {
            rules_tag_why(rules, STO_UID_TAGV, tags[i].k, tags[i].v, bad, msg);
            return rules_not_for_hbase(rules, bad) ? TS_EBACKEND : TS_EINVAL;
        }
    }
    return 0;
}
