//! How files are opened and replaced, whatever is in them.
//!
//! [`open`] and [`read`] take regular files only: a pipe would make the reader wait for ever, and a device may have no end. What is
//! larger than the free memory is not read either.
//! [`replace`] writes a file so that a kill or a power cut at any moment leaves the old one or the new one, never half of it, and
//! [`replace_secret`] one that only its owner may read. In builds with
//! debug assertions tests can let a program die at any write (`kill`).
//!
//! ```
//! let folder = std::env::temp_dir().join(format!("motet-files-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("greeting");
//! motet_files::replace(&path, b"hello")?;
//! assert_eq!(motet_files::read(&path, 100)?, b"hello");
//! assert!(motet_files::read(&path, 4).unwrap_err().to_string().contains("more than 4 bytes"));
//! assert!(motet_files::read(&folder, 100).unwrap_err().to_string().contains("is a folder"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

#[doc(hidden)]
pub mod kill;
mod memory;
mod regular;
mod replace;

pub use memory::{free_memory, told};
pub use regular::{open, read, read_text, stranger};
pub use replace::{replace, replace_secret, sync_folder_of};
