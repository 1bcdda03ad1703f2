# Tables: columns by number and by name, quotes of RFC 4180, formats of time, several values, fixed widths; what is wrong is said with its column.
cat >w.csv <<'EOF'
origin,day,hour,temp,humid,note
EWR,02/Nov/2026,6,39.02,59.37,"a ""windy"" day,
with two lines"
JFK,02/Nov/2026,7,NA,61.63,
"New York, LGA",02/Nov/2026,8,warm,64.43,x
LGA,31/Feb/2026,9,39.92,62.21,x
LGA,02/Nov/2026
LGA,02/Nov/2026,9,39.92,62.21,"never closed
EOF
map='time={day:%d/%b/%Y} {hour:%H},metric=weather.{},value={temp},value={humid},station={origin}'
tsd import --dry-run w.csv --csv "$map" --tag net=noaa
start data
tsd import --port $port w.csv --csv "$map" --tag net=noaa
tsd export --port $port
tsd import --port $port w.csv --csv "$map" --max-errors 1
tsd import --port $port w.csv --csv 'time={day},metric=m,value={wind}'
tsd import --port $port w.csv w.csv
stop
printf 'head\r\n0;1793620800;5;x\r\n1;1793620800123;-6.5;y\r\n' | gzip >n.csv.gz
tsd import --data n --csv 'time={1},metric=n.{3},value={2}/10,value={2}*2,k={0}-{3}' --delimiter ';' --skip 1 n.csv.gz
tsd export --data n
printf 'time\tv\n2026-11-02 12:00\t1\n2026-11-02 13:00\t-999\n' >t.tsv
tsd import --data z --csv 'time={time},metric=t,value={v},z=a' --tz Europe/Berlin --missing -999,-9 t.tsv
tsd export --data z
# NOAA's ISD lite: fixed widths, tenths of a degree, -9999 for none
printf '2026 11 02 00   -11   -44 10125\n2026 11 02 01 -9999   -50 10130\n2026 11 02 0x   -11\n' >isd.txt
tsd import --data f --missing -9999 --fixed 'time={1-4:%Y} {6-7:%m} {9-10:%d} {12-13:%H},metric=temp,value={14-19}/10,metric=pressure,value={26-31}/10,station=1-4' isd.txt
tsd export --data f
# wrong mappings are found before any file is read
for m in 'metric=m,value={1}' 'time={0}' 'time={0},value={1}' 'time={0:%q},metric=m,value={1}' 'time={0,metric=m,value={1}' 'time={0},metric=m,value={1}/0' \
    'time={0},metric=m,value={1},a={2},a={3}' 'time={0:%H},metric=m,value={1}' 'time={0:%Y} {1},metric=m,value={2}' 'time={9999},metric=m,value={2}' 'x'; do
    tsd import --data f --csv "$m" w.csv
done
tsd import --data f --fixed 'time={0},metric=m,value={1-2}' w.csv
tsd import --data f --format csv w.csv
tsd import --data f --format influx --csv 'time={0},metric=m,value={1}' w.csv
tsd import --data f --delimiter xy --csv 'time={0},metric=m,value={1}' w.csv
tsd import --data f --tag x w.csv
