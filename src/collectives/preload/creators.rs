//! Intercepted functions that create communicators, windows and files, so that ours never take the program's last ones.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpi::ffi;
use profile::MadeBy;
use runtime::{Bridge, Creators};

use crate::chain::{Link, chained};
use crate::handle::Handle;
use crate::lifetime::dispatcher;
use crate::record::{Origin, recorder};

type Comm = Handle;
type Group = Handle;
type Info = Handle;
type Made = *mut Handle;
type Flags = *const c_int;
type Text = *const c_char;
type Texts = *mut *mut c_char;
type Data = *mut c_void;
/// `MPI_Aint`.
type Size = isize;

/// Defines functions that create something. What follows the arguments makes room for it: [`create_or_retry`] tries again,
/// [`create_after_room`], [`create_with_room`] and [`create_across_groups`] give communicators of ours back before, and
/// [`create_and_count`] only counts the call. After an arrow is the argument for a communicator that it makes, how, of which one, and
/// with which tag, for recordings.
macro_rules! creators {
    ($(
        $name:ident $profiling:ident $make:ident ($($argument:ident: $kind:ty),*)
            $way:ident($($with:expr),*) $(=> $communicator:ident $made_by:ident($parent:ident $(, $tag:ident)?))?;
    )*) => {
        $(
            /// # Safety
            ///
            /// As MPI asks of the call; `library` is the MPI library's function for it.
            #[inline(never)]
            unsafe extern "C" fn $make(
                library: unsafe extern "C" fn($($kind),*) -> c_int,
                $($argument: $kind,)*
            ) -> c_int {
                // SAFETY: the caller promises what MPI asks of the call, so the communicator is valid or null and the
                // call is collective over it or its group, and that `library` is the function for it.
                let code = unsafe { $way($($with,)* || library($($argument,)*)) };
                $(
                    if let Some(recorder) = recorder() {
                        let origin = Origin {
                            made_by: MadeBy::$made_by,
                            parent: $parent.communicator(),
                            tag: tag!($($tag)?),
                        };
                        // SAFETY: the caller promises what MPI asks of the call, which is on a valid communicator and
                        // writes the new one if it succeeds.
                        unsafe { recorder.note_made(code, $communicator, origin) };
                    }
                )?
                code
            }
        )*

        chained! {
            LINKS:
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name $profiling ($($argument: $kind),*) $make;
            )*
        }
    };
}

/// The tag of a call that is collective over a group only.
macro_rules! tag {
    () => {
        None
    };
    ($tag:ident) => {
        Some($tag)
    };
}

