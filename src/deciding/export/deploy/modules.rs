//! Module files.
//!
//! ```text
//! DIR/VERSION/variables                        what a job of this version has in its environment: NAME=VALUE
//! DIR/VERSION/module                           the name of its module
//! DIR/VERSION/modulefiles                      a link to DIR/modulefiles
//! DIR/modulefiles/colltune-table/NAME.lua      for Lmod
//! DIR/modulefiles/colltune-table/.all/NAME     for Environment Modules
//! DIR/modulefiles/colltune-table/.modulerc     lets Environment Modules find these
//! DIR/modulefiles/colltune-table/NAME          the same for their releases before 4.1: the current version's alone, or
//!                                              all, without `.all`, if DIR has characters that need quoting
//! ```
//!
//! Module systems read a module's file again when it is unloaded, by the path that it was loaded by. So there are module
//! files for all names that the folder has ever had, none is removed, and all of them are alike: they read the
//! variables of the version that is current when they are loaded, and record which variables they set. A job may
//! therefore unload a module when another version is current, and when its own version was removed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::DeployError;
use super::files::{self, MODULE, MODULES, RELEASE, WITH_TABLE, shared_variables};
use super::folder::{
    CURRENT, OPEN, VersionFolder, file_mode, make_folder, missing_is_fine, sync_folder,
    write_read_only,
};
use super::mend::set_file_mode;

/// The variables of a version, as lines of `NAME=VALUE`.
pub(super) const VARIABLES: &str = "variables";
/// The name of a version's module.
pub(super) const MODULE_NAME: &str = "module";
/// The folder of the files for Environment Modules.
const ALL: &str = ".all";
/// Lets Environment Modules find them.
const MODULERC: &str = ".modulerc";
/// The module files that an older colltune wrote into a version.
const OLDER: &str = ".modulefiles";
/// The link of a version to the module files.
const SHARED: &str = "../modulefiles";

/// The module file in Lua. `<folder>` stands for the folder, as a string, `<variables>` for the names of variables that an
/// older colltune's modules may have set, `<shared>` for those of them for which sites may have other values, with theirs.
const LUA: &str = r#"-- A module of the tables that `colltune deploy` has put into <folder>.
-- It gives a job the paths of the version that is current when it is loaded, which never change: load it once for a
-- job, where it is submitted or in its batch script, and not for each task. COLLTUNE_DISABLE=1 leaves the job to the
-- library. All nodes of the job must have the version, which is not checked here; README.txt of the version says how.
local folder = <folder>
help("The table for MPI collectives that is current in " .. folder .. ": see " .. folder .. "/current/README.txt.")
whatis("The table for MPI collectives that is current in " .. folder)
conflict("colltune-table")
if (mode() == "unload") then
    -- The version may be gone, so loading has recorded the names.
    local recorded = os.getenv("COLLTUNE_MODULE")
    for name in (recorded or "<variables>"):gmatch("%S+") do
        setenv(name, "")
    end
    -- Modules of an older colltune record nothing, and a site may have its own values for these.
    for name, value in pairs({<shared>}) do
        if (recorded == nil and os.getenv(name) == value) then
            setenv(name, "")
        end
    end
