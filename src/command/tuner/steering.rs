//! What the settings of this environment do to the choice of algorithms, as the libraries treat them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use environment::variables;
use libraries::{
    Effect, ExaminedRelease, KnownSettings, LibraryName, NoEffect, RulesFileEffect, SettingRole,
    SettingsPlaces, SteeringFormat,
};
use vocabulary::Library;

use crate::{DriverFound, LibrarySetting};

/// What a setting does to the choice of algorithms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingEffect {
    /// Whether it affects the choice.
    pub decides: bool,
    /// Why it does, or does not, if its name does not show that.
    pub reason: Option<String>,
    /// How to correct a setting that does not do what its name says, as a sentence.
    remedy: Option<String>,
}

/// A library, and the answers of its measuring program.
pub(crate) struct LibraryAnswers {
    pub(crate) name: LibraryName,
    pub(crate) library: Library,
    pub(crate) launcher: PathBuf,
    /// Whether its measuring program is built.
    pub(crate) has_program: bool,
    /// Its control variables with their values; empty if unknown.
    pub(crate) all: BTreeMap<String, String>,
    /// Those that do not have their built-in values; `None` if unknown.
    pub(crate) changed: Option<BTreeMap<String, String>>,
}

/// Values with which a setting leaves the decision to the library.
const NEUTRAL: [&str; 7] = ["", "0", "ignore", "auto", "false", "no", "none"];

/// A setting with the way in which users name it.
struct NamedSetting<'a> {
    /// The control variable, or an environment variable that sets none.
    setting: &'a str,
    /// The name in the environment or in a file.
    written: &'a str,
    value: &'a str,
}

impl LibraryAnswers {
    fn known_settings<'a>(&'a self, given: &'a BTreeMap<String, String>) -> KnownSettings<'a> {
        KnownSettings {
            variables: given,
            all: (!self.all.is_empty()).then_some(&self.all),
            changed: self.changed.as_ref(),
        }
    }

