/*
 * systemd.c - states of systemd's units, as systemctl lists them.
 *
 * Threads    the collector's own
 * Not here   what units use (units.c)
 * Source     systemctl(1), list-units
 */
#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/programs_child.h"
#include "collectors/core/source.h"

#include <unistd.h>

#define OUTPUT_BYTES ((size_t)4 << 20) /* of systemctl; usually 20 KiB */
#define LIMIT_MS     10000
#define GRACE_MS     1000

static const struct col_metric metrics[] = {
    {"sys.unit.count", "state", "units",
     "Units that are active, inactive, failed, or on their way (changing).", COL_GAUGE},
    {"sys.unit.state", "unit", "1",
     "State of a service, timer, socket or mount (collect_systemd_units): 2 active, 1 on its way, 0 "
     "inactive, -1 failed.",
     COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const struct {
    const char *name; /* value of state */
    int value;        /* of sys.unit.state */
} states[] = {{"active", 2}, {"changing", 1}, {"inactive", 0}, {"failed", -1}};
#define N_STATES (sizeof(states) / sizeof(*states))

/* "ssh.service loaded active running OpenBSD Secure Shell server" */
void col_systemd_parse(struct ts_slice text, const char *wanted, struct col_emit *emit)
{
    struct ts_slice line, unit, load, active;
    uint64_t counts[N_STATES] = {0};
    bool any = false;
    while (col_line_next(&text, &line)) {
        unsigned s = 1; /* activating, deactivating, reloading, ... */
        if (!col_word_next(&line, &unit) || !col_word_next(&line, &load) || !col_word_next(&line, &active) ||
            !ts_slice_is(load, "loaded"))
            continue;
        for (unsigned i = 0; i < N_STATES; i++)
            if (ts_slice_is(active, states[i].name))
                s = i;
        any = true;
        counts[s]++;
        if (col_match_any(wanted, unit))
            col_emit_int(emit, metrics[1].name, states[s].value, COL_TAGS({"unit", unit}));
    }
    for (unsigned i = 0; any && i < N_STATES; i++)
        col_emit_u64(emit, metrics[0].name, counts[i], COL_TAGS({"state", ts_slice_str(states[i].name)}));
}

/* The collector's state. */
struct systemd {
    const struct ts_conf *conf; /* borrowed */
    struct ts_buf out;          /* of systemctl */
};

/* That the folder is there is enough. */
static int systemd_entry(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return 0;
}

static int systemd_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (col_source_list(ctx->root, "/run/systemd/system", systemd_entry, NULL, NULL) < 0)
        return ts_error_set(err, TS_ENOTFOUND, "this machine does not run systemd");
    struct systemd *s = ts_xcalloc(1, sizeof(*s));
    s->conf = ctx->conf;
    ts_buf_init(&s->out, OUTPUT_BYTES);
    *out_state = s;
    return 0;
}

static int systemd_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct systemd *s = state;
    struct col_child_opts opts = {.path = "exec systemctl list-units --all --plain --no-legend --no-pager "
                                          "--type=service,timer,socket,mount",
                                  .shell = true,
                                  .env = environ};
    TS_TRY(col_child_run(&opts, LIMIT_MS, GRACE_MS, &s->out, err));
    if (!s->out.n)
        return ts_error_set(err, TS_EIO, "systemctl list-units prints nothing");
    col_systemd_parse(ts_buf_get(&s->out), ts_conf_str(s->conf, "collect_systemd_units"), emit);
    return 0;
}

static void systemd_release(void *state)
{
    struct systemd *s = state;
    ts_buf_release(&s->out);
    ts_free(s);
}

const struct col_collector col_systemd = {
    .name = "systemd",
    .help = "States of systemd's units.",
    .metrics = metrics,
    .interval_s = 60,
    .init = systemd_init,
    .read = systemd_read,
    .release = systemd_release,
};
