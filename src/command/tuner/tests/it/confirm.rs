//! Choices are confirmed in fresh launches before they replace the default, on simulated machines with known true
//! times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agenda::{Agenda, History};
use campaign::ConfirmationMode;
use model::Machine;
use results::{CellDecision, Verdict};
use schedule::Collective;
use simulated::SimulatedLauncher;
use store::Store;
use table::{Confidence, Deployment, Lack, OperatorClass, Policy, Query, Rule, Table, Withheld};
use tempfile::TempDir;
use tuner::{
    CampaignAnalysis, DecisionOverrides, MeasurementContext, SearchPaths, Silent, Tuned,
    TunerError, tune_campaign,
};
use vocabulary::units::format_bytes;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Placement, Purpose, Subject};

use crate::fake::Witness;
use crate::loops::never;

pub(crate) const MACHINE: &str = "name: desk\nranks_per_node: 2\n\
    network: {alpha: 2e-6, overhead: 0.4e-6, beta: 0.1e-9, eager_limit: 8192}\n\
    node: {alpha: 0.4e-6, overhead: 0.2e-6, beta: 0.1e-9, eager_limit: 4096}\n\
    injection_beta: 0.05e-9\ngamma: 0.12e-9\ncopy: 0.06e-9\n\
    noise: {jitter: 0.05, spike_probability: 0.01, spike_factor: 4}\n";

/// The library's default is a binomial tree below 12 KiB, then a scatter with an allgather, and from 512 KiB
/// on one with a ring.
const SHAPE: CommShape = CommShape { nodes: 8, ppn: 1 };

/// A campaign in a folder, on a machine on which the default is poor below 12 KiB and from 512 KiB on.
pub(crate) struct Desk {
    folder: TempDir,
    further: String,
}

impl Desk {
    pub(crate) fn new(further: &str) -> Self {
        Self {
            folder: TempDir::new().expect("a folder"),
            further: further.to_owned(),
        }
    }

    fn machine(&self) -> SimulatedLauncher {
        let machine = Machine::from_yaml(MACHINE).expect("a machine");
        let launcher = SimulatedLauncher::new(machine, Placement::Block).expect("rules");
        let slow = launcher.with_slowed_algorithm("bcast/binomial", 2.0);
        slow.with_slowed_algorithm("bcast/scatter_allgather_ring", 2.0)
    }

    pub(crate) fn workplace(&self) -> MeasurementContext {
        let path_to = |name: &str| self.folder.path().join(name).display().to_string();
        std::fs::write(path_to("machine.yaml"), MACHINE).expect("written");
        let text = format!(
            "name: desk\nlauncher: {{simulated: {{machine: '{}', seed: 3}}}}\nshapes: {SHAPE}\n\
             collectives: bcast\nsizes: [4K, 1M]\nstrategy: exhaustive\n\
             candidates: {{include: [bcast/binary_pipelined, bcast/linear]}}\n\
             parameters: {{block_bytes: 64K, predicted: false}}\nrepetitions: {{slice: 20ms}}\n\
             budget: 10h\noutput: {{store: '{}', table: '{}', report: '{}'}}\n{}",
            path_to("machine.yaml"),
            path_to("desk.db"),
            path_to("desk.yaml"),
            path_to("desk.md"),
            self.further,
        );
        std::fs::write(path_to("campaign.yaml"), text).expect("written");
        let path = path_to("campaign.yaml");
        let mut at =
            MeasurementContext::from_campaign_file(Path::new(&path), None, &SearchPaths::default())
                .expect("ready");
        at.launcher = Box::new(self.machine());
        at
    }

    pub(crate) fn tune(&self) -> Tuned {
        tune_campaign(&self.workplace(), &mut Silent, &never()).expect("tuned")
    }

    /// The largest slowdown of a table's choices against the default at sizes between those of the campaign, and their
    /// speed-up at the campaign's own sizes.
    fn worst_and_best(&self, table: &Table) -> (f64, f64) {
        let machine = self.machine();
        let ratio = |bytes: u64| {
            let cell = Cell {
                collective: Collective::Bcast,
                shape: SHAPE,
                bytes,
                datatype: Datatype::Byte,
                operator: None,
                distribution: schedule::Distribution::Uniform,
            };
            let seconds = |candidate| {
                machine
                    .noise_free_seconds(&cell, candidate)
                    .expect("a time")
            };
            let chosen = table.lookup(&query(bytes)).candidate;
            seconds(chosen) / seconds(&Candidate::Default)
        };
        let between =
            (12..20).flat_map(|octave| [1, 3, 5, 7].map(|eighth| (1 << octave) / 8 * (8 + eighth)));
        let worst = between.map(ratio).fold(0.0, f64::max);
        let best = [4 << 10, 1 << 20]
            .map(ratio)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        (worst, best)
    }
}

