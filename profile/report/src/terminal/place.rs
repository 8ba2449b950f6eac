//! Shortens call sites to a line of the terminal. A call site may lose parts of its function and of
//! its path, but never its file and line.

use syncline_analysis::name;
use syncline_present::terminal::shorten;

/// The text between the function of a call site and its file.
const AT: &str = " at ";

/// A call site in at most `width` characters, if possible. If it is longer, the function loses its
/// arguments first. Then folders at the front of the path are left out, and then the middle of the
/// function's name.
pub fn fitting(place: &str, width: usize) -> String {
    let length = |text: &str| text.chars().count();
    if length(place) <= width {
        return place.to_owned();
    }
    let Some((function, path)) = place.rsplit_once(AT) else {
        return shorten(&name::function(place), width);
    };
    let function = name::function(function);
    let folders = path.match_indices('/').map(|(end, _)| format!("…{}", &path[end..]));
    let shorter = std::iter::once(path.to_owned()).chain(folders);
    let line = |path: String| format!("{function}{AT}{path}");
    if let Some(fits) = shorter.map(line).find(|line| length(line) <= width) {
        return fits;
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let room = width.saturating_sub(length(AT) + length(file)).max(2);
    format!("{}{AT}{file}", shorten(&function, room))
}

/// A call site's file without folders, and the line. If these are unknown, the function without its
/// arguments.
pub fn short(place: &str) -> String {
    match place.rsplit_once(AT) {
        Some((_, path)) => path.rsplit('/').next().unwrap_or(path).to_owned(),
        None => name::function(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str =
        "<log::Writer as log::Log>::write at /home/me/.cargo/log-0.12/src/log/writer.rs:75";

    #[test]
    fn a_shortened_call_site_keeps_file_and_line() {
        let fits = |width: usize| fitting(PLACE, width);
        assert_eq!(fits(100), PLACE);
        assert_eq!(fits(70), "<log::Writer as log::Log>::write at …/log-0.12/src/log/writer.rs:75");
        assert_eq!(fits(60), "<log::Writer as log::Log>::write at …/src/log/writer.rs:75");
        for width in 20..PLACE.len() {
            let line = fits(width);
            assert!(line.ends_with("writer.rs:75"), "{line}");
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }

    #[test]
    fn without_a_file_the_arguments_are_removed() {
        let place = "v8::Deserialize(v8::internal::Isolate*, v8::internal::FullObjectSlot)+0x2f";
        assert_eq!(fitting(place, 40), "v8::Deserialize+0x2f");
        assert_eq!(short(place), "v8::Deserialize+0x2f");
        assert_eq!(short(PLACE), "writer.rs:75");
    }
}
