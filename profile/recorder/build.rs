//! Gives the library a build-id, which shows a report that a file is the recorded one.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,--build-id");
}
