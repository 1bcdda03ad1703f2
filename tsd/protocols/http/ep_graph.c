/*
 * ep_graph.c - GET /q: OpenTSDB's old graphs; ascii, json or png.
 *
 * Threads    the endpoint in the worker, the rest in a job
 * Source     docs/OPENTSDB.md, section 6; no cache on disk: nocache and ignore are taken and mean nothing
 */
#include "tsd/protocols/http/ep.h"

#include "query/tsuid.h"
#include "base/array.h"
#include "base/json.h"
#include "base/time.h"
#include "tsd/protocols/http/graph.h"
#include "tsd/protocols/http/queries.h"
#include "tsd/meta/annotation_remote.h"
#include "tsd/meta/kind.h"
#include "tsd/format/out.h"
#include "tsd/net/worker.h"

#include <time.h>

#define GRAPH_WAIT_NS    20000000 /* between two checks whether another picture is done */
#define GRAPH_MAX_LINES  4096     /* of one picture; nobody could distinguish more */
#define GRAPH_MAX_NOTES  1000     /* the same; further ones are left out */
#define GRAPH_NOTE_BYTES 80       /* of an annotation's text */

/* A picture in the making, or the numbers about it. */
struct graph {
    struct tsd_out out; /* first; thins series and leaves out those above max_series, as for all answers */
    const struct qry_spec *spec;  /* of the query */
    struct ts_budget *memory;     /* account of lines; png */
    struct sto_catalog *cat;      /* its names */
    uint64_t n_plotted;           /* points inside of start..end */
    struct tsd_graph_line *lines; /* owned; png */
    size_t n, cap;                /* lines in use, allocated */
    struct tsd_graph_note *notes; /* owned; png */
    size_t n_notes;               /* of them */
    struct sto_store *store;      /* where notes are; NULL: none is wanted */
    struct tsd_notes_fetched
        *fetched;  /* notes of series that only the remote store has; NULL: none is wanted */
    json_t *etags; /* array of arrays; json */
};

/* Parameters as /api/query has them: tz is the zone of dates. */
static int graph_parse(const struct tsd_req *req, struct ts_arena *arena, struct qry_spec *spec,
                       struct ts_error *err)
{
    struct qry_param *params = ts_arena_alloc(arena, (req->n_params + 1) * sizeof(*params));
    for (size_t i = 0; i < req->n_params; i++) {
        params[i] = req->params[i];
        if (ts_slice_is(params[i].name, "tz"))
            params[i].name = TS_SLICE_LIT("timezone");
    }
    TS_TRY(qry_parse_params(params, req->n_params, ts_clock_ms(), false, arena, spec, err));
    spec->compat = req->d->set.rules.compat;
    spec->rollups = &req->d->set.rollups;
    if (spec->by_on)
        return ts_error_set(err, TS_EINVAL, "/q makes no totals: ask /api/query");
    if (spec->figures)
        return ts_error_set(err, TS_EINVAL, "/q prints no figures: ask /api/query");
    spec->start_ms = ts_floor_div(spec->start_ms, 1000) * 1000;
    spec->end_ms = ts_floor_div(spec->end_ms, 1000) * 1000;
    return 0;
}

/* Run the query; format->series receives what the answer shows of each series. */
static int graph_query(struct graph *g, const struct tsd_out_format *format, const struct qry_spec *spec,
                       struct tsd_job *job, struct ts_error *err)
{
    struct tsd_daemon *d = tsd_job_req(job)->d;
    tsd_out_init(&g->out, format, spec, tsd_job_sink(job));
    g->out.limit = tsd_job_limit(job);
    int rc = qry_run(d->store, d->pieces, spec, tsd_job_limit(job), tsd_out_series, &g->out, err);
    tsd_out_release(&g->out);
    return rc;
}

/* --- json --- */

static int graph_count(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct graph *g = (struct graph *)o;
    json_t *keys = json_array_get(g->etags, s->sub);
    (void)err;
    for (size_t i = 0; i < s->n; i++)
        g->n_plotted += s->ts_ms[i] >= g->spec->start_ms && s->ts_ms[i] <= g->spec->end_ms;
    for (size_t i = 0; i < s->n_agg_tags; i++) {
        size_t k = 0;
        while (k < json_array_size(keys) &&
               !ts_slice_is(s->agg_tags[i], json_string_value(json_array_get(keys, k))))
            k++;
        if (k == json_array_size(keys))
            json_array_append_new(keys, json_stringn(s->agg_tags[i].p, s->agg_tags[i].n));
    }
    return 0;
}

static const struct tsd_out_format graph_json_format = {.name = "json", .series = graph_count};