pub(crate) fn query(bytes: u64) -> Query {
    Query {
        order: vocabulary::RankOrder::Unknown,
        collective: Collective::Bcast,
        shape: SHAPE,
        bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    }
}

#[test]
fn a_default_that_is_better_between_the_sizes_of_a_campaign_stays_there() {
    for strategy in ["strategy: exhaustive", "strategy: guided"] {
        let (on, off) = (Desk::new(""), Desk::new("confirmation: off\n"));
        let tuned = [on, off].map(|desk| {
            let mut at = desk.workplace();
            let text = at.campaign.text().replace("strategy: exhaustive", strategy);
            let path = desk.folder.path().join("campaign.yaml");
            std::fs::write(&path, text).expect("written");
            at.campaign = campaign::Campaign::load(&path).expect("valid");
            let tuned = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
            desk.worst_and_best(&tuned.table)
        });
        let [(worst, best), (worst_without, _)] = tuned;
        println!("{strategy}: {worst} {best}, unconfirmed {worst_without}");
        assert!(worst_without > 1.2, "nothing to be caught: {worst_without}");
        assert!(worst <= 1.0, "{worst}");
        assert!(best < 0.8, "{best}");
    }
}

#[test]
fn measurements_between_fewer_sizes_are_still_used() {
    let desk = Desk::new("");
    desk.tune();
    let mut at = desk.workplace();
    let text = at.campaign.text().replace("[4K, 1M]", "[4K, 8K, 1M]");
    let path = desk.folder.path().join("campaign.yaml");
    std::fs::write(&path, text).expect("written");
    at.campaign = campaign::Campaign::load(&path).expect("valid");
    let tuned = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    let measured = tuned.table.entries().flat_map(|entry| &entry.measured);
    let sizes: Vec<u64> = measured.map(|point| point.bytes).collect();
    // The probe between 8K and 1M differs.
    assert!(sizes.contains(&(64 << 10)), "{sizes:?}");
}

#[test]
fn tables_mark_confirmed_rules_and_use_fresh_launches_alone() {
    let desk = Desk::new("");
    let tuned = desk.tune();
    let read = Table::load(&tuned.table_path).expect("a table");
    assert_eq!(read, tuned.table);
    let rules: Vec<&Rule> = read.entries().flat_map(|entry| &entry.rules).collect();
    for rule in &rules {
        assert_eq!(
            rule.confirmed,
            rule.candidate != Candidate::Default,
            "{rule:?}"
        );
    }
    assert!(rules.iter().any(|rule| rule.confirmed));
    assert!(read.lookup(&query(4 << 10)).confirmed);
    assert!(!read.lookup(&query(64 << 10)).confirmed);

    let at = desk.workplace();
    let store = Store::open(at.store_path()).expect("a store");
    let launches = store.launches().expect("launches");
    let of = |purpose| {
        launches
            .iter()
            .filter(|l| l.purpose == Some(purpose))
            .count()
    };
    assert!(
        of(Purpose::Exploring) >= 6 && of(Purpose::Confirming) >= 6,
        "{launches:?}"
    );
    let cost = tuned.analysis.found.cost;
    assert!(cost.confirming_seconds > 0.0 && cost.confirming_seconds < cost.seconds);

    let deciding = DecisionOverrides {
        unconfirmed: true,
        ..DecisionOverrides::default()
    };
    let unconfirmed =
        CampaignAnalysis::with_options(&store, None, None, deciding).expect("decided");
    let unconfirmed = unconfirmed.table().expect("a table");
    let mut unconfirmed_rules = unconfirmed.entries().flat_map(|entry| &entry.rules);
    assert!(unconfirmed_rules.all(|rule| !rule.confirmed));
    assert_ne!(
        *unconfirmed.lookup(&query(64 << 10)).candidate,
        Candidate::Default
    );
}

