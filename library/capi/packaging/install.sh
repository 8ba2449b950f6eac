#!/bin/sh
# Installs what was built into a folder such as /usr/local:
#
#     bin/syncline, its man pages and completions
#     share/doc/syncline/    the pages of docs/, and in html/ the book, if `./x docs` has built it
#     lib/syncline/   the libraries that it preloads, and what it runs a kernel with
#     include/    syncline.h, syncline.hpp; syncline_mpi.h for programs under `syncline mpi`, and
#                 syncline_dsm.h for programs under `syncline cluster`
#     lib/        libsyncline.so, libsyncline.a and libsyncline_dsm.so, and what pkg-config and CMake
#                 read
#
# The folder can be moved afterwards: nothing in it names its place.
set -eu

[ $# = 2 ] || { echo "usage: $0 BUILT PREFIX, such as target/release /usr/local" >&2; exit 2; }
built=$1
prefix=$2
here=$(dirname "$0")
crate=$here/..

version=$(sed -n 's/^#define SYNCLINE_VERSION "\(.*\)"/\1/p' "$crate/include/syncline.h")
library=$built/libsyncline_c.so
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')

# Writes a file, its folder being made.
to() { mkdir -p "$(dirname "$prefix/$1")" && cat >"$prefix/$1"; }
copy() { install -D -m "$1" "$2" "$prefix/$3"; }

# --- the command ---------------------------------------------------------------------------

copy 755 "$built/syncline" bin/syncline
for name in libsyncline_recorder.so libsyncline_replace.so libsyncline_tracer.so \
    libsyncline_delay.so libsyncline_mpi.so libsyncline_unmodified.so \
    libsyncline_kernel_plugin.so; do
    copy 644 "$built/$name" "lib/syncline/$name"
done
copy 755 "$built/syncline-kernel-init" lib/syncline/syncline-kernel-init
"$built/syncline" man --out "$prefix/share/man"
"$built/syncline" completions bash | to share/bash-completion/completions/syncline
"$built/syncline" completions zsh | to share/zsh/site-functions/_syncline
"$built/syncline" completions fish | to share/fish/vendor_completions.d/syncline.fish

# --- what there is to read -----------------------------------------------------------------

docs=$crate/../../docs
(cd "$docs" && find . -name '*.md' -o -name '*.png') | while read -r page; do
    copy 644 "$docs/$page" "share/doc/syncline/$page"
done
book=$built/../book
if [ -e "$book/index.html" ]; then
    rm -rf "$prefix/share/doc/syncline/html"
    cp -r "$book" "$prefix/share/doc/syncline/html"
fi

# --- the shared library --------------------------------------------------------------------

copy 644 "$library" "lib/libsyncline.so.$version"
ln -sf "libsyncline.so.$version" "$prefix/lib/$soname"
ln -sf "$soname" "$prefix/lib/libsyncline.so"

# --- the static library --------------------------------------------------------------------

# As built, it defines all symbols of Rust's library as well, and two such libraries don't link
# into one program. So it becomes one object that shows the functions of syncline.h only. The
# bitcode in it would make some versions of `ar` fail.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
functions=$(nm -D --defined-only "$library" | sed -n 's/.* T \(syncline_.*\)/--undefined=\1/p')
# shellcheck disable=SC2086 # one word each
ld -r --gc-sections $functions -o "$work/syncline.o" "$built/libsyncline_c.a"
objcopy --wildcard --keep-global-symbol='syncline_*' --strip-debug \
    --remove-section=.llvmbc --remove-section=.llvmcmd "$work/syncline.o"
ar rcs "$work/libsyncline.a" "$work/syncline.o"
copy 644 "$work/libsyncline.a" lib/libsyncline.a

# --- headers, and what build systems read --------------------------------------------------

(cd "$crate/include" && find . -name '*.h' -o -name '*.hpp') | while read -r header; do
    copy 644 "$crate/include/$header" "include/$header"
done
copy 644 "$crate/../../cluster/mpi/include/syncline_mpi.h" include/syncline_mpi.h
copy 644 "$crate/../../cluster/dsm/include/syncline_dsm.h" include/syncline_dsm.h
copy 644 "$built/libsyncline_dsm.so" lib/libsyncline_dsm.so
fill() { sed "s/@VERSION@/$version/g; s/@SONAME@/$soname/g" "$here/$1"; }
fill syncline.pc.in | to lib/pkgconfig/syncline.pc
fill syncline-dsm.pc.in | to lib/pkgconfig/syncline-dsm.pc
fill syncline-config.cmake.in | to lib/cmake/syncline/syncline-config.cmake
fill syncline-config-version.cmake.in | to lib/cmake/syncline/syncline-config-version.cmake
