//! Looks for bytes that two ranks have changed between the same two synchronizations: a data race of
//! the program, whose result depends on which change goes home last.
//!
//! Before a node puts the bytes that it has changed, it compares the home's bytes with the twin. If
//! they differ, another node has changed the byte since this one fetched it; had that change been
//! synchronized with this one, this node would have fetched the line again before its own.

use syncline_fabric::{Dead, Fabric, Position};

use crate::shape::{CONFLICTS, Layout};

/// Notes the bytes among these that another rank has changed as well. `old` are this node's bytes
/// before its own change, `home` is where the bytes live, and `offset` is theirs in the memory.
pub fn note_conflicts(
    fabric: &impl Fabric,
    layout: &Layout,
    home: Position,
    old: &[u8],
    offset: usize,
) -> Result<(), Dead> {
    let mut now = [0; 256];
    for (number, old) in old.chunks(now.len()).enumerate() {
        let start = number * now.len();
        let now = &mut now[..old.len()];
        fabric.get(home.plus(start), now)?;
        let differs = |(old, now): (&u8, &u8)| old != now;
        let Some(first) = old.iter().zip(&*now).position(differs) else { continue };
        let bytes = old[first..].iter().zip(&now[first..]).filter(|pair| differs(*pair)).count();
        note(fabric, layout, offset + start + first, bytes)?;
    }
    Ok(())
}

/// Notes a conflict, unless this rank has noted one at this offset, or as many as there is room for.
fn note(fabric: &impl Fabric, layout: &Layout, offset: usize, bytes: usize) -> Result<(), Dead> {
    let me = fabric.rank();
    let count = fabric.load(layout.conflicts(me))? as usize;
    for number in 0..count {
        if fabric.load(layout.conflict(me, number))? == offset as u64 {
            return Ok(());
        }
    }
    if count < CONFLICTS {
        let place = layout.conflict(me, count);
        fabric.store(place, offset as u64)?;
        fabric.store(place.plus(8), bytes as u64)?;
        fabric.store(layout.conflicts(me), count as u64 + 1)?;
    }
    Ok(())
}
