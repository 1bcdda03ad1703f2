/*
 * graph.h - the pictures of /q: checks their parameters and writes the script for gnuplot.
 *
 * Threads    any
 * Source     docs/OPENTSDB.md, section 6
 */
#ifndef TSD_PROTOCOLS_HTTP_GRAPH_H
#define TSD_PROTOCOLS_HTTP_GRAPH_H

#include "query/query.h"
#include "tsd/format/picture.h"

/* An annotation in the picture: a line from top to bottom. */
struct tsd_graph_note {
    int64_t x_s; /* local seconds */
    char *text;  /* beside it; owned */
};

/* What a picture looks like. Texts are checked: they may stand in a script as they are, but for titles, which are
 * quoted. */
struct tsd_graph {
    char yrange[64], y2range[64];                /* "[0:100]"; "" = gnuplot's choice */
    char yformat[64], y2format[64], xformat[64]; /* "" = default */
    char title[256], ylabel[256], y2label[256];  /* as sent */
    char key[64];                                /* place of the legend, "" = none, or key_free */
    char smooth[16];                             /* "" = none */
    const char *style;      /* of lines, a word of gnuplot; NULL: points are shown if there are few */
    bool compat;            /* parameters that are not given are as OpenTSDB draws them */
    bool key_free;          /* the position of the legend is not given: outside of the plot */
    unsigned width, height; /* pixels */
    unsigned fg, bg;        /* 0xRRGGBB */
    bool ylog, y2log;       /* logarithmic */
    const struct tsd_graph_note *notes; /* set by the caller; borrowed */
    size_t n_notes;                     /* how many */
    bool *y2;                           /* [n_subs] a sub query belongs to the right axis; in the arena */
    bool any_y2;                        /* one does */
};
/** From request parameters. compat: what is not given is as OpenTSDB draws it, and unknown values of `o` are
 * ignored. TS_EINVAL with the name and the allowed values. */
int tsd_graph_parse(const struct qry_param *params, size_t n, size_t n_subs, bool compat,
                    struct ts_arena *arena, struct tsd_graph *out, struct ts_error *err);

/** For how many seconds a picture of a query's points may be cached, by the parameters start and end as they
 * were sent: not at all while points may still arrive, a day if its end is an hour ago and neither moves,
 * else a 1,024th of what it shows. */
int64_t tsd_graph_max_age_s(const struct qry_param *params, size_t n, int64_t start_ms, int64_t end_ms,
                            int64_t now_ms);

/* One line of the picture. */
struct tsd_graph_line {
    size_t sub;   /* sub query */
    char *name;   /* of the legend; owned */
    int64_t *x_s; /* local seconds; owned */
    double *y;    /* owned */
    size_t n;     /* points */
};
/** The script: lines within start..end of a zone. */
void tsd_graph_script(const struct tsd_graph *g, const struct qry_spec *spec,
                      const struct tsd_graph_line *lines, size_t n, struct ts_buf *out);

#endif
