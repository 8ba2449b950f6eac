//! SSYNC's tables 2 and 3, as printed.

/// A row of table 2: the operation and the state, and the cycles by distance. In print, the four
/// atomic operations share a row for machines with several sockets.
pub type Cells = (&'static str, &'static [f64]);

/// The numbers that the tables give for a machine.
pub struct Printed {
    /// The machine.
    pub machine: &'static str,
    /// Table 2.
    pub remote: &'static [Cells],
    /// Table 3.
    pub local: &'static [(&'static str, f64)],
}

/// The tables' numbers for SSYNC's four machines.
#[rustfmt::skip]
pub const PRINTED: [Printed; 4] = [
    Printed {
        machine: "opteron",
        remote: &[
            ("load, modified", &[81.0, 161.0, 172.0, 252.0]),
            ("load, owned", &[83.0, 163.0, 175.0, 254.0]),
            ("load, exclusive", &[83.0, 163.0, 175.0, 253.0]),
            ("load, shared", &[83.0, 164.0, 176.0, 254.0]),
            ("load, invalid", &[136.0, 237.0, 247.0, 327.0]),
            ("store, modified", &[83.0, 172.0, 191.0, 273.0]),
            ("store, owned", &[244.0, 255.0, 286.0, 291.0]),
            ("store, exclusive", &[83.0, 171.0, 191.0, 271.0]),
            ("store, shared", &[246.0, 255.0, 286.0, 296.0]),
            ("cas, modified", &[110.0, 197.0, 216.0, 296.0]),
            ("cas, shared", &[272.0, 283.0, 312.0, 332.0]),
            ("fai, modified", &[110.0, 197.0, 216.0, 296.0]),
            ("fai, shared", &[272.0, 283.0, 312.0, 332.0]),
            ("tas, modified", &[110.0, 197.0, 216.0, 296.0]),
            ("tas, shared", &[272.0, 283.0, 312.0, 332.0]),
            ("swap, modified", &[110.0, 197.0, 216.0, 296.0]),
            ("swap, shared", &[272.0, 283.0, 312.0, 332.0]),
        ],
        local: &[("L1", 3.0), ("L2", 15.0), ("LLC", 40.0), ("RAM", 136.0)],
    },
    Printed {
        machine: "xeon",
        remote: &[
            ("load, modified", &[109.0, 289.0, 400.0]),
            ("load, exclusive", &[92.0, 273.0, 383.0]),
            ("load, shared", &[44.0, 223.0, 334.0]),
            ("load, invalid", &[355.0, 492.0, 601.0]),
            ("store, modified", &[115.0, 320.0, 431.0]),
            ("store, exclusive", &[115.0, 315.0, 425.0]),
            ("store, shared", &[116.0, 318.0, 428.0]),
            ("cas, modified", &[120.0, 324.0, 430.0]),
            ("cas, shared", &[113.0, 312.0, 423.0]),
            ("fai, modified", &[120.0, 324.0, 430.0]),
            ("fai, shared", &[113.0, 312.0, 423.0]),
            ("tas, modified", &[120.0, 324.0, 430.0]),
            ("tas, shared", &[113.0, 312.0, 423.0]),
            ("swap, modified", &[120.0, 324.0, 430.0]),
            ("swap, shared", &[113.0, 312.0, 423.0]),
        ],
        local: &[("L1", 5.0), ("L2", 11.0), ("LLC", 44.0), ("RAM", 355.0)],
    },
    Printed {
        machine: "niagara",
        remote: &[
            ("load, modified", &[3.0, 24.0]),
            ("load, exclusive", &[3.0, 24.0]),
            ("load, shared", &[3.0, 24.0]),
            ("load, invalid", &[176.0, 176.0]),
            ("store, modified", &[24.0, 24.0]),
            ("store, exclusive", &[24.0, 24.0]),
            ("store, shared", &[24.0, 24.0]),
            ("cas, modified", &[71.0, 66.0]),
            ("cas, shared", &[76.0, 66.0]),
            ("fai, modified", &[108.0, 99.0]),
            ("fai, shared", &[99.0, 99.0]),
            ("tas, modified", &[64.0, 55.0]),
            ("tas, shared", &[67.0, 55.0]),
            ("swap, modified", &[95.0, 90.0]),
            ("swap, shared", &[93.0, 90.0]),
        ],
        local: &[("L1", 3.0), ("LLC", 24.0), ("RAM", 176.0)],
    },
    Printed {
        machine: "tilera",
        remote: &[
            ("load, modified", &[45.0, 65.0]),
            ("load, exclusive", &[45.0, 65.0]),
            ("load, shared", &[45.0, 65.0]),
            ("load, invalid", &[118.0, 162.0]),
            ("store, modified", &[57.0, 77.0]),
            ("store, exclusive", &[57.0, 77.0]),
            ("store, shared", &[86.0, 106.0]),
            ("cas, modified", &[77.0, 98.0]),
            ("cas, shared", &[124.0, 142.0]),
            ("fai, modified", &[51.0, 71.0]),
            ("fai, shared", &[82.0, 102.0]),
            ("tas, modified", &[70.0, 89.0]),
            ("tas, shared", &[121.0, 141.0]),
            ("swap, modified", &[63.0, 84.0]),
            ("swap, shared", &[95.0, 115.0]),
        ],
        local: &[("L1", 2.0), ("L2", 11.0), ("LLC", 45.0), ("RAM", 118.0)],
    },
];
