//! Wrong arguments that the calling rank alone can prove.
//!
//! The library gets such a call untouched, and before ranks agree on anything: its own error class and handler are what
//! the program sees, and no rank waits for one whose call has failed. Nothing that may differ between the ranks of a
//! valid program proves anything.
//!
//! Where libraries differ, such as in equal buffers, the library is asked, by a call on `MPI_COMM_SELF`, or on a communicator
//! like it where the program's threads may use that at the same time.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use exec::constants::{
    MPI_Datatype, MPI_Op, datatype_name, in_place, is_defined, is_predefined, no_operator,
    operator_name,
};
use exec::{Communicator, RawBlocks, RawCall, RawIrregularCall, is_named};
use mpi::ffi;
use schedule::Collective;

use crate::FallbackReason;
use crate::attach::SilencedCommunicator;
use crate::attribute::Attributes;
use crate::predefined::PredefinedTypes;
use crate::threads::lock;

/// A call as the program makes it, on an intracommunicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedCall<'a> {
    pub(crate) call: &'a RawCall,
    /// This rank, and the number of ranks.
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
}

/// The rank that makes a call of an irregular collective.
#[derive(Debug)]
pub(crate) struct AskingRank<'a> {
    /// This rank, and the number of ranks.
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
    /// The predefined datatypes of its earlier calls, to which those of this call are added.
    pub(crate) predefined: &'a mut PredefinedTypes,
}

/// The elements of a buffer.
#[derive(Clone, Copy, Debug)]
struct BufferElements {
    buffer: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
}

/// An input and an output that are the same memory.
#[derive(Clone, Copy, Debug)]
struct SameMemory {
    /// The distance of the input's address from the output's, in bytes.
    distance: isize,
    elements: i64,
}

/// What the library has said about arguments. It is asked by calls on a communicator of this process alone.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    operations: Mutex<Vec<LibraryAnswer<Operation>>>,
    /// By collective, for one element and for more.
    same_buffers: Mutex<Vec<LibraryAnswer<(Collective, bool)>>>,
    /// By the output of an exscan on the first rank.
    missing_outputs: Mutex<Vec<LibraryAnswer<MissingOutput>>>,
}

/// An operator, and the datatype of what it combines.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Operation {
    operator: MPI_Op,
    datatype: MPI_Datatype,
}

// SAFETY: handles of MPI are valid in all threads.
unsafe impl Send for Operation {}

/// What a program gives as the output of an exscan on the first rank, where MPI says that it is not significant (MPI 4.0,
/// section 6.11.2). Some libraries look at it all the same, and refuse the call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MissingOutput {
    InPlace,
    Null,
}

/// Whether the library refuses something.
#[derive(Clone, Copy, Debug)]
struct LibraryAnswer<Question> {
    question: Question,
    is_refused: bool,
}

impl Answers {
    /// The reason to leave a call to the library before anything else is done, if there is one: this rank alone can
    /// prove that an argument is wrong, or the operator is not known to be defined for the datatype.
    ///
    /// # Safety
    ///
    /// Handles that are not null are valid, and `counts` has one count per rank or is null.
    pub(crate) unsafe fn why_not(
        &self,
        asked: AskedCall<'_>,
        attributes: &Attributes,
    ) -> Option<FallbackReason> {
        let AskedCall { call, ranks, .. } = asked;
        let combines = call.collective.is_reduction();
        if !(0..ranks).contains(&call.root) || combines && call.operator == no_operator() {
            return Some(FallbackReason::Invalid);
        }
        // SAFETY: the caller promises that handles that are not null are valid, and that `counts` has one count per
        // rank or is null.
        unsafe {
            let Some(sides) = buffer_sides(asked) else {
                return Some(FallbackReason::Invalid);
            };
            let mut sides = sides.iter().flatten();
            if !sides.all(|side| side.is_valid(attributes)) {
                return Some(FallbackReason::Invalid);
            }
            if combines && !self.carries_out(call.operator, call.recv_type, attributes) {
                return Some(FallbackReason::Undefined {
                    operator: operator_name(call.operator),
                    datatype: datatype_name(call.recv_type),
                });
            }
            if let Some(missing) = missing_output(asked)
                && self.refuses_missing(missing, attributes)
            {
                return Some(FallbackReason::Invalid);
            }
            let same = same_memory(asked).filter(|same| same.distance == distance(call))?;
            self.refuses_same(call.collective, same, attributes)
                .then_some(FallbackReason::Invalid)
        }
    }