creators! {
    MPI_Comm_dup PMPI_Comm_dup dup (on: Comm, made: Made) create_or_retry(on, Creators::All, made) => made Dup(on);
    MPI_Comm_dup_with_info PMPI_Comm_dup_with_info dup_with_info (on: Comm, info: Info, made: Made)
        create_or_retry(on, Creators::All, made) => made Dup(on);
    MPI_Comm_create PMPI_Comm_create create (on: Comm, group: Group, made: Made) create_or_retry(on, Creators::All, made) => made Create(on);
    MPI_Comm_create_group PMPI_Comm_create_group create_group (on: Comm, group: Group, tag: c_int, made: Made)
        create_or_retry(on, Creators::Group(group.group()), made) => made Create(on, tag);
    MPI_Comm_split PMPI_Comm_split split (on: Comm, color: c_int, key: c_int, made: Made)
        create_or_retry(on, Creators::All, made) => made Split(on);
    MPI_Comm_split_type PMPI_Comm_split_type split_type
        (on: Comm, kind: c_int, key: c_int, info: Info, made: Made) create_after_room(on, made) => made Split(on);
    MPI_Comm_idup PMPI_Comm_idup idup (on: Comm, made: Made, request: Made) create_and_count(on);
    MPI_Intercomm_create PMPI_Intercomm_create intercomm_create
        (on: Comm, leader: c_int, peers: Comm, remote_leader: c_int, tag: c_int, made: Made)
        create_across_groups(on, leader, peers, remote_leader, tag, made) => made Intercommunicator(on);
    MPI_Intercomm_merge PMPI_Intercomm_merge merge (on: Comm, high: c_int, made: Made) create_after_room(on, made) => made Intercommunicator(on);
    MPI_Cart_create PMPI_Cart_create cart_create
        (on: Comm, dimensions: c_int, sizes: Flags, periods: Flags, reorder: c_int, made: Made) create_after_room(on, made) => made Topology(on);
    MPI_Cart_sub PMPI_Cart_sub cart_sub (on: Comm, kept: Flags, made: Made) create_after_room(on, made) => made Topology(on);
    MPI_Graph_create PMPI_Graph_create graph_create
        (on: Comm, nodes: c_int, index: Flags, edges: Flags, reorder: c_int, made: Made) create_after_room(on, made) => made Topology(on);
    MPI_Dist_graph_create PMPI_Dist_graph_create dist_graph_create
        (on: Comm, nodes: c_int, sources: Flags, degrees: Flags, destinations: Flags, weights: Flags, info: Info,
         reorder: c_int, made: Made) create_after_room(on, made) => made Topology(on);
    MPI_Dist_graph_create_adjacent PMPI_Dist_graph_create_adjacent dist_graph_create_adjacent
        (on: Comm, in_degree: c_int, sources: Flags, source_weights: Flags, out_degree: c_int, destinations: Flags,
         destination_weights: Flags, info: Info, reorder: c_int, made: Made) create_after_room(on, made) => made Topology(on);
    MPI_Comm_spawn PMPI_Comm_spawn spawn
        (command: Text, words: Texts, most: c_int, info: Info, root: c_int, on: Comm, made: Made, codes: *mut c_int)
        create_after_room(on, made);
    MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple spawn_multiple
        (count: c_int, commands: Texts, words: *mut Texts, most: Flags, infos: *const Info, root: c_int, on: Comm,
         made: Made, codes: *mut c_int) create_after_room(on, made);
    MPI_Comm_accept PMPI_Comm_accept accept (port: Text, info: Info, root: c_int, on: Comm, made: Made) create_after_room(on, made);
    MPI_Comm_connect PMPI_Comm_connect connect (port: Text, info: Info, root: c_int, on: Comm, made: Made) create_after_room(on, made);
    MPI_Win_create PMPI_Win_create win_create
        (base: Data, size: Size, unit: c_int, info: Info, on: Comm, made: Made) create_with_room(on);
    MPI_Win_allocate PMPI_Win_allocate win_allocate
        (size: Size, unit: c_int, info: Info, on: Comm, base: Data, made: Made) create_with_room(on);
    MPI_Win_allocate_shared PMPI_Win_allocate_shared win_allocate_shared
        (size: Size, unit: c_int, info: Info, on: Comm, base: Data, made: Made) create_with_room(on);
    MPI_Win_create_dynamic PMPI_Win_create_dynamic win_create_dynamic (info: Info, on: Comm, made: Made) create_with_room(on);
    MPI_File_open PMPI_File_open file_open (on: Comm, name: Text, mode: c_int, info: Info, made: Made) create_with_room(on);
}

/// Functions of the same kind that only newer libraries have.
#[cfg(large_counts)]
pub(crate) mod newer {
    use super::*;
    use crate::chain::{function, lacking};

    creators! {
        MPI_Comm_idup_with_info PMPI_Comm_idup_with_info idup_with_info
            (on: Comm, info: Info, made: Made, request: Made) create_and_count(on);
        MPI_Win_create_c PMPI_Win_create_c win_create_c
            (base: Data, size: Size, unit: Size, info: Info, on: Comm, made: Made) create_with_room(on);
        MPI_Win_allocate_c PMPI_Win_allocate_c win_allocate_c
            (size: Size, unit: Size, info: Info, on: Comm, base: Data, made: Made) create_with_room(on);
        MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c win_allocate_shared_c
            (size: Size, unit: Size, info: Info, on: Comm, base: Data, made: Made) create_with_room(on);
    }

