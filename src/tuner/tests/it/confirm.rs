//! What is chosen is confirmed in fresh launches before it replaces the default: on simulated machines,
//! whose true times are known.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use campaign::Confirmation;
use model::{Machine, Placement};
use schedule::Collective;
use simulated::SimulatedLauncher;
use store::Store;
use table::{Deployment, OperatorClass, Query, Rule, Table};
use tempfile::TempDir;
use tuner::{Analysis, Deciding, Places, Silent, Tuned, TunerError, Workplace, tune};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Purpose};

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
        let slow = launcher.slowed("bcast/binomial", 2.0);
        slow.slowed("bcast/scatter_allgather_ring", 2.0)
    }

    pub(crate) fn workplace(&self) -> Workplace {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        std::fs::write(at("machine.yaml"), MACHINE).expect("written");
        let text = format!(
            "name: desk\nlauncher: {{simulated: {{machine: '{}', seed: 3}}}}\nshapes: {SHAPE}\n\
             collectives: bcast\nsizes: [4K, 1M]\nstrategy: exhaustive\n\
             candidates: {{include: [bcast/binary_pipelined, bcast/linear]}}\n\
             parameters: {{block_bytes: 64K, predicted: false}}\nrepetitions: {{slice: 20ms}}\n\
             budget: 10h\noutput: {{store: '{}', table: '{}', report: '{}'}}\n{}",
            at("machine.yaml"),
            at("desk.db"),
            at("desk.yaml"),
            at("desk.md"),
            self.further,
        );
        std::fs::write(at("campaign.yaml"), text).expect("written");
        let path = at("campaign.yaml");
        let mut at = Workplace::prepare(Path::new(&path), None, &Places::default()).expect("ready");
        at.launcher = Box::new(self.machine());
        at
    }

    pub(crate) fn tune(&self) -> Tuned {
        tune(&self.workplace(), &mut Silent, &never()).expect("tuned")
    }

    /// By how much a table's choices are slower than the default at most, at all sizes between those of the
    /// campaign, and by how much faster at the campaign's own.
    fn worst_and_best(&self, table: &Table) -> (f64, f64) {
        let machine = self.machine();
        let ratio = |bytes: u64| {
            let cell = Cell {
                collective: Collective::Bcast,
                shape: SHAPE,
                bytes,
                datatype: Datatype::Byte,
                operator: None,
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
            let tuned = tune(&at, &mut Silent, &never()).expect("tuned");
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
fn what_was_measured_between_fewer_sizes_is_not_forgotten() {
    let desk = Desk::new("");
    desk.tune();
    let mut at = desk.workplace();
    let text = at.campaign.text().replace("[4K, 1M]", "[4K, 8K, 1M]");
    let path = desk.folder.path().join("campaign.yaml");
    std::fs::write(&path, text).expect("written");
    at.campaign = campaign::Campaign::load(&path).expect("valid");
    let tuned = tune(&at, &mut Silent, &never()).expect("tuned");
    let measured = tuned.table.entries().flat_map(|entry| &entry.measured);
    let sizes: Vec<u64> = measured.map(|point| point.bytes).collect();
    // The probe between 8K and 1M is another one.
    assert!(sizes.contains(&(64 << 10)), "{sizes:?}");
}

#[test]
fn tables_say_what_is_confirmed_and_go_by_fresh_launches_alone() {
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
    let store = Store::open(at.store()).expect("a store");
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

    let deciding = Deciding {
        unconfirmed: true,
        ..Deciding::default()
    };
    let unconfirmed = Analysis::deciding(&store, None, None, deciding).expect("decided");
    let unconfirmed = unconfirmed.table().expect("a table");
    let mut rules = unconfirmed.entries().flat_map(|entry| &entry.rules);
    assert!(rules.all(|rule| !rule.confirmed));
    assert_ne!(
        *unconfirmed.lookup(&query(64 << 10)).candidate,
        Candidate::Default
    );
}

#[test]
fn interrupted_while_it_confirms_it_comes_to_the_same_table() {
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
        match tune(&desk.workplace(), &mut witness, &stop) {
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
fn what_there_is_no_time_to_confirm_stays_with_the_default() {
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
    assert_eq!(at.campaign.confirmation, Confirmation::On);
    at.campaign.budget_seconds = budget;
    let tuned = tune(&at, &mut Silent, &never()).expect("tuned");
    let mut rules = tuned.table.entries().flat_map(|entry| &entry.rules);
    assert!(rules.all(|rule| rule.candidate == Candidate::Default));
    let warnings = tuned.table.provenance.warnings.join("\n");
    assert!(
        warnings.contains("fresh launches") && warnings.contains("`budget`"),
        "{warnings}"
    );
}
