//! Irregular collectives: random counts with zeros, displacements with gaps, datatypes that differ between ranks and
//! between blocks, and calls in place. What each rank must get is computed here.

use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use exec::constants::{MPI_Datatype, in_place};
use exec::{
    Bytes, Communicator, ExecError, GivenCounts, IrregularCall, IrregularShape, RawBlocks,
    RawIrregularCall, Wait,
};
use schedule::{ALGORITHMS, Algorithm, Collective, Nodes, Parameter, Placed, Unsupported};
use vocabulary::{Parameters, Through};

use crate::doing;
use crate::kind::{Kind, kinds};
use crate::lean::ALLOCATIONS;
use crate::shared;

/// Calls with other arguments, one after the other, of each prepared collective.
const CALLS: u32 = 10;
/// The fewest calls on several ranks for each algorithm and transport.
const LEAST: u32 = 40;
const GUARD: isize = 64;
const PATTERN: u8 = 0xa5;
/// The number of failures that a rank prints.
const TOLD: u32 = 5;

/// Numbers that depend on a case alone, so that all ranks have the same.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(case: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        case.hash(&mut hasher);
        Self(hasher.finish())
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        self.0 = hasher.finish();
        (self.0 >> 20) % bound
    }

    fn is(&mut self, one_of: u64) -> bool {
        self.below(one_of) == 0
    }
}

/// A block of a buffer: the numbers that a rank has for another one.
#[derive(Clone)]
struct Part {
    from: u32,
    to: u32,
    numbers: u64,
    kind: usize,
    displacement: isize,
}

/// A buffer with blocks in it, and guards around them.
struct Area<'a> {
    kinds: &'a [Kind],
    parts: Vec<Part>,
    bytes: Bytes,
    base: isize,
    counts: [Vec<c_int>; 2],
    large: [Vec<i64>; 2],
    types: Vec<MPI_Datatype>,
    is_large: bool,
    is_typed: bool,
}

/// The number that one rank has for another one.
fn value(from: u32, to: u32, number: u64) -> i32 {
    let mixed = (u64::from(from) << 40) ^ (u64::from(to) << 20) ^ number;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as i32
}

impl<'a> Area<'a> {
    /// Places blocks with random gaps and in random order, or one after the other; one that is alone at the start.
    fn new(
        kinds: &'a [Kind],
        mut parts: Vec<Part>,
        is_typed: bool,
        is_alone: bool,
        dice: &mut Dice,
    ) -> Self {
        let is_joined = is_alone || dice.is(3);
        let mut order: Vec<usize> = (0..parts.len()).collect();
        if !is_joined {
            for last in (1..order.len()).rev() {
                order.swap(last, dice.below(last as u64 + 1) as usize);
            }
        }
        // Displacements may be negative.
        let mut end = if is_joined {
            0
        } else {
            -(dice.below(200) as isize)
        };
        let start = end;
        for place in order {
            let part = &mut parts[place];
            let kind = &kinds[part.kind];
            let extent = kind.datatype.extent();
            let unit = if is_typed { 8 } else { extent };
            let gap = if is_joined { 0 } else { dice.below(3) as isize };
            let low = kind
                .fields
                .iter()
                .map(|(offset, _)| *offset)
                .min()
                .unwrap_or(0);
            let units =
                (end - low).div_euclid(unit) + isize::from((end - low).rem_euclid(unit) > 0);
            part.displacement = if is_alone { 0 } else { (units + gap) * unit };
            let elements = (part.numbers / kind.numbers()) as isize;
            if elements > 0 {
                end = part.displacement + elements * extent;
            }
        }
        let base = GUARD + (16 - start).unsigned_abs().next_multiple_of(16) as isize;
        let mut area = Self {
            kinds,
            bytes: Bytes::filled((base + end + GUARD) as usize, PATTERN),
            base,
            counts: [Vec::new(), Vec::new()],
            large: [Vec::new(), Vec::new()],
            types: Vec::new(),
            is_large: dice.is(3),
            is_typed,
            parts,
        };
        for part in &area.parts {
            let kind = &kinds[part.kind];
            let unit = if is_typed { 1 } else { kind.datatype.extent() };
            let numbers = [
                (part.numbers / kind.numbers()) as i64,
                (part.displacement / unit) as i64,
            ];
            for (which, number) in numbers.into_iter().enumerate() {
                area.counts[which].push(number as c_int);
                area.large[which].push(number);
            }
            area.types.push(kind.datatype.raw());
        }
        area
    }

