//! What a version consists of.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};
use table::{Policy, Table, Withheld};
use vocabulary::quote;

use super::DeployError;
use super::error::listed;
use super::folder::CURRENT;
use crate::{Exported, header};

pub(super) const TABLE: &str = "table.yaml";
pub(super) const ENVIRONMENT: &str = "environment.sh";
pub(super) const MODULES: &str = "modulefiles";
/// Starts a program that decides by the table itself.
pub(super) const PROGRAM: &str = "with-table";
const README: &str = "README.txt";

/// The folder of tables among module files.
const MODULE: &str = "colltune-table";

/// What a version is made from.
pub(super) struct Content<'a> {
    /// What the policy deploys.
    pub(super) table: &'a Table,
    pub(super) policy: Policy,
    /// The library's file, with its name.
    pub(super) exported: Option<(&'a str, &'a Exported)>,
    /// `libcolltune.so`.
    pub(super) preload: Option<&'a Path>,
    pub(super) withheld: &'a [Withheld],
}

impl Content<'_> {
    /// The name of the version: of the table, the day of its last measurement, and a digest of all files.
    pub(super) fn version(&self, folder: &Path) -> Result<String, DeployError> {
        // The files contain the version's own path; a placeholder stands for its name.
        let mut digest = Sha256::new();
        for (name, text) in self.files(&folder.join("VERSION"))? {
            digest.update(format!("{name} {}\n{text}", text.len()));
        }
        let digest: String = digest
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let provenance = &self.table.provenance;
        let name = plain(&self.table.name);
        Ok(format!(
            "{name}-{}-{}",
            plain(&provenance.date),
            &digest[..12]
        ))
    }

    /// The name of its module.
    pub(super) fn module(&self) -> String {
        format!("{MODULE}/{}", plain(&self.table.name))
    }

    /// All files with their names, for a version at a place.
    pub(super) fn files(&self, place: &Path) -> Result<Vec<(String, String)>, DeployError> {
        let place_text = checked(place, &[])?;
        let current = place.with_file_name(CURRENT);
        let current = checked(&current, &[])?;
        let table = self.table.to_yaml();
        match Table::parse(&table, &place.join(TABLE)) {
            Ok(_) => {}
            Err(error) => return Err(DeployError::Table(Box::new(error))),
        }
        let variables = self.variables(place_text);
        let module = format!("{MODULES}/{}", self.module());
        let mut files = vec![
            (TABLE.to_owned(), table),
            (
                ENVIRONMENT.to_owned(),
                self.environment(place_text, current, &variables),
            ),
            (module, self.module_file(place_text, current, &variables)),
            (README.to_owned(), self.readme(place_text, current)),
        ];
        if let Some(preload) = self.preload {
            let preload = checked(preload, &[':', ' '])?;
            files.push((PROGRAM.to_owned(), self.program(place_text, preload)));
        }
        if let Some((name, exported)) = self.exported {
            files.push((name.to_owned(), exported.text.clone()));
            let companion = exported.companion.clone();
            files.extend(companion.map(|companion| (format!("{name}.txt"), companion)));
        }
        Ok(files)
    }

    /// The environment variables that let the library read its file.
    fn variables(&self, place: &str) -> Vec<(String, String)> {
        let Some((name, exported)) = self.exported else {
            return Vec::new();
        };
        let file = format!("{place}/{name}");
        let value = |given: &Option<String>| given.clone().unwrap_or_else(|| file.clone());
        let variables = exported.variables.iter();
        variables
            .map(|(name, given)| (name.clone(), value(given)))
            .collect()
    }

    /// A script that starts a program with `libcolltune.so` and the table. The variables are its alone: launchers
    /// would preload the library too, and may not pass it on to other nodes.
    fn program(&self, place: &str, preload: &str) -> String {
        let Policy {
            min_confidence,
            unconfirmed,
            extrapolate,
        } = self.policy;
        let least = min_confidence.unwrap_or(self.table.provenance.min_confidence);
        let mut text = "#!/bin/sh\n".to_owned();
        text += &header::head(self.purpose(), self.table, "# ");
        text += "#\n# The launcher starts this script with the program and its arguments.\n";
        let preload = quote(preload);
        _ = writeln!(
            text,
            "export LD_PRELOAD={preload}\"${{LD_PRELOAD:+:$LD_PRELOAD}}\""
        );
        // The program applies a policy again, which must not withhold what is deployed.
        let variables = [
            ("TABLE", quote(&format!("{place}/{TABLE}"))),
            ("MIN_CONFIDENCE", least.to_string()),
            ("UNCONFIRMED", u8::from(unconfirmed).to_string()),
            ("EXTRAPOLATE", u8::from(extrapolate).to_string()),
        ];
        for (name, value) in variables {
            _ = writeln!(text, "export COLLTUNE_{name}={value}");
        }
        text + "exec \"$@\"\n"
    }

    fn purpose(&self) -> String {
        format!(
            "The table {} for {}, as deployed.",
            header::one_line(&self.table.name),
            header::one_line(&self.table.provenance.library.to_string())
        )
    }

    /// Commands for a shell of POSIX.
    fn environment(&self, place: &str, current: &str, variables: &[(String, String)]) -> String {
        let mut text = header::head(self.purpose(), self.table, "# ");
        text += "#\n# Read it into the shell of a job before MPI programs are started:\n";
        _ = writeln!(text, "#   . {}", quote(&format!("{current}/{ENVIRONMENT}")));
        text += &header::comment(&[KEEPS.to_owned()], "# ");
        text += &self.starting(place, current, "# ");
        let known = crate::FORMATS.iter().flat_map(|format| format.variables());
        let mut others: Vec<String> = known
            .filter(|known| variables.iter().all(|(name, _)| name != known))
            .collect();
        others.sort_unstable();
        others.dedup();
        if !others.is_empty() {
            let of_others = "Variables that other versions set, for this library or another one:";
            text += &header::comment(&[of_others.to_owned()], "# ");
            for name in others {
                _ = writeln!(text, "unset {name}");
            }
        }
        for (name, value) in variables {
            _ = writeln!(text, "export {name}={}", quote(value));
        }
        text
    }

    /// How programs are started that decide by the table themselves; nothing if they cannot.
    fn starting(&self, place: &str, current: &str, prefix: &str) -> String {
        if self.preload.is_none() {
            return String::new();
        }
        let line = |folder: &str| {
            let script = quote(&format!("{folder}/{PROGRAM}"));
            format!("{prefix}  mpirun -n 4 {script} ./solver\n")
        };
        let paragraph = |text: &str| header::comment(&[String::new(), text.to_owned()], prefix);
        paragraph(
            "To let a program decide by the table itself, start its ranks by a script, which preloads \
             libcolltune.so into the program alone, on every node:",
        ) + &line(current)
            + &paragraph("A job that must keep this version when another one is deployed names it:")
            + &line(place)
    }

    /// A module file in Tcl, for Lmod and Environment Modules.
    fn module_file(&self, place: &str, current: &str, variables: &[(String, String)]) -> String {
        let mut text = "#%Module1.0\n".to_owned();
        text += &header::head(self.purpose(), self.table, "# ");
        text += &header::comment(&[KEEPS.to_owned()], "# ");
        text += &self.starting(place, current, "# ");
        let purpose = in_tcl(&self.purpose());
        let readme = in_tcl(&format!("{place}/{README} says more."));
        _ = writeln!(
            text,
            "proc ModulesHelp {{ }} {{\n    puts stderr {purpose}\n    puts stderr {readme}\n}}\n\
             module-whatis {purpose}\nconflict {MODULE}"
        );
        for (name, value) in variables {
            _ = writeln!(text, "setenv {name} {}", in_tcl(value));
        }
        text
    }

    /// For people: how it is used, what is to be known about it, and what is left out.
    fn readme(&self, place: &str, current: &str) -> String {
        let mut text = header::head(self.purpose(), self.table, "");
        _ = write!(
            text,
            "\nFor one job or all jobs of a site, one of\n  . {}\n  module use {}; module load {}\n",
            quote(&format!("{current}/{ENVIRONMENT}")),
            quote(&format!("{current}/{MODULES}")),
            self.module()
        );
        text += &self.starting(place, current, "");
        text += "\n";
        text += &header::comment(&[KEEPS.to_owned()], "");
        let notes = self
            .exported
            .map_or(&[][..], |(_, exported)| &exported.notes);
        for note in notes {
            text += "\n";
            text += &header::comment(std::slice::from_ref(note), "");
        }
        if !self.withheld.is_empty() {
            _ = writeln!(
                text,
                "\nNot deployed, and left to the library's default:{}",
                listed(self.withheld)
            );
        }
        text
    }
}

/// Why no path leads through `current`.
const KEEPS: &str = "Paths are those of this version, which never changes: jobs that have begun keep it when \
                     another version becomes the current one.";

/// A path as text without control characters and these.
fn checked<'p>(path: &'p Path, without: &[char]) -> Result<&'p str, DeployError> {
    let refuse = |reason| {
        Err(DeployError::Path {
            path: path.to_owned(),
            reason,
        })
    };
    match path.to_str() {
        None => refuse("is not in UTF-8"),
        Some(text) if text.contains(char::is_control) => refuse("has control characters"),
        Some(text) if text.contains(without) => refuse("has a colon or a space"),
        Some(text) => Ok(text),
    }
}

/// A text as one plain word: letters, digits, `.`, `_` and `-`.
pub(super) fn plain(text: &str) -> String {
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

/// A word of Tcl.
fn in_tcl(text: &str) -> String {
    let mut word = String::from("\"");
    for c in text.chars() {
        if "\\\"$[]{}".contains(c) {
            word.push('\\');
        }
        word.push(c);
    }
    word + "\""
}
