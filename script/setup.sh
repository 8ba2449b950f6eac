# Installs what building, testing and measuring need and this machine lacks: Debian's packages,
# Rust, and what only some tests need. `./x` reads this file.

# A package whose name differs between releases is written NAME|NAME; the first that is available is
# taken.
BUILD_PACKAGES=(build-essential git)
DEMO_PACKAGES=(memcached libmemcached-tools)
MPI_PACKAGES=(openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran)
BENCH_PACKAGES=("${DEMO_PACKAGES[@]}" pbzip2 x264 libck-dev valgrind "${MPI_PACKAGES[@]}")
TEST_PACKAGES=(
    "${BENCH_PACKAGES[@]}"
    apache2-bin apache2-utils
    'mariadb-server-core|mariadb-server-core-10.6' 'mariadb-client-core|mariadb-client-core-10.6'
    sysbench rocksdb-tools redis-server postgresql
    pigz zstd xz-utils
    iproute2
    cmake 'pkgconf|pkg-config'
    libjemalloc2 'libtcmalloc-minimal4|libtcmalloc-minimal4t64'
    'libomp5-14|libomp5-18|libomp5-16|libomp5'
    golang-go python3
    'chromium|chromium-browser'
    'libhwloc15|libhwloc15t64'
)
# `./x setup` does not install these, since they are too large for some machines that run the tests.
MATRIX_PACKAGES=(
    libreoffice-writer-nogui libreoffice-calc-nogui
    'openjdk-17-jdk-headless|openjdk-21-jdk-headless' libglib2.0-tests libsdl2-tests
    'libpython3-testsuite|libpython3.11-testsuite|libpython3.12-testsuite'
)
# What `syncline kernel` needs besides a kernel, what its tests need for a module, and the package
# that depends on Debian's newest kernel for clouds.
KERNEL_PACKAGES=(qemu-system-x86 e2fsprogs linux-headers-cloud-amd64)
KERNEL_IMAGE=linux-image-cloud-amd64
# The target and the packages for building for AArch64, and for running the result under an
# emulator.
AARCH64=aarch64-unknown-linux-gnu
AARCH64_PACKAGES=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
# Other systems, for which the library is only checked. Checking needs neither a linker nor the
# systems' files.
OTHER_SYSTEMS=(x86_64-apple-darwin x86_64-pc-windows-gnu x86_64-unknown-freebsd
    wasm32-unknown-unknown)
OLDEST_RUST=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        die "this needs root, and sudo is not installed: $*"
    fi
}

# Packages are installed by root, without questions. A system that has just started may run an apt
# of its own: the command is repeated until that apt has released its locks, but for ten minutes at
# most.
PACKAGES_LOCKED='Could not get lock|locked by another process'
PACKAGES_LOCKED_SECONDS=600
packages() {
    local errors status deadline=$((SECONDS + PACKAGES_LOCKED_SECONDS))
    errors=$(mktemp)
    while true; do
        status=0
        as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" 2>"$errors" || status=$?
        cat "$errors" >&2
        if ((status == 0 || SECONDS > deadline)) || ! grep -qE "$PACKAGES_LOCKED" "$errors"; then
            break
        fi
        echo "waiting for another installation to end" >&2
        sleep 5
    done
    rm -f "$errors"
    return "$status"
}
apt_get() { packages apt-get -o DPkg::Lock::Timeout="$PACKAGES_LOCKED_SECONDS" "$@"; }

# A set-up that was killed leaves packages that are unpacked but not configured. Then apt installs
# nothing.
repair_packages() {
    say "checking the packages that are installed"
    if ! apt_get check >/dev/null || [ -n "$(dpkg --audit)" ]; then
        say "configuring packages that were left half-installed"
        packages dpkg --configure -a || echo "dpkg could not configure all packages" >&2
    fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { [ -n "$(apt-cache policy "$1" | sed -n '/^  Candidate: [^(]/p')" ]; }

# Prints the first of NAME|NAME that passes a check; nothing if none does.
first_that() {
    local check=$1 name names
    IFS='|' read -ra names <<<"$2"
    for name in "${names[@]}"; do
        ! "$check" "$name" || { echo "$name"; return; }
    done
}

need_packages() {
    local wanted missing=() chosen=() name
    has dpkg-query || die "this script installs packages of Debian and Ubuntu only; install these: $*"
    for wanted in "$@"; do
        [ -n "$(first_that installed "$wanted")" ] || missing+=("$wanted")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing packages: ${missing[*]}"
    repair_packages
    apt_get update -q || echo "going on with the package lists that are there" >&2
    for wanted in "${missing[@]}"; do
        name=$(first_that available "$wanted")
        [ -n "$name" ] || die "this system's package lists have no $wanted"
        chosen+=("$name")
    done
    install_without_starting "${chosen[@]}"
}

# Servers are installed as programs to record, not as services: none of them is started now or at
# the next boot. A script that exits with 101 tells Debian's installation scripts to start nothing.
install_without_starting() {
    local policy=/usr/sbin/policy-rc.d ours='' service
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
        ours=$policy
        trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    apt_get install -qy --fix-broken --no-install-recommends "$@"
    if [ -n "$ours" ]; then
        as_root rm -f "$ours"
        trap - EXIT
    fi
    for service in "$@"; do
        if has systemctl && [ -e "/lib/systemd/system/$service.service" ]; then
            as_root systemctl disable "$service" || echo "could not disable the service $service" >&2
        fi
    done
}

need_rust() {
    PATH=$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
    has cargo || install_rust
    local version
    version=$(cargo --version | cut -d' ' -f2)
    if [ "$(printf '%s\n' "$OLDEST_RUST" "$version" | sort -V | head -n1)" != "$OLDEST_RUST" ]; then
        die "cargo is $version, and Syncline needs $OLDEST_RUST or newer: run \`rustup update stable\`," \
            "or remove it and run ./x setup again"
    fi
}

install_rust() {
    say "installing Rust"
    if ! has rustup && [ -n "$(first_that available rustup)" ]; then
        need_packages rustup
    fi
    if has rustup; then
        rustup default stable
        return
    fi
    has curl || need_packages curl ca-certificates
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile default ||
        die "could not install Rust; see https://rustup.rs, then run this again"
}

need_rust_tool() {
    cargo "$1" --version >/dev/null 2>&1 && return
    has rustup || die "cargo $1 is missing: install the package that has it"
    say "installing cargo $1"
    rustup component add "$2"
}

need_builder() {
    need_packages "${BUILD_PACKAGES[@]}"
    need_rust
}

setup() {
    case "${*-}" in
        '') ;;
        --kernel) need_kernel; return ;;
        --mpi) need_mpi; return ;;
        *) die "usage: ./x setup [--kernel | --mpi]" ;;
    esac
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    need_rust
    need_rust_tool fmt rustfmt
    need_rust_tool clippy clippy
    need_aarch64
    need_other_systems
    need_miri
}

