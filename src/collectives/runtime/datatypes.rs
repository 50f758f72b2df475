//! Tracks whether the program's own datatypes still exist.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use exec::constants::MPI_Datatype;
use exec::{ExecError, check_code};
use mpi::ffi;

use crate::attribute::do_not_copy;
use crate::threads::lock;

/// Whether a datatype has not been freed. Data stored under a freed handle are invalid, because the handle may be
/// reused for another datatype.
pub(crate) type HandleLiveness = Arc<AtomicBool>;

/// The key of the attributes that track datatypes (MPI 4.0, section 7.7.4).
///
/// A library deletes a datatype's attributes before it reuses the handle. It may do so later than the program frees
/// it, if other datatypes or messages still need it, and in any call that frees these. Deleting the attribute only
/// marks the datatype as freed.
#[derive(Debug)]
pub(crate) struct Datatypes {
    keyval: c_int,
    /// The datatypes seen so far; some may have been freed. Held while an attribute is read or set, so that threads which
    /// use a datatype for the first time get the same flag. [`on_delete`] does not take it.
    known: Mutex<Vec<KnownDatatype>>,
}

/// A datatype that calls have used.
#[derive(Debug)]
struct KnownDatatype {
    datatype: MPI_Datatype,
    liveness: HandleLiveness,
}

// SAFETY: handles of MPI are valid in all threads.
unsafe impl Send for KnownDatatype {}

impl Datatypes {
    /// Creates the key.
    pub(crate) fn open() -> Result<Self, ExecError> {
        let mut keyval = 0;
        // SAFETY: the callbacks have the types that MPI gives them.
        check_code("MPI_Type_create_keyval", unsafe {
            let nothing = std::ptr::null_mut();
            ffi::PMPI_Type_create_keyval(Some(do_not_copy), Some(on_delete), &mut keyval, nothing)
        })?;
        Ok(Self {
            keyval,
            known: Mutex::default(),
        })
    }

    /// Marks all datatypes as freed and frees the key, after which the library has no reference to this value.
    pub(crate) fn close(&self) {
        let mut keyval = self.keyval;
        let known = std::mem::take(&mut *lock(&self.known));
        for used in known {
            if used.liveness.load(Ordering::Acquire) {
                // SAFETY: the datatype is there as long as it lives; ours.
                unsafe { ffi::PMPI_Type_delete_attr(used.datatype, keyval) };
            }
        }
        // SAFETY: ours, given back once.
        unsafe { ffi::PMPI_Type_free_keyval(&mut keyval) };
    }

    /// Whether a datatype is one of those whose liveness is known, which calls have used.
    ///
    /// # Safety
    ///
    /// The datatype is valid.
    pub(crate) unsafe fn is_known(&self, datatype: MPI_Datatype) -> bool {
        let (mut value, mut flag) = (std::ptr::null::<AtomicBool>(), 0);
        // SAFETY: the caller promises that the datatype is valid; the results are written by the call.
        let code = unsafe {
            let value = (&raw mut value).cast();
            ffi::PMPI_Type_get_attr(datatype, self.keyval, value, &mut flag)
        };
        code == 0 && flag != 0
    }

    /// The liveness of a datatype.
    ///
    /// # Safety
    ///
    /// The datatype is valid.
    pub(crate) unsafe fn liveness_of(
        &self,
        datatype: MPI_Datatype,
    ) -> Result<HandleLiveness, ExecError> {
        let (mut value, mut flag) = (std::ptr::null::<AtomicBool>(), 0);
        let keyval = self.keyval;
        let mut known = lock(&self.known);
        // SAFETY: the caller promises that the datatype is valid; a stored value is the address of a liveness flag, of
        // which the attribute owns a share.
        unsafe {
            let code =
                ffi::PMPI_Type_get_attr(datatype, keyval, (&raw mut value).cast(), &mut flag);
            check_code("MPI_Type_get_attr", code)?;
            if flag != 0 {
                Arc::increment_strong_count(value);
                return Ok(Arc::from_raw(value));
            }
            let life = HandleLiveness::new(AtomicBool::new(true));
            let share = Arc::into_raw(Arc::clone(&life));
            let set_code = ffi::PMPI_Type_set_attr(datatype, keyval, share.cast_mut().cast());
            if set_code != 0 {
                drop(Arc::from_raw(share));
            }
            check_code("MPI_Type_set_attr", set_code)?;
            known.retain(|used| used.liveness.load(Ordering::Relaxed));
            known.push(KnownDatatype {
                datatype,
                liveness: Arc::clone(&life),
            });
            Ok(life)
        }
    }
}

unsafe extern "C" fn on_delete(
    _: MPI_Datatype,
    _: c_int,
    value: *mut c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the attribute's share of the flag.
    let life = unsafe { Arc::from_raw(value.cast_const().cast::<AtomicBool>()) };
    life.store(false, Ordering::Release);
    0
}
