/*
 * temperature.c - sensors of /sys/class/hwmon, and thermal zones where there are none.
 *
 * Virtual machines have none: then the collector is left out.
 * Threads    the collector's own
 * Source     the kernel's Documentation/hwmon/sysfs-interface.rst, Documentation/driver-api/thermal/sysfs-api.rst
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#include <stdio.h>

#define HWMON   "/sys/class/hwmon"
#define THERMAL "/sys/class/thermal"

static const struct col_metric metrics[] = {
    {"sys.temperature", "chip device sensor", "celsius", "What a sensor reads.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* What a walk through /sys has at hand. */
struct walk {
    const char *root;      /* see source.h */
    struct col_emit *emit; /* NULL = count only */
    unsigned n;            /* sensors found */
    const char *device;    /* hwmon0 */
    char chip[64];         /* coretemp */
};

static void walk_point(struct walk *w, const char *path, const char *sensor)
{
    int64_t milli;
    if (!col_source_int(w->root, path, &milli))
        return; /* a sleeping device answers with an error */
    w->n++;
    if (w->emit)
        col_emit_num(w->emit, metrics[0].name, (double)milli / 1000.0,
                     COL_TAGS({"chip", ts_slice_str(w->chip)}, {"device", ts_slice_str(w->device)},
                              {"sensor", ts_slice_str(sensor)}));
}

/* A file of hwmonN: temp1_input */
static int walk_file(void *arg, const char *name)
{
    struct walk *w = arg;
    struct ts_slice s = ts_slice_str(name), number;
    char path[256], label[64];
    uint64_t n;
    if (!col_prefix_take(&s, "temp") || s.n < 7 || memcmp(s.p + s.n - 6, "_input", 6) != 0)
        return 0;
    number = (struct ts_slice){s.p, s.n - 6};
    if (!col_u64_of(number, &n))
        return 0;
    (void)snprintf(path, sizeof(path), HWMON "/%.100s/temp%llu_label", w->device, (unsigned long long)n);
    if (!col_source_word(w->root, path, label, sizeof(label)) || !*label)
        (void)snprintf(label, sizeof(label), "temp%llu", (unsigned long long)n);
    (void)snprintf(path, sizeof(path), HWMON "/%.100s/temp%llu_input", w->device, (unsigned long long)n);
    walk_point(w, path, label);
    return 0;
}

static int walk_hwmon(void *arg, const char *name)
{
    struct walk *w = arg;
    char path[256];
    w->device = name;
    (void)snprintf(path, sizeof(path), HWMON "/%.100s/name", name);
    (void)col_source_word(w->root, path, w->chip, sizeof(w->chip));
    (void)snprintf(path, sizeof(path), HWMON "/%.100s", name);
    (void)col_source_list(w->root, path, walk_file, w, NULL);
    return 0;
}

static int walk_thermal(void *arg, const char *name)
{
    struct walk *w = arg;
    char path[256], type[64];
    struct ts_slice s = ts_slice_str(name);
    if (!col_prefix_take(&s, "thermal_zone"))
        return 0;
    (void)snprintf(path, sizeof(path), THERMAL "/%.100s/type", name);
    (void)col_source_word(w->root, path, type, sizeof(type));
    (void)snprintf(w->chip, sizeof(w->chip), "thermal");
    w->device = name;
    (void)snprintf(path, sizeof(path), THERMAL "/%.100s/temp", name);
    walk_point(w, path, type);
    return 0;
}

static unsigned walk_all(const char *root, struct col_emit *emit)
{
    struct walk w = {.root = root, .emit = emit};
    (void)col_source_list(root, HWMON, walk_hwmon, &w, NULL);
    if (!w.n)
        (void)col_source_list(root, THERMAL, walk_thermal, &w, NULL);
    return w.n;
}

static int temperature_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    if (!walk_all(ctx->root, NULL))
        return ts_error_set(err, TS_ENOTFOUND, "there are no sensors in %s%s", ctx->root, HWMON);
    return col_text_init(ctx, out_state, err);
}

static int temperature_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    (void)err;
    (void)walk_all(col_text_ctx(state)->root, emit);
    return 0;
}

const struct col_collector col_temperature = {
    .name = "temperature",
    .help = "Temperatures of processors, disks, boards.",
    .metrics = metrics,
    .interval_s = 60,
    .init = temperature_init,
    .read = temperature_read,
    .release = col_text_release,
};
