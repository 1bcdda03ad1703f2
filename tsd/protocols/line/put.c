/*
 * put.c - the three paths of a put line, and of lines incr and incr!, which add to a point instead of replacing it.
 *
 * Threads    see put.h
 * Not here   cutting lines and other commands (line.c), characters of names (rules.c)
 */
#include "tsd/protocols/line/put.h"

#include "base/bytes.h"
#include "tsd/ingest/args.h"

#define PUT_ONES        0x0101010101010101ull
#define PUT_HIGHS       0x8080808080808080ull
#define PUT_S_DIGITS    10
#define PUT_MS_DIGITS   13
#define PUT_AHEAD_BYTES 512u /* longer lines are not looked at ahead */

/* --- numbers, eight bytes at a time --- */

/* High bit of each byte of v that is zero; exact up to the first one. */
static inline uint64_t put_zeros(uint64_t v)
{
    return (v - PUT_ONES) & ~v & PUT_HIGHS;
}

static inline bool put_all_digits(uint64_t v)
{
    return ((v & 0xf0f0f0f0f0f0f0f0ull) | (((v + 0x0606060606060606ull) & 0xf0f0f0f0f0f0f0f0ull) >> 4)) ==
           0x3333333333333333ull;
}

/* Eight digits, first in memory = most significant. */
static inline uint32_t put_digits8(uint64_t v)
{
    v = (v & 0x0f0f0f0f0f0f0f0full) * 2561 >> 8;
    v = (v & 0x00ff00ff00ff00ffull) * 6553601 >> 16;
    return (uint32_t)((v & 0x0000ffff0000ffffull) * 42949672960001ull >> 32);
}

/* Value of at most seven characters and the blank after it, all in one word: sign, digits, one point. Returns
 * the characters used without the blank, 0 = not of this kind. */
static inline unsigned put_short_value(const char *p, int64_t *out_m, uint32_t *out_flags)
{
    uint64_t v = ts_ld64(p);
    uint64_t blank = put_zeros(v ^ PUT_ONES * ' ');
    if (!blank)
        return 0;
    unsigned n = (unsigned)__builtin_ctzll(blank) / 8, used = n, exp = 0;
    bool neg = *p == '-';
    if (neg) {
        v >>= 8;
        n--;
    }
    v &= (1ull << 8 * n) - 1;
    uint64_t point = put_zeros(v ^ PUT_ONES * '.');
    bool dec = point != 0;
    if (dec) {
        unsigned at = (unsigned)__builtin_ctzll(point) / 8;
        uint64_t front = (1ull << 8 * at) - 1;
        v = (v & front) | (v >> 8 & ~front);
        n--;
        exp = n - at;
    }
    if (n - 1 > 6)
        return 0;
    v = v << (64 - 8 * n) | (PUT_ONES * '0') >> 8 * n;
    if (!put_all_digits(v))
        return 0;
    int64_t m = put_digits8(v);
    if (neg && m == 0)
        return 0;
    *out_m = neg ? -m : m;
    *out_flags = dec ? sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, (uint8_t)exp, false)
                     : sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    return used;
}

/* Any other value up to the next blank, at most 40 characters; 0 = go the slow way. */
static unsigned put_long_value(const char *p, const char *end, int64_t *out_m, uint32_t *out_flags)
{
    size_t max = (size_t)(end - p) < 40 ? (size_t)(end - p) : 40;
    const char *blank = memchr(p, ' ', max);
    struct ts_num v;
    if (!blank || ts_num_parse((struct ts_slice){p, (size_t)(blank - p)}, &v, NULL) < 0)
        return 0;
    *out_m = v.m;
    *out_flags = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, false);
    return (unsigned)(blank - p);
}

/* Is this the time of the last line, blank included? */
static inline bool put_same_time(const struct tsd_ingest *in, const char *p)
{
    uint32_t n = in->time_len;
    return ts_ld64(p) == ts_ld64(in->time_text) && ts_ld64(p + n - 7) == ts_ld64(in->time_text + n - 7);
}

