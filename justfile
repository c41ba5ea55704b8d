# The commands of a contributor; `just` lists them. Each line can be typed by hand as well.

# The demo, as a new user sees it.
demo:
    cargo run --release -- demo

# All tests: the Rust crates, then the Python package.
test:
    bash scripts/test.sh

# Formatting and warnings: quick enough for every commit.
lint:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings

# The site of all pages, into target/site.
site:
    bash scripts/site.sh

# Everything that a change must pass.
ci:
    bash .ci/run

# The documentation of the Rust crates.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps
