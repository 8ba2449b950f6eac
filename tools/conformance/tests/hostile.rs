//! While root records, other users can't put anything into the recording's folder. If another
//! user's file is in the folder anyway, no process hangs because of it, no link is followed, and
//! the file is not taken for a recording.

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
use syncline_conformance::{
    Case, Outcome, Program, inspect_library, is_root, preload_library, run_limited, scratch,
    syncline,
};
use syncline_recording::folder::{files, others};
use syncline_recording::{Error, process_files};

const NOBODY: u32 = 65534;
const LIMIT: Duration = Duration::from_secs(20);
const PRECIOUS: &[u8] = b"precious";

/// Records a shell script that twice runs a program with a lock. Between the two runs the script
/// waits until `change` has changed the folder.
fn record_while_changing(folder: &Path, change: impl FnOnce(&Path) + Send) -> Outcome {
    run_while_changing(&["record"], folder, change)
}

/// Like [`record_while_changing`], but with `command` in place of `record`.
fn run_while_changing(
    command: &[&str],
    folder: &Path,
    change: impl FnOnce(&Path) + Send,
) -> Outcome {
    preload_library();
    inspect_library();
    let leaf = Program::compile("spawns.c");
    let script = "\"$1\" leaf 10; : > \"$2/ready\"; while [ ! -e \"$2/end\" ]; do sleep 0.02; done
                  \"$1\" leaf 256";
    let mut run = Command::new(syncline());
    run.args(command).arg("-o").arg(folder.join("recording")).args(["--", "/bin/sh", "-c"]);
    run.args([script, "sh"]).arg(leaf.path()).arg(folder);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            until_there(&folder.join("ready"));
            change(&folder.join("recording"));
            fs::write(folder.join("end"), "").expect("a file");
        });
        run_limited(&mut run, LIMIT)
    });
    outcome.assert_status(0);
    outcome
}

