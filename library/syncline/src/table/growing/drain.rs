//! The end of a table: all entries are dropped, even if some of them panic.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::bucket::{Bucket, Buckets};
use super::directory::Directory;
use super::storage::Storage;

/// Drops all entries of a table's buckets; the first panic is resumed when all are dropped.
pub(super) fn drain<K, V, P, M>(directory: &mut Directory<P::Raw, M>)
where
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
    if !P::OWNS {
        return;
    }
    let mut first = None;
    for at in 0..1 << directory.bits() {
        let mut next = Some(directory.bucket(at));
        while let Some(bucket) = next {
            for slot in bucket.tags().taken(Bucket::<P::Raw, M>::SLOTS) {
                // SAFETY: no other thread uses the table any more, and the slot is taken.
                let raw = unsafe { bucket.get(slot) };
                // SAFETY: as above; each slot is visited once.
                let drop = AssertUnwindSafe(|| unsafe { P::destroy(raw) });
                if let Err(panic) = catch_unwind(drop) {
                    first.get_or_insert(panic);
                }
            }
            next = bucket.next();
        }
    }
    // If this thread panics already, a second panic would abort the program.
    if let Some(panic) = first.filter(|_| !thread::panicking()) {
        resume_unwind(panic);
    }
}
