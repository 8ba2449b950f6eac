//! The cases of locks that a thread changes from shared to exclusive, or back, without a release.
//! No other thread may write in between.

use std::sync::Arc;

use syncline::lock::{Downgrade, RawSharedLock, TimedUpgrade, Upgrade};
use syncline::memory::Pooled;

use super::scene::Scene;
use crate::engine::Engine;

type Node<L> = Pooled<<L as syncline::lock::RawLock>::Node, <L as syncline::lock::RawLock>::Memory>;
type Share<L> = Pooled<<L as RawSharedLock>::SharedNode, <L as syncline::lock::RawLock>::Memory>;

/// The first `writers` threads write, and thread 0 then downgrades its hold to a share. The others
/// read.
pub fn downgraded<L>(writers: usize, readers: usize)
where
    L: Downgrade<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(writers + readers, move |scene, thread| match thread {
        0 => {
            let (node, share) = (Node::<L>::new(), Share::<L>::new());
            // SAFETY: the nodes stay until the release.
            unsafe {
                scene.lock.acquire(&node);
                scene.increment();
                let written = scene.count();
                scene.lock.downgrade(&node, &share);
                assert_eq!(scene.count(), written, "somebody wrote in between");
                scene.lock.release_shared(&share);
            }
        }
        writer if writer < writers => scene.exclusively(),
        _ => scene.shared(),
    });
    assert_eq!(scene.count() as usize, writers);
}

/// The first `upgraders` threads take upgradable shares, and upgrade them. The next thread writes,
/// and the others read.
pub fn upgraded<L>(upgraders: usize, readers: usize)
where
    L: Upgrade<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(upgraders + 1 + readers, move |scene, thread| {
        if thread > upgraders {
            return scene.shared();
        }
        if thread == upgraders {
            return scene.exclusively();
        }
        let (node, share) = (Node::<L>::new(), Share::<L>::new());
        // SAFETY: the nodes stay until the releases.
        unsafe {
            scene.lock.acquire_upgradable(&share);
            let seen = scene.count();
            if !scene.lock.try_upgrade(&share, &node) {
                assert_eq!(scene.count(), seen, "somebody wrote beside a share");
                scene.lock.upgrade(&share, &node);
            }
            assert_eq!(scene.count(), seen, "somebody wrote in between");
            scene.increment();
            scene.lock.downgrade_to_upgradable(&node, &share);
            assert_eq!(scene.count(), seen + 1, "somebody wrote in between");
            if thread == 0 {
                scene.lock.release_upgradable(&share);
            } else {
                scene.lock.downgrade_upgradable(&share);
                scene.lock.release_shared(&share);
            }
        }
    });
    assert_eq!(scene.count() as usize, upgraders + 1);
}

/// Each thread tries to get the upgradable share, and upgrades it; if the try fails, the thread
/// writes.
pub fn tries_upgradable<L>(threads: usize)
where
    L: Upgrade<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(threads, move |scene, _| {
        let (node, share) = (Node::<L>::new(), Share::<L>::new());
        // SAFETY: the nodes stay until the releases.
        unsafe {
            if scene.lock.try_acquire_upgradable(&share) {
                let seen = scene.count();
                scene.lock.upgrade(&share, &node);
                assert_eq!(scene.count(), seen, "somebody wrote in between");
                scene.increment();
                scene.lock.release(&node);
            } else {
                scene.exclusively();
            }
        }
    });
    assert_eq!(scene.count() as usize, threads);
}

/// The first thread has deadlines, at which it gives up on the upgradable share or on the upgrade.
/// Of the others, the first writes and the rest read.
pub fn upgraded_in_time<L>(others: usize)
where
    L: TimedUpgrade<Memory: Engine> + 'static,
{
    let scene = Scene::<L>::new();
    Arc::clone(&scene).play(others + 1, move |scene, thread| {
        if thread > 1 {
            return scene.shared();
        }
        if thread == 1 {
            return scene.exclusively();
        }
        let (node, share) = (Node::<L>::new(), Share::<L>::new());
        // SAFETY: the nodes stay until the releases.
        unsafe {
            if !scene.lock.acquire_upgradable_until(&share, L::Memory::soon()) {
                return;
            }
            let seen = scene.count();
            if scene.lock.upgrade_until(&share, &node, L::Memory::soon()) {
                assert_eq!(scene.count(), seen, "somebody wrote in between");
                scene.lock.release(&node);
            } else {
                assert_eq!(scene.count(), seen, "somebody wrote beside a share");
                scene.lock.release_upgradable(&share);
            }
        }
    });
    assert_eq!(scene.count(), others.min(1) as u32);
}
