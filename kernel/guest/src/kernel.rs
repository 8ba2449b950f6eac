//! Which kernel is booted: a given image, the one in a given package, or one of this machine's.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// The folder with the system's kernels.
const BOOT: &str = "/boot";
/// The folder in the cache where packages are unpacked.
const PACKAGES: &str = "packages";
/// The prefix of an image's name.
const IMAGE: &str = "vmlinuz-";
/// The advice if a package has no kernel.
const NO_IMAGE: &str = "a package such as linux-image-amd64 only depends on the one with the \
                        kernel; name that one, or an image (vmlinuz)";
/// The advice if there is no kernel.
const HINT: &str = "install one, such as linux-image-cloud-amd64 (`./x setup --kernel` does), or \
                    name an image or a Debian package with --kernel";

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The kernel's image.
    pub image: PathBuf,
    /// The kernel's release, such as `6.1.0-56-cloud-amd64`.
    pub release: String,
    /// A hash of the image's contents.
    pub hash: u64,
}

/// Finds the named kernel: an image or a `.deb`, which is unpacked into the cache. Without a name,
/// it chooses the newest kernel on this machine with "cloud" in its name, or else the newest. If
/// the machine has none, as in a container, it makes the same choice among the unpacked ones.
///
/// # Errors
/// [`Error::Kernel`] if there is no usable kernel; [`Error::Io`] if the cache can't be written.
pub fn find(named: Option<&Path>, cache: &Path) -> Result<Kernel, Error> {
    let image = match named {
        Some(path) if path.extension() == Some(OsStr::new("deb")) => unpack(path, cache)?,
        Some(path) => path.to_owned(),
        None => newest(&[PathBuf::from(BOOT)])
            .or_else(|| newest(&unpacked(cache)))
            .ok_or_else(|| Error::Kernel(format!("there is no kernel in {BOOT}: {HINT}")))?,
    };
    let bytes = fs::read(&image).map_err(|error| {
        Error::Kernel(format!("can't read the kernel {}: {error}", image.display()))
    })?;
    // The header of the boot protocol: a signature, the protocol's version, and at 0x20e the
    // position of the kernel's version.
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        let path = image.display();
        return Err(Error::Kernel(format!("{path} is not an image of a Linux kernel for x86-64")));
    }
    // From version 2.12 of the protocol on, a flag says whether the kernel has a 64-bit entry.
    let word = |at: usize| bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
    if word(0x206) >= 0x20c && word(0x236) & 1 == 0 {
        let path = image.display();
        return Err(Error::Kernel(format!("{path} is a kernel for 32-bit processors: {HINT}")));
    }
    let at = bytes.get(0x20e..0x210).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]) as usize);
    let text = bytes.get(at + 0x200..).unwrap_or_default();
    let end = text.iter().position(|&b| b == b' ' || b == 0).unwrap_or(0);
    let release = String::from_utf8_lossy(&text[..end]).into_owned();
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(Kernel { image, release, hash: hasher.finish() })
}

/// The `boot` folders of the unpacked packages; `./x setup --kernel` unpacks one.
fn unpacked(cache: &Path) -> Vec<PathBuf> {
    let packages = fs::read_dir(cache.join(PACKAGES)).into_iter().flatten().flatten();
    packages.map(|package| package.path().join("boot")).collect()
}

fn newest(folders: &[PathBuf]) -> Option<PathBuf> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let name = |path: &PathBuf| path.file_name()?.to_str().map(str::to_owned);
    let images = entries.map(|entry| entry.path());
    let mut images: Vec<(String, PathBuf)> =
        images.filter_map(|path| Some((name(&path)?, path))).collect();
    images.retain(|(name, _)| name.starts_with(IMAGE));
    images.sort_by_key(|(name, _)| (name.contains("cloud"), numbers(name)));
    images.pop().map(|(_, path)| path)
}

/// The numbers in a name, by which versions are compared.
fn numbers(name: &str) -> Vec<u64> {
    let parts = name.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Unpacks a package, unless that was done before, and returns its kernel's path.
fn unpack(package: &Path, cache: &Path) -> Result<PathBuf, Error> {
    let name = package.file_stem().unwrap_or_default();
    let packages = cache.join(PACKAGES);
    let folder = packages.join(name);
    let boot = [folder.join("boot")];
    if newest(&boot).is_none() {
        fs::create_dir_all(&packages)?;
        let work = tempfile::Builder::new().prefix(".unpacking.").tempdir_in(&packages)?;
        let output = Command::new("dpkg-deb").arg("-x").arg(package).arg(work.path()).output();
        let output =
            output.map_err(|error| Error::Kernel(format!("can't run dpkg-deb: {error}")))?;
        if !output.status.success() {
            let (package, why) = (package.display(), String::from_utf8_lossy(&output.stderr));
            return Err(Error::Kernel(format!("can't unpack {package}: {}", why.trim())));
        }
        // A rename, so that no process finds an incomplete folder; another process may have been
        // faster.
        let _ = fs::rename(work.path(), &folder);
    }
    newest(&boot).ok_or_else(|| {
        Error::Kernel(format!("there is no kernel in {}: {NO_IMAGE}", package.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_cloud_kernel_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["vmlinuz-6.1.0-9-cloud-amd64", "vmlinuz-6.1.0-56-cloud-amd64", "config-7"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let folders = [folder.path().to_owned(), "/nowhere".into()];
        let found = newest(&folders).expect("a kernel");
        assert!(found.ends_with("vmlinuz-6.1.0-56-cloud-amd64"));
        fs::write(folder.path().join("vmlinuz-6.12.1-amd64"), "").expect("a file");
        assert_eq!(newest(&folders), Some(found));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let cache = Path::new("/nowhere");
        let error = find(Some(Path::new("/etc/passwd")), cache).expect_err("a text");
        assert!(error.to_string().contains("is not an image of a Linux kernel"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("vmlinuz");
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
        fs::write(&image, &bytes).expect("a file");
        let error = find(Some(&image), cache).expect_err("a kernel of 32 bits");
        assert!(error.to_string().contains("32-bit"), "{error}");
        bytes[0x236] = 1;
        fs::write(&image, &bytes).expect("a file");
        find(Some(&image), cache).expect("a kernel of 64 bits");
        let error = find(Some(Path::new("/nowhere/vmlinuz")), cache).expect_err("nothing");
        assert!(error.to_string().contains("can't read the kernel"), "{error}");
    }
}
