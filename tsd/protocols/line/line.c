/*
 * line.c - lines out of bytes.
 *
 * Threads    see line.h
 * Not here   what a put line says (put.c), the other commands (commands.c), sockets (line_conn.c)
 */
#include "tsd/protocols/line/line.h"

#include "base/bytes.h"

#include <stdio.h>

bool tsd_line_may_answer(struct tsd_line *l)
{
    bool may = l->out->n <= l->reply_max_bytes;
    l->n_dropped += !may;
    return may;
}

void tsd_line_say(struct tsd_line *l, const char *a, const char *b, struct ts_slice c)
{
    if (!tsd_line_may_answer(l))
        return;
    ts_buf_str(l->out, a);
    ts_buf_str(l->out, b);
    ts_buf_slice(l->out, c);
    ts_buf_char(l->out, '\n');
}

enum tsd_line_end tsd_line_taken(struct tsd_line *l, const char *word, int rc)
{
    if (rc == TS_EBUSY)
        return TSD_LINE_BUSY;
    if (rc == 0) {
        l->n_points++;
        return TSD_LINE_MORE;
    }
    l->work += TSD_LINE_WORK_REFUSED;
    tsd_ingest_count_refused(l->in, rc);
    tsd_line_say(l, word, tsd_refusal_text(tsd_refusal_of(rc), l->in->rules->compat),
                 ts_buf_get(&l->in->msg));
    return TSD_LINE_MORE;
}

enum tsd_line_end tsd_line_read_only(struct tsd_line *l, const char *word)
{
    l->in->n_refused[TSD_REF_READ_ONLY]++;
    tsd_line_say(l, word, ": ",
                 l->in->rules->no_points ? TS_SLICE_LIT("read-only: this daemon takes no points (mode = ro)")
                                         : TS_SLICE_LIT("read-only: this client may not write"));
    return TSD_LINE_MORE;
}

static void line_too_long(struct tsd_line *l, const char *p)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "line too long: more than %zu bytes (line_max_bytes)",
                     l->line_max_bytes);
    bool put = !memcmp(p, "put ", 4);
    l->in->n_refused[TSD_REF_ILLEGAL]++;
    tsd_line_say(l, put ? "put: " : "", put ? "illegal argument: " : "", (struct ts_slice){text, (size_t)n});
}

static enum tsd_line_end line_put(struct tsd_line *l, struct ts_slice line)
{
    struct ts_slice args = {NULL, 0};
    if (line.n > 3)
        args = (struct ts_slice){line.p + 4, line.n - 4};
    unsigned before = l->work;
    enum tsd_line_end how = tsd_line_taken(l, "put: ", tsd_put_line(l->in, &l->chain, args));
    if (l->work != before) /* refused */
        l->work += (unsigned)(line.n / TSD_LINE_BYTES_OF_WORK);
    return how;
}

/* The same for a line that begins with incr or incr!. */
static enum tsd_line_end line_incr(struct tsd_line *l, struct ts_slice line)
{
    unsigned before = l->work, n = line.p[4] == '!' ? 6 : 5;
    struct ts_slice rest = {line.p + n, line.n - n};
    enum tsd_line_end how = n == 6 ? tsd_cmd_once(l, rest) : tsd_cmd_incr(l, rest);
    if (l->work != before)
        l->work += (unsigned)(line.n / TSD_LINE_BYTES_OF_WORK);
    return how;
}

/* An increment that lacks its end would count for other tags, and once more when it is repeated. Is this one
 * refused? */
static bool line_incr_cut(struct tsd_line *l, const char *word)
{
    if (!l->cut)
        return false;
    l->in->n_refused[TSD_REF_ILLEGAL]++;
    tsd_line_say(
        l, word, "",
        TS_SLICE_LIT("the line has no line feed, so its end may be missing: nothing was added, repeat it"));
    return true;
}

enum tsd_line_end tsd_cmd_incr(struct tsd_line *l, struct ts_slice rest)
{
    if (line_incr_cut(l, "incr: "))
        return TSD_LINE_MORE;
    return tsd_line_taken(l, "incr: ", tsd_incr_line(l->in, &l->chain, rest, l->asker));
}

