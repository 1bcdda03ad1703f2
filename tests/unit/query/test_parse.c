/*
 * test_parse.c - texts of queries: URI, JSON, words; what they mean and what is refused with which words.
 */
#include "query/language/parse.h"

#include "query/aggregators/agg.h"

#include "tests/unit/query/parse_kit.h"

#define NOW_MS 1600000000000ll

static struct qry_spec spec;

/* "a=b&c=d", nothing encoded. */
static int uri(const char *text, bool compat)
{
    static char copy[2000];
    struct qry_param p[20];
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *s = copy, *amp; s && *s; s = amp) {
        amp = strchr(s, '&');
        if (amp)
            *amp++ = 0;
        char *eq = strchr(s, '=');
        p[n].name = (struct ts_slice){s, eq ? (size_t)(eq - s) : strlen(s)};
        p[n++].value = eq ? ts_slice_str(eq + 1) : (struct ts_slice){NULL, 0};
    }
    memset(&err, 0, sizeof err);
    return qry_parse_params(p, n, NOW_MS, compat, &arena, &spec, &err);
}

static int json(const char *text, bool compat)
{
    memset(&err, 0, sizeof err);
    return qry_parse_json(ts_slice_str(text), NOW_MS, compat, &arena, &spec, &err);
}

static void assert_slice(struct ts_slice s, const char *want)
{
    if (!ts_slice_is(s, want))
        fail_msg("'%.*s', not '%s'", (int)s.n, s.p, want);
}

static void test_parse__m_with_everything(void **state)
{
    (void)state;
    assert_int_equal(
        uri("start=1356998400&end=1356999000&m=avg:rate{counter,100,5}:1h-p95-nan:explicit_tags:pre-agg:"
            "sys.cpu{host=web*,dc=lga|sjc}{cpu=not_literal_or(0|1),rack=regexp(a{1,2}:[b,c]=)}&ms&arrays=x"
            "&show_tsuids=false",
            false),
        TS_EINVAL); /* four options */
    assert_memory_equal(err.text, "Invalid parameter m=avg:rate", 28);
    assert_non_null(strstr(err.text, "(too many :-separated parts)"));
    assert_int_equal(
        uri("start=1356998400&end=1356999000&m=avg:rate{counter,100,5}:1h-p95-nan:"
            "sys.cpu{host=web*,dc=lga|sjc}{cpu=not_literal_or(0|1),rack=regexp(a{1,2}:[b,c]=)}&ms&arrays=x"
            "&show_tsuids=false",
            false),
        0);
    assert_int_equal(spec.start_ms, 1356998400000);
    assert_int_equal(spec.end_ms, 1356999000000);
    assert_true(spec.ms && spec.arrays && spec.show_tsuids && !spec.show_query && !spec.by_on);
    assert_int_equal(spec.n_subs, 1);
    struct qry_sub *s = &spec.subs[0];
    assert_string_equal(s->agg->name, "avg");
    assert_slice(s->metric, "sys.cpu");
    assert_true(s->rate.on && s->rate.counter && !s->rate.drop_resets);
    assert_int_equal(s->rate.counter_max, 100);
    assert_int_equal(s->rate.reset_value, 5);
    assert_true(s->downsample.on && !s->downsample.all && !s->downsample.calendar);
    assert_int_equal(s->downsample.interval_ms, TS_HOUR_MS);
    assert_string_equal(s->downsample.fn->name, "p95");
    assert_int_equal(s->downsample.fill, QRY_FILL_NAN);
    assert_int_equal(s->n_filters, 4);
    assert_string_equal(s->filters[0].type->name, "iwildcard");
    assert_true(s->filters[0].shorthand && s->filters[0].group_by);
    assert_string_equal(s->filters[1].type->name, "literal_or");
    assert_int_equal(s->filters[1].n_values, 2);
    assert_string_equal(s->filters[2].type->name, "not_literal_or");
    assert_false(s->filters[2].group_by);
    assert_string_equal(s->filters[3].type->name, "regexp");
    assert_slice(s->filters[3].text, "a{1,2}:[b,c]=");
}

