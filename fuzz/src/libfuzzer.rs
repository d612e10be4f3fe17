//! The same targets for libFuzzer, which looks for inputs that reach new code: `tools/fuzz` builds and starts it.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use motet_fuzz::{Reach, Target, targets};

/// The target whose name is in `MOTET_FUZZ_TARGET`.
fn target() -> &'static dyn Target {
    static CHOSEN: OnceLock<Box<dyn Target>> = OnceLock::new();
    &**CHOSEN.get_or_init(|| {
        let name = std::env::var("MOTET_FUZZ_TARGET").unwrap_or_default();
        let found = targets().into_iter().find(|target| target.name() == name);
        found.unwrap_or_else(|| panic!("MOTET_FUZZ_TARGET=\"{name}\" is no target (motet-fuzz list)"))
    })
}

fuzz_target!(|input: &[u8]| {
    let _ = target().run(input, Reach::Quick);
});
