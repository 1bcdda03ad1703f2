/*
 * websim_logs.c - servers that write in pieces, logrotate with all its names, hands that copy and rename.
 *
 * What nobody could decide from the files is not done (weblog_identity.h): nothing is written between the copy and the truncation, no two
 * files of a log begin in the same second, an older copy is looked at before it grows, a file is removed only when it was read.
 */
#include "tests/sim/websim.h"

#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/time.h"
#include "collectors/weblog/weblog_follow.h"

#define QUIET_MS 200000 /* servers reopen sooner than a rotated file is given up */

static const char *const statuses[WS_STATUSES] = {"200", "302", "503"};

/* Names of the rotated files: # is their number, % a date that grows; a trailing ! says that numbers shift. */
static const char *const schemes[] = {"NAME.#!",        "NAME-%",     "STEM.#.ENDING!", "STEM-%.ENDING",
                                      "NAME-%_07",      "NAME.%.old", "old/NAME.#!",    "old/NAME-%",
                                      "abs/STEM-%.END", "NAME.week%", "NAME-17953%",    "abs/NAME.#!"};
#define N_SCHEMES (sizeof(schemes) / sizeof(*schemes))

/* --- files --- */

static char *whole(const char *path, size_t *out_n)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    ws_check(f && fstat(fileno(f), &st) == 0, path);
    char *p = ts_xcalloc(1, (size_t)st.st_size + 1);
    *out_n = fread(p, 1, (size_t)st.st_size, f);
    fclose(f);
    return p;
}

/* Files change when the life's clock says so, each change at a time of its own: a life of hours runs in milliseconds. */
static void touch(const struct ws_life *l, int fd)
{
    static long n_changes;
    n_changes = (n_changes + 1) % 1000;
    int64_t ms = l->t_ms + n_changes;
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    ws_check(futimens(fd, (struct timespec[]){t, t}) == 0, "futimens");
}

static void write_whole(const struct ws_life *l, const char *path, const char *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    ws_check(f && fwrite(p, 1, n, f) == n && fflush(f) == 0, path);
    touch(l, fileno(f));
    fclose(f);
}

static void copy(const struct ws_life *l, const char *from, const char *to)
{
    size_t n;
    char *p = whole(from, &n);
    write_whole(l, to, p, n);
    ts_free(p);
}

static void move(const char *from, const char *to)
{
    if (rename(from, to) < 0)
        ws_check(false, from);
}

static void path_of(const struct ws_life *l, const char *name, char out[WS_PATH_BYTES])
{
    ws_check(snprintf(out, WS_PATH_BYTES, "%s/%s", l->dir, name) < WS_PATH_BYTES, "path too long");
}

/* Pack a file beside itself, then remove it, as all packers do. Returns the ending. */
static const char *pack(struct ws_life *l, const char *path)
{
    static const char *const endings[] = {".gz", ".zst", ".xz", ".bz2"};
    unsigned tool = ws_below(l, 4);
    char to[WS_PATH_BYTES + 8];
    size_t n, cap, k = 0;
    char *p = whole(path, &n);
    cap = n + n / 50 + 4096;
    char *out = ts_xcalloc(1, cap);
    unsigned n_bz = (unsigned)cap;
    z_stream z = {0};
    switch (tool) {
    case 0:
        ws_check(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "gzip");
        z.next_in = (Bytef *)p;
        z.avail_in = (uInt)n;
        z.next_out = (Bytef *)out;
        z.avail_out = (uInt)cap;
        ws_check(deflate(&z, Z_FINISH) == Z_STREAM_END, "gzip");
        k = cap - z.avail_out;
        deflateEnd(&z);
        break;
    case 1:
        k = ZSTD_compress(out, cap, p, n, 1);
        break;
    case 2:
        ws_check(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, (uint8_t *)p, n, (uint8_t *)out, &k,
                                         cap) == LZMA_OK,
                 "xz");
        break;
    default:
        ws_check(BZ2_bzBuffToBuffCompress(out, &n_bz, p, (unsigned)n, 1, 0, 0) == BZ_OK, "bzip2");
        k = n_bz;
    }
    (void)snprintf(to, sizeof(to), "%s%s", path, endings[tool]);
    write_whole(l, to, out, k);
    ws_check(unlink(path) == 0, path);
    ts_free(p);
    ts_free(out);
    return endings[tool];
}

/* --- a server --- */

