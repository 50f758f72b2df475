//! Written tables read back equal.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sample::DEPLOYMENTS;
use printable::is_unprintable;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use schedule::{Algorithm, Collective, Parameter};
use table::{
    Confidence, Deployments, MeasuredPoint, Numerics, Operators, Provenance, Rule, RuleSource,
    ShapeRules, Table,
};
use vocabulary::bounds::BYTES;
use vocabulary::{
    Candidate, CommShape, Distribution, Library, Parameters, Pattern, RankOrder, Through,
};

/// The range of times and their ratios.
fn positive() -> impl Strategy<Value = f64> {
    (-15.0..9.0_f64).prop_map(|power| 10_f64.powf(power))
}

fn size() -> impl Strategy<Value = u64> {
    0..=BYTES.largest_value()
}

fn id_of(collective: Collective) -> impl Strategy<Value = Option<String>> {
    let ids: Vec<_> = schedule::part_algorithms_of(collective)
        .map(|algorithm| algorithm.id.to_owned())
        .collect();
    prop::option::of(select(ids))
}

fn ours(algorithm: &'static Algorithm) -> impl Strategy<Value = Candidate> {
    let cut = prop_oneof![
        Just((None, None)),
        (1..=BYTES.largest_value()).prop_map(|bytes| (Some(bytes), None)),
        (1..=u32::MAX).prop_map(|blocks| (None, Some(blocks))),
    ];
    let radix = prop::option::of(schedule::Parameters::RADICES);
    let parts = (id_of(Collective::Reduce), id_of(Collective::Bcast));
    let phases = [Parameter::Node, Parameter::Network].map(|parameter| {
        let ids: Vec<_> = algorithm
            .choices_for(parameter)
            .map(str::to_owned)
            .collect();
        // Parameters that an algorithm does not take are left out below.
        prop::option::of(select(if ids.is_empty() {
            vec![String::new()]
        } else {
            ids
        }))
    });
    let through = select(Through::ALL.map(|(_, through)| through).to_vec());
    (cut, radix, parts, phases, through).prop_map(
        move |(cut, radix, (reduce, bcast), [node, network], through)| {
            let (block_bytes, blocks) = if algorithm.takes(Parameter::Blocks) {
                cut
            } else {
                (None, None)
            };
            let parameters = Parameters {
                block_bytes,
                blocks,
                radix: radix.filter(|_| algorithm.takes(Parameter::Radix)),
                reduce: reduce.filter(|_| algorithm.takes(Parameter::Reduce)),
                bcast: bcast.filter(|_| algorithm.takes(Parameter::Bcast)),
                node: node.filter(|_| algorithm.takes(Parameter::Node)),
                network: network.filter(|_| algorithm.takes(Parameter::Network)),
                through,
                ..Parameters::default()
            };
            Candidate::Ours {
                algorithm: algorithm.name(),
                parameters,
            }
        },
    )
}

fn candidate(collective: Collective, operators: Operators) -> impl Strategy<Value = Candidate> {
    let ordered = collective.is_reduction() && operators != Operators::Commutative;
    let usable = move |candidate: &Candidate| {
        let algorithm = schedule::find_algorithm(candidate.algorithm()).expect("registered");
        // Algorithms that know nodes are ordered in block order only.
        let is_in_order = || table::out_of_order(algorithm, &candidate.parameters()).is_none();
        !ordered || !algorithm.knows_nodes() && is_in_order()
    };
    let algorithms: Vec<&'static Algorithm> = schedule::algorithms_of(collective).collect();
    let ours = select(algorithms)
        .prop_flat_map(ours)
        .prop_filter("noncommutative operators bear it", usable);
    prop_oneof![
        2 => Just(Candidate::Default),
        4 => ours,
        // The order in which these combine is unknown.
        if ordered { 0 } else { 2 } => others(collective),
    ]
}

