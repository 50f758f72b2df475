//! One launch, from the plan to the last record.
//!
//! The first record says with which ranks MPI has started the launch. The driver begins no task that needs more ranks
//! than it has, and none later than `COLLTUNE_UNTIL`, which the script of a batch job sets from the job's wall time.

use std::fs::File;
use std::num::NonZero;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::environment::{is_oversubscribed, shared_memory};
use benchmarking::{CellBenchmark, LaunchSession, Spool, SpoolError, TaskRunner};
use exec::{Call, Communicator, ExecError, NoChannels, NodeChannels, Universe, Wait};
use statistics::clock::ClockResolution;
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Experiment, Node, Pattern, RankOrder, Repetition,
    Synchronisation, Through, Warning,
};
use wire::{
    ColdCaches, Measurement, Plan, PlannedTask, PlannedWork, Record, TaskDone, TimeBreakdown,
};

use crate::buffers::{Buffers, needed_buffer_copies};
use crate::clock::GlobalClock;
use crate::computation::Computation;
use crate::error::{DriverError, failure_from_error, no_channels_failure};
use crate::executor::MpiExecutor;
use crate::rules::MpiConfiguration;
use crate::synchronise::{Synchroniser, WindowSynchroniser};
use crate::topology::Topology;
use crate::watchdog::Watchdog;
use crate::{environment, experiment};

/// The interval at which ranks that take no part check whether a task has ended.
const NAP: Duration = Duration::from_millis(1);

/// The delay with which other ranks end after an MPI error in a turn: once one rank ends, the launcher may kill the
/// others, and rank 0 must write the record first.
const AFTER_RANK_0: Duration = Duration::from_millis(500);

/// Carries out a plan. Called on every rank; only rank 0 reads the plan and writes records. `given` is the
/// configuration of MPI before the driver changed it.
pub(crate) fn run_plan(path: &Path, given: MpiConfiguration) -> Result<(), DriverError> {
    let start = Instant::now();
    let universe = Universe::start()?;
    carry_out_plan(path, universe.world(), start, given)?;
    Ok(universe.finish()?)
}

fn carry_out_plan(
    path: &Path,
    world: &Communicator,
    start: Instant,
    given: MpiConfiguration,
) -> Result<(), DriverError> {
    let plan = read_plan(path, world)?;
    let found = exec::identify_library();
    let spool = Spool::default();
    let launch = LaunchSession::new(&plan, &found, spool.clone())
        .map_err(|error| DriverError::from_plan_error(path, error))?;
    // Only rank 0 has a file, and all ranks run the same code.
    if world.rank() == 0 {
        spool.open_with(&plan.spool, |name| {
            File::options().create(true).append(true).open(name)
        })?;
    }
    let patience = Duration::from_secs_f64(plan.watchdog_seconds);
    let watchdog = Watchdog::start(
        patience,
        plan.parent_lock.clone(),
        spool.clone(),
        world.rank(),
    );
    let node = match plan.pretended_ppn {
        None => world.node()?,
        Some(ppn) => pretended_node(world, ppn)?,
    };
    let topology = Topology::discover(world, &node)?;
    let timer = environment::coarsest_clock(world)?;
    let node = environment::describe_own_node(&node, &plan)?;
    let nodes = environment::describe_all_nodes(world, &topology, &node)?;
    let mut environment = environment::collect_environment(world, found, &nodes, given)?;
    if let Some(needed) = shape_too_large(&plan, &topology) {
        // The record tells the tuner what was started. Once another rank ends, the launcher may kill rank 0.
        launch.record_start(unix_seconds(), environment)?;
        world.sleeping_barrier(NAP)?;
        return Err(topology.small_world_error(needed));
    }
    environment.cold = match plan.cache {
        CacheState::Warm => None,
        CacheState::Cold => Some(environment::cold_caches(world, &topology)?),
    };
    let cold = environment.cold;
    let clock = learn_clock(plan.synchronisation, world, &topology)?;
    if let Some(clock) = &clock {
        environment.clocks = clock.clocks_of_ranks(world)?;
        // Windows are unreliable where ranks share cores.
        if is_oversubscribed(&nodes, topology.launch_shape()) {
            environment.warnings.push(Warning::CrowdedWindows);
        }
    }
    let shared_bytes = shared_memory_limit()?;
    if needs_shared_memory(&plan) {
        let is_oversubscribed = is_oversubscribed(&nodes, topology.launch_shape());
        let real_node = world.node()?;
        match NodeChannels::open(world, &real_node, shared_bytes, is_oversubscribed)? {
            Ok(_) => environment.shared_memory = Some(true),
            // Fewer ranks may have memory in common, or need less.
            Err(NoChannels::Alone | NoChannels::Limit) => {}
            Err(reason @ (NoChannels::Refused | NoChannels::SwitchedOff)) => {
                environment.shared_memory = Some(false);
                let reason = reason.to_string();
                environment
                    .warnings
                    .push(Warning::NoSharedMemory { reason });
            }
        }
    }
    launch.record_start(unix_seconds(), environment)?;
    let session = Session {
        launch,
        world,
        topology,
        nodes,
        leaves_core: exec::leaves_core()?,
        timer,
        cold,
        clock,
        shared_bytes,
        until: environment::allocation_end(),
        watchdog,
    };
    let mut tasks = MpiTasks {
        session: &session,
        start,
    };
    session
        .launch
        .carry_out_tasks(&mut tasks)
        .map_err(|error| session.attribute_error(error))
}

