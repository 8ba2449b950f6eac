//! The C interface as users get it: installed into a folder by `./x install`, found by pkg-config
//! and CMake, and used by programs in C and C++, with the shared and with the static library. The
//! programs are in `c/`. They read a list of the locks and of their features, which `support`
//! generates from the catalogue.

mod support;

use std::fs;
use std::process::Command;

use support::{Linking, compile, crate_folder, each_lock, output_of, prefix, run, scratch};

/// Checks that a program in `c/` passes with both kinds of linking.
fn passes(name: &str) {
    let locks = each_lock();
    for linking in [Linking::Shared, Linking::Static] {
        let source = crate_folder().join("tests/c").join(name);
        let program = compile(&source, &[locks.parent().expect("a folder")], linking);
        run(&program, &[]);
    }
}

#[test]
fn every_lock_excludes_shares_and_waits_for_conditions() {
    passes("contention.c");
}

/// A thread that acquires a lock after another thread may free the lock before the other's release
/// has returned.
#[test]
fn locks_may_be_gone_after_the_last_release() {
    passes("gone.c");
}

#[test]
fn every_mistake_has_its_error_with_every_lock() {
    passes("misuse.c");
}

#[test]
fn sections_run_once_wherever_they_are_handed_in() {
    passes("delegation.c");
}

#[test]
fn transactions_happen_at_once_or_not_at_all() {
    passes("transactions.c");
}

#[test]
fn messages_arrive_and_ends_that_go_are_noticed() {
    passes("channels.c");
}

#[test]
fn the_classes_meet_the_standards_requirements() {
    passes("classes.cpp");
}

#[test]
fn the_examples_run() {
    let examples = crate_folder().join("examples");
    let counter = compile(&examples.join("counter.c"), &[], Linking::Shared);
    assert_eq!(run(&counter, &[]), "counted to 400000\n");

    let table = compile(&examples.join("table.cpp"), &[], Linking::Shared);
    let names = run(&table, &[]);
    assert!(names.lines().count() > 3, "{names}");
    // A lock's name without a waiting policy works as well.
    for name in names.lines().chain(["rw_fair"]) {
        assert_eq!(run(&table, &[name]), "999 is 999\n");
    }
}

/// The first program in the book's page on the library that is marked with this language.
fn example_of_the_book(language: &str) -> String {
    let page = crate_folder().join("../../docs/library.md");
    let page = fs::read_to_string(page).expect("a page");
    let begin = format!("```{language}\n");
    let (_, rest) = page.split_once(&begin).expect("an example");
    let (program, _) = rest.split_once("```").expect("its end");
    program.to_owned()
}

#[test]
fn the_books_examples_run() {
    let folder = scratch("book");
    for (language, linking) in [("c", Linking::Shared), ("cpp", Linking::Static)] {
        let source = folder.join(format!("book_{language}.{language}"));
        fs::write(&source, example_of_the_book(language)).expect("a program");
        let program = compile(&source, &[], linking);
        assert_eq!(run(&program, &[]), "counted to 400000\n");
    }
}

