//! The files of a version.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use printable::{is_unprintable, on_one_line};
use sha2::{Digest, Sha256};
use table::{Policy, Table, Withheld};
use vocabulary::quote_for_shell;

use super::error::list_withheld;
use super::folder::CURRENT;
use super::modules::{MODULE_NAME, VARIABLES};
use super::{DeployError, ServiceRelease};
use crate::{Exported, header};

pub(super) const TABLE: &str = "table.yaml";
pub(super) const ENVIRONMENT: &str = "environment.sh";
pub(super) const MODULES: &str = "modulefiles";
/// The script that starts a program which uses the table itself.
pub(super) const PROGRAM: &str = "with-table";
/// The library that the script preloads.
const PRELOADED: &str = "libcolltune.so";
/// The digest of the table that was released.
pub(super) const DIGEST: &str = "digest";
const README: &str = "README.txt";
const SLURM: &str = "slurm.sh";

/// The folder of tables among module files.
pub(super) const MODULE: &str = "colltune-table";

/// The variable with the version's folder, for jobs.
pub(super) const RELEASE: &str = "COLLTUNE_RELEASE";
/// The variable with the script [`PROGRAM`] of the version, or with `env`, which starts programs unchanged.
pub(super) const WITH_TABLE: &str = "COLLTUNE_WITH_TABLE";
/// The variable that leaves one job to the library; `libcolltune.so` reads it, too.
const DISABLE: &str = "COLLTUNE_DISABLE";

/// The longest name of a table that becomes part of a folder's name, in bytes. File systems allow 255 for a name, and the
/// longest one made of it is `.aside-NAME-DATE-DIGEST-TIME` (`mend.rs`), with 12 digits of a digest and 16 of a time.
const LONGEST_NAME: usize = 190;
/// The longest date.
const LONGEST_DATE: usize = 25;

/// Refuses a table whose name or date is too long for the name of a version.
///
/// # Errors
/// [`DeployError::LongName`].
pub fn check_names(table: &Table) -> Result<(), DeployError> {
    let fields = [
        ("name", &table.name, LONGEST_NAME),
        ("provenance.date", &table.provenance.date, LONGEST_DATE),
    ];
    match fields
        .into_iter()
        .find(|(_, text, most)| text.len() > *most)
    {
        None => Ok(()),
        Some((field, text, most)) => Err(DeployError::LongName {
            field,
            bytes: text.len(),
            most,
        }),
    }
}

/// A file of a version.
pub(super) struct VersionFile {
    /// Its path in the version.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl VersionFile {
    fn from_text(name: &str, text: String) -> Self {
        Self {
            name: name.to_owned(),
            bytes: text.into_bytes(),
        }
    }
}

/// The library `libcolltune.so` that programs of a version preload.
pub(super) struct PreloadLibrary<'a> {
    /// Where it was found.
    pub(super) path: &'a Path,
    pub(super) bytes: Vec<u8>,
}

impl PreloadLibrary<'_> {
    /// Its path for `LD_PRELOAD` in a version at a place, which holds a copy: another build of colltune does not change
    /// what running jobs load. `LD_PRELOAD` cannot contain paths with a colon or a space; the library then stays where it
    /// was found.
    fn path_in<'p>(&'p self, place: &Path) -> Cow<'p, Path> {
        if can_preload_from(place) {
            Cow::Owned(place.join(PRELOADED))
        } else {
            Cow::Borrowed(self.path)
        }
    }
}

/// Whether `LD_PRELOAD` can name a library in this folder.
pub(super) fn can_preload_from(folder: &Path) -> bool {
    checked_path_text(folder, &SEPARATORS).is_ok()
}

/// The characters that separate libraries in `LD_PRELOAD`.
const SEPARATORS: [char; 2] = [':', ' '];

