//! The operations of a table: those on a key, and `resize`.

use syncline_fabric::Fabric;

use crate::change::{Draft, Next};
use crate::error::Error;
use crate::key::Hash;
use crate::look::Key;
use crate::mode::Mode;
use crate::table::Table;

/// The number of entries per bucket for which [`resize`](Table::resize) makes room.
const FILL: u64 = 4;

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    #[inline]
    fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        let hash = Hash::of(bytes);
        Key { bytes, hash, home: hash.home(self.fabric.ranks()) }
    }

    /// Returns a copy of a key's value; `None` if the key has no value.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if the key's rank is dead and its part is gone.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.read(self.key(key), |value| value.map(<[u8]>::to_vec))
    }

    /// Calls a function with a copy of a key's value, or with `None` if the key has no value, and
    /// returns the function's result. Unlike [`get`](Self::get), this does not allocate if key and
    /// value have at most 240 bytes together. In the coarse mode the function runs while the key's
    /// part is locked, and must not use the table.
    ///
    /// # Errors
    ///
    /// Same errors as [`get`](Self::get).
    #[inline]
    pub fn with<R>(&self, key: &[u8], then: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Error> {
        self.read(self.key(key), then)
    }

    /// Whether a key has a value.
    ///
    /// # Errors
    ///
    /// Same errors as [`get`](Self::get).
    #[inline]
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.read(self.key(key), |value| value.is_some())
    }

    /// Gives a key a value. Returns whether the key had a value before.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] as for [`get`](Self::get); [`Error::Full`] and [`Error::TooLong`], which
    /// leave the table unchanged.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let mut draft = self.draft(key)?;
        draft.fill(value)?;
        self.change(&mut draft, |_, _| Ok(Next::Draft))
    }

    /// Removes a key's value. Returns whether the key had a value.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] as for [`get`](Self::get); [`Error::TooLong`] if the key is too long.
    pub fn remove(&self, key: &[u8]) -> Result<bool, Error> {
        let mut draft = self.draft(key)?;
        self.change(&mut draft, |_, _| Ok(Next::Nothing))
    }

    /// Replaces a key's value atomically by the result of a function of the old value. If the
    /// function returns `None`, the value is removed, and a key without a value stays as it is.
    /// Returns whether the key had a value before.
    ///
    /// The function may be called several times, if other ranks or threads change the key's bucket
    /// meanwhile or if the bucket has to be split. Only the argument and the result of the last
    /// call count. The function must not use the table, since it may run while other ranks are
    /// excluded: after many failed tries, and always in the coarse mode.
    ///
    /// # Errors
    ///
    /// Same errors as [`put`](Self::put).
    pub fn update(
        &self,
        key: &[u8],
        mut next: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<bool, Error> {
        let mut draft = self.draft(key)?;
        self.change(&mut draft, |value, draft| match next(value) {
            Some(new) => draft.fill(&new).map(|()| Next::Draft),
            None => Ok(Next::Nothing),
        })
    }

    fn draft<'t>(&'t self, key: &'t [u8]) -> Result<Draft<'t, F, M>, Error> {
        if u32::try_from(key.len()).is_err() {
            return Err(Error::TooLong(key.len()));
        }
        Ok(Draft::new(self, self.key(key)))
    }

    /// Makes room for this many entries in total, spread over the ranks, so that no row of buckets
    /// need be added later. Any rank may call it at any time. A call never makes the table smaller.
    /// Ranks whose parts are gone are skipped.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if a part has no room for its buckets.
    pub fn resize(&self, entries: u64) -> Result<(), Error> {
        let ranks = self.fabric.ranks();
        let buckets = (entries / ranks as u64).div_ceil(FILL);
        for rank in 0..ranks {
            match self.grow_to(rank, buckets) {
                Ok(()) | Err(Error::Lost { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn grow_to(&self, rank: usize, buckets: u64) -> Result<(), Error> {
        let mut bits = self.rows.learn(&self.fabric, rank)?;
        while 1 << bits < buckets {
            self.rows.grow(&self.fabric, rank, bits)?;
            let now = self.rows.bits(rank);
            if now == bits {
                break;
            }
            bits = now;
        }
        Ok(())
    }
}
