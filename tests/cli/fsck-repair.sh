# A store is checked, damaged, checked, repaired; what can be read is all there afterwards.
i=0
while [ $i -lt 240 ]; do
    echo "cpu.user $((1793620800 + i * 30)) $((i % 7)).5 host=web1"
    echo "cpu.user $((1793620800 + i * 30)) $((i % 5)).25 host=web2"
    i=$((i + 1))
done >points
tsd import --data data points
tsd fsck --data data
tsd export --data data >before
# flip BYTE FILE: change a byte
flip() {
    python3 -c 'import sys
p, at = sys.argv[2], int(sys.argv[1])
b = bytearray(open(p, "rb").read()); b[at] ^= 4; open(p, "wb").write(b)' "$1" "$2"
}
echo "== a catalog"
flip 60 data/catalog.log
tsd export --data data 2>/dev/null | head -n 3 # a warning tells of the copy
tsd fsck --data data
tsd fsck --data data --repair
tsd fsck --data data
tsd export --data data | diff - before && echo the same
echo "== a block of points"
flip 100 data/files/00000001.t
tsd export --data data | head -n 1
tsd fsck --data data --format json
tsd fsck --data data --format markdown
tsd fsck --data data --repair --quiet
tsd export --data data | wc -l
ls data/damaged
echo "== words"
tsd fsck
tsd fsck --data data --format xml
tsd fsck --data nothing
start data
tsd fsck --data data
stop