    /// Whether the library refuses an exscan without an output on the first rank.
    fn refuses_missing(&self, missing: MissingOutput, attributes: &Attributes) -> bool {
        answer_once(&self.missing_outputs, missing, || {
            let output = match missing {
                MissingOutput::InPlace => in_place().cast_mut(),
                MissingOutput::Null => std::ptr::null_mut(),
            };
            // SAFETY: a constant of the library.
            let datatype = unsafe { ffi::RSMPI_INT32_T };
            // SAFETY: the input holds an element, and the only rank of the communicator has no output.
            unsafe {
                library_refuses(attributes, |input, _| {
                    RawCall::new(Collective::Exscan, input.cast(), output, 1, datatype)
                })
            }
        })
    }

    /// Whether this rank alone can prove that an argument of an irregular collective is wrong. A block without elements
    /// may have any type and any address.
    ///
    /// # Safety
    ///
    /// Handles that are not null are valid; arrays that are significant have one entry for each rank or are null.
    pub(crate) unsafe fn is_wrong_irregular(
        &self,
        call: &RawIrregularCall,
        asking: AskingRank<'_>,
        attributes: &Attributes,
    ) -> bool {
        let AskingRank {
            rank,
            ranks,
            predefined,
        } = asking;
        if !(0..ranks).contains(&call.root) {
            return true;
        }
        let significant = call.significant_buffers(rank);
        let sides = [
            (significant.send, call.send, &call.sent),
            (significant.recv, call.recv.cast_const(), &call.received),
        ];
        let mut significant_sides = sides
            .into_iter()
            .filter(|(is_significant, ..)| *is_significant);
        significant_sides.any(|(_, buffer, blocks)| {
            // SAFETY: the caller promises valid handles, and arrays with one entry for each rank where they are
            // significant, unless they are null.
            unsafe { is_wrong_side(buffer, blocks, ranks, predefined, attributes) }
        })
    }

    /// Whether MPI defines an operator for a datatype, and the library carries it out. If it does not, combining would
    /// fail when messages are already under way, and other ranks would wait for the rest of them.
    ///
    /// # Safety
    ///
    /// The handles are valid.
    unsafe fn carries_out(
        &self,
        operator: MPI_Op,
        datatype: MPI_Datatype,
        attributes: &Attributes,
    ) -> bool {
        if !is_defined(operator, datatype) {
            return false;
        }
        // The program's own operators are defined for all datatypes that it uses them with.
        if !is_predefined(operator) {
            return true;
        }
        let question = Operation { operator, datatype };
        let is_refused = answer_once(&self.operations, question, || {
            let call = |send, recv| {
                RawCall::new(Collective::Allreduce, send, recv, 1, datatype).with_operator(operator)
            };
            // SAFETY: the buffers hold an element, since predefined ones are no longer than this.
            unsafe { library_refuses(attributes, |send, recv| call(send.cast(), recv.cast())) }
        });
        !is_refused
    }

    /// The distance of the input's address from the output's at which both are the same memory and the library refuses
    /// the call for that.
    ///
    /// # Safety
    ///
    /// As for [`Self::why_not`], for a call without other errors.
    pub(crate) unsafe fn refused_distance(
        &self,
        asked: AskedCall<'_>,
        attributes: &Attributes,
    ) -> Option<isize> {
        // SAFETY: the caller promises valid handles, one count per rank where there are counts, and a call without
        // other errors.
        let same = unsafe { same_memory(asked) }?;
        let is_refused = self.refuses_same(asked.call.collective, same, attributes);
        is_refused.then_some(same.distance)
    }

    /// Whether the library refuses calls of which the input and the output are the same memory.
    fn refuses_same(
        &self,
        collective: Collective,
        same: SameMemory,
        attributes: &Attributes,
    ) -> bool {
        let elements = same.elements.min(2) as c_int;
        answer_once(&self.same_buffers, (collective, elements == 1), || {
            // SAFETY: a constant of the library.
            let datatype = unsafe { ffi::RSMPI_INT32_T };
            let call = |buffer: *mut u8| RawCall {
                counts: (&raw const elements).into(),
                ..RawCall::new(collective, buffer.cast(), buffer.cast(), elements, datatype)
                    .with_sent_elements(elements, datatype)
            };
            // SAFETY: the buffer holds the elements.
            unsafe { library_refuses(attributes, |_, recv| call(recv)) }
        })
    }
}

