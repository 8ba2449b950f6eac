//! Serde's traits for locks: a lock is serialized as its value.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lock::{RawLock, RawSharedLock};
use crate::{Mutex, RwLock};

/// Waits for the lock, and writes the value.
impl<T: ?Sized + Serialize, L: RawLock> Serialize for Mutex<T, L> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.with(|value| value.serialize(to))
    }
}

/// A free lock with the deserialized value.
impl<'de, T: Deserialize<'de>, L: RawLock> Deserialize<'de> for Mutex<T, L> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::from_raw(L::default(), T::deserialize(from)?))
    }
}

/// Waits for a share of the lock, and writes the value.
impl<T: ?Sized + Serialize, L: RawSharedLock> Serialize for RwLock<T, L> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.with_read(|value| value.serialize(to))
    }
}

/// A free lock with the deserialized value.
impl<'de, T: Deserialize<'de>, L: RawSharedLock> Deserialize<'de> for RwLock<T, L> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::from_raw(L::default(), T::deserialize(from)?))
    }
}

#[cfg(feature = "std")]
mod reentrant {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use crate::ReentrantMutex;

    /// Waits for the lock, and writes the value.
    impl<T: ?Sized + Serialize> Serialize for ReentrantMutex<T> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            self.lock().serialize(to)
        }
    }

    /// A free lock with the deserialized value.
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for ReentrantMutex<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            Ok(Self::new(T::deserialize(from)?))
        }
    }
}
