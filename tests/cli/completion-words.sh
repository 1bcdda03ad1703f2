# What the last word of a line may become; then the same in bash.
start data
{
    echo "web.hits 1793620800 1 domain=example.org host=web1"
    echo "web.bytes 1793620800 1 domain=example.net host=web2"
    echo "sys.load1 1793620800 1 host=db1"
} >points.txt
tsd import --port $port points.txt
export TSD_PORT=$port
w() {
    echo "> tsd $*|" | sed "s/$port/PORT/"
    "$TSD" completion words -- "$@" | cut -f1
}
w co
w help fs
w query --form
w query --format c
w query 1h-ago sum web.
w query 1h-ago sum web.hits d
w query 1h-ago sum web.hits domain=
w query 1h-ago sum web.hits host=web --po
w last --port $port s
w last --port 1 s
w uid re
w search ""
w collect web
w hbase st
w metric sh
w serve --wal-sync ""
w serve --wal-sync-i
w import ""
w serve --data ""
w fsck --format ""
w nothing x
w
echo '# the first candidate with its description'
"$TSD" completion words -- met | head -n 1
echo '# usage'
tsd completion
tsd completion bsh
tsd completion zsh fish
echo '# bash'
mkdir bin && ln -s "$TSD" bin/tsd
cat >complete.bash <<'END'
PATH=$PWD/bin:$PATH
compopt() { echo "compopt $*"; }
source <(tsd completion bash)
complete -p tsd
try() {
    COMP_LINE=$1 COMP_POINT=${#1}
    _tsd
    printf '%s -> %s\n' "$1" "${COMPREPLY[*]}"
}
try "tsd que"
try "tsd query 1h-ago sum web.h"
try "tsd query 1h-ago sum web.hits "
try "tsd query 1h-ago sum web.hits domain=example."
try "tsd query --format nd"
try "tsd import "
END
bash complete.bash
cat >zsh.sh <<'END'
for shell in zsh fish; do
    "$TSD" completion $shell >script
    command -v $shell >/dev/null || continue
    $shell -n script || echo "$shell refuses the script"
done
END
sh zsh.sh
stop
w last s