else
    -- Found through the folder of a version, the module is that version's.
    local found = myFileName():match("^(.*)/modulefiles/colltune%-table/") or folder
    local file = io.open(found .. "/variables") or io.open(found .. "/current/variables")
        or io.open(folder .. "/current/variables")
    local disable = os.getenv("COLLTUNE_DISABLE") or ""
    local is_on = (disable == "" or disable == "0")
    if (file ~= nil) then
        local names = {}
        for name, value in file:read("*a"):gmatch("([%w_]+)=([^\n]*)\n") do
            if (name == "COLLTUNE_WITH_TABLE" and not is_on) then
                value = "env"
            end
            if (is_on or name == "COLLTUNE_WITH_TABLE" or name == "COLLTUNE_RELEASE") then
                setenv(name, value)
                names[#names + 1] = name
            end
        end
        file:close()
        setenv("COLLTUNE_MODULE", table.concat(names, " ") .. " COLLTUNE_MODULE")
    elseif (mode() == "load") then
        LmodError("no version is current in ", folder, ": deploy a table, or leave the module out")
    end
end
"#;

/// The module file in Tcl.
const TCL: &str = r#"#%Module1.0
# A module of the tables that `colltune deploy` has put into <folder>.
# It gives a job the paths of the version that is current when it is loaded, which never change: load it once for a
# job, where it is submitted or in its batch script, and not for each task. COLLTUNE_DISABLE=1 leaves the job to the
# library. All nodes of the job must have the version, which is not checked here; README.txt of the version says how.
set folder <folder>
proc ModulesHelp { } {
    puts stderr "The table for MPI collectives that is current in the module's folder: see current/README.txt there."
}
module-whatis "The table for MPI collectives that is current in $folder"
conflict colltune-table
if {[module-info mode remove] || [module-info mode unload]} {
    # The version may be gone, so loading has recorded the names.
    set names [list <variables>]
    if {[info exists ::env(COLLTUNE_MODULE)]} {
        set names $::env(COLLTUNE_MODULE)
    } else {
        # Modules of an older colltune record nothing, and a site may have its own values for these.
        foreach {name value} {<shared>} {
            if {[info exists ::env($name)] && $::env($name) eq $value} {
                lappend names $name
            }
        }
    }
    foreach name $names {
        setenv $name ""
    }
} else {
    # Found through the folder of a version, the module is that version's.
    set found $folder
    regexp {^(.*)/modulefiles/colltune-table/} $ModulesCurrentModulefile all found
    set is_there 0
    foreach file [list $found/variables $found/current/variables $folder/current/variables] {
        if {[file exists $file]} {
            set is_there 1
            break
        }
    }
    set is_on 1
    if {[info exists ::env(COLLTUNE_DISABLE)]} {
        set is_on [expr {$::env(COLLTUNE_DISABLE) in {"" "0"}}]
    }
    if {$is_there} {
        set names [list]
        set channel [open $file]
        foreach line [split [read $channel] \n] {
            if {[regexp {^([A-Za-z0-9_]+)=(.*)$} $line all name value]} {
                if {$name eq "COLLTUNE_WITH_TABLE" && !$is_on} {
                    set value env
                }
                if {$is_on || $name eq "COLLTUNE_WITH_TABLE" || $name eq "COLLTUNE_RELEASE"} {
                    setenv $name $value
                    lappend names $name
                }
            }
        }
        close $channel
        lappend names COLLTUNE_MODULE
        setenv COLLTUNE_MODULE [join $names]
    } elseif {[module-info mode load]} {
        error "no version is current in $folder: deploy a table, or leave the module out"
    }
}
"#;

/// Lets Environment Modules find the files in [`ALL`], from 4.1 on: earlier releases lack the command.
const RC: &str = r#"#%Module1.0
if {[info commands module-virtual] ne ""} {
    set folder [file dirname $ModulesCurrentModulefile]/.all
    foreach file [glob -nocomplain -directory $folder *] {
        module-virtual colltune-table/[file tail $file] $file
    }
}
"#;

impl VersionFolder {
    /// Writes the module files of all names that the folder has had; `version` is about to become current, or is.
    pub(super) fn write_modules(&self, version: &str) -> Result<(), DeployError> {
        self.remove_own_link()?;
        self.share_modules(version)?;
        let place = files::checked_path_text(&self.path, &[])?;
        // Lmod reads `.modulerc`, too, and fails at names that it would have to quote.
        let is_simple = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        let has_rc = place.chars().all(is_simple);
        let folder = self.path.join(MODULES).join(MODULE);
        let all = if has_rc {
            folder.join(ALL)
        } else {
            folder.clone()
        };
        for each in [&self.path.join(MODULES), &folder, &all] {
            self.open_folder(each)?;
        }
        // Environment Modules unload by these paths what they loaded from a version of an older colltune.
        let mut plain = self.older_names()?;
        plain.extend(module_of(&self.path.join(version)));
        let mut names = names_in(&all);
        names.extend(plain.iter().cloned());
        if has_rc {
            self.write_module(&folder, MODULERC, RC)?;
        } else {
            plain.clone_from(&names);
        }
        let known = known_variables().join(" ");
        let fill_template = |text: &str, path: String, shared: String| {
            let text = text.replace("<variables>", &known);
            let text = text.replace("<shared>", &shared);
            text.replace("<folder>", &path)
        };
        let shared = shared_variables();
        let lua_entry = |(name, value): &(&str, &str)| format!("{name} = {}", in_lua(value));
        let table: Vec<String> = shared.iter().map(lua_entry).collect();
        let lua = fill_template(LUA, in_lua(place), table.join(", "));
        let tcl_pair = |(name, value): &(&str, &str)| format!("{name} {}", in_tcl(value));
        let list: Vec<String> = shared.iter().map(tcl_pair).collect();
        let tcl = fill_template(TCL, in_tcl(place), list.join(" "));
        for name in &names {
            self.write_module(&folder, &format!("{name}.lua"), &lua)?;
            self.write_module(&all, name, &tcl)?;
        }
        for name in &plain {
            self.write_module(&folder, name, &tcl)?;
        }
        for name in names_in(&folder).difference(&plain) {
            let path = folder.join(name);
            missing_is_fine(fs::remove_file(&path))
                .map_err(DeployError::for_file("remove", &path))?;
        }
        for each in [&all, &folder, &self.path.join(MODULES), &self.path] {
            sync_folder(each)?;
        }
        Ok(())
    }

    /// Removes a link through `current` where the module files of the folder belong: a site may have made it for a shorter
    /// path when each version had its own.
    fn remove_own_link(&self) -> Result<(), DeployError> {
        let path = self.path.join(MODULES);
        match fs::read_link(&path) {
            Ok(target) if self.is_own || target == Path::new(CURRENT).join(MODULES) => {
                fs::remove_file(&path).map_err(DeployError::for_file("remove", &path))
            }
            Ok(target) => Err(DeployError::NotOurs {
                path,
                reason: format!("it is a symbolic link to {}", target.display()),
            }),
            Err(_) => Ok(()),
        }
    }

    /// The names of the modules in the versions of an older colltune.
    fn older_names(&self) -> Result<BTreeSet<String>, DeployError> {
        let entries =
            fs::read_dir(&self.path).map_err(DeployError::for_file("list", &self.path))?;
        let places = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let folders = places.flat_map(|place| [place.join(MODULES), place.join(OLDER)]);
        let older = folders.filter(|folder| is_folder(folder));
        Ok(older
            .flat_map(|folder| names_in(&folder.join(MODULE)))
            .collect())
    }

    /// Lets a version that an older colltune wrote use the module files of the folder; its own ones are kept.
    fn share_modules(&self, version: &str) -> Result<(), DeployError> {
        let place = self.path.join(version);
        let (modules, older) = (place.join(MODULES), place.join(OLDER));
        if is_folder(&modules) {
            let folder = modules.join(MODULE);
            let Some(name) = names_in(&folder).into_iter().next() else {
                return Ok(());
            };
            let path = folder.join(&name);
            let module = ::files::read_text(&path).map_err(DeployError::for_file("read", &path))?;
            let files = [
                (VARIABLES, variables_of(&module)),
                (MODULE_NAME, format!("{MODULE}/{name}\n")),
            ];
            for (file_name, text) in files {
                let file_path = place.join(file_name);
                missing_is_fine(fs::remove_file(&file_path))
                    .map_err(DeployError::for_file("remove", &file_path))?;
                write_read_only(&file_path, text.as_bytes(), file_mode(file_name))
                    .map_err(DeployError::for_file("write", &file_path))?;
            }
            fs::rename(&modules, &older).map_err(DeployError::for_file("rename", &modules))?;
        }
        // A process may have been killed after the folder was renamed.
        if is_folder(&older) && fs::symlink_metadata(&modules).is_err() {
            link_modules(&place)?;
        }
        sync_folder(&place)
    }

    /// Creates a folder for module files, in place of another file if the folder belongs to a service.
    fn open_folder(&self, folder: &Path) -> Result<(), DeployError> {
        if self.is_own && fs::symlink_metadata(folder).is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(folder).map_err(DeployError::for_file("remove", folder))?;
        }
        make_folder(folder)?;
        if self.is_own {
            let opened = ::files::set_folder_mode(folder, OPEN);
            opened.map_err(DeployError::for_file("open to all users", folder))?;
        }
        Ok(())
    }

    /// Writes a module file atomically, unless it is there.
    fn write_module(&self, folder: &Path, name: &str, text: &str) -> Result<(), DeployError> {
        let path = folder.join(name);
        if ::files::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            if self.is_own {
                let opened = set_file_mode(&path, file_mode(name));
                opened.map_err(DeployError::for_file("open to all users", &path))?;
            }
            return Ok(());
        }
        if self.is_own && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(&path).map_err(DeployError::for_file("remove", &path))?;
        }
        let mode = file_mode(name);
        Ok(self.versions.write_file(&path, text.as_bytes(), mode)?)
    }
}