/* A time of 10 or 13 digits and the blank after it; remembers it. Returns its digits, 0 = go the slow way. */
static unsigned put_time(struct tsd_ingest *in, const char *p)
{
    if (!put_all_digits(ts_ld64(p)))
        return 0;
    int64_t t = put_digits8(ts_ld64(p));
    unsigned n = 8;
    while (n < PUT_MS_DIGITS && (unsigned char)(p[n] - '0') <= 9)
        t = t * 10 + (p[n++] - '0');
    struct tsd_time time;
    if (p[n] != ' ' || n < PUT_S_DIGITS || tsd_time_from_int(in->rules, t, &time) < 0 || time.bad)
        return 0;
    memcpy(in->time_text, p, n + 1);
    in->time_len = n;
    in->time_ts_ms = time.ts_ms;
    in->time_ms_flag = time.ms ? STO_META_MS : 0;
    return n;
}

/* --- first path --- */

/* What a line does with its value, by its first word. */
struct put_verb {
    const char *word; /* with the blank behind it */
    unsigned n;       /* its length */
    bool adds;        /* to the point of that time, for asker; else replaces it */
    uint32_t asker;
    struct tsd_once *once; /* the line has an id and a sequence; NULL = it has none */
    uint64_t seq;          /* the sequence, if it was read */
};

static inline int put_take(struct tsd_ingest *in, const struct put_verb *verb,
                           const struct sto_series *series, int64_t ts_ms, int64_t m, uint32_t flags)
{
    if (verb->once)
        return tsd_ingest_add_once(in, series, ts_ms, m, flags, &verb->once->stream, verb->seq);
    return verb->adds ? tsd_ingest_add(in, series, ts_ms, m, flags, verb->asker)
                      : tsd_ingest_point(in, series, ts_ms, m, flags);
}

/* The id and the sequence at p, each with the blank after it. Returns what follows, NULL: go the slow way. */
static inline const char *put_sequence(const struct tsd_once *once, const char *p, uint64_t *out_seq)
{
    uint64_t v = 0;
    if (memcmp(p, once->text, once->text_n) || p[once->text_n] != ' ')
        return NULL;
    p += once->text_n + 1;
    const char *begin = p;
    while ((unsigned char)(*p - '0') <= 9 && p - begin < 18)
        v = v * 10 + (unsigned char)(*p++ - '0');
    *out_seq = v;
    return *p == ' ' && v && tsd_once_may(once, v) ? p + 1 : NULL;
}

/* Inlined for each word, which is a constant then. */
static inline __attribute__((always_inline)) const char *put_run(struct tsd_ingest *in,
                                                                 struct tsd_chain *chain, const char *p,
                                                                 const char *end, struct put_verb *verb,
                                                                 uint64_t *n_points)
{
    if (!chain->last || chain->epoch != in->cache.epoch)
        return p;
    uintptr_t *link = tsd_icache_link(&in->cache, chain->last);
    uint64_t n_taken = 0;
    while (link && *link) {
        uintptr_t ref = *link;
        uint32_t metric_len, text_len;
        const char *text = tsd_ref_text(ref, &metric_len, &text_len);
        size_t head = verb->n + (verb->once ? verb->once->text_n + 3 : 0);
        if ((size_t)(end - p) < text_len + 13 + head || memcmp(p, verb->word, verb->n))
            break;
        const char *q = p + verb->n;
        if (verb->once && !(q = put_sequence(verb->once, q, &verb->seq)))
            break;
        if (end - q < (ptrdiff_t)text_len + 13 || q[metric_len] != ' ' || memcmp(q, text, metric_len))
            break;
        q += metric_len;
        q++;
        unsigned n = in->time_len;
        if (!n || !put_same_time(in, q)) {
            n = put_time(in, q);
            if (!n)
                break;
        }
        q += n + 1;
        int64_t m;
        uint32_t flags;
        n = put_short_value(q, &m, &flags);
        if (!n && !(n = put_long_value(q, end, &m, &flags)))
            break;
        q += n + 1;
        size_t tags_len = text_len - metric_len - 1;
        if ((size_t)(end - q) <= tags_len || memcmp(q, text + metric_len + 1, tags_len))
            break;
        q += tags_len;
        q += *q == '\r';
        if (q >= end || *q != '\n')
            break;
        const struct sto_series *series = tsd_ref_series(ref);
        if (put_take(in, verb, series, in->time_ts_ms, m, flags | in->time_ms_flag) < 0)
            break;
        if (verb->once)
            tsd_once_sent(verb->once, verb->seq);
        p = q + 1;
        chain->last = ref;
        n_taken++;
        link = tsd_icache_link(&in->cache, ref);
        if (link && *link)
            __builtin_prefetch((const void *)(*link & ~(uintptr_t)1));
    }
    in->n_points += n_taken;
    in->n_guessed += n_taken;
    *n_points += n_taken;
    return p;
}

