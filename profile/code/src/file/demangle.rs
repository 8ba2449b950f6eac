//! Demangling: names as they are written in the source.

use std::borrow::Cow;

/// The name as it is written in C++ or Rust; unchanged if it is not mangled. Only a name with the
/// prefix of a mangled name is demangled, since a bare `l` would become the type `long`.
pub fn demangle(name: &str) -> String {
    if !name.starts_with("_Z") && !name.starts_with("_R") {
        return name.to_owned();
    }
    addr2line::demangle_auto(Cow::Borrowed(name), None).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_three_languages() {
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("_ZN5queue4pushEi"), "queue::push(int)");
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
    }

    #[test]
    fn names_that_only_look_mangled_stay() {
        for name in ["", "_Z", "_ZN", "_R", "_Zzzz", "l", "f", "St"] {
            assert_eq!(demangle(name), name);
        }
    }
}
