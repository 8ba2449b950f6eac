//! Ordinary programs on several hosts. The hosts are this machine, or namespaces of its network, but
//! their ranks share no memory.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{Case, Program, run_limited, scratch, syncline};

use crate::functions::{modes, same};
use crate::programs::text;

/// A script that takes the place of the remote shell.
fn script(folder: &Path, name: &str, text: &str) -> OsString {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path.into()
}

/// The options for two hosts. The remote shell starts the command on this machine.
fn two_hosts(folder: &Path) -> [OsString; 4] {
    let hosts = folder.join("hosts");
    fs::write(&hosts, "localhost\nother\n").expect("a file");
    let shell = script(folder, "rsh", "#!/bin/sh\nexec sh -c \"$2\"\n");
    ["--hosts".into(), hosts.into(), "--rsh".into(), shell]
}

#[test]
fn each_kind_of_function_works_on_two_hosts() {
    let folder = scratch();
    let hosts = two_hosts(folder.path());
    for (number, mode) in modes().enumerate() {
        same(mode, 2 + number % 2, &hosts);
    }
}

#[test]
fn pigz_on_two_hosts() {
    let folder = scratch();
    let file = folder.path().join("text");
    text(&file);
    let case = Case::new(&Program::installed("/usr/bin/pigz")).args(["-p", "4", "-c"]).arg(&file);
    let alone = case.plain();
    let case = two_hosts(folder.path()).iter().fold(case, |case, option| case.option(option));
    assert!(case.limit(100).on_ranks(2).stdout == alone.stdout);
}

/// Makes two namespaces of the network with a cable between them, in which only the second one's name
/// leads to the other, and runs `$@` in the first one.
const CABLE: &str = r#"
ip link set lo up
unshare --net sleep 1000 &
sleeper=$!
trap 'kill $sleeper' EXIT
until test "$(readlink /proc/$sleeper/ns/net)" != "$(readlink /proc/$$/ns/net)"; do :; done
ip link add here type veth peer name there netns $sleeper
ip addr add 10.77.0.1/24 dev here && ip link set here up
export OTHER="nsenter --target $sleeper --net"
$OTHER ip addr add 10.77.0.2/24 dev there && $OTHER ip link set there up
$OTHER ip link set lo up
"$@"
"#;

#[test]
fn hosts_with_networks_of_their_own() {
    let apart = ["--user", "--map-root-user", "--net"];
    let limit = Duration::from_secs(100);
    let mut check = Command::new("unshare");
    check.args(apart).args(["ip", "link", "add", "a", "type", "veth", "peer", "name", "b"]);
    if run_limited(&mut check, limit).status != 0 {
        eprintln!("skipped: this user may not make a namespace of the network, or `ip` is missing");
        return;
    }
    let folder = scratch();
    let mut options = two_hosts(folder.path());
    options[3] = script(folder.path(), "rsh", "#!/bin/sh\nexec $OTHER sh -c \"$2\"\n");
    let program = Program::compile("ranks.c");
    for mode in ["mutexes", "barriers"] {
        let alone = Case::new(&program).arg(mode).plain();
        let mut command = Command::new("unshare");
        command.args(apart).args(["sh", "-c", CABLE, "sh"]).arg(syncline()).arg("cluster");
        command.args(["-n", "2", "--unmodified"]).args(&options);
        let outcome = run_limited(command.arg("--").arg(program.path()).arg(mode), limit);
        assert_eq!(outcome.status, 0, "{}", String::from_utf8_lossy(&outcome.stderr));
        assert_eq!(outcome.stdout, alone.stdout, "{mode}");
    }
}
