//! The settings that steer the collectives of a library, one list for each, and the effect that a setting has.
//!
//! Names are those of control variables. What a setting does is decided by what the library has and by its other
//! settings, as far as these are known: a name alone does not show whether the library reads it.

use std::collections::BTreeMap;

use crate::LibraryName;
use crate::assignments::stronger_variable;

/// The part of a setting in the choice of algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingRole {
    /// Names a file of rules, with which sites deploy decisions.
    Rules,
    /// Makes the library read other settings.
    Switch,
    /// Names an algorithm of a collective.
    Algorithm,
    /// A property of algorithms, or a size at which the library changes from one to another.
    Parameter,
    /// Selects the component or device that carries out collectives.
    Component,
    /// Prints messages, and changes nothing.
    Messages,
}

/// A setting that steers collectives, or several settings whose names have the same pattern.
#[derive(Debug)]
pub struct SteeringSetting {
    /// The name of the control variable; each `*` stands for any text.
    pub pattern: &'static str,
    /// Its part in the choice.
    pub role: SettingRole,
    /// The setting on which it depends.
    pub condition: Option<&'static Condition>,
}

/// A value of another setting, without which the library does not read a setting.
#[derive(Debug)]
pub struct Condition {
    /// The control variable.
    pub setting: &'static str,
    /// Whether the condition holds for a value.
    pub holds: fn(&str) -> bool,
    /// Whether it holds for the built-in value.
    pub holds_by_default: bool,
    /// A value for which it holds, as users write it.
    pub remedy: &'static str,
}

impl SteeringSetting {
    pub(crate) const fn new(pattern: &'static str, role: SettingRole) -> Self {
        Self {
            pattern,
            role,
            condition: None,
        }
    }

    pub(crate) const fn depending_on(self, condition: &'static Condition) -> Self {
        Self {
            condition: Some(condition),
            ..self
        }
    }

    /// Whether this is the setting of a control variable.
    pub fn matches(&self, control_variable: &str) -> bool {
        has_pattern(control_variable, self.pattern)
    }
}

/// Whether a name has a pattern, in which each `*` stands for any text.
pub(crate) fn has_pattern(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(first) else {
        return false;
    };
    let Some((between, last)) = rest.rsplit_once('*') else {
        return left.ends_with(rest);
    };
    for part in between.split('*') {
        let Some(place) = left.find(part) else {
            return false;
        };
        left = &left[place + part.len()..];
    }
    left.ends_with(last)
}

/// What is known about the settings of a library before MPI is started.
#[derive(Clone, Copy, Debug)]
pub struct KnownSettings<'a> {
    /// The environment variables that configure MPI libraries.
    pub variables: &'a BTreeMap<String, String>,
    /// All control variables of the library that concern collectives, with their values; `None` if they are unknown.
    pub all: Option<&'a BTreeMap<String, String>>,
    /// The control variables whose values are not the built-in ones; `None` if they are unknown.
    pub changed: Option<&'a BTreeMap<String, String>>,
}

/// The effect of a setting on the library's choice of algorithms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes the choice.
    Steers,
    /// It makes the library read these settings, which are also set.
    Enables(Vec<String>),
    /// None.
    Nothing(NoEffect),
}

/// The reason why a setting does not affect the choice of algorithms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoEffect {
    /// It is about something else.
    Unrelated,
    /// The library has no control variable with this name. These have similar ones.
    NoSuchSetting {
        /// The control variables with similar names.
        similar: Vec<String>,
    },
    /// The library has its built-in value, which may be unknown: the setting names it, names none, or is overridden.
    BuiltIn(Option<String>),
    /// Another setting does not have the value that it needs.
    Unmet(&'static Condition),
    /// A switch, and nothing that depends on it is set.
    NothingToEnable,
    /// It configures a component that carries out no collective.
    Idle(String),
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.setting == other.setting && self.remedy == other.remedy
    }
}

impl Eq for Condition {}

