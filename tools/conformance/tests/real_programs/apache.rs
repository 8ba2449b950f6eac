//! Apache with threads, under its own load generator, `ab`: every request succeeds. Apache's
//! children give up root's privileges after their start.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use syncline_conformance::{Case, Outcome, eventually, run_limited};

use crate::{assert_locks, installed, serve_both};

#[test]
fn apache_with_the_event_module() {
    apache("event", 20_081);
}

#[test]
fn apache_with_the_worker_module() {
    apache("worker", 20_082);
}

fn apache(module: &str, port: u16) {
    let program = installed("/usr/sbin/apache2", "apache2-bin");
    installed("/usr/bin/ab", "apache2-utils");
    let address = |folder: &Path| format!("{}:{port}", own_address(folder));
    let server = |folder: &Path| {
        fs::create_dir(folder.join("pages")).expect("a folder");
        fs::write(folder.join("pages/page.txt"), page()).expect("a page");
        fs::write(folder.join("conf"), configuration(folder, module, &address(folder)))
            .expect("a file");
        Case::new(&program).args(["-D", "FOREGROUND", "-f"]).arg(folder.join("conf"))
    };
    let recording = serve_both(server, |folder| client(folder, &address(folder)));
    assert_locks(&recording, "apache2", 1000);
}

fn page() -> String {
    (0..2000).map(|n| format!("line {n}\n")).collect()
}

/// A loopback address at which only the server of this folder listens. At the usual address
/// (127.0.0.1), a client of another program may use the port.
fn own_address(folder: &Path) -> Ipv4Addr {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let [upper, middle, lower, ..] = hasher.finish().to_be_bytes();
    Ipv4Addr::new(127, 64 + upper % 64, middle, lower)
}

fn configuration(folder: &Path, module: &str, address: &str) -> String {
    let folder = folder.display();
    format!(
        "ServerRoot {folder}\nServerName localhost\nListen {address}\nPidFile {folder}/pid\n\
         ErrorLog {folder}/errors\nDocumentRoot {folder}/pages\nUser nobody\nGroup nogroup\n\
         LoadModule mpm_{module}_module /usr/lib/apache2/modules/mod_mpm_{module}.so\n\
         LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
         StartServers 2\nServerLimit 4\nThreadsPerChild 16\nMaxRequestWorkers 64\n\
         MinSpareThreads 16\nMaxSpareThreads 64\nMaxConnectionsPerChild 0\n"
    )
}

fn client(folder: &Path, address: &str) -> Vec<String> {
    let url = format!("http://{address}/page.txt");
    eventually("Apache", || (load(&url, 1).status == 0).then_some(()));
    let outcome = load(&url, 3000);
    let log = fs::read_to_string(folder.join("errors")).unwrap_or_default();
    // The log is shown if the test fails.
    eprintln!("Apache says:\n{log}");
    outcome.assert_status(0);
    let text = String::from_utf8_lossy(&outcome.stdout);
    let wanted = ["Complete requests", "Failed requests", "Non-2xx", "HTML transferred"];
    let answers = text.lines().filter(|line| wanted.iter().any(|w| line.starts_with(w)));
    let answers: Vec<String> = answers.map(str::to_owned).collect();
    assert!(answers[0].ends_with("3000") && answers[1].ends_with(" 0"), "{text}");
    let pid = fs::read_to_string(folder.join("pid")).expect("its process number");
    kill(Pid::from_raw(pid.trim().parse().expect("a number")), Signal::SIGTERM).expect("a signal");
    answers
}

/// Runs `ab` with `requests` requests, at most eight at a time.
fn load(url: &str, requests: u32) -> Outcome {
    let (requests, at_once) = (requests.to_string(), requests.min(8).to_string());
    let mut command = Command::new("/usr/bin/ab");
    command.args(["-q", "-n", &requests, "-c", &at_once, url]);
    run_limited(&mut command, Duration::from_secs(20))
}