    fn address(&mut self) -> *mut u8 {
        let start = self.bytes.as_mut_slice().as_mut_ptr();
        start.wrapping_offset(self.base)
    }

    /// Writes the numbers of some blocks.
    fn fill(&mut self, is_filled: impl Fn(&Part) -> bool) {
        for part in self.parts.iter().filter(|part| is_filled(part)) {
            let kind = &self.kinds[part.kind];
            for number in 0..part.numbers {
                let (element, field) = (number / kind.numbers(), number % kind.numbers());
                let (place, _) = kind.fields[field as usize];
                let extent = kind.datatype.extent();
                let start = self.base + part.displacement + element as isize * extent + place;
                let bytes = value(part.from, part.to, number).to_ne_bytes();
                self.bytes.as_mut_slice()[start as usize..][..4].copy_from_slice(&bytes);
            }
        }
    }

    fn blocks(&self) -> RawBlocks {
        let [counts, displacements] = if self.is_large {
            self.large
                .each_ref()
                .map(|all| GivenCounts::Large(all.as_ptr()))
        } else {
            self.counts
                .each_ref()
                .map(|all| GivenCounts::Int(all.as_ptr()))
        };
        if self.is_typed {
            RawBlocks::with_types(counts, displacements, self.types.as_ptr())
        } else {
            RawBlocks::of_ranks(counts, displacements, self.types[0])
        }
    }

    /// The only block, at the start of the buffer.
    fn one_block(&self) -> RawBlocks {
        RawBlocks::one(self.large[0][0], self.types[0])
    }
}

/// Arguments that must not be read.
fn insignificant(is_typed: bool) -> RawBlocks {
    let nowhere = std::ptr::without_provenance::<c_int>(1);
    if is_typed {
        RawBlocks::with_types(nowhere, nowhere, std::ptr::without_provenance(1))
    } else {
        // SAFETY: a constant of the library.
        RawBlocks::of_ranks(nowhere, nowhere, unsafe { mpi::ffi::RSMPI_DATATYPE_NULL })
    }
}

/// The numbers that each rank has for each: in a call with parts, row 0 has them.
fn random_numbers(ranks: u32, is_symmetric: bool, dice: &mut Dice) -> Vec<Vec<u64>> {
    let style = dice.below(5);
    let mut number = || {
        4 * match style {
            0 => 0,
            1 => 3,
            2 => u64::from(dice.is(4)) * dice.below(50),
            _ => match dice.below(8) {
                0..3 => 0,
                3..7 => dice.below(9),
                // Receives are posted ahead.
                _ => 1000 + dice.below(2000),
            },
        }
    };
    let mut all: Vec<Vec<u64>> = (0..ranks)
        .map(|_| (0..ranks).map(|_| number()).collect())
        .collect();
    if is_symmetric {
        let size = ranks as usize;
        let below = (0..size).flat_map(|row| (0..row).map(move |column| (row, column)));
        for (row, column) in below {
            all[row][column] = all[column][row];
        }
    }
    all
}

/// One rank's call.
struct Call<'a> {
    input: Area<'a>,
    output: Area<'a>,
    /// What the output must become.
    expected: Vec<u8>,
    arguments: RawIrregularCall,
}

struct Case {
    collective: Collective,
    rank: u32,
    ranks: u32,
    root: u32,
    asks_in_place: bool,
}

impl Case {
    /// The numbers of all blocks of a call, the same on all ranks.
    fn numbers(&self, dice: &mut Dice) -> Vec<Vec<u64>> {
        let is_symmetric = self.asks_in_place && self.collective.has_block_counts();
        random_numbers(self.ranks, is_symmetric, dice)
    }

