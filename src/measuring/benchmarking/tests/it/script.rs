//! Candidates with scripted times and failures, in place of MPI.

use std::ops::Range;

use benchmarking::{Attempt, Calls, CellBenchmark, Executor, Failure, KnownTimes, Ranks, Samples};
use statistics::clock::ClockResolution;
use vocabulary::{Candidate, Parameters, Pattern, Repetition};
use wire::{FailureKind, Measurement, TimeBreakdown};

use crate::ranks::Rank;

/// The time of a common start, and of reading the clocks at the end.
pub(crate) const START_SECONDS: f64 = 1e-5;
pub(crate) const LOOK_SECONDS: f64 = 7e-3;

/// A precision that no candidate attains.
pub(crate) const WANTED: Repetition = Repetition {
    minimum: 10,
    maximum: 60,
    precision: 1e-9,
    confidence: 0.95,
    slice_seconds: 1.0,
};

/// A request of the loop, with the candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Asked {
    Turn(u32),
    Prepare(u32),
    FirstCall(u32),
    /// The number of repetitions, and the calls in each.
    Repeat(u32, usize, Calls),
    Failed(u32, FailureKind),
    Residual,
}

/// The time at which a candidate fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moment {
    Preparing,
    FirstCall,
    /// The number of the repeat request, from 0.
    Series(usize),
}

/// The script of a candidate.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) first_seconds: f64,
    pub(crate) call_seconds: f64,
    /// The time of its failure, and the ranks on which it fails.
    pub(crate) fails: Option<(Moment, Range<u32>)>,
    /// One repetition in this many is valid.
    pub(crate) valid_of: usize,
    pub(crate) known: Option<KnownTimes>,
}

/// A candidate that takes about this time: up to a third less or more, in a pattern that seems random.
pub(crate) fn takes(call_seconds: f64) -> Role {
    Role {
        first_seconds: call_seconds,
        call_seconds,
        fails: None,
        valid_of: 1,
        known: None,
    }
}

/// All candidates, and the loop's requests.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) roles: Vec<Role>,
    pub(crate) asked: Vec<Asked>,
    /// The time of each request by the script's clock.
    pub(crate) asked_at: Vec<f64>,
    pub(crate) messages: Vec<String>,
    /// The number of requests after which the launch ends, if any.
    pub(crate) ends_after: Option<usize>,
    /// This rank, if several ranks take part.
    pub(crate) rank: Option<Rank>,
    pub(crate) elapsed_seconds: f64,
}

/// A prepared candidate: its place, and the number of its repeat requests.
pub(crate) struct Prepared {
    index: u32,
    series: usize,
    repetitions: usize,
}

/// The error that ends a launch.
#[derive(Debug)]
pub(crate) struct Ended;

impl From<serde_json::Error> for Ended {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

impl Script {
    pub(crate) fn new(roles: &[Role]) -> Self {
        Self {
            roles: roles.to_vec(),
            ..Self::default()
        }
    }

    /// Measures candidates with these roles, the first of which is the default.
    pub(crate) fn run(
        &mut self,
        seed: Option<u64>,
    ) -> Result<(Vec<Measurement>, TimeBreakdown), Ended> {
        let candidates = candidates(self.roles.len());
        benchmark(&candidates, seed).measure_candidates(self)
    }

    fn ask(&mut self, asked: Asked) -> Result<(), Ended> {
        if self.ends_after == Some(self.asked.len()) {
            return Err(Ended);
        }
        self.asked.push(asked);
        self.asked_at.push(self.elapsed_seconds);
        Ok(())
    }

    fn role(&self, index: u32) -> &Role {
        &self.roles[index as usize]
    }

