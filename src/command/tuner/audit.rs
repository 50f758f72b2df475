//! What is wrong with the files and variables with which a site steers its MPI libraries (`colltune audit`).
//!
//! Files that are given are examined together, whatever this process's environment is, so that the answer is the same on
//! every machine. Without files, the environment is examined with all files that it makes a library read. Nothing is
//! started but launchers, for their versions, and measuring programs, for the names of settings.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use environment::variables;
use explained::Explained;
use launcher::{
    Discovery, Installation, LibraryChoice, discover_libraries, find_driver, list_variables,
};
use libraries::{
    Assignment, AssignmentSource, ExaminedRelease, FindingKind, LibraryName, OtherSettings,
    RulesFileEffect, SettingRole, SettingsPlaces, SteeringFinding, SteeringFindings,
    SteeringFormat, StrongerSetting, environment_assignments, examine_assignments,
};
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;
use vocabulary::{ErrorKind, Library};

use crate::SearchPaths;
use crate::steering::{read_as_libraries_do, settings_format, site_folder};

/// What to examine, and for which library.
#[derive(Clone, Debug, Default)]
pub struct AuditRequest {
    /// The files; without any, what is in force in this process's environment.
    pub files: Vec<PathBuf>,
    /// The library; by default those that are installed here.
    pub library: Option<LibraryChoice>,
    /// The name of the files' format; by default what each file looks like.
    pub format: Option<String>,
    /// Whether all operators of programs commute.
    pub assume_commutative: bool,
}

/// What was found in all files and variables.
#[derive(Debug, JsonSchema, Serialize)]
pub struct AuditReport {
    /// The number of findings that must be corrected.
    pub faults: usize,
    /// The number of other findings.
    pub notes: usize,
    /// The files, and the environment, in the order in which they were examined.
    pub sources: Vec<AuditedSource>,
}

/// A file, or the environment, as one library treats it.
#[derive(Debug, JsonSchema, Serialize)]
pub struct AuditedSource {
    /// The file; null for the environment.
    pub path: Option<PathBuf>,
    /// What it is, such as `parameter file`.
    pub title: String,
    /// The name of its format; null for the environment and for files that set variables of it.
    pub format: Option<&'static str>,
    /// The library and the release for which it was examined.
    pub library: String,
    /// The file or variable that makes the library read it; null for files that were given.
    pub named_by: Option<String>,
    /// What was found, by line.
    pub findings: Vec<AuditedFinding>,
}

/// Something that people should know about a line.
#[derive(Debug, JsonSchema, Serialize)]
pub struct AuditedFinding {
    /// The line, from 1; null for the whole file.
    pub line: Option<usize>,
    /// The kind, such as `unreachable`.
    pub kind: &'static str,
    /// Whether it must be corrected.
    pub fault: bool,
    /// What the library does, as a sentence without a full stop.
    pub message: String,
    /// What to do, likewise; null if nothing need be done.
    pub remedy: Option<String>,
}

/// Settings that could not be examined.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum AuditError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    #[kind(Input)]
    Read { path: PathBuf, source: io::Error },
    /// A file has no known format.
    #[error("{} looks like no file that steers a library", path.display())]
    #[kind(Input)]
    #[help("name its format with `--format`: {}", known_formats().join(", "))]
    UnknownFormat { path: PathBuf },
    /// There is no such format.
    #[error("there is no format `{name}`")]
    #[kind(Input)]
    #[help("these are known: {}", known_formats().join(", "))]
    NoFormat { name: String },
    /// The library that reads a file is not installed.
    #[error("{library} is not installed here, so its release is not known")]
    #[kind(Environment)]
    #[help("name the release for which files are examined, as in `--library {library}-{example}`")]
    NoLibrary {
        library: &'static str,
        example: &'static str,
    },
    /// Lines of several files, or of none, were to be measured.
    #[error("`--measure` takes one file")]
    #[kind(Input)]
    #[help("name the file with the rules alone")]
    NotOneFile,
    /// A file whose lines cannot be measured.
    #[error("the lines of {} cannot be measured", path.display())]
    #[kind(Input)]
    #[help(
        "these formats can be: {}; `--format` names one",
        crate::known_rules_formats().join(", ")
    )]
    NotMeasurable { path: PathBuf },
    /// The release that is to be measured is not installed.
    #[error("{library} is not installed here, so nothing can be measured")]
    #[kind(Environment)]
    #[help("load its module, or leave out the release to measure the one that is here")]
    NotInstalled { library: Library },
    /// No library is installed.
    #[error("no MPI library was found")]
    #[kind(Environment)]
    #[help(
        "load a library's module, or name a release and files, as in `--library NAME-VERSION FILE`"
    )]
    NoLibraries,
}

