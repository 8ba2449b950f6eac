//! MariaDB installs its tables, serves sysbench, and shuts down. Both the installation and the
//! server are recorded.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{MARIADB, eventually, run_limited};

use crate::{assert_locks, installed, script, serve_both};

const TABLE: &str =
    "--tables=2 --table-size=2000 --rand-seed=7 --db-driver=mysql --mysql-user=root";

#[test]
fn mariadb() {
    installed("/usr/sbin/mariadbd", "mariadb-server-core");
    installed("/usr/bin/mariadb", "mariadb-client-core");
    installed("/usr/bin/sysbench", "sysbench");
    let recording = serve_both(|folder| script(MARIADB, folder), client);
    assert_locks(&recording, "mariadbd", 10_000);
}

/// Runs one client, whose work is the same each time, so the tables must be the same afterwards.
/// Then runs four clients at the same time. Their work may differ, so only the number of rows must
/// be the same.
fn client(folder: &Path) -> Vec<String> {
    eventually("MariaDB", || try_query(folder, "select 1"));
    query(folder, "create database sbtest");
    for table in ["sbtest1", "sbtest2"] {
        query(folder, &FILLED.replace("TABLE", table));
    }
    let filled = query(folder, CHECKSUM);
    sysbench(folder, "--threads=1 --time=0 --events=150 run");
    let after_one = query(folder, CHECKSUM);
    sysbench(folder, "--threads=4 --time=3 run");
    let rows = query(folder, "select count(*) from sbtest.sbtest1, sbtest.sbtest2");
    let checked = query(folder, "check table sbtest.sbtest1, sbtest.sbtest2");
    query(folder, "shutdown");
    vec![filled, after_one, rows, checked]
}

/// Makes a table in the form that sysbench needs. Sysbench itself would fill it with random values.
const FILLED: &str = "use sbtest;
    create table TABLE (id int primary key auto_increment, k int not null,
    c char(120) not null, pad char(60) not null, key (k));
    insert into TABLE select seq, seq * 37 % 2000 + 1, repeat(md5(seq), 3), md5(seq + 1)
    from seq_1_to_2000";

const CHECKSUM: &str = "checksum table sbtest.sbtest1, sbtest.sbtest2";

fn query(folder: &Path, sql: &str) -> String {
    try_query(folder, sql).unwrap_or_else(|| panic!("{sql} failed"))
}

fn try_query(folder: &Path, sql: &str) -> Option<String> {
    let mut command = Command::new("/usr/bin/mariadb");
    command.args(["--no-defaults", "-uroot", "-N", "-e", sql, "-S"]).arg(folder.join("socket"));
    let outcome = run_limited(&mut command, Duration::from_secs(20));
    let answer = String::from_utf8_lossy(&outcome.stdout).into_owned();
    (outcome.status == 0).then_some(answer)
}

fn sysbench(folder: &Path, what: &str) {
    let mut command = Command::new("/usr/bin/sysbench");
    command.arg("oltp_read_write").args(TABLE.split(' ')).args(what.split(' '));
    command.arg(format!("--mysql-socket={}", folder.join("socket").display()));
    run_limited(&mut command, Duration::from_secs(30)).assert_status(0);
}
