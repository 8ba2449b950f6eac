//! The files that names come from, for all processes that are read.
//!
//! A recording may have thousands of processes of one program. Its files are read once, whatever
//! the number of processes that mapped them, and so is each address in them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use syncline_recording::layout::ModuleRecord;

use super::files;
use super::image::Image;

/// Files by their path and build-id: of one path there may be several builds.
pub struct Library {
    debug_dirs: Vec<PathBuf>,
    images: RefCell<HashMap<Build, Rc<Image>>>,
    /// The files that were replaced while their programs ran.
    replaced: RefCell<HashMap<Build, Option<PathBuf>>>,
    opened: Cell<usize>,
}

type Build = (String, Vec<u8>);

impl Library {
    /// No file yet. Separate debug files are looked for in these folders.
    pub fn new(debug_dirs: &[PathBuf]) -> Rc<Library> {
        Rc::new(Library {
            debug_dirs: debug_dirs.to_vec(),
            images: RefCell::default(),
            replaced: RefCell::default(),
            opened: Cell::new(0),
        })
    }

    /// How many files were read for names.
    pub fn opened(&self) -> usize {
        self.opened.get()
    }

    /// How many addresses in them were looked up.
    pub fn looked_up(&self) -> usize {
        self.images.borrow().values().map(|image| image.looked_up()).sum()
    }

    /// The path of a module's file: of the present file if it was replaced by the same build.
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

    /// The names of a file, which is read when it is first asked for.
    pub fn image(&self, path: &str, build_id: &[u8]) -> Rc<Image> {
        let mut images = self.images.borrow_mut();
        let image = images.entry((path.to_owned(), build_id.to_vec())).or_insert_with(|| {
            self.opened.set(self.opened.get() + 1);
            Rc::new(Image::open(path, build_id, &self.debug_dirs))
        });
        Rc::clone(image)
    }
}
