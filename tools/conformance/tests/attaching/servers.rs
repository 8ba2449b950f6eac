//! Servers under load, to which Syncline attaches again and again: no request is lost, and no
//! answer is wrong.
//!
//! A server that is not installed is skipped with a message: `./x setup` installs most. The
//! programs of the virtual machines (CPython and Java) check themselves; for the other servers,
//! clients check the answers. A thorough run prints the server's speed and memory before the first
//! recording and after the last.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getuid};
use syncline_conformance::{MARIADB, eventually, scratch};
use syncline_recording::{ProcessFile, process_files};

use crate::{record, stopped, times};

/// A server, ended by SIGTERM when the value is dropped.
struct Server(Child);

impl Server {
    fn start(command: &mut Command) -> Server {
        Server(command.stdin(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

fn is_missing(path: &str) -> bool {
    let missing = !Path::new(path).exists();
    if missing {
        eprintln!("left out: {path} is not installed");
    }
    missing
}

/// Repeatedly attaches to a process and detaches while the process is under load. Each of `clients`
/// threads repeatedly calls `client` with the thread's index. A call makes some requests and
/// returns their number. The call panics if a request fails, whether Syncline is attached or not.
fn under_load(pid: u32, clients: usize, client: impl Fn(usize) -> u64 + Sync) {
    let (ends, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let thorough = std::env::var_os("SYNCLINE_ATTACH_TIMES").is_some();
    let length = if thorough { "2s" } else { "0.3s" };
    let folder = scratch();
    thread::scope(|scope| {
        let serve = |number| {
            let (ends, answered, client) = (&ends, &answered, &client);
            move || {
                while !ends.load(Relaxed) {
                    answered.fetch_add(client(number), Relaxed);
                }
            }
        };
        let running: Vec<_> = (0..clients).map(|n| scope.spawn(serve(n))).collect();
        let failed = || running.iter().any(thread::ScopedJoinHandle::is_finished);
        let more = || {
            let before = answered.load(Relaxed);
            eventually("an answer", || (answered.load(Relaxed) > before || failed()).then_some(()));
        };
        let measure = || {
            let (began, start) = (answered.load(Relaxed), Used::of(pid));
            eventually("a sample", || (start.at.elapsed() > SAMPLE || failed()).then_some(()));
            start.until_now(pid, answered.load(Relaxed) - began)
        };
        more();
        let before = thorough.then(measure);
        // A failure in this closure is returned as an error, so that the clients end before the
        // test fails.
        let attach = || -> Result<(), String> {
            let mut attached = 0;
            for time in 0..times(2) {
                more();
                let recording = folder.path().join(time.to_string());
                let output = record(pid, &recording).args(["--for", length]).output();
                let output = output.expect("it starts");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                // The waits of a process with one thread may all be too short to borrow the thread.
                // In that case, Syncline leaves the process as it was.
                if output.status.code() == Some(126) && said.contains("could be borrowed") {
                    eprintln!("not attached to, time {time}: {said}");
                    continue;
                }
                if output.status.code() != Some(0) || stopped(pid) || failed() {
                    return Err(format!("time {time}: {said}"));
                }
                for file in process_files(&recording).map_err(|e| e.to_string())? {
                    ProcessFile::open(&file).map_err(|e| e.to_string())?;
                }
                let _ = fs::remove_dir_all(&recording);
                attached += 1;
            }
            more();
            if let Some(before) = &before {
                eprintln!("{pid}, attached to {attached} times: {before}; then {}", measure());
            }
            if attached == 0 { Err("it was refused each time".into()) } else { Ok(()) }
        };
        let outcome = attach();
        ends.store(true, Relaxed);
        running.into_iter().for_each(|client| client.join().expect("a client's requests"));
        outcome.unwrap_or_else(|said| panic!("{said}"));
    })
}

/// The time for which a server's speed is measured.
const SAMPLE: Duration = Duration::from_secs(10);

/// The processor time that a process has used, and when that was read.
struct Used {
    at: Instant,
    /// In hundredths of a second, including threads that have ended.
    processor: u64,
}

impl Used {
    fn of(pid: u32) -> Used {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let (_, numbers) = stat.rsplit_once(") ").expect("a name in parentheses");
        let number = |at| numbers.split(' ').nth(at).and_then(|n| n.parse::<u64>().ok());
        let processor = number(11).zip(number(12)).map(|(user, system)| user + system);
        Used { at: Instant::now(), processor: processor.expect("numbers") }
    }

    /// The speed since `self` was read, and the memory now, as text.
    fn until_now(&self, pid: u32, answers: u64) -> String {
        let rate = answers as f64 / self.at.elapsed().as_secs_f64();
        let each = (Used::of(pid).processor - self.processor) as f64 * 1e4 / answers as f64;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let (own, files, shared) = (of("RssAnon:"), of("RssFile:"), of("RssShmem:"));
        format!(
            "{rate:.1} answers/s, {each:.2} us of processor each, {own} own, {files} of files, {shared} shared"
        )
    }
}

/// Sends a line to a server, and returns the line that it answers.
fn ask(server: &mut BufReader<UnixStream>, question: &str) -> String {
    server.get_mut().write_all(question.as_bytes()).expect("a question");
    let mut answer = String::new();
    server.read_line(&mut answer).expect("an answer");
    answer.trim_end().to_owned()
}

#[test]
fn memcached() {
    if is_missing("/usr/bin/memcached") {
        return;
    }
    let folder = scratch();
    let socket = folder.path().join("socket");
    let mut command = Command::new("/usr/bin/memcached");
    let server = Server::start(command.args(["-u", "root", "-t", "4", "-s"]).arg(&socket));
    let connect = || eventually("memcached", || UnixStream::connect(&socket).ok());
    under_load(server.0.id(), 4, |client| {
        let mut server = BufReader::new(connect());
        let mut ask = |question: &str| ask(&mut server, question);
        for n in 0..500 {
            let value = (n * 7919 + client).to_string();
            let set = format!("set k{client}-{n} 0 0 {}\r\n{value}\r\n", value.len());
            assert_eq!(ask(&set), "STORED");
            let sum = (n * 7919 + client + 5).to_string();
            assert_eq!(ask(&format!("incr k{client}-{n} 5\r\n")), sum);
            assert_eq!(ask(&format!("delete k{client}-{n}\r\n")), "DELETED");
        }
        1500
    });
}

#[test]
fn redis_with_threads() {
    if is_missing("/usr/bin/redis-server") {
        return;
    }
    let folder = scratch();
    let socket = folder.path().join("socket");
    let mut command = Command::new("/usr/bin/redis-server");
    command.args([
        "--port",
        "0",
        "--save",
        "",
        "--io-threads",
        "2",
        "--io-threads-do-reads",
        "yes",
    ]);
    command.current_dir(folder.path()).stdout(Stdio::null());
    let server = Server::start(command.arg("--unixsocket").arg(&socket));
    let connect = || eventually("redis", || UnixStream::connect(&socket).ok());
    under_load(server.0.id(), 4, |client| {
        let mut server = BufReader::new(connect());
        let mut ask = |question: &str| ask(&mut server, question);
        let key = format!("k{client}");
        ask(&format!("DEL {key}\r\n"));
        for n in 1..=1000 {
            assert_eq!(ask(&format!("INCR {key}\r\n")), format!(":{n}"));
        }
        1000
    });
}

#[test]
fn apache() {
    if is_missing("/usr/sbin/apache2") || is_missing("/usr/bin/ab") {
        return;
    }
    let folder = scratch();
    let [_, upper, middle, lower] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{middle}.{lower}:20083", 100 + upper);
    let shown = folder.path().display();
    let page: String = (0..500).map(|n| format!("line {n}\n")).collect();
    fs::create_dir(folder.path().join("pages")).expect("a folder");
    fs::write(folder.path().join("pages/page.txt"), page).expect("a page");
    let configuration = format!(
        "ServerRoot {shown}\nServerName localhost\nListen {address}\nPidFile {shown}/pid\n\
         ErrorLog {shown}/errors\nDocumentRoot {shown}/pages\nUser nobody\nGroup nogroup\n\
         LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n\
         LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
         StartServers 1\nServerLimit 1\nThreadsPerChild 16\nMaxRequestWorkers 16\n\
         MinSpareThreads 16\nMaxSpareThreads 16\nMaxConnectionsPerChild 0\n"
    );
    fs::write(folder.path().join("conf"), configuration).expect("a file");
    let mut command = Command::new("/usr/sbin/apache2");
    let file = folder.path().join("conf");
    let server = Server::start(command.args(["-D", "FOREGROUND", "-f"]).arg(file));
    let load = |requests: u32| {
        let (count, at_once) = (requests.to_string(), requests.min(8).to_string());
        let mut command = Command::new("/usr/bin/ab");
        command.args(["-q", "-n", &count, "-c", &at_once, &format!("http://{address}/page.txt")]);
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let right = output.status.success() && text.contains("Failed requests:        0");
        (right && !text.contains("Non-2xx"), text)
    };
    eventually("Apache", || load(1).0.then_some(()));
    let children = format!("/proc/{0}/task/{0}/children", server.0.id());
    let children = fs::read_to_string(children).expect("its children");
    let child = children.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a child");
    under_load(child, 1, |_| {
        let (right, text) = load(1000);
        assert!(right, "{text}");
        1000
    });
}

#[test]
fn mariadb() {
    if is_missing("/usr/sbin/mariadbd") || is_missing("/usr/bin/mysqlslap") {
        return;
    }
    let folder = scratch();
    let mut command = Command::new("/bin/sh");
    command.args(["-ec", MARIADB, "sh"]).arg(folder.path());
    let server = Server::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let socket = folder.path().join("socket");
    let query = |sql: &str| {
        let mut command = Command::new("/usr/bin/mariadb");
        command.args(["--no-defaults", "-uroot", "-N", "-e", sql, "-S"]).arg(&socket);
        let output = command.output().expect("it starts");
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(answer)
    };
    eventually("MariaDB", || query("select 1"));
    query("create database b; create table b.a (id int primary key, n int) engine=innodb").unwrap();
    query("insert into b.a values (1, 0), (2, 0)").expect("an answer");
    let asked = AtomicU64::new(0);
    under_load(server.0.id(), 1, |_| {
        let mut command = Command::new("/usr/bin/mysqlslap");
        let update = "update b.a set n = n + 1 where id = 2";
        command.args(["--no-defaults", "-uroot", "--concurrency=4", "--number-of-queries=400"]);
        command.args(["--create-schema=b", "--no-drop", "--query", update, "-S"]).arg(&socket);
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !said.contains("rror"), "{said}");
        asked.fetch_add(400, Relaxed);
        400
    });
    let sum = query("select sum(n) from b.a").expect("an answer");
    assert_eq!(sum, asked.load(Relaxed).to_string());
}

/// Syncline attaches to one of the server's processes while this process serves a client.
#[test]
fn postgresql() {
    let folders = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let Some(bin) = folders.filter_map(|f| Some(f.ok()?.path().join("bin"))).max() else {
        eprintln!("left out: PostgreSQL is not installed");
        return;
    };
    if !getuid().is_root() || is_missing(bin.join("pgbench").to_str().expect("UTF-8")) {
        return;
    }
    let folder = scratch();
    // PostgreSQL does not run as root.
    let (nobody, data) = (65534, folder.path().join("data"));
    std::os::unix::fs::chown(folder.path(), Some(nobody), Some(nobody)).expect("root may");
    let tool = |name: &str| {
        let mut command = Command::new(bin.join(name));
        command.uid(nobody).gid(nobody).current_dir(folder.path());
        command.env("PGHOST", folder.path()).env("PGDATABASE", "postgres").env("PGUSER", "me");
        command.stdin(Stdio::null());
        command
    };
    let output = tool("initdb").args(["-U", "me", "-A", "trust", "-D"]).arg(&data).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = tool("postgres");
    command.args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"]).arg(folder.path());
    let server = Server::start(command.arg("-D").arg(&data).stderr(Stdio::null()));
    let query = |sql: &str| {
        let output = tool("psql").args(["-Atc", sql]).output().expect("it starts");
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(answer)
    };
    eventually("PostgreSQL", || query("select 1"));
    assert!(tool("pgbench").args(["-i", "-q"]).output().expect("it starts").status.success());
    let mut bench = tool("pgbench");
    bench.args(["-c", "2", "-T", "3600"]).stdout(Stdio::null()).stderr(Stdio::null());
    // The benchmark is dropped before the server, since the server waits for its clients before it
    // ends.
    let mut bench = Server::start(&mut bench);
    let backend = "select max(pid) from pg_stat_activity where application_name = 'pgbench' \
                   having count(*) = 2";
    let pid = eventually("a client", || query(backend).filter(|pid| !pid.is_empty()));
    let count =
        || query("select count(*) from pgbench_history").and_then(|n| n.parse::<u64>().ok());
    // The server forks a process for each session. Such a process has one thread, whose stack still
    // has what `fork` left there.
    under_load(pid.parse().expect("a number"), 1, |_| {
        let before = count().expect("an answer");
        eventually("a transaction", || count().filter(|&n| n > before)) - before
    });
    assert!(bench.0.try_wait().expect("it is ours").is_none(), "no client was sent away");
    drop(bench);
    let right = "select (select sum(abalance) from pgbench_accounts) \
                 = (select sum(delta) from pgbench_history)";
    assert_eq!(query(right).as_deref(), Some("t"));
    drop(server);
}

/// Attaches to a program that checks itself and prints a line for each correct round.
fn checks_itself(command: &mut Command) {
    let mut server = Server::start(command.stdout(Stdio::piped()));
    let output = BufReader::new(server.0.stdout.take().expect("a pipe"));
    let lines = std::sync::Mutex::new(output.lines());
    let next = || lines.lock().expect("no panic").next().expect("it goes on").expect("a line");
    assert_eq!(next(), "ready");
    under_load(server.0.id(), 1, |_| {
        let line = next();
        assert!(line.parse::<u64>().is_ok(), "{line}");
        1
    });
}

fn text(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

#[test]
fn cpython() {
    // `python3` may be a script of a version manager, which starts the interpreter as another
    // process. So the interpreter is asked for its path.
    let real = ["/usr/bin/python3", "python3"].into_iter().find_map(|python| {
        let asked = Command::new(python).args(["-c", "import sys; print(sys.executable)"]).output();
        asked.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    });
    let Some(real) = real else {
        eprintln!("left out: python3 is not installed");
        return;
    };
    let real = String::from_utf8_lossy(&real).trim().to_owned();
    checks_itself(Command::new(real).arg(text("busy.py")));
}

#[test]
fn a_java_virtual_machine() {
    if is_missing("/usr/bin/java") || is_missing("/usr/bin/javac") {
        return;
    }
    let folder = scratch();
    let mut compiler = Command::new("/usr/bin/javac");
    let made = compiler.arg("-d").arg(folder.path()).arg(text("Busy.java")).output();
    let made = made.expect("it starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut command = Command::new("/usr/bin/java");
    checks_itself(command.args(["-Xmx128m", "-cp"]).arg(folder.path()).arg("Busy"));
}
