//! What is fixed about a library.

use crate::LibraryAlgorithm;

/// What of a library is the same whatever is measured.
#[derive(Debug)]
pub struct Facts {
    /// Its name in files: [`vocabulary::Library::name`].
    pub name: &'static str,
    /// Its name for people; its description of itself, `MPI_Get_library_version`, begins with it.
    pub title: &'static str,
    /// Its own algorithms of which something is known that the library does not tell.
    pub algorithms: &'static [LibraryAlgorithm],
    /// The export formats that it reads, each with the first major version that does.
    pub formats: &'static [(u32, &'static str)],
    /// Whether its files tell operators that commute from others.
    pub tells_operators_apart: bool,
    /// What the names of environment variables begin with that steer how it communicates.
    pub steering_variables: &'static [&'static str],
    /// What the names of those begin with that its launcher sets for its own purposes.
    pub launcher_variables: &'static [&'static str],
    /// What the names of those begin with that may be without effect until algorithms can be forced.
    pub dormant_variables: &'static [&'static str],
    /// What stands before a control variable's name in that of its environment variable.
    pub variable_prefix: &'static str,
    /// The control variable that names a file of rules, by which sites deploy decisions.
    pub rules_setting: &'static str,
    /// The control variable that lists the files of settings; `None` if the library reads none.
    pub files_setting: Option<&'static str>,
    /// The environment variable that lets algorithms be forced if it is `1` when MPI starts; `None` if
    /// they always can be.
    pub enabling_variable: Option<&'static str>,
    /// An environment variable with the value at which the library reads no files of settings.
    pub without_files: Option<(&'static str, &'static str)>,
    /// The control variable that says whether waiting ranks leave their cores to others. `None` if there
    /// is none, or it cannot be asked for: MPICH forgets its variables, also for itself, when its tool
    /// interface is closed.
    pub yielding_variable: Option<&'static str>,
    /// Environment variables that tell a rank its number before MPI has started.
    pub rank_variables: &'static [&'static str],
    /// What its launcher is called, the most telling names first.
    pub launchers: &'static [&'static str],
    /// Whether hosts are to be named in the launcher's command line, instead of their file.
    pub names_hosts: bool,
    /// Whether its launcher passes its whole environment on to ranks on other hosts.
    pub forwards_environment: bool,
    /// The launcher's option that says how ranks stand on cores.
    pub binding_option: &'static str,
    /// Whether [`variable_arguments`](crate::MpiLibrary::variable_arguments) hold for one program only
    /// of several that a command line starts, with `:` between them.
    pub sets_variables_by_program: bool,
    /// Variables that are to be `1` for the superuser to be let start ranks.
    pub superuser_variables: &'static [&'static str],
    /// What stands between a host's name and its number of ranks in a file of hosts.
    pub slots: &'static str,
}

impl Facts {
    /// The export format that a release reads, the first one where no number is in its name; `None` if
    /// the library reads no files.
    pub fn format(&self, version: &str) -> Option<&'static str> {
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        let read = |(since, _): &&(u32, &str)| *since <= major.unwrap_or(0);
        let newest = self.formats.iter().rfind(read);
        newest.or(self.formats.first()).map(|(_, format)| *format)
    }
}
