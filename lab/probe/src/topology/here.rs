//! The topology of this machine.

use super::{Topology, hwloc, linux, xml};
use crate::error::Error;

impl Topology {
    /// The topology of this machine, limited to the processors that this process may use: from
    /// hwloc, or else from Linux's lists.
    ///
    /// # Errors
    /// If the processors of this process are unknown.
    pub fn here() -> Result<Topology, Error> {
        let usable = linux::usable()?;
        match hwloc::export() {
            Ok(text) => xml::topology(&text, &usable).ok_or(Error::Topology { from: "hwloc" }),
            Err(why) => linux::topology(&usable, why),
        }
    }
}
