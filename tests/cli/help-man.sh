# Manual pages: one for each command, with all of its options; all keys in tsd.conf(5); nothing that man warns about.
plain() { sed 's/\\fB//g; s/\\fI//g; s/\\fR//g; s/\\-/-/g; s/\\(aq/'"'"'/g; s/\\&//g'; }
commands=$("$TSD" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -gt 20 ] || echo "only these commands: $commands"
"$TSD" help --man >tsd.1
"$TSD" help --man tsd.conf >tsd.conf.5
for c in $commands; do
    "$TSD" help --man $c >tsd-$c.1 || echo "no page for $c"
    plain <tsd-$c.1 >page.txt
    for part in NAME SYNOPSIS OPTIONS "EXIT STATUS" EXAMPLES "SEE ALSO"; do
        grep -q "^.SH $part\$" page.txt || echo "$c: no $part"
    done
    n=0
    for o in $("$TSD" help $c | grep -oE '^      --[a-z0-9-]+|^  -[a-zA-Z], --[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+$'); do
        n=$((n + 1))
        grep -qE -e "^(-[a-zA-Z], )?$o( |\$)" page.txt || echo "$c: $o is missing"
    done
    [ $n -gt 0 ] || echo "$c: no options found"
    plain <tsd.1 | grep -q "tsd-$c (1)" || echo "tsd(1) does not name $c"
done
for key in $("$TSD" serve --print-config | sed -n 's/^\([a-z0-9_]*\) =.*/\1/p'); do
    plain <tsd.conf.5 | grep -q "^$key = " || echo "tsd.conf(5): $key is missing"
done
if command -v groff >/dev/null && command -v man >/dev/null; then
    for page in *.[15]; do
        LC_ALL=C.UTF-8 MANWIDTH=200 man --warnings -E UTF-8 -l $page 2>&1 >out.txt | sed "s/^/$page: /"
        [ -s out.txt ] || echo "$page is empty"
    done
fi
head -n 9 tsd-flush.1 | sed "2s/tsd [0-9][0-9.]*/tsd VERSION/"
tsd help --man nothing-like-it
tsd help --man imprt
