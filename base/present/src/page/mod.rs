//! The shell of the pages that Syncline writes. A page is one HTML file that needs no other file
//! and no network, and can be read in light and dark mode, on a phone and on paper.
//!
//! The caller writes what comes between [`Page::begin`] and [`Page::end`]. Text from elsewhere is
//! written [`Escaped`]. In addition, the page's policy forbids all scripts and styles other than
//! the page's own, and all loads. So an element that a name has smuggled in can run no script and
//! load nothing.

mod escape;
pub mod number;
mod policy;

use std::io::{self, Write};

pub use escape::{Escaped, Json};

const SHELL: &str = include_str!("style/shell.css");
const PRINT: &str = include_str!("style/print.css");

/// Marks the page, before anything is drawn, as one whose scripts run. Elements that need a script
/// are only shown if the page has this mark.
const FIRST_SCRIPT: &str = "document.documentElement.className = 'js';";

/// A page: the parts before and after its content.
pub struct Page<'a> {
    /// The page's title, not escaped yet.
    pub title: &'a str,
    /// The id of the element where the content begins, and what the content is. A link at the top
    /// of the page leads to that element, for readers who use a keyboard or a screen reader.
    pub content: (&'a str, &'a str),
    /// Styles in addition to those of every page.
    pub style: &'a str,
    /// The script that runs after the page is loaded; empty if there is none.
    pub script: &'a str,
}

impl Page<'_> {
    /// Writes everything before the content.
    ///
    /// # Errors
    /// Same errors as writing to `out`.
    pub fn begin(&self, out: &mut impl Write) -> io::Result<()> {
        let style = [SHELL, self.style, PRINT].concat();
        let (scripts, first) = match self.script {
            "" => (vec![], String::new()),
            script => (vec![FIRST_SCRIPT, script], format!("<script>{FIRST_SCRIPT}</script>\n")),
        };
        let (id, what) = self.content;
        writeln!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>Syncline: {}</title>\n{first}<style>{style}</style>\n</head>\n\
             <body>\n<a class=\"skip\" href=\"#{id}\">Skip to the {what}</a>\n<main>",
            policy::policy(&style, &scripts),
            Escaped(self.title)
        )
    }

    /// Writes everything after the content.
    ///
    /// # Errors
    /// Same errors as writing to `out`.
    pub fn end(&self, out: &mut impl Write) -> io::Result<()> {
        let script = match self.script {
            "" => String::new(),
            script => format!("<script>{script}</script>\n"),
        };
        writeln!(out, "</main>\n{script}</body>\n</html>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(script: &str) -> String {
        let page = Page { title: "<b>", content: ("a", "content"), style: ".x {}", script };
        let mut out = Vec::new();
        page.begin(&mut out).and_then(|()| page.end(&mut out)).expect("memory takes it");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_page_without_scripts_allows_none() {
        let page = written("");
        assert!(!page.contains("script"), "{page}");
        assert!(page.contains("<title>Syncline: &lt;b&gt;</title>"));
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    }

    #[test]
    fn a_page_allows_its_own_scripts() {
        let page = written("let x;");
        assert_eq!(page.matches("<script>").count(), 2);
        let policy = page.lines().find(|line| line.contains("Policy")).expect("a policy");
        assert_eq!(policy.matches("'sha256-").count(), 3, "the style and two scripts");
    }
}