/// Finds the installed library whose rules the requested file has, so that its lines can be measured.
///
/// # Errors
/// Not exactly one file; one that cannot be read, or whose lines cannot be measured; a library that is not installed.
pub fn find_measurable_library(
    request: &AuditRequest,
    places: &SearchPaths,
) -> Result<Library, AuditError> {
    let [path] = &request.files[..] else {
        return Err(AuditError::NotOneFile);
    };
    let releases = KnownReleases::from_request(request, places);
    let audit = SettingsAudit {
        request,
        releases: &releases,
        sources: Vec::new(),
    };
    let file = audit.read_file(path)?;
    let measurable = file
        .format
        .filter(|(_, format)| format.read_rules.is_some());
    let Some((library, _)) = measurable else {
        return Err(AuditError::NotMeasurable { path: file.path });
    };
    let release = releases.release_of(library)?;
    let title = Library {
        name: library.name().to_owned(),
        version: release.version.clone(),
    };
    if release.launcher.is_none() {
        return Err(AuditError::NotInstalled { library: title });
    }
    Ok(title)
}

impl AuditReport {
    /// Adds what launches have shown about lines of a file.
    pub fn add_findings(&mut self, path: &Path, findings: Vec<AuditedFinding>) {
        let of_file = |source: &&mut AuditedSource| source.path.as_deref() == Some(path);
        let Some(source) = self.sources.iter_mut().find(of_file) else {
            return;
        };
        let faults = findings.iter().filter(|finding| finding.fault).count();
        self.faults += faults;
        self.notes += findings.len() - faults;
        source.findings.extend(findings);
        source.findings.sort_by_key(|finding| finding.line);
    }
}

/// The name of the format of files that set environment variables.
const ENVIRONMENT: &str = "environment";

/// The names of all formats.
pub fn known_formats() -> Vec<&'static str> {
    let own = LibraryName::ALL
        .iter()
        .flat_map(|library| library.steering_formats());
    own.map(|format| format.name).chain([ENVIRONMENT]).collect()
}

/// A library with the release for which files are examined.
struct ReleaseInUse {
    name: LibraryName,
    version: String,
    launcher: Option<PathBuf>,
    /// The control variables of the library; `None` if unknown.
    variables: Option<BTreeMap<String, String>>,
}

impl ReleaseInUse {
    fn from_installation(found: &Installation, places: &SearchPaths) -> Self {
        let driver = find_driver(&found.library(), &places.driver_directories()).ok();
        let variables = driver.as_deref().map(list_variables);
        Self {
            name: found.name,
            version: found.version.clone(),
            launcher: Some(found.launcher.clone()),
            variables: variables.filter(|all| !all.is_empty()),
        }
    }

    /// Gives settings their built-in values, as far as these are known, whatever this process's environment makes of
    /// them.
    fn forget_environment(&mut self) {
        let Some(variables) = &mut self.variables else {
            return;
        };
        for (name, built_in) in self.name.known_settings(&self.version) {
            if let Some(value) = variables.get_mut(&name) {
                *value = built_in;
            }
        }
    }

    fn title(&self) -> String {
        let name = self.name.name().to_owned();
        let version = self.version.clone();
        Library { name, version }.to_string()
    }

