/*
 * smart.c - health of disks, as smartctl tells it: the raw values of its attributes.
 *
 * A disk that sleeps is not woken. smartctl wants root and the devices; without them, and where it is not installed, the collector is left out. A disk that hangs costs
 * 10 s of this collector's thread and nobody else's.
 *
 * Threads    the collector's own
 * Source     smartctl(8); storage-and-tools 5.6 smart_stats (names by number)
 */
#include "collectors/smart.h"

#include "base/mem.h"
#include "collectors/collector.h"
#include "collectors/fields.h"
#include "collectors/programs_child.h"
#include "collectors/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OUTPUT_BYTES ((size_t)256 << 10) /* of smartctl; usually 4 KiB */
#define LIMIT_MS     10000               /* for smartctl; storage-and-tools 5.6 */
#define GRACE_MS     1000                /* then SIGKILL */
#define ID_MAX       256u                /* numbers of attributes are bytes */

static const struct col_metric metrics[] = {
    {"smart.seek_count", "disk", "1", "Seeks (Seagate).", COL_COUNTER},
    {"smart.seek_errors", "disk", "1", "Seeks that failed (Seagate).", COL_COUNTER},
    {"smart.raw_read_count", "disk", "1", "Sectors read (Seagate).", COL_COUNTER},
    {"smart.raw_read_errors", "disk", "1", "Sectors that could not be read at once (Seagate).", COL_COUNTER},
    {"smart.*", "disk", "1",
     "Raw value of an attribute: reallocated_sector_ct, power_on_hours, temperature_celsius, "
     "current_pending_sector, wear_leveling_count ...",
     COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

static const char *const names[ID_MAX] = {
    [1] = "raw_read_error_rate",
    [2] = "throughput_performance",
    [3] = "spin_up_time",
    [4] = "start_stop_count",
    [5] = "reallocated_sector_ct",
    [7] = "seek_error_rate",
    [8] = "seek_time_performance",
    [9] = "power_on_hours",
    [10] = "spin_retry_count",
    [11] = "recalibration_retries",
    [12] = "power_cycle_count",
    [13] = "soft_read_error_rate",
    [175] = "program_fail_count_chip",
    [176] = "erase_fail_count_chip",
    [177] = "wear_leveling_count",
    [178] = "used_rsvd_blk_cnt_chip",
    [179] = "used_rsvd_blk_cnt_tot",
    [180] = "unused_rsvd_blk_cnt_tot",
    [181] = "program_fail_cnt_total",
    [182] = "erase_fail_count_total",
    [183] = "runtime_bad_block",
    [184] = "end_to_end_error",
    [187] = "reported_uncorrect",
    [188] = "command_timeout",
    [189] = "high_fly_writes",
    [190] = "airflow_temperature_celsius",
    [191] = "g_sense_error_rate",
    [192] = "power-off_retract_count",
    [193] = "load_cycle_count",
    [194] = "temperature_celsius",
    [195] = "hardware_ecc_recovered",
    [196] = "reallocated_event_count",
    [197] = "current_pending_sector",
    [198] = "offline_uncorrectable",
    [199] = "udma_crc_error_count",
    [200] = "write_error_rate",
    [233] = "media_wearout_indicator",
    [240] = "transfer_error_rate",
    [241] = "total_lba_writes",
    [242] = "total_lba_read",
};

/* --- what it prints --- */

/* The digits at the front of a word: "12345h+30m" */
static bool smart_raw(struct ts_slice word, uint64_t *out)
{
    size_t n = 0;
    while (n < word.n && word.p[n] >= '0' && word.p[n] <= '9')
        n++;
    return col_u64_of((struct ts_slice){word.p, n}, out);
}

/* "  5 Reallocated_Sector_Ct 0x0033 100 100 010 Pre-fail Always - 0": number, name, flag, value, worst, threshold, type, updated, when failed,
 * raw */
static bool smart_attribute(struct ts_slice line, uint64_t *out_id, uint64_t *out_raw)
{
    struct ts_slice word;
    if (!col_u64_next(&line, out_id) || *out_id >= ID_MAX)
        return false;
    for (unsigned i = 0; i < 9; i++)
        if (!col_word_next(&line, &word) || (i == 1 && !col_prefix_take(&word, "0x")))
            return false;
    return smart_raw(word, out_raw);
}

/* Seagate keeps two counts in one number: 32 bits of operations, 16 of errors above them. */
static void smart_pair(struct col_emit *emit, const struct col_metric *pair, uint64_t raw, const char *disk)
{
    col_emit_u64(emit, pair[0].name, raw & UINT32_MAX, COL_TAGS({"disk", ts_slice_str(disk)}));
    col_emit_u64(emit, pair[1].name, raw >> 32 & UINT16_MAX, COL_TAGS({"disk", ts_slice_str(disk)}));
}

bool col_smart_parse(struct ts_slice text, const char *disk, struct col_emit *emit)
{
    struct ts_slice line;
    bool table = false, seagate = false;
    while (col_line_next(&text, &line)) {
        char metric[64];
        uint64_t id, raw;
        struct ts_slice rest = line;
        if (col_prefix_take(&rest, "Device Model:"))
            seagate = col_trim(rest).n > 1 && memcmp(col_trim(rest).p, "ST", 2) == 0;
        table = table || col_prefix_take(&rest, "ID#");
        if (!table || !smart_attribute(line, &id, &raw))
            continue;
        if (seagate && id == 7)
            smart_pair(emit, &metrics[0], raw, disk);
        if (seagate && id == 1)
            smart_pair(emit, &metrics[2], raw, disk);
        if (!names[id])
            continue;
        (void)snprintf(metric, sizeof(metric), "smart.%s", names[id]);
        col_emit_u64(emit, metric, raw, COL_TAGS({"disk", ts_slice_str(disk)}));
    }
    return table;
}

/* --- running it --- */

/* The collector's state. */
struct smart {
    const char *root;      /* see source.h */
    struct ts_buf out;     /* of smartctl */
    struct col_emit *emit; /* of the read under way */
    unsigned n_silent;     /* disks that gave nothing in it */
    char silent[32];       /* one of them */
};

/* All it prints within LIMIT_MS; false if it could not be started. */
static bool smart_run(struct smart *s, const char *disk)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "exec smartctl -n standby -i -A /dev/%s", disk);
    struct col_child_opts opts = {.path = command, .shell = true, .env = environ};
    return col_child_run(&opts, LIMIT_MS, GRACE_MS, &s->out, NULL) == 0;
}

