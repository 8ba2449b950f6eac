//! The reasons why a recording can't be read.

use std::io;
use std::path::PathBuf;

/// Why a file of a recording can't be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0}: not a Syncline recording")]
    Foreign(PathBuf),
    #[error("{0}: not a plain file; links are not followed")]
    NotPlain(PathBuf),
    #[error(
        "{path}: belongs to user {owner}, and its folder to user {folder}; copy it if you trust it"
    )]
    Owner { path: PathBuf, owner: u32, folder: u32 },
    #[error("{0}: empty; the disk had no room when its process began")]
    NoRoom(PathBuf),
    #[error("{path}: recorded in format {found}, but this Syncline reads format {read}")]
    Version { path: PathBuf, found: u32, read: u32 },
    #[error("{0}: recorded on a machine with another byte order")]
    ByteOrder(PathBuf),
    #[error("{path}: the file is damaged or cut short: {what}")]
    Damaged { path: PathBuf, what: String },
    #[error(
        "{path}: nothing was recorded: no process of `{command}` made a call that Syncline counts"
    )]
    Nothing { path: PathBuf, command: String },
    #[error(
        "{path}: the last run, `{command}`, recorded nothing: {why}. The folder still has the \
         recording of an earlier run; to read that one, delete refused.json in the folder"
    )]
    Refused { path: PathBuf, command: String, why: String },
    #[error("{0}: no recording in this folder; `syncline record -- PROGRAM` makes one")]
    Empty(PathBuf),
}
