//! What a version consists of.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};
use table::{Policy, Table, Withheld};

use super::DeployError;
use super::error::listed;
use super::site::CURRENT;
use crate::{Exported, header};

pub(super) const TABLE: &str = "table.yaml";
pub(super) const ENVIRONMENT: &str = "environment.sh";
pub(super) const MODULES: &str = "modulefiles";
const README: &str = "README.txt";

/// What module files of tables stand under.
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
        // Paths of the version stand in its files, so a place holder has to.
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
        let variables = self.variables(place_text)?;
        let module = format!("{MODULES}/{}", self.module());
        let mut files = vec![
            (TABLE.to_owned(), table),
            (
                ENVIRONMENT.to_owned(),
                self.environment(current, &variables),
            ),
            (module, self.module_file(place_text, &variables)),
            (README.to_owned(), self.readme(current)),
        ];
        if let Some((name, exported)) = self.exported {
            files.push((name.to_owned(), exported.text.clone()));
            let companion = exported.companion.clone();
            files.extend(companion.map(|companion| (format!("{name}.txt"), companion)));
        }
        Ok(files)
    }

    /// What the environment of a job has.
    fn variables(&self, place: &str) -> Result<Vec<Variable>, DeployError> {
        let mut variables = Vec::new();
        let set = |name: &str, value: String| Variable {
            name: name.to_owned(),
            value,
            is_list: false,
        };
        if let Some((name, exported)) = self.exported {
            let file = format!("{place}/{name}");
            variables.extend(
                exported
                    .variables
                    .iter()
                    .map(|(name, given)| set(name, given.clone().unwrap_or_else(|| file.clone()))),
            );
        }
        if let Some(preload) = self.preload {
            variables.push(Variable {
                name: "LD_PRELOAD".to_owned(),
                value: checked(preload, &[':', ' '])?.to_owned(),
                is_list: true,
            });
            variables.push(set("COLLTUNE_TABLE", format!("{place}/{TABLE}")));
            // The program withholds by a policy too: it must not withhold what is deployed.
            if self.policy.unconfirmed {
                variables.push(set("COLLTUNE_UNCONFIRMED", "1".to_owned()));
            }
            if let Some(least) = self.policy.min_confidence {
                variables.push(set("COLLTUNE_MIN_CONFIDENCE", least.to_string()));
            }
            if self.policy.extrapolate {
                variables.push(set("COLLTUNE_EXTRAPOLATE", "1".to_owned()));
            }
        }
        Ok(variables)
    }

    fn purpose(&self) -> String {
        format!(
            "The table {} for {}, as deployed.",
            header::one_line(&self.table.name),
            self.table.provenance.library
        )
    }

    /// Commands for a shell of POSIX.
    fn environment(&self, current: &str, variables: &[Variable]) -> String {
        let mut text = header::head(self.purpose(), self.table, "# ");
        text += "#\n# Read it into the shell of a job before MPI programs are started:\n";
        _ = writeln!(
            text,
            "#   . {}",
            quoted(&format!("{current}/{ENVIRONMENT}"))
        );
        text += &header::comment(&[KEEPS.to_owned()], "# ");
        for Variable {
            name,
            value,
            is_list,
        } in variables
        {
            let value = quoted(value);
            _ = match is_list {
                false => writeln!(text, "export {name}={value}"),
                true => writeln!(
                    text,
                    "case \":${{{name}-}}:\" in\n*:{value}:*) ;;\n*) export {name}={value}\"${{{name}:+:${name}}}\" ;;\nesac"
                ),
            };
        }
        text
    }

    /// A module file in Tcl, for Lmod and Environment Modules.
    fn module_file(&self, place: &str, variables: &[Variable]) -> String {
        let mut text = "#%Module1.0\n".to_owned();
        text += &header::head(self.purpose(), self.table, "# ");
        text += &header::comment(&[KEEPS.to_owned()], "# ");
        let purpose = in_tcl(&self.purpose());
        let readme = in_tcl(&format!("{place}/{README} says more."));
        _ = writeln!(
            text,
            "proc ModulesHelp {{ }} {{\n    puts stderr {purpose}\n    puts stderr {readme}\n}}\n\
             module-whatis {purpose}\nconflict {MODULE}"
        );
        for Variable {
            name,
            value,
            is_list,
        } in variables
        {
            let command = if *is_list { "prepend-path" } else { "setenv" };
            _ = writeln!(text, "{command} {name} {}", in_tcl(value));
        }
        text
    }

    /// For people: how it is used, what is to be known about it, and what is left out.
    fn readme(&self, current: &str) -> String {
        let mut text = header::head(self.purpose(), self.table, "");
        _ = write!(
            text,
            "\nFor one job or all jobs of a site, one of\n  . {}\n  module use {}; module load {}\n",
            quoted(&format!("{current}/{ENVIRONMENT}")),
            quoted(&format!("{current}/{MODULES}")),
            self.module()
        );
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

/// Why paths are those of the version.
const KEEPS: &str = "Paths are those of this version, which never changes: jobs that have begun keep it when \
                     another version becomes the current one.";

/// A variable of the environment; with others already in a list, it comes first.
struct Variable {
    name: String,
    value: String,
    is_list: bool,
}

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

/// A word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
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
