#!/bin/sh
# Ask a real daemon what docs/openapi.yaml allows, by schemathesis: no 5xx, no answer that contradicts the description.
#   tests/clients/schema.sh [EXAMPLES [SEED]]     examples an operation (default 100), seed (default 7)
# Needs the network: schemathesis is installed from the registry into a temporary folder, or taken from $SCHEMATHESIS.
# TSD names the daemon; default build/dev/tsd. Ends with schemathesis' status; 77 if it can't be installed.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
tsd=${TSD:-$root/build/dev/tsd}
work=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT INT TERM

st=${SCHEMATHESIS:-$work/venv/bin/schemathesis}
if [ -z "${SCHEMATHESIS:-}" ]; then
    python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q schemathesis || { echo "schema: schemathesis can't be installed"; exit 77; }
fi

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$tsd" serve --data "$work/data" --port "$port" --workers 2 --rollups true --query-allow-delete true >"$work/log" 2>&1 &
pid=$!
url=http://127.0.0.1:$port
sleep 1
kill -0 "$pid" || { cat "$work/log"; exit 1; }
# points for the examples of the description, so that answers are not empty
python3 - "$url" <<'END'
import json, sys, time, urllib.request
points = [{"metric": "sys.cpu.user", "timestamp": 1500000000 + 10 * i, "value": i + 0.5 * (i % 2), "tags": {"host": "web0%d" % h}}
          for i in range(200) for h in (1, 2)]
for _ in range(600):
    try:
        urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/api/put", json.dumps(points).encode()), timeout=60).close()
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("schema: the daemon does not answer")
END

# What is checked: answers, not how strict requests are read (OpenTSDB's clients send worse). /api/uid/{other} is 501 as in OpenTSDB.
status=0
(cd "$work" && "$st" run "$root/docs/openapi.yaml" --url "$url" --seed "${2:-7}" --max-examples "${1:-100}" \
    --phases examples,coverage,fuzzing --continue-on-failure --no-color --warnings off \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance \
    --exclude-path '/api/uid/{other}' --suppress-health-check all --request-timeout 60) || status=$?
kill -0 "$pid" 2>/dev/null || { tail -n 30 "$work/log"; echo "schema: the daemon ended"; status=1; }
exit $status