/// The first shape of the plan for which the launch has too few ranks or nodes; the same on all ranks.
fn shape_too_large(plan: &Plan, topology: &Topology) -> Option<CommShape> {
    let world = topology.world();
    let mut shapes = plan.tasks.iter().map(|task| task.work.shape());
    shapes.find(|shape| !world.has_room_for(*shape))
}

/// Whether any task sends messages through shared memory.
fn needs_shared_memory(plan: &Plan) -> bool {
    plan.tasks.iter().any(|task| match &task.work {
        PlannedWork::Experiment(experiment) => experiment.through == Through::Shared,
        PlannedWork::Compare { candidates, .. } => candidates.iter().any(goes_through_shared),
    })
}

/// The limit of memory that this process may share with others on its node, in bytes.
fn shared_memory_limit() -> Result<u64, DriverError> {
    let value = std::env::var_os(shared_memory::VARIABLE);
    shared_memory::limit_from_value(value.as_deref()).ok_or_else(|| DriverError::SharedMemory {
        value: value.unwrap_or_default(),
    })
}

/// Seconds since the Unix epoch, on this host.
fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A communicator of the ranks on this rank's pretended node. Collective.
fn pretended_node(world: &Communicator, ppn: NonZero<u32>) -> Result<Communicator, ExecError> {
    let node_of = |rank: u32| rank / ppn;
    let mut mine = None;
    for node in 0..=node_of(world.size() - 1) {
        let part = world.subset(node_of(world.rank()) == node)?;
        mine = mine.or(part);
    }
    mine.map_or_else(|| world.duplicate(), Ok)
}

/// Learns the global clock, if the plan needs one.
fn learn_clock(
    way: Synchronisation,
    world: &Communicator,
    topology: &Topology,
) -> Result<Option<GlobalClock>, DriverError> {
    let pairs = benchmarking::clocks::synchronisation_rounds(topology.nodes());
    match way {
        Synchronisation::Barrier => Ok(None),
        Synchronisation::Window => GlobalClock::learn(world, &pairs).map(Some),
    }
}

/// Reads the plan on rank 0 and broadcasts it.
fn read_plan(path: &Path, world: &Communicator) -> Result<Plan, DriverError> {
    let mut text = Vec::new();
    if world.rank() == 0 {
        text = files::read(path).map_err(|source| DriverError::ReadPlan {
            path: path.to_owned(),
            source,
        })?;
    }
    world.broadcast_bytes(&mut text, 0)?;
    benchmarking::parse_plan(&text).map_err(|error| DriverError::from_plan_error(path, error))
}

struct Session<'a> {
    launch: LaunchSession<'a>,
    world: &'a Communicator,
    topology: Topology,
    /// The same on all ranks.
    nodes: Vec<Node>,
    /// Whether the library itself yields the core where ranks share cores.
    leaves_core: bool,
    /// The coarsest clock resolution of all ranks.
    timer: ClockResolution,
    /// The caches that must not contain the buffers of calls, if any.
    cold: Option<ColdCaches>,
    /// The global clock, kept from task to task.
    clock: Option<GlobalClock>,
    /// The limit of memory that this process may share with others on its node, in bytes.
    shared_bytes: u64,
    /// The end of the batch system's allocation, in seconds since 1970, if there is one.
    until: Option<u64>,
    watchdog: Watchdog,
}

/// Carries out tasks on the ranks of the launch.
struct MpiTasks<'a> {
    session: &'a Session<'a>,
    /// The start of the launch, on this rank.
    start: Instant,
}

