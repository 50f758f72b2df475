//! Whether the default of launches is the library's own choice, with which lines of a site's file are compared.
//!
//! Launches set aside the rules that a site has deployed, as far as they can. Algorithms that variables or files force,
//! and rules in files that no variable overrides, stay in force: the first launch tells, before the others take their time.

use libraries::{LibraryName, SettingRole};
use store::Store;
use tuner::MeasurementContext;
use vocabulary::{Candidate, Cell, Library, Warning};
use wire::Environment;

use crate::{GuardError, LaunchMeasurer, LaunchTimes, Measurer};

/// A measurer that refuses to go on behind a first launch whose default was not the library's own choice, or in which
/// the library could not be made to use an algorithm.
pub(crate) struct OwnChoiceMeasurer<'a> {
    launches: LaunchMeasurer<'a>,
    at: &'a MeasurementContext,
    is_checked: bool,
    /// What changes the default otherwise, such as components that are switched off.
    pub(crate) steered: Option<Warning>,
}

impl<'a> OwnChoiceMeasurer<'a> {
    /// A measurer whose launches are made in a context.
    pub(crate) fn new(launches: LaunchMeasurer<'a>, at: &'a MeasurementContext) -> Self {
        Self {
            launches,
            at,
            is_checked: false,
            steered: None,
        }
    }

    /// Checks the environment of the newest launch; without one, nothing is known.
    fn check_newest_launch(&mut self, chosen: &[&Candidate]) -> Result<(), GuardError> {
        let store = Store::open(&self.at.campaign.output.store)?;
        let launches = store.environments(&self.at.library)?;
        let Some((_, start)) = launches.last() else {
            return Ok(());
        };
        self.is_checked = true;
        self.steered = check_own_choices(&self.at.library, &start.environment, chosen)?;
        Ok(())
    }
}

impl Measurer for OwnChoiceMeasurer<'_> {
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<LaunchTimes, GuardError> {
        if self.is_checked || launches == 0 {
            return self.launches.measure(cells, launches);
        }
        let mut times = self.launches.measure(cells, 1)?;
        let candidates = cells.iter().flat_map(|(_, candidates)| candidates);
        let chosen: Vec<&Candidate> = candidates.filter(|one| one.is_native()).collect();
        self.check_newest_launch(&chosen)?;
        if launches > 1 && !times.is_out_of_time {
            times.add_later(self.launches.measure(cells, launches - 1)?);
        }
        Ok(times)
    }
}

/// Checks that the default of a launch was the library's own choice, and that all `chosen` algorithms could be forced.
/// Returns the warning about settings that change the default without choosing algorithms.
///
/// # Errors
/// [`GuardError::NotOwnChoice`] and [`GuardError::NotForced`].
pub(crate) fn check_own_choices(
    library: &Library,
    environment: &Environment,
    chosen: &[&Candidate],
) -> Result<Option<Warning>, GuardError> {
    let known = libraries::find_library(&library.name);
    let mut warnings = environment.warnings.iter();
    let steered = warnings.find_map(|warning| match warning {
        Warning::SteeredDefault { settings } => Some(settings),
        _ => None,
    });
    let (mut choosing, mut others) = (Vec::new(), Vec::new());
    for setting in steered.into_iter().flatten() {
        let role = known.and_then(|known| role_of_setting(known, setting));
        // What has no role is an algorithm itself.
        match role {
            Some(SettingRole::Component | SettingRole::Parameter) => others.push(setting.clone()),
            _ => choosing.push(setting.clone()),
        }
    }
    if !choosing.is_empty() {
        return Err(GuardError::NotOwnChoice {
            library: library.clone(),
            settings: choosing,
        });
    }
    let natives: Vec<String> = environment
        .natives
        .iter()
        .map(|native| native.full_name())
        .collect();
    if let Some(absent) = chosen
        .iter()
        .find(|candidate| !natives.iter().any(|name| name == candidate.algorithm()))
    {
        return Err(GuardError::NotForced {
            library: library.clone(),
            algorithm: absent.to_string(),
            dormant: known.map_or_else(Vec::new, |known| dormant_settings(known, environment)),
        });
    }
    Ok((!others.is_empty()).then_some(Warning::SteeredDefault { settings: others }))
}

/// The role of a setting `NAME=value`, by the name of its variable or of its control variable.
fn role_of_setting(library: LibraryName, setting: &str) -> Option<SettingRole> {
    let name = setting.split_once('=').map_or(setting, |(name, _)| name);
    let control_variable = library.control_variable(name);
    let listed = library.steering_setting(control_variable.as_deref().unwrap_or(name));
    listed.map(|listed| listed.role)
}

