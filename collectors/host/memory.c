/*
 * memory.c - every line of /proc/meminfo.
 *
 * Threads    the collector's own
 * Source     proc_meminfo(5); docs/OPENTSDB.md, section 12.5, procstats
 */
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"

#include <stdio.h>

static const struct col_metric memory_metrics[] = {
    {"proc.meminfo.hugepages_total", "", "pages", "Huge pages reserved.", COL_GAUGE},
    {"proc.meminfo.hugepages_free", "", "pages", "Huge pages not in use.", COL_GAUGE},
    {"proc.meminfo.hugepages_rsvd", "", "pages", "Huge pages promised but not in use.", COL_GAUGE},
    {"proc.meminfo.hugepages_surp", "", "pages", "Huge pages above the number reserved.", COL_GAUGE},
    {"proc.meminfo.*", "", "bytes",
     "A line of /proc/meminfo in lower case, other characters as _: memtotal, memfree, memavailable, "
     "buffers, cached, active_anon ...",
     COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* "proc.meminfo." and the name: lower case, what is no word character as '_', none at the ends. */
static void memory_name(struct ts_slice name, char *out, size_t out_bytes)
{
    size_t n = (size_t)snprintf(out, out_bytes, "proc.meminfo.");
    size_t begin = n;
    for (size_t i = 0; i < name.n && n + 1 < out_bytes; i++) {
        char c = name.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            c = '_';
        if (c != '_' || n > begin)
            out[n++] = c;
    }
    while (n > begin && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

/* "MemTotal:  123 kB", "HugePages_Total:  0", "Active(anon):  5 kB" */
void col_memory_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice line, unit;
    char metric[96];
    uint64_t v;
    while (col_line_next(&text, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        if (!colon)
            continue;
        struct ts_slice name = {line.p, (size_t)(colon - line.p)};
        struct ts_slice rest = {colon + 1, line.n - name.n - 1};
        if (!name.n || !col_u64_next(&rest, &v))
            continue;
        memory_name(name, metric, sizeof(metric));
        bool kib = col_word_next(&rest, &unit) && ts_slice_is(unit, "kB");
        col_emit_u64(emit, metric, kib ? v * 1024 : v, COL_NO_TAGS);
    }
}

COL_TEXT_COLLECTOR(memory, "/proc/meminfo", col_memory_parse, 15, "What memory is used for.");
