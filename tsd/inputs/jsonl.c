/*
 * jsonl.c - lines of JSON: each an object or an array of objects as the body of /api/put.
 *
 *   {"metric":"sys.load","timestamp":1793620800,"value":2.5,"tags":{"host":"web1"}}
 *
 * Threads    see input.h
 * Not here   reading JSON (tsd/protocols/http/put_json.h)
 */
#include "tsd/inputs/formats.h"

#include "base/cut.h"
#include "base/text.h"
#include "tsd/protocols/http/put_json.h"

static int jsonl_point(struct tsd_input_run *run, const struct tsd_put_point *p, struct ts_error *err)
{
    int64_t ts_ms;
    if (!p->metric.n || !p->time.n || !p->value.n)
        return ts_error_set(err, TS_EPARSE, "%s is missing",
                            !p->metric.n ? "\"metric\""
                            : !p->time.n ? "\"timestamp\""
                                         : "\"value\"");
    TS_TRY(tsd_input_number_time(run, p->time, 0, &ts_ms, err));
    ts_buf_clear(&run->point);
    for (uint32_t i = 0; i < p->n_tags; i++)
        tsd_input_tag(&run->point, p->tags[i].k, p->tags[i].v);
    if (run->point.failed)
        return ts_error_set(err, TS_ELIMIT, "the tags are longer than %zu bytes", TSD_INPUT_POINT_BYTES);
    if (tsd_input_missing(run, p->value)) {
        run->n_missing++;
        return 0;
    }
    return tsd_input_point(run, p->metric, ts_ms, p->value, ts_buf_get(&run->point), err);
}

int tsd_jsonl_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err)
{
    struct tsd_put_body body = {0};
    struct ts_error details = {0};
    line = ts_slice_trim(line);
    if (!line.n)
        return 0;
    struct ts_error why = {0};
    int rc = tsd_put_body_read(line, false, &run->arena, &body, &why, &details);
    if (rc < 0)
        rc = ts_error_set(err, rc, "%s%s%s", why.text, details.text[0] ? ": " : "", details.text);
    for (size_t i = 0; rc == 0 && i < body.n_points; i++)
        if (!body.points[i].null_point)
            rc = jsonl_point(run, &body.points[i], err);
    tsd_put_body_release(&body);
    ts_arena_release(&run->arena);
    return rc;
}

bool tsd_jsonl_guess(struct ts_slice lines)
{
    struct ts_slice line;
    return tsd_input_first(&lines, &line) && (*line.p == '{' || *line.p == '[') &&
           memmem(line.p, line.n, "\"metric\"", 8);
}
