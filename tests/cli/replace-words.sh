# tsd replace: each refusal is said once, and a dry run says what it cannot know.
start data --query-allow-delete true
printf 'm 1793620800 1 host=a\n' >points.txt
: >empty.txt
tsd import points.txt --port $port
replace() {
    tsd replace "$@" --from 2026/11/02 --to 2026/11/02 --port $port
}
echo "== no points"
replace empty.txt --series 'm{host=a}'
echo "== not among what is replaced"
replace points.txt --series 'm{host=b}'
echo "== an aggregator"
replace points.txt --series 'sum:m{host=a}'
replace points.txt --series 'm{host=literal_or(a:b)}' --dry-run
echo "== one of two bad lines is listed"
printf 'm\nm 1793620800\n' >bad.txt
replace bad.txt --series 'm{host=a}' --max-errors 1
echo "== and nothing has changed"
tsd export m --port $port
stop