    /// The settings that do not have their built-in values, with their places and effects.
    pub(crate) fn changed_settings(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Option<BTreeMap<String, LibrarySetting>> {
        let files = self.read_settings_files();
        let overriding = self.read_overriding_files();
        let place = |setting: &str| {
            if let Some(file) = overriding.iter().find(|file| file.sets(setting)) {
                return Some(file.path.clone());
            }
            let is_given =
                |name: &String| self.name.control_variable(name).as_deref() == Some(setting);
            if given.keys().any(is_given) {
                return Some("environment".to_owned());
            }
            // The first file that sets a variable takes precedence.
            let mut files = files.iter();
            let found = files.find(|file| file.sets(setting));
            found.map(|file| file.path.clone())
        };
        let described = |(name, value): (&String, &String)| {
            let named = NamedSetting {
                setting: name,
                written: name,
                value,
            };
            let effect = self
                .name
                .setting_effect(name, value, &self.known_settings(given));
            let effect = self.explain_effect(&effect, &named);
            let setting = LibrarySetting {
                value: value.clone(),
                place: place(name),
                decides: effect.decides,
                reason: effect.reason,
            };
            (name.clone(), setting)
        };
        let changed = self.changed.as_ref()?;
        Some(changed.iter().map(described).collect())
    }

    /// What an environment variable does.
    fn variable_effect(
        &self,
        written: &str,
        value: &str,
        given: &BTreeMap<String, String>,
    ) -> SettingEffect {
        let setting = self.name.control_variable(written);
        let overriding = self.read_overriding_files();
        let mut overriding = overriding.iter();
        let stronger = overriding.find(|file| setting.as_ref().is_some_and(|name| file.sets(name)));
        if let Some(file) = stronger {
            return SettingEffect {
                decides: false,
                reason: Some(format!(
                    "{} takes precedence over the environment",
                    file.path
                )),
                remedy: Some("Change it there, or remove one of the two.".to_owned()),
            };
        }
        let effect = self
            .name
            .variable_effect(written, value, &self.known_settings(given));
        let named = NamedSetting {
            setting: setting.as_deref().unwrap_or(written),
            written,
            value,
        };
        self.explain_effect(&effect, &named)
    }

    /// An effect in words.
    fn explain_effect(&self, effect: &Effect, named: &NamedSetting<'_>) -> SettingEffect {
        let Self { name, library, .. } = self;
        let variable = |setting: &str| name.environment_variable(setting);
        let (decides, reason, remedy) = match effect {
            Effect::Steers => return self.rules_file_effect(named),
            Effect::Enables(settings) => {
                let settings = settings.join(" and ");
                let reason = format!("{library} reads {settings} only with it");
                (true, Some(reason), None)
            }
            Effect::Nothing(NoEffect::Unrelated) => (false, None, None),
            Effect::Nothing(NoEffect::NoSuchSetting { similar }) => {
                let reason = format!("{library} has no setting of this name");
                let similar: Vec<String> = similar.iter().map(|known| variable(known)).collect();
                let remedy = if similar.is_empty() {
                    // Sites switch off components that only some of their libraries have.
                    self.names_decision(named).then(|| "Remove it.".to_owned())
                } else {
                    Some(format!("Did you mean {}?", similar.join(" or ")))
                };
                (false, Some(reason), remedy)
            }
            Effect::Nothing(NoEffect::BuiltIn(value)) => {
                let value = value.as_deref().filter(|value| !value.is_empty());
                let value = value.map_or_else(String::new, |value| format!(", `{value}`"));
                let reason = format!("the value in {library} is the built-in one{value}");
                // Such as the number of an algorithm that the release does not have.
                let is_refused = self.names_decision(named) && !NEUTRAL.contains(&named.value);
                let remedy = is_refused.then(|| "Correct the value, or remove it.".to_owned());
                (false, Some(reason), remedy)
            }
            Effect::Nothing(NoEffect::Unmet(needed)) => {
                let (setting, value) = (needed.setting, needed.remedy);
                let reason = format!("{library} reads it only with {setting}={value}");
                let is_neutral = NEUTRAL.contains(&named.value);
                let remedy = format!("Set {}={value}, or remove it.", variable(setting));
                (false, Some(reason), (!is_neutral).then_some(remedy))
            }
            Effect::Nothing(NoEffect::NothingToEnable) => {
                let reason = "no setting that needs it is set".to_owned();
                (false, Some(reason), None)
            }
            Effect::Nothing(NoEffect::Idle(component)) => {
                let reason = format!("the component {component} carries out no collective");
                let remedy = self.names_decision(named).then(|| {
                    format!("Let {component} come first (its priority, and the setting `coll`), or remove it.")
                });
                (false, Some(reason), remedy)
            }
        };
        SettingEffect {
            decides,
            reason,
            remedy,
        }
    }

    /// Whether a setting names decisions, or makes the library read them.
    fn names_decision(&self, named: &NamedSetting<'_>) -> bool {
        let listed = self.name.steering_setting(named.setting);
        let role = listed.map(|listed| listed.role);
        role.is_some_and(|role| {
            [
                SettingRole::Rules,
                SettingRole::Switch,
                SettingRole::Algorithm,
            ]
            .contains(&role)
        })
    }

    /// The effect of a setting that the library obeys: if it names a file of rules, that depends on the file.
    fn rules_file_effect(&self, named: &NamedSetting<'_>) -> SettingEffect {
        let Self { name, library, .. } = self;
        let mut found = SettingEffect {
            decides: true,
            ..SettingEffect::default()
        };
        if !is_rules_setting_of(*name, named.setting) {
            return found;
        }
        let text = read_as_libraries_do(Path::new(self.file_named_by(named)))
            .map_err(|error| error.to_string());
        let text = text.as_deref().map_err(String::as_str);
        match name.rules_file(named.setting, &library.version, text) {
            RulesFileEffect::Read(note) => found.reason = note.map(str::to_owned),
            RulesFileEffect::Ignored(why) => {
                found.decides = false;
                found.reason = Some(format!(
                    "{library} ignores the whole file and says nothing: {why}"
                ));
                found.remedy = Some("Correct the file or the setting.".to_owned());
            }
            RulesFileEffect::EndsPrograms(why) => {
                found.reason = Some(format!("with it {library} ends every program: {why}"));
                found.remedy = Some("Correct the file or the setting.".to_owned());
            }
        }
        found
    }

    /// The file that a setting names: as the library has it, which may have completed the path.
    fn file_named_by<'a>(&'a self, named: &NamedSetting<'a>) -> &'a str {
        let file = self
            .changed
            .as_ref()
            .and_then(|changed| changed.get(named.setting));
        file.map_or(named.value, String::as_str)
    }

    /// The settings files that take precedence over the environment, read as the library does.
    fn read_overriding_files(&self) -> Vec<SettingsFile> {
        let files = self.name.overriding_settings_files(&SettingsPlaces {
            home: None,
            launcher: Some(&self.launcher),
            site_folder: site_folder(self.name),
        });
        let read = files
            .iter()
            .filter_map(|path| self.read_settings_file(path));
        read.collect()
    }

    /// A settings file as the library reads it; `None` if it cannot be read.
    fn read_settings_file(&self, path: &Path) -> Option<SettingsFile> {
        let format = settings_format(self.name)?;
        let release = ExaminedRelease {
            version: &self.library.version,
            variables: None,
            assume_commutative: false,
        };
        let text = read_as_libraries_do(path).ok()?;
        let set = (format.examine)(&release, &text).assignments.into_iter();
        Some(SettingsFile {
            path: path.display().to_string(),
            lines: set.map(|set| (set.name, set.value)).collect(),
        })
    }

    /// The settings files that the library reads, the most important first, read as the library does.
    fn read_settings_files(&self) -> Vec<SettingsFile> {
        let lists = self
            .all
            .iter()
            .filter(|(name, _)| variables::lists_files(name));
        let paths = lists.flat_map(|(_, list)| list.split([':', ',']).map(str::trim));
        let read = paths.filter_map(|path| self.read_settings_file(Path::new(path)));
        read.collect()
    }

    /// Sentences about the settings of this library that do not do what they say, and about files of rules.
    fn advise_on_library(&self, given: &BTreeMap<String, String>) -> Vec<String> {
        let mut advice = Vec::new();
        let mut is_told = BTreeSet::new();
        let own = given.iter();
        for (written, value) in
            own.filter(|(name, _)| variables::configures_library(self.name, name))
        {
            let setting = self.name.control_variable(written);
            let setting = setting.unwrap_or_else(|| written.clone());
            let effect = self.variable_effect(written, value, given);
            let named = NamedSetting {
                setting: &setting,
                written,
                value,
            };
            advice.extend(self.sentence_about_setting(&named, &effect));
            is_told.insert(setting);
        }
        for (setting, value) in self.changed.iter().flatten() {
            if !is_told.contains(setting) {
                let effect = self
                    .name
                    .setting_effect(setting, value, &self.known_settings(given));
                let named = NamedSetting {
                    setting,
                    written: setting,
                    value,
                };
                let effect = self.explain_effect(&effect, &named);
                advice.extend(self.sentence_about_setting(&named, &effect));
            }
        }
        // Lines of settings files that the library passes over.
        let files = self.read_overriding_files().into_iter();
        let files = files.chain(self.read_settings_files());
        for SettingsFile { path, lines } in files {
            for (setting, value) in lines
                .iter()
                .filter(|(name, _)| !self.all.contains_key(name))
            {
                let effect = self
                    .name
                    .setting_effect(setting, value, &self.known_settings(given));
                let named = NamedSetting {
                    setting,
                    written: setting,
                    value,
                };
                let effect = self.explain_effect(&effect, &named);
                let sentence = self.sentence_about_setting(&named, &effect);
                advice.extend(sentence.map(|sentence| format!("{path}: {sentence}")));
            }
        }
        advice.extend(self.find_misnamed_variables(given));
        if self.has_program && self.changed.is_none() {
            advice.extend(self.describe_refusal(given));
        }
        advice
    }

    /// A sentence about a setting that does not do what it says, or that names rules.
    fn sentence_about_setting(
        &self,
        named: &NamedSetting<'_>,
        effect: &SettingEffect,
    ) -> Option<String> {
        let NamedSetting {
            setting,
            written,
            value,
        } = named;
        if let (Some(reason), Some(remedy)) = (&effect.reason, &effect.remedy) {
            let nothing = if effect.decides { "" } else { " has no effect" };
            return Some(format!("{written}={value}{nothing}: {reason}. {remedy}"));
        }
        (effect.decides && is_rules_setting_of(self.name, setting)).then(|| {
            let file = self.file_named_by(named);
            let overriding = self.read_overriding_files();
            let in_force = overriding.iter().find(|settings| settings.sets(setting));
            let meanwhile = in_force.map_or_else(
                || "colltune switches them off while it measures".to_owned(),
                |settings| {
                    format!(
                        "nothing overrides {}, so they stay in force while colltune measures: take the line out of it \
                         meanwhile",
                        settings.path
                    )
                },
            );
            format!(
                "This environment makes the library read decision rules from {file} (variable {written}); {meanwhile}."
            )
        })
    }

    /// Sentences about environment variables that have the name of a setting, without the prefix or in other letters.
    fn find_misnamed_variables(&self, given: &BTreeMap<String, String>) -> Vec<String> {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let foreign = names.filter(|name| !given.contains_key(name));
        let sentence = |written: String| {
            let known = self.name.misnamed_setting(&written, &self.all)?;
            let variable = self.name.environment_variable(known);
            Some(format!(
                "{written} has no effect: {} reads {variable}. Correct the name.",
                self.library
            ))
        };
        foreign.filter_map(sentence).collect()
    }

    /// The sentence about a library that cannot be asked, if this environment configures it.
    fn describe_refusal(&self, given: &BTreeMap<String, String>) -> Option<String> {
        let own = given.iter().filter(|(name, _)| {
            let setting = self.name.control_variable(name);
            setting.is_some_and(|setting| self.name.steering_setting(&setting).is_some())
        });
        let own: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
        let library = &self.library;
        (!own.is_empty()).then(|| {
            format!(
                "{library} cannot be asked for its settings in this environment, and programs may end when they start \
                 MPI: it may refuse a value of {}. Correct or remove it.",
                own.join(", ")
            )
        })
    }
}

/// The folder that this process's environment names for the site's settings files of a library.
pub(crate) fn site_folder(library: LibraryName) -> Option<PathBuf> {
    SettingsPlaces::site_folder_by_variables(library, |name| std::env::var_os(name))
}

/// Reads a file that a library reads, to which it does not matter whether the text is UTF-8.
///
/// # Errors
/// Those of [`files::read`].
pub(crate) fn read_as_libraries_do(path: &Path) -> io::Result<String> {
    let bytes = files::read(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The format of the files that list a library's settings; `None` if it reads none.
pub(crate) fn settings_format(library: LibraryName) -> Option<&'static SteeringFormat> {
    let setting = library.facts().files_setting?;
    let mut formats = library.steering_formats().iter();
    formats.find(|format| format.is_named_by(setting))
}

/// A settings file of a library.
struct SettingsFile {
    path: String,
    /// Names and values.
    lines: Vec<(String, String)>,
}

impl SettingsFile {
    fn sets(&self, setting: &str) -> bool {
        self.lines.iter().any(|(name, _)| name == setting)
    }
}

/// Whether a control variable of a library names a file of rules.
fn is_rules_setting_of(library: LibraryName, setting: &str) -> bool {
    let listed = library.steering_setting(setting);
    listed.is_some_and(|listed| listed.role == SettingRole::Rules)
}

/// Whether a control variable names a file of rules.
pub(crate) fn is_rules_setting(setting: &str) -> bool {
    let mut libraries = LibraryName::ALL.into_iter();
    libraries.any(|library| is_rules_setting_of(library, setting))
}

/// What each variable does: as the libraries here say, or else by its name, as if its library were there.
pub(crate) fn effects_by_variable(
    asked_libraries: &[LibraryAnswers],
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, SettingEffect> {
    let effect = |(name, value): (&String, &String)| {
        let answers = asked_libraries
            .iter()
            .filter(|asked| asked.changed.is_some());
        let answers = answers.filter(|asked| variables::configures_library(asked.name, name));
        let mut found: Vec<SettingEffect> = answers
            .map(|asked| asked.variable_effect(name, value, given))
            .collect();
        if found.is_empty() {
            found.extend(assumed_effect(name, value, given));
        }
        // Of several libraries, one that obeys the variable tells most.
        found.sort_by_key(|effect| !effect.decides);
        let first = found.into_iter().next();
        (name.clone(), first.unwrap_or_default())
    };
    given.iter().map(effect).collect()
}

/// What a variable would do in a library that is not here or cannot be asked.
fn assumed_effect(
    variable: &str,
    value: &str,
    given: &BTreeMap<String, String>,
) -> Option<SettingEffect> {
    let known = KnownSettings {
        variables: given,
        all: None,
        changed: None,
    };
    let mut libraries = LibraryName::ALL.into_iter();
    let library = libraries.find(|library| variables::configures_library(*library, variable))?;
    let effect = library.variable_effect(variable, value, &known);
    Some(SettingEffect {
        decides: matches!(effect, Effect::Steers | Effect::Enables(_)),
        ..SettingEffect::default()
    })
}

/// The settings that affect the choice: those of libraries that were asked, and those in environment variables of the
/// others, which are assumed to have an effect.
pub(crate) fn settings_in_force(
    asked: &[LibraryAnswers],
    libraries: &[DriverFound],
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    // Names of settings differ between libraries.
    let settings = libraries.iter().flat_map(|found| &found.settings).flatten();
    let settings = settings.filter(|(_, setting)| setting.decides);
    let settings = settings.map(|(name, setting)| (name.clone(), setting.value.clone()));
    let is_asked = |library: LibraryName| {
        let mut asked = asked.iter().filter(|asked| asked.changed.is_some());
        asked.any(|asked| asked.name == library)
    };
    let assumed = given.iter().flat_map(|(variable, value)| {
        let others = LibraryName::ALL
            .into_iter()
            .filter(|library| !is_asked(*library));
        let names = others.filter_map(|library| library.control_variable(variable));
        names.map(|name| (name, value.clone()))
    });
    settings.chain(assumed).collect()
}

/// Sentences about settings that do not do what they say, and about files of rules.
pub(crate) fn advise_on_settings(
    asked: &[LibraryAnswers],
    given: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut advice: Vec<String> = Vec::new();
    for sentence in asked
        .iter()
        .flat_map(|asked| asked.advise_on_library(given))
    {
        if !advice.contains(&sentence) {
            advice.push(sentence);
        }
    }
    advice
}
