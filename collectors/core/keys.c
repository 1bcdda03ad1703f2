/*
 * keys.c - configuration keys of all that collects, a row each.
 *
 * Threads    constant
 */
#include "collectors/core/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ll << 20)
#define GIB (1ll << 30)

const struct ts_conf_key col_conf_keys[] = {
    {.name = "collect_server",
     .type = TS_CONF_STR,
     .def = "127.0.0.1",
     .help = "Daemons to send to, HOST[:PORT], comma separated. The first that answers is used, and the next "
             "one when it fails. The default PORT is TSD_PORT of the environment, else 4242."},
    {.name = "collect_host",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Value of the tag host. Empty = the name of this machine."},
    {.name = "collect_tags",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Further tags of every point: dc=fra,rack=r1. A point that already has the key keeps its own "
             "value."},
    {.name = "collect_prefix",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Prefix of every metric, with its dot: \"web.\"."},
    {.name = "collect_only",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Collectors to run, comma separated, * and ? allowed. Empty = all that run by default."},
    {.name = "collect_skip",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Collectors not to run, in the same form."},
    {.name = "collect_interval_s",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 86400,
     .help = "Seconds between two reads of the host collectors. 0 = the interval of each collector (tsd "
             "collect --list)."},
    {.name = "collect_dir",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Folder for waiting points and for checkpoints. Empty = the folder that systemd provides, "
             "/var/lib/tsd-collect for "
             "root, else ~/.local/state/tsd-collect. none = memory only."},
    {.name = "collect_spool_bytes",
     .type = TS_CONF_BYTES,
     .def = "512M",
     .min = 64 << 10,
     .max = 1024 * GIB,
     .help = "Most bytes of waiting points (about 100 a point). When this is reached, the oldest sixteenth "
             "is dropped, counted and logged."},
    {.name = "collect_later_bytes",
     .type = TS_CONF_BYTES,
     .def = "64M",
     .min = 64 << 10,
     .max = 1024 * GIB,
     .help = "Most bytes of points put aside because the daemon refuses their series but accepts others (its "
             "max_series is reached); they are sent again later."},
    {.name = "collect_repeat_interval_s",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 86400,
     .help = "Leave out values that repeat the last one sent for at most this long, as tcollector does (300 "
             "there). 0 = send all."},
    {.name = "collect_send_delay_ms",
     .type = TS_CONF_INT,
     .def = "1000",
     .max = 600000,
     .help = "Points wait up to this long (at random) for further ones, so that hosts do not all send at the "
             "same time."},
    {.name = "collect_timeout_s",
     .type = TS_CONF_INT,
     .def = "60",
     .min = 1,
     .max = 3600,
     .help = "Time to connect, and to wait for the answer to a block; after it the next address is tried."},
    {.name = "collect_retry_max_s",
     .type = TS_CONF_INT,
     .def = "60",
     .min = 1,
     .max = 3600,
     .help =
         "Longest pause between attempts while no daemon answers; the pause begins with 1 s and doubles."},
    {.name = "collect_reconnect_s",
     .type = TS_CONF_INT,
     .def = "0",
     .max = 86400 * 30,
     .help = "Return to the first address after this time on another one. 0 = stay."},
    {.name = "collect_root",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Prefix of /proc, /sys and mount points: /host in a container where the host's root is mounted "
             "there."},
    {.name = "collect_net_include",
     .type = TS_CONF_STR,
     .def = "*",
     .help = "Network interfaces to report, comma separated, * and ? allowed."},
    {.name = "collect_net_exclude",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Network interfaces among these to leave out, for instance veth*,docker*."},
    {.name = "collect_disk_exclude",
     .type = TS_CONF_STR,
     .def = "loop*,ram*,zram*",
     .help = "Block devices to leave out, by the kernel's names. Devices without any request so far are left "
             "out anyway."},
    {.name = "collect_fs_exclude_types",
     .type = TS_CONF_STR,
     .def = "autofs,cgroup*,debugfs,devtmpfs,nfs*,cifs,smb*,9p,ceph,rpc_pipefs,rootfs,squashfs,fuse.*,"
            "tracefs,nsfs",
     .help = "Types of file systems to leave out; reading a remote one may hang while its server is "
             "unreachable."},
    {.name = "collect_fs_exclude_mounts",
     .type = TS_CONF_STR,
     .def = "/dev/*,/sys/*,/proc/*,/lib/*,/var/lib/kubelet/*,/var/lib/docker/*,/run/credentials/*",
     .help = "Mount points to leave out (* matches / too)."},
    {.name = "collect_fs_timeout_ms",
     .type = TS_CONF_INT,
     .def = "5000",
     .min = 10,
     .max = 600000,
     .help =
         "A file system that does not answer for so long is left alone until it does, and df.error is 1."},
    {.name = "collect_vmstat",
     .type = TS_CONF_STR,
     .def = "pgpgin,pgpgout,pswpin,pswpout,pgfault,pgmajfault,oom_kill",
     .help = "Lines of /proc/vmstat to report, comma separated, * and ? allowed: * for all (some 150)."},
    {.name = "collect_top",
     .type = TS_CONF_INT,
     .def = "10",
     .max = 1000,
     .help = "Commands reported with the most processor time, and with the most memory. 0 = none."},
    {.name = "collect_processes",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Groups of processes to report: NAME=PATTERN,PATTERN; NAME=... A pattern is a command's name "
             "(15 bytes are kept), with * and ?; "
             "with a / or a blank among them the whole command line is compared too. The first group that "
             "fits counts. Empty = none."},
    {.name = "collect_cgroups",
     .type = TS_CONF_INT,
     .def = "200",
     .max = 100000,
     .help = "Most cgroups (systemd units, containers) reported: those that used most processor time and "
             "memory; the number of the others "
             "is proc.cgroup.left_out. 0 = none."},
    {.name = "collect_cgroups_exclude",
     .type = TS_CONF_STR,
     .def = "*session-*.scope,*/run-*,*/user@*/*",
     .help = "Paths of cgroups to leave out, with all cgroups below them (* matches / too)."},
    {.name = "collect_interrupts_per_cpu",
     .type = TS_CONF_BOOL,
     .def = "true",
     .help = "Report interrupts of each core, as tcollector does. false = sums, which on large machines are "
             "far fewer series."},
    {.name = "collect_programs_dir",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Folder of programs that print points, as for tcollector: 0/x runs for ever, 60/y is started "
             "every 60 s. Empty = none."},
    {.name = "collect_commands",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Further programs: interval in seconds and a command for the shell, separated by semicolons: 60 "
             "/usr/bin/queue --length; 0 /opt/follow."},
    {.name = "collect_programs_scan_s",
     .type = TS_CONF_INT,
     .def = "15",
     .min = 1,
     .max = 3600,
     .help = "Interval at which that folder is checked for new, changed and removed files."},
    {.name = "collect_programs_silence_s",
     .type = TS_CONF_INT,
     .def = "600",
     .max = 86400 * 30,
     .help = "A program that runs for ever but prints no line for this long is stopped and started again. 0 "
             "= never."},
    {.name = "collect_programs_retry_max_s",
     .type = TS_CONF_INT,
     .def = "3600",
     .min = 1,
     .max = 86400,
     .help = "Longest pause before a program that failed is started again; it begins with 1 s and doubles."},
    {.name = "collect_scrape",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Pages in Prometheus' text formats to fetch every 15 s: [NAME=]http://HOST[:PORT][/PATH], "
             "separated by semicolons; "
             "/metrics if there is no path. NAME is the tag job. Empty = none."},
    {.name = "collect_scrape_honor_labels",
     .type = TS_CONF_STR,
     .def = "",
     .help = "NAMEs of collect_scrape whose labels host and job are kept, separated by commas, with * and ?: "
             "for pages that report for others, such as a push gateway. These labels of all other pages "
             "become exported_host and exported_job."},
    {.name = "collect_scrape_timeout_ms",
     .type = TS_CONF_INT,
     .def = "5000",
     .min = 10,
     .max = 600000,
     .help = "Time to fetch one whole page."},
    {.name = "collect_scrape_bytes",
     .type = TS_CONF_BYTES,
     .def = "8M",
     .min = 1024,
     .max = GIB,
     .help = "Most bytes of one page, or of a file of collect_textfile_dir; a larger one is not read."},
    {.name = "collect_scrape_samples",
     .type = TS_CONF_INT,
     .def = "10000",
     .min = 1,
     .max = 10000000,
     .help = "Most samples read from one page, or from all files of collect_textfile_dir; further ones are "
             "left out and counted."},
    {.name = "collect_nginx_status",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Pages of nginx's stub_status to fetch every 15 s, in the form of collect_scrape; /nginx_status "
             "if there is no path."},
    {.name = "collect_apache_status",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Pages of Apache's mod_status likewise; /server-status?auto if there is no path."},
    {.name = "collect_systemd_units",
     .type = TS_CONF_STR,
     .def = "*.service,*.timer",
     .help = "Units of systemd whose state is reported one by one, comma separated, * and ? allowed; all "
             "units are counted."},
    {.name = "collect_textfile_dir",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Folder whose files *.prom contain samples in Prometheus' text format, as for node_exporter. "
             "Empty = none."},
    {.name = "collect_weblog",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Web server logs to follow: [FORMAT:]PATH[=DOMAIN], comma separated, * and ? allowed in PATH. "
             "FORMAT and DOMAIN as in the two keys below (custom: = collect_weblog_format)."},
    {.name = "collect_weblog_format",
     .type = TS_CONF_STR,
     .def = "auto",
     .help = "Format of their lines: auto (detected from the first lines of each file: json, vhost_combined, "
             "combined, common, "
             "vhost_common, haproxy, cloudfront or iis), one of these, or a string as in nginx's "
             "log_format or Apache's LogFormat; iis with its fields, iis:date time ..., if no line #Fields "
             "names them."},
    {.name = "collect_weblog_domain",
     .type = TS_CONF_STR,
     .def = "auto",
     .help =
         "Tag domain: auto (virtual host of the line, else name of the file), vhost, file, referrer (host "
         "of the linking page), client (its last labels), or a name."},
    {.name = "collect_weblog_bots",
     .type = TS_CONF_CHOICE,
     .def = "count",
     .choices = "count|drop|tag",
     .help = "How requests of programs (crawlers, monitors, libraries), recognised by words in their user "
             "agents, are handled. count: like others; drop: they are left out, and web.log.lines state=bot "
             "counts them; tag: every request gets the tag bot=yes or bot=no, which makes up to twice as "
             "many series."},
    {.name = "collect_weblog_bucket_s",
     .type = TS_CONF_INT,
     .def = "60",
     .min = 1,
     .max = 900,
     .help = "Length in seconds of the buckets in which requests are counted; it must divide 900."},
    {.name = "collect_weblog_send_s",
     .type = TS_CONF_INT,
     .def = "10",
     .min = 1,
     .max = 3600,
     .help = "A bucket that changed is sent after this time with its current count, and again after each "
             "further change."},
    {.name = "collect_weblog_poll_ms",
     .type = TS_CONF_INT,
     .def = "1000",
     .min = 10,
     .max = 60000,
     .help = "Interval at which the files are checked."},
    {.name = "collect_weblog_late_s",
     .type = TS_CONF_INT,
     .def = "600",
     .max = 86400,
     .help = "Counts of a bucket are kept for this long after their last change. Later lines count too, in "
             "points some ms after the bucket's."},
    {.name = "collect_weblog_rotated_s",
     .type = TS_CONF_INT,
     .def = "300",
     .min = 1,
     .max = 86400,
     .help = "A rotated log is read until nothing has been added for this long."},
    {.name = "collect_weblog_olddir",
     .type = TS_CONF_STR,
     .def = "",
     .help = "Further folders with rotated logs, comma separated: logrotate's olddir. A relative one is "
             "relative to the log's folder."},
    {.name = "collect_weblog_keep_days",
     .type = TS_CONF_INT,
     .def = "30",
     .max = 36500,
     .help = "Days for which positions in logs are kept: of rotated files after they were last seen, and of "
             "logs that collect_weblog no longer names. 0 = for ever."},
    {.name = "collect_weblog_domains",
     .type = TS_CONF_INT,
     .def = "100",
     .max = 100000,
     .help =
         "Most values of the tag domain at a time; requests of further ones count as other (web.log.other)."},
    {.name = "collect_weblog_paths",
     .type = TS_CONF_INT,
     .def = "20",
     .max = 100000,
     .help = "Most values of the tag path of one domain at a time; requests of further ones count as other."},
    {.name = "collect_weblog_name_h",
     .type = TS_CONF_INT,
     .def = "168",
     .min = 1,
     .max = 876000,
     .help = "Hours without a request after which a domain or path may be replaced by a new one if one of "
             "the two limits above is reached; one that never answered with 2xx is replaced at once by one "
             "that does."},
    {.name = "collect_weblog_path_depth",
     .type = TS_CONF_INT,
     .def = "1",
     .max = 16,
     .help = "Number of folders of a path in the tag path: 1 = /a of /a/b/c. 0 = no such tag."},
    {.name = "collect_weblog_cells",
     .type = TS_CONF_INT,
     .def = "50000",
     .min = 1000,
     .max = 10000000,
     .help = "Most counts in memory (one for a bucket, domain and path, 250 bytes each); above it old "
             "buckets are closed before collect_weblog_late_s."},
    {.name = NULL},
};

void col_host_name(const struct ts_conf *conf, char *out, size_t out_bytes)
{
    const char *host = ts_conf_str(conf, "collect_host");
    out[0] = '\0';
    if (*host)
        (void)snprintf(out, out_bytes, "%s", host);
    else if (gethostname(out, out_bytes - 1) < 0 || !*out)
        (void)snprintf(out, out_bytes, "localhost");
}

int col_state_dir(const struct ts_conf *conf, char out[PATH_MAX], struct ts_error *err)
{
    const char *dir = ts_conf_str(conf, "collect_dir");
    const char *systemd = getenv("STATE_DIRECTORY"), *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (!strcmp(dir, "none"))
        out[0] = '\0';
    else if (*dir)
        (void)snprintf(out, PATH_MAX, "%s", dir);
    else if (systemd && *systemd)
        (void)snprintf(out, PATH_MAX, "%.*s", (int)strcspn(systemd, ":"), systemd);
    else if (geteuid() == 0)
        (void)snprintf(out, PATH_MAX, "/var/lib/tsd-collect");
    else if (xdg && *xdg)
        (void)snprintf(out, PATH_MAX, "%s/tsd-collect", xdg);
    else if (home && *home)
        (void)snprintf(out, PATH_MAX, "%s/.local/state/tsd-collect", home);
    else
        return ts_error_set(err, TS_EINVAL,
                            "no folder for waiting points: set collect_dir (none = memory only)");
    return 0;
}