/// The inputs of a version.
pub(super) struct VersionContent<'a> {
    /// The table as the policy deploys it.
    pub(super) table: &'a Table,
    pub(super) policy: Policy,
    /// The name of the library's file, and the file.
    pub(super) exported: Option<(&'a str, &'a Exported)>,
    pub(super) preload: Option<&'a PreloadLibrary<'a>>,
    pub(super) withheld: &'a [Withheld],
    /// Notes for its users.
    pub(super) notes: &'a [String],
    pub(super) release: Option<ServiceRelease<'a>>,
    /// The last part of the name of its module.
    pub(super) module: &'a str,
    /// Whether it leaves everything to the library.
    pub(super) is_withdrawn: bool,
}

impl VersionContent<'_> {
    /// The name of the version: the table's name, the day of its last measurement, and a digest of all files.
    pub(super) fn version_name(&self, folder: &Path) -> Result<String, DeployError> {
        // The files contain the version's own path, with a placeholder for its name.
        let mut digest = Sha256::new();
        for file in self.render_files(&folder.join("VERSION"))? {
            digest.update(format!("{} {}\n", file.name, file.bytes.len()));
            digest.update(&file.bytes);
        }
        let digest = ::files::hexadecimal(&digest.finalize());
        let provenance = &self.table.provenance;
        let name = plain_word(&self.table.name);
        Ok(format!(
            "{name}-{}-{}",
            plain_word(&provenance.date),
            &digest[..12]
        ))
    }

    /// The name of its module.
    pub(super) fn module_name(&self) -> String {
        // Lmod takes a file `NAME.lua` for the module NAME.
        let name = plain_word(self.module);
        let name = name
            .strip_suffix(".lua")
            .map_or(name.clone(), |name| format!("{name}-lua"));
        format!("{MODULE}/{name}")
    }

    /// All files, for a version at a place.
    pub(super) fn render_files(&self, place: &Path) -> Result<Vec<VersionFile>, DeployError> {
        let place_text = checked_path_text(place, &[])?;
        let current = place.with_file_name(CURRENT);
        let current = checked_path_text(&current, &[])?;
        let modules = place.with_file_name(MODULES);
        let modules = checked_path_text(&modules, &[])?;
        let table = self.table.to_yaml();
        match Table::parse(&table, &place.join(TABLE)) {
            Ok(_) => {}
            Err(error) => return Err(DeployError::Table(Box::new(error))),
        }
        let variables = self.job_variables(place_text);
        let settings = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        let environment = self.environment_script(current, &variables);
        let module = format!("{}\n", self.module_name());
        let mut files = vec![
            VersionFile::from_text(TABLE, table),
            VersionFile::from_text(ENVIRONMENT, environment),
            VersionFile::from_text(SLURM, self.slurm_script(place, place_text, current)),
            VersionFile::from_text(VARIABLES, settings.collect()),
            VersionFile::from_text(MODULE_NAME, module),
            VersionFile::from_text(README, self.readme_text(current, modules)),
        ];
        if let Some(release) = self.release {
            files.push(VersionFile::from_text(
                DIGEST,
                format!("{}\n", release.digest),
            ));
        }
        if let Some(preload) = self.preload {
            let path = preload.path_in(place);
            let text = self.program_script(place_text, checked_path_text(&path, &SEPARATORS)?);
            files.push(VersionFile::from_text(PROGRAM, text));
            if can_preload_from(place) {
                files.push(VersionFile {
                    name: PRELOADED.to_owned(),
                    bytes: preload.bytes.clone(),
                });
            }
        }
        if self.is_withdrawn {
            // Jobs may start programs by the script of the version before.
            let text = format!("#!/bin/sh\n{}exec \"$@\"\n", self.file_head("# "));
            files.push(VersionFile::from_text(PROGRAM, text));
        }
        if let Some((name, exported)) = self.exported {
            files.push(VersionFile::from_text(name, exported.text.clone()));
            if let Some(companion) = &exported.companion {
                let name = format!("{name}.txt");
                files.push(VersionFile::from_text(&name, companion.clone()));
            }
        }
        Ok(files)
    }

    /// The environment variables that make the library read its file and give jobs the version.
    fn job_variables(&self, place: &str) -> Vec<(String, String)> {
        let start = match self.preload {
            Some(_) => format!("{place}/{PROGRAM}"),
            None => "env".to_owned(),
        };
        let mut variables = vec![
            (RELEASE.to_owned(), place.to_owned()),
            (WITH_TABLE.to_owned(), start),
        ];
        if let Some((name, exported)) = self.exported {
            let file = format!("{place}/{name}");
            let value = |given: &Option<String>| given.clone().unwrap_or_else(|| file.clone());
            let of_library = exported.variables.iter();
            variables.extend(of_library.map(|(variable, given)| (variable.clone(), value(given))));
        }
        variables
    }

    /// A script that starts a program with `libcolltune.so` and the table. It sets the variables only for the program:
    /// launchers would preload the library too, and may not pass the variables on to other nodes.
    fn program_script(&self, place: &str, preload: &str) -> String {
        let Policy {
            min_confidence,
            unconfirmed,
            extrapolate,
            numerics,
        } = self.policy;
        let least = min_confidence.unwrap_or(self.table.provenance.min_confidence);
        let mut text = "#!/bin/sh\n".to_owned();
        text += &self.file_head("# ");
        text += "#\n# The launcher starts this script with the program and its arguments.\n";
        let preload = quote_for_shell(preload);
        _ = writeln!(
            text,
            "export LD_PRELOAD={preload}\"${{LD_PRELOAD:+:$LD_PRELOAD}}\""
        );
        // The program applies a policy again, which must not withhold deployed rules.
        let mut variables = vec![
            ("TABLE", quote_for_shell(&format!("{place}/{TABLE}"))),
            ("MIN_CONFIDENCE", least.to_string()),
            ("UNCONFIRMED", u8::from(unconfirmed).to_string()),
            ("EXTRAPOLATE", u8::from(extrapolate).to_string()),
        ];
        // Otherwise the table or the user may require something.
        if let Some(numerics) = numerics {
            variables.push(("NUMERICS", numerics.to_string()));
        }
        for (name, value) in variables {
            _ = writeln!(text, "export COLLTUNE_{name}={value}");
        }
        text + "exec \"$@\"\n"
    }

    fn purpose_sentence(&self) -> String {
        let library = on_one_line(&self.table.provenance.library.to_string());
        if self.is_withdrawn {
            return format!("The table for {library} is withdrawn: the library decides.");
        }
        format!(
            "The table {} for {library}, as deployed.",
            on_one_line(&self.table.name)
        )
    }

    /// The lines at the top of each file.
    fn file_head(&self, prefix: &str) -> String {
        if !self.is_withdrawn {
            return header::head_text(self.purpose_sentence(), self.table, prefix);
        }
        let origin = format!(
            "Written by `colltune deploy --withdraw` of colltune {}; `colltune deploy --rollback` returns to the version \
             before.",
            env!("CARGO_PKG_VERSION")
        );
        header::wrap_comment(&[self.purpose_sentence(), origin], prefix)
    }

    /// Commands for a shell of POSIX.
    fn environment_script(&self, current: &str, variables: &[(String, String)]) -> String {
        let mut text = self.file_head("# ");
        text += "#\n# Read it into the shell of a job before MPI programs are started:\n";
        _ = writeln!(
            text,
            "#   . {}",
            quote_for_shell(&format!("{current}/{ENVIRONMENT}"))
        );
        text += &header::wrap_comment(&[ON_ALL_NODES.to_owned(), KEEPS.to_owned()], "# ");
        text += &header::wrap_comment(self.unchecked_note().as_slice(), "# ");
        text += &self.starting_instructions("# ");
        let exports = |pairs: &[(String, String)]| {
            let lines = pairs
                .iter()
                .map(|(name, value)| format!("export {name}={}\n", quote_for_shell(value)));
            unset_others(pairs) + &lines.collect::<String>()
        };
        if self.is_withdrawn {
            return text + &exports(variables);
        }
        let disabled: Vec<(String, String)> = variables
            .iter()
            .filter(|(name, _)| name == RELEASE)
            .cloned()
            .chain([(WITH_TABLE.to_owned(), "env".to_owned())])
            .collect();
        _ = write!(
            text,
            "if [ \"${{{DISABLE}:-0}}\" = 0 ]; then\n{}else\n# {DISABLE}=1 leaves this job to the library.\n{}fi\n",
            exports(variables),
            exports(&disabled)
        );
        text
    }

    /// Commands for the shell of a batch script of Slurm.
    fn slurm_script(&self, folder: &Path, place: &str, current: &str) -> String {
        let mut text = self.file_head("# ");
        text += "#\n# Read it into a batch script of Slurm before MPI programs are started:\n";
        _ = writeln!(
            text,
            "#   . {}",
            quote_for_shell(&format!("{current}/{SLURM}"))
        );
        let looks = "It checks once, by one job step, whether all nodes of the job can read this version. If one of \
                     them cannot, all ranks are left to the library, and a warning says so.";
        text += &header::wrap_comment(&[looks.to_owned(), KEEPS.to_owned()], "# ");
        text += &self.starting_instructions("# ");
        let environment = quote_for_shell(&format!("{place}/{ENVIRONMENT}"));
        let program = self.preload.map(|_| PROGRAM);
        let preloaded = program.and(can_preload_from(folder).then_some(PRELOADED));
        let of_library = self.exported.map(|(name, _)| name);
        let names = [
            Some(TABLE),
            Some(ENVIRONMENT),
            program,
            preloaded,
            of_library,
        ];
        let files: Vec<String> = names
            .into_iter()
            .flatten()
            .map(|name| quote_for_shell(&format!("{place}/{name}")))
            .collect();
        // A shell ends if it reads a file that it cannot open, so that is tested here, too.
        _ = writeln!(
            text,
            "if {{ [ -z \"${{SLURM_JOB_ID-}}\" ] || srun --nodes=\"${{SLURM_JOB_NUM_NODES:-1}}\" \\\n    \
             --ntasks=\"${{SLURM_JOB_NUM_NODES:-1}}\" --ntasks-per-node=1 --cpus-per-task=1 --overlap --mpi=none \\\n    \
             sh -c 'for file do test -r \"$file\" || exit 1; done' sh {} </dev/null\n}} && [ -r {environment} ]\n\
             then\n    . {environment}\nelse\n    echo {} >&2",
            files.join(" "),
            quote_for_shell(&format!(
                "warning: not all nodes of the job can read {place}: all collectives are the library's own"
            ))
        );
        text += &unset_others(&[]);
        // The ranks of programs that use the table itself agree that it is missing somewhere.
        _ = writeln!(text, "export {RELEASE}={}", quote_for_shell(place));
        _ = writeln!(text, "export {WITH_TABLE}=env\nfi");
        text
    }

    /// The command that starts programs which use the table themselves; empty if they cannot.
    fn starting_instructions(&self, prefix: &str) -> String {
        if self.preload.is_none() {
            return String::new();
        }
        let paragraph =
            |text: &str| header::wrap_comment(&[String::new(), text.to_owned()], prefix);
        paragraph(
            "To let a program use the table itself, start its ranks by a script that preloads \
             libcolltune.so into the program alone, on every node:",
        ) + &format!("{prefix}  mpirun -n 4 \"${WITH_TABLE}\" ./solver\n")
    }

    /// A note on what the library does not check when it reads its file; `None` without such a file.
    fn unchecked_note(&self) -> Option<String> {
        let (name, _) = self.exported?;
        let provenance = &self.table.provenance;
        let and_networks = if provenance.networks.is_empty() {
            ""
        } else {
            ", the networks"
        };
        Some(format!(
            "The library applies {name} without checking the type of CPU{and_networks} or its own version: use it only \
             with {}, on {}.",
            provenance.library,
            on_one_line(&provenance.describe_nodes())
        ))
    }

    /// What the bits of reductions do not depend on; `None` if the deployment requires nothing.
    fn promise_of_bits(&self) -> Option<String> {
        let numerics = self.policy.numerics_for(&self.table.provenance);
        (!numerics.is_none()).then(|| {
            format!(
                "Deployed with numerics {numerics}: this holds for the bits of reductions that colltune carries out. \
                 How the library brackets contributions is unknown, so its calls carry no promise."
            )
        })
    }

    /// The README: usage, notes, and rules that are left out.
    fn readme_text(&self, current: &str, modules: &str) -> String {
        let mut text = self.file_head("");
        _ = write!(
            text,
            "\nFor one job or all jobs of a site, one of\n  . {}\n  module use {}; module load {}\n",
            quote_for_shell(&format!("{current}/{ENVIRONMENT}")),
            quote_for_shell(modules),
            self.module_name()
        );
        _ = write!(
            text,
            "In a Slurm batch script, which checks that all nodes have the version,\n  . {}\n\n",
            quote_for_shell(&format!("{current}/{SLURM}"))
        );
        text += &header::wrap_comment(&[ON_ALL_NODES.to_owned()], "");
        text += &self.starting_instructions("");
        text += "\n";
        text += &header::wrap_comment(&[KEEPS.to_owned()], "");
        if let Some(note) = self.unchecked_note() {
            text += "\n";
            text += &header::wrap_comment(&[note], "");
        }
        if let Some(note) = self.promise_of_bits() {
            text += "\n";
            text += &header::wrap_comment(&[note], "");
        }
        for note in self.notes {
            text += "\n";
            text += &header::wrap_comment(std::slice::from_ref(note), "");
        }
        if !self.withheld.is_empty() {
            _ = writeln!(
                text,
                "\nNot deployed, and left to the library's default:{}",
                list_withheld(self.withheld)
            );
        }
        text
    }
}