/// Links a version to the module files of its folder.
pub(super) fn link_modules(version: &Path) -> Result<(), DeployError> {
    let link = version.join(MODULES);
    symlink(SHARED, &link).map_err(DeployError::for_file("create", &link))
}

/// Whether a version is linked to the module files of its folder.
pub(super) fn are_modules_linked(version: &Path) -> bool {
    fs::read_link(version.join(MODULES)).is_ok_and(|target| target == Path::new(SHARED))
}

/// The last part of the name of a version's module.
pub(super) fn module_of(version: &Path) -> Option<String> {
    match ::files::read_text(&version.join(MODULE_NAME)) {
        Ok(text) => {
            let name = text.trim_end().strip_prefix(MODULE)?.strip_prefix('/')?;
            Some(name.to_owned())
        }
        // An older colltune wrote the version.
        Err(_) => names_in(&version.join(MODULES).join(MODULE))
            .into_iter()
            .next(),
    }
}

/// The names of the modules in a folder of module files.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let files = entries.filter_map(Result::ok).filter(is_file);
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| !name.ends_with(".lua") && !name.starts_with('.'))
        .collect()
}

/// Whether this is a folder, and not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn is_file(entry: &fs::DirEntry) -> bool {
    entry
        .file_type()
        .is_ok_and(|kind: fs::FileType| kind.is_file())
}

