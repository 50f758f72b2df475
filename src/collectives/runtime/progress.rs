//! The library's means to let others make progress, for programs that link this crate.
//!
//! Open MPI calls registered functions whenever it makes progress. `libcolltune.so` registers its own, since it finds the
//! library's functions in another way.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use crate::nonblocking::advance_calls;

/// A function that Open MPI calls when it makes progress; it returns the number of events.
type ProgressCallback = unsafe extern "C" fn() -> c_int;

/// The function of Open MPI that adds one.
const REGISTER: &CStr = c"opal_progress_register";

extern "C" fn take_steps() -> c_int {
    advance_calls() as c_int
}

/// Lets the library take steps of nonblocking calls of ours whenever it makes progress, from the first call on. Returns whether
/// it does. MPI is initialised.
pub(crate) fn register_steps() -> bool {
    static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
    *IS_REGISTERED.get_or_init(|| {
        // SAFETY: the name ends with a zero byte.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, REGISTER.as_ptr()) };
        if address.is_null() {
            return false;
        }
        // SAFETY: Open MPI's function of this name has this type in all releases (opal/runtime/opal_progress.h), and the
        // library is initialised; the callback stays, and does nothing when no call is under way.
        unsafe {
            let register: unsafe extern "C" fn(ProgressCallback) -> c_int =
                std::mem::transmute::<*mut c_void, _>(address);
            register(take_steps) == 0
        }
    })
}