static void server_open(struct ws_life *l, struct ws_log *log)
{
    char path[WS_PATH_BYTES];
    path_of(l, log->name, path);
    if (log->server)
        fclose(log->server);
    if (log->server_file)
        log->files[log->server_file - 1].held = false;
    log->server_file = 0;
    log->server = fopen(path, "ab");
    ws_check(log->server != NULL, path);
    setvbuf(log->server, NULL, _IONBF, 0);
}

static void put_bytes(const struct ws_life *l, struct ws_log *log, const char *p, size_t n)
{
    ws_check(fwrite(p, 1, n, log->server) == n, "write");
    touch(l, fileno(log->server));
    log->unread++;
    if (log->server_file)
        log->files[log->server_file - 1].settled = 0;
}

static void torn_end(const struct ws_life *l, struct ws_log *log)
{
    put_bytes(l, log, log->torn, strlen(log->torn));
    log->torn[0] = '\0';
}

/* A line that a server may write now; its status in *out. The first two logs are of parked sites: their lines are the same. */
static int line_make(struct ws_life *l, const struct ws_log *log, char line[200], unsigned *out_status)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct ts_civil c = ts_civil_from_ms(NULL, l->t_ms);
    unsigned k = (unsigned)(log - l->logs);
    *out_status = ws_below(l, 10) ? 0 : 1 + ws_below(l, 2);
    return snprintf(
        line, 200,
        "l%u:80 10.0.0.%u - - [%02u/%s/%d:%02u:%02u:%02u +0000] \"GET /%c/x HTTP/1.1\" %s 7 \"-\" \"-\"\n",
        k == 1 ? 0 : k, ws_below(l, 3), c.day, months[c.month - 1], c.year, c.hour, c.minute, c.second,
        'p' + (char)ws_below(l, 3), statuses[*out_status]);
}

static void line_count(const struct ws_life *l, struct ws_log *log, unsigned status)
{
    log->written[(l->t_ms - l->t0_ms) / 3600000][status]++;
}

static void lines_write(struct ws_life *l, struct ws_log *log)
{
    unsigned n = ws_below(l, 8) ? ws_below(l, 12) : ws_below(l, 400), status;
    struct ws_log *twin = log == &l->logs[0] && ws_below(l, 4) ? &l->logs[1] : NULL;
    char line[200];
    if (*log->torn)
        torn_end(l, log);
    if (twin && *twin->torn)
        torn_end(l, twin);
    for (unsigned i = 0; i < n; i++) {
        int len = line_make(l, log, line, &status);
        put_bytes(l, log, line, (size_t)len);
        line_count(l, log, status);
        if (twin) {
            put_bytes(l, twin, line, (size_t)len);
            line_count(l, twin, status);
        }
    }
    if (ws_below(l, 12) == 0) {
        static const char odd[] = "no line at all\n";
        put_bytes(l, log, odd, sizeof(odd) - 1);
        l->n_bad++;
    }
    if (ws_below(l, 6) == 0) {
        size_t len = (size_t)line_make(l, log, line, &status), part = 1 + ws_below(l, (uint32_t)len - 1);
        put_bytes(l, log, line, part);
        line_count(l, log, status);
        (void)snprintf(log->torn, sizeof(log->torn), "%s", line + part);
    }
    ws_say(l, "%s: %u lines%s%s", log->name, n, twin ? ", its twin too" : "",
           *log->torn ? ", and a part" : "");
}

/* --- logrotate --- */

/* Name of a rotated file by the log's scheme. */
static void rotated_name(const struct ws_life *l, const struct ws_log *log, unsigned number,
                         char out[WS_PATH_BYTES])
{
    const char *dot = strrchr(log->name, '.');
    char name[WS_PATH_BYTES];
    size_t n = 0;
    for (const char *p = schemes[log->scheme]; *p; p++) {
        if (!strncmp(p, "NAME", 4) || !strncmp(p, "STEM", 4) || !strncmp(p, "END", 3)) {
            bool ending = p[0] == 'E';
            const char *text = ending ? dot ? dot + 1 : "log" : log->name;
            int len = *p == 'S' && dot ? (int)(dot - log->name) : (int)strlen(text);
            n += (size_t)snprintf(name + n, sizeof(name) - n, "%.*s", len, text);
            p += ending && !strncmp(p, "ENDING", 6) ? 5 : ending ? 2 : 3;
        } else if (*p == '#') {
            n += (size_t)snprintf(name + n, sizeof(name) - n, "%u", number);
        } else if (*p == '%') {
            n += (size_t)snprintf(name + n, sizeof(name) - n, "%u", 20261100 + number);
        } else if (*p != '!') {
            name[n++] = *p;
        }
    }
    name[n] = '\0';
    path_of(l, name, out);
}