/// The answer to a question, which the library is asked once.
fn answer_once<Question: Copy + PartialEq>(
    known: &Mutex<Vec<LibraryAnswer<Question>>>,
    question: Question,
    ask: impl FnOnce() -> bool,
) -> bool {
    let mut known = lock(known);
    if let Some(answer) = known.iter().find(|answer| answer.question == question) {
        return answer.is_refused;
    }
    let is_refused = ask();
    known.push(LibraryAnswer {
        question,
        is_refused,
    });
    is_refused
}

/// Whether the library refuses a call on a communicator of this process alone. Meanwhile the error handler of
/// `MPI_COMM_SELF` is replaced, unless the communicator is one of ours, which returns errors; and that of
/// `MPI_COMM_WORLD`, if the library may report the errors there. `call` gets buffers of 128 bytes. Threads ask one after
/// the other, and wait for no other rank.
///
/// # Safety
///
/// Handles that are not null are valid, and the buffers are long enough.
unsafe fn library_refuses(
    attributes: &Attributes,
    call: impl FnOnce(*const u8, *mut u8) -> RawCall,
) -> bool {
    let (input, mut output) = ([0_u128; 8], [0_u128; 8]);
    let own = lock(&attributes.alone);
    // SAFETY: the caller promises that the call's handles are valid and that its data fits into the buffers; the
    // communicators are constants of the library, or one of ours that exists while it is locked.
    unsafe {
        let alone = own.as_ref().map_or(ffi::RSMPI_COMM_SELF, Communicator::raw);
        let of_program = [
            own.is_none().then_some(alone),
            attributes.reports_to_world.then_some(ffi::RSMPI_COMM_WORLD),
        ];
        let of_program = of_program.into_iter().flatten();
        let silenced: Result<Vec<_>, _> = of_program
            .map(|communicator| SilencedCommunicator::new(communicator))
            .collect();
        let Ok(_silenced) = silenced else {
            return true;
        };
        let call = call(input.as_ptr().cast(), output.as_mut_ptr().cast());
        call.forward(alone) != 0
    }
}

/// The distance of a call's input from its output, in bytes.
#[inline(always)]
pub(crate) fn distance(call: &RawCall) -> isize {
    call.send.addr().wrapping_sub(call.recv.addr()) as isize
}

/// The input and the output that would be the same memory on this rank if their addresses had a certain distance;
/// `None` if it has not both, or they are empty.
///
/// # Safety
///
/// As for [`Answers::why_not`], for a call without other errors.
unsafe fn same_memory(asked: AskedCall<'_>) -> Option<SameMemory> {
    let AskedCall { call, rank, ranks } = asked;
    let is_root = call.root == rank;
    let is_in_place = call.send == in_place() || call.recv.cast_const() == in_place();
    // A null address, `MPI_BOTTOM`, says nothing about where the data is.
    if is_in_place || call.send.is_null() || call.recv.is_null() {
        return None;
    }
    let are_alike = call.send_count == call.recv_count && call.send_type == call.recv_type;
    // SAFETY: the caller promises a call without other errors, so its datatypes are valid where they are significant.
    let before_own_part = |count: i64, datatype| unsafe {
        let elements = i64::from(rank).checked_mul(count)?;
        let bytes = distance_bytes(elements)?.checked_mul(extent_without_gaps(datatype)?)?;
        are_alike.then_some(bytes)
    };
    let (distance, elements) = match call.collective {
        // No call of the irregular ones is described as a `RawCall`.
        Collective::Bcast
        | Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => return None,
        Collective::Gather | Collective::Scatter | Collective::Reduce if !is_root => return None,
        Collective::Gather | Collective::Allgather => {
            let count = call.recv_count;
            (before_own_part(count, call.recv_type)?, count)
        }
        Collective::Scatter => {
            let count = call.send_count;
            (-before_own_part(count, call.send_type)?, count)
        }
        Collective::ReduceScatter => {
            // Libraries look at the whole input, also on a rank whose own part is empty.
            // SAFETY: the caller promises that `counts` has one count per rank.
            let parts = unsafe { call.part_counts(ranks) };
            (0, parts.iter().max()?)
        }
        Collective::Alltoall if !are_alike => return None,
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatterBlock
        | Collective::Alltoall
        | Collective::Scan
        | Collective::Exscan => (0, call.recv_count),
    };
    let same = SameMemory { distance, elements };
    (elements > 0).then_some(same)
}

