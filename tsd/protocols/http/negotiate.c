/*
 * negotiate.c - media ranges of Accept against the formats that have a type of their own.
 *
 * Threads    see negotiate.h
 */
#include "tsd/protocols/http/negotiate.h"

#include "base/cut.h"
#include "base/num.h"
#include "base/text.h"

/* A media type and the format it stands for. */
struct accept_type {
    const char *name;                    /* without parameters */
    const struct tsd_out_format *format; /* what answers it */
};
static const struct accept_type accept_types[] = {
    {"text/csv", &tsd_out_csv},
    {"application/x-ndjson", &tsd_out_ndjson},
    {"application/ndjson", &tsd_out_ndjson},
    {"application/jsonl", &tsd_out_ndjson},
    {"application/json", &tsd_out_json},
    {"application/*", &tsd_out_json},
    {"text/*", &tsd_out_json},
    {"*/*", &tsd_out_json},
};

static struct ts_slice accept_trim(struct ts_slice s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* q of a range's parameters; 1 if there is none, 0 if it is no number. */
static double accept_q(struct ts_slice params)
{
    while (params.n) {
        struct ts_slice one = accept_trim(ts_slice_cut(&params, ';'));
        struct ts_num num;
        if (one.n < 2 || (one.p[0] != 'q' && one.p[0] != 'Q') || one.p[1] != '=')
            continue;
        return ts_num_parse((struct ts_slice){one.p + 2, one.n - 2}, &num, NULL) < 0 ? 0 : ts_num_double(num);
    }
    return 1;
}

const struct tsd_out_format *tsd_accept_format(struct ts_slice accept)
{
    const struct tsd_out_format *best = &tsd_out_json;
    double best_q = 0;
    while (accept.n) {
        struct ts_slice params = accept_trim(ts_slice_cut(&accept, ','));
        struct ts_slice name = accept_trim(ts_slice_cut(&params, ';'));
        double q = accept_q(params);
        for (size_t i = 0; i < sizeof accept_types / sizeof accept_types[0]; i++) {
            const struct accept_type *t = &accept_types[i];
            if (q > best_q && ts_slice_is_nocase(name, t->name)) {
                best = t->format;
                best_q = q;
            }
        }
    }
    return best;
}
