//! MariaDB, Apache and RocksDB of Debian with other locks: their answers, and the contents of their
//! tables afterwards, stay the same. Everything that a script starts gets these locks, even
//! clients.

use std::fs;
use std::path::Path;
use std::thread;

use syncline_conformance::{Case, scratch};

use crate::programs::{behaviour, installed, script};

/// The server starts on fresh tables. First a single client does the same work in each run. Then
/// several clients work at the same time, after which only the number of rows is the same in each
/// run. The folder for temporary tables is the server's own, since a server that starts removes all
/// tables in that folder, even another server's.
pub const MARIADB: &str = r#"
    cd "$1"; threads=$2; rm -rf data
    export TMPDIR="$1/temporary"; mkdir -p "$TMPDIR"
    mariadb-install-db --no-defaults --force --datadir="$1/data" --user=root \
        --auth-root-authentication-method=normal --skip-test-db >install.log 2>&1
    mariadbd --no-defaults --datadir="$1/data" --socket="$1/socket" --user=root \
        --skip-networking --innodb-buffer-pool-size=64M --innodb-log-file-size=32M \
        --innodb-flush-log-at-trx-commit=2 --pid-file="$1/pid" 2>server.log &
    sql() { mariadb --no-defaults -uroot -N -S "$1/socket" -e "$2"; }
    tries=0
    until sql "$1" 'select 1' >/dev/null 2>&1; do
        tries=$((tries + 1)); test $tries -lt 600; sleep 0.1
    done
    sql "$1" 'create database sbtest'
    for table in sbtest1 sbtest2; do
        sql "$1" "use sbtest;
            create table $table (id int primary key auto_increment, k int not null,
            c char(120) not null, pad char(60) not null, key (k));
            insert into $table select seq, seq * 37 % 2000 + 1, repeat(md5(seq), 3), md5(seq + 1)
            from seq_1_to_2000"
    done
    sum() { sql "$1" 'checksum table sbtest.sbtest1, sbtest.sbtest2'; }
    bench() {
        folder=$1; shift
        sysbench oltp_read_write --tables=2 --table-size=2000 --rand-seed=7 --db-driver=mysql \
            --mysql-user=root --mysql-socket="$folder/socket" "$@" run >sysbench.log
    }
    sum "$1"
    bench "$1" --threads=1 --time=0 --events=100
    sum "$1"
    bench "$1" --threads=$threads --time=0 --events=1500
    sql "$1" 'select count(*) from sbtest.sbtest1, sbtest.sbtest2'
    sql "$1" 'check table sbtest.sbtest1, sbtest.sbtest2'
    sql "$1" shutdown
    wait"#;

/// Every request succeeds, and each answer is as long as the page. The server listens at an address
/// of this machine that no other process uses, and at a port that the kernel does not assign to
/// clients. A client that had the port would prevent the server from using it.
pub const APACHE: &str = r#"
    cd "$1"; threads=$2; mkdir -p pages; seq 2000 >pages/page.txt; chmod 755 "$1" pages
    address=127.$((1 + $$ / 65536)).$(($$ / 256 % 256)).$(($$ % 256)):20080
    cat >conf <<END
ServerRoot $1
ServerName localhost
Listen $address
PidFile $1/pid
ErrorLog $1/errors
DocumentRoot $1/pages
User nobody
Group nogroup
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
ServerLimit 1
StartServers 1
ThreadLimit $threads
ThreadsPerChild $threads
MaxRequestWorkers $threads
MinSpareThreads 1
MaxSpareThreads $threads
MaxConnectionsPerChild 0
END
    apache2 -D FOREGROUND -f "$1/conf" &
    server=$!
    url=http://$address/page.txt
    tries=0
    until ab -q -n 1 "$url" >/dev/null 2>&1; do
        tries=$((tries + 1)); test $tries -lt 600; sleep 0.1
    done
    ab -q -n 2000 -c 8 "$url" |
        grep -E '^(Complete requests|Failed requests|Non-2xx|HTML transferred)'
    kill $server
    wait $server || true"#;

/// All keys that were written are found, and every block has the right checksum.
pub const ROCKSDB: &str = r#"
    cd "$1"; threads=$2
    db_bench --db="$1/db" --num=4000 --threads=1 --benchmarks=fillseq >/dev/null 2>&1
    db_bench --db="$1/db" --use_existing_db=1 --num=4000 --threads="$threads" --reads=400 \
        --benchmarks=overwrite,readrandom,readmissing,verifychecksum,stats 2>/dev/null |
        grep -oE '^(readrandom|readmissing) |\([0-9]+ of [0-9]+ found\)'
    rm -rf "$1/db"
    echo done"#;

/// A case that runs a server's script with `threads` threads.
pub fn server(text: &str, folder: &Path, threads: usize) -> Case {
    const PROGRAMS: [&str; 5] =
        ["sbin/mariadbd", "bin/sysbench", "sbin/apache2", "bin/ab", "bin/db_bench"];
    for program in PROGRAMS {
        installed(&format!("/usr/{program}"));
    }
    let path = std::env::var("PATH").unwrap_or_default();
    script(text, folder, threads).env("PATH", format!("{path}:/usr/sbin")).limit(300)
}

/// The answers of a server that this script runs, with these locks or with its own.
pub fn answers(text: &str, threads: usize, locks: Option<&str>) -> String {
    let folder = scratch();
    let answers = behaviour(&server(text, folder.path(), threads), locks);
    let log = fs::read_to_string(folder.path().join("server.log")).unwrap_or_default();
    assert!(answers.lines().count() >= 3, "{answers}{log}");
    answers
}

/// Checks that a server answers the same with these locks as with its own.
fn same_answers(text: &str, threads: usize, locks: &str) {
    thread::scope(|scope| {
        let plain = scope.spawn(|| answers(text, threads, None));
        let replaced = answers(text, threads, Some(locks));
        assert_eq!(replaced, plain.join().expect("it has said why"), "{locks}");
    });
}

#[test]
fn mariadb() {
    same_answers(MARIADB, 8, "gate+rw_readers");
}

#[test]
fn apache() {
    same_answers(APACHE, 64, "mcs-park+rw_readers");
}

#[test]
fn rocksdb() {
    same_answers(ROCKSDB, 8, "hmcs-park+rw_readers");
}
