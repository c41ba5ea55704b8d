#!/usr/bin/env bash
# Mutation testing of the metrics, the conformal ranks and the plan of predictions by their unit tests:
#   bash scripts/mutants.sh [FILE...]            # below crates/stonet/src, in metrics, conformal or score; all that is recorded if none is named
#   python3 scripts/mutants.py                   # a table of all files that have been run; fails where a mutant survives
# Needs cargo-mutants (`cargo install cargo-mutants --locked`). The layers that a file rests on are copied into a crate of their own below
# target/mutants: a build of all of `stonet` takes 14 to 40 seconds for each mutant, a build of these about two. Mutants that a test has killed are not
# tried again until the code of the file changes.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v cargo-mutants >/dev/null || { echo "cargo-mutants is missing: cargo install cargo-mutants --locked" >&2; exit 2; }
root=$PWD
if [ "$#" = 0 ]; then
    for path in crates/stonet/src/metrics/*.rs crates/stonet/src/conformal/{ranks,buckets,below,weighted,stored,own}.rs crates/stonet/src/score/*.rs; do
        set -- "$@" "${path#crates/stonet/src/}"
    done
fi
for file in "$@"; do
    layer=${file%%/*}
    case $layer in
        metrics) layers=(base linalg rows metrics network) ;;
        conformal) layers=(base linalg rows metrics network sparse conformal) ;;
        score) layers=(base linalg rows metrics network sparse conformal score) ;;
        *) echo "no layers are known for $file: files of metrics, conformal and score can be tested here" >&2; exit 2 ;;
    esac
    work=$root/target/mutants/$file
    crate=$work/crates/stonet
    rm -rf "$work/crates" && mkdir -p "$crate/src"
    cp Cargo.lock "$work/"
    # The workspace with one member, and builds that are quick and check for overflow.
    {
        sed -E '/^(members|default-members|exclude) /d; /^\[profile/,$d' Cargo.toml | sed 's/^resolver.*/&\nmembers = ["crates\/stonet"]/'
        printf '[profile.dev]\ndebug = 0\n[profile.dev.package."*"]\nopt-level = 2\n'
    } >"$work/Cargo.toml"
    # A name of its own: cargo would put crates of one name into one place of the common target directory.
    sed '/^\[\[bench\]\]/,/^$/d; /^criterion/d; s/^name = "stonet"$/name = "stonet-'"${file//[^a-z]/-}"'"/' crates/stonet/Cargo.toml >"$crate/Cargo.toml"
    printf '[lib]\nname = "stonet"\n' >>"$crate/Cargo.toml"
    {
        echo '#![allow(dead_code, unused)]'
        for name in "${layers[@]}"; do
            cp -r "crates/stonet/src/$name" "$crate/src/"
            # Tests of other layers are not run, and a crate without them builds sooner.
            [ "$name" = "$layer" ] || find "$crate/src/$name" -name '*.rs' -exec perl -0pi -e 's/\n#\[cfg\(test\)\]\nmod tests \{.*//s' {} +
            grep -E "^(pub )?mod $name;" crates/stonet/src/lib.rs
        done
        echo 'pub use base::{Error, Result, Seed};'
        # Agreement of the metrics with other libraries is tested beside the library.
        if [ "$layer" = metrics ]; then
            cp -r crates/stonet/tests "$crate/"
            printf 'extern crate self as stonet;\n'
            printf '#[cfg(test)]\n#[path = "../tests/%s.rs"]\nmod %s;\n' class_metrics agreement_of_bins class_trust agreement_without_bins
        fi
    } >"$crate/src/lib.rs"
    # What earlier runs have found holds as long as the code is the same; tests stand behind it.
    sed '/^#\[cfg(test)\]$/,$d' "$crate/src/$file" >"$work/code"
    cmp -s "$work/code" "$work/code.run" || rm -rf "$work/mutants.out" "$work"/*.all
    mv "$work/code" "$work/code.run"
    # Tests of the layer run, without those that take longer than all the rest together; of the metrics, those of the file.
    case $layer in
        metrics) tests=("metrics::$(basename "$file" .rs)::" smooth_ece_is_relplots scores_equal_netcals) ;;
        conformal) tests=(conformal:: --skip a_million_scores --skip conformal::ratio:: --skip coverage_of_few_rows --skip long_lists) ;;
        score) tests=(score::) ;;
    esac
    # A linker that is quick, where there is one.
    [ ! -x /usr/libexec/mold/ld ] || export COMPILER_PATH=/usr/libexec/mold
    cd "$work"
    # 2 and 3: mutants that survive or run too long, which is for scripts/mutants.py to judge.
    CARGO_TARGET_DIR=$root/target/mutants/build PROPTEST_CASES=64 cargo mutants --in-place --iterate --no-shuffle -f "crates/stonet/src/$file" -o . --timeout 20 \
        --build-timeout 300 --colors never -C=--lib -- -- "${tests[@]}" || { code=$?; [ "$code" = 2 ] || [ "$code" = 3 ]; }
    for kind in caught timeout unviable; do
        touch "$kind.all"
        [ ! -f "mutants.out/$kind.txt" ] || sort -u -o "$kind.all" "$kind.all" "mutants.out/$kind.txt"
    done
    cd "$root"
done
