//! Apache with threads, under its own load generator: every request succeeds. Its children
//! give up root's privileges after their start.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use syncline_conformance::{Case, Outcome, run_limited};

use crate::{assert_locks, eventually, installed, serve_both};

#[test]
fn apache_with_the_event_module() {
    apache("event");
}

#[test]
fn apache_with_the_worker_module() {
    apache("worker");
}

fn apache(module: &str) {
    let program = installed("/usr/sbin/apache2", "apache2-bin");
    installed("/usr/bin/ab", "apache2-utils");
    let server = |folder: &Path| {
        fs::create_dir(folder.join("pages")).expect("a folder");
        fs::write(folder.join("pages/page.txt"), page()).expect("a page");
        let port = free_port();
        fs::write(folder.join("conf"), configuration(folder, module, port)).expect("a file");
        fs::write(folder.join("port"), format!("{port}\n")).expect("a file");
        Case::new(&program).args(["-D", "FOREGROUND", "-f"]).arg(folder.join("conf"))
    };
    let recording = serve_both(server, client);
    assert_locks(&recording, "apache2", 1000);
}

fn page() -> String {
    (0..2000).map(|n| format!("line {n}\n")).collect()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

fn configuration(folder: &Path, module: &str, port: u16) -> String {
    let folder = folder.display();
    format!(
        "ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/pid\n\
         ErrorLog {folder}/errors\nDocumentRoot {folder}/pages\nUser nobody\nGroup nogroup\n\
         LoadModule mpm_{module}_module /usr/lib/apache2/modules/mod_mpm_{module}.so\n\
         LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
         StartServers 2\nServerLimit 4\nThreadsPerChild 16\nMaxRequestWorkers 64\n\
         MinSpareThreads 16\nMaxSpareThreads 64\nMaxConnectionsPerChild 0\n"
    )
}

fn client(folder: &Path) -> Vec<String> {
    let port = eventually("the port", || whole_line(&folder.join("port")));
    let url = format!("http://127.0.0.1:{port}/page.txt");
    eventually("Apache", || (load(&url, 1).status == 0).then_some(()));
    let outcome = load(&url, 3000);
    let log = fs::read_to_string(folder.join("errors")).unwrap_or_default();
    // Shown if something is wrong.
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

/// The file's line; none as long as it is being written.
fn whole_line(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.strip_suffix('\n')?.to_owned())
}

/// Runs `ab` with so many requests, eight at a time.
fn load(url: &str, requests: u32) -> Outcome {
    let (requests, at_once) = (requests.to_string(), requests.min(8).to_string());
    let mut command = Command::new("/usr/bin/ab");
    command.args(["-q", "-n", &requests, "-c", &at_once, url]);
    run_limited(&mut command, Duration::from_secs(20))
}