    fn call<'a>(&self, kinds: &'a [Kind], numbers: &[Vec<u64>], own: &mut Dice) -> Call<'a> {
        let &Self {
            collective,
            rank,
            ranks,
            root,
            asks_in_place,
        } = self;
        let is_root = rank == root;
        let is_typed = collective == Collective::Alltoallw;
        let has_blocks = collective.has_block_counts();
        let (gives_all, takes_all) = match collective {
            Collective::Gatherv => (false, is_root),
            Collective::Scatterv => (is_root, false),
            Collective::Allgatherv => (false, true),
            _ => (true, true),
        };
        let is_in_place = asks_in_place && (is_root || !collective.is_rooted());
        let length = |from: u32, to: u32| match collective {
            Collective::Scatterv => numbers[0][to as usize],
            _ if has_blocks => numbers[from as usize][to as usize],
            _ => numbers[0][from as usize],
        };
        // The receiver does not matter where all get the same, nor does the sender if it is the root.
        let part = |from: u32, to: u32, kind: u64| Part {
            from: if collective == Collective::Scatterv {
                root
            } else {
                from
            },
            to: if has_blocks || collective == Collective::Scatterv {
                to
            } else {
                0
            },
            numbers: length(from, to),
            kind: kind as usize,
            displacement: 0,
        };
        let known = kinds.len() as u64;
        let area = |is_input: bool, dice: &mut Dice| {
            let gets_all = if is_input { gives_all } else { takes_all };
            let has_any = match collective {
                Collective::Gatherv => is_input || is_root,
                Collective::Scatterv => !is_input || is_root,
                _ => true,
            };
            let same = dice.below(known);
            let others: Vec<u32> = match (has_any, gets_all) {
                (false, _) => vec![],
                (true, true) => (0..ranks).collect(),
                (true, false) => vec![rank],
            };
            let parts: Vec<Part> = others
                .into_iter()
                .map(|other| {
                    let kind = if is_typed { dice.below(known) } else { same };
                    match (gets_all, is_input) {
                        (true, true) => part(rank, other, kind),
                        (true, false) => part(other, rank, kind),
                        (false, _) => part(rank, rank, kind),
                    }
                })
                .collect();
            Area::new(kinds, parts, is_typed, !gets_all, dice)
        };
        let (mut input, mut output) = (area(true, own), area(false, own));
        let gives_in_output = is_in_place && collective != Collective::Scatterv;
        if gives_in_output {
            let gives = |given: &Part| has_blocks || given.from == rank;
            // In an alltoall, the block for a rank is where the one from it will be.
            if has_blocks {
                for block in &mut output.parts {
                    std::mem::swap(&mut block.from, &mut block.to);
                }
                output.fill(gives);
                for block in &mut output.parts {
                    std::mem::swap(&mut block.from, &mut block.to);
                }
            } else {
                output.fill(gives);
            }
        } else {
            input.fill(|_| true);
        }
        let mut arguments = RawIrregularCall {
            collective,
            send: input.address().cast(),
            sent: insignificant(is_typed),
            recv: output.address().cast(),
            received: insignificant(is_typed),
            root: root as c_int,
        };
        let nowhere = std::ptr::without_provenance_mut(1);
        let mut takes = true;
        match (gives_in_output, input.parts.is_empty()) {
            (true, _) => arguments.send = in_place(),
            (false, true) => arguments.send = nowhere,
            (false, false) if gives_all => arguments.sent = input.blocks(),
            (false, false) => arguments.sent = input.one_block(),
        }
        if is_in_place && collective == Collective::Scatterv {
            arguments.recv = in_place().cast_mut();
            takes = false;
        } else if output.parts.is_empty() {
            arguments.recv = nowhere;
        } else if takes_all {
            arguments.received = output.blocks();
        } else {
            arguments.received = output.one_block();
        }
        let before = output.bytes.clone();
        if takes {
            output.fill(|_| true);
        }
        let expected = std::mem::replace(&mut output.bytes, before);
        arguments = RawIrregularCall {
            // The memory has moved.
            recv: if arguments.recv == nowhere || !takes {
                arguments.recv
            } else {
                output.address().cast()
            },
            ..arguments
        };
        Call {
            input,
            output,
            expected: expected.as_slice().to_vec(),
            arguments,
        }
    }
}