/// The variables that the module file in Tcl of an older colltune sets, as in [`VARIABLES`].
fn variables_of(module: &str) -> String {
    let mut text = String::new();
    for line in module.lines() {
        let words = line.strip_prefix("setenv ");
        let words = words.and_then(|words| words.strip_suffix('"')?.split_once(" \""));
        let Some((name, value)) = words else {
            continue;
        };
        text += name;
        text.push('=');
        let mut characters = value.chars();
        while let Some(c) = characters.next() {
            text.extend(Some(c).filter(|c| *c != '\\').or_else(|| characters.next()));
        }
        text.push('\n');
    }
    text
}

/// The variables that versions may set for libraries and jobs.
fn known_variables() -> Vec<String> {
    let of_formats = crate::FORMATS
        .iter()
        .flat_map(|format| format.variable_names());
    let mut known: Vec<String> = of_formats
        .chain([RELEASE.to_owned(), WITH_TABLE.to_owned()])
        .collect();
    known.sort_unstable();
    known.dedup();
    known
}

/// A word of Tcl.
fn in_tcl(text: &str) -> String {
    quote_escaped(text, "\\\"$[]{}")
}

/// A Lua string; the text has no line ends.
fn in_lua(text: &str) -> String {
    quote_escaped(text, "\\\"")
}

/// A text between quotation marks, with `\` before these characters.
fn quote_escaped(text: &str, special: &str) -> String {
    let mut word = String::from("\"");
    for c in text.chars() {
        if special.contains(c) {
            word.push('\\');
        }
        word.push(c);
    }
    word + "\""
}
