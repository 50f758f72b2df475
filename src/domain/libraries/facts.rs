//! The constant properties of a library.

use crate::LibraryAlgorithm;

/// The properties of a library that do not depend on the measurement.
#[derive(Debug)]
pub struct Facts {
    /// Its name in files: [`vocabulary::Library::name`].
    pub name: &'static str,
    /// Its name for people; its description of itself, `MPI_Get_library_version`, begins with it.
    pub title: &'static str,
    /// A release, as an example of how versions are written.
    pub example_version: &'static str,
    /// Its own algorithms with properties that the library does not report.
    pub algorithms: &'static [LibraryAlgorithm],
    /// The export formats that it reads, each with the first major version that does.
    pub formats: &'static [(u32, &'static str)],
    /// Whether its files distinguish commutative from other operators.
    pub tells_operators_apart: bool,
    /// Prefixes of environment variables that configure its communication.
    pub steering_variables: &'static [&'static str],
    /// Prefixes of those variables that its launcher sets for its own purposes.
    pub launcher_variables: &'static [&'static str],
    /// The prefix that turns a control variable's name into that of its environment variable.
    pub variable_prefix: &'static str,
    /// The beginning that the names of all of its control variables have.
    pub common_prefix: &'static str,
    /// The control variable that names the rules file that exports are for.
    pub rules_setting: &'static str,
    /// The control variable that lists the configuration files; `None` if the library reads none.
    pub files_setting: Option<&'static str>,
    /// Environment variables that name the folder of the site's configuration files, each with the folder below its value, the
    /// most important first.
    pub site_folders: &'static [(&'static str, &'static str)],
    /// The prefix of environment variables that choose algorithms and that the library reads before a program can remove
    /// them; `None` if there are none.
    pub early_choices: Option<&'static str>,
    /// The environment variable that allows algorithms to be forced if it is `1` when MPI starts; `None` if they always
    /// can be.
    pub enabling_variable: Option<&'static str>,
    /// An environment variable with the value for which the library reads no configuration files.
    pub without_files: Option<(&'static str, &'static str)>,
    /// The control variable for whether waiting ranks yield their cores. `None` if there is none, or it cannot be read:
    /// MPICH loses its variables, even for itself, when its tool interface is closed.
    pub yielding_variable: Option<&'static str>,
    /// Environment variables that give a rank its number before MPI has started.
    pub rank_variables: &'static [&'static str],
    /// Environment variables that give a rank the number of ranks that its launcher has started.
    pub size_variables: &'static [&'static str],
    /// Names of its launcher, the most specific first.
    pub launchers: &'static [&'static str],
    /// The environment variable that names the folder of an installation, whose launcher is in `bin`.
    pub root_variable: Option<&'static str>,
    /// Whether hosts are listed in the launcher's command line instead of in a file.
    pub names_hosts: bool,
    /// Whether its launcher passes its whole environment to ranks on other hosts.
    pub forwards_environment: bool,
    /// The launcher's option for binding ranks to cores.
    pub binding_option: &'static str,
    /// Whether [`variable_arguments`](crate::MpiLibrary::variable_arguments) apply to only one of several programs that
    /// a command line starts, separated by `:`.
    pub sets_variables_by_program: bool,
    /// Whether it may report errors of calls on a communicator to the handler of `MPI_COMM_WORLD`, even if the communicator
    /// has another handler.
    pub reports_to_world: bool,
    /// Variables that must be `1` so that the superuser may start ranks.
    pub superuser_variables: &'static [&'static str],
    /// The separator between a host's name and its number of ranks in a host file.
    pub slots: &'static str,
}

impl Facts {
    /// The export format that a release reads; the first one if the release has no number in its name; `None` if the
    /// library reads no files.
    pub fn export_format(&self, version: &str) -> Option<&'static str> {
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        let read = |(since, _): &&(u32, &str)| *since <= major.unwrap_or(0);
        let newest = self.formats.iter().rfind(read);
        newest.or(self.formats.first()).map(|(_, format)| *format)
    }
}
