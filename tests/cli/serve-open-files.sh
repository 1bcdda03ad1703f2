# Too few open files: one sentence says how many are needed, and with as many the daemon serves.
(ulimit -n 64 && tsd serve --data small --port 1 --workers 2)
(ulimit -n 300 && tsd serve --data small --port 1 --workers 64)
ulimit -n 180
start data --workers 2
echo 'cpu 1793620800 1 host=a' | tsd import - --port "$port"
tsd flush --port "$port"
tsd query 2026/11/01 2026/11/04 sum cpu --port "$port"
stop
