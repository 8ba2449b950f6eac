//! Gives the library a build-id, by which a report knows that a file is the one that was
//! recorded.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,--build-id");
}
