# Bad lines are listed with file, line and reason and cost the others nothing; a daemon and a folder say the same.
cat >one.txt <<'END'
# comment

put m 1793620800 1 host=a
m 1793620801 2 host=a
m 1793620802
m 1793620803 x host=a
m yesterday 1 host=a
exit
put m 1793620804 5 host=a host=b
put m 1793620805 6
m 1793620806 7 ho st=a
m 1793620807 8 host=a
END
printf 'm 1793620808 9 host=a\nm 1793620809 1e400 host=a' >two.txt
start data
tsd import --port $port one.txt two.txt
tsd import --port $port --max-errors 2 one.txt
tsd import --port $port --max-errors 0 two.txt missing.txt
tsd export --port $port
stop
tsd import --data local one.txt two.txt
tsd export --data local
tsd import
tsd import --max-errors many one.txt
tsd import --data local --port 1 one.txt
tsd import --port 1 one.txt
