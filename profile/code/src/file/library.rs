//! The files from which names are read, shared by all processes of a recording.
//!
//! A recording may have thousands of processes of one program. Each file is read once, however many
//! processes mapped it, and each address in it is looked up once.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use syncline_recording::layout::ModuleRecord;

use super::files;
use super::image::Image;

/// Files by path and build-id, since several builds may have had the same path.
pub struct Library {
    debug_dirs: Vec<PathBuf>,
    images: RefCell<HashMap<Build, Rc<Image>>>,
    /// The current paths of files that were replaced while their programs ran; `None` if the
    /// current file is not known to be the same build.
    replaced: RefCell<HashMap<Build, Option<PathBuf>>>,
    opened: Cell<usize>,
}

type Build = (String, Vec<u8>);

impl Library {
    /// Creates a library without files. Separate debug files will be looked up in `debug_dirs`.
    pub fn new(debug_dirs: &[PathBuf]) -> Rc<Library> {
        Rc::new(Library {
            debug_dirs: debug_dirs.to_vec(),
            images: RefCell::default(),
            replaced: RefCell::default(),
            opened: Cell::new(0),
        })
    }

    /// The number of files in which names were looked up, including those that could not be read.
    pub fn opened(&self) -> usize {
        self.opened.get()
    }

    /// The number of addresses that were looked up in all files.
    pub fn looked_up(&self) -> usize {
        self.images.borrow().values().map(|image| image.looked_up()).sum()
    }

    /// The path of a module's file, or of the current file if the same build has replaced it.
    pub fn path(&self, module: &ModuleRecord) -> String {
        let path = module.path();
        if !path.ends_with(files::REPLACED) {
            return path;
        }
        let build = (path.clone(), module.build_id().to_vec());
        let mut replaced = self.replaced.borrow_mut();
        let now = replaced
            .entry(build)
            .or_insert_with_key(|(path, build_id)| files::replaced(Path::new(path), build_id));
        now.as_ref().map_or(path, |now| now.to_string_lossy().into_owned())
    }

    /// The names in a file. The file is read when its names are first requested.
    pub fn image(&self, path: &str, build_id: &[u8]) -> Rc<Image> {
        let mut images = self.images.borrow_mut();
        let image = images.entry((path.to_owned(), build_id.to_vec())).or_insert_with(|| {
            self.opened.set(self.opened.get() + 1);
            Rc::new(Image::open(path, build_id, &self.debug_dirs))
        });
        Rc::clone(image)
    }
}
