//! pbzip2 and x264 write the same bytes with and without recording.

use std::fs;
use std::path::Path;

use syncline_conformance::scratch;

use crate::{assert_locks, installed, script};

#[test]
fn pbzip2() {
    installed("/usr/bin/pbzip2", "pbzip2");
    let folder = scratch();
    fs::write(folder.path().join("text"), text(6 << 20)).expect("a file");
    let steps = "
        pbzip2 -p4 -b2 -c \"$1/text\" | sha256sum
        pbzip2 -p4 -b2 -c \"$1/text\" | pbzip2 -d -p4 -c | cmp - \"$1/text\"
        echo identical";
    let both = script(steps, folder.path()).both();
    assert!(both.recorded.behaviour().ends_with("identical\n"));
    assert_locks(&both.recording, "pbzip2", 100);
}

#[test]
fn x264() {
    installed("/usr/bin/x264", "x264");
    let folder = scratch();
    write_video(&folder.path().join("video.y4m"));
    let step = "x264 --quiet --threads 4 --muxer raw -o - \"$1/video.y4m\" | sha256sum";
    let both = script(step, folder.path()).both();
    let checksum_of_nothing = "e3b0c44298fc1c149afbf4c8996fb924";
    assert!(!both.recorded.behaviour().starts_with(checksum_of_nothing));
    assert_locks(&both.recording, "x264", 1000);
}

/// Text that compresses somewhat.
fn text(size: usize) -> Vec<u8> {
    let mut numbers = Numbers(1);
    let mut text = Vec::with_capacity(size);
    while text.len() < size {
        text.extend_from_slice(format!("{:x} and ", numbers.next() % 5000).as_bytes());
    }
    text
}

/// Sixty frames of a moving pattern with noise, 320 by 240.
fn write_video(path: &Path) {
    const WIDTH: usize = 320;
    const HEIGHT: usize = 240;
    let mut numbers = Numbers(2);
    let mut video = format!("YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420jpeg\n").into_bytes();
    for frame in 0..60 {
        video.extend_from_slice(b"FRAME\n");
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let noise = (numbers.next() % 16) as usize;
                video.push(((x + 3 * frame) ^ (y + frame)) as u8 / 2 + noise as u8);
            }
        }
        video.resize(video.len() + WIDTH * HEIGHT / 2, 128);
    }
    fs::write(path, video).expect("a video");
}

/// Pseudo-random numbers, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 33
    }
}
