//! Which MPI library this is.

use vocabulary::Library;

/// The library by the text that it gives of itself ([`crate::library_text`]), such as
/// `Open MPI v4.1.4, package: ...` or `MPICH Version: 4.0.2`. An unknown one goes by its first word.
pub fn library(text: &str) -> Library {
    let unknown = || {
        let word = text.split_whitespace().next().unwrap_or("unknown");
        let letters = word.chars().take_while(|c| c.is_alphanumeric());
        letters.collect::<String>().to_lowercase()
    };
    let known = libraries::described_by(text);
    let version = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or("unknown");
    Library {
        name: known.map_or_else(unknown, |library| library.name().to_owned()),
        version: version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::library;

    #[test]
    fn libraries_are_known_by_their_texts() {
        let check = |text: &str, expected: &str| assert_eq!(library(text).to_string(), expected);
        check(
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
            "openmpi-4.1.4",
        );
        check("Open MPI v5.0.11rc1, package: x", "openmpi-5.0.11rc1");
        check("MPICH Version:\t4.0.2", "mpich-4.0.2");
        check("MPICH Version:      5.0.0b1", "mpich-5.0.0b1");
        check("Intel(R) MPI Library 2021.9 for Linux* OS", "intel-2021.9");
        check("", "unknown-unknown");
    }
}
