/*
 * weblog_state.c - writes and reads the checkpoint as JSON.
 *
 * Threads    one
 */
#include "collectors/weblog/weblog_state.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "collectors/core/fields.h"

#include <inttypes.h>
#include <string.h>

#define STATE_MAGIC     "tsd-weblog 2 "
#define STATE_MAGIC_1   "tsd-weblog 1 " /* files by device and inode, one ring of first bytes for all logs */
#define STATE_MAX_BYTES ((size_t)1 << 30)
#define CELL_NUMBERS    (7 + 2 * COL_WEB_CLASSES + COL_WEB_TOOK_STEPS)

/* --- out --- */

static void save_head(struct ts_json *j, const struct col_web_head *h)
{
    char hex[20];
    (void)snprintf(hex, sizeof(hex), "%016" PRIx64, h->hash);
    ts_json_member_int(j, "head_bytes", h->n_bytes);
    ts_json_member_str(j, "head", hex);
}

/* A path may contain any bytes, but JSON is UTF-8, so bytes that are not ASCII are written as %XX. */
static void save_path(struct ts_json *j, const char *path)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    for (const char *p = path; *p; p++) {
        if ((unsigned char)*p < 0x80 && *p != '%')
            ts_buf_char(&text, *p);
        else
            ts_buf_printf(&text, "%%%02x", (unsigned)(unsigned char)*p);
    }
    ts_json_member_slice(j, "path", ts_buf_get(&text));
    ts_buf_release(&text);
}

static const char *const role_names[] = {"current", "rotated", "done", "past"};
#define N_ROLES (sizeof(role_names) / sizeof(*role_names))

static void save_place(struct ts_json *j, const struct col_web_place *p)
{
    ts_json_obj(j);
    ts_json_member_str(j, "role", role_names[p->role]);
    save_head(j, &p->head);
    ts_json_member_int(j, "off", p->off == COL_WEB_OFF_ALL ? -1 : (int64_t)p->off);
    char kind[COL_WEB_KIND_BYTES];
    col_web_kind_text(p->kind, kind);
    ts_json_member_str(j, "kind", kind);
    if (p->imported)
        ts_json_member_int(j, "imported", p->imported == COL_WEB_OFF_ALL ? -1 : (int64_t)p->imported);
    ts_json_member_bool(j, "skip", p->skip);
    ts_json_member_bool(j, "whole", p->whole);
    ts_json_member_count(j, "dev", p->dev);
    ts_json_member_count(j, "ino", p->ino);
    ts_json_member_int(j, "mtime_ms", p->mtime_ms);
    ts_json_member_int(j, "seen_ms", p->seen_ms);
    ts_json_obj_end(j);
}

