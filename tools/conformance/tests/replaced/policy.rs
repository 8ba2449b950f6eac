//! `syncline exec --policy`: each object gets the lock that the rules choose, even in a program
//! that was stripped or rebuilt. Rules that no longer match anything are reported.
//!
//! The program reads from its own objects which lock each of them got. Locks are numbered from 1 in
//! the order in which the rules first name them, and the default comes last. 0 stands for no lock
//! yet, and 31 for the C library's lock of an object that has neither a rule nor a default.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use syncline_conformance::{
    Case, Outcome, Program, replace_library, run_limited, scratch, syncline,
};
use tempfile::TempDir;

const HEAD: &str = "version = 1\n";

fn rule(key: &str, name: &str, locks: &str) -> String {
    format!("[[lock]]\n{key} = \"{name}\"\nuse = \"{locks}\"\n")
}

/// Runs a program under a policy. Returns its outcome, and the folder of the policy.
fn run(program: &Path, policy: &str) -> (Outcome, TempDir) {
    replace_library();
    let folder = scratch();
    let path = folder.path().join("policy.toml");
    fs::write(&path, policy).expect("a policy");
    let mut command = Command::new(syncline());
    command.args(["exec", "--policy"]).arg(&path).arg("--").arg(program);
    let outcome = run_limited(&mut command, std::time::Duration::from_secs(60));
    outcome.assert_status(0);
    (outcome, folder)
}

fn sites() -> Program {
    Program::compile("replaced_sites.c")
}

/// A function that takes an object's name and returns the lock numbers that the program has printed
/// for the object.
fn numbers(outcome: &Outcome) -> impl Fn(&str) -> String {
    let text = outcome.behaviour();
    move |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
    }
}

fn errors(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

/// The number of the source line that ends in this comment.
fn line_of(mark: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/replaced_sites.c");
    let text = fs::read_to_string(path).expect("the source");
    1 + text.lines().position(|line| line.ends_with(mark)).expect("the mark")
}

fn all_rules() -> String {
    [
        HEAD.to_owned(),
        "default = \"gate+rw_readers\"\n".to_owned(),
        rule("object", "table", "mcs"),
        rule("acquired", &format!("take at /x/replaced_sites.c:{}", line_of("// TAKE")), "hmcs"),
        rule("acquired", "wrapped", "ticket-yield"),
        rule("acquired", "wait_for_it", "libc"),
        rule("created", "make", "mcs"),
        rule("object", "row+0x50", "futex"),
        rule("acquired", "push", "clh"),
    ]
    .concat()
}

#[test]
fn every_object_gets_the_lock_of_its_most_precise_rule() {
    let (outcome, _folder) = run(sites().path(), &all_rules());
    let of = numbers(&outcome);
    assert_eq!(errors(&outcome), "");
    // Rules match by the object's name, by the call site that creates the object, and by the call
    // site that first acquires it.
    assert_eq!((of("table"), of("heap"), of("local")), ("1".into(), "1".into(), "6".into()));
    assert_eq!(of("row"), "6 0 5");
    // These call sites are in an inlined function and behind a wrapper.
    assert_eq!((of("taken"), of("inner")), ("2".into(), "3".into()));
    assert_eq!((of("waited"), of("again")), ("4".into(), "4".into()));
    // No rule matches `shelf` and `spin`. The lock of such an object is not chosen when the object
    // is created, since a rule for the first acquisition may still match.
    assert_eq!((of("shelf"), of("spin")), ("7".into(), "7".into()));
    assert_eq!(of("made:"), "heap 1 spin 0");
}

#[test]
fn the_first_of_equal_class_rules_applies() {
    let policy = [
        HEAD,
        &rule("class", "static", "mcs+rw_readers"),
        &rule("class", "static", "clh"),
        &rule("class", "dynamic", "futex"),
    ];
    let (outcome, _folder) = run(sites().path(), &policy.concat());
    let of = numbers(&outcome);
    assert_eq!((of("table"), of("shelf"), of("spin")), ("1".into(), "1".into(), "1".into()));
    assert_eq!(
        (of("heap"), of("local"), of("made:")),
        ("3".into(), "3".into(), "heap 3 spin 1".into())
    );
}

/// A rule for mutexes does not match reader-writer locks. Without a default, everything else keeps
/// the C library's locks.
#[test]
fn unmatched_objects_keep_the_c_librarys_lock() {
    let (outcome, _folder) =
        run(sites().path(), &(HEAD.to_owned() + &rule("class", "static", "mcs")));
    let of = numbers(&outcome);
    assert_eq!((of("table"), of("shelf"), of("heap")), ("1".into(), "31".into(), "31".into()));
}

fn tool(name: &str, words: &[&str]) -> Output {
    let output = Command::new(name).args(words).output().expect(name);
    assert!(output.status.success(), "{output:?}");
    output
}

/// A copy of the program under another name, without its symbols.
fn stripped(folder: &Path) -> PathBuf {
    let copy = folder.join("copy");
    fs::copy(sites().path(), &copy).expect("a copy");
    tool("strip", &[&copy.to_string_lossy()]);
    copy
}

/// The address of a variable in the program's file, in hexadecimal digits.
fn address_of(variable: &str) -> String {
    let listed = tool("nm", &[&sites().path().to_string_lossy()]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let line = text.lines().find(|line| line.ends_with(&format!(" {variable}"))).expect("it");
    line.split(' ').next().expect("an address").trim_start_matches('0').to_owned()
}

#[test]
fn a_stripped_program_goes_by_offsets() {
    let folder = scratch();
    let copy = stripped(folder.path());
    let offsets = format!("offsets = [\"copy+0x{}\"]\n", address_of("table"));
    let policy =
        [HEAD, &rule("object", "table", "mcs"), &offsets, &rule("acquired", "push", "gate")];
    let (outcome, _policy) = run(&copy, &policy.concat());
    let of = numbers(&outcome);
    assert_eq!((of("table"), of("local")), ("1".into(), "31".into()));
    let said = errors(&outcome);
    assert!(said.contains("policy.toml:2: `table` can't be looked up"), "{said}");
    assert!(said.contains("offsets are used") && said.contains("`push` can't be"), "{said}");
}

#[test]
fn a_program_that_was_built_again_goes_by_names() {
    let program = sites();
    let name = program.path().file_name().expect("a name").to_string_lossy().into_owned();
    let builds = format!("[build_ids]\n\"{name}\" = \"0123\"\n");
    let other = rule("object", &format!("{name}+0x{}", address_of("table")), "mcs");
    let line = rule("acquired", "push at replaced_sites.c:1", "clh");
    let gone = rule("acquired", "pull", "gate");
    let (outcome, _folder) = run(program.path(), &[HEAD, &other, &line, &gone, &builds].concat());
    assert_eq!(numbers(&outcome)("table"), "2", "by the place, which is all of the function now");
    let said = errors(&outcome);
    assert!(said.contains(":2: ") && said.contains("is an address of another build"), "{said}");
    assert!(said.contains("no lock is used on that line"), "{said}");
    assert!(said.contains("`pull` is no longer in the program"), "{said}");
}

#[test]
fn a_file_that_is_no_policy_is_refused_with_its_line() {
    replace_library();
    let folder = scratch();
    let path = folder.path().join("p.toml");
    for (text, told) in [
        ("version = 1\nlocks = 2\n", "p.toml:2: unknown field `locks`"),
        ("version = 9\n", "version 9"),
        (
            "version = 1\n[[lock]]\nclass = \"static\"\nuse = \"nothing\"\n",
            "p.toml:4: there is no lock",
        ),
    ] {
        fs::write(&path, text).expect("a file");
        let mut command = Command::new(syncline());
        let output = command.args(["exec", "--policy"]).arg(&path).arg("true").output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(125));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(told) && said.contains("man syncline-policy"), "{told}: {said}");
    }
}