/// What a call gives as the output of an exscan on the first rank, if it is no address of data.
///
/// # Safety
///
/// As for [`Answers::why_not`], for a call without other errors.
unsafe fn missing_output(asked: AskedCall<'_>) -> Option<MissingOutput> {
    let AskedCall { call, rank, .. } = asked;
    let has_missing = call.collective == Collective::Exscan
        && rank == 0
        && call.recv_count > 0
        && call.send != in_place();
    if !has_missing {
        return None;
    }
    if call.recv.cast_const() == in_place() {
        return Some(MissingOutput::InPlace);
    }
    let output = BufferElements {
        buffer: call.recv,
        count: call.recv_count,
        datatype: call.recv_type,
    };
    // SAFETY: the caller promises a call without other errors, so its datatype is valid.
    let is_missing = unsafe {
        call.recv.is_null()
            && is_named(call.recv_type).is_ok_and(|is_named| !output.may_be_at_null(is_named))
    };
    is_missing.then_some(MissingOutput::Null)
}

/// The extent of a datatype in bytes; `None` if there are gaps between elements, since libraries then differ in which
/// addresses they take for the same memory.
///
/// # Safety
///
/// The datatype is valid.
unsafe fn extent_without_gaps(datatype: MPI_Datatype) -> Option<isize> {
    let (mut lower_bound, mut extent, mut size) = (0, 0, 0);
    // SAFETY: the caller promises that the datatype is valid; the results are written by the calls.
    let is_known = unsafe {
        ffi::PMPI_Type_get_extent(datatype, &mut lower_bound, &mut extent) == 0
            && ffi::PMPI_Type_size(datatype, &mut size) == 0
    };
    let extent = distance_bytes(extent)?;
    (is_known && extent == distance_bytes(size)?).then_some(extent)
}

/// Converts a distance of the library's address type, which differs between libraries.
fn distance_bytes(length: impl TryInto<isize>) -> Option<isize> {
    length.try_into().ok()
}

/// The input and the output of a rank, as far as it has them and they are not in place where that is allowed. `None` if
/// the counts of an `MPI_Reduce_scatter` are missing or negative.
///
/// # Safety
///
/// `counts` has one count per rank or is null.
unsafe fn buffer_sides(asked: AskedCall<'_>) -> Option<[Option<BufferElements>; 2]> {
    let AskedCall { call, rank, ranks } = asked;
    let is_root = call.root == rank;
    let recv = BufferElements {
        buffer: call.recv,
        count: call.recv_count,
        datatype: call.recv_type,
    };
    let send = BufferElements {
        buffer: call.send,
        count: call.send_count,
        datatype: call.send_type,
    };
    let operand = BufferElements {
        buffer: call.send,
        ..recv
    };
    let unless_in_place =
        |side: BufferElements| Some(side).filter(|side| side.buffer != in_place());
    Some(match call.collective {
        Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => [None, None],
        Collective::Bcast => [None, Some(recv)],
        Collective::Reduce if !is_root => [Some(operand), None],
        Collective::Gather if !is_root => [Some(send), None],
        Collective::Scatter if !is_root => [None, Some(recv)],
        Collective::Scatter => [Some(send), unless_in_place(recv)],
        Collective::Gather | Collective::Allgather | Collective::Alltoall => {
            [unless_in_place(send), Some(recv)]
        }
        Collective::ReduceScatter => {
            if call.counts.are_missing() {
                return None;
            }
            // SAFETY: the caller promises that `counts` has one count per rank if it is not null.
            let parts = unsafe { call.part_counts(ranks) };
            if parts.iter().any(|count| count < 0) {
                return None;
            }
            // Of the input, it matters only whether it has any elements.
            let of = |count: Option<i64>, side: BufferElements| {
                let count = count?;
                Some(BufferElements { count, ..side })
            };
            let input = of(parts.iter().max(), operand).and_then(unless_in_place);
            [input, of(parts.count_of_rank(rank), recv)]
        }
        // Its output is not significant there (see `missing_output`); in place its input is where the output would be.
        Collective::Exscan if rank == 0 => match unless_in_place(operand) {
            Some(input) => [Some(input), None],
            None => [None, Some(recv)],
        },
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatterBlock
        | Collective::Scan
        | Collective::Exscan => [unless_in_place(operand), Some(recv)],
    })
}

