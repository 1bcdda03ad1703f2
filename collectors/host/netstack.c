/*
 * netstack.c - packets on their way from the card to sockets: /proc/net/softnet_stat; and the neighbours known: /proc/net/arp.
 *
 * Threads    the collector's own
 * Source     the kernel's net/core/net-procfs.c (columns of softnet_stat); proc_net(5)
 */
#include "base/num.h"
#include "collectors/core/fields.h"
#include "collectors/host/parse.h"
#include "collectors/core/source.h"

#define DEVICES_MAX 256u /* whose neighbours are counted */

static const struct col_metric metrics[] = {
    {"proc.softnet", "type", "packets",
     "Packets taken from cards (processed), discarded because the queue was full (dropped), and times the "
     "work was cut short "
     "(squeezed); all cores.",
     COL_COUNTER},
    {"proc.arp.entries", "iface", "entries", "Neighbours known by address (ARP).", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* A line a core, columns in hexadecimal: processed, dropped, squeezed, ... */
void col_softnet_parse(struct ts_slice text, struct col_emit *emit)
{
    static const char *const types[] = {"processed", "dropped", "squeezed"};
    struct ts_slice line, word;
    uint64_t sums[3] = {0};
    bool any = false;
    while (col_line_next(&text, &line))
        for (unsigned i = 0; i < 3 && col_word_next(&line, &word); i++) {
            uint32_t v;
            if (!ts_num_parse_hex(word, &v))
                break;
            sums[i] += v;
            any = true;
        }
    for (unsigned i = 0; any && i < 3; i++)
        col_emit_u64(emit, metrics[0].name, sums[i], COL_TAGS({"type", ts_slice_str(types[i])}));
}

/* "IP address  HW type  Flags  HW address  Mask  Device" and lines below it */
void col_arp_parse(struct ts_slice text, struct col_emit *emit)
{
    struct ts_slice line, word, devices[DEVICES_MAX];
    uint64_t counts[DEVICES_MAX];
    unsigned n = 0, i;
    (void)col_line_next(&text, &line);
    while (col_line_next(&text, &line)) {
        unsigned n_words = 0;
        while (n_words < 6 && col_word_next(&line, &word))
            n_words++;
        if (n_words < 6)
            continue;
        for (i = 0; i < n && !ts_slice_eq(devices[i], word); i++)
            ;
        if (i == DEVICES_MAX)
            continue;
        if (i == n) {
            devices[n] = word;
            counts[n++] = 0;
        }
        counts[i]++;
    }
    for (i = 0; i < n; i++)
        col_emit_u64(emit, metrics[1].name, counts[i], COL_TAGS({"iface", devices[i]}));
}

static int netstack_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    (void)col_text_read(state, emit, "/proc/net/arp", col_arp_parse, NULL); /* not there without IPv4 */
    return col_text_read(state, emit, "/proc/net/softnet_stat", col_softnet_parse, err);
}

const struct col_collector col_netstack = {
    .name = "netstack",
    .help = "Packets between cards and sockets, and neighbours.",
    .metrics = metrics,
    .interval_s = 15,
    .init = col_text_init,
    .read = netstack_read,
    .release = col_text_release,
};
