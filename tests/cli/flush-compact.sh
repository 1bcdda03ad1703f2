# Memory to files, files merged; nothing changes what is read.
printf 'm 1793620800 1 a=b\n' >p.txt
start data
tsd import --port $port p.txt
tsd flush --port $port
tsd flush --compact --port $port
tsd export --port $port
tsd flush --port $port --data data
stop
tsd flush --data data
tsd flush --data missing
tsd flush --port 1
