//! The chain of definitions of MPI's functions: this library's, those of a tool, and the MPI library's.
//!
//! A tool, such as a profiler, defines `MPI_Bcast` and calls `PMPI_Bcast` (MPI 4.0, section 15.2). This library defines
//! both: its `MPI_Bcast` calls that of a tool that comes after it, if there is one, and its `PMPI_Bcast` serves the call.
//! So the tool sees each call of the program once, whether it comes before or after this library, and then the table
//! decides.
//!
//! Interfaces for Fortran and C++ need no names of their own here: they are libraries that call the functions of C by the
//! dynamic linker. All of Open MPI's interfaces for Fortran call `PMPI_Bcast`, also `mpi_f08`, which gets there by
//! `ompi_bcast_f`. All of MPICH's call `MPI_Bcast`, `mpi_f08` in `MPIR_Bcast_cdesc`, which gets descriptors of buffers, or
//! `MPI_Bcast_c`; only its `mpi_f08` for barriers calls `PMPI_Barrier`.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// One of MPI's functions that this library defines.
#[derive(Debug)]
pub(crate) struct Link {
    /// The name for profiling, such as `PMPI_Bcast`.
    name: &'static CStr,
    /// The MPI library's definition. That of [`lacking`] before [`Link::find_functions`], and if the library has none.
    library: AtomicPtr<c_void>,
    /// A tool's definition of the name without `P`, such as `MPI_Bcast`; null if there is none.
    tool: AtomicPtr<c_void>,
}

/// The file of the first tool that was found.
static TOOL: OnceLock<PathBuf> = OnceLock::new();

impl Link {
    /// The function with this name for profiling.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            library: AtomicPtr::new(lacking as *mut c_void),
            tool: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The name for profiling.
    pub(crate) fn name(&self) -> &'static CStr {
        self.name
    }

    /// The address of the MPI library's function, or of [`lacking`].
    #[inline(always)]
    pub(crate) fn library(&self) -> *const c_void {
        self.library.load(Ordering::Relaxed)
    }

    /// The address of the MPI library's function, if it has been found.
    pub(crate) fn found_function(&self) -> Option<*const c_void> {
        let address = self.library();
        (!std::ptr::addr_eq(address, lacking as *const c_void)).then_some(address)
    }

    /// Whether the MPI library's function has been found in the library that another one is in.
    #[cfg(large_counts)]
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let object = |link: &Self| Some(definition_at(link.found_function()?)?.object);
        object(self).is_some() && object(self) == object(other)
    }

    /// Lets another function take the place of the MPI library's.
    #[cfg(large_counts)]
    pub(crate) fn replace(&self, function: *const c_void) {
        self.library.store(function.cast_mut(), Ordering::Relaxed);
    }

    /// The address of a tool's function.
    #[inline(always)]
    pub(crate) fn tool(&self) -> Option<*const c_void> {
        let tool = self.tool.load(Ordering::Relaxed);
        (!tool.is_null()).then_some(tool.cast_const())
    }

    /// Finds both.
    pub(crate) fn find_functions(&self) {
        let Some(library) = next_definition(self.name) else {
            return;
        };
        self.library
            .store(library.address.cast_mut(), Ordering::Relaxed);
        let tool = CStr::from_bytes_with_nul(&self.name.to_bytes_with_nul()[1..]);
        let tool = tool.ok().and_then(next_definition);
        if let Some(tool) = tool.filter(|tool| tool.object != library.object) {
            self.tool.store(tool.address.cast_mut(), Ordering::Relaxed);
            // Only the first one is named.
            let _ = TOOL.set(tool.file);
        }
    }
}

/// Takes the place of functions that the MPI library lacks because it is older than the one that this was built for.
/// Ends the program, as the dynamic linker does when a function is missing.
pub(crate) extern "C" fn lacking() -> c_int {
    capi::print_warning("the program calls a function that this MPI library lacks");
    std::process::abort()
}

/// The file of a tool that comes after this library, if there is one.
pub(crate) fn first_tool() -> Option<&'static PathBuf> {
    TOOL.get()
}

/// A function of another library or of the program.
struct FunctionDefinition {
    address: *const c_void,
    /// The address at which its library is loaded.
    object: usize,
    file: PathBuf,
}

/// The next definition of a name after this library's, or the first one if this library comes after it.
fn next_definition(name: &CStr) -> Option<FunctionDefinition> {
    static OWN: OnceLock<Option<usize>> = OnceLock::new();
    let find_own = || definition_at((&raw const TOOL).cast()).map(|here| here.object);
    let own = (*OWN.get_or_init(find_own))?;
    let places = [libc::RTLD_NEXT, libc::RTLD_DEFAULT];
    let mut found = places.into_iter().filter_map(|place| {
        // SAFETY: a text that ends in zero.
        let address = unsafe { libc::dlsym(place, name.as_ptr()) };
        definition_at(address.cast_const())
    });
    found.find(|found| found.object != own)
}

/// The address of a function of the MPI library.
pub(crate) fn function_of_library(name: &CStr) -> Option<*const c_void> {
    next_definition(name).map(|found| found.address)
}

/// The library that contains an address.
fn definition_at(address: *const c_void) -> Option<FunctionDefinition> {
    if address.is_null() {
        return None;
    }
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the structure is written by the call if it succeeds; the name is then a text.
    unsafe {
        if libc::dladdr(address, about.as_mut_ptr()) == 0 {
            return None;
        }
        let about = about.assume_init();
        let file = if about.dli_fname.is_null() {
            OsStr::new("")
        } else {
            OsStr::from_bytes(CStr::from_ptr(about.dli_fname).to_bytes())
        };
        Some(FunctionDefinition {
            address,
            object: about.dli_fbase.addr(),
            file: file.into(),
        })
    }
}

/// The type of a function of MPI with these arguments.
macro_rules! function {
    ($address:expr, ($($kind:ty),*)) => {
        std::mem::transmute::<*const std::ffi::c_void, unsafe extern "C" fn($($kind),*) -> std::ffi::c_int>($address)
    };
}
pub(crate) use function;

/// Defines both names of functions: the given one calls a tool's, if there is one, and otherwise, as does the one for
/// profiling, the function `$serve` with the address of the library's function before the arguments.
macro_rules! chained {
    ($links:ident: $(
        $(#[$doc:meta])*
        $name:ident $profiling:ident ($($argument:ident: $kind:ty),* $(,)?) $serve:path;
    )*) => {
        /// The functions that are defined here.
        pub(crate) static $links: &[&crate::chain::Link] = &[$({
            static LINK: crate::chain::Link = crate::chain::Link::new(
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($profiling), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
            );

            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// As MPI asks of a call of the function with this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
                // SAFETY: the caller promises what MPI asks of the call; functions of these names have these arguments.
                unsafe {
                    match LINK.tool() {
                        Some(tool) => crate::chain::function!(tool, ($($kind),*))($($argument),*),
                        None => $serve(crate::chain::function!(LINK.library(), ($($kind),*)), $($argument),*),
                    }
                }
            }

            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// As MPI asks of a call of the function with this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $profiling($($argument: $kind),*) -> std::ffi::c_int {
                // SAFETY: the caller promises what MPI asks of the call; functions of these names have these arguments.
                unsafe { $serve(crate::chain::function!(LINK.library(), ($($kind),*)), $($argument),*) }
            }

            &LINK
        }),*];
    };
}
pub(crate) use chained;
