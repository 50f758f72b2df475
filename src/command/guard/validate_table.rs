//! The validation of a whole table, from its points to the verdicts and changes that are kept.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use campaign::Campaign;
use launcher::find_driver;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use table::{Confidence, Deployment, Numerics, Policy, Table, TableError, TurnedBack, Verdict};
use tuner::{SearchPaths, TunerError, export_beside};
use vocabulary::Library;

use crate::campaign_sizes::CampaignSizes;
use crate::{
    Activation, AlternatingMeasurer, Circumstances, ConfirmedRange, GuardError, LaunchMeasurer,
    LaunchWatch, Point, Probing, Sources, TestCaller, TestSetup, TestSetupOptions, TestWarning,
    ValidateOptions, Validated, ValidatedPoint, add_probes, confirm_rules, count_unconfirmed_rules,
    keep_verdicts, table_points, validate_points,
};

/// The decisions of a table that are validated, and the way in which launches are made to follow them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUse {
    /// Those for colltune, which the driver carries out in the same launches as the default.
    Colltune,
    /// Those for the library's own settings, which launches read from the exported file, as on a site that uses it.
    LibraryExport {
        /// Whether the file is for programs without noncommutative operators.
        assume_commutative: bool,
    },
    /// Those for the library's own settings, which the driver forces in the same launches as the default.
    LibraryForced,
}

impl TableUse {
    /// The deployment that has these decisions.
    pub const fn deployment(self) -> Deployment {
        match self {
            Self::Colltune => Deployment::Colltune,
            Self::LibraryExport { .. } | Self::LibraryForced => Deployment::Library,
        }
    }

    /// The name of the way in output: `driver`, `export` or `force`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Colltune => "driver",
            Self::LibraryExport { .. } => "export",
            Self::LibraryForced => "force",
        }
    }
}

/// What a validation does with the file of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFile {
    /// It stays as it is. Only what is in force is measured, and verdicts are kept in the store alone.
    Kept,
    /// All choices are measured, whatever earlier verdicts say about them, and the file is written if there is
    /// something to change.
    Updated {
        /// Whether rules that are slower or fail are turned back to the default.
        repair: bool,
        /// Whether rules that are significantly faster at every point are marked as confirmed.
        confirm: bool,
    },
}

/// What a validation is to measure, and what it does with the result.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidateRequest {
    /// The file of the table.
    pub path: PathBuf,
    /// The decisions to validate.
    pub table_use: TableUse,
    /// The largest number of points beside the probes, those with most at stake; all if absent.
    pub cells: Option<usize>,
    /// The probes to measure in addition. If rules are to be confirmed and no number is given, each gap has one.
    pub probing: Probing,
    /// As [`ValidateOptions::materiality`].
    pub materiality: f64,
    /// What happens to the table's file.
    pub file: TableFile,
    /// The library and the launches.
    pub setup: TestSetupOptions,
}

/// The outcome of validating a table.
#[derive(Debug)]
pub struct ValidateOutcome {
    /// The library that was measured.
    pub library: Library,
    /// The number of points at which the table keeps the default.
    pub default_points: usize,
    /// The result at each point.
    pub validated: Validated,
    /// The changes of the table, and where verdicts are kept.
    pub changes: TableChanges,
    /// The number of rules that replace the default and that no launches confirmed.
    pub unconfirmed: usize,
}

/// The changes of a table after a validation.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub struct TableChanges {
    /// Rules that were turned back to the default, as clauses.
    #[serde(serialize_with = "serialize_sentences")]
    #[schemars(with = "Vec<String>")]
    pub repaired: Vec<TurnedBack>,
    /// Rules that were confirmed, as clauses.
    #[serde(serialize_with = "serialize_sentences")]
    #[schemars(with = "Vec<String>")]
    pub confirmed: Vec<ConfirmedRange>,
    /// The store or, without one, the table that keeps the verdicts; null if none does, or if there are none.
    pub kept: Option<PathBuf>,
    /// Whether the table keeps the verdicts.
    pub kept_in_table: bool,
    /// The number of rules, or parts of rules, that are not used because of verdicts in the table, if it was written.
    pub refuted: usize,
    /// The exported file for the library; null if none was written.
    pub export: Option<PathBuf>,
    /// An exported file of the table before that could not be written again.
    #[serde(skip)]
    pub stale: Option<TunerError>,
}

