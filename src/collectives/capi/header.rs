//! Tables and decisions of `include/colltune.h`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_double, c_int};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use exec::constants::MPI_Comm;
use files::Plain;
use mpi::ffi;
use runtime::{Dispatcher, RuntimeError, TableMismatch};
use schedule::Collective;
use table::OperatorClass;
use table::dispatch::{Choice, CommunicatorRules};
use vocabulary::{Candidate, CommShape, RankOrder};

use crate::identity::other_library;
use crate::settings::read_with_settings;

const SUCCESS: c_int = 0;
const ERR_ARGUMENT: c_int = 1;
const ERR_TABLE: c_int = 2;
const ERR_DIFFERS: c_int = 3;
const ERR_LIBRARY: c_int = 4;
const ERR_STATE: c_int = 6;
const ERR_MPI: c_int = 7;
const ERR_NODE: c_int = 8;

/// `colltune_table`.
#[derive(Debug)]
pub struct CTable {
    pub(crate) dispatcher: Dispatcher,
    /// Threads may ask at the same time.
    shapes: Mutex<Vec<NamedRules>>,
}

/// The rules of one shape, with the candidates' names as C strings.
#[derive(Debug)]
struct NamedRules {
    rules: Arc<CommunicatorRules>,
    /// The names, by the address of the choice in the rules.
    names: RefCell<HashMap<*const Choice, CString>>,
}

/// `colltune_decision`.
#[repr(C)]
#[derive(Debug)]
pub struct CDecision {
    algorithm: *const c_char,
    is_ours: c_int,
    speedup: c_double,
}