impl KnownSettings<'_> {
    /// The value of a control variable: that of the library, or else of the environment variable that sets it.
    fn current_value(&self, library: LibraryName, control_variable: &str) -> Option<&str> {
        let told = [self.changed, self.all].into_iter().flatten();
        let told = told
            .filter_map(|values| values.get(control_variable))
            .next();
        let by_variable = || {
            let sets =
                |name: &str| library.control_variable(name).as_deref() == Some(control_variable);
            let mut all = self.variables.iter().filter(|(name, _)| sets(name));
            let counts = |name: &str| stronger_variable(library, name, self.variables).is_none();
            all.find(|(name, _)| counts(name)).map(|(_, value)| value)
        };
        let told = told.or_else(by_variable);
        told.map(String::as_str)
    }

    fn meets_condition(&self, library: LibraryName, condition: &Condition) -> bool {
        let value = self.current_value(library, condition.setting);
        value.map_or(condition.holds_by_default, condition.holds)
    }

    /// The settings with a value that depend on a switch.
    fn dependent_settings(&self, library: LibraryName, switch: &str) -> Vec<String> {
        let named = self.variables.iter().filter_map(|(name, value)| {
            let name = library.control_variable(name)?;
            (!value.is_empty()).then_some(name)
        });
        let changed = self
            .changed
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone());
        let depends = |name: &String| {
            let condition = library.steering_setting(name).and_then(|set| set.condition);
            condition.is_some_and(|condition| condition.setting == switch)
                && self.is_set(library, name)
        };
        let mut found: Vec<String> = named.chain(changed).filter(depends).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Whether the library has a value of a control variable that is not the built-in one, as far as is known.
    fn is_set(&self, library: LibraryName, control_variable: &str) -> bool {
        let changed = self.changed;
        changed.is_none_or(|changed| changed.contains_key(control_variable))
            || self.is_hidden(library, control_variable)
    }

    /// Whether the library has a control variable of this name and does not show its value: the tool interface of a
    /// library without settings files cuts off names of files.
    fn is_hidden(&self, library: LibraryName, control_variable: &str) -> bool {
        let is_there = self
            .all
            .is_none_or(|all| all.contains_key(control_variable));
        let names_file = library
            .steering_setting(control_variable)
            .is_some_and(|setting| setting.role == SettingRole::Rules);
        is_there && names_file && library.facts().files_setting.is_none()
    }
}