fn serialize_sentences<S: Serializer>(changes: &[impl ToString], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(changes.iter().map(ToString::to_string))
}

/// Measures the speed-up of a table over the library's default at its points and probes, as [`validate_points()`] does,
/// in launches like those of its campaign. Keeps the verdicts in the table's store, and in the table if any is against
/// it; turns back and confirms rules on request; and writes the export beside a table that changed again. The `caller`
/// receives warnings, and watches the launches.
///
/// A table that another program has replaced meanwhile is not written: that is an error if rules were to be turned back
/// or confirmed, and a warning otherwise.
///
/// # Errors
/// If the table has no point to measure for the deployment; if rules are to be confirmed without probes; if something
/// that launches need is missing; if the table cannot be exported, read again or written; those of
/// [`validate_points()`]; and those of the caller.
pub fn validate_table<Caller: TestCaller>(
    mut table: Table,
    sources: Sources,
    request: &ValidateRequest,
    places: &SearchPaths,
    caller: &mut Caller,
) -> Result<ValidateOutcome, Caller::Error> {
    let Sources {
        campaign, store, ..
    } = sources;
    // What earlier verdicts refute is measured only if later ones may clear it.
    if request.file == TableFile::Kept {
        table.turn_back_refuted();
    } else {
        table.verdicts.clear();
        table.mark_refuted();
    }
    let sizes = CampaignSizes::for_table(&table, &campaign);
    let selection = select_points(&table, &campaign, request, sizes.as_ref())?;
    let conditions = campaign.conditions_digest();
    let (pattern, least_gain) = (campaign.pattern, campaign.materiality);
    let options = ValidateOptions {
        launches: request.setup.launches,
        materiality: request.materiality,
        material_loss: least_gain.max(request.materiality),
    };
    // Whatever distinguishes these launches from the table's is said before they begin, since they take long.
    let setup = TestSetup::new(
        &table,
        campaign,
        &selection.measured,
        &request.setup,
        places,
    )?;
    for warning in setup.warnings(&table) {
        caller.warn(warning);
    }
    let library = setup.at.library.clone();
    let validated = measure_points(&table, setup, &selection, &options, request, places, caller)?;
    // The table is written after the store: a run that is killed in between loses no verdict.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let circumstances = Circumstances {
        library: library.clone(),
        conditions,
        pattern,
        deployment: request.table_use.deployment(),
        seed: request.probing.seed,
        unix_seconds: since.map_or(0, |since| since.as_secs()),
    };
    let verdicts = circumstances.verdicts_about(&validated.points);
    let kept_in = keep_verdicts(&verdicts, &table, &store).unwrap_or_else(|error| {
        caller.warn(TestWarning::UnkeptVerdicts(error));
        None
    });
    let findings = Findings {
        points: &selection.all,
        validated: &validated.points,
        verdicts,
        kept_in,
        least_gain,
        sizes,
    };
    let changes = update_table(&mut table, findings, request, places, caller)?;
    Ok(ValidateOutcome {
        library,
        default_points: selection.default_points,
        validated,
        changes,
        unconfirmed: count_unconfirmed_rules(&table, request.table_use.deployment()),
    })
}

/// The points of a table.
struct Selection {
    /// The points to measure.
    measured: Vec<Point>,
    /// These and all other points of the table.
    all: Vec<Point>,
    /// The number of points at which the table keeps the default.
    default_points: usize,
}

