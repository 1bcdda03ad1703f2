/*
 * test_weblog_bots.c - user agents of programs and of browsers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/weblog/weblog_bots.h"

static void test_weblog_bots__programs_are_told_from_browsers(void **state)
{
    static const char *const bots[] = {
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 AppleWebKit/537.36 (compatible; bingbot/2.0)",
        "Mozilla/5.0 (compatible; YandexBot/3.0)",
        "Mozilla/5.0 (compatible; Yahoo! Slurp)",
        "facebookexternalhit/1.1",
        "Mozilla/5.0 AppleWebKit/537.36 (compatible; GPTBot/1.2)",
        "curl/8.5.0",
        "Wget/1.21.4",
        "python-requests/2.32.3",
        "Go-http-client/2.0",
        "check_http/v2.3 (monitoring-plugins 2.3)",
        "Mozilla%2f5.0%20(compatible;%20AhrefsBot/7.0)",
    };
    static const char *const browsers[] = {
        "",
        "-",
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
        "Safari/537.36 Edg/126.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 "
        "Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36",
        "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bots) / sizeof(*bots); i++)
        if (!col_web_is_bot(ts_slice_str(bots[i])))
            fail_msg("no bot: %s", bots[i]);
    for (size_t i = 0; i < sizeof(browsers) / sizeof(*browsers); i++)
        if (col_web_is_bot(ts_slice_str(browsers[i])))
            fail_msg("a bot: %s", browsers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weblog_bots__programs_are_told_from_browsers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
