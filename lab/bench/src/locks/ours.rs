//! The locks of the catalogue, in all their forms.

use syncline::delegation::{self, Delegated, RawDelegation};
use syncline::lock::{Algorithm, Order, RawLock, RawSharedLock, Waiting, catalogue};
use syncline::wait::{Park, Spin, Yield};

use super::arena::Lock;
use super::contender::{Contender, Kind, Side};

/// The locks that the catalogue recommends under contention and for more threads than processors.
/// The last line of output has their results.
pub const RECOMMENDED: &[&str] = &["gate"];

#[derive(Default)]
pub struct Exclusive<L>(L);

impl<L: RawLock> Lock for Exclusive<L> {
    type Thread = L::Node;

    #[inline(always)]
    fn with<R: Send>(&self, node: &mut L::Node, section: impl FnOnce() -> R + Send) -> R {
        // SAFETY: the node is neither moved nor used for anything else.
        unsafe { self.0.acquire(node) };
        let result = section();
        // SAFETY: this thread has acquired the lock above.
        unsafe { self.0.release(node) };
        result
    }
}

#[derive(Default)]
pub struct Shared<L>(L);

impl<L: RawSharedLock> Lock for Shared<L> {
    const SHARED: bool = true;

    type Thread = (L::Node, L::SharedNode);

    #[inline(always)]
    fn with<R: Send>(&self, (node, _): &mut Self::Thread, section: impl FnOnce() -> R + Send) -> R {
        // SAFETY: the node is neither moved nor used for anything else.
        unsafe { self.0.acquire(node) };
        let result = section();
        // SAFETY: this thread has acquired the lock above.
        unsafe { self.0.release(node) };
        result
    }

    #[inline(always)]
    fn share<R: Send>(
        &self,
        (_, node): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        // SAFETY: the node is neither moved nor used for anything else.
        unsafe { self.0.acquire_shared(node) };
        let result = section();
        // SAFETY: this thread has acquired the lock above.
        unsafe { self.0.release_shared(node) };
        result
    }
}

macro_rules! form {
    ($list:ident $form:expr, $waiting:ident, $type:ty, $name:ident, shared $($rest:ident)*) => {
        $list.push(contender::<Shared<$type>>(
            $form,
            Waiting::$waiting,
            stringify!($name),
            size_of::<<$type as RawLock>::Node>(),
        ));
    };
    ($list:ident $form:expr, $waiting:ident, $type:ty, $name:ident, exclusive $($rest:ident)*) => {
        $list.push(contender::<Exclusive<$type>>(
            $form,
            Waiting::$waiting,
            stringify!($name),
            size_of::<<$type as RawLock>::Node>(),
        ));
    };
}

/// A delegation lock, whose holder runs the section.
#[derive(Default)]
struct Delegating<D: RawDelegation>(Delegated<(), D>);

impl<D: RawDelegation> Lock for Delegating<D> {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, (): &mut (), section: impl FnOnce() -> R + Send) -> R {
        self.0.with(|()| section())
    }
}

macro_rules! delegation {
    ($list:ident $name:ident, $type:ident, $($feature:ident)*) => {
        let name = stringify!($name);
        $list.push(delegating::<delegation::$type<Spin>>(name, "spin", Waiting::Spins));
        $list.push(delegating::<delegation::$type<Yield>>(name, "yield", Waiting::Yields));
        $list.push(delegating::<delegation::$type<Park>>(name, "park", Waiting::Parks));
    };
}

fn delegating<D: RawDelegation + 'static>(lock: &str, policy: &str, waiting: Waiting) -> Contender {
    let form = format!("{lock}-{policy}");
    Contender {
        lock: lock.to_owned(),
        // Waiters are served in order, or nearly so.
        fifo: waiting != Waiting::Parks,
        ..Contender::new::<Delegating<D>>(&form, Side::Ours, Kind::Delegation, waiting)
    }
}

#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes several")]
pub fn contenders() -> Vec<Contender> {
    let mut list = Vec::new();
    syncline::for_each_form!(form, list);
    syncline::for_each_delegation!(delegation, list);
    list
}

fn contender<L: Lock + 'static>(
    form: &str,
    waiting: Waiting,
    lock: &str,
    node_bytes: usize,
) -> Contender {
    let entry = catalogue().into_iter().find(|entry| entry.name == lock).expect("it is from there");
    let kind = match waiting {
        _ if L::SHARED && node_bytes > 0 => Kind::QueuedShared,
        Waiting::Parks if L::SHARED => Kind::BlockingShared,
        _ if L::SHARED => Kind::SpinningShared,
        // Also the parking form of a queue lock, since it has a gate in front of its queue.
        Waiting::Parks => Kind::Blocking,
        _ if entry.timed && node_bytes > 0 && !entry.about.numa => Kind::TimedQueue,
        _ => match entry.about.algorithm {
            Algorithm::Ticket => Kind::Ticket,
            Algorithm::Array => Kind::Array,
            Algorithm::Mcs => Kind::Mcs,
            Algorithm::Clh => Kind::Clh,
            Algorithm::Hclh => Kind::Hclh,
            Algorithm::Cohort => Kind::Cohort,
            Algorithm::Flag | Algorithm::Gate => Kind::Spin,
            Algorithm::ReaderWriter | Algorithm::Delegation => {
                unreachable!("{lock} is held by one at a time")
            }
        },
    };
    let has_turns = matches!(entry.about.order, Order::Fifo | Order::FifoInGroup);
    Contender {
        lock: lock.to_owned(),
        fifo: waiting != Waiting::Parks && (has_turns || kind == Kind::QueuedShared),
        timed: entry.timed,
        ..Contender::new::<L>(form, Side::Ours, kind, waiting).node_bytes(node_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_are_all_forms_and_the_recommended_locks() {
        let all = contenders();
        let names: Vec<_> = all.iter().map(|contender| contender.name.as_str()).collect();
        let forms: Vec<_> = syncline::lock::forms().iter().map(|form| form.name).collect();
        assert_eq!(names[..forms.len()], forms);
        for name in RECOMMENDED {
            assert!(names.contains(name), "{name}");
        }
    }
}
