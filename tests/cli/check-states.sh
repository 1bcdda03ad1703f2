# tsd check: the line and the exit code for each state; times are taken out.
c() {
    tsd check "$@" 2>&1 | sed -E "s/[0-9]+ s old/N s old/; s/after [0-9.e-]+ s/after T s/; s/'time'=[0-9.e-]+s/'time'=Ts/; s/(age[^']*'=)[0-9]+s/\1Ns/g; s/(127\.0\.0\.1):[0-9]+/\1:PORT/; s/tsd [0-9]+\.[0-9]+\.[0-9]+ /tsd VERSION /"
}
start data
now=$(date +%s)
{
    for i in 0 1 2; do echo "web.hits $((now - 100 + i)) $((10 + i)) domain=a.org"; done
    echo "web.hits $((now - 5000)) 40 domain=b.org"
} >points.txt
tsd import --port $port points.txt
p="--port $port"

echo '# the daemon'
c $p
c $p -w 1000 -c 2000
c $p -c 1h:

echo '# a query'
c 1h-ago now sum web.hits domain=a.org $p
c 1h-ago now sum web.hits domain=a.org -w 11 -c 20 $p
c 1h-ago now sum web.hits domain=a.org -w 11 -c 13: $p
c 1h-ago now sum web.hits domain=a.org -w @12:13 $p
c 1h-ago now sum web.hits domain=a.org --of sum -c ~:30 $p
c 1h-ago now sum web.hits domain=a.org --of avg -c 11:11 $p
c 1h-ago now sum web.hits domain=a.org --of count -c 3:3 $p
c 2h-ago now sum web.hits 'domain=*' --of max -w 20 $p
c 2h-ago now sum web.hits 'domain=*' --of min -w 10:20 -c 10:40 $p
c 2d-ago 1d-ago sum web.hits $p
c 2d-ago 1d-ago sum web.hits --empty ok $p

echo '# the age of the last point'
c --age web.hits -w 10m -c 1h $p
c --age web.hits -w 60 $p
c --age web.hits domain=b.org -w 30m -c 1h $p
c --age web.hits --each -w 30m -c 10h $p
c --age web.hits 'domain=a.org|c' -c 1h: $p

echo '# what is wrong'
c --age web.hit $p
c 1h-ago now sum web.hits domian=a.org $p
c 1h-ago now summ web.hits $p
c 1h-ago $p
c 1h-ago now sum web.hits --of mx $p
c 1h-ago now sum web.hits -w 20:10 $p
c 1h-ago now sum web.hits -w 10m $p
c --age web.hits -w tomorrow $p
c --age web.hits domain $p
c --age $p
c --each $p
c --emtpy ok $p
c --empty fine $p
c -t 0 $p
c -w
stop
c $p
c --age web.hits $p
# a server that accepts and never answers
python3 -c '
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(5)
open("port", "w").write(str(s.getsockname()[1]) + "\n"); time.sleep(60)' &
silent=$!
until [ -s port ]; do sleep 0.05; done
c --port "$(cat port)" -t 0.2
kill $silent
# daemons that answer, but are not ready, or refuse everything
cat >fake.py <<'END'
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ready = self.path == "/readyz"
        status = int(sys.argv[1]) if ready or sys.argv[2] == "all" else 200
        body = b"the disk is full: free 2 GB\nputs are refused | wait\n" if ready else b'{"version":"9.9.9"}'
        if ready and sys.argv[2] == "problems":
            body = b"ready\n" + body
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 0), H)
open("port", "w").write(str(s.server_port) + "\n")
s.serve_forever()
END
for answer in "503 ready" "200 ready" "200 problems" "404 ready" "500 all" "403 all"; do
    rm port
    python3 fake.py $answer &
    fake=$!
    until [ -s port ]; do sleep 0.05; done
    c --port "$(cat port)"
    [ "$answer" != "200 problems" ] || c --port "$(cat port)" -c 1h:
    kill $fake
done
