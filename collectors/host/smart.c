/*
 * smart.c - health of disks, as smartctl reports it: the raw values of its attributes.
 *
 * A disk that sleeps is not woken. smartctl wants root and the devices; without them, and where it is not
 * installed, the collector is left out. A disk that hangs costs
 * 10 s of this collector's thread and nobody else's.
 *
 * Threads    the collector's own
 * Source     smartctl(8); docs/OPENTSDB.md, section 12.5, smart_stats (names by number)
 */
#include "collectors/host/parse.h"

#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/core/fields.h"
#include "collectors/core/programs_child.h"
#include "collectors/core/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OUTPUT_BYTES ((size_t)256 << 10) /* of smartctl; usually 4 KiB */
#define LIMIT_MS     10000               /* for smartctl; docs/OPENTSDB.md, section 12.5 */
#define GRACE_MS     1000                /* then SIGKILL */
#define ID_MAX       256u                /* numbers of attributes are bytes */

static const struct col_metric metrics[] = {
    {"smart.seek_count", "disk", "1", "Seeks (Seagate).", COL_COUNTER},
    {"smart.seek_errors", "disk", "1", "Seeks that failed (Seagate).", COL_COUNTER},
    {"smart.raw_read_count", "disk", "1", "Sectors read (Seagate).", COL_COUNTER},
    {"smart.raw_read_errors", "disk", "1", "Sectors that could not be read at once (Seagate).", COL_COUNTER},
    {"smart.*", "disk", "1",
     "Raw value of an attribute: reallocated_sector_ct, power_on_hours, temperature_celsius, "
     "current_pending_sector, wear_leveling_count ...; of NVMe and SAS percentage_used, media_errors, "
     "grown_defects ... "
     "(data units are 512,000 bytes).",
     COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* Lines "LABEL: VALUE" of NVMe and SAS disks. */
static const struct {
    const char *label, *metric;
} lines[] = {
    {"Critical Warning:", "smart.critical_warning"},
    {"Temperature:", "smart.temperature_celsius"},
    {"Available Spare:", "smart.available_spare"},
    {"Percentage Used:", "smart.percentage_used"},
    {"Data Units Read:", "smart.data_units_read"},
    {"Data Units Written:", "smart.data_units_written"},
    {"Power Cycles:", "smart.power_cycle_count"},
    {"Power On Hours:", "smart.power_on_hours"},
    {"Unsafe Shutdowns:", "smart.unsafe_shutdowns"},
    {"Media and Data Integrity Errors:", "smart.media_errors"},
    {"Error Information Log Entries:", "smart.error_log_entries"},
    {"Warning  Comp. Temperature Time:", "smart.warning_temperature_minutes"},
    {"Critical Comp. Temperature Time:", "smart.critical_temperature_minutes"},
    {"Current Drive Temperature:", "smart.temperature_celsius"},
    {"Accumulated power on time, hours:minutes", "smart.power_on_hours"},
    {"Accumulated start-stop cycles:", "smart.start_stop_count"},
    {"Accumulated load-unload cycles:", "smart.load_cycle_count"},
    {"Elements in grown defect list:", "smart.grown_defects"},
    {"Non-medium error count:", "smart.non_medium_errors"},
    {"Percentage used endurance indicator:", "smart.percentage_used"},
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

/* "1,234 [632 MB]", "35 Celsius", "0x04", "100%", "1234:56" */
static bool smart_number(struct ts_slice s, uint64_t *out)
{
    bool hex = col_prefix_take(&s, "0x");
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = c >= '0' && c <= '9'          ? (unsigned)(c - '0')
                         : hex && c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                       : 99;
        if (c == ',' && n)
            continue;
        if (digit == 99 || n > 15)
            break;
        *out = *out * (hex ? 16 : 10) + digit;
        n++;
    }
    return n > 0;
}

/* A line of an NVMe or SAS disk; false if it is another. */
static bool smart_line(struct ts_slice line, const char *disk, struct col_emit *emit)
{
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct ts_slice rest = line;
        uint64_t v;
        if (!col_prefix_take(&rest, lines[i].label) || !smart_number(col_trim(rest), &v))
            continue;
        col_emit_u64(emit, lines[i].metric, v, COL_TAGS({"disk", ts_slice_str(disk)}));
        return true;
    }
    return false;
}

bool col_smart_parse(struct ts_slice text, const char *disk, struct col_emit *emit)
{
    struct ts_slice line;
    bool table = false, seagate = false, data = false, any = false;
    while (col_line_next(&text, &line)) {
        char metric[64];
        uint64_t id, raw;
        struct ts_slice rest = line;
        if (col_prefix_take(&rest, "Device Model:"))
            seagate = col_trim(rest).n > 1 && memcmp(col_trim(rest).p, "ST", 2) == 0;
        data = data || col_prefix_take(&rest, "=== START OF SMART DATA") ||
               col_prefix_take(&rest, "=== START OF READ SMART DATA");
        if (data && !table)
            any = smart_line(line, disk, emit) || any;
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
    return table || any;
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

/* A letter or more behind a prefix, or digits. */
static bool smart_all(const char *s, char from, char to)
{
    size_t n = 0;
    while (s[n] >= from && s[n] <= to)
        n++;
    return n > 0 && s[n] == '\0';
}

/* sda, sdaa, hdb, nvme0n1: what smartctl knows. */
static bool smart_disk(const char *name)
{
    const char *n;
    if (strlen(name) > 30)
        return false;
    if (strncmp(name, "sd", 2) == 0 || strncmp(name, "hd", 2) == 0)
        return smart_all(name + 2, 'a', 'z');
    if (strncmp(name, "nvme", 4) != 0 || !(n = strchr(name + 4, 'n')))
        return false;
    return n > name + 4 && strspn(name + 4, "0123456789") == (size_t)(n - name - 4) &&
           smart_all(n + 1, '0', '9');
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
        return ts_error_set(err, TS_EIO, "smartctl reports no attributes of %u disks, %s among them",
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
        return ts_error_set(err, TS_ENOTFOUND, "there is no disk sd*, hd* or nvme*");
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