/// Native algorithms, mock-ups, and what was imported.
fn others(collective: Collective) -> impl Strategy<Value = Candidate> {
    let any_parameters = (
        prop::option::of(1..=BYTES.largest_value()),
        prop::option::of(1..=u32::MAX),
        prop::option::of(1..=u32::MAX),
    );
    let source = select(&["native", "hydra", "a b"][..]);
    let named = (source, "[a-z_ '#]{1,12}", any_parameters).prop_map(
        move |(source, id, (segment_bytes, fanout, max_requests))| {
            let algorithm = format!("{source}:{collective}/{id}");
            let parameters = Parameters {
                segment_bytes,
                fanout,
                max_requests,
                ..Parameters::default()
            };
            match source {
                "native" => Candidate::Native {
                    algorithm,
                    parameters,
                },
                _ => Candidate::Foreign {
                    algorithm,
                    parameters,
                },
            }
        },
    );
    let mockups = vocabulary::MOCKUPS
        .iter()
        .filter(|m| m.collective == collective);
    let mut made: Vec<Candidate> = mockups
        .map(|mockup| Candidate::Mockup {
            algorithm: mockup.full_name(),
        })
        .collect();
    if made.is_empty() {
        made.push(Candidate::Default);
    }
    prop_oneof![named, select(made)]
}

fn entry(collective: Collective, operators: Operators) -> impl Strategy<Value = ShapeRules> {
    let any_rule = (
        candidate(collective, operators),
        prop::option::of(positive()),
        select(vec![Confidence::High, Confidence::Medium, Confidence::Low]),
        any::<bool>(),
    );
    let any_sizes = btree_set(size(), 0..4);
    let times = (positive(), positive(), prop::option::of(positive()));
    let any_points = btree_map(size(), times, 0..20);
    let any_deployments = select(&DEPLOYMENTS[..]);
    let any_source = select(vec![RuleSource::Measured, RuleSource::Model]);
    use RankOrder::{Block, Cyclic, Other, Unknown};
    let any_order = select(&[Block, Cyclic, Other, Unknown][..]);
    let parts = (
        any_sizes,
        vec(any_rule, 4),
        any_points,
        (any_deployments, any_source),
        any_order,
    );
    parts.prop_map(
        move |(sizes, rules, points, (deployments, source), order)| {
            let is_offered = rules
                .iter()
                .all(|(candidate, ..)| deployments.may_name(candidate));
            let sizes = std::iter::once(0).chain(sizes.into_iter().filter(|size| *size > 0));
            let rule = |(from_bytes, (candidate, speedup, confidence, confirmed))| Rule {
                from_bytes,
                candidate,
                speedup,
                confidence,
                confirmed: confirmed && source == RuleSource::Measured,
                refuted: false,
            };
            let point =
                |(bytes, (seconds, default_seconds, speedup)): (u64, (f64, f64, Option<f64>))| {
                    let ratio = default_seconds / seconds;
                    MeasuredPoint {
                        bytes,
                        seconds,
                        default_seconds,
                        speedup: speedup.unwrap_or(ratio),
                    }
                };
            let points: Vec<MeasuredPoint> = points.into_iter().map(point).collect();
            let given = rules.iter().map(|(candidate, ..)| candidate);
            let given = given.filter(|c| **c != Candidate::Default && !points.is_empty());
            let candidates = given.map(|candidate| {
                let every = |nth: usize| (0..points.len()).map(move |place| place % nth == 0);
                let seconds = points.iter().zip(every(3));
                let seconds = seconds
                    .map(|(measured_point, is_none)| (!is_none).then_some(measured_point.seconds));
                table::CandidateTimes::new(candidate.clone(), seconds.collect(), every(2).collect())
            });
            let candidates = candidates.collect();
            ShapeRules {
                shape: CommShape { nodes: 1, ppn: 1 },
                order,
                operators,
                source,
                deployments: if is_offered {
                    deployments
                } else {
                    Deployments::Colltune
                },
                rules: sizes.zip(rules).map(rule).collect(),
                measured: points,
                candidates,
            }
        },
    )
}

/// Entries of different shapes; in reductions some shapes have one for each operator class.
fn entries(collective: Collective) -> impl Strategy<Value = Vec<ShapeRules>> {
    let any = entry(collective, Operators::Any).prop_map(|entry| vec![entry]);
    let both = (
        entry(collective, Operators::Commutative),
        entry(collective, Operators::Noncommutative),
    )
        .prop_map(|(first, second)| vec![first, second]);
    let split = if collective.is_reduction() { 1 } else { 0 };
    // Some algorithms support even numbers of ranks only.
    let even = (1..1_u32 << 16).prop_map(|half| 2 * half);
    let shapes = btree_map(
        (1..1_u32 << 12, even),
        prop_oneof![1 => any, split => both],
        1..4,
    );
    shapes.prop_map(|shapes| {
        let place = |((nodes, ppn), entries): ((u32, u32), Vec<ShapeRules>)| {
            let shape = CommShape { nodes, ppn };
            entries
                .into_iter()
                .map(move |entry| ShapeRules { shape, ..entry })
        };
        shapes.into_iter().flat_map(place).collect()
    })
}

