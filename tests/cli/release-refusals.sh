# scripts/release refuses what is not ready, before it builds or tags anything. A small repository stands for the project's.
mkdir -p p/scripts && cp "$root/scripts/release" p/scripts/ && cd p || exit 1
git init -q . && git config user.name test && git config user.email test@example.org && git config commit.gpgsign false
commit() { git add -A && git commit -q -m "$1"; }
echo 'project(tsd LANGUAGES C)' >CMakeLists.txt
scripts/release
echo 'project(tsd VERSION 1.2.3 LANGUAGES C)' >CMakeLists.txt
printf '# Changelog\n\n## Unreleased\n\n- new\n' >CHANGELOG.md
scripts/release
printf '# Changelog\n\n## 1.2.2, 2026-11-24\n\n- new\n' >CHANGELOG.md
scripts/release
printf '# Changelog\n\n## 1.2.3, 2026-11-24\n\n## 1.2.2, 2026-11-01\n\n- old\n' >CHANGELOG.md
scripts/release
printf '# Changelog\n\n## 1.2.3, 2026-11-24\n\n- new\n' >CHANGELOG.md
commit first
echo changed >>CHANGELOG.md
scripts/release
commit second
# a package that says another version
mkdir -p build/package
printf '#!/bin/sh\ntouch build/package/tsd_1.2.3-1_all.deb\necho "$PWD/build/package/tsd_1.2.3-1_all.deb"\n' >scripts/package
printf '#!/bin/sh\necho "tsd 1.2.2 built at revision x"\n' >build/package/tsd
printf '#!/bin/sh\ntouch build/tsd-1.2.3-linux-any.tar.gz\necho "$PWD/build/tsd-1.2.3-linux-any.tar.gz"\n' >scripts/static
chmod +x scripts/package scripts/static build/package/tsd
echo build/ >.gitignore
commit third
scripts/release
printf '#!/bin/sh\necho "tsd 1.2.3 built at revision x"\n' >build/package/tsd
scripts/release --dry-run | grep -o '[^ ]*\(gz\|deb\|SUMS\|(--dry-run)\)$' | sort
echo "tags: $(git tag)"
scripts/release | sed -n 1p
echo "tags: $(git tag)"
(cd build/release-1.2.3 && sha256sum -c SHA256SUMS && tar -tzf tsd-1.2.3.tar.gz)
scripts/release
scripts/release --fast
