//! Other users, while root records: they get nothing into the folder, and what somebody plants there
//! all the same hangs nobody, leads nowhere, and is not taken for a recording.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use syncline_conformance::{Case, Outcome, Program, is_root, run_limited, scratch, syncline};
use syncline_recording::folder::others;
use syncline_recording::{Error, process_files};

const NOBODY: u32 = 65534;
const LIMIT: Duration = Duration::from_secs(20);
const PRECIOUS: &[u8] = b"precious";

/// Records a program that waits, does something to the folder meanwhile, and lets it end.
fn meddled_with(folder: &Path, meddle: impl FnOnce(&Path) + Send) -> Outcome {
    let leaf = Program::compile("spawns.c");
    let script = "\"$1\" leaf 10; : > \"$2/ready\"; while [ ! -e \"$2/end\" ]; do sleep 0.02; done";
    let case = Case::new(&Program::installed("/bin/sh")).args(["-c", script, "sh"]);
    let case = case.arg(leaf.path()).arg(folder).limit(LIMIT.as_secs());
    thread::scope(|scope| {
        scope.spawn(|| {
            until_there(&folder.join("ready"));
            meddle(&folder.join("recording"));
            fs::write(folder.join("end"), "").expect("a file");
        });
        case.recorded_to(folder)
    })
}

fn until_there(file: &Path) {
    let deadline = Instant::now() + LIMIT;
    while !file.exists() {
        assert!(Instant::now() < deadline, "{} does not come", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a shell's command as another user.
fn as_nobody(script: &str, folder: &Path) -> Outcome {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(folder).uid(NOBODY).gid(NOBODY);
    run_limited(&mut command, LIMIT)
}

#[test]
fn another_user_gets_nothing_into_the_folder_and_nothing_out() {
    if !is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let folder = scratch();
    meddled_with(folder.path(), |recording| {
        for script in [
            "ln -s /etc/hostname \"$1/session.json.next\"",
            "mkfifo \"$1/77.syncline\"",
            ": > \"$1/78.syncline\"",
            "rm -f \"$1/session.json\"; [ ! -e \"$1/session.json\" ]",
            "mv \"$1\" \"$1.mine\"",
            "ls \"$1\"",
            "cat \"$1/session.json\"",
        ] {
            let outcome = as_nobody(script, recording);
            assert_ne!(outcome.status, 0, "another user could: {script}");
        }
    });
    let recording = folder.path().join("recording");
    let mode = |path: &Path| fs::symlink_metadata(path).expect("its mode").mode() & 0o7777;
    assert_eq!(mode(&recording), 0o700);
    for entry in fs::read_dir(&recording).expect("the recording") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// Plants a fifo and links in a folder, as another user if that is possible.
fn plant(folder: &Path, precious: &Path) {
    mkfifo(&folder.join("77.syncline"), Mode::from_bits_truncate(0o666)).expect("a fifo");
    symlink(precious, folder.join("78.syncline")).expect("a link");
    symlink(precious, folder.join("session.json.next")).expect("a link");
    if is_root() {
        for name in ["77.syncline", "78.syncline", "session.json.next"] {
            let name = CString::new(folder.join(name).as_os_str().as_bytes()).expect("a path");
            nix::unistd::fchownat(
                nix::fcntl::AT_FDCWD,
                name.as_c_str(),
                Some(NOBODY.into()),
                None,
                nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
            )
            .expect("another owner");
        }
    }
}

/// A file that must stay as it is.
fn precious(folder: &Path) -> PathBuf {
    let precious = folder.join("precious");
    fs::write(&precious, PRECIOUS).expect("a file");
    precious
}

/// A report's lines end where a terminal does.
fn in_one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn reader(arguments: &[&str], recording: &Path) -> Outcome {
    run_limited(Command::new(syncline()).args(arguments).arg(recording), LIMIT)
}

#[test]
fn a_planted_fifo_hangs_nobody_and_planted_links_lead_nowhere() {
    let folder = scratch();
    let precious = precious(folder.path());
    let outcome = meddled_with(folder.path(), |recording| {
        plant(recording, &precious);
        for subfolder in others(recording).expect("the recording") {
            plant(&subfolder, &precious);
        }
    });
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(errors.contains("recorded 1 process"), "{errors}");
    assert_eq!(fs::read(&precious).expect("the file"), PRECIOUS);

    let recording = folder.path().join("recording");
    let report = reader(&["report"], &recording);
    report.assert_status(0);
    let text = in_one_line(&report.stdout);
    assert!(text.contains("77.syncline: not a plain file"), "{text}");
    assert!(text.contains("78.syncline: not a plain file"), "{text}");
    reader(&["export", "--format", "json"], &recording).assert_status(0);
    // The program has ended.
    reader(&["top", "--once"], &recording).assert_status(1);
    reader(&["inspect", "--read"], &recording).assert_status(1);
}

/// A recording that another user made, put where root's lies.
#[test]
fn a_file_of_another_user_is_not_taken_for_a_recording() {
    if !is_root() {
        eprintln!("skipped: only root can give a file to another user");
        return;
    }
    let folder = scratch();
    meddled_with(folder.path(), |_| {});
    let recording = folder.path().join("recording");
    let file = process_files(&recording).expect("a recording").remove(0);
    let planted = recording.join("1.syncline");
    fs::copy(&file, &planted).expect("a copy");
    chown(&planted, Some(NOBODY), None).expect("another owner");
    let report = reader(&["report"], &recording);
    report.assert_status(0);
    let text = in_one_line(&report.stdout);
    assert!(text.contains("1.syncline: belongs to user 65534"), "{text}");
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    let folder = scratch();
    let open = folder.path().join("open");
    fs::create_dir(&open).expect("a folder");
    fs::set_permissions(&open, Permissions::from_mode(0o1777)).expect("its mode");
    let mut record = Command::new(syncline());
    let outcome = run_limited(record.arg("record").arg("-o").arg(&open).arg("true"), LIMIT);
    outcome.assert_status(125);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(errors.contains("everybody may write to it"), "{errors}");
    assert!(matches!(process_files(&open), Err(Error::Empty(_))));
}
