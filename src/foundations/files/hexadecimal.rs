//! Digests as text.

use std::fmt::Write;

/// Bytes as text, in two lower-case hexadecimal digits each.
///
/// ```
/// assert_eq!(files::hexadecimal(&[1, 0xab]), "01ab");
/// ```
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digits = String::with_capacity(2 * bytes.len());
    bytes.iter().fold(digits, |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
