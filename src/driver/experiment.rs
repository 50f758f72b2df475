//! Small measurements that show the machine's own parameters.

use std::hint::black_box;
use std::time::Instant;

use exec::{Bytes, Communicator, ExecError, Operands};
use sampling::batch;
use statistics::clock::Clock;
use wire::{Experiment, ExperimentKind, Measurement, Repetition};

/// A repetition lasts at least this long, so that the timer's cost does not show.
const BATCH_SECONDS: f64 = 20e-6;

/// Calls made to warm up and to see how long one takes.
const WARMUP: u32 = 30;

/// More repetitions than this are taken only if the plan insists.
const ENOUGH: u32 = 1000;

/// What messages and vectors consist of: bytes that make ordinary numbers in every datatype.
const BYTE: u8 = 0x3f;

/// The messages of a burst.
const BURST: usize = ExperimentKind::BURST as usize;

/// How many ranks an experiment needs.
pub(crate) fn ranks(kind: ExperimentKind) -> usize {
    match kind {
        ExperimentKind::PingPong | ExperimentKind::Exchange | ExperimentKind::Burst => 2,
        ExperimentKind::Combine { .. } | ExperimentKind::Copy => 1,
    }
}

/// Measures an experiment; collective over `communicator`, which has as many ranks as are needed:
/// others would take the cores of those that are measured.
pub(crate) fn run(
    experiment: &Experiment,
    repetition: &Repetition,
    timer: &Clock,
    communicator: &Communicator,
) -> Result<Measurement, ExecError> {
    let mut bench = Bench::new(experiment, communicator);
    bench.time(5)?;
    let mut estimate = [bench.time(WARMUP)? / f64::from(WARMUP)];
    communicator.maximum(&mut estimate)?;
    let batch = (BATCH_SECONDS / estimate[0].max(1e-9))
        .ceil()
        .clamp(1.0, 10_000.0)
        .max(batch::calls(estimate[0], timer).into());
    let repetitions = repetitions(estimate[0] * batch, repetition);
    let batch = batch as u32;
    let mut seconds = Vec::with_capacity(repetitions as usize);
    for _ in 0..repetitions {
        seconds.push(bench.time(batch)? / f64::from(batch));
    }
    communicator.maximum(&mut seconds)?;
    Ok(Measurement {
        candidate: 0,
        warmup: WARMUP + 5,
        batch,
        seconds,
        invalid: Vec::new(),
        residual_seconds: None,
        left: None,
    })
}

/// As many repetitions as fit in the slice, within the plan's bounds.
fn repetitions(seconds: f64, wanted: &Repetition) -> u32 {
    let most = wanted.maximum.min(ENOUGH).max(wanted.minimum);
    let fitting = wanted.slice_seconds / seconds;
    (fitting as u32).clamp(wanted.minimum, most)
}

struct Bench<'a> {
    kind: ExperimentKind,
    communicator: &'a Communicator,
    send: Bytes,
    recv: Bytes,
}

impl<'a> Bench<'a> {
    fn new(experiment: &Experiment, communicator: &'a Communicator) -> Self {
        let bytes = experiment.bytes as usize;
        let received = match experiment.kind {
            // Messages under way at once each need a place of their own.
            ExperimentKind::Burst => BURST * bytes,
            _ => bytes,
        };
        Self {
            kind: experiment.kind,
            communicator,
            send: Bytes::filled(bytes, BYTE),
            recv: Bytes::filled(received, BYTE),
        }
    }

    /// The time of `calls` calls on this rank.
    fn time(&mut self, calls: u32) -> Result<f64, ExecError> {
        let rank = self.communicator.rank();
        let start = Instant::now();
        for _ in 0..calls {
            self.call(rank)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(match self.kind {
            ExperimentKind::PingPong => seconds / 2.0,
            ExperimentKind::Burst => seconds / f64::from(ExperimentKind::BURST),
            ExperimentKind::Exchange | ExperimentKind::Combine { .. } | ExperimentKind::Copy => {
                seconds
            }
        })
    }

    fn call(&mut self, rank: u32) -> Result<(), ExecError> {
        let peer = 1 - rank.min(1);
        let (send, recv) = (self.send.as_slice(), self.recv.as_mut_slice());
        match self.kind {
            ExperimentKind::PingPong if rank == 0 => {
                self.communicator.send_bytes(send, peer)?;
                self.communicator.recv_bytes(recv, peer)
            }
            ExperimentKind::PingPong => {
                self.communicator.recv_bytes(recv, peer)?;
                self.communicator.send_bytes(send, peer)
            }
            ExperimentKind::Exchange => self.communicator.exchange_bytes(send, peer, recv, peer),
            ExperimentKind::Burst if rank == 0 => {
                let to = [peer; BURST];
                self.communicator
                    .transfer_bytes(send, &to, &mut [], &[peer])
            }
            ExperimentKind::Burst => {
                let from = [peer; BURST];
                self.communicator.transfer_bytes(&[], &[], recv, &from)?;
                self.communicator.send_bytes(&[], peer)
            }
            ExperimentKind::Copy => {
                // What nobody reads need not be copied, as the compiler sees it.
                black_box(&mut *recv).copy_from_slice(black_box(send));
                black_box(recv);
                Ok(())
            }
            ExperimentKind::Combine { datatype, operator } => {
                exec::combine(datatype, operator, Operands::IntoRight(send, recv))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::repetitions;
    use wire::Repetition;

    #[test]
    fn repetitions_fit_in_the_slice_and_keep_to_the_bounds() {
        let check = |minimum, maximum, seconds, expected| {
            let wanted = Repetition {
                minimum,
                maximum,
                precision: 0.03,
                confidence: 0.95,
                slice_seconds: 1.0,
            };
            assert_eq!(repetitions(seconds, &wanted), expected);
        };
        check(10, 500, 1.0 / 64.0, 64);
        check(10, 500, 1.0, 10);
        check(10, 500, 1e-6, 500);
        check(10, 5000, 1e-6, 1000);
        check(2000, 5000, 1e-6, 2000);
        check(2000, 5000, 1.0, 2000);
        check(10, 500, 0.0, 500);
    }
}