/* Ending that a packed file has behind its name by the scheme. */
static const char *packed_ending(const char *path)
{
    static const char *const endings[] = {".gz", ".zst", ".xz", ".bz2"};
    size_t n = strlen(path);
    for (unsigned i = 0; i < 4; i++)
        if (n > strlen(endings[i]) && !strcmp(path + n - strlen(endings[i]), endings[i]))
            return endings[i];
    return "";
}

/* Numbers shift: the newest file of a log gets 1. */
static void shift(struct ws_life *l, struct ws_log *log)
{
    for (unsigned i = 0; i < log->n_files; i++) { /* the oldest has the highest number */
        struct ws_file *f = &log->files[i];
        char to[WS_PATH_BYTES], full[WS_PATH_BYTES + 8];
        if (!*f->path)
            continue;
        rotated_name(l, log, log->n_files - i + 1, to);
        (void)snprintf(full, sizeof(full), "%s%s", to, packed_ending(f->path));
        move(f->path, full);
        ws_check(strlen(full) < sizeof(f->path), full);
        memcpy(f->path, full, strlen(full) + 1);
    }
}

static bool may_rotate(struct ws_life *l, const struct ws_log *log)
{
    char path[WS_PATH_BYTES];
    path_of(l, log->name, path);
    return log->n_files < WS_FILES && !log->server_file && access(path, F_OK) == 0;
}

static void pack_one(struct ws_life *l, struct ws_log *log, unsigned i)
{
    struct ws_file *f = &log->files[i];
    if (!*f->path || f->held || f->packed)
        return;
    const char *ending = pack(l, f->path);
    ws_say(l, "%s: %s packed %s", log->name, f->path, ending);
    size_t n = strlen(f->path);
    ws_check(snprintf(f->path + n, sizeof(f->path) - n, "%s", ending) < (int)(sizeof(f->path) - n), f->path);
    f->packed = true;
    f->settled = 0;
}

static void rotate(struct ws_life *l, struct ws_log *log)
{
    char path[WS_PATH_BYTES];
    if (!may_rotate(l, log))
        return;
    bool truncate_it = ws_below(l, 3) == 0, nocreate = ws_below(l, 3) == 0;
    if (truncate_it && *log->torn) /* the half of a line would be a line by itself */
        torn_end(l, log);
    l->t_ms += 1000 * (1 + (int64_t)ws_below(l, 5));
    path_of(l, log->name, path);
    log->n_rotations++;
    if (strchr(schemes[log->scheme], '!'))
        shift(l, log);
    struct ws_file *f = &log->files[log->n_files++];
    *f = (struct ws_file){.held = !truncate_it};
    rotated_name(l, log, strchr(schemes[log->scheme], '!') ? 1 : log->n_rotations, f->path);
    ws_say(l, "%s: rotated to %s by %s", log->name, f->path, truncate_it ? "copytruncate" : "rename");
    if (truncate_it) {
        copy(l, path, f->path);
        write_whole(l, path, "", 0);
    } else {
        move(path, f->path);
        log->server_file = log->n_files;
        if (!nocreate)
            write_whole(l, path, "", 0);
        if (ws_below(l, 2)) {
            if (*log->torn)
                torn_end(l, log);
            server_open(l, log);
        }
    }
    if (ws_below(l, 3) == 0) /* delaycompress */
        for (unsigned i = 0; i + 1 < log->n_files; i++)
            pack_one(l, log, i);
    else if (ws_below(l, 3) == 0)
        pack_one(l, log, log->n_files - 1);
}

static void reopen(struct ws_life *l, struct ws_log *log)
{
    if (!log->server_file)
        return;
    if (*log->torn)
        torn_end(l, log);
    l->t_ms += 1000;
    server_open(l, log);
    ws_say(l, "%s: reopened", log->name);
}

/* --- hands --- */

/* cp -p x y; mv y x, and the server opens it anew at once, or writes to the old one first. */
static void replace_by_copy(struct ws_life *l, struct ws_log *log)
{
    char path[WS_PATH_BYTES], y[WS_PATH_BYTES];
    if (log->server_file || log->unread)
        return;
    if (*log->torn)
        torn_end(l, log);
    path_of(l, log->name, path);
    path_of(l, "copy-in-progress", y);
    copy(l, path, y);
    move(y, path);
    server_open(l, log);
    ws_say(l, "%s: replaced by its copy", log->name);
}

