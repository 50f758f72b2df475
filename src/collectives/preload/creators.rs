//! Intercepted functions that create communicators, so that ours never take the program's last ones.

use std::ffi::{CStr, c_int};

use exec::constants::MPI_Comm;
use mpi::ffi;

use crate::chain::chained;
use crate::handle::Handle;
use crate::lifetime::dispatcher;

type Comm = Handle;
type Group = Handle;
type Info = Handle;
type Made = *mut Handle;
type Flags = *const c_int;

/// Defines functions that create a communicator, collectively over their first argument. The argument after `=>` gets the
/// new one.
macro_rules! creators {
    ($(
        $name:ident $profiling:ident $make:ident
            ($comm:ident: Comm $(, $argument:ident: $kind:ty)* => $made:ident);
    )*) => {
        $(
            #[inline(never)]
            unsafe extern "C" fn $make(
                library: unsafe extern "C" fn(Comm, $($kind,)* Made) -> c_int,
                $comm: Comm,
                $($argument: $kind,)*
                $made: Made
            ) -> c_int {
                // SAFETY: the caller's.
                unsafe { with_room($comm, $made, || library($comm, $($argument,)* $made)) }
            }
        )*

        chained! {
            LINKS:
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name $profiling ($comm: Comm, $($argument: $kind,)* $made: Made) $make;
            )*
        }
    };
}

creators! {
    MPI_Comm_dup PMPI_Comm_dup dup (on: Comm => made);
    MPI_Comm_dup_with_info PMPI_Comm_dup_with_info dup_with_info (on: Comm, info: Info => made);
    MPI_Comm_create PMPI_Comm_create create (on: Comm, group: Group => made);
    MPI_Comm_split PMPI_Comm_split split (on: Comm, color: c_int, key: c_int => made);
    MPI_Comm_split_type PMPI_Comm_split_type split_type
        (on: Comm, kind: c_int, key: c_int, info: Info => made);
    MPI_Cart_create PMPI_Cart_create cart_create
        (on: Comm, dimensions: c_int, sizes: Flags, periods: Flags, reorder: c_int => made);
    MPI_Cart_sub PMPI_Cart_sub cart_sub (on: Comm, kept: Flags => made);
    MPI_Graph_create PMPI_Graph_create graph_create
        (on: Comm, nodes: c_int, index: Flags, edges: Flags, reorder: c_int => made);
    MPI_Dist_graph_create PMPI_Dist_graph_create dist_graph_create
        (on: Comm, nodes: c_int, sources: Flags, degrees: Flags, destinations: Flags, weights: Flags, info: Info,
         reorder: c_int => made);
    MPI_Dist_graph_create_adjacent PMPI_Dist_graph_create_adjacent dist_graph_create_adjacent
        (on: Comm, in_degree: c_int, sources: Flags, source_weights: Flags, out_degree: c_int, destinations: Flags,
         destination_weights: Flags, info: Info, reorder: c_int => made);
}

/// Creates a communicator. If the library has no more, ours are given back, and it is tried again; then the program's error
/// handler is called if that fails, too.
///
/// # Safety
///
/// The communicator is valid or null, `make` is collective over it, and writes the new one to `made`.
unsafe fn with_room(on: Handle, made: Made, make: impl Fn() -> c_int) -> c_int {
    let Some(dispatcher) = dispatcher() else {
        return make();
    };
    let on: MPI_Comm = on.communicator();
    // SAFETY: a constant of the library; the caller's.
    unsafe {
        if on == ffi::RSMPI_COMM_NULL {
            return make();
        }
        dispatcher.create(on, made.cast(), &make)
    }
}

/// Lets `exec` create communicators by the library's functions, since tools must not see ours.
pub(crate) fn redirect() {
    let address = |name: &CStr| {
        LINKS
            .iter()
            .find(|link| link.name() == name)
            .and_then(|link| link.found())
    };
    let found = [c"PMPI_Comm_create", c"PMPI_Comm_split_type"].map(address);
    if let [Some(create), Some(split_type)] = found {
        // SAFETY: the library's functions with these names.
        unsafe { exec::redirect_creators(create, split_type) };
    }
}
