// npm opentsdb-client with opentsdb-mquery: argv = host port. A reader: finds the points that this script puts first; braces as they are.
'use strict';
const http = require('http');
const client = require('opentsdb-client')();
const query = require('opentsdb-mquery')();
const [host, port] = process.argv.slice(2);
const points = [1, -3, 0.25, 1e-7].map((v, i) => ['client.m', { host: 'h' + i % 2 }, 1500000000 + 60 * i, v]);

function fail(what, seen) {
    console.error(what + ': ' + JSON.stringify(seen));
    process.exit(1);
}

function ask(method) {
    return new Promise((done) => client[method]((error, data) => error ? fail(method, error) : done(data)));
}

async function read() {
    query.aggregator('sum').downsample('1m-avg').metric('client.m').tags('host', '*');
    client.host(host).port(Number(port)).ms(true).arrays(true).tsuids(true).annotations('all');
    client.start(1500000000000).end(1500000600000).queries(query);
    const seen = {};
    for (const row of await ask('get'))
        for (const [t, v] of row.dps)
            seen[row.tags.host + ' ' + t] = v;
    for (const [, g, t, v] of points) // whole minutes, as the buckets
        if (seen[g.host + ' ' + t * 1000] !== v)
            fail('get', seen);
    if (!(await ask('aggregators')).includes('sum') || !(await ask('metrics')).includes('client.m'))
        fail('aggregators or metrics', null);
    if (!(await ask('version')).version || !(await ask('config')) || !(await ask('dropcaches')))
        fail('version, config or dropcaches', null);
    console.log(JSON.stringify(points));
}

const request = http.request({ host, port, method: 'POST', path: '/api/put' }, (r) => {
    r.resume();
    r.on('end', () => r.statusCode === 204 ? read() : fail('put', r.statusCode));
});
request.end(JSON.stringify(points.map(([m, g, t, v]) => ({ metric: m, timestamp: t, value: v, tags: g }))));