impl LibraryName {
    /// The entry of a control variable in the list of settings that steer collectives; `None` if it is not in the list.
    pub fn steering_setting(self, control_variable: &str) -> Option<&'static SteeringSetting> {
        let mut list = self.steering_settings().iter();
        list.find(|setting| setting.matches(control_variable))
    }

    /// Whether an environment variable names a file of rules.
    pub fn names_rules(self, variable: &str) -> bool {
        let control_variable = self.control_variable(variable);
        let setting = control_variable.and_then(|name| self.steering_setting(&name));
        setting.is_some_and(|setting| setting.role == SettingRole::Rules)
    }

    /// The control variables that are known to name files of rules.
    pub fn rules_settings(self) -> impl Iterator<Item = &'static str> {
        let list = self.steering_settings().iter();
        let files = list.filter(|setting| setting.role == SettingRole::Rules);
        let names = files.map(|setting| setting.pattern);
        names.filter(|name| !name.contains('*'))
    }

    /// The environment variable that sets a control variable.
    pub fn environment_variable(self, control_variable: &str) -> String {
        format!("{}{control_variable}", self.facts().variable_prefix)
    }

    /// The effect of a control variable with a value, which it has or which an environment variable gives it.
    pub fn setting_effect(
        self,
        control_variable: &str,
        value: &str,
        known: &KnownSettings<'_>,
    ) -> Effect {
        let name = control_variable;
        let listed = self.steering_setting(name);
        // The library does not have it: of interest if it might be a misspelt one that steers.
        if let Some(all) = known.all
            && !all.contains_key(name)
        {
            let similar = self.similar_settings(name, all);
            return Effect::Nothing(if listed.is_some() || !similar.is_empty() {
                NoEffect::NoSuchSetting { similar }
            } else {
                NoEffect::Unrelated
            });
        }
        let Some(listed) = listed.filter(|listed| listed.role != SettingRole::Messages) else {
            return Effect::Nothing(NoEffect::Unrelated);
        };
        // What depends on other settings: reported first, since it is what users must change.
        if let Some(condition) = listed.condition
            && !known.meets_condition(self, condition)
        {
            return Effect::Nothing(NoEffect::Unmet(condition));
        }
        let names_nothing = listed.role == SettingRole::Rules && value.is_empty();
        if names_nothing || !known.is_set(self, name) {
            let current = known.current_value(self, name).map(str::to_owned);
            return Effect::Nothing(NoEffect::BuiltIn(current));
        }
        if let Some(idle) = known.all.and_then(|all| self.idle_component(name, all)) {
            return Effect::Nothing(NoEffect::Idle(idle));
        }
        if listed.role != SettingRole::Switch {
            return Effect::Steers;
        }
        let dependent = known.dependent_settings(self, name);
        let enables = self.steering_settings().iter().any(|setting| {
            let condition = setting.condition;
            condition.is_some_and(|condition| condition.setting == name && (condition.holds)(value))
        });
        if enables && !dependent.is_empty() {
            Effect::Enables(dependent)
        } else {
            Effect::Nothing(NoEffect::NothingToEnable)
        }
    }

    /// The effect of an environment variable.
    pub fn variable_effect(self, variable: &str, value: &str, known: &KnownSettings<'_>) -> Effect {
        if let Some(name) = self.control_variable(variable) {
            return self.setting_effect(&name, value, known);
        }
        // Of software below the library, or of no use.
        if self.steering_setting(variable).is_none() {
            let similar = known.all.map(|all| self.similar_settings(variable, all));
            return Effect::Nothing(match similar.unwrap_or_default() {
                similar if similar.is_empty() => NoEffect::Unrelated,
                similar => NoEffect::NoSuchSetting { similar },
            });
        }
        let idle = known.all.and_then(|all| self.idle_component(variable, all));
        idle.map_or(Effect::Steers, |idle| Effect::Nothing(NoEffect::Idle(idle)))
    }

    /// The steering setting among `all` whose name an environment variable has without the library's prefix, or in other
    /// letters, so that the library does not read it.
    pub fn misnamed_setting<'a>(
        self,
        variable: &str,
        all: &'a BTreeMap<String, String>,
    ) -> Option<&'a str> {
        let is_meant = |known: &&String| {
            let correct = self.environment_variable(known);
            known.contains('_')
                && correct != variable
                && [*known, &correct]
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(variable))
        };
        let mut steering = all
            .keys()
            .filter(|known| self.steering_setting(known).is_some());
        steering.find(is_meant).map(String::as_str)
    }

    /// The settings among `all` that steer collectives and whose names resemble `name`: of which it is a part, or the
    /// one that differs in the fewest letters.
    pub fn similar_settings(self, name: &str, all: &BTreeMap<String, String>) -> Vec<String> {
        let name = name.to_lowercase();
        let steering = all
            .keys()
            .filter(|known| self.steering_setting(known).is_some());
        let common = self.facts().common_prefix.to_lowercase();
        let ends = |known: &&String| {
            let known = known.to_lowercase();
            let own = known.strip_prefix(&common).unwrap_or(&known);
            // A single word, such as `coll`, ends many names.
            let is_long = own.contains('_');
            let rest = known.strip_suffix(&name);
            let rest = rest.or_else(|| name.strip_suffix(own).filter(|_| is_long));
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        };
        let whole: Vec<String> = steering.clone().filter(ends).cloned().collect();
        if !whole.is_empty() {
            // A short part, such as `algorithm`, says nothing.
            let few = whole.len() <= MOST_SIMILAR;
            return if few { whole } else { Vec::new() };
        }
        let most = name.len() / LETTERS_FOR_AN_ERROR;
        let near = steering.filter(|known| known.len().abs_diff(name.len()) <= most);
        let near = near.filter_map(|known| {
            let distance = strsim::levenshtein(&name, &known.to_lowercase());
            (distance <= most).then_some((distance, known))
        });
        let nearest = near.min();
        nearest
            .map(|(_, known)| known.clone())
            .into_iter()
            .collect()
    }
}

/// The most settings that are said to resemble a name.
const MOST_SIMILAR: usize = 3;

/// The letters of a name for each of which another name may differ in one.
const LETTERS_FOR_AN_ERROR: usize = 6;