/* A backup of the log, with fewer lines than were read, is put back. */
static bool put_back(struct ws_life *l, struct ws_log *log)
{
    char path[WS_PATH_BYTES];
    size_t n;
    path_of(l, log->name, path);
    if (log->server_file || log->unread || *log->torn || !log->configured || access(path, F_OK) < 0)
        return false;
    char *p = whole(path, &n);
    char *nl = n ? memrchr(p, '\n', n - n / 4) : NULL;
    bool ok = nl && nl - p > 1200;
    if (ok) {
        ws_check(unlink(path) == 0, path);
        write_whole(l, path, p, (size_t)(nl + 1 - p));
        server_open(l, log);
        ws_say(l, "%s: an older copy was put back", log->name);
        log->unread++;
    }
    ts_free(p);
    return ok;
}

/* logrotate removes what is old: it was read. */
static void remove_old(struct ws_life *l, struct ws_log *log)
{
    for (unsigned i = 0; i < log->n_files; i++) {
        struct ws_file *f = &log->files[i];
        if (!*f->path || f->held || f->past || f->settled < 2)
            continue;
        ws_say(l, "%s: %s is removed", log->name, f->path);
        ws_check(unlink(f->path) == 0, f->path);
        f->path[0] = '\0';
        return;
    }
}

/* --- all of it --- */

void ws_logs_begin(struct ws_life *l)
{
    static const char *const names[] = {"a.log", "a-1.log", "access_log", "shop.example.org.access.log"};
    char path[WS_PATH_BYTES];
    static const char *const dirs[] = {"old", "abs", "state"};
    for (unsigned i = 0; i < 3; i++) {
        path_of(l, dirs[i], path);
        ws_check(mkdir(path, 0755) == 0, path);
    }
    for (unsigned i = 0; i < WS_LOGS; i++) {
        struct ws_log *log = &l->logs[i];
        log->name = names[i];
        log->scheme = ws_below(l, N_SCHEMES);
        log->configured = true;
        server_open(l, log);
    }
}

void ws_logs_present(struct ws_life *l)
{
    char path[WS_PATH_BYTES];
    for (unsigned i = 0; i < WS_LOGS; i++) {
        path_of(l, l->logs[i].name, path);
        if (access(path, F_OK) < 0)
            reopen(l, &l->logs[i]);
    }
}

void ws_logs_looked(struct ws_life *l)
{
    for (unsigned i = 0; i < WS_LOGS; i++) {
        if (!l->logs[i].configured)
            continue;
        l->logs[i].unread = 0;
        for (unsigned k = 0; k < l->logs[i].n_files; k++)
            l->logs[i].files[k].settled++;
    }
}

void ws_logs_write(struct ws_life *l)
{
    lines_write(l, &l->logs[ws_below(l, WS_LOGS)]);
}

void ws_logs_step(struct ws_life *l, bool alive)
{
    struct ws_log *log = &l->logs[ws_below(l, WS_LOGS)];
    int64_t step_ms =
        1000 * (int64_t)(ws_below(l, 10) ? ws_below(l, 20) : ws_below(l, alive ? QUIET_MS / 1000 : 4000));
    unsigned what = ws_below(l, 40);
    l->t_ms += step_ms;
    l->steady_ms += step_ms;
    if (alive && step_ms > 20000) /* servers reopen before rotated files are given up */
        for (unsigned i = 0; i < WS_LOGS; i++)
            reopen(l, &l->logs[i]);
    l->n_ops[what]++;
    if (what < 22)
        lines_write(l, log);
    else if (what < 27)
        rotate(l, log);
    else if (what < 31)
        reopen(l, log);
    else if (what < 33 && log->n_files)
        pack_one(l, log, ws_below(l, log->n_files));
    else if (what < 35)
        remove_old(l, log);
    else if (what < 36)
        replace_by_copy(l, log);
    else if (what < 37)
        (void)put_back(l, log);
    else if (what < 39) {
        col_web__remounts += 1 + ws_below(l, 1000);
        ws_say(l, "remounted");
    } else if (what < 40) {
        l->skew_ms = ((int64_t)ws_below(l, 40) - 20) * 3600000;
        ws_say(l, "the clock steps to %+lld h", (long long)(l->skew_ms / 3600000));
    }
}

void ws_logs_end(struct ws_life *l)
{
    for (unsigned i = 0; i < WS_LOGS; i++) {
        struct ws_log *log = &l->logs[i];
        if (*log->torn)
            torn_end(l, log);
        reopen(l, log);
    }
}