/* Attributes, or a disk that sleeps and is not to be woken for them. */
static bool smart_answer(struct smart *s, const char *disk)
{
    struct ts_slice out = ts_buf_get(&s->out);
    return col_smart_parse(out, disk, s->emit) ||
           (out.p && (memmem(out.p, out.n, " STANDBY", 8) || memmem(out.p, out.n, " SLEEP", 6)));
}

/* sda, hdb: what smartctl reads attributes of. */
static bool smart_disk(const char *name)
{
    return strlen(name) == 3 && (name[0] == 's' || name[0] == 'h') && name[1] == 'd' && name[2] >= 'a' &&
           name[2] <= 'z';
}

static int smart_each(void *arg, const char *name)
{
    struct smart *s = arg;
    if (!smart_disk(name) || (smart_run(s, name) && smart_answer(s, name)))
        return 0;
    s->n_silent++;
    (void)snprintf(s->silent, sizeof(s->silent), "%s", name);
    return 0;
}

static int smart_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct smart *s = state;
    s->emit = emit;
    s->n_silent = 0;
    TS_TRY(col_source_list(s->root, "/sys/block", smart_each, s, err));
    if (s->n_silent)
        return ts_error_set(err, TS_EIO, "smartctl tells no attributes of %u disks, %s among them",
                            s->n_silent, s->silent);
    return 0;
}

static bool smart_installed(void)
{
    const char *path = getenv("PATH");
    for (path = path ? path : "/usr/sbin:/usr/bin"; *path;) {
        char file[512];
        size_t n = strcspn(path, ":");
        (void)snprintf(file, sizeof(file), "%.*s/smartctl", (int)n, path);
        if (n && access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static int smart_count(void *arg, const char *name)
{
    *(unsigned *)arg += smart_disk(name);
    return 0;
}

static int smart_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    unsigned n_disks = 0;
    if (geteuid() != 0)
        return ts_error_set(err, TS_ENOTFOUND, "smartctl needs root");
    if (!smart_installed())
        return ts_error_set(err, TS_ENOTFOUND, "smartctl is not installed");
    (void)col_source_list(ctx->root, "/sys/block", smart_count, &n_disks, NULL);
    if (!n_disks)
        return ts_error_set(err, TS_ENOTFOUND, "there is no disk /dev/sd? or /dev/hd?");
    struct smart *s = ts_xcalloc(1, sizeof(*s));
    s->root = ctx->root;
    ts_buf_init(&s->out, OUTPUT_BYTES);
    *out_state = s;
    return 0;
}

static void smart_release(void *state)
{
    struct smart *s = state;
    ts_buf_release(&s->out);
    ts_free(s);
}

const struct col_collector col_smart = {
    .name = "smart",
    .help = "Health of disks, from smartctl.",
    .metrics = metrics,
    .interval_s = 120,
    .init = smart_init,
    .read = smart_read,
    .release = smart_release,
};
