//! Gives the library a build-id. By the build-id, a report knows that a file is the recorded one.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,--build-id");
}
