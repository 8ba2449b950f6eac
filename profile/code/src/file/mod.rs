//! The files that a program was made of, read for what they tell: one of them is an
//! [`image::Image`], all of them are a [`library::Library`].

pub mod calls;
pub mod demangle;
pub mod files;
pub mod image;
pub mod library;
mod locals;
mod table;
pub mod unwind;