    /// The functions that take their place where the library has none, as in
    /// [`crate::hooks::large::find_large_functions`], and the names of those that they call.
    const OLDER: [(&CStr, *const c_void); 4] = [
        (c"PMPI_Comm_idup", older_idup as *const c_void),
        (c"PMPI_Win_create", older_win_create as *const c_void),
        (c"PMPI_Win_allocate", older_win_allocate as *const c_void),
        (
            c"PMPI_Win_allocate_shared",
            older_win_allocate_shared as *const c_void,
        ),
    ];

    /// Finds the library's functions. Where the library has none, older ones take their place.
    pub(crate) fn find_newer_creators() {
        for (link, (name, older)) in LINKS.iter().zip(OLDER) {
            link.find_functions();
            if !super::find_link(name).is_some_and(|plain| link.is_beside(plain)) {
                link.replace(older);
            }
        }
    }

    /// The address of an older function.
    fn older(name: &CStr) -> *const c_void {
        super::find_link(name).map_or(lacking as *const c_void, Link::library)
    }

    /// Without the info, which has only hints.
    ///
    /// # Safety
    ///
    /// As MPI asks of `MPI_Comm_idup_with_info`.
    unsafe extern "C" fn older_idup(on: Comm, _info: Info, made: Made, request: Made) -> c_int {
        // SAFETY: the caller promises what MPI asks of `MPI_Comm_idup_with_info`; the older function has these
        // arguments.
        unsafe { function!(older(c"PMPI_Comm_idup"), (Comm, Made, Made))(on, made, request) }
    }

    /// # Safety
    ///
    /// As MPI asks of `MPI_Win_create_c`.
    unsafe extern "C" fn older_win_create(
        base: Data,
        size: Size,
        unit: Size,
        info: Info,
        on: Comm,
        made: Made,
    ) -> c_int {
        let Ok(unit) = c_int::try_from(unit) else {
            return lacking();
        };
        let create = older(c"PMPI_Win_create");
        // SAFETY: the caller promises what MPI asks of `MPI_Win_create_c`; the older function has these arguments.
        unsafe {
            function!(create, (Data, Size, c_int, Info, Comm, Made))(
                base, size, unit, info, on, made,
            )
        }
    }

    /// # Safety
    ///
    /// As MPI asks of `MPI_Win_allocate_c`.
    unsafe extern "C" fn older_win_allocate(
        size: Size,
        unit: Size,
        info: Info,
        on: Comm,
        base: Data,
        made: Made,
    ) -> c_int {
        let Ok(unit) = c_int::try_from(unit) else {
            return lacking();
        };
        let allocate = older(c"PMPI_Win_allocate");
        // SAFETY: the caller promises what MPI asks of `MPI_Win_allocate_c`; the older function has these arguments.
        unsafe {
            function!(allocate, (Size, c_int, Info, Comm, Data, Made))(
                size, unit, info, on, base, made,
            )
        }
    }

    /// # Safety
    ///
    /// As MPI asks of `MPI_Win_allocate_shared_c`.
    unsafe extern "C" fn older_win_allocate_shared(
        size: Size,
        unit: Size,
        info: Info,
        on: Comm,
        base: Data,
        made: Made,
    ) -> c_int {
        let Ok(unit) = c_int::try_from(unit) else {
            return lacking();
        };
        let allocate = older(c"PMPI_Win_allocate_shared");
        // SAFETY: the caller promises what MPI asks of `MPI_Win_allocate_shared_c`; the older function has these
        // arguments.
        unsafe {
            function!(allocate, (Size, c_int, Info, Comm, Data, Made))(
                size, unit, info, on, base, made,
            )
        }
    }
}

/// Creates a communicator. If the library has no more, ours are given back, and it is tried again; then the program's
/// error handler is called if that fails, too.
///
/// # Safety
///
/// The communicator is valid or null, `make` is collective over it or the group, and writes the new one to `made`.
unsafe fn create_or_retry(
    on: Comm,
    creators: Creators,
    made: Made,
    make: impl Fn() -> c_int,
) -> c_int {
    let on = on.communicator();
    // SAFETY: the caller promises that the communicator is valid or null, that `make` is collective over it or the
    // group, and that `make` writes the new one to `made`; if one of them is null, a constant of the library, only
    // `make` is called.
    unsafe {
        let is_wrong = on == ffi::RSMPI_COMM_NULL
            || matches!(creators, Creators::Group(group) if group == ffi::RSMPI_GROUP_NULL);
        match dispatcher().filter(|_| !is_wrong) {
            Some(dispatcher) => dispatcher.create(on, creators, made.cast(), &make),
            None => make(),
        }
    }
}

