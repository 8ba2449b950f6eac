//! Inputs for the programs. They are made from a fixed seed, so that all runs have equal inputs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a text of at least `bytes` bytes with repeated words, which a compressor treats like
/// prose.
pub fn write_text(path: &Path, bytes: usize) -> io::Result<()> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut word = || (0..random.usize(2..9)).map(|_| random.lowercase()).collect::<String>();
    let words: Vec<String> = (0..5000).map(|_| word()).collect();
    let mut file = BufWriter::new(File::create(path)?);
    let mut written = 0;
    while written < bytes {
        let word = &words[random.usize(..words.len())];
        let end = if random.u8(..) < 20 { '\n' } else { ' ' };
        write!(file, "{word}{end}")?;
        written += word.len() + 1;
    }
    file.flush()
}

/// Writes uncompressed video of 640 x 360 pixels: a moving pattern under noise.
pub fn write_video(path: &Path, frames: usize) -> io::Result<()> {
    const WIDTH: usize = 640;
    const HEIGHT: usize = 360;
    let mut random = fastrand::Rng::with_seed(1);
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420jpeg")?;
    let colour = vec![128; WIDTH * HEIGHT / 2];
    for frame in 0..frames {
        writeln!(file, "FRAME")?;
        for y in 0..HEIGHT {
            let noise: [u8; WIDTH] = std::array::from_fn(|_| random.u8(..8));
            let brightness = |x: usize| 2 * x + y + 3 * frame + ((x * y + frame * frame) >> 6);
            let line: [u8; WIDTH] =
                std::array::from_fn(|x| (brightness(x) as u8).wrapping_add(noise[x]));
            file.write_all(&line)?;
        }
        file.write_all(&colour)?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_requested_size_and_are_repeatable() {
        let folder = tempfile::tempdir().unwrap();
        let read = |write: fn(&Path) -> io::Result<()>| {
            let path = folder.path().join("input");
            write(&path).unwrap();
            std::fs::read(path).unwrap()
        };
        let text = |path: &Path| write_text(path, 10_000);
        assert!((10_000..10_020).contains(&read(text).len()));
        assert_eq!(read(text), read(text));
        let video = |path: &Path| write_video(path, 2);
        assert!(read(video).len() > 2 * 640 * 360 * 3 / 2);
        assert_eq!(read(video), read(video));
    }
}
