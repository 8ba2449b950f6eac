//! `./x setup` on a system where another installation has locked the packages, or where an earlier
//! one left packages half installed. The tests check the calls of apt and dpkg, which are replaced
//! by a script that logs its arguments.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{Outcome, run_limited, scratch};

const LIMIT: Duration = Duration::from_secs(60);

/// The script that replaces every command that reads or changes the system. The folder `$STATE` has
/// the log. If it has a file `fail-COMMAND`, the next run of that command prints the file's
/// contents and fails.
const FAKE: &str = r#"#!/bin/sh
me=${0##*/}
note() { echo "$me $*" >> "$STATE/log"; }
case $me in
    dpkg-query) for name; do :; done; [ "$name" = sysbench ] || echo installed; exit 0 ;;
    apt-cache) echo "  Candidate: 1.0"; exit 0 ;;
    cargo) echo "cargo 99.0.0"; exit 0 ;;
    sudo) exec "$@" ;;
    rustup) exit 1 ;;
    tee) cat > "$STATE/policy"; exit 0 ;;
    chmod | rm | systemctl) exit 0 ;;
esac
note "$@"
if [ -e "$STATE/fail-$me" ]; then
    cat "$STATE/fail-$me" >&2
    /bin/rm "$STATE/fail-$me"
    exit 100
fi
[ "$*" != --audit ] || cat "$STATE/audit"
"#;

/// Runs `./x setup`. `audit` is what dpkg prints about half-installed packages. Each of `failures`
/// is a command and the text that its first run prints before it fails. Returns the outcome of `./x
/// setup` and the logged calls.
fn set_up(audit: &str, failures: &[(&str, &str)]) -> (Outcome, Vec<String>) {
    let folder = scratch();
    let (fakes, state) = (folder.path().join("fakes"), folder.path().join("state"));
    [&fakes, &state].into_iter().for_each(|path| fs::create_dir(path).expect("a folder"));
    fs::write(fakes.join("fake"), FAKE).expect("a script");
    fs::set_permissions(fakes.join("fake"), fs::Permissions::from_mode(0o755)).expect("its mode");
    let read = ["dpkg-query", "apt-cache", "cargo", "rustup"];
    let changed = ["apt-get", "dpkg", "sleep", "sudo", "tee", "chmod", "rm", "systemctl"];
    for name in read.into_iter().chain(changed) {
        symlink("fake", fakes.join(name)).expect("a link");
    }
    fs::write(state.join("audit"), audit).expect("a file");
    for (command, says) in failures {
        fs::write(state.join(format!("fail-{command}")), says).expect("a file");
    }
    let path = format!("{}:/usr/bin:/bin", fakes.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../x");
    let mut command = Command::new(script);
    command.arg("setup").env("PATH", path).env("STATE", &state);
    command.env("CARGO_HOME", &state).env("TMPDIR", &state);
    let outcome = run_limited(&mut command, LIMIT);
    let log = fs::read_to_string(state.join("log")).unwrap_or_default();
    (outcome, log.lines().map(str::to_owned).collect())
}

const CHECK: &str = "apt-get -o DPkg::Lock::Timeout=600 check";
const AUDIT: &str = "dpkg --audit";
const CONFIGURE: &str = "dpkg --configure -a";
const UPDATE: &str = "apt-get -o DPkg::Lock::Timeout=600 update -q";
const INSTALL: &str = "apt-get -o DPkg::Lock::Timeout=600 install -qy --fix-broken \
                       --no-install-recommends sysbench";

/// Runs `./x setup` as [`set_up`] does, and checks that it succeeds and makes the expected calls,
/// in order.
#[track_caller]
fn asks(audit: &str, failures: &[(&str, &str)], expected: &[&str]) {
    let (outcome, asked) = set_up(audit, failures);
    outcome.assert_status(0);
    assert_eq!(asked, expected);
}

#[test]
fn only_what_is_missing_is_installed_and_apt_waits_for_its_locks() {
    asks("", &[], &[CHECK, AUDIT, UPDATE, INSTALL]);
}

#[test]
fn packages_that_were_left_half_installed_are_configured_first() {
    let half = "The following packages are only half configured:\n sysbench\n";
    asks(half, &[], &[CHECK, AUDIT, CONFIGURE, UPDATE, INSTALL]);
    // If packages have unmet dependencies, apt can't even list the available packages.
    let unmet = "E: Unmet dependencies. Try 'apt --fix-broken install'.\n";
    asks("", &[("apt-get", unmet)], &[CHECK, CONFIGURE, UPDATE, INSTALL]);
}

/// Apt does not wait for all locks, and dpkg waits for none.
#[test]
fn installing_is_retried_while_packages_are_locked() {
    let locked = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt)\n";
    asks("", &[("apt-get", locked)], &[CHECK, "sleep 5", CHECK, AUDIT, UPDATE, INSTALL]);
    let unmet = "E: Unmet dependencies.\n";
    let frontend = "dpkg: error: dpkg frontend lock was locked by another process with pid 7\n";
    let failures = [("apt-get", unmet), ("dpkg", frontend)];
    let asked = [CHECK, CONFIGURE, "sleep 5", CONFIGURE, UPDATE, INSTALL];
    asks("", &failures, &asked);
}