    fn examined(&self, assume_commutative: bool) -> ExaminedRelease<'_> {
        ExaminedRelease {
            version: &self.version,
            variables: self.variables.as_ref(),
            assume_commutative,
        }
    }
}

/// The libraries whose releases are known.
struct KnownReleases {
    releases: Vec<ReleaseInUse>,
    /// The only library that counts, if one was requested.
    only: Option<LibraryName>,
}

impl KnownReleases {
    fn from_request(request: &AuditRequest, places: &SearchPaths) -> Self {
        let choice = request.library.clone().unwrap_or_default();
        let discovery = discover_libraries(&places.path);
        let mut releases: Vec<ReleaseInUse> = Vec::new();
        let Discovery { installations, .. } = discovery;
        for found in &installations {
            let fits = choice.name.is_none_or(|name| name == found.name)
                && choice
                    .version
                    .as_ref()
                    .is_none_or(|version| *version == found.version);
            if fits && !releases.iter().any(|known| known.name == found.name) {
                let mut release = ReleaseInUse::from_installation(found, places);
                if !request.files.is_empty() {
                    release.forget_environment();
                }
                releases.push(release);
            }
        }
        // A release that is not here is examined by what is known about it.
        if let (Some(name), Some(version), true) =
            (choice.name, choice.version, releases.is_empty())
        {
            releases.push(ReleaseInUse {
                name,
                version,
                launcher: None,
                variables: None,
            });
        }
        Self {
            releases,
            only: choice.name,
        }
    }

    fn may_examine(&self, library: LibraryName) -> bool {
        self.only.is_none_or(|only| only == library)
    }

    fn release_of(&self, library: LibraryName) -> Result<&ReleaseInUse, AuditError> {
        let mut known = self.releases.iter();
        known
            .find(|known| known.name == library)
            .ok_or_else(|| AuditError::NoLibrary {
                library: library.name(),
                example: library.facts().example_version,
            })
    }
}

/// A file with what it is.
struct ReadFile {
    path: PathBuf,
    text: String,
    /// `None` if the file sets environment variables.
    format: Option<(LibraryName, SteeringFormat)>,
}

/// Examines files, or what is in force.
///
/// # Errors
/// A file that cannot be read or has no known format; a library whose release is not known.
pub fn audit_settings(
    request: &AuditRequest,
    places: &SearchPaths,
) -> Result<AuditReport, AuditError> {
    let releases = KnownReleases::from_request(request, places);
    let mut audit = SettingsAudit {
        request,
        releases: &releases,
        sources: Vec::new(),
    };
    if request.files.is_empty() {
        audit.examine_what_is_in_force(places)?;
    } else {
        audit.examine_given_files()?;
    }
    let findings = || audit.sources.iter().flat_map(|source| &source.findings);
    Ok(AuditReport {
        faults: findings().filter(|finding| finding.fault).count(),
        notes: findings().filter(|finding| !finding.fault).count(),
        sources: audit.sources,
    })
}

/// An examination with what was found so far.
struct SettingsAudit<'a> {
    request: &'a AuditRequest,
    releases: &'a KnownReleases,
    sources: Vec<AuditedSource>,
}

/// Settings in a file or in the environment, for one library.
struct GivenSettings {
    /// `None` for the environment.
    path: Option<PathBuf>,
    source: AssignmentSource,
    precedence: Precedence,
    format: Option<SteeringFormat>,
    named_by: Option<String>,
    /// The settings, and what is wrong with the form of the file.
    read: SteeringFindings,
}

/// What counts of the values that files and the environment give a setting: the first in this order. Of several scripts
/// any may be the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    /// Files that override the environment.
    Overriding,
    /// The environment, and scripts that set variables of it.
    Environment,
    /// Parameter files, by their places.
    File(usize),
}

impl GivenSettings {
    fn variable_of(&self, library: LibraryName, name: &str) -> String {
        match self.source {
            AssignmentSource::Parameters => library.environment_variable(name),
            AssignmentSource::Environment => name.to_owned(),
        }
    }

