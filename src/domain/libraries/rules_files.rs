//! What libraries do with files of rules, which they do not report.

/// What a library does with a file of rules that a setting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesFileEffect {
    /// It reads the file. There may be something to add, as a clause.
    Read(Option<&'static str>),
    /// It ignores the whole file, silently, for this reason.
    Ignored(String),
    /// It ends every program when MPI starts or at a call, for this reason.
    EndsPrograms(String),
}

/// The numbers of a release's name, such as 4, 1 and 4; 0 for those that it lacks.
pub(crate) fn release_numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| {
        let digits = part.chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().unwrap_or(0)
    });
    [(); 3].map(|()| parts.next().unwrap_or(0))
}
