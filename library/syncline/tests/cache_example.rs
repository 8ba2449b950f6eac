//! The example of a cache runs, and finds what it promises.

#[path = "../examples/cache.rs"]
mod cache;

#[test]
fn the_cache_keeps_answers_and_its_size() {
    cache::main();
}
