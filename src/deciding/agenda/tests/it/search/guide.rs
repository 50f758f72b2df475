//! Complete searches on artificial machines.

use std::collections::BTreeMap;
use std::path::Path;

use agenda::search::{Expectation, Guide, KnownMeasurements, MeasurementRequest};
use campaign::{Campaign, Family};
use vocabulary::{Candidate, Cell};

/// Times by a formula.
pub(crate) type Formula = dyn Fn(&Cell, &Candidate) -> f64;

/// A model that predicts nothing, or the true times.
pub(crate) struct Model<'a>(pub(crate) Option<&'a Formula>);

impl Expectation for Model<'_> {
    fn seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        let is_ours = *candidate != Candidate::Default;
        self.0
            .filter(|_| is_ours)
            .map(|truth| truth(cell, candidate))
    }

    fn block_bytes(&self, _: &Cell, _: &Family) -> Option<u64> {
        None
    }

    fn eager_limit(&self, _: &Cell) -> Option<u64> {
        None
    }
}

/// A search on an artificial machine.
pub(crate) struct Trial {
    pub(crate) campaign: Campaign,
    pub(crate) known: KnownMeasurements,
    /// Measurements of one candidate in one launch.
    turns: usize,
    launches: u32,
    random: fastrand::Rng,
    /// Whether k-nomial trees are a class of their own.
    tree_is_a_class: bool,
}

impl Trial {
    pub(crate) fn new(text: &str) -> Self {
        let text = format!("name: made-up\nlauncher: simulated\n{text}");
        let campaign = Campaign::parse(&text, Path::new("made-up.yaml")).expect("valid");
        Self {
            campaign,
            known: KnownMeasurements::default(),
            turns: 0,
            launches: 0,
            random: fastrand::Rng::with_seed(7),
            tree_is_a_class: false,
        }
    }

    fn requests(&self, model: &dyn Expectation) -> Vec<MeasurementRequest> {
        let is_tree = |_: &Cell, candidate: &Candidate| candidate.algorithm() == "bcast/knomial";
        let guide = Guide {
            campaign: &self.campaign,
            known: &self.known,
            expectation: model,
            others: &|_| Vec::new(),
            classes: if self.tree_is_a_class {
                &[&is_tree]
            } else {
                &[]
            },
            target: 0.02,
        };
        guide.next_requests()
    }

    /// Measures the requested cells, those with the fewest rounds first, until there are no more requests.
    pub(crate) fn run(&mut self, truth: &Formula, model: &dyn Expectation, noise: f64) {
        loop {
            let requests = self.requests(model);
            let Some(round) = requests.iter().map(|request| request.round).min() else {
                return;
            };
            self.launches += 1;
            assert!(self.launches < 100, "the search does not end");
            for request in requests.iter().filter(|request| request.round == round) {
                assert_eq!(request.candidates[0], Candidate::Default);
                for candidate in &request.candidates {
                    let seconds = truth(&request.cell, candidate)
                        * (1.0 + noise * (2.0 * self.random.f64() - 1.0));
                    self.known
                        .add_time(request.cell, candidate, self.launches, seconds);
                    self.turns += 1;
                }
            }
        }
    }

    /// The regret in each measured cell: the extra time of the fastest candidate with enough launches over the truly
    /// fastest one of the exhaustive grid.
    fn regrets(&self, truth: &Formula) -> BTreeMap<Cell, f64> {
        let mut regrets = BTreeMap::new();
        for cell in self.campaign.cells() {
            let all = self.campaign.candidates(&cell, &|_| None).distinct;
            let best = all
                .iter()
                .map(|c| truth(&cell, c))
                .fold(f64::INFINITY, f64::min);
            let standings = self.known.standings(&cell);
            let mut sure = standings
                .iter()
                .filter(|s| s.launches >= self.campaign.launches);
            if let Some(chosen) = sure.next() {
                regrets.insert(cell, truth(&cell, &chosen.candidate) / best - 1.0);
            }
        }
        regrets
    }

