//! Puts every bundled experiment into the binary: `experiments/<paper>/<figure>.toml`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("experiments");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut names = vec![];
    for paper in sorted(&root)? {
        println!("cargo::rerun-if-changed={}", paper.display());
        for figure in sorted(&paper)? {
            if figure.extension().is_some_and(|e| e == "toml") {
                names.push(figure);
            }
        }
    }
    if names.is_empty() {
        return Err(io::Error::other(format!("{} holds no experiments: a package without them is not whole", root.display())));
    }
    let mut list = String::from("&[\n");
    for path in names {
        let stem = |p: &Path| p.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}/{}", path.parent().map(stem).unwrap_or_default(), stem(&path));
        let path = path.canonicalize()?;
        let _ = writeln!(list, "    Bundled {{ name: {name:?}, text: include_str!({:?}) }},", path.display().to_string());
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("bundled.rs");
    fs::write(out, list)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Err(io::Error::other(format!("{} is not a folder of experiments", folder.display())));
    }
    let mut paths = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