static int graph_json(struct tsd_job *job, const struct qry_spec *spec, struct ts_error *err)
{
    struct qry_limit *limit = tsd_job_limit(job);
    struct graph g = {.spec = spec, .etags = json_array()};
    struct ts_buf b;
    struct ts_json j;
    int64_t began_ns = ts_clock_mono_ns();
    for (size_t i = 0; i < spec->n_subs; i++)
        json_array_append_new(g.etags, json_array());
    int rc = graph_query(&g, &graph_json_format, spec, job, err);
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_count(&j, "plotted", g.n_plotted);
    ts_json_member_count(&j, "points", atomic_load_explicit(&limit->n_points, memory_order_relaxed));
    ts_json_member_arr(&j, "etags");
    for (size_t i = 0; i < spec->n_subs; i++) {
        json_t *key;
        size_t k;
        ts_json_arr(&j);
        json_array_foreach(json_array_get(g.etags, i), k, key) ts_json_str(&j, json_string_value(key));
        ts_json_arr_end(&j);
    }
    ts_json_arr_end(&j);
    ts_json_member_int(&j, "timing", (ts_clock_mono_ns() - began_ns) / 1000000);
    ts_json_obj_end(&j);
    json_decref(g.etags);
    if (rc == 0)
        rc = ts_sink_write(tsd_job_sink(job), ts_buf_get(&b), err);
    ts_buf_release(&b);
    return rc;
}

/* --- png --- */

/* "metric{k=v, k=v}". */
static char *graph_name(const struct qry_series *s)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    ts_buf_slice(&b, s->metric);
    if (s->n_tags)
        tsd_tags_text(s->tags, s->n_tags, &b);
    ts_buf_char(&b, 0);
    return b.p; /* the buffer's memory is ours now */
}

static int64_t graph_local_s(const struct graph *g, int64_t ts_ms)
{
    return ts_floor_div(ts_ms + ts_tz_offset_ms(g->spec->tz, ts_ms), 1000);
}

static bool graph_note(void *arg, const struct tsd_record *note)
{
    struct graph *g = arg;
    if (g->n_notes == GRAPH_MAX_NOTES)
        return false;
    if (!g->notes)
        g->notes = ts_xcalloc(GRAPH_MAX_NOTES, sizeof(*g->notes));
    struct ts_slice text = ts_utf8_cut(note->v[TSD_NOTE_DESCRIPTION].text, GRAPH_NOTE_BYTES);
    char *copy = ts_xmalloc(text.n + 1);
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    int64_t x_s = graph_local_s(g, tsd_note_ms(note->v[TSD_NOTE_START].i));
    g->notes[g->n_notes++] = (struct tsd_graph_note){x_s, copy};
    return true;
}

/* Bytes of x and y of a line of n points; never 0. */
static size_t graph_line_bytes(size_t n)
{
    return n * (sizeof(int64_t) + sizeof(double)) + 1;
}

static int graph_line(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct graph *g = (struct graph *)o;
    if (g->store)
        tsd_notes_members(g->store, g->fetched, s, g->spec->start_ms, g->spec->end_ms, graph_note, g);
    if (g->n == GRAPH_MAX_LINES)
        return ts_error_set(err, TS_ELIMIT, "More than %d lines can't be drawn: group or filter",
                            GRAPH_MAX_LINES);
    TS_ARRAY_GROW(g->lines, g->n, g->cap, 16);
    struct tsd_graph_line line = {.sub = s->sub};
    line.x_s = ts_budget_alloc(g->memory, graph_line_bytes(s->n), err);
    if (!line.x_s)
        return qry_memory_code(err);
    line.y = (double *)(line.x_s + s->n);
    line.name = graph_name(s);
    for (size_t i = 0; i < s->n; i++) {
        line.x_s[i] = graph_local_s(g, s->ts_ms[i]);
        memcpy(&line.y[i], &s->v[i], 8);
        if (tsd_out_is_int(s, i))
            line.y[i] = (double)(int64_t)s->v[i];
    }
    line.n = s->n;
    g->lines[g->n++] = line;
    return 0;
}

static const struct tsd_out_format graph_png_format = {.name = "png", .series = graph_line};

static int graph_send(struct tsd_job *job, FILE *picture, struct ts_error *err)
{
    char piece[16384];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), picture)) > 0)
        TS_TRY(ts_sink_write(tsd_job_sink(job), (struct ts_slice){piece, n}, err));
    return ferror(picture) ? ts_error_set(err, TS_EIO, "the picture can't be read back") : 0;
}