static void save_logs(struct ts_json *j, const struct col_web_follow *f)
{
    ts_json_member_arr(j, "logs");
    for (uint32_t i = 0; i < f->n_tails; i++) {
        const struct col_web_tail *t = f->tails[i];
        ts_json_obj(j);
        save_path(j, t->path);
        ts_json_member_int(j, "floor_ms", t->floor_ms);
        ts_json_member_int(j, "seen_ms", t->seen_ms);
        ts_json_member_bool(j, "fresh", t->fresh);
        ts_json_member_arr(j, "places");
        for (uint32_t k = 0; k < t->n_places; k++)
            if (!t->places[k]->unlinked)
                save_place(j, t->places[k]);
        ts_json_arr_end(j);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    ts_json_member_arr(j, "done"); /* of a checkpoint of version 1 */
    for (uint32_t i = 0; i < f->n_inherited; i++) {
        ts_json_obj(j);
        save_head(j, &f->inherited[i]);
        ts_json_member_bool(j, "unread", f->inherited_past[i]);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
}

static void save_cell(struct ts_json *j, const struct col_web_cell *cell)
{
    ts_json_arr(j);
    ts_json_int(j, cell->time_ms);
    ts_json_int(j, cell->start_ms);
    ts_json_int(j, cell->series);
    ts_json_int(j, cell->dirty || cell->flying); /* what is not known to be delivered is sent again */
    ts_json_int(j, (int64_t)cell->n_timed);
    ts_json_int(j, (int64_t)cell->sum_us);
    ts_json_int(j, (int64_t)cell->max_us);
    for (unsigned k = 0; k < COL_WEB_CLASSES; k++)
        ts_json_int(j, (int64_t)cell->hits[k]);
    for (unsigned k = 0; k < COL_WEB_CLASSES; k++)
        ts_json_int(j, (int64_t)cell->bytes[k]);
    for (unsigned k = 0; k < COL_WEB_TOOK_STEPS; k++)
        ts_json_int(j, (int64_t)cell->took[k]);
    if (cell->bot) /* else as ever */
        ts_json_int(j, cell->bot);
    ts_json_arr_end(j);
}

static void save_count(struct ts_json *j, const struct col_web_count *c)
{
    ts_json_member_arr(j, "names"); /* [parent, text, last_ms, own, standing]; parent -1: a domain */
    for (uint32_t i = 0; i < c->names.n; i++) {
        const struct col_web_name *n = &c->names.list[i];
        ts_json_arr(j);
        ts_json_int(j, n->parent == COL_WEB_TOP ? -1 : (int64_t)n->parent);
        ts_json_str(j, n->text);
        ts_json_int(j, n->last_ms);
        ts_json_int(j, n->own);
        ts_json_int(j, n->standing);
        ts_json_arr_end(j);
    }
    ts_json_arr_end(j);
    ts_json_member_count(j, "other_domains", c->names.n_other_domains);
    ts_json_member_count(j, "other_paths", c->names.n_other_paths);
    ts_json_member_arr(j, "cells");
    for (uint32_t i = 0; i < c->n_cells; i++)
        save_cell(j, &c->cells[i]);
    ts_json_arr_end(j);
    ts_json_member_int(j, "horizon_ms", c->horizon_ms);
    ts_json_member_count(j, "generation", c->generation);
    ts_json_member_count(j, "counted", c->n_counted);
    ts_json_member_count(j, "late", c->n_late);
}

int col_web_state_save(const struct col_web_state *s, struct ts_error *err)
{
    struct ts_buf body, text;
    struct ts_json j;
    ts_buf_init(&body, STATE_MAX_BYTES);
    ts_buf_init(&text, 0);
    ts_json_init(&j, &body);
    ts_json_obj(&j);
    save_logs(&j, s->follow);
    save_count(&j, s->count);
    ts_json_member_count(&j, "bad", *s->n_bad);
    if (s->dress)
        ts_json_member_str(&j, "dress", s->dress);
    ts_json_obj_end(&j);
    ts_buf_char(&body, '\n');
    int rc = 0;
    if (body.failed)
        rc = ts_error_set(err, TS_ELIMIT, "%s would be larger than 1 GiB; lower collect_weblog_cells",
                          s->path);
    else {
        ts_buf_printf(&text, "%s%08x\n", STATE_MAGIC, ts_crc32c(0, body.p, body.n));
        ts_buf_slice(&text, ts_buf_get(&body));
        rc = ts_fs_write_atomic(s->fs ? s->fs : ts_fs_real(), s->path, text.p, text.n, err);
    }
    ts_buf_release(&body);
    ts_buf_release(&text);
    return rc;
}

/* --- in --- */

static int64_t get_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static bool get_head(const json_t *o, struct col_web_head *out)
{
    const char *hex = json_string_value(json_object_get(o, "head"));
    int64_t n = get_int(o, "head_bytes");
    *out = (struct col_web_head){.n_bytes = (uint32_t)n};
    return hex && n >= 0 && n <= COL_WEB_HEAD_BYTES && sscanf(hex, "%16" SCNx64, &out->hash) == 1;
}

/* Decode a path that save_path wrote; NULL if it is not valid. The caller frees it. */
static char *get_path(const json_t *o)
{
    const char *text = json_string_value(json_object_get(o, "path"));
    if (!text || *text != '/')
        return NULL;
    char *path = ts_xcalloc(1, strlen(text) + 1), *to = path;
    unsigned byte;
    for (; *text; text++) {
        if (*text == '%' && sscanf(text, "%%%2x", &byte) == 1 && text[1] && text[2]) {
            *to++ = (char)byte;
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    return path;
}

/* Checkpoints of old versions have no kinds. Their files were read as combined unless the configuration set a format, so what remains of
 * them is read as combined too. */
static enum col_web_kind get_kind(const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "kind"));
    if (name)
        return col_web_kind_of(name);
    return get_int(o, "off") > 0 ? COL_WEB_KIND_COMBINED : COL_WEB_KIND_UNKNOWN;
}

static bool load_place(const json_t *o, struct col_web_tail *t)
{
    const char *role = json_string_value(json_object_get(o, "role"));
    int64_t off = get_int(o, "off");
    unsigned k = 0;
    while (role && k < N_ROLES && strcmp(role, role_names[k]) != 0)
        k++;
    if (!role || k == N_ROLES || off < -1 || (k == COL_WEB_CURRENT && (off < 0 || col_web_current(t))))
        return false;
    struct col_web_place *p = col_web_place_add(t, (enum col_web_role)k);
    p->off = off < 0 ? COL_WEB_OFF_ALL : (uint64_t)off;
    int64_t imported = get_int(o, "imported");
    p->imported = imported < 0 ? COL_WEB_OFF_ALL : (uint64_t)imported;
    p->kind = get_kind(o);
    p->skip = json_is_true(json_object_get(o, "skip"));
    p->whole = json_is_true(json_object_get(o, "whole"));
    p->dev = (uint64_t)get_int(o, "dev");
    p->ino = (uint64_t)get_int(o, "ino");
    p->mtime_ms = get_int(o, "mtime_ms");
    p->seen_ms = get_int(o, "seen_ms");
    return get_head(o, &p->head);
}

static bool load_log(const json_t *o, struct col_web_follow *f)
{
    const json_t *places = json_object_get(o, "places");
    char *path = get_path(o);
    struct col_web_tail *t = path && json_is_array(places) ? col_web_follow_restore(f, path) : NULL;
    ts_free(path);
    if (!t)
        return false;
    t->floor_ms = get_int(o, "floor_ms");
    t->seen_ms = get_int(o, "seen_ms");
    t->fresh = json_is_true(json_object_get(o, "fresh"));
    for (size_t i = 0; i < json_array_size(places); i++)
        if (!load_place(json_array_get(places, i), t))
            return false;
    return true;
}

static bool load_done(const json_t *done, struct col_web_follow *f)
{
    for (size_t i = 0; i < json_array_size(done); i++) {
        const json_t *o = json_array_get(done, i);
        struct col_web_head head;
        if (!get_head(o, &head))
            return false;
        col_web_follow_inherit(f, &head,
                               !json_is_false(json_object_get(o, "unread"))); /* older ones don't say */
    }
    return json_is_array(done);
}

static bool load_logs(const json_t *root, struct col_web_follow *f)
{
    const json_t *logs = json_object_get(root, "logs");
    if (!json_is_array(logs) || !load_done(json_object_get(root, "done"), f))
        return false;
    for (size_t i = 0; i < json_array_size(logs); i++)
        if (!load_log(json_array_get(logs, i), f))
            return false;
    return true;
}

/* --- version 1 --- */

/* A file as version 1 had it becomes a place of the log at its path. */
static bool load_file_1(const json_t *o, struct col_web_follow *f, int64_t now_ms)
{
    struct col_web_head head;
    char *path = get_path(o);
    bool rotated = json_is_true(json_object_get(o, "rotated"));
    if (!path || !get_head(o, &head) || get_int(o, "off") < 0) {
        ts_free(path);
        return false;
    }
    struct col_web_tail *t = col_web_follow_restore(f, path);
    for (uint32_t i = 0; !t && i < f->n_tails; i++) /* there already, by another of its files */
        if (!strcmp(f->tails[i]->path, path))
            t = f->tails[i];
    ts_free(path);
    t->seen_ms = now_ms;
    if (!rotated) /* what was rotated before that was read */
        t->floor_ms = get_int(o, "mtime_ms");
    if (!head.n_bytes || (!rotated && col_web_current(t)))
        return true; /* it waited for a file, or had read nothing of it */
    struct col_web_place *p = col_web_place_add(t, rotated ? COL_WEB_ROTATED : COL_WEB_CURRENT);
    p->head = head;
    p->off = (uint64_t)get_int(o, "off");
    p->kind = get_kind(o);
    p->skip = json_is_true(json_object_get(o, "skip"));
    p->dev = (uint64_t)get_int(o, "dev");
    p->ino = (uint64_t)get_int(o, "ino");
    p->mtime_ms = get_int(o, "mtime_ms");
    p->seen_ms = now_ms;
    return true;
}

static bool load_files_1(const json_t *root, struct col_web_follow *f, int64_t now_ms)
{
    const json_t *files = json_object_get(root, "files");
    if (!json_is_array(files) || !load_done(json_object_get(root, "done"), f))
        return false;
    for (size_t i = 0; i < json_array_size(files); i++)
        if (!load_file_1(json_array_get(files, i), f, now_ms))
            return false;
    return true;
}

/* Older checkpoints have only parent and text; in them each name except "other" has a value of its own. */
static bool load_name(const json_t *row, uint32_t at, struct col_web_names *t, int64_t now_ms)
{
    const json_t *text = json_array_get(row, 1);
    int64_t parent = json_integer_value(json_array_get(row, 0));
    bool old = json_array_size(row) == 2;
    json_int_t value = json_integer_value(json_array_get(row, 4));
    uint8_t standing =
        old || value < 0 || value >= COL_WEB_STANDINGS ? COL_WEB_STANDINGS - 1 : (uint8_t)value;
    if (!json_is_string(text) || parent < -1 || parent >= (int64_t)at)
        return false;
    struct ts_slice s = {json_string_value(text), json_string_length(text)};
    struct col_web_name *n = col_web_names_restore(
        t, s, parent < 0 ? COL_WEB_TOP : (uint32_t)parent,
        old ? s.n && !ts_slice_is(s, "other") : json_integer_value(json_array_get(row, 3)) != 0, standing);
    if (n)
        n->last_ms = old ? now_ms : json_integer_value(json_array_get(row, 2));
    return n;
}

static bool load_names(const json_t *names, struct col_web_names *t, int64_t now_ms)
{
    if (!json_is_array(names))
        return false;
    for (size_t i = 0; i < json_array_size(names); i++)
        if (!load_name(json_array_get(names, i), (uint32_t)i, t, now_ms))
            return false;
    return true;
}

static bool load_cell(const json_t *row, struct col_web_count *c, int64_t now_ms)
{
    int64_t v[CELL_NUMBERS + 1] = {0};
    struct col_web_cell cell;
    size_t n = json_array_size(row);
    if (n != CELL_NUMBERS && n != CELL_NUMBERS + 1)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!json_is_integer(json_array_get(row, i)))
            return false;
        v[i] = json_integer_value(json_array_get(row, i));
    }
    if (v[2] < 0 || v[2] >= c->names.n || v[CELL_NUMBERS] < 0 || v[CELL_NUMBERS] >= COL_WEB_BOTS)
        return false;
    cell = (struct col_web_cell){.time_ms = v[0],
                                 .start_ms = v[1],
                                 .touched_ms = now_ms,
                                 .series = (uint32_t)v[2],
                                 .bot = (enum col_web_bot)v[CELL_NUMBERS],
                                 .dirty = v[3] != 0,
                                 .n_timed = (uint64_t)v[4],
                                 .sum_us = (uint64_t)v[5],
                                 .max_us = (uint64_t)v[6]};
    for (unsigned k = 0; k < COL_WEB_CLASSES; k++) {
        cell.hits[k] = (uint64_t)v[7 + k];
        cell.bytes[k] = (uint64_t)v[7 + COL_WEB_CLASSES + k];
    }
    for (unsigned k = 0; k < COL_WEB_TOOK_STEPS; k++)
        cell.took[k] = (uint64_t)v[7 + 2 * COL_WEB_CLASSES + k];
    return col_web_cell_restore(c, &cell);
}