enum tsd_line_end tsd_cmd_once(struct tsd_line *l, struct ts_slice rest)
{
    uint64_t seq = 0;
    char word[40];
    if (!l->once) {
        tsd_line_say(l, "incr!: ", "", TS_SLICE_LIT("ids need a connection to a daemon"));
        return TSD_LINE_MORE;
    }
    if (line_incr_cut(l, "incr!: "))
        return TSD_LINE_MORE;
    int rc = tsd_once_line(l->in, &l->chain, rest, l->asker, l->once, &seq);
    (void)snprintf(word, sizeof word, seq ? "incr! %llu: " : "incr!: ", (unsigned long long)seq);
    return tsd_line_taken(l, word, rc);
}

/* One whole line without its end; what follows it lies at [next, end). */
static enum tsd_line_end line_one(struct tsd_line *l, struct ts_slice line, const char *next, const char *end)
{
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    bool put = line.n >= 3 && !memcmp(line.p, "put", 3) && (line.n == 3 || line.p[3] == ' ');
    if (put && tsd_line_stores(l)) {
        tsd_put_ahead(l->in, next, end);
        return line_put(l, line);
    }
    if (((line.n > 5 && !memcmp(line.p, "incr ", 5)) || (line.n > 6 && !memcmp(line.p, "incr! ", 6))) &&
        tsd_line_stores(l))
        return line_incr(l, line);
    enum tsd_line_end how = tsd_line_command(l, line);
    l->n_commands += how == TSD_LINE_MORE || how == TSD_LINE_EXIT;
    l->work += (unsigned)(line.n / TSD_LINE_BYTES_OF_WORK);
    return how;
}

/* The rest of [p, end) holds no line feed. Returns what stays for later. */
static const char *line_tail(struct tsd_line *l, const char *p, const char *end)
{
    if ((size_t)(end - p) <= l->line_max_bytes + 1)
        return p;
    line_too_long(l, p);
    l->skipping = true;
    return end;
}

/* Lines of known series at the shortest way. */
static const char *line_run(struct tsd_line *l, const char *p, const char *end)
{
    p = tsd_put_run(l->in, &l->chain, p, end, &l->n_points);
    if (*p == 'i')
        p = tsd_incr_run(l->in, &l->chain, p, end, l->asker, &l->n_points);
    if (*p == 'i' && l->once)
        p = tsd_once_run(l->in, &l->chain, p, end, l->once, &l->n_points);
    return p;
}

enum tsd_line_end tsd_line_input(struct tsd_line *l, const char *p, const char *end, bool eof,
                                 const char **out_rest)
{
    enum tsd_line_end done = TSD_LINE_MORE;
    bool stores = tsd_line_stores(l);
    while (p < end) {
        if (!l->skipping) {
            p = !stores ? p : line_run(l, p, end);
            if (p == end)
                break;
        }
        const char *feed = memchr(p, '\n', (size_t)(end - p));
        if (l->skipping) {
            l->skipping = !feed && !eof;
            p = feed ? feed + 1 : end;
            continue;
        }
        if (!feed && !eof) {
            p = line_tail(l, p, end);
            break;
        }
        const char *stop = feed ? feed : end;
        l->cut = !feed;
        if ((size_t)(stop - p) > l->line_max_bytes + 1 ||
            ((size_t)(stop - p) == l->line_max_bytes + 1 && stop[-1] != '\r'))
            line_too_long(l, p);
        else
            done = line_one(l, (struct ts_slice){p, (size_t)(stop - p)}, feed ? feed + 1 : end, end);
        if (done == TSD_LINE_BUSY || done == TSD_LINE_WAIT)
            break;
        p = feed ? feed + 1 : end;
        if (done == TSD_LINE_MORE && l->max_work && l->work >= l->max_work && p < end)
            done = TSD_LINE_YIELD;
        if (done != TSD_LINE_MORE)
            break;
    }
    *out_rest = p;
    return done;
}
