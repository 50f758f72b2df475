//! Small measurements that show the machine's own parameters.

use std::time::Instant;

use exec::{Bytes, Communicator, ExecError, Operands};
use wire::{Experiment, ExperimentKind, Measurement, Repetition};

/// A repetition lasts at least this long, so that the timer's cost does not show.
const BATCH_SECONDS: f64 = 20e-6;

/// Calls made to warm up and to see how long one takes.
const WARMUP: u32 = 30;

/// Measures an experiment; collective over `communicator`, of which at most two ranks work.
pub(crate) fn run(
    experiment: &Experiment,
    repetition: &Repetition,
    communicator: &Communicator,
) -> Result<Measurement, ExecError> {
    let bytes = experiment.bytes as usize;
    let mut bench = Bench {
        kind: experiment.kind,
        communicator,
        send: Bytes::zeroed(bytes),
        recv: Bytes::zeroed(bytes),
    };
    bench.time(5)?;
    let mut estimate = [bench.time(WARMUP)? / f64::from(WARMUP)];
    communicator.maximum(&mut estimate)?;
    let batch = (BATCH_SECONDS / estimate[0].max(1e-9))
        .ceil()
        .clamp(1.0, 10_000.0);
    let fitting = repetition.slice_seconds / (estimate[0] * batch);
    let repetitions = (fitting as u32).clamp(repetition.minimum, repetition.maximum.min(1000));
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
    })
}

struct Bench<'a> {
    kind: ExperimentKind,
    communicator: &'a Communicator,
    send: Bytes,
    recv: Bytes,
}

impl Bench<'_> {
    /// The time of `calls` calls on this rank; nothing on ranks without work.
    fn time(&mut self, calls: u32) -> Result<f64, ExecError> {
        let rank = self.communicator.rank();
        let works = match self.kind {
            ExperimentKind::PingPong | ExperimentKind::Exchange => rank < 2,
            ExperimentKind::Combine { .. } => rank == 0,
        };
        if !works {
            return Ok(0.0);
        }
        let start = Instant::now();
        for _ in 0..calls {
            self.call(rank)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(match self.kind {
            ExperimentKind::PingPong => seconds / 2.0,
            ExperimentKind::Exchange | ExperimentKind::Combine { .. } => seconds,
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
            ExperimentKind::Combine { datatype, operator } => {
                exec::combine(datatype, operator, Operands::IntoRight(send, recv))
            }
        }
    }
}