    /// Where the settings stand, in a sentence.
    fn describe_place(&self) -> String {
        let path = self.path.as_ref();
        path.map_or_else(
            || "the environment".to_owned(),
            |path| path.display().to_string(),
        )
    }
}

impl SettingsAudit<'_> {
    fn examine_given_files(&mut self) -> Result<(), AuditError> {
        let mut files = Vec::new();
        for path in &self.request.files {
            let is_known = files
                .iter()
                .any(|known: &ReadFile| is_same_file(&known.path, path));
            if !is_known {
                files.push(self.read_file(path)?);
            }
        }
        // Settings of all files count for each of them.
        for library in LibraryName::ALL {
            let mut given = Vec::new();
            for (file, place) in files.iter().zip(0..) {
                given.extend(self.settings_for(library, file, place)?);
            }
            if !given.is_empty() {
                self.examine_settings(library, given)?;
            }
        }
        for file in files {
            let Some((library, format)) = file.format else {
                if !self
                    .sources
                    .iter()
                    .any(|source| source.path.as_ref() == Some(&file.path))
                {
                    self.add_silent_source(&file);
                }
                continue;
            };
            // Parameter files were examined with the other settings.
            if !self.is_examined(library, &file.path) {
                self.examine_rules(library, &format, &file.path, &file.text, None)?;
            }
        }
        Ok(())
    }

    /// A file that sets variables, none of which concerns a library.
    fn add_silent_source(&mut self, file: &ReadFile) {
        self.sources.push(AuditedSource {
            path: Some(file.path.clone()),
            title: "environment of a program".to_owned(),
            format: None,
            library: String::new(),
            named_by: None,
            findings: Vec::new(),
        });
    }

    fn is_examined(&self, library: LibraryName, path: &Path) -> bool {
        let prefix = library.name();
        self.sources.iter().any(|source| {
            let own = source.path.as_deref();
            own.is_some_and(|own| is_same_file(own, path)) && source.library.starts_with(prefix)
        })
    }

    fn read_file(&self, path: &Path) -> Result<ReadFile, AuditError> {
        let text = read_as_libraries_do(path).map_err(|source| AuditError::Read {
            path: path.to_owned(),
            source,
        })?;
        let format = self.format_of(path, &text)?;
        Ok(ReadFile {
            path: path.to_owned(),
            text,
            format,
        })
    }

    /// The format that was named, or that a file looks like; `None` for the variables of an environment.
    fn format_of(
        &self,
        path: &Path,
        text: &str,
    ) -> Result<Option<(LibraryName, SteeringFormat)>, AuditError> {
        let candidates = || {
            let libraries = LibraryName::ALL.into_iter();
            let libraries = libraries.filter(|library| self.releases.may_examine(*library));
            libraries.flat_map(|library| {
                let formats = library.steering_formats().iter();
                formats.map(move |format| (library, *format))
            })
        };
        if let Some(name) = &self.request.format {
            if name == ENVIRONMENT {
                return Ok(None);
            }
            let named = candidates().find(|(_, format)| format.name == name);
            return named
                .map(Some)
                .ok_or_else(|| AuditError::NoFormat { name: name.clone() });
        }
        if let Some(found) = candidates().find(|(_, format)| (format.recognises)(text)) {
            return Ok(Some(found));
        }
        let sets_variables = LibraryName::ALL.iter().any(|library| {
            let found = environment_assignments(text, library.facts().variable_prefix);
            found
                .iter()
                .any(|assignment| variables::configures_library(*library, &assignment.name))
        });
        if sets_variables {
            Ok(None)
        } else {
            let path = path.to_owned();
            Err(AuditError::UnknownFormat { path })
        }
    }

    /// The settings for a library in a file at a place of the request; none if it is a file of rules.
    fn settings_for(
        &self,
        library: LibraryName,
        file: &ReadFile,
        place: usize,
    ) -> Result<Option<GivenSettings>, AuditError> {
        if !self.releases.may_examine(library) {
            return Ok(None);
        }
        let given = match &file.format {
            Some((of, format)) if *of == library && lists_settings(library, format) => {
                let release = self.releases.release_of(library)?;
                GivenSettings {
                    path: Some(file.path.clone()),
                    source: AssignmentSource::Parameters,
                    precedence: precedence_by_name(library, &file.path)
                        .unwrap_or(Precedence::File(place)),
                    format: Some(*format),
                    named_by: None,
                    read: (format.examine)(
                        &release.examined(self.request.assume_commutative),
                        &file.text,
                    ),
                }
            }
            Some(_) => return Ok(None),
            None => {
                let prefix = library.facts().variable_prefix;
                let mut assignments = environment_assignments(&file.text, prefix);
                let release = self.releases.release_of(library).ok();
                let known = settings_of(library, release);
                assignments.retain(|given| may_concern(library, &known, &given.name));
                if assignments.is_empty() {
                    return Ok(None);
                }
                self.releases.release_of(library)?;
                GivenSettings {
                    path: Some(file.path.clone()),
                    source: AssignmentSource::Environment,
                    precedence: Precedence::Environment,
                    format: None,
                    named_by: None,
                    read: SteeringFindings {
                        assignments,
                        ..SteeringFindings::default()
                    },
                }
            }
        };
        Ok(Some(given))
    }

    /// Examines the settings of one library that count together, and the files of rules that they name.
    fn examine_settings(
        &mut self,
        library: LibraryName,
        mut given: Vec<GivenSettings>,
    ) -> Result<(), AuditError> {
        given.sort_by_key(|settings| settings.precedence);
        let release = self.releases.release_of(library)?;
        let examined = release.examined(self.request.assume_commutative);
        for one in &given {
            // The most important ones come last, and replace the others.
            let mut others = OtherSettings::default();
            for other in given
                .iter()
                .rev()
                .filter(|other| !std::ptr::eq(*other, one))
            {
                for set in &other.read.assignments {
                    let variable = other.variable_of(library, &set.name);
                    let value = set.value.clone();
                    if other.precedence < one.precedence {
                        let place = other.describe_place();
                        let stronger = StrongerSetting { value, place };
                        others.stronger.insert(variable, stronger);
                    } else {
                        others.weaker.insert(variable, value);
                    }
                }
            }
            let place = one.describe_place();
            let GivenSettings {
                path,
                source,
                format,
                named_by,
                read,
                ..
            } = one;
            let mut found =
                examine_assignments(library, &examined, *source, &read.assignments, &others);
            found.all.extend(read.all.iter().cloned());
            // Only what counts is followed.
            let mut named_files = Vec::new();
            for assignment in &found.assignments {
                let variable = one.variable_of(library, &assignment.name);
                named_files.extend(self.find_named_rules(
                    library,
                    release,
                    assignment,
                    &variable,
                    &mut found.all,
                ));
            }
            self.sources.push(AuditedSource {
                path: path.clone(),
                title: format
                    .map_or("environment", |format| format.title)
                    .to_owned(),
                format: format.map(|format| format.name),
                library: release.title(),
                named_by: named_by.clone(),
                findings: as_audited(found.all),
            });
            for (file, rules, text) in named_files {
                let mut requested = self.request.files.iter();
                let is_given = requested.any(|given_file| is_same_file(given_file, &file));
                if !is_given && !self.is_examined(library, &file) {
                    self.examine_rules(library, &rules, &file, &text, Some(place.clone()))?;
                }
            }
        }
        Ok(())
    }

    /// The file of rules that a setting names; adds a finding if the library cannot read it.
    fn find_named_rules(
        &self,
        library: LibraryName,
        release: &ReleaseInUse,
        assignment: &Assignment,
        variable: &str,
        found: &mut Vec<SteeringFinding>,
    ) -> Option<(PathBuf, SteeringFormat, String)> {
        let setting = library.control_variable(variable)?;
        let listed = library.steering_setting(&setting)?;
        // What a script computes is not known here.
        let is_computed = assignment.value.contains(['$', '`', '(']);
        if listed.role != SettingRole::Rules || assignment.value.is_empty() || is_computed {
            return None;
        }
        let path = PathBuf::from(&assignment.value);
        if assignment.value.contains(char::REPLACEMENT_CHARACTER) {
            found.push(SteeringFinding {
                line: assignment.line,
                kind: FindingKind::NotSupported,
                message: format!(
                    "the name of the file {} is not UTF-8, so the file is not examined",
                    path.display()
                ),
                remedy: Some("name the file to `audit`".to_owned()),
            });
            return None;
        }
        match read_as_libraries_do(&path) {
            Ok(text) => {
                let formats = library.steering_formats().iter();
                let mut formats = formats.filter(|format| format.is_named_by(&setting));
                // A file that looks like none of them is examined as the last one, which says what is wrong with it.
                let format = formats
                    .clone()
                    .find(|format| (format.recognises)(&text))
                    .or_else(|| formats.next_back())?;
                Some((path, *format, text))
            }
            Err(error) => {
                let why = error.to_string();
                let (kind, message) =
                    match library.rules_file(&setting, &release.version, Err(&why)) {
                        RulesFileEffect::Read(_) => return None,
                        RulesFileEffect::Ignored(why) => (FindingKind::IgnoredFile, why),
                        RulesFileEffect::EndsPrograms(why) => (FindingKind::EndsPrograms, why),
                    };
                found.push(SteeringFinding {
                    line: assignment.line,
                    kind,
                    message: format!("{}: {message}", path.display()),
                    remedy: Some("correct the path; it must be the same on all nodes".to_owned()),
                });
                None
            }
        }
    }

    fn examine_rules(
        &mut self,
        library: LibraryName,
        format: &SteeringFormat,
        path: &Path,
        text: &str,
        named_by: Option<String>,
    ) -> Result<(), AuditError> {
        let release = self.releases.release_of(library)?;
        let found = (format.examine)(&release.examined(self.request.assume_commutative), text);
        self.sources.push(AuditedSource {
            path: Some(path.to_owned()),
            title: format.title.to_owned(),
            format: Some(format.name),
            library: release.title(),
            named_by,
            findings: as_audited(found.all),
        });
        Ok(())
    }

    /// Examines the environment, and the parameter files that the installed libraries read.
    fn examine_what_is_in_force(&mut self, places: &SearchPaths) -> Result<(), AuditError> {
        let names: Vec<LibraryName> = self
            .releases
            .releases
            .iter()
            .map(|known| known.name)
            .collect();
        if names.is_empty() {
            return Err(match self.releases.only {
                Some(library) => AuditError::NoLibrary {
                    library: library.name(),
                    example: library.facts().example_version,
                },
                None => AuditError::NoLibraries,
            });
        }
        let own: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((
                    name.into_string().ok()?,
                    value.to_string_lossy().into_owned(),
                ))
            })
            .collect();
        for library in names {
            let release = self.releases.release_of(library)?;
            let known = settings_of(library, Some(release));
            let set = own
                .iter()
                .filter(|(name, _)| may_concern(library, &known, name));
            let assignments = set.map(|(name, value)| Assignment {
                line: None,
                name: name.clone(),
                value: value.clone(),
            });
            let mut given = vec![GivenSettings {
                path: None,
                source: AssignmentSource::Environment,
                precedence: Precedence::Environment,
                format: None,
                named_by: None,
                read: SteeringFindings {
                    assignments: assignments.collect(),
                    ..SteeringFindings::default()
                },
            }];
            if let Some(format) = settings_format(library) {
                let overriding = library
                    .overriding_settings_files(&settings_places(release, places))
                    .into_iter()
                    .map(|path| (path, Precedence::Overriding));
                let files = settings_files(release, &own, places).into_iter();
                let files = files.zip(0..);
                let files = files.map(|(path, place)| (path, Precedence::File(place)));
                for (path, precedence) in overriding.chain(files) {
                    let Some(read) = self.read_settings_file(release, format, &path) else {
                        continue;
                    };
                    given.push(GivenSettings {
                        path: Some(path),
                        source: AssignmentSource::Parameters,
                        precedence,
                        format: Some(*format),
                        named_by: Some(release.title()),
                        read,
                    });
                }
            }
            self.examine_settings(library, given)?;
        }
        Ok(())
    }

    /// The settings in a file that a library reads; `None` if the file is not there, which the library passes over.
    fn read_settings_file(
        &self,
        release: &ReleaseInUse,
        format: &SteeringFormat,
        path: &Path,
    ) -> Option<SteeringFindings> {
        let examined = release.examined(self.request.assume_commutative);
        match read_as_libraries_do(path) {
            Ok(text) => Some((format.examine)(&examined, &text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(SteeringFindings {
                all: vec![SteeringFinding {
                    line: None,
                    kind: FindingKind::IgnoredFile,
                    message: format!("the file cannot be read ({error}), so it has no effect"),
                    remedy: Some("make it a file that users can read, or remove it".to_owned()),
                }],
                assignments: Vec::new(),
            }),
        }
    }
}

/// The precedence of a file that overrides the environment, by its name.
fn precedence_by_name(library: LibraryName, path: &Path) -> Option<Precedence> {
    let overriding = library.overriding_settings_files(&SettingsPlaces::default());
    let mut names = overriding.iter().map(|file| file.file_name());
    let overrides = names.any(|name| name == path.file_name());
    overrides.then_some(Precedence::Overriding)
}

/// Whether two names lead to the same file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || files::is_same(one, other)
}