    fn exhaustive_turns(&self) -> usize {
        let cells = self.campaign.cells();
        let turns = cells
            .iter()
            .map(|cell| self.campaign.candidates(cell, &|_| None).distinct.len());
        turns.sum::<usize>() * self.campaign.launches as usize
    }
}

/// The default is good for small vectors, a chain for large ones; all other candidates are slower.
pub(crate) fn crossing(cell: &Cell, candidate: &Candidate) -> f64 {
    let ranks = f64::from(cell.shape.ranks());
    let bytes = cell.bytes as f64;
    let (alpha, beta) = (2e-6, 1e-9);
    match candidate.algorithm() {
        "default" => ranks.log2() * (alpha + 1.5 * beta * bytes),
        "bcast/chain" => {
            let block = candidate
                .parameters()
                .block_bytes
                .unwrap_or(cell.bytes)
                .max(1) as f64;
            let blocks = (bytes / block).ceil().max(1.0);
            (ranks - 2.0 + blocks) * (alpha + beta * bytes / blocks)
        }
        "bcast/binomial" => 1.02 * ranks.log2() * (alpha + 1.5 * beta * bytes),
        "bcast/linear" => ranks * (alpha + beta * bytes),
        _ => 3.0 * ranks.log2() * (alpha + 1.5 * beta * bytes),
    }
}

pub(crate) const DENSE: &str = "collectives: [bcast]\nshapes: [2x1, 4x1, 8x1, 16x1, 24x1, 32x1, 48x1, 64x1]\n\
                     sizes: 8..16M x2\n\
                     candidates: {include: [bcast/chain, bcast/binomial, bcast/linear, \
                     bcast/knomial, bcast/binary_pipelined]}\n";

#[test]
fn a_search_finds_the_crossings_of_a_dense_grid_in_a_fraction_of_the_measurements() {
    for noise in [0.0, 0.02] {
        for model in [Model(None), Model(Some(&crossing))] {
            let mut trial = Trial::new(DENSE);
            trial.run(&crossing, &model, noise);
            let share = trial.turns as f64 / trial.exhaustive_turns() as f64;
            assert!(share < 1.0 / 7.0, "{share} of the exhaustive measurements");
            let regrets = trial.regrets(&crossing);
            let mean = regrets.values().sum::<f64>() / regrets.len() as f64;
            assert!(regrets.len() >= 20, "{}", regrets.len());
            assert!(mean < 0.01, "{mean}: {regrets:?}");
        }
    }
}

#[test]
fn sizes_are_left_out_except_around_changes_of_the_choice() {
    let mut trial = Trial::new(DENSE);
    trial.run(&crossing, &Model(None), 0.0);
    let cells = trial.campaign.cells().into_iter();
    let row: Vec<Cell> = cells.filter(|cell| cell.shape.nodes == 64).collect();
    // The default's time divided by the chain's.
    let lead = |place: usize| {
        let standings = trial.known.standings(&row[place]);
        let chain = standings
            .iter()
            .find(|s| s.candidate.algorithm() == "bcast/chain");
        1.0 / chain.map_or(f64::INFINITY, |chain| chain.ratio)
    };
    let is_compared = |place: &usize| trial.known.standings(&row[*place]).len() > 1;
    let measured: Vec<usize> = (0..row.len()).filter(is_compared).collect();
    let change = measured
        .windows(2)
        .find(|pair| lead(pair[0]) < 1.05 && lead(pair[1]) >= 1.05);
    let change = change.expect("the chain wins for large vectors");
    // Either no size lies in between, or both choices are equally good at one end.
    let is_indifferent = (lead(change[0]) - 1.0).abs() <= 0.02;
    assert!(change[1] - change[0] == 1 || is_indifferent, "{change:?}");
    assert!(measured.len() * 2 < row.len(), "{measured:?}");
}