    /// The outcome of a request on all ranks.
    fn outcome(&self, index: u32, now: Moment) -> Attempt<(), Ended> {
        let rank = self.rank.as_ref().map_or(0, Ranks::rank);
        let fails =
            |(moment, ranks): &(Moment, Range<u32>)| now == *moment && ranks.contains(&rank);
        let mine = if !self.role(index).fails.as_ref().is_some_and(fails) {
            Ok(())
        } else {
            Err(Failure {
                kind: FailureKind::MpiError,
                message: format!("seen on rank {rank}"),
            })
        };
        match &self.rank {
            None => Ok(mine),
            Some(ranks) => ranks.agree_on_failure(mine),
        }
    }
}

pub(crate) fn candidates(count: usize) -> Vec<Candidate> {
    let ours = (1..count).map(|number| Candidate::Ours {
        algorithm: format!("algorithm {number}"),
        parameters: Parameters::default(),
    });
    std::iter::once(Candidate::Default).chain(ours).collect()
}

/// A benchmark with a clock on which no call is too short.
pub(crate) fn benchmark(candidates: &[Candidate], seed: Option<u64>) -> CellBenchmark<'_> {
    CellBenchmark {
        candidates,
        pattern: Pattern::Together,
        together: None,
        repetition: &WANTED,
        racing: None,
        timer: ClockResolution {
            overhead_seconds: 0.0,
            resolution_seconds: 0.0,
        },
        patience_seconds: 60.0,
        seed,
    }
}

impl Executor for Script {
    type Prepared = Prepared;
    type Error = Ended;

    fn begin_turn(&mut self, candidate: u32) -> Result<(), Ended> {
        self.ask(Asked::Turn(candidate))
    }

    fn record_failure(&mut self, candidate: u32, failure: Failure) -> Result<(), Ended> {
        self.messages.push(failure.message);
        self.ask(Asked::Failed(candidate, failure.kind))
    }

    fn prepare(&mut self, index: u32, candidate: &Candidate) -> Attempt<Prepared, Ended> {
        assert_eq!((*candidate == Candidate::Default), index == 0);
        self.ask(Asked::Prepare(index))?;
        let outcome = self.outcome(index, Moment::Preparing)?;
        Ok(outcome.map(|()| Prepared {
            index,
            series: 0,
            repetitions: 0,
        }))
    }

    fn first_call(&mut self, prepared: &mut Prepared) -> Attempt<f64, Ended> {
        self.ask(Asked::FirstCall(prepared.index))?;
        let seconds = self.role(prepared.index).first_seconds;
        self.elapsed_seconds += seconds;
        let outcome = self.outcome(prepared.index, Moment::FirstCall)?;
        Ok(outcome.map(|()| seconds))
    }

    fn known_times(&self, prepared: &Prepared) -> Option<KnownTimes> {
        self.role(prepared.index).known
    }

    fn repeat(
        &mut self,
        prepared: &mut Prepared,
        repetitions: usize,
        calls: Calls,
    ) -> Attempt<Samples, Ended> {
        self.ask(Asked::Repeat(prepared.index, repetitions, calls))?;
        let role = self.role(prepared.index);
        let places = prepared.repetitions..prepared.repetitions + repetitions;
        let factor = |place: usize| 1.0 + ((37 * place + 30) % 61) as f64 / 100.0 - 0.3;
        let batch_seconds = role.call_seconds * f64::from(calls.timed_calls());
        let seconds: Vec<f64> = places
            .clone()
            .map(|place| batch_seconds * factor(place))
            .collect();
        let is_invalid = |(_, place): &(u32, usize)| place % role.valid_of != 0;
        let invalid = (0..).zip(places).filter(is_invalid);
        let invalid = invalid.map(|(place, _)| place).collect();
        let elapsed_seconds = seconds.iter().sum::<f64>() + START_SECONDS * repetitions as f64;
        self.elapsed_seconds += elapsed_seconds;
        let outcome = self.outcome(prepared.index, Moment::Series(prepared.series))?;
        prepared.series += 1;
        prepared.repetitions += repetitions;
        Ok(outcome.map(|()| Samples::new(seconds, invalid, elapsed_seconds, elapsed_seconds)))
    }

    fn residual_seconds(&mut self) -> Result<Option<f64>, Ended> {
        self.ask(Asked::Residual)?;
        self.elapsed_seconds += LOOK_SECONDS;
        Ok(Some(1e-7))
    }

    fn elapsed_seconds(&self) -> f64 {
        self.elapsed_seconds
    }
}