/// The places of a library's settings files.
fn settings_places<'a>(release: &'a ReleaseInUse, places: &'a SearchPaths) -> SettingsPlaces<'a> {
    SettingsPlaces {
        home: places.homes.home.as_deref(),
        launcher: release.launcher.as_deref(),
        site_folder: site_folder(release.name),
    }
}

/// The parameter files that a library reads, the most important first: those that a variable or the library itself lists,
/// or else those of its built-in list.
fn settings_files(
    release: &ReleaseInUse,
    environment: &BTreeMap<String, String>,
    places: &SearchPaths,
) -> Vec<PathBuf> {
    let library = release.name;
    let setting = library.facts().files_setting;
    let listed = setting.and_then(|setting| {
        let by_library = release.variables.as_ref().and_then(|all| all.get(setting));
        by_library.or_else(|| environment.get(&library.environment_variable(setting)))
    });
    match listed.map(String::as_str) {
        Some("") | None => library.default_settings_files(&settings_places(release, places)),
        // The library's own word for an empty list.
        Some("none") => Vec::new(),
        Some(list) => {
            let names = list.split([':', ',']).map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            names.map(PathBuf::from).collect()
        }
    }
}

/// Whether files of a format list settings.
fn lists_settings(library: LibraryName, format: &SteeringFormat) -> bool {
    settings_format(library).is_some_and(|own| own.name == format.name)
}

/// The control variables of a library, as far as they are known.
fn settings_of(library: LibraryName, release: Option<&ReleaseInUse>) -> BTreeMap<String, String> {
    match release.and_then(|release| release.variables.clone()) {
        Some(all) => all,
        None => library.known_settings(release.map_or("", |release| &release.version)),
    }
}

/// Whether a variable is meant for a library: it has one of its prefixes, or the name of one of its control variables
/// without it.
fn may_concern(library: LibraryName, known: &BTreeMap<String, String>, variable: &str) -> bool {
    variables::configures_library(library, variable)
        || library.misnamed_setting(variable, known).is_some()
}

fn as_audited(mut found: Vec<SteeringFinding>) -> Vec<AuditedFinding> {
    found.sort_by_key(|finding| (finding.line, finding.kind));
    found.dedup();
    found
        .into_iter()
        .map(|finding| AuditedFinding {
            line: finding.line,
            kind: finding.kind.id(),
            fault: finding.kind.is_fault(),
            message: finding.message,
            remedy: finding.remedy,
        })
        .collect()
}