thread_local! {
    /// The message of the last error.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

fn fail_with(code: c_int, message: &str) -> c_int {
    let text = CString::new(Plain(message).to_string()).unwrap_or_default();
    MESSAGE.with(|last_message| *last_message.borrow_mut() = text);
    code
}

/// See `include/colltune.h`.
#[unsafe(no_mangle)]
pub extern "C" fn colltune_message() -> *const c_char {
    MESSAGE.with(|message| message.borrow().as_ptr())
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// `path` is null or a text that ends in zero, `table` is null or may be written, and `communicator` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_load(
    path: *const c_char,
    communicator: MPI_Comm,
    table: *mut *mut CTable,
) -> c_int {
    // SAFETY: the caller promises that `table` is null or may be written.
    if let Some(table) = unsafe { table.as_mut() } {
        *table = std::ptr::null_mut();
    }
    if !exec::is_running() {
        return fail_with(ERR_STATE, "MPI is not running");
    }
    if let Some(other) = other_library() {
        return fail_with(
            ERR_LIBRARY,
            &format!("this libcolltune was built for another MPI library than {other}"),
        );
    }
    // SAFETY: a constant of the library.
    if path.is_null() || table.is_null() || communicator == unsafe { ffi::RSMPI_COMM_NULL } {
        return fail_with(ERR_ARGUMENT, "a null argument");
    }
    let mut is_inter = 0;
    // SAFETY: the caller promises that the communicator is valid if it is not null, which has just been checked.
    unsafe { ffi::PMPI_Comm_test_inter(communicator, &mut is_inter) };
    if is_inter != 0 {
        return fail_with(ERR_ARGUMENT, "an intercommunicator");
    }
    // SAFETY: the caller promises that `path` is a text that ends in zero and that the communicator is valid. It has
    // been checked that neither is null, that MPI is running, and that there is no intercommunicator.
    let loaded = unsafe {
        let path = OsStr::from_bytes(CStr::from_ptr(path).to_bytes());
        let (loaded, settings) = read_with_settings(path.as_ref());
        Dispatcher::new(loaded, communicator, settings)
    };
    match loaded {
        Ok(dispatcher) => {
            let made = CTable {
                dispatcher,
                shapes: Mutex::default(),
            };
            // SAFETY: the caller promises that `table` may be written if it is not null, which has been checked.
            unsafe { *table = Box::into_raw(Box::new(made)) };
            SUCCESS
        }
        Err(error) => fail_with(error_code(&error), &error.to_string()),
    }
}

fn error_code(error: &RuntimeError) -> c_int {
    match error {
        RuntimeError::Table(_) => ERR_TABLE,
        RuntimeError::Differs => ERR_DIFFERS,
        RuntimeError::TableMismatch(TableMismatch::Library { .. }) => ERR_LIBRARY,
        RuntimeError::TableMismatch(
            TableMismatch::Node { .. } | TableMismatch::Networks { .. },
        ) => ERR_NODE,
        RuntimeError::NotRunning => ERR_STATE,
        RuntimeError::Length { .. }
        | RuntimeError::Root { .. }
        | RuntimeError::Intercommunicator
        | RuntimeError::Variable { .. } => ERR_ARGUMENT,
        RuntimeError::Exec(_) | RuntimeError::Collective(_) => ERR_MPI,
    }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// `table` is null, or points to null or to what `colltune_load` has written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_free(table: *mut *mut CTable) -> c_int {
    // SAFETY: the caller promises that `table` is null, or points to null or to what `colltune_load` has written, which
    // is freed once, since null takes its place.
    unsafe {
        if let Some(table) = table.as_mut()
            && !table.is_null()
        {
            drop(Box::from_raw(*table));
            *table = std::ptr::null_mut();
        }
    }
    SUCCESS
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// The table is null or one of `colltune_load`'s that has not been freed, the name is null or ends in zero, and the
/// decision is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_decide(
    table: *const CTable,
    collective: *const c_char,
    nodes: c_int,
    ppn: c_int,
    bytes: u64,
    commutative: c_int,
    decision: *mut CDecision,
) -> c_int {
    // SAFETY: the caller promises that the table is null or not freed, that the name is null or ends in zero, and that
    // the decision is null or may be written.
    let (table, name, decision) = unsafe {
        let name = (!collective.is_null()).then(|| CStr::from_ptr(collective));
        (table.as_ref(), name, decision.as_mut())
    };
    let (Some(table), Some(name), Some(decision)) = (table, name, decision) else {
        return fail_with(ERR_ARGUMENT, "a null argument");
    };
    let named = Collective::ALL
        .into_iter()
        .find(|known| known.name().as_bytes() == name.to_bytes());
    let (Some(found), Ok(nodes @ 1..), Ok(ppn @ 1..)) =
        (named, u32::try_from(nodes), u32::try_from(ppn))
    else {
        return fail_with(ERR_ARGUMENT, "no such collective, or no ranks");
    };
    let operators = OperatorClass::from_commutes(commutative != 0);
    let shape = CommShape { nodes, ppn };
    let bytes = if found.decides_by_size() { bytes } else { 0 };
    *decision = table.decide_for_shape(shape, |rules| rules.decide(found, operators, bytes));
    SUCCESS
}

impl CTable {
    /// The decision for a shape. The pointers in it are valid as long as the table.
    fn decide_for_shape(
        &self,
        shape: CommShape,
        choose: impl for<'r> Fn(&'r CommunicatorRules) -> &'r Choice,
    ) -> CDecision {
        let mut shapes = self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shapes.iter().position(|known| known.rules.shape() == shape);
        let place = known.unwrap_or_else(|| {
            shapes.push(NamedRules {
                rules: self.dispatcher.rules_for_shape(shape, RankOrder::Unknown),
                names: RefCell::default(),
            });
            shapes.len() - 1
        });
        let named = &shapes[place];
        let choice = choose(&named.rules);
        let mut names = named.names.borrow_mut();
        let name = names
            .entry(choice)
            .or_insert_with(|| CString::new(choice.candidate.to_string()).unwrap_or_default());
        CDecision {
            algorithm: name.as_ptr(),
            is_ours: c_int::from(matches!(choice.candidate, Candidate::Ours { .. })),
            speedup: choice.speedup.unwrap_or(1.0),
        }
    }
}
