/*
 * main.c - the program: the table of its commands.
 *
 * Read it first: a command is a row here and a file in commands/.
 * Threads    the main thread
 */
#include "base/crash.h"
#include "base/standard.h"
#include "collectors/collect.h"
#include "tsd/commands/cmd.h"
#include "tsd/daemon/hbase.h"
#include "tsd/server.h"

static const struct ts_conf_key *const serve_tables[] = {tsd_conf_keys, sto_conf_keys, tsd_hbase_conf_keys,
                                                         col_conf_keys, NULL};
static const struct ts_conf_key *const collect_tables[] = {col_conf_keys, NULL};
static const struct ts_conf_key *const daemon_tables[] = {tsd_conf_keys, sto_conf_keys, tsd_hbase_conf_keys,
                                                          NULL};

static const struct ts_conf_key *const hbase_tables[] = {tsd_hbase_conf_keys, NULL};
static const struct ts_conf_key *const own_tables[] = {tsd_conf_keys, sto_conf_keys, col_conf_keys, NULL};

static const struct tsd_cmd commands[] = {
    {.name = "serve",
     .also = "tsd daemon server start run",
     .summary = "Run the daemon: accept points and answer queries until it is stopped.",
     .usage = "--data DIR [--port N] [--bind ADDRESS] [--config FILE] [--KEY VALUE ...]\n"
              "--print-config [--config FILE] [--KEY VALUE ...]",
     .opts = tsd_serve_opts,
     .tables = serve_tables,
     .details = "One TCP port serves both protocols, put lines and HTTP. The daemon listens only on loopback "
                "unless --bind says otherwise.\n"
                "A line on standard error says when it is ready. SIGTERM and SIGINT end it; everything "
                "accepted is on disk then.",
     .examples = "tsd serve --data ./data\n"
                 "tsd serve --data /var/lib/tsd --bind 0.0.0.0 --wal-sync always",
     .run = tsd_serve_run},
    {.name = "query",
     .also = "select get ask show graph plot",
     .summary = "Query points or totals and print them as text, CSV or JSON, or draw them.",
     .usage = "START [END] AGG [rate [counter[,MAX[,RESET]]]] [downsample N FUNC] METRIC [tag=value ...] "
              "[options]\n"
              "START [END] 'AGG:[1h-FUNC:]METRIC{tag=value,...}' [options]",
     .opts = tsd_query_opts,
     .details =
         "START, END  2026/11/02, 2026-11-02T13:30:00+01:00, 2026-11-02T13, 2026-11, today, yesterday, "
         "monday, now-90m,\n"
         "            3h-ago, 2days (ago), 1h30m (ago), 1793620800, 1793620800000. If END is a day, month or "
         "year, the range includes all of it. No END: now, but\n"
         "            yesterday, a month and a year (2026) alone mean themselves.\n"
         "AGG, FUNC   sum min max avg count dev median first last p50 p95 p99 p999 ...; docs/QUERY.md lists "
         "all\n"
         "N           milliseconds, or 10s, 5m, 1h, 1d, 1w\n"
         "tag=value   tag=web1, 'tag=a|b' (groups by it), 'tag=*' (groups by it), 'tag=wildcard(web*)', "
         "'tag=regexp(web[0-9]+)' ...\n"
         "\n"
         "--by takes intervals such as day or 10m, weekday, hourofday and tag keys, separated by commas. AGG "
         "is applied\n"
         "once to all points of a cell (an interval, and one value of each tag); nothing is interpolated. "
         "Several AGG METRIC are\n"
         "shown side by side; tag=value behind the last METRIC applies to all if no other one has any.\n"
         "For counts such as hits, use --by or the aggregator zimsum: sum without --by interpolates across "
         "gaps.\n"
         "\n"
         "--explain estimates the cost without running the query: series, files, blocks, bytes, whether "
         "summaries answer, and\n"
         "which limits of the daemon apply.",
     .examples = "tsd query 2026/11/01 2026/11/04 sum web.hits --by hour,domain --format csv\n"
                 "tsd query 2026-11 sum web.hits --by domain --top 5 --others\n"
                 "tsd query today sum web.hits --by 10m --compare 1d\n"
                 "tsd query 1h-ago avg downsample 60000 avg sys.cpu.user host=web1 --plot cpu.png",
     .run = tsd_query_run},
    {.name = "import",
     .also = "put load insert write restore",
     .summary = "Read points from files into a running daemon or a stopped store.",
     .usage = "FILE... [--host HOST] [--port PORT] [options]\n"
              "FILE... --data DIR [--config FILE] [options]\n"
              "FILE... --dry-run [options]",
     .opts = tsd_import_opts,
     .details =
         "Formats: put is \"METRIC TIME VALUE tag=value ...\", with or without \"put\" in front, or a rollup "
         "or histogram as in the line\n"
         "protocol, as tsd export and OpenTSDB's scan --import print them; csv (RFC 4180), tsv and fixed are "
         "tables whose columns a mapping\n"
         "names; influx is InfluxDB's line protocol; openmetrics is the text format of OpenMetrics and "
         "Prometheus; promdump is what\n"
         "promtool tsdb dump prints; jsonl has an object, or an array of them, as in the body of /api/put in "
         "each line. With auto, import says\n"
         "what it guessed.\n"
         "\n"
         "A MAPPING is a list of NAME=TEXT with commas between: time, metric, value, and tags. A TEXT may "
         "hold {N}, column N from 0, {NAME},\n"
         "the column with that name in the first line, or with --fixed {FROM-TO}, characters counted from 1; "
         "{} in a metric is the name of the\n"
         "value's column. time takes a format, {1:%d/%b/%Y}; without one, a date or a number. A value may be "
         "scaled, {5}/10. metric holds for the\n"
         "values behind it, so a line may give several points. Characters that names may not hold become _.\n"
         "\n"
         "Empty lines and lines that begin with # are skipped. Files may be compressed with gzip, zstd, xz "
         "or bzip2; - is standard input. Bad\n"
         "lines are listed with file, line number and reason and do not affect others; if there were any, "
         "the exit code is 1. All imported\n"
         "points are on disk at the end. With --data, times before 1970 are accepted too.",
     .examples = "tsd import points.txt.zst\n"
                 "tsd import weather.csv --csv "
                 "'time={time_hour},metric=weather.{},value={temp},value={humid},station={origin}'\n"
                 "tsd export --data ./old | tsd import --data ./new -",
     .run = tsd_import_run},
    {.name = "replace",
     .also = "correct overwrite",
     .summary = "Replace the points of a range of series by those of files, all at once.",
     .usage = "FILE... --series METRIC{FILTERS} --from TIME --to TIME [--host HOST] [--port PORT] [options]",
     .opts = tsd_replace_opts,
     .details =
         "For values that are computed again. The points that the series have from --from to --to, "
         "both inclusive, are deleted, and those of\n"
         "the files are there instead. Queries see the old points or the new ones, never both and "
         "never none, also after a crash. If a line is\n"
         "refused, or a point lies outside of what is replaced, nothing changes; nor if there are no points "
         "at all, as after a\n"
         "computation that failed, unless --empty says that the range is to be deleted. Rollups, histograms "
         "and annotations stay as they are.\n"
         "\n"
         "Files are read, sorted and handed over as by tsd import --bulk, on the daemon's machine; "
         "from elsewhere, send the points by PUT\n"
         "/api/series. The daemon needs query_allow_delete = true. With remote = hbase the rows in "
         "HBase change one after the other afterwards.\n"
         "Formats and mappings are described by tsd import --help.",
     .examples = "tsd replace --series 'web.hits{domain=a.example}' --from 2026/11/01 --to '2026/11/01 "
                 "23:59:59' recomputed.txt",
     .run = tsd_replace_run},
    {.name = "export",
     .also = "dump backup",
     .summary = "Print points as lines that tsd import restores bit for bit.",
     .usage = "[METRIC [tag=value ...]] [--from TIME] [--to TIME] [--host HOST] [--port PORT]\n"
              "[METRIC [tag=value ...]] [--from TIME] [--to TIME] --data DIR",
     .opts = tsd_export_opts,
     .details = "Without METRIC all metrics are exported; METRIC may have stars: 'web.*'. tag=* and tag=a|b "
                "select series too. TIME is as in\n"
                "tsd query. Histograms and rollups follow the points: \"histogram METRIC TIME "
                "u=N:o=N:LOWER,UPPER=N tag=value\", \"rollup 1h-sum "
                "METRIC TIME VALUE tag=value\".",
     .examples = "tsd export web.hits domain=example.org > hits.txt\n"
                 "tsd export --data ./data --from 2026/11/01 | zstd > november.zst",
     .run = tsd_export_run},
    {.name = "scan",
     .summary = "Print stored rows as OpenTSDB's scan does, or as lines of import; delete them.",
     .usage = "START [END] AGG METRIC [tag=value ...] [AGG METRIC ...] [--import | --delete] [options]\n"
              "START [END] AGG METRIC ... --hbase [--import] [--config FILE] [--gateways LIST]",
     .opts = tsd_scan_opts,
     .details = "The words are those of tsd query; AGG is required but ignored. A row is an hour of a "
                "series: its key as bytes, metric,\n"
                "time, tags; then a line for each point from START to END: qualifier, value, offset, l "
                "(integer) or f, time, date,\n"
                "separated by tabs. Rows are printed series by series. --delete does not ask for "
                "confirmation: when all is printed, this range of these\n"
                "series is deleted. Rollups are not shown: use tsd export; annotations and histograms have "
                "families of their own.\n"
                "--hbase prints what queries would read from OpenTSDB's tables, in the same forms; tsd fsck "
                "--hbase names cells that cannot be read.",
     .examples = "tsd scan 2026/11/01 2026/11/02 sum web.hits host=web1\n"
                 "tsd scan --delete 2026/11/01 2026/11/02 sum web.hits > deleted.txt",
     .run = tsd_scan_cmd_run},
    {.name = "delete",
     .also = "rm remove drop purge",
     .summary = "Delete the points, rollups or histograms of a query's series between two times.",
     .usage = "START [END] AGG METRIC [tag=value ...] [AGG METRIC ...] [--dry-run] [--kinds KINDS] [options]",
     .opts = tsd_delete_opts,
     .details = "The words are those of tsd query; AGG is required but ignored. START and END are both "
                "included; no END: now, but if START is a\n"
                "day, month or year, an END is required, and the range includes all of it. There is no "
                "confirmation: use --dry-run first.\n"
                "A daemon deletes only with query_allow_delete = true; with --data no permission is needed.",
     .examples = "tsd delete 2026/11/01 2026/11/02 sum web.hits host=web1 --dry-run\n"
                 "tsd delete 2026/11/01-13:00 2026/11/01-13:59:59 sum web.hits --kinds all",
     .run = tsd_delete_cmd_run},
    {.name = "uid",
     .also = "ids",
     .summary =
         "Look up, search, assign, rename, delete and check the ids of names; free text fields of names.",
     .usage =
         "[KIND] NAME\n"
         "[KIND] NUMBER\n"
         "grep [KIND] EXPRESSION [-i]\n"
         "assign KIND NAME...\n"
         "rename KIND OLD NEW\n"
         "delete KIND NAME...\n"
         "fsck [fix]\n"
         "set KIND NAME FIELD TEXT\n"
         "get KIND NAME [FIELD]\n"
         "find [KIND] QUERY...\n"
         "treesync [ID]\n"
         "treepurge ID [definition]\n"
         "metasync | metapurge --hbase\n"
         "grep|assign|rename|delete|fsck|treesync|treepurge ... --hbase [--config FILE] [--gateways LIST]",
     .opts = tsd_uid_opts,
     .details =
         "KIND is metrics, tagk or tagv; without it all kinds are searched. An id is printed as OpenTSDB "
         "prints it: the bytes\n"
         "as signed numbers. assign also prints the id of a name that exists already. The id of a deleted "
         "name is not reused, and\n"
         "points written with it stay: tsd uid grep --deleted shows such names, rename brings them back.\n"
         "\n"
         "FIELD is any name; displayName, description and notes are those of OpenTSDB. An empty TEXT removes "
         "a field. A\n"
         "QUERY consists of words that must all match: web, place:berlin, place:b*n, name=web01, "
         "name:/^web/i.\n"
         "\n"
         "Branches of trees (/api/tree) are computed from their rules at each request, so treesync has "
         "nothing to do without --hbase.\n"
         "treepurge ID definition deletes a tree with its rules.\n"
         "\n"
         "With --hbase the names are those of OpenTSDB's table in HBase (remote = hbase), other writers may "
         "use it meanwhile, and a\n"
         "daemon follows within ten minutes. delete removes a name, its id and its metadata, never its "
         "points. fsck accepts\n"
         "delete_unknown too, as in OpenTSDB; what it finds and repairs is part of tsd fsck --hbase. "
         "metasync makes the metadata\n"
         "that OpenTSDB's searches need (UIDMeta, TSMeta, counters) for all series that have points, and "
         "metapurge deletes all of\n"
         "it, also texts of users. treesync stores branches and leaves for OpenTSDB: it applies the rules of "
         "all enabled trees,\n"
         "or of one, to all series that have metadata. treepurge deletes what is stored of a tree.",
     .examples = "tsd uid metrics web.hits\n"
                 "tsd uid rename tagv web01 web1 --data ./data\n"
                 "tsd uid set tagv EDDF place 'Frankfurt am Main' && tsd uid find place:frankfurt",
     .run = tsd_uid_run},
    {.name = "metric",
     .summary = "Show or set the kind and the unit of a metric.",
     .usage = "show METRIC\n"
              "set METRIC kind=gauge|count|counter [unit=UNIT] [FIELD=TEXT ...]",
     .opts = tsd_mkmetric_opts,
     .details =
         "count    each point is a number of new events, such as hits: sum does not interpolate (as zimsum)\n"
         "counter  a value that only grows until it is reset: rate leaves out resets (as rate{dropcounter})\n"
         "gauge    a state at a time, such as a temperature: the default\n"
         "\n"
         "web.hits, web.bytes, web.time.count, web.time.sum and web.time.requests are counts unless declared "
         "otherwise. Queries with --by never\n"
         "interpolate; a daemon with compat = opentsdb ignores kinds. The fields are free text fields of the "
         "name (tsd uid set, /api/uid/uidmeta).",
     .examples = "tsd metric set shop.orders kind=count unit=orders\n"
                 "tsd metric show shop.orders",
     .run = tsd_metric_run},
    {.name = "retention",
     .also = "retain expire ttl",
     .summary = "List or change how long points are kept, by metric and tags.",
     .usage = "[list]\n"
              "add METRIC [TAG=VALUE ...] points=DURATION [hours=DURATION] [days=DURATION] [--at N]\n"
              "remove METRIC [TAG=VALUE ...] points=DURATION [hours=DURATION] [days=DURATION]\n"
              "set RULE...\n"
              "max-bytes [SIZE|none|default]",
     .opts = tsd_retention_opts,
     .details =
         "The first rule that matches a series applies: those that were set with this command, then those of "
         "the key retention_rules, then retention_days. A * in a metric or value is any number of "
         "characters. Durations are 1h and longer, as 36h, 30d, 2y, or forever.\n"
         "\n"
         "hours keeps a summary of each hour for longer than its points: whole hours answer counts, sums, "
         "averages, "
         "smallest, largest, first and last values as before then, and nothing else. days keeps a summary of "
         "each day (of the key timezone) for longer than those of its hours: whole days answer the same.\n"
         "\n"
         "A change takes effect at once: expired points are in no answer and are refused when they are sent. "
         "What expired more than an hour ago is removed for good within a minute or two, also by a rule that "
         "is new, and does not come back with other rules: look at a change with --dry-run first.\n"
         "\n"
         "set replaces all rules that were set; each RULE is one word in quotes.\n"
         "\n"
         "max-bytes limits the bytes of the store on the disk, as 100G or 2T: when it has more, the oldest "
         "points of all series are removed, whatever rules say. none removes the limit, default leaves it to "
         "the key max_bytes. Nothing is removed in the first 10 minutes (max_bytes_grace_s). Without a size "
         "it says what the limit does.",
     .examples = "tsd retention add 'cpu.*' host='web*' points=30d --dry-run\n"
                 "tsd retention add '*' env=test points=7d\n"
                 "tsd retention add 'web.*' points=30d hours=2y days=forever\n"
                 "tsd retention --explain\n"
                 "tsd retention max-bytes 100G --dry-run",
     .run = tsd_retention_run},
    {.name = "total",
     .also = "totals aggregate preaggregate materialize",
     .summary = "List or change the totals that are kept beside the points.",
     .usage = "[list]\n"
              "add METRIC --over KEY,...\n"
              "remove METRIC --over KEY,...",
     .opts = tsd_total_opts,
     .details =
         "A kept total has, for each hour, the number of points, their sum, and the smallest and largest "
         "value of all series of a metric that differ in the given tags only. Queries with --by that neither "
         "name nor filter one of these tags are answered by it: sum, count, min, max and avg by hour, day, "
         "week, month or other tags, in every zone of whole hours, in milliseconds over years.\n"
         "\n"
         "Totals are made in the background for each file four hours after its last point, so older points "
         "in a file with newer ones wait with them; and they are exact or not used: where points have come "
         "or "
         "were deleted since, the points themselves are read until files "
         "are merged again.",
     .examples = "tsd total add web.hits --over domain\n"
                 "tsd query 1y-ago sum web.hits --by day\n"
                 "tsd total list",
     .run = tsd_total_run},
    {.name = "versions",
     .also = "history revisions asof timetravel",
     .summary = "List or change the metrics that keep the last values written to each time.",
     .usage = "[list]\n"
              "set METRIC N\n"
              "remove METRIC",
     .opts = tsd_versions_opts,
     .details =
         "From the moment at which it is set, a metric keeps the last N values (1 to 31) that are written to "
         "each time, with the times of writing, for figures that are computed or corrected again. tsd query "
         "--as-of TIME then answers as it did at that time. Deletes are remembered too. Queries without "
         "--as-of see the newest values, as always, and other metrics cost nothing.\n"
         "\n"
         "What cannot be known, because a point was written more than N times since, is an error and never "
         "left out. Each version takes about as much room as two points; versions expire as their points do. "
         "With remove the versions are not found any more. Increments, rollups and histograms have none.",
     .examples = "tsd versions set stats.users 5\n"
                 "tsd query 2026/11/01 2026/12/01 sum stats.users --as-of 2026/12/05-12:00\n"
                 "tsd versions",
     .run = tsd_versions_run},
    {.name = "mkmetric",
     .summary = "Create metrics: tsd uid assign metrics.",
     .usage = "NAME...",
     .opts = tsd_mkmetric_opts,
     .examples = "tsd mkmetric web.hits web.bytes\n"
                 "tsd mkmetric web.hits --data ./data",
     .run = tsd_mkmetric_run},
    {.name = "last",
     .also = "latest newest tail",
     .summary = "Print the newest points of series, newest first.",
     .usage = "METRIC [tag=value ...] [-n N] [--at TIME]",
     .opts = tsd_last_opts,
     .details = "A series is selected if it has these tags, whatever others it has; a value may be * or a|b. "
                "Lines are those of tsd query.",
     .examples = "tsd last air.temp station=EDDF -n 10\n"
                 "tsd last air.temp network=dwd --at 2026/11/02-06:00:00",
     .run = tsd_last_run},
    {.name = "search",
     .summary = "Find series by their tags, or series, names and annotations by their metadata.",
     .usage = "lookup [METRIC] [tag=value | tag= | =value ...]\n"
              "tsmeta|tsuids|uidmeta|annotation QUERY...",
     .opts = tsd_search_opts,
     .details =
         "lookup prints \"TSUID METRIC tag=value ...\". * is any metric, key or value; the same key given "
         "twice matches either value. A QUERY consists of\n"
         "words that must all match, as in tsd uid find; tags of a series are fields named by their keys.",
     .examples = "tsd search lookup web.hits domain=*\n"
                 "tsd search tsmeta station:edd* units=K",
     .run = tsd_search_run},
    {.name = "annotate",
     .summary = "Annotate a time, on series or globally; list and delete annotations.",
     .usage = "TIME DESCRIPTION [METRIC tag=value ...] [--end TIME] [--notes TEXT] [--field NAME=TEXT]\n"
              "list START END [METRIC tag=value ...]\n"
              "delete START END [METRIC tag=value ...]",
     .opts = tsd_annotate_opts,
     .details = "TIME is as in tsd query; dates are of the daemon's key timezone. With METRIC the annotation "
                "is on every series that has these tags; without, it is global. An annotation replaces\n"
                "an earlier one of the same time.",
     .examples = "tsd annotate now 'new release' web.hits domain=example.org\n"
                 "tsd annotate list 2026/11/01 now",
     .run = tsd_annotate_run},
    {.name = "flush",
     .also = "sync",
     .summary = "Write points from memory to files; with --compact also merge files.",
     .usage = "[--compact] [--host HOST] [--port PORT]\n"
              "[--compact] --data DIR",
     .opts = tsd_flush_opts,
     .details = "This is never necessary, since points are safe before. It makes backups of the folder "
                "smaller and starts faster.",
     .examples = "tsd flush\n"
                 "tsd flush --compact --data ./data",
     .run = tsd_flush_run},
    {.name = "compact",
     .also = "compress recompress",
     .summary = "Compress files of a range of time harder.",
     .usage = "[--from TIME] [--to TIME] [--level 4..19] [--host HOST] [--port PORT]\n"
              "[--from TIME] [--to TIME] [--level 4..19] --data DIR",
     .opts = tsd_compact_opts,
     .details = tsd_compact_details,
     .examples = "tsd compact --to 30d-ago --level 9\n"
                 "tsd compact --from 2026-01 --to 2026-06 --level 19 --data ./data",
     .run = tsd_compact_run},
    {.name = "rebalance",
     .also = "shards reshard",
     .summary = "Change the number of shards, or print it.",
     .usage = "[--shards N] [--no-wait] [--host HOST] [--port PORT]\n"
              "[--shards N] --data DIR",
     .opts = tsd_rebalance_opts,
     .details = tsd_rebalance_details,
     .examples = "tsd rebalance\n"
                 "tsd rebalance --shards 64",
     .run = tsd_rebalance_run},
    {.name = "copy",
     .also = "migrate",
     .summary = "Copy points, rollups, histograms and annotations between OpenTSDB's tables in HBase and a "
                "data folder, and compare both.",
     .usage =
         "--from hbase --to DIR [--metric NAME]... [--start TIME] [--end TIME] [--config FILE] [options]\n"
         "--from DIR --to hbase [--metric NAME]... [--start TIME] [--end TIME] [--config FILE] [options]\n"
         "--from WHERE --to WHERE --verify|--dry-run [options]",
     .opts = tsd_copy_opts,
     .tables = hbase_tables,
     .other_tables = own_tables,
     .details = "No daemon may use the folder. A point of the source replaces one of the same series and "
                "time in the destination; other points\n"
                "of the destination stay. A copy that was interrupted goes on where it was when the same "
                "command is given again: the file DIR.copy says\n"
                "what is done, and is removed at the end.\n"
                "Afterwards both sides are read again and compared: for each metric of the source and each "
                "day (UTC) a line with the metric, the\n"
                "day, the number of points, a checksum over the names of the series, times and values, and "
                "\"same\" or \"differs\", separated by tabs.\n"
                "Histograms have lines of their own, which say \"(histograms)\" behind the metric and have "
                "the number of histograms.\n"
                "Annotations of these series are copied and compared as well, and without --metric global "
                "ones, too.\n"
                "Rollups are copied if rollups and rollups_config name their tables. Metadata of names and "
                "series, and trees are not copied;\n"
                "standard error has the numbers of what was left out. Nobody else should write these series "
                "meanwhile.",
     .exits = "0 everything was copied and is the same on both sides; 1 it failed, something differs or was "
              "not copied; 2 wrong usage",
     .examples =
         "tsd copy --from hbase --to ./data --opentsdb-config /etc/opentsdb/opentsdb.conf\n"
         "tsd copy --from ./data --to hbase --gateways hbase1:9090 --metric 'sys.*' --start 2026/01/01",
     .run = tsd_copy_run},
    {.name = "hbase",
     .summary =
         "HBase behind the daemon: create OpenTSDB's tables, show gateways, tables and counters; ship again.",
     .usage = "create-tables [--split salt|metric|KEYS] [--compression CODEC] [--ttl SECONDS] [--dry-run] "
              "[--config FILE] [options]\n"
              "status [--config FILE] [--host HOST] [--port PORT] [options]\n"
              "reship --from TIME --to TIME [--host HOST] [--port PORT]",
     .opts = tsd_hbase_opts,
     .tables = hbase_tables,
     .other_tables = own_tables,
     .details = "create-tables creates those of the four tables that do not exist. A table that exists is "
                "never changed; what differs is printed.\n"
                "status prints which gateways answer, the tables and the servers of their regions, and "
                "counters of the daemon, if one answers. It fails\n"
                "if no gateway answers or a table is missing. --gateways, --salt-width and --salt-buckets "
                "stand for the keys of the daemon.",
     .examples =
         "tsd hbase create-tables --gateways hbase1:9090 --salt-width 1 --salt-buckets 20 --split salt\n"
         "tsd hbase status --config /etc/tsd.conf",
     .run = tsd_hbase_cmd_run},
    {.name = "metrics",
     .also = "list ls names",
     .summary = "List metrics: their series, points, size, first and last point, kind and unit.",
     .usage = "[PATTERN] [--sort ORDER] [--limit N] [--format text|csv|json]",
     .opts = tsd_metrics_opts,
     .details =
         "PATTERN is a part of the name, or a pattern for the whole name: * stands for any text, ? "
         "for one character.\n"
         "Without PATTERN, what the daemon measures about itself (tsd.*) is left out.\n"
         "A daemon that does not keep these figures lists names alone.\n"
         "~ marks estimates of points, bytes and times, which may be far off: of metrics with more "
         "series or points than the\n"
         "daemon's metrics_max_series and metrics_max_points. CSV and JSON have \"estimated\" instead.",
     .examples = "tsd metrics 'web.*' --sort bytes\n"
                 "tsd metrics cpu --format csv",
     .run = tsd_metrics_run},
    {.name = "status",
     .also = "stats info",
     .summary = "Print what a daemon says about itself: health, rates, what is stored, memory, queries.",
     .usage = "[--format text|json] [--host HOST] [--port PORT]",
     .opts = tsd_status_opts,
     .details = "What the daemon cannot know is left out. tsd check judges it for a monitoring system.",
     .examples = "tsd status\n"
                 "tsd status --format json --host tsd.example.org",
     .run = tsd_status_run},
    {.name = "top",
     .also = "live watch monitor",
     .summary =
         "Show live what a daemon does: rates in and out, requests by protocol, busiest metrics, queries.",
     .usage = "[--interval SECONDS] [--lines N] [--host HOST] [--port PORT]",
     .opts = tsd_top_opts,
     .details = "On a terminal the view is refreshed until q, Escape or Ctrl-C; in a pipe one view is "
                "printed. Rates are those of the time between two views.",
     .examples = "tsd top\n"
                 "tsd top --interval 10 --host tsd.example.org",
     .run = tsd_top_run},
    {.name = "check",
     .also = "nagios icinga health",
     .summary = "Judge a daemon, the values of a query or the age of a metric, as a monitoring plug-in.",
     .usage = "[-w RANGE] [-c RANGE] [options]\n"
              "START [END] AGG METRIC [tag=value ...] [-w RANGE] [-c RANGE] [--of VALUE] [options]\n"
              "--age METRIC [tag=value ...] [-w RANGE] [-c RANGE] [--each] [options]",
     .opts = tsd_check_opts,
     .details =
         "Without words it judges the daemon: whether it answers and is ready; the ranges then apply to the "
         "seconds it takes.\n"
         "The words of a query are those of tsd query. Each series of the answer is judged, and the worst "
         "state counts.\n"
         "\n"
         "It prints one line on standard output: the state, a sentence about the worst series, and after | "
         "performance data of at most 50 series\n"
         "('LABEL'=VALUE;WARNING;CRITICAL). No connection, no answer in time and a daemon that is not ready "
         "are CRITICAL; wrong words, unknown\n"
         "names and a query that is refused are UNKNOWN. tsd fsck checks the files of a stopped store.",
     .exits = "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN",
     .examples = "tsd check --age web.hits domain=example.org -w 10m -c 1h\n"
                 "tsd check 5m-ago avg sys.cpu.user 'host=*' -w 80 -c 95 --of avg\n"
                 "tsd check -t 5 -w 1 --host tsd.example.org",
     .run = tsd_check_run,
     .refuse = tsd_check_refuse},
    {.name = "fsck",
     .also = "repair verify",
     .summary = "Check a whole stopped store, or OpenTSDB's tables in HBase, and repair them.",
     .usage = "--data DIR [--repair] [--format text|json] [--quiet]\n"
              "--hbase [--config FILE] [--fix|--fix-all] [--metric NAME] [--from TIME] [--to TIME] "
              "[--verbose] [options]",
     .opts = tsd_fsck_opts,
     .details = tsd_fsck_details,
     .exits = "0 clean, 1 repaired, 4 damage left, 8 it could not be done, 2 wrong usage",
     .examples = "tsd fsck --data ./data\n"
                 "tsd fsck --data ./data --repair\n"
                 "tsd fsck --hbase --config /etc/tsd.conf --fix --duplicates newest",
     .run = tsd_fsck_run},
    {.name = "collect",
     .also = "weblog weblogs follow agent tcollector",
     .summary = "Measure this host and send the points to a daemon.",
     .usage =
         "[--server HOST:PORT[,HOST:PORT]] [--only NAMES] [--skip NAMES] [--config FILE] [--KEY VALUE ...]\n"
         "--once [--format text]\n"
         "--list [--format csv]\n"
         "weblog-import FILE... [--server HOST:PORT] [--format text] [--max-errors N] [--KEY VALUE ...]\n"
         "weblog-try FILE... [--KEY VALUE ...]",
     .opts = tsd_collect_opts,
     .tables = collect_tables,
     .other_tables = daemon_tables,
     .details =
         "Points wait in a folder until the daemon has them on disk, so nothing is lost while it is down.\n"
         "--format text shows what would be sent. Names, tags and units: --list and docs/COLLECTORS.md.\n"
         "weblog-import reads finished logs of web servers (plain or compressed as for import; - is standard "
         "input) with the keys\n"
         "collect_weblog_format, collect_weblog_domain and the other collect_weblog_ keys. Importing a file "
         "again changes nothing; files that\n"
         "collect_weblog follows, or has followed (as recorded in collect_dir), are left out.\n"
         "weblog-try sends nothing: it shows the format of a log, the fields of its first lines or what is "
         "wrong with them,\n"
         "its domains, and the points that the lines make.",
     .examples = "tsd collect --server tsd.example.org:4242\n"
                 "tsd collect --once --format text --only cpu,load",
     .run = tsd_collect_run},
    {.name = "completion",
     .also = "complete completions",
     .summary =
         "Print the script that completes words of tsd in a shell, names of metrics and tags included.",
     .usage = "bash|zsh|fish\n"
              "words -- WORD...",
     .details = "The script runs tsd completion words, which prints what the last WORD may become, a "
                "candidate a line. Names come from the daemon (--host and\n"
                "--port among the words, TSD_PORT); without one, or if it does not answer within 0.3 s, "
                "there are none.",
     .examples = "source <(tsd completion bash)\n"
                 "tsd completion fish > ~/.config/fish/completions/tsd.fish",
     .run = tsd_completion_run},
    {.name = "version",
     .summary = "Print the version of this program.",
     .usage = "[--build]",
     .opts = tsd_version_opts,
     .examples = "tsd version\n"
                 "tsd --version\n"
                 "tsd version --build",
     .run = tsd_version_run},
    {.name = "help",
     .also = "man usage",
     .summary = "Print the help page of a command, or the list of all commands.",
     .usage = "[COMMAND] [--man]",
     .opts = tsd_help_opts,
     .examples = "tsd help\n"
                 "tsd help query",
     .run = tsd_help_run},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    ts_standard_fill();
    ts_crash_install("tsd", TSD_VERSION);
    return tsd_cmd_main(commands, argc, argv);
}