fn until_there(file: &Path) {
    let deadline = Instant::now() + LIMIT;
    while !file.exists() {
        assert!(Instant::now() < deadline, "{} does not come", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a shell script with these parameters as another user.
fn as_nobody(script: &str, parameters: &[&Path]) -> Outcome {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(parameters).uid(NOBODY).gid(NOBODY);
    run_limited(&mut command, LIMIT)
}

#[test]
fn another_user_gets_nothing_into_the_folder_and_nothing_out() {
    if !is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let inspect = ["inspect", "--budget", "0", "--trace-only"];
    for (command, ending) in [(&["record"][..], "syncline"), (&inspect, "trace")] {
        let folder = scratch();
        run_while_changing(command, folder.path(), |recording| {
            let file = files(recording, ending).expect("the folder").remove(0);
            for script in [
                "ln -s /etc/hostname \"$1/session.json.next\"",
                "mkfifo \"$1/77.$3\"",
                ": > \"$1/78.$3\"",
                "rm -f \"$2\"; [ ! -e \"$2\" ]",
                "mv \"$1\" \"$1.mine\"",
                "ls \"$1\"",
                "cat \"$2\"",
            ] {
                let outcome = as_nobody(script, &[recording, &file, ending.as_ref()]);
                assert_ne!(outcome.status, 0, "another user could: {script}");
            }
        });
        let recording = folder.path().join("recording");
        assert_eq!(mode(&recording), 0o700);
        assert!(files(&recording, ending).expect("the folder").len() >= 2);
        for entry in fs::read_dir(&recording).expect("the recording") {
            let path = entry.expect("an entry").path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
}

/// A process that gave up its privileges leaves its file in the subfolder for such processes.
#[test]
fn the_subfolder_for_others_is_closed_afterwards_with_what_is_in_it() {
    if !is_root() {
        eprintln!("skipped: only root can give privileges up");
        return;
    }
    let folder = scratch();
    let case = Case::new(&Program::compile("privileges.c")).arg("setuid").arg(folder.path());
    case.recorded_to(folder.path());
    let recording = folder.path().join("recording");
    let subfolder = others(&recording).expect("the recording").remove(0);
    assert_eq!(files(&subfolder, "syncline").expect("a folder").len(), 1);
    assert_eq!((mode(&recording), mode(&subfolder)), (0o700, 0o700));
    let list = as_nobody("ls \"$1\"", &[&subfolder]);
    assert_ne!(list.status, 0, "another user could look into it");
}

/// A user who may write to the parent folder moves the recording away and puts another folder in
/// its place.
#[test]
fn nothing_is_put_into_a_folder_that_took_the_place_of_the_recording() {
    let folder = scratch();
    record_while_changing(folder.path(), |recording| {
        fs::rename(recording, folder.path().join("moved")).expect("the recording");
        fs::create_dir(recording).expect("another folder");
    });
    let left = fs::read_dir(folder.path().join("recording")).expect("that folder").count();
    assert_eq!(left, 0, "files in the folder that was put there");
    let moved = process_files(&folder.path().join("moved")).expect("the recording");
    assert_eq!(moved.len(), 1, "what was recorded before");
}

/// The folder gets a hard link to a file that is elsewhere. That file would be truncated if it were
/// taken for a file of this recording.
#[test]
fn a_hard_linked_file_stays_unchanged() {
    let folder = scratch();
    let kept = folder.path().join("kept");
    fs::create_dir(&kept).expect("a folder");
    Case::new(&Program::compile("spawns.c")).args(["leaf", "256"]).recorded_to(&kept);
    let file = process_files(&kept.join("recording")).expect("a recording").remove(0);
    let length = fs::metadata(&file).expect("its length").len() + (1 << 20);
    fs::OpenOptions::new().write(true).open(&file).expect("the file").set_len(length).expect("it");
    record_while_changing(folder.path(), |recording| {
        fs::hard_link(&file, recording.join("79.syncline")).expect("a second name");
    });
    assert_eq!(fs::metadata(&file).expect("its length").len(), length);
}

/// The access rights of a file or folder.
fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("its mode").mode() & 0o7777
}

/// Plants a fifo and links in a folder. They belong to another user if the test runs as root.
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

/// Makes a file that must stay as it is.
fn precious(folder: &Path) -> PathBuf {
    let precious = folder.join("precious");
    fs::write(&precious, PRECIOUS).expect("a file");
    precious
}

/// The words of a text in one line, since a report breaks its lines at a terminal's width.
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
    let outcome = record_while_changing(folder.path(), |recording| {
        plant(recording, &precious);
        for subfolder in others(recording).expect("the recording") {
            plant(&subfolder, &precious);
        }
    });
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(errors.contains("recorded 2 processes"), "{errors}");
    assert_eq!(fs::read(&precious).expect("the file"), PRECIOUS);

    let recording = folder.path().join("recording");
    let report = reader(&["report"], &recording);
    report.assert_status(0);
    let text = in_one_line(&report.stdout);
    assert!(text.contains("77.syncline: not a plain file"), "{text}");
    assert!(text.contains("78.syncline: not a plain file"), "{text}");
    reader(&["export", "--format", "json"], &recording).assert_status(0);
    // `top` fails, since the program has ended.
    reader(&["top", "--once"], &recording).assert_status(1);
    reader(&["inspect", "--read"], &recording).assert_status(1);
}

/// Root's recording folder has a copy of one of its files, and the copy belongs to another user.
#[test]
fn a_file_of_another_user_is_not_taken_for_a_recording() {
    if !is_root() {
        eprintln!("skipped: only root can give a file to another user");
        return;
    }
    let folder = scratch();
    record_while_changing(folder.path(), |_| {});
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
    assert!(errors.contains("every user may write to it"), "{errors}");
    assert!(matches!(process_files(&open), Err(Error::Empty(_))));
}
