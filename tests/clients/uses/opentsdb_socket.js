// npm opentsdb-socket: argv = host port. put lines, connection closed after.
'use strict';
const socket = require('opentsdb-socket')();
const [host, port] = process.argv.slice(2);
const points = [1, -3, 0.25, 1e-7].map((v, i) => ['socket.m', { host: 'h' + i }, 1500000000 + i, v]);
socket.host(host).port(Number(port));
socket.on('error', (e) => { console.error(e.message); process.exit(1); });
socket.on('connect', () => {
    const lines = points.map(([m, g, t, v]) => `put ${m} ${t} ${v} host=${g.host}\n`).join('');
    socket.write(lines, () => { socket.end(); console.log(JSON.stringify(points)); });
});
socket.connect();