#[test]
fn the_default_is_measured_at_every_size() {
    let mut trial = Trial::new(DENSE);
    trial.run(&crossing, &Model(None), 0.0);
    let alone = |cell: &Cell| trial.known.standings(cell).len() == 1;
    let cells = trial.campaign.cells();
    assert!(cells.iter().all(|cell| trial.known.launch_count(cell) > 0));
    let lonely = cells.iter().filter(|cell| alone(cell)).count();
    assert!(lonely * 2 > cells.len(), "{lonely} of {}", cells.len());
}

#[test]
fn cells_with_measurements_are_measured_in_all_launches() {
    let mut trial = Trial::new(DENSE);
    trial.run(&crossing, &Model(None), 0.05);
    for cell in trial.campaign.cells() {
        let standings = trial.known.standings(&cell);
        let default = standings.iter().find(|s| s.candidate == Candidate::Default);
        let default = default.expect("measured everywhere");
        if standings.len() == 1 {
            assert_eq!(default.launches, 1, "{cell:?}");
            continue;
        }
        let rival = standings.iter().find(|s| s.candidate != Candidate::Default);
        assert!(default.launches >= trial.campaign.launches, "{cell:?}");
        assert!(
            rival.is_some_and(|r| r.launches >= trial.campaign.launches),
            "{cell:?}"
        );
    }
}

#[test]
fn an_interrupted_search_continues_where_it_ended() {
    let mut whole = Trial::new(DENSE);
    whole.run(&crossing, &Model(None), 0.0);
    let again = whole.requests(&Model(None));
    assert_eq!(again, [], "a finished search asks for nothing");
    let mut undone = Trial::new(DENSE);
    let first = undone.requests(&Model(None));
    assert!(!first.is_empty() && first.iter().all(|request| request.round == 0));
    // A first look that was interrupted halfway is completed before anything else.
    let half = first.len() / 2;
    for request in &first[..half] {
        for candidate in &request.candidates {
            undone.known.add_time(
                request.cell,
                candidate,
                1,
                crossing(&request.cell, candidate),
            );
        }
    }
    let next = undone.requests(&Model(None));
    let fewest = next.iter().map(|request| request.round).min();
    let due: Vec<&MeasurementRequest> = next.iter().filter(|r| Some(r.round) == fewest).collect();
    assert!(first[half..].iter().all(|request| due.contains(&request)));
}

#[test]
fn failed_candidates_are_not_requested_again_and_without_a_default_no_candidate_is() {
    let mut trial = Trial::new("collectives: [bcast]\nshapes: [4x1]\nsizes: 1K\n");
    let cell = trial.campaign.cells()[0];
    let first = trial.requests(&Model(None));
    let victim = first[0].candidates[1].clone();
    trial.known.add_failure(cell, &victim);
    assert!(!trial.requests(&Model(None))[0].candidates.contains(&victim));
    trial.known.add_failure(cell, &Candidate::Default);
    assert_eq!(trial.requests(&Model(None)), []);
}

#[test]
fn candidates_without_valid_times_are_not_requested_forever() {
    let mut trial = Trial::new("collectives: [bcast]\nshapes: [4x1]\nsizes: 1M\n");
    for launch in 1..60 {
        let Some(request) = trial.requests(&Model(None)).into_iter().next() else {
            return;
        };
        for candidate in &request.candidates {
            trial.known.add_attempt(request.cell, candidate, launch);
        }
    }
    panic!("asked for in every launch");
}

