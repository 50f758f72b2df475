//! Checks that the program runs with the MPI library that this was built for.
//!
//! Another library has other handles, so nothing of `exec` may be used before this check.

use std::ffi::{CStr, c_char, c_int};

unsafe extern "C" {
    safe fn colltune_built_for() -> *const c_char;
    safe fn colltune_built_for_major() -> c_int;
}

/// The library that the program runs with, if it differs from that of this build.
pub fn other_library() -> Option<String> {
    let found = exec::identify_library();
    // SAFETY: a constant text.
    let built_for = unsafe { CStr::from_ptr(colltune_built_for()) };
    let major = found.version.split('.').next().unwrap_or_default();
    let is_it =
        built_for.to_str() == Ok(&found.name) && major == colltune_built_for_major().to_string();
    (!is_it).then(|| found.to_string())
}

/// The library that this was built for.
pub fn built_for() -> String {
    // SAFETY: a constant text.
    let name = unsafe { CStr::from_ptr(colltune_built_for()) };
    format!("{} {}", name.to_string_lossy(), colltune_built_for_major())
}
