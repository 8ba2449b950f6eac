//! Programs of Debian's packages, and those of workloads/dsm as they are for the threads of one
//! process. Each must print the same bytes on ranks as alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use syncline_conformance::{Case, Program, scratch};

/// A text that takes some blocks to compress.
pub fn text(into: &Path) {
    let mut text = String::new();
    for number in 0..300_000_u64 {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        writeln!(text, "line {number} with {hash}").expect("a line");
    }
    fs::write(into, text).expect("a file");
}

/// Runs a program of a package with these words and the name of a text.
fn same_bytes(program: &str, words: &[&str]) {
    assert!(Path::new(program).exists(), "{program} is missing: run ./x setup");
    let folder = scratch();
    let file = folder.path().join("text");
    text(&file);
    let case = Case::new(&Program::installed(program)).args(words).arg(&file).limit(100);
    let alone = case.plain();
    assert!(alone.stdout.len() > 1000, "{program}");
    for ranks in [2, 3] {
        let on_ranks = case.on_ranks(ranks);
        assert!(on_ranks.stdout == alone.stdout, "{program} on {ranks} ranks");
    }
}

#[test]
fn pigz() {
    same_bytes("/usr/bin/pigz", &["-p", "4", "-c"]);
}

#[test]
fn pbzip2() {
    same_bytes("/usr/bin/pbzip2", &["-p4", "-b1", "-c"]);
}

#[test]
fn zstd() {
    same_bytes("/usr/bin/zstd", &["-T4", "-B1M", "-c", "-q"]);
}

#[test]
fn xz() {
    same_bytes("/usr/bin/xz", &["-T4", "--block-size=1MiB", "-1", "-c"]);
}

/// The interpreter's lock is a mutex and a condition variable, which threads of all ranks take in
/// turn.
#[test]
fn python() {
    let script = "
import threading
lock, all = threading.Lock(), []
def body(number):
    for i in range(200):
        with lock: all.append(number * 1000 + i)
threads = [threading.Thread(target=body, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(all), sum(all))
";
    let case = Case::new(&Program::installed("/usr/bin/python3")).args(["-c", script]);
    let alone = case.plain();
    assert_eq!(case.on_ranks(2).stdout, alone.stdout);
}

/// The programs check their own results.
#[test]
fn numerical_programs() {
    for name in ["blackscholes", "ep", "lu", "matmul", "nbody", "queue"] {
        let source = format!("../../../workloads/dsm/{name}.c");
        let program = Program::compile_with(&source, &["-DPLAIN", "-lm"]);
        for ranks in [2, 3] {
            let outcome = Case::new(&program).arg("4").limit(100).on_ranks(ranks);
            let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
            assert!(said.contains("verified"), "{name}: {said}");
        }
    }
}
