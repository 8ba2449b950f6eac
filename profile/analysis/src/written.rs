//! How much of an object of the C library is written when it is used.

use syncline_recording::Primitive;

/// How many bytes of such an object are written when it is used, from its first one on: its
/// size in the C library, without what only its creation writes.
pub fn written(primitive: Primitive) -> u64 {
    match primitive {
        Primitive::Mutex => 24,
        Primitive::Rwlock => 32,
        Primitive::Condvar => 48,
        Primitive::Barrier | Primitive::Semaphore => 16,
        Primitive::OmpLock | Primitive::OmpCritical => 8,
        Primitive::Spinlock | Primitive::Futex => 4,
        Primitive::OmpBarrier
        | Primitive::Thread
        | Primitive::Yield
        | Primitive::Sleep
        | Primitive::Spin => 0,
    }
}
