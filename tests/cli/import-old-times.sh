# Before 1970 only with --data, unless the daemon is told to take them.
printf 'm -1000 1 a=b\nm 0 2 a=b\nm -0.500 3 a=b\nm 1.5 4 a=b\n' >old.txt
tsd import --data local old.txt
tsd export --data local
start data
tsd import --port $port old.txt
tsd export --port $port
stop
