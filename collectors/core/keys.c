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
    TS_KEY_STR("collect_server", "127.0.0.1",
               "Daemons to send to, HOST[:PORT], comma separated. The first that answers is used, and the "
               "next one when it fails. The default PORT is TSD_PORT of the environment, else 4242."),
    TS_KEY_STR("collect_host", "", "Value of the tag host. Empty = the name of this machine."),
    TS_KEY_STR(
        "collect_tags", "",
        "Further tags of every point: dc=fra,rack=r1. A point that already has the key keeps its own value."),
    TS_KEY_STR("collect_prefix", "", "Prefix of every metric, with its dot: \"web.\"."),
    TS_KEY_STR("collect_only", "",
               "Collectors to run, comma separated, * and ? allowed. Empty = all that run by default."),
    TS_KEY_STR("collect_skip", "", "Collectors not to run, in the same form."),
    TS_KEY_INT("collect_interval_s", "0", 0, 86400,
               "Seconds between two reads of the host collectors. 0 = the interval of each collector (tsd "
               "collect --list)."),
    TS_KEY_STR("collect_dir", "",
               "Folder for waiting points and for checkpoints. Empty = the folder that systemd provides, "
               "/var/lib/tsd-collect for root, else ~/.local/state/tsd-collect. none = memory only."),
    TS_KEY_BYTES("collect_spool_bytes", "512M", 64 << 10, 1024 * GIB,
                 "Most bytes of waiting points (about 100 a point). When this is reached, the oldest "
                 "sixteenth is dropped, counted and logged."),
    TS_KEY_BYTES("collect_later_bytes", "64M", 64 << 10, 1024 * GIB,
                 "Most bytes of points put aside because the daemon refuses their series but accepts others "
                 "(its max_series is reached); they are sent again later."),
    TS_KEY_INT("collect_repeat_interval_s", "0", 0, 86400,
               "Leave out values that repeat the last one sent for at most this long, as tcollector does "
               "(300 there). 0 = send all."),
    TS_KEY_INT("collect_send_delay_ms", "1000", 0, 600000,
               "Points wait up to this long (at random) for further ones, so that hosts do not all send at "
               "the same time."),
    TS_KEY_INT("collect_timeout_s", "60", 1, 3600,
               "Time to connect, and to wait for the answer to a block; after it the next address is tried."),
    TS_KEY_INT(
        "collect_retry_max_s", "60", 1, 3600,
        "Longest pause between attempts while no daemon answers; the pause begins with 1 s and doubles."),
    TS_KEY_INT("collect_reconnect_s", "0", 0, 86400 * 30,
               "Return to the first address after this time on another one. 0 = stay."),
    TS_KEY_STR("collect_root", "",
               "Prefix of /proc, /sys and mount points: /host in a container where the host's root is "
               "mounted there."),
    TS_KEY_STR("collect_net_include", "*", "Network interfaces to report, comma separated, * and ? allowed."),
    TS_KEY_STR("collect_net_exclude", "",
               "Network interfaces among these to leave out, for instance veth*,docker*."),
    TS_KEY_STR("collect_disk_exclude", "loop*,ram*,zram*",
               "Block devices to leave out, by the kernel's names. Devices without any request so far are "
               "left out anyway."),
    TS_KEY_STR(
        "collect_fs_exclude_types",
        "autofs,cgroup*,debugfs,devtmpfs,nfs*,cifs,smb*,9p,ceph,rpc_pipefs,rootfs,squashfs,fuse.*,tracefs,"
        "nsfs",
        "Types of file systems to leave out; reading a remote one may hang while its server is unreachable."),
    TS_KEY_STR("collect_fs_exclude_mounts",
               "/dev/*,/sys/*,/proc/*,/lib/*,/var/lib/kubelet/*,/var/lib/docker/*,/run/credentials/*",
               "Mount points to leave out (* matches / too)."),
    TS_KEY_INT(
        "collect_fs_timeout_ms", "5000", 10, 600000,
        "A file system that does not answer for so long is left alone until it does, and df.error is 1."),
    TS_KEY_STR("collect_vmstat", "pgpgin,pgpgout,pswpin,pswpout,pgfault,pgmajfault,oom_kill",
               "Lines of /proc/vmstat to report, comma separated, * and ? allowed: * for all (some 150)."),
    TS_KEY_INT("collect_top", "10", 0, 1000,
               "Commands reported with the most processor time, and with the most memory. 0 = none."),
    TS_KEY_STR("collect_processes", "",
               "Groups of processes to report: NAME=PATTERN,PATTERN; NAME=... A pattern is a command's name "
               "(15 bytes are kept), with * and ?; with a / or a blank among them the whole command line is "
               "compared too. The first group that fits counts. Empty = none."),
    TS_KEY_INT("collect_cgroups", "200", 0, 100000,
               "Most cgroups (systemd units, containers) reported: those that used most processor time and "
               "memory; the number of the others is proc.cgroup.left_out. 0 = none."),
    TS_KEY_STR("collect_cgroups_exclude", "*session-*.scope,*/run-*,*/user@*/*",
               "Paths of cgroups to leave out, with all cgroups below them (* matches / too)."),
    TS_KEY_BOOL("collect_interrupts_per_cpu", "true",
                "Report interrupts of each core, as tcollector does. false = sums, which on large machines "
                "are far fewer series."),
    TS_KEY_STR("collect_programs_dir", "",
               "Folder of programs that print points, as for tcollector: 0/x runs for ever, 60/y is started "
               "every 60 s. Empty = none."),
    TS_KEY_STR("collect_commands", "",
               "Further programs: interval in seconds and a command for the shell, separated by semicolons: "
               "60 /usr/bin/queue --length; 0 /opt/follow."),
    TS_KEY_INT("collect_programs_scan_s", "15", 1, 3600,
               "Interval at which that folder is checked for new, changed and removed files."),
    TS_KEY_INT("collect_programs_silence_s", "600", 0, 86400 * 30,
               "A program that runs for ever but prints no line for this long is stopped and started again. "
               "0 = never."),
    TS_KEY_INT(
        "collect_programs_retry_max_s", "3600", 1, 86400,
        "Longest pause before a program that failed is started again; it begins with 1 s and doubles."),
    TS_KEY_STR("collect_scrape", "",
               "Pages in Prometheus' text formats to fetch every 15 s: [NAME=]http://HOST[:PORT][/PATH], "
               "separated by semicolons; /metrics if there is no path. NAME is the tag job. Empty = none."),
    TS_KEY_STR("collect_scrape_honor_labels", "",
               "NAMEs of collect_scrape whose labels host and job are kept, separated by commas, with * and "
               "?: for pages that report for others, such as a push gateway. These labels of all other pages "
               "become exported_host and exported_job."),
    TS_KEY_INT("collect_scrape_timeout_ms", "5000", 10, 600000, "Time to fetch one whole page."),
    TS_KEY_BYTES("collect_scrape_bytes", "8M", 1024, GIB,
                 "Most bytes of one page, or of a file of collect_textfile_dir; a larger one is not read."),
    TS_KEY_INT("collect_scrape_samples", "10000", 1, 10000000,
               "Most samples read from one page, or from all files of collect_textfile_dir; further ones are "
               "left out and counted."),
    TS_KEY_STR("collect_nginx_status", "",
               "Pages of nginx's stub_status to fetch every 15 s, in the form of collect_scrape; "
               "/nginx_status if there is no path."),
    TS_KEY_STR("collect_apache_status", "",
               "Pages of Apache's mod_status likewise; /server-status?auto if there is no path."),
    TS_KEY_STR("collect_systemd_units", "*.service,*.timer",
               "Units of systemd whose state is reported one by one, comma separated, * and ? allowed; all "
               "units are counted."),
    TS_KEY_STR("collect_textfile_dir", "",
               "Folder whose files *.prom contain samples in Prometheus' text format, as for node_exporter. "
               "Empty = none."),
    TS_KEY_STR("collect_weblog", "",
               "Web server logs to follow: [FORMAT:]PATH[=DOMAIN], comma separated, * and ? allowed in PATH. "
               "FORMAT and DOMAIN as in the two keys below (custom: = collect_weblog_format)."),
    TS_KEY_STR("collect_weblog_format", "auto",
               "Format of their lines: auto (detected from the first lines of each file: json, "
               "vhost_combined, combined, common, vhost_common, haproxy, cloudfront or iis), one of these, "
               "or a string as in nginx's log_format or Apache's LogFormat; iis with its fields, iis:date "
               "time ..., if no line #Fields names them."),
    TS_KEY_STR("collect_weblog_domain", "auto",
               "Tag domain: auto (virtual host of the line, else name of the file), vhost, file, referrer "
               "(host of the linking page), client (its last labels), or a name."),
    TS_KEY_CHOICE(
        "collect_weblog_bots", "count|drop|tag", "count",
        "How requests of programs (crawlers, monitors, libraries), recognised by words in their user agents, "
        "are handled. count: like others; drop: they are left out, and web.log.lines state=bot counts them; "
        "tag: every request gets the tag bot=yes or bot=no, which makes up to twice as many series."),
    TS_KEY_INT("collect_weblog_bucket_s", "60", 1, 900,
               "Length in seconds of the buckets in which requests are counted; it must divide 900."),
    TS_KEY_INT("collect_weblog_send_s", "10", 1, 3600,
               "A bucket that changed is sent after this time with its current count, and again after each "
               "further change."),
    TS_KEY_INT("collect_weblog_poll_ms", "1000", 10, 60000, "Interval at which the files are checked."),
    TS_KEY_INT("collect_weblog_late_s", "600", 0, 86400,
               "Counts of a bucket are kept for this long after their last change. Later lines count too, in "
               "points some ms after the bucket's."),
    TS_KEY_INT("collect_weblog_rotated_s", "300", 1, 86400,
               "A rotated log is read until nothing has been added for this long."),
    TS_KEY_STR("collect_weblog_olddir", "",
               "Further folders with rotated logs, comma separated: logrotate's olddir. A relative one is "
               "relative to the log's folder."),
    TS_KEY_INT("collect_weblog_keep_days", "30", 0, 36500,
               "Days for which positions in logs are kept: of rotated files after they were last seen, and "
               "of logs that collect_weblog no longer names. 0 = for ever."),
    TS_KEY_INT(
        "collect_weblog_domains", "100", 0, 100000,
        "Most values of the tag domain at a time; requests of further ones count as other (web.log.other)."),
    TS_KEY_INT(
        "collect_weblog_paths", "20", 0, 100000,
        "Most values of the tag path of one domain at a time; requests of further ones count as other."),
    TS_KEY_INT(
        "collect_weblog_name_h", "168", 1, 876000,
        "Hours without a request after which a domain or path may be replaced by a new one if one of the two "
        "limits above is reached; one that never answered with 2xx is replaced at once by one that does."),
    TS_KEY_INT("collect_weblog_path_depth", "1", 0, 16,
               "Number of folders of a path in the tag path: 1 = /a of /a/b/c. 0 = no such tag."),
    TS_KEY_INT("collect_weblog_cells", "50000", 1000, 10000000,
               "Most counts in memory (one for a bucket, domain and path, 250 bytes each); above it old "
               "buckets are closed before collect_weblog_late_s."),
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