/// Settings that have no effect until algorithms may be forced, so that this is not allowed.
fn dormant_settings(library: LibraryName, environment: &Environment) -> Vec<String> {
    let enabling = library.facts().enabling_variable;
    let variables = environment.variables.iter();
    let by_files = environment.settings.iter().flatten();
    let is_dormant = |name: &str| {
        let setting = library.control_variable(name);
        let listed = library.steering_setting(setting.as_deref().unwrap_or(name));
        let condition = listed.and_then(|listed| listed.condition);
        let needs = condition.map(|condition| library.environment_variable(condition.setting));
        enabling.is_some_and(|enabling| name == enabling || needs.as_deref() == Some(enabling))
    };
    let mut dormant: Vec<String> = variables
        .chain(by_files.filter(|(name, _)| {
            let variable = library.environment_variable(name);
            !environment.variables.contains_key(&variable)
        }))
        .filter(|(name, _)| is_dormant(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    dormant.sort();
    dormant
}

#[cfg(test)]
mod tests {
    use super::check_own_choices;
    use crate::GuardError;
    use schedule::Collective;
    use vocabulary::{Candidate, Library, NativeAlgorithm, Parameters, Warning};
    use wire::Environment;

    fn library(name: &str) -> Library {
        let (name, version) = (name.to_owned(), "1".to_owned());
        Library { name, version }
    }

    fn native(id: &str) -> Candidate {
        Candidate::Native {
            algorithm: format!("native:bcast/{id}"),
            parameters: Parameters::default(),
        }
    }

    /// A launch in which only the binomial broadcast could be forced.
    fn environment(settings: &[&str]) -> Environment {
        let steered = Warning::SteeredDefault {
            settings: settings.iter().map(|one| (*one).to_owned()).collect(),
        };
        let is_steered = !settings.is_empty();
        Environment {
            warnings: is_steered.then_some(steered).into_iter().collect(),
            natives: vec![NativeAlgorithm {
                collective: Collective::Bcast,
                id: "binomial".to_owned(),
                takes_segments: false,
                takes_fanout: false,
                takes_requests: false,
                is_ordered: true,
            }],
            ..Environment::default()
        }
    }

    /// Rules and algorithms that stay in force are refused, whichever name they have; components are told.
    #[test]
    fn settings_that_choose_algorithms_are_refused_and_others_are_told() {
        let binomial = native("binomial");
        let check = |of: &str, settings: &[&str]| {
            check_own_choices(&library(of), &environment(settings), &[&binomial])
        };
        assert_eq!(check("openmpi", &[]).expect("own choices"), None);
        for (of, setting) in [
            (
                "openmpi",
                "coll_tuned_dynamic_rules_filename=/etc/rules.conf",
            ),
            ("openmpi", "OMPI_MCA_coll_tuned_allreduce_algorithm=4"),
            ("openmpi", "native:bcast/binomial"),
            ("mpich", "MPICH_BCAST_INTRA_ALGORITHM=binomial"),
        ] {
            let steered = check(of, &["OMPI_MCA_coll=^hcoll", setting]);
            let refused = match steered {
                Err(GuardError::NotOwnChoice { settings, .. }) => settings,
                other => panic!("{setting}: {other:?}"),
            };
            assert!(refused.iter().any(|found| found == setting), "{refused:?}");
        }
        let told = check(
            "openmpi",
            &["OMPI_MCA_coll=^hcoll", "coll_han_priority=100"],
        );
        let Ok(Some(Warning::SteeredDefault { settings })) = told else {
            panic!("{told:?}");
        };
        assert_eq!(settings.len(), 2);
    }

    /// Lines do not fail because nothing can be forced.
    #[test]
    fn algorithms_that_could_not_be_forced_are_refused_with_the_settings_behind_it() {
        let mut launch = environment(&[]);
        let preset = "OMPI_MCA_coll_tuned_allreduce_algorithm";
        launch.variables = [(preset, "4"), ("OMPI_MCA_btl", "self")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        launch.settings = Some(
            [
                ("coll_tuned_allreduce_algorithm", "ring"),
                ("coll_tuned_bcast_algorithm", "chain"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        );
        let (binomial, ring) = (native("binomial"), native("ring"));
        let check = |chosen: &[&Candidate]| check_own_choices(&library("openmpi"), &launch, chosen);
        assert_eq!(check(&[&binomial]).expect("forced"), None);
        let Err(GuardError::NotForced {
            algorithm, dormant, ..
        }) = check(&[&binomial, &ring])
        else {
            panic!("forced");
        };
        assert_eq!(algorithm, "native:bcast/ring");
        assert_eq!(
            dormant,
            [&format!("{preset}=4"), "coll_tuned_bcast_algorithm=chain"]
        );
    }
}
