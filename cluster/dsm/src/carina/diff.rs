//! The bytes of a page that go to the page's home: those that differ from the page's twin, and no
//! others. A twin is a copy of the page from the time of its fetch, or from before its first write.
//!
//! Two nodes may write one page between the same two fences, and each may believe that it is the
//! only writer. A byte that a node has not written is then out of date in the node's copy. So a
//! node may send the whole page home only if all of its bytes changed. The paper's section 3.2
//! plans, as future work, to send whole pages from single writers, without diffs; for the reason
//! above, this code always makes diffs.

/// The number of bytes that one step compares: most pages are mostly equal to their twins, and
/// equal bytes are skipped in such steps.
const CHUNK: usize = 64;

/// Calls `run` with the offset and the bytes of every maximal run of `new` that differs from `old`.
///
/// A byte that was written with the value that it had before is not found. That is sound in
/// programs without races: if another node had changed the byte since the fetch, this node would
/// have fetched the line again before it wrote.
///
/// # Panics
///
/// If the lengths differ.
pub fn diff(old: &[u8], new: &[u8], run: &mut dyn FnMut(usize, &[u8])) {
    assert_eq!(old.len(), new.len(), "a page and its twin");
    let mut start = None;
    for (chunk, (olds, news)) in old.chunks(CHUNK).zip(new.chunks(CHUNK)).enumerate() {
        if olds == news {
            if let Some(from) = start.take() {
                run(from, &new[from..chunk * CHUNK]);
            }
            continue;
        }
        for (byte, (old, other)) in olds.iter().zip(news).enumerate() {
            let at = chunk * CHUNK + byte;
            match start {
                None if old != other => start = Some(at),
                Some(from) if old == other => {
                    run(from, &new[from..at]);
                    start = None;
                }
                _ => {}
            }
        }
    }
    if let Some(from) = start {
        run(from, &new[from..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(old: &[u8], new: &[u8]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        diff(old, new, &mut |at, bytes| {
            assert_eq!(bytes, &new[at..at + bytes.len()]);
            all.push((at, bytes.len()));
        });
        all
    }

    #[test]
    fn runs_are_exact() {
        let old = vec![0u8; 300];
        let with = |changed: &[(usize, usize)]| {
            let mut new = old.clone();
            changed.iter().for_each(|(from, to)| new[*from..*to].fill(1));
            runs(&old, &new)
        };
        assert_eq!(with(&[]), []);
        assert_eq!(with(&[(0, 300)]), [(0, 300)], "whole if all changed");
        assert_eq!(with(&[(0, 1), (2, 3), (299, 300)]), [(0, 1), (2, 1), (299, 1)]);
        assert_eq!(with(&[(60, 70), (128, 256)]), [(60, 10), (128, 128)], "over chunks");
        assert_eq!(with(&[(0, 64), (65, 128)]), [(0, 64), (65, 63)]);
        assert_eq!(with(&[(63, 64), (192, 193)]), [(63, 1), (192, 1)]);
    }

    #[test]
    fn a_diff_writes_changed_bytes_only() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let old: Vec<u8> = (0..200).map(|_| random.u8(0..3)).collect();
            let new: Vec<u8> = old
                .iter()
                .map(|b| if random.u8(0..4) == 0 { random.u8(0..3) } else { *b })
                .collect();
            let mut home = [255u8; 200];
            diff(&old, &new, &mut |at, bytes| home[at..at + bytes.len()].copy_from_slice(bytes));
            for at in 0..200 {
                let expected = if old[at] == new[at] { 255 } else { new[at] };
                assert_eq!(home[at], expected);
            }
        }
    }
}