impl TaskRunner for MpiTasks<'_> {
    type Error = DriverError;

    /// Rank 0's clocks decide.
    fn may_begin(&mut self, deadline_seconds: f64) -> Result<bool, DriverError> {
        let in_time = self.start.elapsed().as_secs_f64() < deadline_seconds
            && self.session.until.is_none_or(|end| unix_seconds() < end);
        let mut answer = vec![u8::from(in_time)];
        self.session.world.broadcast_bytes(&mut answer, 0)?;
        Ok(answer == [1])
    }

    fn carry_out_task(
        &mut self,
        task: &PlannedTask,
        record: impl FnOnce(TaskDone) -> Result<(), SpoolError>,
    ) -> Result<(), DriverError> {
        self.session.carry_out_task(task, record)
    }

    /// Ranks that take no part wait here without using a core.
    fn end_task(&mut self) -> Result<(), DriverError> {
        Ok(self.session.world.sleeping_barrier(NAP)?)
    }
}

impl Session<'_> {
    /// Attributes an MPI error during a candidate's turn to that candidate.
    fn attribute_error(&self, error: DriverError) -> DriverError {
        let DriverError::Mpi(source) = error else {
            return error;
        };
        let Some((task, candidate)) = self.watchdog.interrupt_turn() else {
            return DriverError::Mpi(source);
        };
        if self.world.rank() != 0 {
            std::thread::sleep(AFTER_RANK_0);
        }
        match self
            .launch
            .spool()
            .write_record(&failure_from_error(&source).into_record(task, candidate))
        {
            Ok(()) => DriverError::Turn {
                task,
                candidate,
                source,
            },
            Err(write_error) => write_error.into(),
        }
    }

    /// Carries out a task, and calls `record` while the task's communicator exists; not on ranks that take no part.
    fn carry_out_task(
        &self,
        task: &PlannedTask,
        record: impl FnOnce(TaskDone) -> Result<(), SpoolError>,
    ) -> Result<(), DriverError> {
        let begin = Instant::now();
        let needed = task.work.shape();
        let members = self.task_members(&task.work);
        let members = members.ok_or_else(|| self.topology.small_world_error(needed))?;
        let nodes = self.topology.nodes_among(&members);
        let is_member = members.contains(&self.world.rank());
        let Some(mut communicator) = self.world.subset(is_member)? else {
            return Ok(());
        };
        communicator.set_nodes(schedule::Nodes::from_rank_lists(&nodes));
        let (measurements, spent) = match &task.work {
            PlannedWork::Compare { cell, candidates } => {
                self.compare_candidates(task, (cell, candidates), &communicator, &nodes)?
            }
            PlannedWork::Experiment(what) => {
                self.run_experiment(task, what, &communicator, &nodes)?
            }
        };
        let elapsed_seconds = begin.elapsed().as_secs_f64();
        record(TaskDone {
            task: task.id,
            order: RankOrder::from_nodes(&nodes),
            elapsed_seconds,
            spent: Some(spent),
            measurements,
        })?;
        // Freed only now: if a library crashes or hangs here, the measurements are safe, and no candidate is blamed.
        drop(communicator);
        Ok(())
    }

    /// Compares the candidates of a cell. `nodes` lists the communicator's ranks on each node. Returns the
    /// measurements and how the time was spent. Collective.
    fn compare_candidates(
        &self,
        task: &PlannedTask,
        (cell, candidates): (&Cell, &[Candidate]),
        communicator: &Communicator,
        nodes: &[Vec<u32>],
    ) -> Result<(Vec<Measurement>, TimeBreakdown), DriverError> {
        if task.pattern == Pattern::Skewed && self.clock.is_none() {
            return Err(DriverError::SkewedAtBarrier(task.id));
        }
        let comparing = Instant::now();
        self.watchdog.begin_comparison(communicator.size());
        let synchroniser = self.make_synchroniser(communicator, nodes)?;
        self.watchdog.end_step();
        let comparing_seconds = comparing.elapsed().as_secs_f64();
        let seed =
            self.launch.plan().seed ^ u64::from(task.round).rotate_left(32) ^ u64::from(task.id);
        let benchmark = CellBenchmark {
            seed: Some(seed),
            ..self
                .launch
                .benchmark_for(task, candidates, task.pattern, self.timer)
        };
        let began = Instant::now();
        let (call, rank) = (Call::from(cell), communicator.rank());
        let copies = needed_buffer_copies(&call, rank, nodes, self.cold);
        let mut executor = MpiExecutor {
            task: task.id,
            pattern: task.pattern,
            computation: (task.pattern == Pattern::Overlapped).then(Computation::calibrate),
            buffers: Buffers::new(&call, rank, communicator.size(), copies),
            call,
            seed,
            synchroniser: &synchroniser,
            communicator,
            channels: if candidates.iter().any(goes_through_shared) {
                self.open_channels(cell.shape, communicator)?
            } else {
                Err(NoChannels::SwitchedOff)
            },
            spool: self.launch.spool(),
            watchdog: &self.watchdog,
            began,
        };
        let (measurements, mut spent) = benchmark.measure_candidates(&mut executor)?;
        spent.starting_seconds += comparing_seconds;
        Ok((measurements, spent))
    }

    /// Opens channels of shared memory. Collective.
    fn open_channels(
        &self,
        shape: CommShape,
        communicator: &Communicator,
    ) -> Result<Result<Rc<NodeChannels>, NoChannels>, ExecError> {
        let is_oversubscribed = is_oversubscribed(&self.nodes, shape);
        let node = communicator.node()?;
        NodeChannels::open(communicator, &node, self.shared_bytes, is_oversubscribed)
    }

    /// Runs an experiment. `nodes` lists the communicator's ranks on each node. Returns the measurement and how the
    /// time was spent. Collective.
    fn run_experiment(
        &self,
        task: &PlannedTask,
        what: &Experiment,
        communicator: &Communicator,
        nodes: &[Vec<u32>],
    ) -> Result<(Vec<Measurement>, TimeBreakdown), DriverError> {
        let begin = || self.watchdog.begin_turn(task.id, 0);
        begin();
        self.launch.spool().write_record(&Record::Trying {
            task: task.id,
            candidate: 0,
        })?;
        // The watchdog times the experiment as one turn, so its slice must be much shorter than the limit.
        let longest = self.launch.plan().watchdog_seconds / 4.0;
        let repetition = Repetition {
            slice_seconds: self.launch.plan().repetition.slice_seconds.min(longest),
            ..self.launch.plan().repetition
        };
        let channels = match what.through {
            Through::Mpi => None,
            Through::Shared => match self.open_channels(what.shape, communicator)? {
                Ok(channels) => Some(channels),
                Err(reason) => {
                    self.watchdog.end_step();
                    self.launch
                        .spool()
                        .write_record(&no_channels_failure(reason).into_record(task.id, 0))?;
                    return Ok((Vec::new(), TimeBreakdown::default()));
                }
            },
        };
        let setting = experiment::Setting {
            communicator,
            nodes,
            wait: self.wait_mode_for_shape(what.shape),
            channels,
        };
        let (measured, spent) =
            experiment::measure_experiment(what, &repetition, &self.timer, setting, &begin)?;
        self.watchdog.end_step();
        Ok((vec![measured], spent))
    }

    /// The way the ranks of a shape wait for messages. A spinning rank would take the core from those that it waits for.
    fn wait_mode_for_shape(&self, shape: CommShape) -> Wait {
        if is_oversubscribed(&self.nodes, shape) && !self.leaves_core {
            Wait::Yield
        } else {
            Wait::Block
        }
    }

    /// Makes the synchroniser of a task with ranks on these nodes. Collective.
    fn make_synchroniser<'s>(
        &'s self,
        communicator: &'s Communicator,
        nodes: &[Vec<u32>],
    ) -> Result<Synchroniser<'s>, DriverError> {
        // All ranks wait in the same way, since this decides which repetitions are valid. In an oversubscribed launch
        // no rank is bound to a core, so a rank that spins until a start may delay another one, even if few take
        // part.
        let wait = if is_oversubscribed(&self.nodes, self.topology.launch_shape()) {
            Wait::Yield
        } else {
            Wait::Block
        };
        Ok(match &self.clock {
            None => Synchroniser::Barrier(communicator),
            Some(clock) => {
                let window = WindowSynchroniser::new(clock, communicator, nodes, wait)?;
                Synchroniser::Window(window)
            }
        })
    }

    /// The world ranks that take part in a task; `None` if there are too few.
    fn task_members(&self, work: &PlannedWork) -> Option<Vec<u32>> {
        match work {
            PlannedWork::Compare { cell, .. } => self.topology.members_for_shape(cell.shape),
            PlannedWork::Experiment(experiment) => {
                let members = self.topology.members_for_shape(experiment.shape)?;
                let first = members.get(..experiment::ranks_needed(experiment));
                first.map(<[u32]>::to_vec)
            }
        }
    }
}

fn goes_through_shared(candidate: &Candidate) -> bool {
    candidate.parameters().through == Through::Shared
}
