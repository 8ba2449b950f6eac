//! Text in HTML. Names come from programs and may contain anything, `<` and `&` above all.

use std::fmt;

/// Text, escaped for HTML, in elements and in attributes.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() => f.write_str("\u{fffd}")?,
                c => fmt::Write::write_char(f, c)?,
            }
        }
        Ok(())
    }
}

/// Text as a JSON string for a `script` element: nothing in it can end the element.
pub struct Json<'a>(pub &'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => write!(f, "\\u{:04x}", c as u32)?,
                c if c.is_control() => f.write_str("\u{fffd}")?,
                c => fmt::Write::write_char(f, c)?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_end_an_element_or_an_attribute() {
        let text = Escaped("a<b>&\"c'\u{1b}").to_string();
        assert_eq!(text, "a&lt;b&gt;&amp;&quot;c&#39;\u{fffd}");
    }

    #[test]
    fn nothing_can_end_a_script() {
        let text = "</script><!--\"\\\u{2028}ü";
        let json = Json(text).to_string();
        assert!(!json.contains(['<', '>', '\u{2028}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