#[test]
fn the_strongest_candidate_of_each_class_is_measured_in_all_launches() {
    let mut trial = Trial::new(
        "collectives: [bcast]\nshapes: [64x1]\nsizes: 1M\n\
                                candidates: {include: [bcast/chain, bcast/binomial, bcast/knomial]}\n",
    );
    let is_tree = |_: &Cell, candidate: &Candidate| candidate.algorithm() == "bcast/knomial";
    trial.tree_is_a_class = true;
    trial.run(&crossing, &Model(None), 0.01);
    let standings = trial.known.standings(&trial.campaign.cells()[0]);
    let tree = standings
        .iter()
        .find(|s| is_tree(&trial.campaign.cells()[0], &s.candidate));
    let tree = tree.expect("measured");
    // It is three times as slow as the best, but the best of its class.
    assert!(
        tree.ratio > 2.0 * standings[0].ratio && tree.launches >= 6,
        "{standings:?}"
    );
}

#[test]
fn candidates_that_the_model_predicts_to_be_far_behind_are_not_tried() {
    let trial = Trial::new(DENSE);
    let names = |model: &Model<'_>| {
        let requests = trial.requests(model);
        let large = requests
            .iter()
            .filter(|r| r.cell.bytes == 16 << 20 && r.cell.shape.nodes == 64);
        let candidates = large.flat_map(|request| &request.candidates);
        candidates
            .map(|c| c.algorithm().to_owned())
            .collect::<Vec<_>>()
    };
    let linear = "bcast/linear".to_owned();
    assert!(names(&Model(None)).contains(&linear));
    let pruned = names(&Model(Some(&crossing)));
    assert!(!pruned.contains(&linear) && pruned.contains(&"bcast/chain".to_owned()));
}

/// A model that knows up to which size messages are eager.
struct Eager<'a>(Model<'a>);

/// The longest eager message.
const LIMIT: u64 = 8 << 10;

impl Expectation for Eager<'_> {
    fn seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        self.0.seconds(cell, candidate)
    }

    fn block_bytes(&self, _: &Cell, _: &Family) -> Option<u64> {
        Some(8 * LIMIT)
    }

    fn eager_limit(&self, _: &Cell) -> Option<u64> {
        Some(LIMIT)
    }
}

fn is_eager(candidate: &Candidate) -> bool {
    let block = candidate.parameters().block_bytes;
    block.is_some_and(|block| block <= LIMIT)
}

/// The best blocks of the chain would be eager, but eager messages are slower here than the lemma assumes.
fn slow_if_eager(cell: &Cell, candidate: &Candidate) -> f64 {
    let factor = if is_eager(candidate) { 3.0 } else { 1.0 };
    factor * crossing(cell, candidate)
}

#[test]
fn another_protocol_segment_is_searched_if_it_is_predicted_to_come_near() {
    let truths: [&Formula; 2] = [&crossing, &slow_if_eager];
    for (truth, expected) in truths.into_iter().zip([true, false]) {
        for (model, is_searched) in [(Some(truth), expected), (None, true)] {
            let mut trial = Trial::new(
                "collectives: [bcast]\nshapes: [64x1]\nsizes: 1M\n\
                 candidates: {include: [bcast/chain, bcast/binomial]}\n",
            );
            trial.run(truth, &Eager(Model(model)), 0.0);
            let standings = trial.known.standings(&trial.campaign.cells()[0]);
            let tried = standings.iter().any(|s| is_eager(&s.candidate));
            assert_eq!(tried, is_searched, "{standings:?}");
        }
    }
}

/// Every algorithm is a pipeline to one other rank, but the default takes 1.5 times as long.
fn between_two(cell: &Cell, candidate: &Candidate) -> f64 {
    let block = candidate.block_bytes(cell).max(1) as f64;
    let bytes = cell.bytes as f64;
    let blocks = (bytes / block).ceil().max(1.0);
    let seconds = 1e-6 * blocks + 1e-9 * (bytes + bytes / blocks);
    match candidate {
        Candidate::Default => 1.5 * seconds,
        _ => seconds,
    }
}

