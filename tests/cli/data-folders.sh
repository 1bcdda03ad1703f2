# A folder that is no store, is locked or can't be written: one clear sentence, exit code 1.
mkdir none && echo x >none/file
tsd export --data none
tsd serve --data none
tsd export --data missing
echo x >plain
tsd serve --data plain --port 0
start data
tsd export --data data
tsd import --data data /dev/null
tsd serve --data data --port 0
stop
tsd export --data data
echo "== the environment"
TSD_COLLECT_DIR=/somewhere TSD_COLLECT_SERVER=db:4242 tsd export --data data
TSD_COLLECT_DIRS=/somewhere tsd export --data data