/// The objects of one process have different locks. Several of these locks are outside of the
/// object, behind a pointer.
#[test]
fn locks_of_all_kinds_stand_side_by_side_under_pressure() {
    let policy = [
        HEAD,
        "default = \"gate+rw_readers\"\n",
        &rule("object", "table", "hmcs"),
        &rule("class", "static", "cohort_mcs+rw_fair"),
    ];
    let folder = scratch();
    let path = folder.path().join("policy.toml");
    fs::write(&path, policy.concat()).expect("a policy");
    let program = Program::compile("replaced_torture.c");
    let plain = Case::new(&program).args(["100", "4"]).limit(120).plain().behaviour();
    let mut command = Command::new(syncline());
    command.args(["exec", "--policy"]).arg(&path).arg("--").arg(program.path()).args(["100", "4"]);
    let outcome = run_limited(&mut command, std::time::Duration::from_secs(120));
    outcome.assert_status(0);
    assert_eq!(outcome.behaviour(), plain);
}

/// If one command runs under another, the inner one decides, whether it has `--lock` or `--policy`.
#[test]
fn locks_that_are_named_count_under_a_command_with_a_policy() {
    replace_library();
    let folder = scratch();
    let path = folder.path().join("policy.toml");
    fs::write(&path, HEAD.to_owned() + "default = \"gate+rw_readers\"\n").expect("a policy");
    let policy: [&OsStr; 2] = ["--policy".as_ref(), path.as_os_str()];
    let locks: [&OsStr; 2] = ["--lock".as_ref(), "mcs".as_ref()];
    for (outer, inner, said) in [(policy, locks, "with mcs-park\n"), (locks, policy, "a policy\n")]
    {
        let mut command = Command::new(syncline());
        command.arg("exec").args(outer).arg("--").arg(syncline());
        command.args(["exec", "--report"]).args(inner).args(["--", "true"]);
        let outcome = run_limited(&mut command, std::time::Duration::from_secs(60));
        outcome.assert_status(0);
        assert!(errors(&outcome).contains(said), "{outer:?} {inner:?}: {}", errors(&outcome));
    }
}
