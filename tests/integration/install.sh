#!/bin/sh
# cmake --install into a folder of a package (DESTDIR): every file lies below it, and a configuration that is there stays.
# install.sh CMAKE BUILD_FOLDER
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
DESTDIR=$dir "$1" --install "$2" >/dev/null
for f in "$dir/etc/tsd.conf" "$(find "$dir" -name tsd.service)" "$(find "$dir" -path '*/sysusers.d/tsd.conf')" "$(find "$dir" -name OPERATIONS.md)"; do
    [ -f "$f" ] || { echo "not installed: ${f:-tsd.service}"; find "$dir"; exit 1; }
done
for f in man/man1/tsd.1 man/man1/tsd-query.1 man/man5/tsd.conf.5 bash-completion/completions/tsd zsh/vendor-completions/_tsd \
    fish/vendor_completions.d/tsd.fish; do
    [ -s "$(find "$dir" -path "*/share/$f")" ] || { echo "not installed: share/$f"; find "$dir"; exit 1; }
done
[ -z "$(find "$dir$dir" 2>/dev/null)" ] || { echo "DESTDIR was used twice"; find "$dir"; exit 1; }
grep -qx '#port = 4242' "$dir/etc/tsd.conf" || { echo "a key is missing in the configuration"; exit 1; }
[ -z "$(grep -v -e '^#' -e '^$' "$dir/etc/tsd.conf")" ] || { echo "the configuration sets a key"; exit 1; }
echo 'port = 1' >"$dir/etc/tsd.conf"
DESTDIR=$dir "$1" --install "$2" >/dev/null
[ "$(cat "$dir/etc/tsd.conf")" = 'port = 1' ] || { echo "the configuration was overwritten"; exit 1; }
