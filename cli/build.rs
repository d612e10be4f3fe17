//! How the program is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    // The program may be loaded anywhere, so the loader adjusts 55,000 addresses in it. Their plain list is 1.3 MB; packed it is a
    // twentieth. glibc reads it since 2.36 (2022), and linkers that write it ask for that version by themselves; older ones ignore the wish.
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