static void test_parse__compat_adds_as_opentsdb(void **state)
{
    (void)state;
    static const struct {
        const char *m;
        bool plain;
    } rows[] = {
        {"sum:1m-sum:x", true},
        {"sum:59m-avg:x", true},
        {"sum:1h-sum:x", false},
        {"sum:rate:1h-sum:x", true},
        {"sum:0all-sum:x", false},
        {"sum:1m-max:x", false},
        {"sum:percentiles[50]:1m-zimsum:x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[100];
        const struct qry_agg *fn[2];
        for (int compat = 0; compat < 2; compat++) {
            snprintf(text, sizeof text, "start=1&m=%s", rows[i].m);
            assert_int_equal(uri(text, compat), 0);
            fn[compat] = spec.subs[0].downsample.fn;
        }
        if ((fn[0] != fn[1]) != rows[i].plain)
            fail_msg("%s: %s", rows[i].m, fn[1]->name);
    }
}

static void test_parse__downsample_forms(void **state)
{
    (void)state;
    struct qry_downsample ds;
    assert_int_equal(qry_parse_downsample(TS_SLICE_LIT("0all-sum"), false, &ds, &err), 0);
    assert_true(ds.all);
    assert_int_equal(qry_parse_downsample(TS_SLICE_LIT("1dc-sum-ZERO"), false, &ds, &err), 0);
    assert_true(ds.calendar && ds.n == 1 && ds.unit == TS_UNIT_D && ds.fill == QRY_FILL_ZERO);
    assert_int_equal(qry_parse_downsample(TS_SLICE_LIT("1n-sum-null"), false, &ds, &err), 0);
    assert_true(!ds.calendar && ds.interval_ms == 30 * TS_DAY_MS && ds.fill == QRY_FILL_NULL);
    assert_int_equal(qry_parse_downsample(TS_SLICE_LIT("250ms-ep99r7-none"), false, &ds, &err), 0);
    assert_int_equal(ds.interval_ms, 250);
    static const struct {
        const char *text, *why;
    } bad[] = {{"1h", "must provide at least interval and function"},
               {"1h-sum-nan-x", "must consist of interval, function, and optional fill policy"},
               {"10q-avg", "Invalid duration: 10q. Write whole numbers above 0 with units"},
               {"0s-avg", "Invalid duration: 0s. Write whole numbers above 0 with units"},
               {"1h-none", "cannot use the NONE aggregator for downsampling"},
               {"1h-bogus", "No such downsampling function: bogus"},
               {"1h-sum-bogus", "Unrecognized fill policy: bogus"},
               {"1h-sum-scalar", "unhandled fill policy"},
               {"999999999999999y-sum", ""}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memset(&err, 0, sizeof err);
        assert_true(qry_parse_downsample(ts_slice_str(bad[i].text), false, &ds, &err) < 0);
        if (!strstr(err.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

static void test_parse__rate_forms(void **state)
{
    (void)state;
    struct qry_rate r;
    assert_int_equal(qry_parse_rate(TS_SLICE_LIT("rate"), &r, &err), 0);
    assert_true(r.on && !r.counter && r.counter_max == INT64_MAX && r.reset_value == 0);
    assert_int_equal(qry_parse_rate(TS_SLICE_LIT("rate{dropcounter}"), &r, &err), 0);
    assert_true(r.counter && r.drop_resets);
    assert_int_equal(qry_parse_rate(TS_SLICE_LIT("rate{counter,,1000}"), &r, &err), 0);
    assert_true(r.counter && r.counter_max == INT64_MAX && r.reset_value == 1000);
    assert_int_equal(qry_parse_rate(TS_SLICE_LIT("rate{gauge}"), &r, &err), 0);
    assert_false(r.counter);
    assert_true(qry_parse_rate(TS_SLICE_LIT("rate{counter,x}"), &r, &err) < 0);
    assert_string_equal(err.text, "Max value of counter was not a number, received 'x'");
    assert_true(qry_parse_rate(TS_SLICE_LIT("rate{counter,1,y}"), &r, &err) < 0);
    assert_string_equal(err.text, "Reset value of counter was not a number, received 'y'");
    assert_true(qry_parse_rate(TS_SLICE_LIT("rate{counter,1,2,3}"), &r, &err) < 0);
    assert_non_null(strstr(err.text, "recieved: 4 parts"));
    assert_true(qry_parse_rate(TS_SLICE_LIT("rate{"), &r, &err) < 0);
}

static void test_parse__uri_errors_have_the_words_of_opentsdb(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"m=sum:x", "Missing parameter <code>start</code>"},
        {"start=1&end=2", "Missing sub queries"},
        {"start=1356998400&m=sum", "Invalid parameter m=sum (not enough :-separated parts)"},
        {"start=1356998400&m=bogus:x", "No such aggregation function: bogus"},
        {"start=1356998400&m=sum:x{a=b", "Missing '}' at the end of: x{a=b"},
        {"start=1356998400&m=sum:x{a}", "When parsing tag 'a': invalid tag: a"},
        {"start=1356998400&m=sum:x{}{a=}", "When parsing filter 'a=': invalid tag: a="},
        {"start=1356998400&m=summ:x", "No such aggregation function: summ; did you mean sum?"},
        {"start=1356998400&m=sum:1h-agv:x", "No such downsampling function: agv; did you mean avg?"},
        {"start=1356998400&m=sum:x{a=regex(b)}",
         "Could not find a tag value filter of the type: regex; did you mean regexp?"},
        {"start=1356998400&m=sum:x{a=literal(b)}",
         "Could not find a tag value filter of the type: literal; did you mean literal_or?"},
        {"start=1356998400&m=sum:x{a=foo(b)}", "Could not find a tag value filter of the type: foo"},
        {"start=abc&end=now&m=sum:x", "Invalid time: abc. Times are 2026/11/01, "},
        {"start=1357002001&end=1357002000&m=sum:x", "The end, 2013-01-01T01:00:00Z, is earlier than the "
                                                    "start, 2013-01-01T01:00:01Z (1357002001): are they "
                                                    "the wrong way round?"},
        {"start=1&m=sum::x", "empty part"},
        {"start=1&m=sum:rat:x", "Unknown option between aggregator and metric: rat; did you mean rate?"},
        {"start=1&m=sum:1h-avg:avg:x", "Unknown option between aggregator and metric: avg"},
        {"start=1&m=sum:", "Missing the metric"},
        {"start=1&m=sum:x{a=wildcard(b)}", "asterisk"},
        {"start=1&m=sum:x{a=regexp([)}", ""},
        {"start=1&m=sum:percentiles[101]:x", "Invalid percentile parameters: 101"},
        {"start=1&m=sum:percentiles[a]:x", "Invalid percentile parameters: percentiles[a]"},
        {"start=1&m=sum:percentiles:x", "Invalid percentile parameters: percentiles"},
        {"start=1&m=sum:x&timezone=Mars/Olympus", "Invalid timezone name: Mars/Olympus"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (uri(bad[i].text, false) >= 0)
            fail_msg("%s is taken", bad[i].text);
        if (!strstr(err.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

static void test_parse__tsuids_come_first_and_repetitions_go(void **state)
{
    (void)state;
    assert_int_equal(
        uri("start=1h-ago&m=sum:a&tsuid=max:000001000001000001,000001000001000002&m=none:b&m=sum:a", false),
        0);
    assert_int_equal(spec.n_subs, 3);
    assert_int_equal(spec.subs[0].n_tsuids, 2);
    assert_slice(spec.subs[0].tsuids[1], "000001000001000002");
    assert_slice(spec.subs[1].metric, "a");
    assert_true(spec.subs[2].none);
    assert_int_equal(spec.end_ms, NOW_MS);
    assert_int_equal(spec.start_ms, NOW_MS - TS_HOUR_MS);
}

static void test_parse__a_range_is_at_least_an_instant(void **state)
{
    (void)state;
    assert_int_equal(uri("start=1357002000&end=1357002000&m=sum:x", false), 0);
    assert_int_equal(spec.start_ms, 1357002000000);
    assert_int_equal(spec.end_ms, 1357002000000);
    assert_true(uri("start=1357002000&end=1357002000&m=sum:x", true) < 0);
    assert_string_equal(err.text,
                        "End time [1357002000000] must be greater than the start time [1357002000000]");
    assert_true(uri("start=now&m=sum:x", false) < 0); /* an end that nobody named */
    assert_non_null(strstr(err.text, "is not later than the start"));
}

static void test_parse__zone_of_a_uri(void **state)
{
    (void)state;
    assert_int_equal(uri("start=2013/01/01&m=sum:a&timezone=America/New_York", false), 0);
    assert_int_equal(spec.start_ms, 1357016400000);
    assert_int_equal(uri("start=2013/01/01&m=sum:a&timezone=America/New_York", true), 0);
    assert_int_equal(spec.start_ms, 1356998400000);
    /* tz is a word of /q; here it counts with totals only */
    assert_int_equal(uri("start=2013/01/01&m=sum:a&tz=America/New_York", false), 0);
    assert_int_equal(spec.start_ms, 1356998400000);
    assert_int_equal(uri("start=2013/01/01&m=sum:a&tz=America/New_York&by=day", false), 0);
    assert_int_equal(spec.start_ms, 1357016400000);
    /* documented by OpenTSDB, which does not know it */
    static const char all[] = "start=1&m=sum:1d-sum:a&m=sum:0all-sum:a&m=sum:a&useCalendar=true";
    assert_int_equal(uri(all, false), 0);
    assert_true(spec.subs[0].downsample.calendar && !spec.subs[1].downsample.calendar &&
                !spec.subs[2].downsample.calendar);
    assert_int_equal(uri(all, true), 0);
    assert_false(spec.subs[0].downsample.calendar);
    assert_int_equal(uri("start=1&m=sum:1d-sum:a&useCalendar=false", false), 0);
    assert_false(spec.subs[0].downsample.calendar);
}

static void test_parse__totals(void **state)
{
    (void)state;
    assert_int_equal(
        uri("start=2026/11/01&end=2026/11/04&m=sum:web.hits&by=domain,hour,host&fill=zero", false), 0);
    assert_true(spec.by_on && spec.by_time.unit == TS_UNIT_H && spec.by_time.n == 1 && spec.fill_zero);
    assert_int_equal(spec.n_by_tags, 2);
    assert_slice(spec.by_tags[0], "domain");
    assert_slice(spec.by_tags[1], "host");
    assert_int_equal(spec.end_ms - spec.start_ms, 4 * TS_DAY_MS - 1); /* the last day counts */
    assert_int_equal(uri("start=2026/11/01&end=2026/11/01&m=sum:web.hits&by=day", false), 0);
    assert_int_equal(spec.end_ms - spec.start_ms, TS_DAY_MS - 1);
    assert_int_equal(uri("start=2026/11/01&end=2026/10/31-23:59:58&m=sum:web.hits&by=day", false), TS_EINVAL);
    assert_int_equal(uri("start=2026/10/25&end=2026/10/25&m=sum:web.hits&by=day&tz=Europe/Berlin", false), 0);
    assert_int_equal(spec.end_ms - spec.start_ms, 25 * TS_HOUR_MS - 1);
    assert_int_equal(uri("start=1h-ago&m=sum:web.hits&by=", false), 0);
    assert_true(spec.by_on && !spec.by_time.n && spec.n_by_tags == 0);
    static const char *const bad[] = {"by=day,day", "by=a,a", "by=day,", "by=day&fill=nan",
                                      "by=day&m=none:b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "start=1h-ago&m=sum:a&%s", bad[i]);
        assert_int_equal(uri(text, false), TS_EINVAL);
    }
    assert_int_equal(uri("start=1h-ago&m=none:a&by=day", false), TS_EINVAL);
    assert_int_equal(uri("start=1h-ago&m=sum:rate:a&by=day", false), TS_EINVAL);
    assert_int_equal(uri("start=1h-ago&m=sum:1h-sum:a&by=day", false), TS_EINVAL);
}

static void test_parse__json_body(void **state)
{
    (void)state;
    assert_int_equal(
        json("{\"start\":1356998400,\"end\":\"1357016400\",\"msResolution\":true,\"showTSUIDs\":true,"
             "\"timezone\":\"Asia/Kolkata\",\"useCalendar\":true,\"delete\":true,\"queries\":["
             "{\"aggregator\":\"sum\",\"metric\":\"a\",\"downsample\":\"1d-avg-zero\",\"rate\":\"true\","
             "\"rateOptions\":{\"counter\":true,\"counterMax\":65535,\"resetValue\":7,\"dropResets\":true},"
             "\"tags\":{\"host\":\"*\"},\"explicitTags\":true,\"nonsense\":1},"
             "{\"aggregator\":\"none\",\"tsuids\":[\"000001000001000001\"]},"
             "{\"tsuids\":[\"000001000001000001\"],\"aggregator\":\"none\"},"
             "{\"aggregator\":\"max\",\"metric\":\"b\",\"tags\":{\"x\":\"y\"},\"filters\":["
             "{\"type\":\"iliteral_or\",\"tagk\":\"host\",\"filter\":\"A|b\",\"group_by\":true}]}]}",
             false),
        0);
    assert_true(spec.ms && spec.show_tsuids && spec.del && !spec.show_query);
    assert_string_equal(ts_tz_name(spec.tz), "Asia/Kolkata");
    assert_int_equal(spec.n_subs, 3);
    struct qry_sub *s = &spec.subs[0];
    assert_true(s->downsample.calendar && s->downsample.fill == QRY_FILL_ZERO);
    assert_true(s->rate.on && s->rate.counter && s->rate.drop_resets);
    assert_int_equal(s->rate.counter_max, 65535);
    assert_int_equal(s->rate.reset_value, 7);
    assert_true(s->explicit_tags && s->n_filters == 1 && s->filters[0].group_by && s->filters[0].any);
    assert_int_equal(spec.subs[1].n_tsuids, 1);
    s = &spec.subs[2];
    assert_int_equal(s->n_filters, 1);
    assert_slice(s->filters[0].tagk, "host");
    assert_slice(s->filters[0].values[0], "a");
    assert_true(s->filters[0].group_by);
    assert_int_equal(
        json("{\"start\":\"1h-ago\",\"end\":\"\",\"ms\":true,\"by\":[\"day\",\"host\"],\"fill\":\"zero\","
             "\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\"}]}",
             false),
        0);
    assert_true(spec.ms && spec.by_time.unit == TS_UNIT_D && spec.n_by_tags == 1 && spec.fill_zero);
    assert_int_equal(
        json("{\"start\":1,\"ms\":true,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\"}]}", true), 0);
    assert_false(spec.ms);
}

#define ONE "{\"start\":1,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\"}]"

static void test_parse__json_choices(void **state)
{
    (void)state;
    assert_int_equal(json(ONE ",\"thin\":7,\"max_series\":\"9\",\"figures\":true}", false), 0);
    assert_true(spec.thin == 7 && spec.max_series == 9 && spec.figures);
    assert_int_equal(json(ONE ",\"thin\":null,\"top\":null,\"figures\":false}", false), 0);
    assert_true(!spec.thin && !spec.top.n && !spec.figures); /* null is as if the member were not there */
}

static void test_parse__json_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "Missing message content"},
        {"{\"start\":", "Unable to parse the given JSON"},
        {"[]", "Unable to parse the given JSON"},
        {"{\"start\":1,\"thin\":9223372036854775808,\"queries\":[]}",
         "Unable to parse the given JSON: JSON line 1 column 37: too big integer"},
        {ONE ",\"thin\":[1]}", "The member thin of the body must be a whole number"},
        {ONE ",\"thin\":1.5}", "The member thin of the body must be a whole number"},
        {ONE ",\"thin\":true}", "The member thin of the body must be a whole number"},
        {ONE ",\"thin\":-1}", "Invalid number of columns: thin=-1"},
        {ONE ",\"max_series\":{}}", "The member max_series of the body must be a whole number"},
        {ONE ",\"top\":[]}", "The member top of the body must be a whole number"},
        {ONE ",\"figures\":1}", "The member figures of the body must be true or false"},
        {ONE ",\"others\":{}}", "The member others of the body must be true or false"},
        {ONE ",\"where\":7}", "The member where of the body must be a text"},
        {"{\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\"}]}", "Missing start time"},
        {"{\"start\":1}", "Missing queries"},
        {"{\"start\":1,\"queries\":[]}", "Missing queries"},
        {"{\"start\":1,\"queries\":[{\"metric\":\"a\"}]}", "Missing the aggregation function"},
        {"{\"start\":1,\"queries\":[{\"aggregator\":\"sum\"}]}",
         "Missing the metric or tsuids, provide at least one"},
        {"{\"start\":1,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\",\"rateOptions\":{\"x\":1}}]}",
         "Unable to parse the given JSON"},
        {"{\"start\":1,\"queries\":[7]}", "Unable to parse the given JSON"},
        {"{\"start\":1,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\",\"filters\":[{\"type\":\"not_"
         "key\","
         "\"tagk\":\"x\",\"filter\":\"\"}]}]}",
         "Could not find a tag value filter of the type: not_key"},
        {"{\"start\":1,\"timezone\":\"Mars/"
         "Olympus\",\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"a\"}]}",
         "Invalid timezone name: Mars/Olympus"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(json(bad[i].text, false) < 0);
        if (!strstr(err.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

static int words(const char *const *w, size_t n, const char *by, const char *tz, const char *fill,
                 struct ts_buf *out)
{
    ts_buf_clear(out);
    memset(&err, 0, sizeof err);
    int rc = qry_parse_words(w, n, by, tz, fill, NOW_MS, &arena, &spec, out, &err);
    ts_buf_char(out, 0);
    return rc;
}

static void test_parse__words_make_a_spec_and_a_uri(void **state)
{
    (void)state;
    struct ts_buf b;
    ts_buf_init(&b, 0);
    static const char *const totals[] = {"2026/11/01", "2026/11/04", "sum", "web.hits", "host=a|b"};
    assert_int_equal(words(totals, 5, "hour,domain", "Europe/Berlin", "zero", &b), 0);
    assert_true(spec.by_time.unit == TS_UNIT_H && spec.fill_zero);
    assert_string_equal(b.p, "start=2026/11/01&end=2026/11/04&m=sum:web.hits%7Bhost%3Da%7Cb%7D&by=hour,domain"
                             "&tz=Europe/Berlin&fill=zero");
    static const char *const long_form[] = {
        "1h-ago", "now",    "+wxh=1x1", "avg", "rate", "counter,,10", "downsample", "60000", "max",
        "a",      "host=*", "max",      "b",   "none", "downsample",  "1h",         "sum",   "c"};
    if (words(long_form, 18, NULL, "Asia/Kolkata", NULL, &b) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(spec.n_subs, 3);
    assert_true(spec.subs[0].rate.counter && spec.subs[0].rate.reset_value == 10);
    assert_int_equal(spec.subs[0].downsample.interval_ms, 60000);
    assert_int_equal(spec.subs[2].downsample.interval_ms, TS_HOUR_MS);
    assert_slice(spec.subs[1].metric, "b");
    assert_string_equal(b.p,
                        "start=1h-ago&end=now&m=avg:rate%7Bcounter,,10%7D:60000ms-max:a%7Bhost%3D*%7D&m=max:b"
                        "&m=none:1h-sum:c&timezone=Asia/Kolkata");
    /* END is looked for only where there are words enough */
    static const char *const short_form[] = {"1500000000", "sum", "m"};
    assert_int_equal(words(short_form, 3, NULL, NULL, NULL, &b), 0);
    assert_int_equal(spec.end_ms, NOW_MS);
    static const char *const bad[][5] = {{"1h-ago", "sum", NULL},
                                         {"1h-ago", "bogus", "m", NULL},
                                         {"1h-ago", "sum", "rate", NULL},
                                         {"1h-ago", "sum", "downsample", "1", NULL},
                                         {"1h-ago", "sum", "m", "x", NULL}};
    for (size_t i = 0; i < 5; i++) {
        size_t n = 0;
        while (bad[i][n])
            n++;
        assert_true(words(bad[i], n, NULL, NULL, NULL, &b) < 0);
    }
    assert_true(words(short_form, 3, NULL, NULL, "zero", &b) < 0);
    ts_buf_release(&b);
}

static void test_parse__filters_of_the_last_metric_hold_for_all(void **state)
{
    (void)state;
    static const struct {
        const char *w[12], *uri; /* uri == NULL: refused */
    } cases[] = {
        {{"1h-ago", "sum", "a", "max", "b", "h=x", "d=y"},
         "&m=sum:a%7Bh%3Dx,d%3Dy%7D&m=max:b%7Bh%3Dx,d%3Dy%7D"},
        {{"1h-ago", "sum", "a", "d=y", "max", "b", "h=x"}, "&m=sum:a%7Bd%3Dy%7D&m=max:b%7Bh%3Dx%7D"},
        {{"1h-ago", "sum", "a", "d=y", "max", "b"}, "&m=sum:a%7Bd%3Dy%7D&m=max:b"},
        {{"1h-ago", "sum", "a{}", "max", "b", "h=x"}, "&m=sum:a%7B%7D&m=max:b%7Bh%3Dx%7D"},
        /* the same with and without: told apart by the filter */
        {{"1h-ago", "sum", "a", "sum", "a", "h=x"}, "&m=sum:a&m=sum:a%7Bh%3Dx%7D"},
        {{"1h-ago", "sum", "b", "sum", "a", "sum", "a", "h=x"}, "&m=sum:b&m=sum:a&m=sum:a%7Bh%3Dx%7D"},
        {{"1h-ago", "sum", "a", "max", "a", "h=x"}, "&m=sum:a%7Bh%3Dx%7D&m=max:a%7Bh%3Dx%7D"},
        {{"1h-ago", "sum", "a", "h=x", "sum", "b", "sum", "c", "h=x"}, NULL},
    };
    struct ts_buf b;
    ts_buf_init(&b, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = 0;
        while (n < 12 && cases[i].w[n])
            n++;
        int rc = words(cases[i].w, n, NULL, NULL, NULL, &b);
        assert_true((rc == 0) == (cases[i].uri != NULL));
        if (cases[i].uri)
            assert_string_equal(b.p + strlen("start=1h-ago"), cases[i].uri);
    }
    assert_string_equal(err.text, "b has no filters, but other metrics before the last one have: write them "
                                  "behind each metric, 'b{}' for one without");
    ts_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse__m_with_everything),
        cmocka_unit_test(test_parse__compat_adds_as_opentsdb),
        cmocka_unit_test(test_parse__downsample_forms),
        cmocka_unit_test(test_parse__rate_forms),
        cmocka_unit_test(test_parse__uri_errors_have_the_words_of_opentsdb),
        cmocka_unit_test(test_parse__tsuids_come_first_and_repetitions_go),
        cmocka_unit_test(test_parse__a_range_is_at_least_an_instant),
        cmocka_unit_test(test_parse__zone_of_a_uri),
        cmocka_unit_test(test_parse__totals),
        cmocka_unit_test(test_parse__json_body),
        cmocka_unit_test(test_parse__json_choices),
        cmocka_unit_test(test_parse__json_errors),
        cmocka_unit_test(test_parse__words_make_a_spec_and_a_uri),
        cmocka_unit_test(test_parse__filters_of_the_last_metric_hold_for_all),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
