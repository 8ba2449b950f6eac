//! Shortens names of functions so that they fit into a line.

/// Template arguments of up to this many characters, including the brackets, are kept.
const SHORT_ARGUMENTS: usize = 16;

/// The name of a C++ or Rust function without its parameters, its return type and long template
/// arguments: `void Queue<std::pair<int, int>>::push<int>(int) const` becomes
/// `Queue<…>::push<int>`.
pub fn function(name: &str) -> String {
    if name.starts_with('<') {
        return name.to_owned(); // Rust: `<Type as Trait>::function`
    }
    if let Some((whole, offset)) = name.rsplit_once("+0x") {
        return format!("{}+0x{offset}", function(whole));
    }
    let mut short = String::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let verbatim = ["(anonymous namespace)", "operator()", "operator<", "operator->"];
        let taken = if let Some(text) = verbatim.iter().find(|v| rest.starts_with(**v)) {
            short.push_str(text);
            text.len()
        } else if c == '(' {
            balanced(rest, '(', ')')
        } else if c == '<' {
            let length = balanced(rest, '<', '>');
            let arguments = &rest[..length];
            let keep = arguments.chars().count() <= SHORT_ARGUMENTS;
            short.push_str(if keep { arguments } else { "<…>" });
            length
        } else {
            short.push(c);
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    let short = short.strip_suffix(" const").unwrap_or(&short);
    without_return_type(short).to_owned()
}

/// The text after the last space that is outside of brackets and not in an operator's name.
fn without_return_type(name: &str) -> &str {
    let mut depth = 0;
    let mut start = 0;
    for (place, c) in name.char_indices() {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth -= 1,
            ' ' if depth == 0 && !name[..place].ends_with("operator") => start = place + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// The length of the bracketed text at the beginning, with its brackets.
fn balanced(text: &str, open: char, close: char) -> usize {
    let mut depth = 0;
    for (place, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return place + close.len_utf8();
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_return_types_and_long_arguments_are_removed() {
        for (name, short) in [
            ("main", "main"),
            ("queue::push(int)", "queue::push"),
            ("void Queue<std::pair<int, int>>::push<int>(int) const", "Queue<…>::push<int>"),
            ("(anonymous namespace)::run(int)", "(anonymous namespace)::run"),
            (
                "Pool::start()::{lambda(int)#1}::operator()(int) const",
                "Pool::start::{lambda#1}::operator()",
            ),
            ("bool operator< <int>(A<int> const&)", "operator< <int>"),
            ("pool::worker::{{closure}}", "pool::worker::{{closure}}"),
            ("<pool::Job as Run>::run", "<pool::Job as Run>::run"),
            ("Config::find(char const*, int) const+0x1a2", "Config::find+0x1a2"),
            ("broken<((", "broken<(("),
        ] {
            assert_eq!(function(name), short);
        }
    }
}
