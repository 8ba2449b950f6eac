//! Gives the library the name by which programs request it from the loader. Before version 1, a
//! change of the second number may change the interface.

use std::env;

fn main() {
    let number = |part| env::var(format!("CARGO_PKG_VERSION_{part}")).expect("cargo sets it");
    let interface = match number("MAJOR").as_str() {
        "0" => format!("0.{}", number("MINOR")),
        major => major.to_owned(),
    };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsyncline.so.{interface}");
    println!("cargo:rerun-if-changed=build.rs");
}
