//! Quoting for shells.

use std::process::Command;

use printable::Plain;
use vocabulary::quote_for_shell;

#[test]
fn a_shell_reads_a_quotation_as_the_text() {
    for text in [
        "",
        "plain/path-1.yaml",
        "it's $(touch pwned) `touch pwned` \"\\\" %s !",
        "two\nlines\tand\n",
        "Größe 名前",
        "\u{1b}[2J \u{7f}\u{85}\r",
        "/home/a\u{a0}b/\u{3000}/\u{200d}\u{202e}'\u{2028}$\u{e0041}",
    ] {
        let quoted = quote_for_shell(text);
        // Printed with unprintable characters escaped, it must still be the same word.
        assert_eq!(Plain(&quoted).to_string(), quoted);
        let script = format!("printf '<%s>' {quoted}");
        let output = Command::new("/bin/sh")
            .args(["-euc", &script])
            .output()
            .expect("a shell");
        let read = String::from_utf8(output.stdout).expect("text");
        assert_eq!(read, format!("<{text}>"), "{quoted}");
    }
}