static bool load_all(const json_t *root, const struct col_web_state *s, bool version_1, int64_t now_ms)
{
    struct col_web_count *c = s->count;
    const json_t *cells = json_object_get(root, "cells");
    if (!json_is_object(root) ||
        !(version_1 ? load_files_1(root, s->follow, now_ms) : load_logs(root, s->follow)) ||
        !load_names(json_object_get(root, "names"), &c->names, now_ms) || !json_is_array(cells) ||
        get_int(root, "generation") < 1)
        return false;
    for (size_t i = 0; i < json_array_size(cells); i++)
        if (!load_cell(json_array_get(cells, i), c, now_ms))
            return false;
    c->horizon_ms = get_int(root, "horizon_ms");
    c->generation = (uint32_t)get_int(root, "generation");
    c->n_counted = (uint64_t)get_int(root, "counted");
    c->n_late = (uint64_t)get_int(root, "late");
    c->names.n_other_domains = (uint64_t)get_int(root, "other_domains");
    c->names.n_other_paths = (uint64_t)get_int(root, "other_paths");
    *s->n_bad = (uint64_t)get_int(root, "bad");
    const char *dress = json_string_value(json_object_get(root, "dress"));
    if (s->dress)
        (void)snprintf(s->dress, COL_WEB_DRESS_BYTES, "%s", dress ? dress : "");
    return true;
}