# Installs Debian's MPI libraries and, in the build folder, the newest ones, which Python's packages
# contain. Tests use both.
need_mpi() {
    need_packages "${BUILD_PACKAGES[@]}" "${MPI_PACKAGES[@]}" python3-venv
    local name folder
    for name in mpich openmpi; do
        folder=${CARGO_TARGET_DIR:-target}/mpi/$name
        [ ! -x "$folder/bin/mpicc" ] || continue
        say "fetching $name into $folder"
        python3 -m venv "$folder"
        "$folder/bin/pip" install --quiet --no-deps --only-binary :all: "$name" ||
            die "could not fetch $name"
    done
}

# Installs QEMU, and unpacks a kernel for it into the folder where `syncline kernel` looks. The
# kernel is not installed, because then this machine would boot it.
need_kernel() {
    [ "$(uname -m)" = x86_64 ] || die "syncline kernel follows kernels of x86-64 only"
    need_packages "${KERNEL_PACKAGES[@]}"
    local packages=${XDG_CACHE_HOME:-$HOME/.cache}/syncline/packages name folder
    name=$(newest_kernel)
    if [ -z "$name" ]; then
        apt_get update -q || echo "going on with the package lists that are there" >&2
        name=$(newest_kernel)
    fi
    [ -n "$name" ] || die "this system's package lists have no $KERNEL_IMAGE:" \
        "give a kernel to \`syncline kernel --kernel\`"
    folder=$packages/$name
    [ ! -e "$folder/boot" ] || return 0
    say "unpacking $name into $packages"
    mkdir -p "$packages"
    local work
    work=$(mktemp -d "$packages/.unpacking.XXXXXX")
    if (cd "$work" && apt-get download -q "$name" && dpkg-deb -x "$name"_*.deb new) &&
        mv "$work/new" "$folder"; then
        rm -rf "$work"
    else
        rm -rf "$work"
        die "could not get the kernel $name"
    fi
}

# Prints the name of the package with the newest kernel. `$KERNEL_IMAGE` contains no kernel, but
# depends on that package.
newest_kernel() {
    apt-cache depends "$KERNEL_IMAGE" 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n1
}

# The probe has code for AArch64. Without rustup the standard library for AArch64 may not be
# available; then only this part is left out.
need_aarch64() {
    [ "$(uname -m)" = x86_64 ] && has rustup || return 0
    need_packages "${AARCH64_PACKAGES[@]}"
    has_target "$AARCH64" || rustup target add "$AARCH64" ||
        echo "could not install Rust's library for AArch64" >&2
}

has_target() { has rustup && rustup target list --installed | grep -qx "$1"; }

need_other_systems() {
    local target
    has rustup || return 0
    for target in "${OTHER_SYSTEMS[@]}"; do
        has_target "$target" || rustup target add "$target" ||
            echo "could not install Rust's library for $target" >&2
    done
}

# Miri needs a nightly toolchain of its own. Some days' nightlies lack Miri, and there may be no
# network. Then only Miri is left out, and the tests say so.
need_miri() {
    has rustup && ! miri_is_there || return 0
    say "installing Miri"
    rustup toolchain install nightly --profile minimal --component miri --component rust-src &&
        miri_is_there || echo "could not install Miri: the tests will skip it" >&2
}

miri_is_there() {
    local components
    components=$(rustup component list --installed --toolchain nightly 2>/dev/null) &&
        [[ $components = *miri* && $components = *rust-src* ]]
}
