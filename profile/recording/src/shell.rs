//! Quotes command lines for a shell.

/// The command line that a shell splits into exactly these words.
pub fn command_line<T: AsRef<str>>(words: &[T]) -> String {
    let quote = |(at, word): (usize, &T)| quoted(word.as_ref(), at == 0);
    words.iter().enumerate().map(quote).collect::<Vec<_>>().join(" ")
}

/// A word, quoted for a shell if necessary. `first` says whether it is the first word: unquoted, a
/// first word `NAME=value` would set a variable.
fn quoted(word: &str, first: bool) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%".contains(c) || c == '=' && !first;
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_command_line_apart_into_the_same_words() {
        let words =
            ["./app", "", "a b", "it's", "$HOME", "*", "~", "x=1", "\"", "\\", "a\nb", "#", ""];
        let line = command_line(&words);
        let script = format!("printf '%s\\0' {line}");
        let output =
            std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let text = String::from_utf8(output.stdout).expect("text");
        let taken: Vec<&str> = text.strip_suffix('\0').expect("words").split('\0').collect();
        assert_eq!(taken, words, "from {line}");
    }

    #[test]
    fn plain_words_stay_as_they_are() {
        assert_eq!(command_line(&["./app", "-n", "10", "--to=/tmp/x"]), "./app -n 10 --to=/tmp/x");
        assert_eq!(command_line(&["app", "", "a b"]), "app '' 'a b'");
        assert_eq!(command_line(&["a=b", "c=d"]), "'a=b' c=d");
    }
}
