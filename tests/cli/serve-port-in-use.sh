# A port that another program listens on is named, with what to do.
python3 - <<'END' &
import os, socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
with open("port.new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename("port.new", "port")
time.sleep(60)
END
holder=$!
while [ ! -e port ]; do sleep 0.05; done
port=$(cat port)
tsd serve --data d --port "$port" 2>&1 | grep '^tsd:' | sed "s/port $port/port N/"
kill "$holder"