/// Selects the points to measure.
fn select_points(
    original: &Table,
    campaign: &Campaign,
    request: &ValidateRequest,
    sizes: Option<&CampaignSizes>,
) -> Result<Selection, GuardError> {
    let mut with_sizes = original.clone();
    if let Some(sizes) = sizes {
        sizes.add_to(&mut with_sizes);
    }
    let table = &with_sizes;
    let deployment = request.table_use.deployment();
    let elements = (campaign.datatype, campaign.commuting_operator());
    let mut all = table_points(table, deployment, elements, true);
    if all.is_empty() {
        let deployment = deployment.into();
        return Err(GuardError::NothingToMeasure { deployment });
    }
    let mut measured = all.clone();
    measured.retain(|point| !point.keeps_default());
    let default_points = all.len() - measured.len();
    // Launches with an exported file can only show the choices that it holds.
    let is_in_place = |point: &Point| match request.table_use {
        TableUse::LibraryExport { assume_commutative } => {
            let library = &table.provenance.library;
            let file = Activation::operator_class(library, assume_commutative);
            point.is_exported(table, deployment, file)
        }
        TableUse::Colltune | TableUse::LibraryForced => true,
    };
    measured.retain(is_in_place);
    measured.truncate(request.cells.unwrap_or(usize::MAX));
    // A rule is confirmed only with a probe in each of its gaps.
    let confirms = matches!(request.file, TableFile::Updated { confirm: true, .. });
    let probing = Probing {
        each_gap: request.probing.each_gap || confirms,
        ..request.probing
    };
    add_probes(&mut measured, table, deployment, elements, probing);
    measured.retain(is_in_place);
    if confirms && probing.number == Some(0) {
        return Err(GuardError::NoProbes);
    }
    all.extend(measured.iter().filter(|point| point.is_probe()).cloned());
    if sizes.is_some() {
        CampaignSizes::forget_times(&mut measured);
        CampaignSizes::forget_times(&mut all);
    }
    Ok(Selection {
        measured,
        all,
        default_points,
    })
}

/// Measures the selected points in the way that the request names.
fn measure_points<Caller: TestCaller>(
    table: &Table,
    mut setup: TestSetup,
    selection: &Selection,
    options: &ValidateOptions,
    request: &ValidateRequest,
    places: &SearchPaths,
    caller: &mut Caller,
) -> Result<Validated, Caller::Error> {
    // The file is written first, so that its notes are said before launches begin.
    let exported = match request.table_use {
        TableUse::LibraryExport { assume_commutative } => {
            let folder = setup.folder.path();
            let library = &setup.at.library;
            // All rules are tested, whether they would be deployed or not.
            let policy = Policy {
                min_confidence: Some(Confidence::Low),
                unconfirmed: true,
                extrapolate: false,
                numerics: Some(Numerics::default()),
            };
            Some(Activation::from_exported_table(
                table,
                library,
                folder,
                assume_commutative,
                policy,
                &places.path,
            )?)
        }
        TableUse::Colltune | TableUse::LibraryForced => None,
    };
    let notes = exported.iter().flat_map(|deployed| &deployed.notes);
    for note in notes {
        caller.warn(TestWarning::ExportNote(note.clone()));
    }
    let LaunchWatch { mut observer, stop } = caller.watch_launches()?;
    let points = &selection.measured;
    let validated = if let Some(deployed) = exported {
        let mut turns = AlternatingMeasurer::new(&mut setup.at, &deployed, &mut *observer, &stop);
        validate_points(points, &mut turns, options)
    } else {
        let mut launches = LaunchMeasurer::new(&setup.at, &mut *observer, &stop);
        validate_points(points, &mut launches, options)
    };
    // The observer may occupy a terminal until it is dropped.
    drop(observer);
    // If launches failed, this keeps their logs, which the error names.
    Ok(setup.close_with_outcome(validated)?)
}

