//! Finds the build id of an object, in its notes.

const NT_GNU_BUILD_ID: u32 = 3;

/// The build id in the bytes of a segment of notes (`PT_NOTE`); `None` if there is none.
pub fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    while notes.len() >= 12 {
        let word =
            |i: usize| u32::from_ne_bytes(notes[i..i + 4].try_into().unwrap_or_default()) as usize;
        let (name, size, kind) = (word(0).next_multiple_of(4), word(4), word(8));
        let rest = notes.get(12 + name..)?;
        if kind as u32 == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return rest.get(..size);
        }
        notes = rest.get(size.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::build_id;

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let note = |name: &[u8], kind: u32, value: &[u8]| {
            let mut note = Vec::new();
            for word in [name.len() as u32, value.len() as u32, kind] {
                note.extend(word.to_ne_bytes());
            }
            note.extend(name);
            note.extend(value);
            note.resize(note.len().next_multiple_of(4), 0);
            note
        };
        let mut notes = note(b"GNU\0", 1, &[1; 16]);
        assert_eq!(build_id(&notes), None);
        notes.extend(note(b"GNU\0", 3, &[0xab; 20]));
        assert_eq!(build_id(&notes), Some(&[0xab; 20][..]));
        assert_eq!(build_id(&notes[..notes.len() - 4]), None, "cut short");
    }
}