/// Creates a communicator, as in [`create_with_room`].
///
/// # Safety
///
/// The communicator is valid or null, `make` is collective over it, and writes the new one to `made`.
unsafe fn create_after_room(on: Comm, made: Made, make: impl Fn() -> c_int) -> c_int {
    // SAFETY: the caller promises that the communicator is valid or null, that `make` is collective over it, and that
    // `make` writes the new one to `made`.
    unsafe { create_with_room(on, || make_with_own_handler(on.communicator(), made, &make)) }
}

/// Creates a communicator with the program's error handler, see [`runtime::Dispatcher::create_with_own_handler`].
///
/// # Safety
///
/// The communicator is valid or null, and `make` writes the new one to `made`.
unsafe fn make_with_own_handler(on: ffi::MPI_Comm, made: Made, make: &dyn Fn() -> c_int) -> c_int {
    // SAFETY: the caller promises that the communicator is valid or null, which is a constant of the library, and that
    // `make` writes the new one to `made`.
    unsafe {
        match dispatcher().filter(|_| on != ffi::RSMPI_COMM_NULL) {
            Some(dispatcher) => dispatcher.create_with_own_handler(on, made.cast(), make),
            None => make(),
        }
    }
}

/// Creates something; before, ours are given back if the library has hardly any communicators left.
///
/// # Safety
///
/// The communicator is valid or null, and `make` is collective over it.
unsafe fn create_with_room(on: Comm, make: impl Fn() -> c_int) -> c_int {
    let on = on.communicator();
    // SAFETY: the caller promises that the communicator is valid or null; null is a constant of the library, and no
    // room is made then.
    unsafe {
        if let Some(dispatcher) = dispatcher().filter(|_| on != ffi::RSMPI_COMM_NULL) {
            dispatcher.give_room(on);
        }
    }
    make()
}

/// Creates an intercommunicator of two groups, as in [`create_with_room`].
///
/// # Safety
///
/// As MPI asks of `MPI_Intercomm_create` with these arguments, and `make` writes the new one to `made`.
unsafe fn create_across_groups(
    own: Comm,
    leader: c_int,
    peers: Comm,
    remote_leader: c_int,
    tag: c_int,
    made: Made,
    make: impl Fn() -> c_int,
) -> c_int {
    let bridge = Bridge {
        own: own.communicator(),
        leader,
        peers: peers.communicator(),
        remote_leader,
        tag,
    };
    // SAFETY: the caller promises arguments as MPI asks of `MPI_Intercomm_create`; null is a constant of the library.
    unsafe {
        if let Some(dispatcher) = dispatcher().filter(|_| bridge.own != ffi::RSMPI_COMM_NULL) {
            dispatcher.give_room_across(&bridge);
        }
        make_with_own_handler(bridge.own, made, &make)
    }
}

/// Starts to create something. Calls on other communicators have no order with this one, so ranks would not give back
/// ours between the same two calls.
fn create_and_count(_on: Comm, make: impl Fn() -> c_int) -> c_int {
    if let Some(dispatcher) = dispatcher() {
        dispatcher.count_creation();
    }
    make()
}

/// One of [`LINKS`], by its name for profiling.
fn find_link(name: &CStr) -> Option<&'static Link> {
    LINKS.iter().copied().find(|link| link.name() == name)
}

/// Lets `exec` create communicators by the library's functions, since tools must not see ours.
pub(crate) fn redirect_exec() {
    let address = |name: &CStr| find_link(name).and_then(Link::found_function);
    let found = [c"PMPI_Comm_create", c"PMPI_Comm_split_type"].map(address);
    if let [Some(create), Some(split_type)] = found {
        // SAFETY: the library's functions with these names.
        unsafe { exec::redirect_creators(create, split_type) };
    }
}
