//! Gives the engine a name that changes whenever its code does: FLOWYARD_ENGINE, a hash of its sources, without comments
//! and unit tests, and of the versions of what it is built with. Results of two engines with the same name may stand side
//! by side.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.lock")];
    for folder in ["crates/sim/src", "crates/tables/src"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files);
    }
    println!("cargo:rerun-if-changed={}", root.join("Cargo.lock").display());
    println!("cargo:rerun-if-changed=build.rs");
    files.sort();
    // FNV-1a, 64 bits: no adversary here, only other versions.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        // In a source archive Cargo.lock may be missing.
        let text = fs::read_to_string(&file).unwrap_or_default();
        let name = file.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
        let lines = code(&text).flat_map(|line| line.bytes().chain([b'\n']));
        for byte in name.bytes().chain([0]).chain(lines) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=FLOWYARD_ENGINE={}+{hash:016x}", env!("CARGO_PKG_VERSION"));
}

/// The lines of a file that are code: no comments, and nothing from its unit tests on, which stand last. A file of unit tests
/// has none.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let text = if text.contains("\n#![cfg(test)]\n") { "" } else { text };
    let end = text.find("\n#[cfg(test)]\nmod tests {\n").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the engine's sources are beside the binding's") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
