#!/bin/sh
# All checks that need no build: layers, sizes, banned calls, comments, headers that compile alone, layout of the code.
# Prints what is wrong and ends with 1 if anything is. Environment: CC (default cc), CLANG_FORMAT.
set -u
cd "$(dirname "$0")/../.." || exit 2
bad=0
for script in layers members sizes banned waits mutations doc_coverage words citations commands; do
    PYTHONDONTWRITEBYTECODE=1 python3 "tests/lint/$script.py" || bad=1
done

# Headers: each one by itself, twice (guards).
headers=$(find base storage query tsd collectors -name '*.h' | sort)
flags="-std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -fsyntax-only -x c"
for lib in libevent_core jansson libpcre2-8 icu-i18n; do
    flags="$flags $(pkg-config --cflags "$lib" 2>/dev/null)"
done
export flags
for h in $headers; do echo "$h"; done | xargs -P 2 -I{} sh -c \
    'printf "#include \"%s\"\n#include \"%s\"\n" {} {} | ${CC:-cc} $flags - || { echo "{}: does not compile alone"; exit 1; }' || bad=1

# Layout, by the version of clang-format that Debian 12 has (others lay out differently).
fmt=${CLANG_FORMAT:-clang-format}
if $fmt --version 2>/dev/null | grep -q 'version 14\.'; then
    find base storage query tsd collectors tests \( -name '*.c' -o -name '*.h' \) | sort |
        xargs -P 2 -I{} sh -c "$fmt --dry-run --Werror --style=file {} 2>/dev/null || { echo '{}: layout; run clang-format -i on it'; exit 1; }" || bad=1
else
    echo "lint: clang-format 14 is not here; layout was not checked"
fi
[ $bad = 0 ] && echo "lint: clean"
exit $bad