/* One more counter of n, unless it has max. */
static bool graph_take(_Atomic unsigned *n, unsigned max)
{
    unsigned now = atomic_load_explicit(n, memory_order_relaxed);
    while (now < max)
        if (atomic_compare_exchange_weak_explicit(n, &now, now + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Wait until fewer than graph_max_running pictures are being drawn; a few may wait, others are refused. */
static int graph_turn(struct tsd_job *job, struct ts_error *err)
{
    struct tsd_daemon *d = tsd_job_req(job)->d;
    const unsigned max = d->set.graph_max_running;
    const struct timespec pause = {0, GRAPH_WAIT_NS};
    int64_t until_ns = ts_clock_mono_ns() + d->set.graph_timeout_ms * 1000000;
    int rc = 0;
    if (graph_take(&d->n_graphs_running, max))
        return 0;
    bool waits = graph_take(&d->n_graphs_waiting, 2 * max);
    while (waits && rc == 0 && !graph_take(&d->n_graphs_running, max)) {
        if (ts_clock_mono_ns() > until_ns)
            rc = TS_EBUSY;
        else if (atomic_load_explicit(&tsd_job_limit(job)->cancelled, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "the client is gone");
        else
            (void)nanosleep(&pause, NULL);
    }
    if (waits)
        atomic_fetch_sub_explicit(&d->n_graphs_waiting, 1, memory_order_relaxed);
    if (waits && rc != TS_EBUSY)
        return rc;
    atomic_fetch_add_explicit(&d->n_graphs_refused, 1, memory_order_relaxed);
    return ts_error_set(err, TS_EBUSY,
                        "Too many pictures are being drawn (graph_max_running = %u): try again", max);
}

static int graph_draw(struct tsd_job *job, struct ts_slice script, FILE **out_picture, struct ts_error *err)
{
    struct tsd_daemon *d = tsd_job_req(job)->d;
    TS_TRY(graph_turn(job, err));
    int rc =
        tsd_gnuplot_run(script, d->set.graph_timeout_ms, &tsd_job_limit(job)->cancelled, out_picture, err);
    atomic_fetch_sub_explicit(&d->n_graphs_running, 1, memory_order_relaxed);
    if (rc != TS_ETIMEOUT)
        return rc;
    atomic_fetch_add_explicit(&d->n_graphs_late, 1, memory_order_relaxed);
    return ts_error_set(err, rc, "The picture was not drawn in time (graph_timeout_s = %lld)",
                        (long long)(d->set.graph_timeout_ms / 1000));
}

/* Make the lines, with notes. */
static int graph_lines(struct tsd_job *job, struct graph *g, struct ts_error *err)
{
    struct tsd_daemon *d = tsd_job_req(job)->d;
    struct qry_limit *limit = tsd_job_limit(job);
    struct qry_spec spec = *g->spec;
    struct tsd_notes_fetched fetched;
    struct ts_slice global = {"", 0};
    bool remote = sto_store_remote(d->store) != NULL;
    if (!spec.no_annotations && (remote || tsd_notes_any(d->store)))
        g->store = d->store;
    if (spec.global_annotations) {
        TS_TRY(tsd_notes_fetch(d->store, global, spec.start_ms, spec.end_ms, false, &limit->cancelled, err));
        tsd_notes_each(d->store, global, spec.start_ms, spec.end_ms, graph_note, g);
    }
    tsd_notes_fetched_init(&fetched, d->store, g->memory);
    g->fetched = &fetched;
    if (g->store && remote)
        spec.notes = &fetched.taker;
    int rc = graph_query(g, &graph_png_format, &spec, job, err);
    tsd_notes_fetched_release(&fetched);
    return rc;
}

/* What gnuplot reads; it counts in the account of the request like the lines. */
static int graph_script(const struct graph *g, const struct tsd_graph *look, struct ts_buf *out,
                        struct ts_error *err)
{
    ts_buf_init(out, 0);
    out->budget = g->memory;
    tsd_graph_script(look, g->spec, g->lines, g->n, out);
    return out->failed ? ts_error_set(err, TS_ELIMIT,
                                      "A picture of that many points takes too much memory: add thin=%u, "
                                      "downsample, or raise query_max_bytes",
                                      look->width)
                       : 0;
}

static int graph_png(struct tsd_job *job, const struct qry_spec *spec, struct tsd_graph *look,
                     struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct graph g = {.spec = spec};
    struct ts_buf script;
    struct qry_budget budget;
    FILE *picture = NULL;
    qry_budget_init(&budget, tsd_job_limit(job));
    g.memory = budget.memory;
    ts_buf_init(&script, 0);
    int rc = graph_lines(job, &g, err);
    if (rc == 0) {
        look->notes = g.notes;
        look->n_notes = g.n_notes;
        tsd_job_max_age(job, tsd_graph_max_age_s(req->params, req->n_params, spec->start_ms, spec->end_ms,
                                                 ts_clock_ms()));
        rc = graph_script(&g, look, &script, err);
    }
    if (rc == 0) {
        rc = graph_draw(job, ts_buf_get(&script), &picture, err);
        if (rc == TS_ENOTFOUND)
            tsd_job_error_status(job, 501); /* no gnuplot here */
    }
    if (rc == 0)
        rc = graph_send(job, picture, err);
    if (picture)
        (void)fclose(picture);
    ts_buf_release(&script);
    for (size_t i = 0; i < g.n; i++) {
        ts_free(g.lines[i].name);
        ts_budget_free(g.memory, g.lines[i].x_s, graph_line_bytes(g.lines[i].n)); /* y is part of it */
    }
    ts_free(g.lines);
    for (size_t i = 0; i < g.n_notes; i++)
        ts_free(g.notes[i].text);
    ts_free(g.notes);
    return rc;
}

/* --- the endpoint --- */

static int graph_ascii(struct tsd_job *job, struct qry_spec *spec, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct tsd_out out;
    spec->uncut = true; /* as OpenTSDB: with what was read around start and end */
    tsd_out_init(&out, &tsd_out_ascii, spec, tsd_job_sink(job));
    int rc = tsd_out_run(&out, req->d->store, req->d->pieces, tsd_job_limit(job), err);
    tsd_out_release(&out);
    return rc;
}

static int graph_run(struct tsd_job *job, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(job);
    struct qry_spec spec = {.n_subs = 0};
    struct tsd_graph look;
    TS_TRY(graph_parse(req, tsd_job_arena(job), &spec, err));
    /* bad words about the picture are refused in every form, as OpenTSDB does */
    TS_TRY(tsd_graph_parse(req->params, req->n_params, spec.n_subs, spec.compat, tsd_job_arena(job), &look,
                           err));
    if ((uint64_t)look.width * look.height > req->d->set.graph_max_pixels)
        return ts_error_set(
            err, TS_EINVAL,
            "'wxh' was invalid: a picture of %ux%u has more than %llu pixels (graph_max_pixels)", look.width,
            look.height, (unsigned long long)req->d->set.graph_max_pixels);
    tsd_kinds_apply(req->d->store, &spec, tsd_job_limit(job));
    tsd_query_begin_spec(job, &spec, NULL);
    if (tsd_req_flag(req, "png")) {
        tsd_job_type(job, "image/png");
        return graph_png(job, &spec, &look, err);
    }
    if (tsd_req_flag(req, "json"))
        return graph_json(job, &spec, err);
    tsd_job_type(job, tsd_type_text);
    return graph_ascii(job, &spec, err);
}

/* No form of output is requested: as OpenTSDB, a page that leads to the form, with the parameters behind "#". */
static void graph_page(struct tsd_req *req)
{
    struct ts_buf to, page;
    ts_buf_init(&to, 0);
    ts_buf_init(&page, 0);
    ts_buf_str(&to, "/#");
    for (size_t i = 0; i < req->n_params; i++) {
        if (i)
            ts_buf_char(&to, '&');
        ts_buf_uri(&to, req->params[i].name);
        if (req->params[i].value.n)
            ts_buf_char(&to, '=');
        ts_buf_uri(&to, req->params[i].value);
    }
    req->location = ts_arena_strndup(&req->arena, to.p, to.n);
    ts_buf_str(&page, "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>tsd</title><meta "
                      "http-equiv=\"refresh\" content=\"0; url=");
    tsd_reply_html_text(&page, req->location);
    ts_buf_str(&page,
               "\"></head><body><p>Add <code>ascii</code>, <code>json</code> or <code>png</code> to the "
               "query string, or use the <a href=\"/\">form</a>.</p></body></html>\n");
    tsd_reply(req, 200, "text/html; charset=UTF-8", ts_buf_get(&page));
    ts_buf_release(&to);
    ts_buf_release(&page);
}

void tsd_ep_graph(struct tsd_req *req)
{
    tsd_count(&req->w->counts.n_graphs, 1);
    if (tsd_req_flag(req, "ascii") || tsd_req_flag(req, "json") || tsd_req_flag(req, "png"))
        tsd_job_start(req, tsd_req_flag(req, "png") ? TSD_JOB_PICTURE : TSD_JOB_QUERY, tsd_type_json,
                      graph_run);
    else
        graph_page(req);
}