/// Choices of parameters.
fn parameters(algorithm: &Algorithm, through: Through) -> Vec<Parameters> {
    let plain = Parameters {
        through,
        ..Parameters::default()
    };
    let mut all = vec![plain.clone()];
    if algorithm.takes(Parameter::MaxRequests) {
        all.extend([1, 2].map(|max_requests| Parameters {
            max_requests: Some(max_requests),
            ..plain.clone()
        }));
    }
    if algorithm.takes(Parameter::Radix) {
        all.push(Parameters {
            radix: Some(3),
            ..plain.clone()
        });
    }
    if algorithm.takes(Parameter::Bcast) {
        for bcast in ["chain", "scatter_allgather", "circulant", "linear"] {
            all.extend([Some(3), None].map(|blocks| Parameters {
                bcast: Some(bcast.to_owned()),
                blocks,
                block_bytes: blocks.is_none().then_some(64),
                ..plain.clone()
            }));
        }
    }
    all
}

/// Pretended nodes.
fn all_nodes(algorithm: &Algorithm, ranks: u32) -> Vec<Nodes> {
    let mut all = vec![Nodes::one_node(ranks)];
    if algorithm.knows_nodes() {
        let placed = [Placed::Block { per_node: 2 }, Placed::Cyclic { nodes: 2 }];
        all.extend(
            placed
                .iter()
                .filter_map(|placed| placed.resolve_nodes(ranks)),
        );
    }
    all
}

/// Tries all algorithms; returns the number of failures on this rank.
pub(crate) fn run(world: &Communicator) -> Result<u32, ExecError> {
    let start = Instant::now();
    let mut kinds = kinds()?;
    kinds.retain(Kind::is_of_integers);
    let (mut calls, mut failures) = (0, 0);
    for size in (1..=5.min(world.size())).chain((world.size() > 5).then_some(world.size())) {
        if let Some(part) = world.subset(world.rank() < size)? {
            for (through, node) in [
                (Through::Mpi, None),
                (Through::Shared, Some((|_| 0) as fn(u32) -> u32)),
                (Through::Shared, Some(|rank| rank / 2)),
            ] {
                if size == 1 && node.is_some() || size == 2 && node.is_some_and(|of| of(1) != of(0))
                {
                    continue;
                }
                let mut part = part.duplicate()?;
                if let Some(node) = node {
                    shared::connect(&mut part, node, shared::LIMIT)?;
                }
                let counts = try_all(&mut part, &kinds, through)?;
                calls += counts[0];
                failures += counts[1];
            }
            if world.rank() == 0 {
                println!("{size} ranks: {:.1} s", start.elapsed().as_secs_f64());
            }
        }
        world.sleeping_barrier(Duration::from_millis(1))?;
    }
    if world.rank() == 0 {
        println!("{calls} irregular calls gave what MPI defines");
    }
    Ok(failures)
}