/// What the launches of a validation have shown about a table.
struct Findings<'v> {
    /// The points of the table, measured or not.
    points: &'v [Point],
    /// The results at the measured ones.
    validated: &'v [ValidatedPoint],
    /// The verdicts that follow.
    verdicts: Vec<Verdict>,
    /// The store that keeps them, if one does.
    kept_in: Option<PathBuf>,
    /// The smallest gain, as a share, for which a rule is confirmed.
    least_gain: f64,
    /// The sizes at which imported rules were tested.
    sizes: Option<CampaignSizes>,
}

/// Rewrites the table and its export if rules are turned back or confirmed, or if the table is to keep verdicts: those
/// against its choices, and others that no store keeps.
fn update_table(
    table: &mut Table,
    findings: Findings<'_>,
    request: &ValidateRequest,
    places: &SearchPaths,
    caller: &mut impl TestCaller,
) -> Result<TableChanges, GuardError> {
    let Findings {
        points,
        validated,
        verdicts,
        kept_in,
        least_gain,
        sizes,
    } = findings;
    let mut changes = TableChanges {
        kept: kept_in,
        ..TableChanges::default()
    };
    let TableFile::Updated { repair, confirm } = request.file else {
        return Ok(changes);
    };
    let is_asked = repair || confirm;
    // Another validation may have added verdicts meanwhile, and `tune` may have made another table.
    let path = &request.path;
    let now = Table::load(path)?;
    if !now.has_rules_of(table) {
        let changed = TableError::Changed { path: path.clone() };
        if is_asked {
            return Err(changed.into());
        }
        caller.warn(TestWarning::ChangedTable(changed));
        return Ok(changes);
    }
    table.verdicts = now.verdicts;
    // Later verdicts may overrule earlier ones, and limit the sizes that they are about.
    let was_refuted = table.verdicts.iter().any(Verdict::is_wrong);
    let is_refuted = verdicts.iter().any(Verdict::is_wrong);
    if repair {
        let about_table = table.binding_verdicts().cloned();
        let all_verdicts: Vec<Verdict> = about_table.chain(verdicts.iter().cloned()).collect();
        changes.repaired = table.turn_back(&all_verdicts);
    }
    if confirm {
        let deployment = request.table_use.deployment();
        let added = sizes.map(|sizes| sizes.add_to(table)).unwrap_or_default();
        changes.confirmed = confirm_rules(table, deployment, points, validated, least_gain);
        CampaignSizes::keep_measured(table, &added, validated);
    }
    // A table without need of change is left alone, for example one that another person made.
    let only_here = is_asked && changes.kept.is_none();
    let stays_refuted = is_refuted && changes.repaired.is_empty();
    let keeps_here = !verdicts.is_empty() && (only_here || was_refuted || stays_refuted);
    let is_changed = !changes.repaired.is_empty() || !changes.confirmed.is_empty();
    if !is_changed && !keeps_here {
        return Ok(changes);
    }
    if !is_asked && !is_writable(path) {
        caller.warn(TestWarning::ReadOnlyTable {
            path: path.clone(),
            is_refuted,
        });
        return Ok(changes);
    }
    if keeps_here {
        table.add_verdicts(verdicts);
        changes.kept_in_table = true;
        changes.kept.get_or_insert_with(|| path.clone());
    }
    table.mark_refuted();
    let rules = table.entries().flat_map(|entry| &entry.rules);
    changes.refuted = rules.filter(|rule| rule.refuted).count();
    table.save(path)?;
    // An export of the table before would still have what is no longer in force.
    let library = &table.provenance.library;
    let driver = find_driver(library, &places.driver_directories()).ok();
    let policy = Policy::default();
    let export = export_beside(table, path, &places.path, driver.as_deref(), policy)?;
    for note in export.warnings(library) {
        caller.warn(TestWarning::ExportNote(note));
    }
    changes.export = export.path().map(Path::to_owned);
    changes.stale = export.require_current().err();
    Ok(changes)
}

/// Whether a table may be replaced: deployed versions are read-only, also for root.
fn is_writable(path: &Path) -> bool {
    let is_open = path
        .metadata()
        .is_ok_and(|found| !found.permissions().readonly());
    is_open && files::check_writable(path).is_ok()
}
