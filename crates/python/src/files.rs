//! The files that a scenario names: the simulator itself touches none.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest file that is read: what is larger is no distribution.
const BYTES_MAX: u64 = 16 << 20;

/// The text of a file; or why there is none.
pub fn read(path: &Path) -> Result<String, String> {
    let text = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Opening a pipe would wait for its other end, and a device may have no end.
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(io::Error::other("is no regular file (a pipe or a device, say)"));
        }
        // One byte more, to see that there is more.
        File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = text().map_err(|error| {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        match error.kind() {
            // A scenario names it from its own folder, which need not be that of the shell.
            io::ErrorKind::NotFound => format!("{text}: {}", path.display()),
            _ => text.to_string(),
        }
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("has more than {} MiB", BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_string())
}