/// The numbers of calls and of failures.
fn try_all(
    communicator: &mut Communicator,
    kinds: &[Kind],
    through: Through,
) -> Result<[u32; 2], ExecError> {
    let ranks = communicator.size();
    let (mut calls, mut failures) = (0, 0);
    for algorithm in ALGORITHMS
        .iter()
        .filter(|row| row.collective.is_irregular())
    {
        let mut own_calls = 0;
        let mut roots = vec![0];
        if algorithm.collective.is_rooted() && ranks > 1 {
            roots.push(ranks - 1);
        }
        for nodes in all_nodes(algorithm, ranks) {
            for (index, parameters) in parameters(algorithm, through).iter().enumerate() {
                for root in &roots {
                    for in_place in [false, true] {
                        communicator.set_nodes(nodes.clone());
                        let case = Case {
                            collective: algorithm.collective,
                            rank: communicator.rank(),
                            ranks,
                            root: *root,
                            asks_in_place: in_place,
                        };
                        let key = (algorithm.name(), ranks, index, root, in_place);
                        let found = case.run(algorithm, parameters, kinds, key, communicator)?;
                        own_calls += found[0];
                        failures += found[1];
                    }
                }
            }
        }
        let is_served = !algorithm.even_ranks || ranks.is_multiple_of(2);
        if ranks > 1 && is_served && own_calls < LEAST {
            eprintln!("{algorithm} was called only {own_calls} times");
            failures += 1;
        }
        calls += own_calls;
    }
    communicator.set_nodes(Nodes::one_node(ranks));
    Ok([calls, failures])
}

impl Case {
    fn run(
        &self,
        algorithm: &'static Algorithm,
        parameters: &Parameters,
        kinds: &[Kind],
        key: impl Hash,
        communicator: &Communicator,
    ) -> Result<[u32; 2], ExecError> {
        let mut dice = Dice::of(key);
        let mut own = Dice::of((dice.below(1 << 30), self.rank));
        let wait = if dice.is(2) || self.ranks > 2 {
            Wait::Yield
        } else {
            Wait::Block
        };
        let new = |total_bytes| {
            let shape = IrregularShape {
                root: self.root,
                in_place: self.asks_in_place
                    && (self.rank == self.root || !algorithm.collective.is_rooted()),
                total_bytes,
            };
            IrregularCall::new(algorithm, parameters, shape, communicator, wait)
        };
        let mut prepared = match new(0) {
            Err(ExecError::Unsupported(
                Unsupported::UnlikeNodes { .. } | Unsupported::OddRanks { .. },
            )) => return Ok([0, 0]),
            made => made?,
        };
        let (mut calls, mut failures) = (0, 0);
        for turn in 0..CALLS {
            doing(format!(
                "{algorithm}{parameters} on {} ranks, call {turn}",
                self.ranks
            ));
            let numbers = self.numbers(&mut dice);
            if algorithm.takes(Parameter::Blocks) {
                prepared = new(4 * numbers[0].iter().sum::<u64>())?;
            }
            let mut call = self.call(kinds, &numbers, &mut own);
            let (before, given) = (call.output.bytes.clone(), call.input.bytes.clone());
            // The second time with the same arguments.
            for time in 0..2 {
                call.output
                    .bytes
                    .as_mut_slice()
                    .copy_from_slice(before.as_slice());
                let allocated = ALLOCATIONS.load(Ordering::Relaxed);
                // SAFETY: the memory is what the arguments say.
                unsafe { prepared.call(communicator, &call.arguments)? };
                let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocated;
                if time > 0 && allocations > 0 {
                    eprintln!(
                        "{algorithm}{parameters}: {allocations} allocations in a repeated call"
                    );
                    failures += 1;
                }
                calls += 1;
                let is_right = call.output.bytes.as_slice() == call.expected
                    && call.input.bytes.as_slice() == given.as_slice();
                if !is_right {
                    failures += 1;
                    if failures <= TOLD {
                        eprintln!(
                            "rank {} of {}: {algorithm}{parameters} with root {}{}, call {turn}.{time}: {numbers:?}",
                            self.rank,
                            self.ranks,
                            self.root,
                            if self.asks_in_place { ", in place" } else { "" },
                        );
                    }
                }
            }
            let own_bytes =
                (call.input.bytes.as_slice().len() + call.output.bytes.as_slice().len()) as u64;
            // The root of a gather passes on nothing, but a tree's inner ranks do.
            let all_bytes = 4 * numbers.iter().flatten().sum::<u64>();
            if prepared.kept_bytes() > 2 * own_bytes.max(all_bytes) {
                eprintln!("{algorithm} keeps {} bytes", prepared.kept_bytes());
                failures += 1;
            }
        }
        Ok([calls, failures])
    }
}