const char *tsd_put_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                        uint64_t *n_points)
{
    return put_run(in, chain, p, end, &(struct put_verb){.word = "put ", .n = 4}, n_points);
}

const char *tsd_incr_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                         uint32_t asker, uint64_t *n_points)
{
    return put_run(in, chain, p, end,
                   &(struct put_verb){.word = "incr ", .n = 5, .adds = true, .asker = asker}, n_points);
}

const char *tsd_once_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                         struct tsd_once *once, uint64_t *n_points)
{
    if (!once->text_n)
        return p;
    return put_run(in, chain, p, end,
                   &(struct put_verb){.word = "incr! ", .n = 6, .adds = true, .once = once}, n_points);
}

/* --- second path --- */

/* From here on the spelling of ref follows the one before it. */
static void put_follow(struct tsd_ingest *in, struct tsd_chain *chain, uintptr_t ref)
{
    if (ref && chain->last && chain->epoch == in->cache.epoch) {
        uintptr_t *link = tsd_icache_link(&in->cache, chain->last);
        if (link)
            *link = ref;
    }
    if (ref) {
        chain->last = ref;
        chain->epoch = in->cache.epoch;
    }
}

/* The parts of a line with one blank between them. */
struct put_parts {
    struct ts_slice metric, time, value, tags;
};

/* false: there are fewer than four parts. */
static bool put_split(struct ts_slice args, struct put_parts *out)
{
    const char *end = args.p + args.n;
    const char *a = memchr(args.p, ' ', args.n);
    const char *b = a ? memchr(a + 1, ' ', (size_t)(end - a - 1)) : NULL;
    const char *c = b ? memchr(b + 1, ' ', (size_t)(end - b - 1)) : NULL;
    if (!c || c + 1 == end)
        return false;
    *out = (struct put_parts){.metric = {args.p, (size_t)(a - args.p)},
                              .time = {a + 1, (size_t)(b - a - 1)},
                              .value = {b + 1, (size_t)(c - b - 1)},
                              .tags = {c + 1, (size_t)(end - c - 1)}};
    return true;
}

void tsd_put_ahead(const struct tsd_ingest *in, const char *p, const char *end)
{
    struct put_parts parts;
    size_t n = (size_t)(end - p) < PUT_AHEAD_BYTES ? (size_t)(end - p) : PUT_AHEAD_BYTES;
    const char *feed = n > 4 && ts_ld32(p) == ts_ld32("put ") ? memchr(p, '\n', n) : NULL;
    if (feed && put_split((struct ts_slice){p + 4, (size_t)(feed - p) - 4}, &parts))
        tsd_icache_prefetch(&in->cache, tsd_icache_hash(parts.metric, parts.tags));
}

/* A line whose text is known and whose time and value are plain: 1 taken, 0 not of this kind, TS_EBUSY. */
static int put_found(struct tsd_ingest *in, struct tsd_chain *chain, const struct put_verb *verb,
                     struct ts_slice args)
{
    struct put_parts p;
    if (!put_split(args, &p))
        return 0;
    uintptr_t ref = tsd_icache_find(&in->cache, tsd_icache_hash(p.metric, p.tags), p.metric, p.tags);
    if (!ref)
        return 0;
    struct tsd_time time;
    struct ts_num v;
    ts_buf_clear(&in->msg);
    if (p.time.n && p.time.n == in->time_len && !memcmp(p.time.p, in->time_text, p.time.n))
        time = (struct tsd_time){.ts_ms = in->time_ts_ms, .ms = in->time_ms_flag != 0};
    else if (tsd_time_read(in->rules, p.time, &time, &in->msg) < 0 || time.bad)
        return 0;
    if (ts_num_parse(p.value, &v, NULL) < 0)
        return 0;
    int rc = put_take(in, verb, tsd_ref_series(ref), time.ts_ms, v.m,
                      sto_meta_flags(STO_OP_PUT, v.kind, v.exp, time.ms));
    if (rc == TS_EBUSY)
        return rc;
    if (rc < 0)
        return 0;
    put_follow(in, chain, ref);
    in->n_points++;
    in->n_found++;
    return 1;
}

/* --- third path --- */

