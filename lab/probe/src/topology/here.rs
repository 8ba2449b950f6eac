//! The topology of this machine.

use super::{Topology, hwloc, linux, xml};
use crate::error::Error;

impl Topology {
    /// The topology of this machine, with only the processors that this process may use. It comes
    /// from hwloc or, if hwloc can't be used, from Linux's lists of processors.
    ///
    /// # Errors
    /// If the processors of this process or their positions are unknown, or if a thread can't be
    /// pinned to one of them.
    pub fn here() -> Result<Topology, Error> {
        let usable = linux::usable()?;
        match hwloc::export() {
            Ok(text) => xml::topology(&text, &usable).ok_or(Error::Topology { from: "hwloc" }),
            Err(why) => linux::topology(&usable, why),
        }
    }
}
