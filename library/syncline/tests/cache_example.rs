//! Runs the example of a cache, which checks its own results.

#[path = "../examples/cache.rs"]
mod cache;

#[test]
fn the_cache_keeps_answers_and_its_size() {
    cache::main();
}
