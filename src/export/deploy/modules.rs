//! Module files.

use std::fmt::Write as _;

use super::files::{Content, KEEPS, MODULE, ON_ALL_NODES, README};
use crate::header;

impl Content<'_> {
    /// A module file in Tcl, for Environment Modules.
    pub(super) fn tcl(&self, place: &str, current: &str, variables: &[(String, String)]) -> String {
        let mut text = format!("#%Module1.0\n{}", self.module_head(current, "# "));
        let [purpose, readme] = self.help(place).map(|text| in_tcl(&text));
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

    /// A module file in Lua, for Lmod.
    pub(super) fn lua(&self, place: &str, current: &str, variables: &[(String, String)]) -> String {
        let mut text = self.module_head(current, "-- ");
        let [purpose, readme] = self.help(place).map(|text| in_lua(&text));
        _ = writeln!(
            text,
            "help({purpose}, \"\\n\", {readme})\nwhatis({purpose})\nconflict(\"{MODULE}\")"
        );
        for (name, value) in variables {
            _ = writeln!(text, "setenv(\"{name}\", {})", in_lua(value));
        }
        text
    }

    fn module_head(&self, current: &str, prefix: &str) -> String {
        let once = "Load it once for a job: where it is submitted or in its batch script, and not for each task. \
                    The module is found by way of the link";
        self.head(prefix)
            + &header::comment(
                &[
                    format!("{once} {current}."),
                    ON_ALL_NODES.to_owned(),
                    KEEPS.to_owned(),
                ],
                prefix,
            )
            + &self.starting(prefix)
    }

    fn help(&self, place: &str) -> [String; 2] {
        [self.purpose(), format!("See {place}/{README}.")]
    }
}

/// A word of Tcl.
fn in_tcl(text: &str) -> String {
    escaped(text, "\\\"$[]{}")
}

/// A Lua string; the text has no line ends.
fn in_lua(text: &str) -> String {
    escaped(text, "\\\"")
}

/// A text between quotation marks, with `\` before these characters.
fn escaped(text: &str, special: &str) -> String {
    let mut word = String::from("\"");
    for c in text.chars() {
        if special.contains(c) {
            word.push('\\');
        }
        word.push(c);
    }
    word + "\""
}
