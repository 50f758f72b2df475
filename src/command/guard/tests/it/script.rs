//! Launches with given times.

use std::collections::BTreeMap;

use guard::{FailedCandidate, GuardError, LaunchTimes, Measurer};
use table::Table;
use testkit::tables;
use vocabulary::{Candidate, Cell, CommShape, RankOrder, Warning};

/// A table of one collective with three rules.
pub(crate) fn table() -> Table {
    let collectives = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 4
        deployment: any
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 100, candidate: 'native:bcast/a', speedup: 1.5, confidence: high}
          - {from: 10000, candidate: 'native:bcast/b', speedup: 3, confidence: high}
        measured:
          bytes:                [64, 1K, 4K, 64K, 1M]
          microseconds:         [1,  2,  5,  10,  100]
          default_microseconds: [1,  3,  8,  30,  200]
";
    tables::parse_table(&tables::table_yaml(
        "absent",
        "openmpi",
        "4.1.4",
        collectives,
    ))
}

/// The scripted result of a candidate.
pub(crate) enum Take {
    /// It takes this time.
    Seconds(f64),
    /// It fails.
    Fails,
    /// It is not measured.
    Nothing,
}

/// The results of candidates are a function of cell, candidate and launch.
pub(crate) struct Script<F> {
    pub(crate) seconds: F,
    /// The requests: cells and launches.
    pub(crate) asked: Vec<(Vec<u64>, u32)>,
    /// The order of ranks.
    pub(crate) orders: BTreeMap<CommShape, RankOrder>,
    /// Whether time was up before everything was measured.
    pub(crate) is_out_of_time: bool,
    /// The load of the first request, in per cent.
    pub(crate) load_percent: Option<u32>,
    /// A setting that steers the default of all launches.
    pub(crate) steering: Option<&'static str>,
    launch: u32,
}

impl<F: Fn(&Cell, &Candidate, u32) -> Take> Script<F> {
    pub(crate) fn new(seconds: F) -> Self {
        Self {
            seconds,
            asked: Vec::new(),
            orders: BTreeMap::new(),
            is_out_of_time: false,
            load_percent: None,
            steering: None,
            launch: 0,
        }
    }
}

impl<F: Fn(&Cell, &Candidate, u32) -> Take> Measurer for Script<F> {
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<LaunchTimes, GuardError> {
        let sizes = cells.iter().map(|(cell, _)| cell.bytes).collect();
        self.asked.push((sizes, launches));
        let mut times = LaunchTimes {
            orders: self.orders.clone(),
            is_out_of_time: self.is_out_of_time,
            busy: self
                .load_percent
                .take()
                .map(|load_percent| Warning::BusyMachine {
                    load_percent,
                    cores: 2,
                }),
            steered: self.steering.map(|setting| Warning::SteeredDefault {
                settings: vec![setting.to_owned()],
            }),
            ..LaunchTimes::default()
        };
        for _ in 0..launches {
            self.launch += 1;
            for (cell, candidates) in cells {
                assert_eq!(candidates[0], Candidate::Default);
                for candidate in candidates {
                    match (self.seconds)(cell, candidate, self.launch) {
                        Take::Seconds(seconds) => {
                            let key = (*cell, candidate.clone());
                            let medians = times.medians.entry(key).or_default();
                            medians.push((self.launch, seconds));
                        }
                        Take::Fails => times.broken.push(FailedCandidate {
                            cell: *cell,
                            candidate: candidate.clone(),
                            message: "crash: on purpose".to_owned(),
                        }),
                        Take::Nothing => {}
                    }
                }
            }
        }
        Ok(times)
    }
}
