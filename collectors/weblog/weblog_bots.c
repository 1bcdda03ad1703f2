/*
 * weblog_bots.c - the words by which user agents of bots are recognised.
 *
 * Threads    pure
 * Source     our selection of patterns that match most entries of github.com/monperrus/crawler-user-agents (MIT): crawlers that call
 *            themselves bot, crawler or spider, the large ones that do not, libraries and command line tools
 */
#include "collectors/weblog/weblog_bots.h"

#include <string.h>

#define AGENT_BYTES 512u /* of an agent that are searched */

/* In lower case. */
static const char *const words[] = {
    "bot", /* Googlebot, bingbot, AhrefsBot, GPTBot ... */
    "crawl",
    "spider",
    "slurp",
    "archiver",
    "scrapy",
    "feedfetcher",
    "mediapartners-google",
    "bingpreview",
    "facebookexternalhit",
    "headlesschrome",
    "phantomjs",
    "lighthouse",
    "pingdom",
    "uptime",
    "monitor",
    "nagios",
    "check_http",
    "validator",
    "wget/",
    "curl/",
    "python-requests",
    "python-urllib",
    "aiohttp",
    "go-http-client",
    "libwww-perl",
    "java/",
    "okhttp",
    "apache-httpclient",
    "httpx",
    "zgrab",
    "masscan",
    "nikto",
    "sqlmap",
    "nmap",
};

bool col_web_is_bot(struct ts_slice agent)
{
    char text[AGENT_BYTES];
    size_t n = agent.n < sizeof(text) ? agent.n : sizeof(text);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(agent.p[i] >= 'A' && agent.p[i] <= 'Z' ? agent.p[i] | 0x20 : agent.p[i]);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (n && memmem(text, n, words[i], strlen(words[i])))
            return !(i == 0 && memmem(text, n, "cubot", 5)); /* Cubot is a maker of telephones */
    return false;
}