/// Whether an argument of one buffer of an irregular collective is wrong.
///
/// # Safety
///
/// Datatypes that are not null are valid; arrays have `ranks` entries or are null.
unsafe fn is_wrong_side(
    buffer: *const c_void,
    blocks: &RawBlocks,
    ranks: c_int,
    predefined: &mut PredefinedTypes,
    attributes: &Attributes,
) -> bool {
    if buffer == in_place() || blocks.are_missing() {
        return true;
    }
    let number = match blocks {
        RawBlocks::One { .. } => 1,
        RawBlocks::OfRanks { .. } => ranks as usize,
    };
    // The type of the last block that was checked.
    let mut checked = None;
    (0..number).any(|place| {
        // SAFETY: the caller promises as many entries, and datatypes that are valid unless they are null.
        unsafe {
            let (count, datatype) = blocks.elements_at(place);
            if count <= 0 || checked == Some(datatype) {
                return count < 0;
            }
            if !buffer.is_null() && predefined.bytes_if_predefined(datatype).is_some() {
                checked = Some(datatype);
                return false;
            }
            // With `MPI_BOTTOM`, displacements may be addresses.
            let is_displaced = blocks.displacement_at(place) != 0;
            let address = if buffer.is_null() && is_displaced {
                std::ptr::dangling::<u8>().cast()
            } else {
                buffer
            };
            checked = (!buffer.is_null()).then_some(datatype);
            let elements = BufferElements {
                buffer: address,
                count,
                datatype,
            };
            !elements.is_valid(attributes)
        }
    })
}

impl BufferElements {
    /// # Safety
    ///
    /// The datatype is null or valid.
    unsafe fn is_valid(&self, attributes: &Attributes) -> bool {
        // SAFETY: a constant of the library.
        let nothing = unsafe { ffi::RSMPI_DATATYPE_NULL };
        if self.count < 0 || self.datatype == nothing || self.buffer == in_place() {
            return false;
        }
        // SAFETY: the caller promises that the datatype is valid if it is not null, which has just been checked.
        unsafe {
            let Ok(is_named) = is_named(self.datatype) else {
                return false;
            };
            (is_named || is_committed(self.datatype, attributes))
                && (!self.buffer.is_null() || self.may_be_at_null(is_named))
        }
    }

    /// Whether no data is at a null address: there is none, or it is elsewhere, and the address is `MPI_BOTTOM`.
    ///
    /// # Safety
    ///
    /// The datatype is valid.
    unsafe fn may_be_at_null(&self, is_named: bool) -> bool {
        if self.count == 0 {
            return true;
        }
        let (mut size, mut true_lower_bound, mut true_extent) = (0, 0, 0);
        // SAFETY: the caller promises that the datatype is valid; the results are written by the calls.
        unsafe {
            let code = ffi::PMPI_Type_get_true_extent(
                self.datatype,
                &mut true_lower_bound,
                &mut true_extent,
            );
            if code != 0 || ffi::PMPI_Type_size(self.datatype, &mut size) != 0 {
                return false;
            }
        }
        size == 0 || !is_named && true_lower_bound != 0
    }
}

/// Whether a derived datatype has been committed. MPI has no function that tells, but libraries check it in calls.
///
/// # Safety
///
/// The datatype is valid.
unsafe fn is_committed(datatype: MPI_Datatype, attributes: &Attributes) -> bool {
    // SAFETY: the caller promises that the datatype is valid; a broadcast on one rank accesses no data.
    unsafe {
        // A datatype stays committed, so the library is asked once.
        if attributes.datatypes.is_known(datatype) {
            return true;
        }
        let is_refused = library_refuses(attributes, |_, buffer| {
            RawCall::new(
                Collective::Bcast,
                std::ptr::null(),
                buffer.cast(),
                1,
                datatype,
            )
        });
        if !is_refused {
            // Without the attribute, the library is asked again.
            let _ = attributes.datatypes.liveness_of(datatype);
        }
        !is_refused
    }
}