#[test]
fn a_search_requests_each_schedule_once_also_for_blocks() {
    let mut trial =
        Trial::new("collectives: [bcast, reduce]\nshapes: [1x2]\nsizes: [8, 64K, 1M]\n");
    trial.run(&between_two, &Eager(Model(Some(&between_two))), 0.02);
    let mut cut = 0;
    for cell in trial.campaign.cells() {
        let standings = trial.known.standings(&cell);
        let candidates: Vec<&Candidate> = standings.iter().map(|s| &s.candidate).collect();
        let own: Vec<usize> = (0..candidates.len()).collect();
        assert_eq!(
            cell.simplest_alike(&candidates),
            own,
            "{cell}: {candidates:?}"
        );
        let has_blocks = |c: &&&Candidate| c.parameters().block_bytes.is_some();
        cut += candidates.iter().filter(has_blocks).count();
    }
    assert!(cut > 5, "block sizes are searched: {cut}");
}

/// A candidate that was measured under another name, as earlier versions did, is not requested again under its simplest
/// name.
#[test]
fn a_schedule_measured_under_another_name_is_not_measured_again() {
    let mut trial = Trial::new("collectives: [bcast]\nshapes: [1x2]\nsizes: 1M\n");
    let cell = trial.campaign.cells()[0];
    let names = ["bcast/binomial", "bcast/linear", "bcast/scatter_allgather"];
    let old = names.map(|name| Candidate::Ours {
        algorithm: name.to_owned(),
        parameters: Default::default(),
    });
    let chain = |bytes| Candidate::Ours {
        algorithm: "bcast/binary_pipelined".to_owned(),
        parameters: vocabulary::Parameters {
            block_bytes: Some(bytes),
            ..Default::default()
        },
    };
    let all = old
        .into_iter()
        .chain([16, 32, 64].map(|kib| chain(kib << 10)));
    let measured: Vec<Candidate> = all.chain([Candidate::Default]).collect();
    for launch in 1..3 {
        for candidate in &measured {
            let seconds = between_two(&cell, candidate);
            trial.known.add_time(cell, candidate, launch, seconds);
        }
    }
    trial.launches = 2;
    trial.run(&between_two, &Model(Some(&between_two)), 0.0);
    let standings = trial.known.standings(&cell);
    for standing in standings
        .iter()
        .filter(|s| !measured.contains(&s.candidate))
    {
        let is_known = |other: &Candidate| cell.are_alike(other, &standing.candidate);
        assert!(!measured.iter().any(is_known), "{standing:?}");
    }
    // Of two equal candidates, only the simpler one was measured again.
    let launches = |name: &str| {
        let mut listed = standings.iter();
        listed
            .find(|s| s.candidate.algorithm() == name)
            .map_or(0, |s| s.launches)
    };
    assert_eq!(launches("bcast/binomial"), 2);
}

/// A campaign varies one part at a time; the search combines the parts that are predicted to be better than the
/// default.
#[test]
fn the_parts_that_are_predicted_to_be_best_are_tried_together() {
    let trial = Trial::new(
        "collectives: [allreduce]\nshapes: 4x8\nsizes: 1M\ncandidates: {include: allreduce/leaders}\n\
         parameters: {through: mpi}\n",
    );
    let expected = |_: &Cell, candidate: &Candidate| {
        let parameters = candidate.parameters();
        let node = match parameters.node.as_deref() {
            Some("linear") => 0.1,
            _ => 0.0,
        };
        let network = match parameters.network.as_deref() {
            Some("rabenseifner") => 0.2,
            Some(_) => -0.3,
            None => 0.0,
        };
        let leaders = parameters
            .leaders_per_node
            .map_or(0.0, |k| 0.3 - 0.1 * f64::from(k));
        1.0 - node - network - leaders
    };
    let requests = trial.requests(&Model(Some(&expected)));
    let names: Vec<String> = requests[0]
        .candidates
        .iter()
        .map(ToString::to_string)
        .collect();
    let all = "allreduce/leaders[node=linear,network=rabenseifner,leaders_per_node=2]";
    assert!(names.iter().any(|name| name == all), "{names:?}");
    // The library's default, the algorithm with its default parts, one with another part within nodes, three with
    // another part between nodes, two with several leaders.
    let pairs = names.iter().filter(|name| name.contains(','));
    assert_eq!((names.len(), pairs.count()), (9, 1), "{names:?}");
}

