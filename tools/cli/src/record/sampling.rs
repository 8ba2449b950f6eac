//! Samples of the program's threads, `samples.json`. The samples so far are also written while the
//! program runs, for `report` on a program that hangs, and in case the command is killed.

use std::path::PathBuf;

use syncline_recording::folder::Folder as Opened;
use syncline_recording::{Living, Samples};
use syncline_sampler::Sampler;

use super::folder::Folder;

/// Starts to sample the processes whose recording is in the folder. `recorder` is the recorder's
/// file, if Syncline has attached to the processes. Returns `None` if no thread can be started: the
/// recording then has no samples, and lacks the facts that only samples show.
pub fn start(folder: &Folder, recorder: Option<PathBuf>) -> Option<Sampler> {
    let mut running = Living::of(folder.path());
    let opened = Opened::open(folder.path()).ok();
    let keep = move |samples: Samples| {
        if let Some(opened) = &opened {
            write(&samples, opened);
        }
    };
    Sampler::start(recorder, move || running.numbers(), keep).ok()
}

/// Ends the sampling, and writes the samples.
pub fn finish(sampler: Sampler, folder: &Folder) {
    write(&sampler.finish(), folder.opened());
}

fn write(samples: &Samples, folder: &Opened) {
    // An error is ignored: the disk is full, or the folder is gone. In that case, `session.json`
    // can't be written later either, and that failure is reported.
    let _ = samples.write(folder);
}
