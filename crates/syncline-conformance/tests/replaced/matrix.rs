//! Debian's programs under every lock that sleeps, with 1, 4 and 32 threads for each of two
//! processors. It takes most of an hour: `./x matrix` runs it, and docs/exec.md has what came out.

use std::io::Write;
use std::time::Instant;

use crate::programs::{memcached_answers, pbzip2_bytes, x264_bytes};
use crate::servers::{APACHE, MARIADB, ROCKSDB, same_answers};
use crate::{parking, replacements};

const THREADS: [usize; 3] = [2, 8, 64];

/// Each lock for mutexes, with each in turn of those for readers and writers that fit programs which
/// nobody knows.
fn pairs() -> Vec<String> {
    let shared = ["rw_readers", "rw_compact"];
    assert!(shared.iter().all(|s| replacements(true).iter().any(|name| name.starts_with(s))));
    let exclusive = parking(false).into_iter().enumerate();
    exclusive.map(|(at, lock)| format!("{lock}+{}", shared[at % shared.len()])).collect()
}

#[test]
#[ignore = "most of an hour; ./x matrix runs it"]
fn every_program_under_every_lock() {
    type Run = fn(usize, &str);
    let programs: [(&str, Run); 6] = [
        ("memcached", memcached_answers),
        ("MariaDB", |threads, locks| same_answers(MARIADB, threads, locks)),
        ("Apache", |threads, locks| same_answers(APACHE, threads, locks)),
        ("RocksDB", |threads, locks| same_answers(ROCKSDB, threads, locks)),
        ("pbzip2", pbzip2_bytes),
        ("x264", x264_bytes),
    ];
    let started = Instant::now();
    let mut runs = 0;
    for (name, run) in programs {
        for locks in pairs() {
            for threads in THREADS {
                run(threads, &locks);
                runs += 1;
            }
            // Standard error may be closed; the assertions are what counts.
            let _ = writeln!(
                std::io::stderr(),
                "{name} with {locks}: as without, at {THREADS:?} threads ({} s)",
                started.elapsed().as_secs()
            );
        }
    }
    let _ = writeln!(std::io::stderr(), "{runs} runs in {} s", started.elapsed().as_secs());
}