/// Binomial is three times as fast as the default up to 64 bytes, linear at 512; at 4K the default is the best, and
/// at 32K linear by a little.
fn large_gains_at_small_sizes(cell: &Cell, candidate: &Candidate) -> f64 {
    let microseconds = match (candidate.algorithm(), cell.bytes) {
        ("bcast/binomial", ..=100) | ("bcast/linear", 101..=512) => 10.0,
        ("default", 10_000..) => 34.0,
        ("default", _) | ("bcast/linear", 10_000..) => 30.0,
        _ => 35.0,
    };
    microseconds * 1e-6
}

/// Until the range between them is measured, a table keeps the default there.
#[test]
fn ranges_beside_large_gains_are_measured_before_others_are_refined() {
    let mut trial = Trial::new(
        "collectives: [bcast]\nshapes: [4x1]\nsizes: [64, 512, 4K, 32K]\n\
         candidates: [bcast/binomial, bcast/linear]\n",
    );
    let mut order: Vec<u64> = Vec::new();
    loop {
        let requests = trial.requests(&Model(None));
        let Some(round) = requests.iter().map(|request| request.round).min() else {
            break;
        };
        trial.launches += 1;
        for request in requests.iter().filter(|request| request.round == round) {
            if !order.contains(&request.cell.bytes) {
                order.push(request.cell.bytes);
            }
            for candidate in &request.candidates {
                let seconds = large_gains_at_small_sizes(&request.cell, candidate);
                trial
                    .known
                    .add_time(request.cell, candidate, trial.launches, seconds);
            }
        }
    }
    let refined: Vec<u64> = order
        .iter()
        .copied()
        .filter(|bytes| !bytes.is_power_of_two())
        .collect();
    let place = |bytes: u64| refined.iter().position(|other| *other == bytes);
    // Between 64 and 512, between 512 and 4K, and between 4K and 32K.
    let [first, second, third] = [181, 1448, 11_585].map(place);
    assert!(
        first.is_some() && second.is_some() && third.is_some(),
        "{refined:?}"
    );
    assert!(first < third && second < third, "{refined:?}");
}

/// A campaign that measured one of the algorithms, and got the others later.
#[test]
fn candidates_that_come_later_are_compared_where_one_rule_holds() {
    let mut trial =
        Trial::new("collectives: [gatherv]\nshapes: [1x4]\nsizes: 1K..64K x64\nlaunches: 3\n");
    let all = trial.campaign.cells();
    let candidates = |cell: &Cell| trial.campaign.candidates(cell, &|_| None).distinct;
    let known = candidates(&all[0])
        .into_iter()
        .find(|candidate| *candidate != Candidate::Default)
        .expect("a candidate");
    let slow = known.clone();
    let truth = move |_: &Cell, candidate: &Candidate| match candidate {
        Candidate::Default => 1.0,
        other if *other == slow => 2.0,
        _ => 0.5,
    };
    for cell in &all {
        for candidate in [&Candidate::Default, &known] {
            for launch in 1..=3 {
                trial
                    .known
                    .add_time(*cell, candidate, launch, truth(cell, candidate));
            }
        }
    }
    trial.launches = 3;
    trial.run(&truth, &Model(None), 0.0);
    for cell in &all {
        let standings = trial.known.standings(cell);
        assert_eq!(
            standings.len(),
            trial.campaign.candidates(cell, &|_| None).distinct.len()
        );
        let best = standings.first().expect("a candidate");
        assert_eq!((best.ratio, best.launches), (0.5, 3), "{cell}");
    }
}