/// The example of the book's page on shared memory, found by pkg-config and started by the installed
/// command.
#[test]
fn a_program_for_shared_memory_runs_on_ranks() {
    let page = fs::read_to_string(crate_folder().join("../../docs/dsm.md")).expect("a page");
    let (_, rest) = page.split_once("```c\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let folder = scratch("dsm");
    fs::write(folder.join("app.c"), example).expect("a program");
    let line = "cc app.c -o app $(pkg-config --cflags --libs syncline-dsm)";
    assert!(page.contains(line), "the page has another command");
    let found = prefix().join("lib/pkgconfig");
    let mut compiler = Command::new("sh");
    compiler.args(["-c", line]).current_dir(&folder).env("PKG_CONFIG_PATH", found);
    output_of(&mut compiler);
    let mut cluster = Command::new(prefix().join("bin/syncline"));
    cluster.args(["cluster", "-n", "2", "--", "./app"]).current_dir(&folder);
    let printed = output_of(cluster.env("LD_LIBRARY_PATH", prefix().join("lib")));
    assert_eq!(printed, "998001\n");
}

#[test]
fn cmake_finds_it() {
    let folder = scratch("cmake");
    let examples = crate_folder().join("examples");
    let project = format!(
        "cmake_minimum_required(VERSION 3.16)\n\
         project(user C CXX)\n\
         set(CMAKE_CXX_STANDARD 17)\n\
         find_package(syncline 0.1 REQUIRED)\n\
         find_package(Threads REQUIRED)\n\
         add_executable(shared {0}/counter.c)\n\
         target_link_libraries(shared syncline::syncline Threads::Threads)\n\
         add_executable(static {0}/table.cpp)\n\
         target_link_libraries(static syncline::static Threads::Threads)\n",
        examples.display()
    );
    fs::write(folder.join("CMakeLists.txt"), project).expect("a project");
    let build = folder.join("build");
    output_of(
        Command::new("cmake")
            .args(["-S".as_ref(), folder.as_os_str(), "-B".as_ref(), build.as_os_str()])
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display())),
    );
    output_of(Command::new("cmake").arg("--build").arg(&build));
    // No environment is needed: CMake has written the library's path into the program.
    assert_eq!(output_of(&mut Command::new(build.join("shared"))), "counted to 400000\n");
    assert_eq!(output_of(Command::new(build.join("static")).arg("rw_fair")), "999 is 999\n");
}

/// The names that a library exports.
fn defined(arguments: &[&str], library: &str) -> Vec<String> {
    let library = prefix().join("lib").join(library);
    let text = output_of(Command::new("nm").args(arguments).arg(library));
    let symbols = text.lines().filter_map(|line| line.rsplit_once(' '));
    let mut names: Vec<_> = symbols.map(|(_, name)| name.to_owned()).collect();
    names.sort();
    names
}

/// The functions that the headers declare.
fn declared() -> Vec<String> {
    let program = scratch("declared").join("all.c");
    fs::write(&program, "#include <syncline.h>\n").expect("a program");
    let include = prefix().join("include");
    let text = output_of(Command::new("gcc").args(["-E", "-P", "-I"]).arg(include).arg(program));
    let words =
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '(');
    let calls = words.filter_map(|word| word.split_once('(')).map(|(name, _)| name);
    let mut names: Vec<_> =
        calls.filter(|name| name.starts_with("syncline_")).map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn the_libraries_define_what_the_headers_declare_and_nothing_else() {
    let declared = declared();
    assert!(declared.len() > 100, "{declared:?}");
    assert_eq!(defined(&["-D", "--defined-only"], "libsyncline.so"), declared);
    assert_eq!(defined(&["-g", "--defined-only"], "libsyncline.a"), declared);
}

#[test]
fn the_installed_command_finds_its_library() {
    let folder = scratch("recording");
    let command = prefix().join("bin/syncline");
    let recording = folder.join("recording");
    let recording = recording.to_str().expect("a text");
    output_of(Command::new(&command).args(["record", "-o", recording, "--", "true"]));
    for (page, words) in [
        ("man/man1/syncline.1", "syncline\\-record"),
        ("man/man1/syncline-record.1", "max\\-size"),
        ("man/man5/syncline-policy.5", "acquired"),
        ("doc/syncline/exec.md", "--policy"),
        ("doc/syncline/internals/one-lock.md", "pthread_mutex_lock"),
    ] {
        let text = fs::read_to_string(prefix().join("share").join(page)).expect(page);
        assert!(text.contains(words), "no {words} in {page}: {text}");
    }
}

/// `<syncline_mpi.h>` is for programs that the installed command runs.
#[test]
fn the_header_for_mpi_programs_is_beside_the_others() {
    let header = fs::read_to_string(prefix().join("include/syncline_mpi.h")).expect("a header");
    assert!(header.contains("SL_Win_trylock"), "{header}");
}