/// The variables for which sites may have values of their own, with those of versions.
pub(super) fn shared_variables() -> BTreeSet<(&'static str, &'static str)> {
    let all = crate::FORMATS.iter();
    all.flat_map(|format| format.shared_variables())
        .copied()
        .collect()
}

/// Lines that unset variables of other versions that this version does not set.
fn unset_others(variables: &[(String, String)]) -> String {
    let known = crate::FORMATS
        .iter()
        .flat_map(|format| format.variable_names());
    let mut others: Vec<String> = known
        .filter(|known| variables.iter().all(|(name, _)| name != known))
        .collect();
    others.sort_unstable();
    others.dedup();
    let mut text = String::new();
    if !others.is_empty() {
        let of_others = "Variables that other versions set, for this library or another one:";
        text += &header::wrap_comment(&[of_others.to_owned()], "# ");
    }
    for name in others {
        _ = writeln!(text, "unset {name}");
    }
    // A site may have its own values for these, so only those of versions are taken back.
    let mut shared = shared_variables();
    shared.retain(|(shared, _)| variables.iter().all(|(name, _)| name != shared));
    for (name, value) in shared {
        _ = writeln!(
            text,
            "if [ \"${{{name}-}}\" = '{value}' ]; then unset {name}; fi"
        );
    }
    text
}

