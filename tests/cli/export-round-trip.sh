# What export prints, import takes back: resolution, integers, doubles, names.
cat >points.txt <<'END'
m 1793620800 1 a=b
m 1793620800001 -0.0 a=b
m 1793620801000 7.0 a=b
m 1793620802 9223372036854775807 a=b
m 1793620803 -9223372036854775808 a=b
m 1793620804 1e300 a=b
m 1793620805 0.1 a=b
m 1793620806 5e-324 a=b
m 1793620807 0.30000000000000004 a=b
m 1793620808 123456789.123456789 a=b
m 1000.001 5 a=b
m -77 5 a=b
m -77.250 6 a=b
put put 1793620800 1 put=put
grüße 1793620800 1 wo=köln z=1
m 1793620800 2 a=c z=1
m 1793620800 3 a=d
END
tsd import --data one points.txt
tsd export --data one >one.txt
cat one.txt
tsd import --data two one.txt
tsd export --data two | cmp - one.txt && echo same
start one
tsd export --port $port | cmp - one.txt && echo same
tsd export --port $port m a=c
tsd export --port $port m a='*' z=1
tsd export --port $port m 'a=c|d'
tsd export --port $port m a=d --from 1793620800 --to 1793620801
tsd export --port $port m a=d --from 1793620801
tsd export --port $port nothing
tsd export --port $port M
tsd export --port $port m A=c
tsd export --port $port m nothing=x
stop
tsd flush --compact --data one
tsd export --data one | cmp - one.txt && echo same
tsd export --data one m extra
tsd export --data one a=b
tsd export --data one --from someday
# the fewest digits, whatever other values a block has
printf 'm 1793620800 5.7539 a=b\nm 1793624400 6.904679999999999 a=b\nm 1793628000 0.30 a=b\nm 1793631600 7.0 a=b\nm 1793635200 -100.00 a=b\n' >digits.txt
tsd import --data three digits.txt
tsd export --data three
tsd flush --compact --data three
tsd scan 2026/11/02 2026/11/02 sum m --import --data three
