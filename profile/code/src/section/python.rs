//! Sleeps in loops of Python functions, read from the source.
//!
//! The blocks around a line are those of the lines above it that are indented less. A `while` loop
//! looks again after each sleep, unless it hands something over in each round. A `for` loop may do
//! a piece of work in each round, so it says nothing.

use std::fs;
use std::path::Path;

use super::again::Around;

/// A file with more bytes than this is not read.
const LARGEST: u64 = 4 << 20;
/// Calls that hand something over, or wait for it.
const HAND_OVER: [&str; 7] =
    [".put(", ".wait(", ".notify(", ".notify_all(", ".submit(", ".task_done(", ".release("];

/// The role of a sleep at a line of a source file, from 1, in the function around it. The file
/// should be the one that was recorded; there is no way to know.
pub fn around_sleep(file: &Path, line: u32) -> Around {
    let is_small = |data: &fs::Metadata| data.is_file() && data.len() <= LARGEST;
    if !fs::metadata(file).is_ok_and(|data| is_small(&data)) {
        return Around::Unknown;
    }
    fs::read_to_string(file).map_or(Around::Unknown, |source| around(&source, line))
}

fn around(source: &str, line: u32) -> Around {
    let lines: Vec<&str> = source.lines().collect();
    let Some(here) = (line as usize).checked_sub(1).filter(|&here| here < lines.len()) else {
        return Around::Unknown;
    };
    let mut inner = indent(lines[here]);
    for above in (0..here).rev().filter(|&above| is_code(lines[above])) {
        if indent(lines[above]) >= inner {
            continue;
        }
        inner = indent(lines[above]);
        match statement(lines[above]) {
            "while" => return round(&lines[above..]),
            "for" => return Around::Unknown,
            "def" | "class" => return Around::Once,
            _ => {}
        }
    }
    Around::Once
}

/// The role of a sleep in the `while` loop with which these lines begin.
fn round(lines: &[&str]) -> Around {
    let outer = indent(lines[0]);
    let body = lines[1..].iter().take_while(|line| !is_code(line) || indent(line) > outer);
    let hands_over = |line: &&str| HAND_OVER.iter().any(|call| line.contains(call));
    if lines[..1].iter().chain(body).any(hands_over) { Around::Works } else { Around::Repeats }
}

/// Whether a line has more than a comment.
fn is_code(line: &str) -> bool {
    let text = line.trim_start();
    !text.is_empty() && !text.starts_with('#')
}

/// How far a line is indented. Python lets a file indent its blocks by spaces or by tabs, but not
/// by both in a way that would matter here.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The word that names a line's statement: `for` for `async for`, too.
fn statement(line: &str) -> &str {
    match first_word(line) {
        "async" => first_word(line.trim_start()["async".len()..].trim_start()),
        word => word,
    }
}

fn first_word(line: &str) -> &str {
    let text = line.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The role of the only line that sleeps.
    fn of(source: &str) -> Around {
        let line = source.lines().position(|line| line.contains("sleep(")).expect("a sleep");
        around(source, line as u32 + 1)
    }

    #[test]
    fn a_while_loop_that_sleeps_looks_again() {
        assert_eq!(
            of("def ask():\n    while not done:\n        time.sleep(0.1)\n"),
            Around::Repeats
        );
        let deep = "while(True):\n\tif free():\n\t\tbreak\n# none yet\n\n\telse:\n\t\tsleep(1)\nlock.release()\n";
        assert_eq!(of(deep), Around::Repeats, "what comes after the loop is no part of it");
        let event =
            "def ask():\n    while not stopped.is_set():\n        sleep(1)\n        look()\n";
        assert_eq!(of(event), Around::Repeats);
    }

    #[test]
    fn statements_of_coroutines_are_distinguished() {
        let session = "async def ask():\n    while not done:\n        async with session:\n            await sleep(1)\n";
        assert_eq!(of(session), Around::Repeats);
        let pages = "while True:\n    async for page in pages:\n        await sleep(1)\n";
        assert_eq!(of(pages), Around::Unknown, "a piece of work each");
        let once = "while True:\n    async  def ask():\n        await sleep(1)\n";
        assert_eq!(of(once), Around::Once);
        assert_eq!(of("async\n  sleep(1)\n"), Around::Once, "no statement");
    }

    #[test]
    fn a_loop_that_hands_over_works() {
        assert_eq!(of("while True:\n    sleep(1)\n    queue.put(1)\n"), Around::Works);
        assert_eq!(of("while ready.wait(1):\n    sleep(1)\n"), Around::Works);
    }

    #[test]
    fn other_sleeps_do_not_look_again() {
        assert_eq!(of("while True:\n    def ask():\n        sleep(1)\n    ask()\n"), Around::Once);
        assert_eq!(of("while more():\n    pass\nsleep(1)\n"), Around::Once);
        assert_eq!(
            of("for page in pages:\n    sleep(1)\n"),
            Around::Unknown,
            "a piece of work each"
        );
        assert_eq!(of("if True:\n    whiles = 1\n    sleep(1)\n"), Around::Once);
    }

    #[test]
    fn sources_that_are_not_there_say_nothing() {
        assert_eq!(around("sleep(1)\n", 2), Around::Unknown);
        assert_eq!(around("", 0), Around::Unknown);
        assert_eq!(around_sleep(Path::new("/no/such/file.py"), 1), Around::Unknown);
        assert_eq!(around_sleep(Path::new("/dev/null"), 1), Around::Unknown);
    }
}
