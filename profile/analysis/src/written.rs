//! The part of a C library's object that is written when it is used.

use syncline_recording::Primitive;

/// How many bytes of an object, from its start, are written when it is used. This is the object's
/// size in the C library, without the part that only its creation writes.
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
