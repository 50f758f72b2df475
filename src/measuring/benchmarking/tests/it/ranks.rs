//! Several ranks, each in a thread, that stay in step although one fails.

use std::sync::{Arc, Barrier, Mutex};

use benchmarking::Ranks;
use wire::Measurement;

use crate::script::{Asked, Ended, Moment, Role, Script, takes};

const SIZE: u32 = 3;

/// The meeting point of the threads.
struct World {
    barrier: Barrier,
    values: Mutex<Vec<f64>>,
    bytes: Mutex<Vec<u8>>,
}

/// A thread that represents a rank.
pub(crate) struct Rank {
    world: Arc<World>,
    rank: u32,
}

impl Ranks for Rank {
    type Error = Ended;

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        SIZE
    }

    fn maximum_over_ranks(&self, values: &mut [f64]) -> Result<(), Ended> {
        {
            let mut maxima = self.world.values.lock().expect("no panic");
            maxima.resize(values.len(), f64::NEG_INFINITY);
            for (most, value) in maxima.iter_mut().zip(&*values) {
                *most = most.max(*value);
            }
        }
        self.world.barrier.wait();
        values.copy_from_slice(&self.world.values.lock().expect("no panic"));
        if self.world.barrier.wait().is_leader() {
            self.world.values.lock().expect("no panic").clear();
        }
        self.world.barrier.wait();
        Ok(())
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: u32) -> Result<(), Ended> {
        if self.rank == root {
            self.world.bytes.lock().expect("no panic").clone_from(bytes);
        }
        self.world.barrier.wait();
        bytes.clone_from(&self.world.bytes.lock().expect("no panic"));
        self.world.barrier.wait();
        Ok(())
    }
}

/// The requests, records and measurements of each rank.
fn run(roles: &[Role]) -> Vec<(Vec<Asked>, Vec<String>, Vec<Measurement>)> {
    let world = Arc::new(World {
        barrier: Barrier::new(SIZE as usize),
        values: Mutex::default(),
        bytes: Mutex::default(),
    });
    std::thread::scope(|scope| {
        let ranks = (0..SIZE).map(|rank| {
            let world = Arc::clone(&world);
            scope.spawn(move || {
                let mut script = Script::new(roles);
                script.rank = Some(Rank { world, rank });
                let (measured, _) = script.run(Some(1)).expect("no error");
                (script.asked, script.messages, measured)
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks
            .into_iter()
            .map(|rank| rank.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn all_ranks_record_the_failure_of_the_lowest_failed_rank() {
    let moments = [
        Moment::Preparing,
        Moment::FirstCall,
        Moment::Series(1),
        Moment::Series(4),
    ];
    for moment in moments {
        for failing in [0..1, 1..2, 1..3, 2..3] {
            let mut roles = [takes(1e-3), takes(2e-3), takes(1e-3)];
            let lowest = failing.start;
            roles[1].fails = Some((moment, failing));
            let ranks = run(&roles);
            assert!(ranks.iter().all(|rank| *rank == ranks[0]), "{moment:?}");
            let (_, messages, measured) = &ranks[0];
            assert_eq!(*messages, [format!("seen on rank {lowest}")], "{moment:?}");
            let measured: Vec<u32> = measured.iter().map(|of| of.candidate).collect();
            assert_eq!(measured, [0, 2], "{moment:?}");
        }
    }
}

#[test]
fn without_failures_no_candidate_is_left_out() {
    let ranks = run(&[takes(1e-3), takes(2e-3)]);
    assert!(
        ranks
            .iter()
            .all(|rank| *rank == ranks[0] && rank.1.is_empty())
    );
    assert_eq!(ranks[0].2.len(), 2);
}
