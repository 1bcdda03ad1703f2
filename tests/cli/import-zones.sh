# --tz of import: clock readings that a zone leaves out are refused, and put lines without a zone have it too.
printf 't,v\n2026-03-29 01:59:59,1\n2026-03-29 02:30:00,2\n2026-03-29 03:00:00,3\n2026-10-25 02:30:00,4\n' >table.csv
tsd import --dry-run table.csv --csv 'time={t:%F %T},metric=m,value={v}' --tag a=b --tz Europe/Berlin
tsd import --dry-run table.csv --csv 'time={t},metric=m,value={v}' --tag a=b --tz Europe/Berlin
tsd import --dry-run table.csv --csv 'time={t:%F %T},metric=m,value={v}' --tag a=b
# midnight is left out, the day is not
printf '2018-11-04,1\n' >day.csv
tsd import --dry-run day.csv --csv 'time={0:%F},metric=m,value={1}' --tag a=b --tz America/Sao_Paulo
echo "== put lines"
{
    echo "put m 2026-03-30T12:00:00 1 a=b"
    echo "m 2026-03-30T12:00:00.250 2 a=b"
    echo "m 2026-03-30T12:00:01Z 3 a=b"
    echo "m 2026-03-30T12:00:02+05:30 4 a=b"
    echo "m 1774900000 5 a=b"
    echo "m 2026-03-29T02:30:00 6 a=b"
    echo "rollup 1h-sum m 2026-03-30T12:00:00 7 a=b"
    echo "histogram m 2026-03-30T12:00:00 0,1=5 a=b"
} >lines.txt
tsd import --dry-run lines.txt --tz Europe/Berlin
tsd import --dry-run lines.txt
tsd import --data d lines.txt --tz Europe/Berlin
tsd export --data d
echo "== put lines, in the zone of the daemon"
printf 'timezone = Europe/Berlin\n' >tsd.conf
line() { echo "$1 2026-03-30T12:00:00 1 a=b" >"$1.txt"; }
line lives
line bulk
line folder
line bulkfolder
printf '2026-03-30 12:00:00,1\n' >utc.csv
start z --timezone Europe/Berlin
tsd import lives.txt --port "$port"
tsd import --bulk bulk.txt --port "$port"
tsd import --bulk utc.csv --csv 'time={0},metric=utc,value={1}' --tag a=b --port "$port"
stop
tsd import folder.txt --data z --config tsd.conf
tsd import --bulk bulkfolder.txt --data z --config tsd.conf
tsd export --data z