#[test]
fn an_interrupt_while_confirming_does_not_change_the_table() {
    let expected = Desk::new("").tune().table.collectives;
    let desk = Desk::new("");
    let mut interruptions = 0;
    let found = loop {
        let stop = Arc::new(AtomicBool::new(false));
        let mut witness = Witness {
            stop: Arc::clone(&stop),
            stop_after: Some(3),
            ..Witness::default()
        };
        match tune_campaign(&desk.workplace(), &mut witness, &stop) {
            Ok(tuned) => break tuned.table.collectives,
            Err(TunerError::Interrupted) => interruptions += 1,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(interruptions > 8, "{interruptions}");
    assert_eq!(found, expected);
    let again = desk.tune();
    assert_eq!(again.measured.launches, 0);
}

#[test]
fn the_default_stays_where_there_is_no_time_to_confirm() {
    let whole = Desk::new("launches: 1\n").tune().analysis.found.cost;
    let exploring = whole.seconds - whole.confirming_seconds;
    // 0.6 of it suffices for exploring, and the rest not for confirming.
    let budget = exploring / 0.59;
    assert!(
        budget - exploring < 0.9 * whole.confirming_seconds,
        "{whole:?}"
    );
    let desk = Desk::new("launches: 1\n");
    let mut at = desk.workplace();
    assert_eq!(at.campaign.confirmation, ConfirmationMode::On);
    at.campaign.budget_seconds = budget;
    let tuned = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    let mut rules = tuned.table.entries().flat_map(|entry| &entry.rules);
    assert!(rules.all(|rule| rule.candidate == Candidate::Default));
    let warnings = tuned.table.provenance.warnings.join("\n");
    assert!(
        warnings.contains("fresh launches") && warnings.contains("`budget`"),
        "{warnings}"
    );
}

/// A campaign in which the default is poor at small sizes and much poorer at large ones.
fn wide(further: &str) -> (Desk, MeasurementContext) {
    let desk = Desk::new(&format!("launches: 1\n{further}"));
    let mut at = desk.workplace();
    let sizes = "[512, 1K, 2K, 4K, 64K, 512K, 1M]";
    let text = at.campaign.text().replace("[4K, 1M]", sizes);
    let path = desk.folder.path().join("campaign.yaml");
    std::fs::write(&path, text).expect("written");
    at.campaign = campaign::Campaign::load(&path).expect("valid");
    let slow = desk.machine().with_slowed_algorithm("bcast/binomial", 1.25);
    at.launcher = Box::new(slow.with_slowed_algorithm("bcast/scatter_allgather_ring", 3.0));
    (desk, at)
}

#[test]
fn a_budget_for_a_part_of_the_choices_confirms_those_with_most_at_stake() {
    let (_whole_desk, whole_at) = wide("");
    let whole = tune_campaign(&whole_at, &mut Silent, &never()).expect("tuned");
    let cost = whole.analysis.found.cost;
    assert!(whole.analysis.has_enough_launches());
    assert_eq!(whole.analysis.needed_budget, None);
    let exploring = cost.seconds - cost.confirming_seconds;
    assert!(exploring < 0.7 * cost.confirming_seconds, "{cost:?}");

    let (_desk, mut at) = wide("");
    // The search also measures between 64K and 512K, where a choice with much at stake is tried first and refuted.
    at.campaign.budget_seconds = exploring + 0.6 * cost.confirming_seconds;
    let half = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    // The stake is largest at the sizes where the default is slowest.
    for bytes in [512 << 10, 700_000] {
        let (found, expected) = (
            half.table.lookup(&query(bytes)),
            whole.table.lookup(&query(bytes)),
        );
        assert!(found.confirmed, "{bytes}: {found:?}");
        assert_eq!(found.candidate, expected.candidate, "{bytes}");
    }
    let small = [512, 1 << 10, 2 << 10, 4 << 10];
    let is_confirmed = |table: &Table, bytes: &&u64| table.lookup(&query(**bytes)).confirmed;
    let count = |table| {
        small
            .iter()
            .filter(|bytes| is_confirmed(table, bytes))
            .count()
    };
    assert_eq!(count(&whole.table), small.len());
    assert!(count(&half.table) < small.len());
    // Every cell that is begun is also finished, before others are begun.
    let store = Store::open(at.store_path()).expect("a store");
    let mut begun: BTreeMap<Subject, BTreeSet<u32>> = BTreeMap::new();
    for pattern in at.campaign.confirming_patterns() {
        let samples = store.confirming_samples(&at.library, pattern);
        for sample in samples.expect("samples") {
            begun
                .entry(sample.subject)
                .or_default()
                .insert(sample.launch);
        }
    }
    for (subject, launches) in &begun {
        let numbers = launches.first().zip(launches.last());
        let (first, last) = numbers.expect("a launch");
        assert_eq!(
            launches.len() as u32,
            last - first + 1,
            "{subject:?} in {launches:?}"
        );
    }
    let is_open = |decision: &&CellDecision| {
        decision.verdict == Verdict::Unconfirmed
            && begun.contains_key(&Subject::Cell(decision.cell))
    };
    let decisions = half.analysis.found.decisions.iter();
    let open = decisions.filter(is_open).count();
    assert!(begun.len() > 3 && open == 0, "{open} of {}", begun.len());

    assert!(!half.analysis.has_enough_launches());
    let needed = half.analysis.needed_budget.expect("a budget");
    assert!(
        needed > at.campaign.budget_seconds && needed < 1.5 * cost.seconds,
        "{needed}"
    );
    let unconfirmed = half.analysis.found.unconfirmed_choices();
    let told = format!(
        "{unconfirmed} choices are unconfirmed; tune again, with a larger `budget`, at least `budget: "
    );
    let warnings = half.table.provenance.warnings.join("\n");
    assert!(unconfirmed > 0 && warnings.contains(&told), "{warnings}");

    // A run with a larger budget continues from there, with the same result.
    at.campaign.budget_seconds = 36_000.0;
    let rest = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    assert!(rest.analysis.has_enough_launches());
    assert_eq!(rest.table.collectives, whole.table.collectives);
}

#[test]
fn rules_too_uncertain_for_the_campaign_are_only_in_the_table() {
    // With so few fresh launches confirmed rules are of medium confidence.
    let tune_with = |further: &str| Desk::new(&format!("confidence: 0.5\n{further}")).tune();
    let (usual, strict) = (tune_with(""), tune_with("min_confidence: high\n"));
    assert_eq!(usual.table.collectives, strict.table.collectives);
    let confirmed = |tuned: &Tuned| {
        let rules = tuned.table.entries().flat_map(|entry| &entry.rules);
        rules
            .filter(|rule| rule.confirmed && rule.confidence == Confidence::Medium)
            .count()
    };
    // Treats the machine as real, since simulated rules are not deployed, whatever their confidence.
    let uncertain = |tuned: &Tuned| {
        let mut table = tuned.table.clone();
        table.provenance.library = Library {
            name: "openmpi".to_owned(),
            version: "4.1.4".to_owned(),
        };
        let (_, withheld) = table.deployed_by(Policy::default());
        let is_it = |lacking: &&Withheld| lacking.lack == Lack::Confidence(Confidence::Medium);
        withheld.iter().filter(is_it).count()
    };
    assert_eq!(uncertain(&usual), 0, "{:?}", usual.withheld);
    assert!(confirmed(&strict) > 0);
    assert_eq!(uncertain(&strict), confirmed(&strict));
    for tuned in [usual, strict] {
        let mut withheld = tuned.withheld.iter();
        assert!(withheld.all(|withheld| withheld.lack == Lack::Measurement));
    }
}

#[test]
fn the_evidence_suffices_if_the_default_is_best() {
    let desk = Desk::new("");
    let mut at = desk.workplace();
    let text = at
        .campaign
        .text()
        .replace("bcast/binary_pipelined, bcast/linear", "bcast/linear");
    let path = desk.folder.path().join("campaign.yaml");
    std::fs::write(&path, text.replace("[4K, 1M]", "[64K, 128K]")).expect("written");
    at.campaign = campaign::Campaign::load(&path).expect("valid");
    let tuned = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    let mut rules = tuned.table.entries().flat_map(|entry| &entry.rules);
    assert!(rules.all(|rule| rule.candidate == Candidate::Default));
    assert!(tuned.analysis.has_enough_launches());
    assert!(
        !Desk::new("confirmation: off\n")
            .tune()
            .analysis
            .has_enough_launches()
    );
}

#[test]
fn a_forecast_is_never_more_than_is_left_of_the_budget() {
    let text = "name: hasty\nshapes: 1x2\nlaunches: 200\nbudget: 30s\n";
    let campaign = campaign::Campaign::parse(text, Path::new("hasty.yaml")).expect("valid");
    let library = Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    };
    let history = History::default();
    let agenda = Agenda::new(&campaign, &history, &library, &[]).expect("an agenda");
    let forecast = agenda.forecast(&campaign, &history);
    assert!(
        forecast.seconds <= 30.0 && forecast.seconds > 29.0,
        "{forecast:?}"
    );
}

#[test]
fn unconfirmed_choices_of_both_deployments_are_named_once() {
    let mut found = Desk::new("launches: 1\n").tune().analysis.found;
    assert!(found.describe_unconfirmed(None).is_empty());
    found.library_decisions = found.decisions.clone();
    let bytes = |place: usize| format_bytes(found.decisions[place].cell.bytes);
    let (small, large) = (bytes(0), bytes(1));
    found.library_decisions[0].verdict = Verdict::Unconfirmed;
    let told = found.describe_unconfirmed(None).join("\n");
    let named = |text: &str, sizes: &str| text.contains(&format!("{sizes}): "));
    assert!(named(&told, &format!("at {small}")), "{told}");
    assert!(told.contains(": 1 choice is unconfirmed; "), "{told}");
    found.decisions[0].verdict = Verdict::Unconfirmed;
    found.decisions[1].verdict = Verdict::Unconfirmed;
    let told_with_budget = found.describe_unconfirmed(Some("2h")).join("\n");
    assert!(
        named(&told_with_budget, &format!("at {small}, {large}")),
        "{told_with_budget}"
    );
    let counted =
        ": 2 choices are unconfirmed; tune again, with a larger `budget`, at least `budget: 2h`";
    assert!(told_with_budget.contains(counted), "{told_with_budget}");
}