/* Metric and tags as they stand in the line, to be remembered; none if the line is too short for both. */
static void put_raw(struct ts_slice raw, struct ts_slice *out_metric, struct ts_slice *out_tags)
{
    struct tsd_line_args a = {.rest = raw, .more = raw.p != NULL};
    struct ts_slice word;
    *out_metric = (struct ts_slice){NULL, 0};
    (void)tsd_args_word(&a, out_metric);
    (void)tsd_args_word(&a, &word);
    (void)tsd_args_word(&a, &word);
    *out_tags = a.more ? a.rest : (struct ts_slice){NULL, 0};
}

static int put_checked(struct tsd_ingest *in, struct tsd_chain *chain, const struct put_verb *verb,
                       struct ts_slice raw)
{
    struct tsd_line_args a;
    TS_TRY(tsd_args_begin(in, raw, TSD_PUT_MIN_ARGS, TSD_PUT_MIN_ARGS, &a));
    TS_TRY(tsd_args_point(in, &a));
    const struct sto_series *series;
    struct ts_slice raw_metric, raw_tags;
    uintptr_t ref;
    put_raw(raw, &raw_metric, &raw_tags);
    TS_TRY(tsd_ingest_series(in, a.metric, in->tags, in->n_tags, raw_metric, raw_tags, &series, &ref));
    TS_TRY(put_take(in, verb, series, a.time.ts_ms, a.value.m,
                    sto_meta_flags(STO_OP_PUT, a.value.kind, a.value.exp, a.time.ms)));
    put_follow(in, chain, ref);
    in->n_points++;
    return 0;
}

static int put_line(struct tsd_ingest *in, struct tsd_chain *chain, const struct put_verb *verb,
                    struct ts_slice args)
{
    int rc = args.n ? put_found(in, chain, verb, args) : 0;
    if (rc == TS_EBUSY)
        return rc;
    if (rc == 1)
        return 0;
    return put_checked(in, chain, verb, args);
}

int tsd_put_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args)
{
    return put_line(in, chain, &(struct put_verb){.adds = false}, args);
}

int tsd_incr_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args, uint32_t asker)
{
    return put_line(in, chain, &(struct put_verb){.adds = true, .asker = asker}, args);
}

/* Cut a word and the blank after it off a line. */
static struct ts_slice once_word(struct ts_slice *rest)
{
    const char *blank = rest->n ? memchr(rest->p, ' ', rest->n) : NULL;
    struct ts_slice word = {rest->p, blank ? (size_t)(blank - rest->p) : rest->n};
    *rest = blank ? (struct ts_slice){blank + 1, rest->n - word.n - 1} : (struct ts_slice){NULL, 0};
    return word;
}

/* Errors after which the client changes the line instead of repeating it. */
static bool once_is_final(int rc)
{
    return rc == TS_EINVAL || rc == TS_EPARSE || rc == TS_ENOTFOUND || rc == TS_EBACKEND;
}

int tsd_once_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args, uint32_t asker,
                  struct tsd_once *once, uint64_t *out_seq)
{
    struct ts_slice none = {NULL, 0}, id_text = once_word(&args), seq_text = once_word(&args);
    struct sto_once_id id;
    *out_seq = 0;
    if (tsd_once_id(id_text, &id) < 0)
        return tsd_args_say(in, TS_EINVAL, "no id, which looks like 1793620800-9f3a5c0e12ab77d4: ", id_text);
    if (tsd_once_seq(seq_text, out_seq) < 0)
        return tsd_args_say(in, TS_EINVAL, "no sequence, which is a number from 1 on: ", seq_text);
    if (!once->stream.number)
        tsd_once_begin(once, in->writer, asker, &id, id_text);
    if (once->stream.id.made_s != id.made_s || once->stream.id.random != id.random)
        return tsd_args_say(in, TS_EINVAL, "another id than before: each needs a connection of its own",
                            none);
    if (!tsd_once_may(once, *out_seq)) {
        once->n_refusals++;
        return tsd_args_say(in, TS_EIO, "an earlier sequence was refused: repeat from there on", none);
    }
    int rc = put_line(in, chain, &(struct put_verb){.adds = true, .once = once, .seq = *out_seq}, args);
    if (rc == 0)
        tsd_once_sent(once, *out_seq);
    else if (rc != TS_EBUSY && !once_is_final(rc))
        tsd_once_refused(once, *out_seq, ts_buf_get(&in->msg));
    return rc;
}
