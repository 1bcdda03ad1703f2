/*
 * ep_threads.c - /api/stats/threads, jvm and region_clients: OpenTSDB's shapes with what is true of
 * this program. There is no virtual machine and no storage server: their lists are empty.
 *
 * Threads    the connection's worker
 * Source     docs/OPENTSDB.md, section 2.14
 */
#include "tsd/protocols/http/ep.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "tsd/net/stats.h"
#include "tsd/daemon/version.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_LINE 512 /* of /proc/self/task/N/stat */

/* R, S, D, T, Z to the states of a Java thread. */
static const char *threads_state(char c)
{
    return c == 'R' ? "RUNNABLE" : c == 'D' ? "BLOCKED" : c == 'Z' || c == 'X' ? "TERMINATED" : "WAITING";
}

static void threads_one(struct ts_json *j, const char *id)
{
    char path[64], line[THREADS_LINE], *close;
    char state = 'S';
    long priority = 0;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", id);
    FILE *f = fopen(path, "re");
    if (!f)
        return; /* ended meanwhile */
    if (!fgets(line, sizeof(line), f))
        line[0] = 0;
    (void)fclose(f);
    /* "17 (tsd-query) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 priority ..." */
    char *open = strchr(line, '(');
    close = strrchr(line, ')');
    if (!open || !close || close < open)
        return;
    if (close[1] && close[2])
        state = close[2];
    char *p = close + 2;
    for (int field = 3; field < 18 && p; field++)
        p = strchr(p + 1, ' ');
    if (p)
        priority = strtol(p, NULL, 10);
    ts_json_obj(j);
    ts_json_member_int(j, "threadID", strtoll(id, NULL, 10));
    ts_json_member_slice(j, "name", (struct ts_slice){open + 1, (size_t)(close - open - 1)});
    ts_json_member_str(j, "state", threads_state(state));
    ts_json_member_bool(j, "interrupted", false);
    ts_json_member_int(j, "priority", priority);
    ts_json_member_arr(j, "stack");
    ts_json_arr_end(j);
    ts_json_obj_end(j);
}

void tsd_ep_threads(struct tsd_req *req, struct ts_json *j)
{
    (void)req;
    ts_json_arr(j);
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            threads_one(j, e->d_name);
    if (dir)
        (void)closedir(dir);
    ts_json_arr_end(j);
}

/* {"init":..,"used":..,"committed":..,"max":..} of memory. */
static void jvm_usage(struct ts_json *j, const char *name, int64_t used)
{
    ts_json_member_obj(j, name);
    ts_json_member_int(j, "init", 0);
    ts_json_member_int(j, "used", used);
    ts_json_member_int(j, "committed", used);
    ts_json_member_int(j, "max", -1); /* no limit of our own */
    ts_json_obj_end(j);
}

void tsd_ep_jvm(struct tsd_req *req, struct ts_json *j)
{
    double load[1] = {-1};
    if (getloadavg(load, 1) != 1)
        load[0] = -1;
    ts_json_obj(j);
    ts_json_member_obj(j, "runtime");
    ts_json_member_int(j, "startTime", req->d->started_ms);
    ts_json_member_int(j, "uptime", ts_clock_ms() - req->d->started_ms);
    ts_json_member_str(j, "vmName", "none: compiled C");
    ts_json_member_str(j, "vmVendor", "tsd");
    ts_json_member_str(j, "vmVersion", TSD_VERSION);
    ts_json_obj_end(j);
    ts_json_member_obj(j, "memory");
    jvm_usage(j, "heapMemoryUsage", (int64_t)tsd_stats_resident_bytes());
    jvm_usage(j, "nonHeapMemoryUsage", 0);
    ts_json_member_int(j, "objectsPendingFinalization", 0);
    ts_json_obj_end(j);
    static const char *const empty[] = {"gc", "pools"};
    for (int i = 0; i < 2; i++) {
        ts_json_member_obj(j, empty[i]);
        ts_json_obj_end(j);
    }
    ts_json_member_obj(j, "os");
    ts_json_member_double(j, "systemLoadAverage", load[0]);
    ts_json_obj_end(j);
    ts_json_obj_end(j);
}

void tsd_ep_region_clients(struct tsd_req *req)
{
    tsd_reply_json(req, 200, TS_SLICE_LIT("[]"));
}
