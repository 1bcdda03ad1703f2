/*
 * input.h - formats of files that tsd import reads: each turns its lines into put lines.
 *
 *   csv.c fixed.c influx.c jsonl.c openmetrics.c promdump.c put.c, a row each in table.c
 *
 * A line gives any number of points, or none: a header, a comment, a value that is missing. Characters that names may not hold by default
 * become '_'. The put lines then go the way of all others, which checks their names, times and tags.
 *
 * Threads    one
 * Not here   files and what becomes of the put lines (tsd/commands/importformat.c), how fields become points (mapping.h)
 */
#ifndef TSD_INPUTS_INPUT_H
#define TSD_INPUTS_INPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/store.h"

#define TSD_INPUT_LINE_BYTES                                                                                 \
    ((size_t)1 << 20) /* longest line by default; also of a record of CSV with several lines */
#define TSD_INPUT_POINT_BYTES ((size_t)64 << 10) /* longest put line that is made */
#define TSD_INPUT_FIELDS      4096u              /* most columns */
#define TSD_INPUT_GUESS_LINES 20u                /* lines that a guess looks at */

struct tsd_input_run;
struct tsd_mapping;

/* One format: a row of table.c. */
struct tsd_input {
    const char *name; /* as in --format */
    const char *help; /* the form of its lines */
    bool mapped;      /* needs a mapping of columns */
    bool plain;       /* lines are put lines already: line only adds the tags and the zone of opts */
    /* May a file that begins with these whole lines have this format? Formats are asked in the order of the table. */
    bool (*guess)(struct ts_slice lines);
    /* Turn one line, without its end, into points (tsd_input_point). < 0: nothing of it is used, and err says why. */
    int (*line)(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
    /* The file ends; NULL: nothing can be left. TS_EPARSE: what is left is no record. */
    int (*end)(struct tsd_input_run *run, struct ts_error *err);
};
/** All formats, ended by name == NULL. */
extern const struct tsd_input tsd_inputs[];
/** A row by name; NULL. */
const struct tsd_input *tsd_input_find(const char *name);
/** The row that these first lines of a file look like; NULL if they look like none. */
const struct tsd_input *tsd_input_guess(struct ts_slice lines);

/* How to read; zero = default. All texts are borrowed. */
struct tsd_input_opts {
    struct ts_slice mapping; /* text of --csv or --fixed */
    struct ts_slice missing; /* further words for no value, with commas between */
    struct ts_slice tags;    /* of every point: " k=v k=v" */
    const struct ts_tz *tz;  /* of times without one; NULL = UTC */
    bool zoned;              /* tz was asked for: times of put lines without a zone have it, too */
    int64_t now_ms;          /* time of samples that have none */
    int64_t units_per_s;     /* of times that are numbers: 1, 1000 ...; 0 = as the format says */
    size_t max_line_bytes;   /* longest line; 0 = TSD_INPUT_LINE_BYTES */
    unsigned n_skip;         /* lines to leave out at the start of each file */
    char delimiter;          /* of CSV; 0 = comma, of tsv a tab */
};

/* Reading with one format. The caller fills row and opts by tsd_input_begin, and sets line before each call. */
struct tsd_input_run {
    const struct tsd_input *row;       /* the format */
    const struct tsd_input_opts *opts; /* borrowed */
    struct tsd_mapping *map;           /* owned; NULL if the format needs none */
    struct ts_buf text;                /* put lines made; the caller takes them and empties it */
    uint64_t *line_of;                 /* number of the line in the file that each of them comes from */
    size_t n_points, cap;              /* put lines in text; room in line_of */
    uint64_t line;                     /* number of the current line, from 1; set by the caller */
    uint64_t first_line; /* where the record that this line ends began: what is wrong is wrong there */
    unsigned n_skipped;  /* lines left out in this file */
    bool header;         /* the line with the names of columns was read, or there is none */
    struct ts_buf held, field, point; /* scratch: a record so far, fields without quotes, a point under way */
    uint64_t held_line;               /* first line of held */
    struct ts_slice *fields;          /* of the current record */
    size_t n_fields, max_fields;      /* in use; room */
    struct ts_arena arena;            /* scratch of a line */
    char time_text[32];               /* the last time as put lines have it, with a blank before it */
    size_t n_time;                    /* its bytes; 0 = none */
    int64_t time_ms;                  /* what it means */
    uint64_t n_missing;               /* values that are missing, or texts */
    uint64_t n_timeless;              /* points that got now_ms */
};

/** Begin. TS_EINVAL: the mapping is wrong or missing; run must be released all the same. */
int tsd_input_begin(struct tsd_input_run *run, const struct tsd_input *row, const struct tsd_input_opts *opts,
                    struct ts_error *err);
/** A file begins: its header and the lines to skip are expected anew. */
void tsd_input_file(struct tsd_input_run *run);
/** Turn one line into points; < 0 and err: it is refused, and what was appended for it is taken back. TS_EINVAL: so is the rest of the file, since its
 * header lacks a column. */
int tsd_input_line(struct tsd_input_run *run, struct ts_slice line, struct ts_error *err);
/** The file ends. < 0 and err: the record that began in run->first_line is refused. */
int tsd_input_end(struct tsd_input_run *run, struct ts_error *err);
/** Release. */
void tsd_input_release(struct tsd_input_run *run);

/* --- for the formats --- */

/** Append a name with '_' for every character of ASCII that names may not hold by default. */
void tsd_input_name(struct ts_buf *out, struct ts_slice name);
/** Begin a tag of the point under way: append " key=" by tsd_input_name, and the value. An empty value is no tag. */
void tsd_input_tag(struct ts_buf *out, struct ts_slice key, struct ts_slice value);
/** Append the put line of a point.
 *  @param metric  before tsd_input_name
 *  @param value   text of a number; a whole number beyond 64 bits becomes a double
 *  @param tags    " k=v k=v" as tsd_input_tag makes them
 *  @return 0; TS_EPARSE: the value is not a number; TS_ELIMIT: the line would be longer than TSD_INPUT_POINT_BYTES */
int tsd_input_point(struct tsd_input_run *run, struct ts_slice metric, int64_t ts_ms, struct ts_slice value,
                    struct ts_slice tags, struct ts_error *err);
/** Does the text say that there is no value: empty, NA, N/A, NaN, null, none in any case, or one of opts->missing? */
bool tsd_input_missing(const struct tsd_input_run *run, struct ts_slice value);
/** A time as a number in units of a second.
 *  @param units_per_s  unless opts say otherwise: 1 = seconds, 1000 = milliseconds ...; 0 = by its size, as put lines
 *  @return 0; TS_EPARSE, TS_ELIMIT (beyond what 64 bits hold) */
int tsd_input_number_time(const struct tsd_input_run *run, struct ts_slice text, int64_t units_per_s,
                          int64_t *out_ms, struct ts_error *err);
/** The first line that is neither empty nor begins with '#', taken off the front of lines; false: there is none. */
bool tsd_input_first(struct ts_slice *lines, struct ts_slice *out_line);
/** Read one record of delimited text, RFC 4180: fields into run->fields, quotes resolved into run->field.
 *  @return 0; TS_EBUSY: a quoted field goes on in the next line; TS_EPARSE; TS_ELIMIT: more than TSD_INPUT_FIELDS */
int tsd_input_record(struct tsd_input_run *run, struct ts_slice record, char delimiter, struct ts_error *err);

#endif
