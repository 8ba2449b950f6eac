# The documentation: the book of `docs/`, and the crates' pages from rustdoc. `./x` reads this file.

# The version of mdBook is fixed, since the book's look and its checks depend on it. It is installed
# in a folder of the project, so the machine's own mdBook does not change.
MDBOOK_VERSION=0.4.52
BUILT=$(realpath -m "${CARGO_TARGET_DIR:-target}")
MDBOOK_FOLDER=$BUILT/tools
BOOK=$BUILT/book

docs() {
    [ $# = 0 ] || die "usage: ./x docs"
    need_builder
    need_mdbook
    say "checking the pages and their links"
    cargo test --release --package syncline-conformance --test tidy -- book:: voice::
    say "building the book"
    "$MDBOOK_FOLDER/bin/mdbook" build --dest-dir "$BOOK" docs
    crate_pages
    say "the book: $BOOK/index.html; the library: $BUILT/doc/syncline/index.html"
}

# Makes the crates' pages. Fails if a link leads nowhere.
crate_pages() {
    say "building the crates' pages"
    RUSTDOCFLAGS="${RUSTDOCFLAGS-} -D warnings" cargo doc --release --workspace --no-deps
}

# Checks the spelling, and phrases that are hard to read.
check_words() {
    say "checking words"
    if has typos; then
        typos
    else
        say "the spelling was not checked: typos is not installed (cargo install typos-cli)"
    fi
    # `--workspace` is needed: for one crate alone, libraries would have other features, and would
    # be built twice.
    cargo test --release --workspace --test tidy -- voice::
}

need_mdbook() {
    local there
    there=$("$MDBOOK_FOLDER/bin/mdbook" --version 2>/dev/null) || there=
    [ "$there" != "mdbook v$MDBOOK_VERSION" ] || return 0
    say "installing mdBook $MDBOOK_VERSION into $MDBOOK_FOLDER"
    cargo install mdbook --version "$MDBOOK_VERSION" --locked --root "$MDBOOK_FOLDER" --force
}
