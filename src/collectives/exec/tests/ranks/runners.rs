//! Measured candidates by name, including the library's own, on plain bytes.

use exec::{Bytes, Call, Communicator, ExecError, Runner, Wait};
use schedule::{Collective, Distribution, Unsupported};
use vocabulary::{Candidate, Datatype, MOCKUPS, NativeAlgorithm, Operator, Parameters, Through};

use crate::doing;

/// Bytes that fill channels several times over, so that ranks receive while they still send.
const FILLING: u64 = 1 << 20;

/// Compares all candidates of all collectives with the library; returns the number of failures. `through` selects the
/// transport of our messages.
pub(crate) fn check(communicator: &Communicator, through: Through) -> Result<u32, ExecError> {
    let mut failures = 0;
    for collective in Collective::ALL {
        for in_place in [false, true] {
            for (bytes, distribution) in sizes(collective) {
                let is_left_out = bytes == FILLING && through == Through::Mpi;
                if is_left_out || (bytes > 0 && !collective.has_data()) {
                    continue;
                }
                // MPICH 4.0 mistakes `MPI_IN_PLACE` for an address at roots other than 0.
                let root = if in_place { 0 } else { communicator.size() - 1 };
                let call = Call {
                    collective,
                    bytes,
                    datatype: Datatype::Int32,
                    operator: collective.is_reduction().then_some(Operator::Sum),
                    root: if collective.is_rooted() { root } else { 0 },
                    in_place,
                    distribution,
                };
                failures += compare(&call, communicator, through)?;
            }
        }
    }
    Ok(failures)
}

/// The sizes of calls, with the distributions of data.
fn sizes(collective: Collective) -> Vec<(u64, Distribution)> {
    let sizes = [0, 4, 44, 8000, FILLING];
    let others = [
        Distribution::Skewed,
        Distribution::Sparse,
        Distribution::Dominated,
    ];
    let others = others.iter().filter(|_| collective.is_irregular());
    let uniform = sizes.map(|bytes| (bytes, Distribution::Uniform));
    uniform
        .into_iter()
        .chain(others.map(|distribution| (4000, *distribution)))
        .collect()
}

fn compare(call: &Call, communicator: &Communicator, through: Through) -> Result<u32, ExecError> {
    let expected = result(&Candidate::Default, call, communicator)?;
    let mut failures = match through {
        Through::Mpi => compare_others(call, communicator, &expected)?,
        Through::Shared => 0,
    };
    for algorithm in schedule::algorithms_of(call.collective) {
        doing(format!("{algorithm}: {call:?}"));
        let candidate = Candidate::Ours {
            algorithm: algorithm.name(),
            parameters: Parameters {
                through,
                ..Parameters::default()
            },
        };
        match result(&candidate, call, communicator) {
            Err(ExecError::Unsupported(Unsupported::OddRanks { .. })) => {}
            Ok(found) if found == expected => {}
            found => {
                eprintln!("rank {}: {algorithm}: {call:?}", communicator.rank());
                failures += 1;
                found?;
            }
        }
    }
    Ok(failures)
}

/// The library's own algorithms, which may refuse a shape, and mock-ups, which may not be in place.
fn compare_others(
    call: &Call,
    communicator: &Communicator,
    expected: &[u8],
) -> Result<u32, ExecError> {
    let natives = exec::list_natives()?.into_iter();
    let natives = natives.filter(|native| native.collective == call.collective);
    let natives = natives.filter(|native| !aborts(native, call, communicator));
    let natives = natives.map(|native| Candidate::Native {
        algorithm: native.full_name(),
        parameters: Parameters {
            segment_bytes: native.takes_segments.then_some(64),
            fanout: native.takes_fanout.then_some(2),
            max_requests: native.takes_requests.then_some(1),
            ..Parameters::default()
        },
    });
    let mockups = MOCKUPS.iter().filter(|m| m.collective == call.collective);
    let mockups = mockups.map(|mockup| Candidate::Mockup {
        algorithm: mockup.full_name(),
    });
    let mut failures = 0;
    for candidate in natives.chain(mockups) {
        doing(format!("{candidate}: {call:?}"));
        let is_native = matches!(candidate, Candidate::Native { .. });
        match result(&candidate, call, communicator) {
            Err(ExecError::Mpi { .. }) if is_native => {}
            Err(ExecError::NotInPlace(_)) if !is_native && call.in_place => {}
            Ok(found) if found == expected => {}
            found => {
                eprintln!(
                    "rank {}: {candidate}: {call:?}: {found:?}",
                    communicator.rank()
                );
                failures += 1;
                found?;
            }
        }
    }
    Ok(failures)
}

/// Whether MPICH ends the job because the algorithm cannot serve the call, instead of returning an error.
fn aborts(native: &NativeAlgorithm, call: &Call, communicator: &Communicator) -> bool {
    let ranks = communicator.size();
    let is_even = (call.bytes / call.datatype.size_bytes()).is_multiple_of(ranks.into());
    native.full_name() == "native:reduce_scatter/noncommutative"
        && !(ranks.is_power_of_two() && is_even)
}

/// The part of the output that the collective defines.
fn result(
    candidate: &Candidate,
    call: &Call,
    communicator: &Communicator,
) -> Result<Vec<u8>, ExecError> {
    let (rank, ranks) = (communicator.rank(), communicator.size());
    let mut runner = Runner::new(candidate, call, communicator, Wait::Yield)?;
    let buffer = |length| {
        let mut bytes = Bytes::zeroed(length as usize);
        for (place, byte) in bytes.as_mut_slice().iter_mut().enumerate() {
            *byte = ((place + rank as usize) % 31) as u8;
        }
        bytes
    };
    let input = buffer(call.input_bytes(rank, ranks));
    let mut output = buffer(call.output_bytes(rank, ranks));
    runner.call_once(communicator, input.as_slice(), output.as_mut_slice())?;
    let part = Call {
        in_place: false,
        ..*call
    };
    // In place the output is longer than the result where parts are combined.
    let length = (part.output_bytes(rank, ranks) as usize).min(output.as_slice().len());
    Ok(output.as_slice()[..length].to_vec())
}
