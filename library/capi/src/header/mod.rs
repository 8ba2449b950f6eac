//! Writes the headers that list the locks, and tests that those in `include/` are up to date.
//!
//! After a change of the catalogue run `SYNCLINE_WRITE_HEADERS=1 cargo test -p syncline-capi`. The
//! other headers don't depend on the catalogue, and are written by hand.

mod c;
mod comment;
mod cpp;
mod types;

use std::path::{Path, PathBuf};
use std::{env, fs};

use syncline::lock::{Described, catalogue};

use crate::delegation::{Delegation, Waiting};
use crate::typed::{for_each_type, parking};
use types::{Delegating, Type};

macro_rules! add {
    ({ $list:ident } $lock:ty, $name:ident, $($feature:ident)*) => {
        $list.push(layout::<crate::typed::type_of!($lock, $($feature)*)>(stringify!($name)));
    };
}

fn layout<T>(name: &str) -> Type {
    let entry = catalogue().into_iter().find(|entry| entry.name == name);
    let entry = entry.expect("the catalogue has all its locks");
    Type { entry, size: size_of::<T>(), alignment: align_of::<T>() }
}

/// The types, in the order of the catalogue.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes one")]
fn types() -> Vec<Type> {
    let mut list = Vec::new();
    for_each_type!(add { list });
    list
}

macro_rules! add_delegating {
    ($list:ident $name:ident, $type:ident, $($feature:ident)*) => {
        $list.push(Delegating {
            name: stringify!($name),
            about: <syncline::delegation::$type as Described>::ABOUT,
            size: size_of::<Delegation<syncline::delegation::$type>>(),
            alignment: align_of::<Delegation<syncline::delegation::$type>>(),
        });
    };
}

#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes one")]
fn delegating() -> Vec<Delegating> {
    let mut list = Vec::new();
    syncline::for_each_delegation!(add_delegating, list);
    list
}

fn headers() -> [(&'static str, String); 4] {
    let (shared, exclusive): (Vec<_>, Vec<_>) = types().into_iter().partition(|t| t.entry.shared);
    [
        ("syncline/locks.h", c::locks(&exclusive)),
        ("syncline/rwlocks.h", c::rwlocks(&shared)),
        ("syncline/delegation.h", c::delegation(&delegating())),
        ("syncline/locks.hpp", cpp::locks(&exclusive, &shared, &delegating())),
    ]
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

#[test]
fn each_lock_has_one_type() {
    let names: Vec<_> = types().iter().map(|lock| lock.entry.name).collect();
    let all: Vec<_> = catalogue().iter().map(|entry| entry.name).collect();
    assert_eq!(names, all);
}

#[test]
fn the_headers_list_the_catalogue() {
    let write = env::var_os("SYNCLINE_WRITE_HEADERS").is_some();
    for (name, text) in headers() {
        let path = include().join(name);
        if write {
            fs::write(&path, &text).expect("a header");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let advice = "run `SYNCLINE_WRITE_HEADERS=1 cargo test -p syncline-capi`";
        assert!(found == text, "{name} is not what the catalogue says: {advice}");
    }
}

#[test]
fn the_header_has_the_version_and_the_sizes() {
    let text = fs::read_to_string(include().join("syncline.h")).expect("syncline.h");
    let expected = [
        format!("#define SYNCLINE_VERSION \"{}\"", env!("CARGO_PKG_VERSION")),
        c::size("cond", size_of::<syncline::Condvar>(), align_of::<syncline::Condvar>()),
        c::size("lock", size_of::<crate::named::Named>(), align_of::<crate::named::Named>()),
        c::size("rwlock", size_of::<crate::named::Named>(), align_of::<crate::named::Named>()),
        c::size("pending", size_of::<Waiting>(), align_of::<Waiting>()),
    ];
    for line in expected {
        assert!(text.contains(&line), "syncline.h lacks: {line}");
    }
}
