//! Text for shells.

use printable::is_unprintable;

/// Quotes a text so that a shell reads it as one word. The quotation has no unprintable characters except line ends
/// and tabs.
pub fn quote_for_shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut quoted = "'".to_owned();
    for c in text.chars() {
        match c {
            '\'' => quoted += r"'\''",
            // Line ends are not printed escaped, and would be lost at the end of a command's output.
            '\n' | '\t' => quoted.push(c),
            // Printed as it is, it would be escaped, and the shell would read another text.
            _ if is_unprintable(c) => {
                let octal = |byte: &u8| format!("\\{byte:03o}");
                let bytes: String = c.to_string().as_bytes().iter().map(octal).collect();
                quoted += &format!("'\"$(printf '{bytes}')\"'");
            }
            _ => quoted.push(c),
        }
    }
    quoted + "'"
}