static int state_corrupt(const struct col_web_state *s, const char *what, struct ts_error *err)
{
    return ts_error_set(err, TS_ECORRUPT,
                        "%s: %s; move it away to begin anew (files are then read from their beginning and "
                        "counted once more)",
                        s->path, what);
}

int col_web_state_load(const struct col_web_state *s, int64_t now_ms, struct ts_error *err)
{
    const size_t n_magic = sizeof(STATE_MAGIC) - 1;
    char *text;
    size_t n;
    unsigned crc = 0;
    json_t *root = NULL;
    TS_TRY(ts_fs_read_file(s->fs ? s->fs : ts_fs_real(), s->path, STATE_MAX_BYTES + 64, &text, &n, err));
    int rc = 0;
    bool version_1 = n >= n_magic && !memcmp(text, STATE_MAGIC_1, n_magic);
    bool known = version_1 || (n >= n_magic && !memcmp(text, STATE_MAGIC, n_magic));
    if (n >= 10 && !memcmp(text, "tsd-weblog", 10) && !known)
        rc = ts_error_set(err, TS_EVERSION, "%s is of another version of tsd", s->path);
    else if (n < n_magic + 9 || !known || text[n_magic + 8] != '\n' ||
             sscanf(text + n_magic, "%8x", &crc) != 1)
        rc = state_corrupt(s, "it is no checkpoint of web logs", err);
    else if (ts_crc32c(0, text + n_magic + 9, n - n_magic - 9) != crc)
        rc = state_corrupt(s, "its checksum is wrong", err);
    else if (ts_json_load((struct ts_slice){text + n_magic + 9, n - n_magic - 9}, &root, NULL) < 0 ||
             !load_all(root, s, version_1, now_ms))
        rc = state_corrupt(s, "its content makes no sense", err);
    json_decref(root);
    ts_free(text);
    return rc;
}