/// The note for scripts that run on one node and cannot check the others.
const ON_ALL_NODES: &str = "All nodes of a job must have this version, which is not checked here. If its file is \
                     missing on some nodes, the library decides differently there, and the job may hang. slurm.sh checks it.";

/// The note on why no path leads through `current`.
const KEEPS: &str = "Jobs get the paths of this version, which never changes: running jobs keep it when \
                     another version becomes current.";

/// A path as text, without unprintable characters and the characters of `without`.
pub(super) fn checked_path_text<'p>(
    path: &'p Path,
    without: &[char],
) -> Result<&'p str, DeployError> {
    let refuse = |reason| {
        Err(DeployError::Path {
            path: path.to_owned(),
            reason,
        })
    };
    match path.to_str() {
        None => refuse("is not in UTF-8"),
        Some(text) if text.contains(is_unprintable) => refuse("has unprintable characters"),
        Some(text) if text.contains(without) => refuse("has a colon or a space"),
        Some(text) => Ok(text),
    }
}

/// A text as one plain word of letters, digits, `.`, `_` and `-`.
pub(super) fn plain_word(text: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    let word: String = text
        .chars()
        .map(|c| Some(c).filter(is_plain).unwrap_or('-'))
        .collect();
    let word = word.trim_start_matches(['.', '-']);
    if word.is_empty() {
        "unnamed".to_owned()
    } else {
        word.to_owned()
    }
}