pub(crate) fn collectives() -> impl Strategy<Value = BTreeMap<Collective, Vec<ShapeRules>>> {
    let some = |collective| prop::option::of(entries(collective));
    Collective::ALL.map(some).prop_map(|present| {
        let named = Collective::ALL.into_iter().zip(present);
        named
            .filter_map(|(collective, entries)| {
                let mut entries = entries?;
                if collective.is_irregular() && !collective.decides_by_size() {
                    entries.iter_mut().for_each(|entry| entry.rules.truncate(1));
                }
                Some((collective, entries))
            })
            .collect()
    })
}

/// Texts that YAML could read as another type.
const TRAPS: &[&str] = &[
    // Letters that show nothing.
    "\u{3164}a\u{ffa0}\u{115f}",
    "",
    " ",
    "~",
    "null",
    "No",
    "4.10",
    "0x1f",
    "1e3",
    ".inf",
    "- a",
    "a -",
    "a: b",
    "a #b",
    "#",
    "'",
    "\"",
    "\\",
    "a\nb",
    "\t",
    "\u{feff}",
    "\u{85}",
    "{",
    "[a]",
    "&a",
    "*a",
    "!a",
    "%a",
    "@a",
    "a  b",
    "é\u{301}",
    "---",
    "...",
    "| x",
    "> x",
    "? x",
    "2026-11-20",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(TRAPS).prop_map(str::to_owned),
        any::<String>(),
        "[a-z ./-]{0,12}"
    ]
}

fn provenance() -> impl Strategy<Value = Provenance> {
    let texts = (text(), text(), text(), text(), text(), text(), text());
    let patterns = [Pattern::Together, Pattern::Repeated, Pattern::Skewed];
    let confidences = [Confidence::Low, Confidence::Medium, Confidence::High];
    let any_launches = (
        any::<u32>(),
        select(patterns.to_vec()),
        select(confidences.to_vec()),
    );
    let lists = [20, 3, 3].map(|most| vec(text(), 0..most));
    (texts, any_launches, lists).prop_map(
        |((campaign, store, name, version, colltune, date, cpu), measured, lists)| {
            let (launches, pattern, min_confidence) = measured;
            let [hosts, networks, warnings] = lists;
            let distributions = Distribution::ALL[..launches as usize % 5].to_vec();
            // Unprintable characters are refused there.
            let [name, version] = [name, version].map(|text| text.replace(is_unprintable, ""));
            let library = Library { name, version };
            let both = Numerics {
                independent_of_placement: true,
                independent_of_size: true,
            };
            let requirements = [
                Numerics::WORDS.map(|(_, numerics)| numerics).to_vec(),
                vec![both],
            ]
            .concat();
            Provenance {
                campaign,
                store,
                library,
                colltune,
                date,
                hosts,
                cpu,
                networks,
                launches,
                pattern,
                distributions,
                min_confidence,
                numerics: requirements[launches as usize % requirements.len()],
                warnings,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn parse_of_to_yaml_is_the_table(
        name in text(),
        provenance in provenance(),
        collectives in collectives(),
    ) {
        let table = Table { name, provenance, collectives, verdicts: Vec::new(), nonblocking: None };
        let text = table.to_yaml();
        prop_assert!(!text.contains(|c| is_unprintable(c) && c != '\n'), "{text:?}");
        let read = match Table::parse(&text, Path::new("t.yaml")) {
            Ok(read) => read,
            Err(error) => return Err(TestCaseError::fail(format!("{error}\n\n{text}"))),
        };
        prop_assert_eq!(&read, &table);
        prop_assert_eq!(read.to_yaml(), text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), cut in any::<prop::sample::Index>()) {
        let good = crate::sample::table().to_yaml();
        let at = cut.index(good.len());
        let spliced = format!("{}{text}{}", &good[..at], &good[at..]);
        for yaml in [text.as_str(), &good[..at], &spliced] {
            if let Err(error) = Table::parse(yaml, Path::new("t.yaml")) {
                prop_assert!(error.to_string().contains("help: "), "{error}");
            }
        }
    }
}
