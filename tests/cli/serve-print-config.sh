# Every key with its default; the option wins over the environment, that over the file; what is printed can be read again.
tsd serve --print-config
printf 'wal_sync = always\nport = 1\nmax_series = 9\n' >own.conf
export TSD_PORT=2 TSD_WAL_SYNC=none
tsd serve --config own.conf --print-config --port 3 | grep -E '^(wal_sync|port|max_series) '
unset TSD_PORT TSD_WAL_SYNC
cat own.conf | tsd serve --config /dev/stdin --print-config | grep -E '^(wal_sync|port|max_series) '
tsd serve --print-config --wal-sync always >a.conf
tsd serve --print-config --config a.conf >b.conf
cmp a.conf b.conf && echo same
