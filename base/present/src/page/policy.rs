//! The page's content security policy: the page loads nothing, runs only the scripts and applies
//! only the style that it was written with. These are identified by their hashes.

use base64::prelude::{BASE64_STANDARD, Engine};
use sha2::{Digest, Sha256};

/// The policy of a page with this style and these scripts.
pub fn policy(style: &str, scripts: &[&str]) -> String {
    let mut policy = format!("default-src 'none'; style-src {}", hash(style));
    if !scripts.is_empty() {
        let scripts: Vec<String> = scripts.iter().map(|script| hash(script)).collect();
        policy += &format!("; script-src {}", scripts.join(" "));
    }
    policy + "; base-uri 'none'; form-action 'none'"
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // NIST's example for SHA-256: the text "abc".
        assert_eq!(hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    }
}
