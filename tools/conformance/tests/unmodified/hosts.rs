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

/// Pointers to functions of libraries are shared, so the libraries have to be the same.
#[test]
fn a_host_with_another_library_is_refused() {
    let folder = scratch();
    let mut options = two_hosts(folder.path());
    let maps = fs::read_to_string("/proc/self/maps").expect("the libraries of this process");
    let library = maps.lines().find_map(|line| line.split(' ').next_back().filter(is_libc));
    let library = library.expect("the C library");
    let mut other = fs::read(library).expect("it is read");
    // Nothing reads the last byte of the table of sections, which debuggers need.
    *other.last_mut().expect("it is not empty") ^= 1;
    fs::write(folder.path().join("libc.so.6"), other).expect("a file");
    let set = format!("export LD_LIBRARY_PATH={}", folder.path().display());
    options[3] = script(folder.path(), "rsh", &format!("#!/bin/sh\n{set}\nexec sh -c \"$2\"\n"));
    let program = Program::compile("ranks.c");
    let mut command = Command::new(syncline());
    command
        .args(["cluster", "-n", "2", "--unmodified"])
        .args(&options)
        .env_remove("LD_LIBRARY_PATH");
    command.arg("--").arg(program.path()).arg("once");
    let outcome = run_limited(&mut command, Duration::from_secs(60));
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert_ne!(outcome.status, 0, "{said}");
    assert!(
        said.contains("rank 1 runs another program than rank 0, or has other options"),
        "{said}"
    );
}

fn is_libc(file: &&str) -> bool {
    file.ends_with("/libc.so.6")
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
