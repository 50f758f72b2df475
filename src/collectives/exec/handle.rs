//! Datatypes and operators as applications pass them.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use mpi::ffi;

use crate::api::{check_code, mpi_count};
use crate::constants::{Class, MPI_Datatype, MPI_Op, built_in, datatype_class};
use crate::derived::DerivedDatatype;
use crate::kernel::{BuiltIn, Element, Kernel, find_kernel};
use crate::{Bytes, ExecError};

/// A datatype's handle, with its properties as reported by the library.
///
/// Displacements and lengths are in bytes, as in MPI 4.0, section 5.1.7.
#[derive(Clone, Copy, Debug)]
pub struct DatatypeHandle {
    raw: MPI_Datatype,
    size: usize,
    lower_bound: isize,
    extent: isize,
    true_lower_bound: isize,
    true_extent: isize,
    is_named: bool,
    is_dense: bool,
}

/// Datatypes up to this size are examined for gaps; larger derived ones are assumed to have some.
const PROBED_BYTES: usize = 1 << 20;

impl DatatypeHandle {
    /// Queries the properties of a datatype. For a derived one this takes time proportional to its size, so keep the
    /// result.
    ///
    /// # Safety
    ///
    /// MPI is initialised, and `raw` is a committed datatype. It is not freed while this value, or anything made from
    /// it, is in use.
    ///
    /// # Errors
    ///
    /// If the library reports an error, or the type is too large for it.
    pub unsafe fn new(raw: MPI_Datatype) -> Result<Self, ExecError> {
        // SAFETY: the caller promises that MPI is initialised and `raw` is a committed datatype.
        let mut handle = unsafe { Self::without_probe(raw)? };
        handle.is_dense = handle.is_dense
            || !handle.is_named && handle.has_no_gaps() && handle.is_its_own_packing()?;
        Ok(handle)
    }

    /// The same, but no derived datatype is said to be dense, and their size does not matter for the time that this
    /// takes.
    ///
    /// # Safety
    ///
    /// As for [`Self::new`].
    pub(crate) unsafe fn without_probe(raw: MPI_Datatype) -> Result<Self, ExecError> {
        let mut size: ffi::MPI_Count = 0;
        let (mut lower_bound, mut extent) = (0, 0);
        let (mut true_lower_bound, mut true_extent) = (0, 0);
        // SAFETY: the caller promises that MPI is initialised and `raw` is a committed datatype; the results are
        // written by the calls.
        unsafe {
            check_code("MPI_Type_size_x", ffi::MPI_Type_size_x(raw, &mut size))?;
            let code = ffi::MPI_Type_get_extent(raw, &mut lower_bound, &mut extent);
            check_code("MPI_Type_get_extent", code)?;
            let true_extent_code =
                ffi::MPI_Type_get_true_extent(raw, &mut true_lower_bound, &mut true_extent);
            check_code("MPI_Type_get_true_extent", true_extent_code)?;
        }
        let mut handle = Self {
            raw,
            // The library returns MPI_UNDEFINED, which is negative, for a size that it cannot count.
            size: usize::try_from(size).map_err(|_| ExecError::TooLarge { bytes: u64::MAX })?,
            lower_bound: distance_bytes(lower_bound)?,
            extent: distance_bytes(extent)?,
            true_lower_bound: distance_bytes(true_lower_bound)?,
            true_extent: distance_bytes(true_extent)?,
            // SAFETY: the caller promises that MPI is initialised and `raw` is a datatype.
            is_named: unsafe { is_named(raw)? },
            is_dense: false,
        };
        handle.is_dense = handle.is_named && handle.has_no_gaps();
        Ok(handle)
    }

    /// Whether an element is as long as its data, and begins at its address. Its bytes may still have another order than
    /// packed ones.
    pub(crate) fn has_no_gaps(&self) -> bool {
        let bounds = [self.lower_bound, self.true_lower_bound];
        let lengths = [self.extent, self.true_extent];
        bounds == [0; 2] && lengths == [self.size as isize; 2]
    }

    /// Whether it is predefined by MPI.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// The library's handle.
    pub fn raw(&self) -> MPI_Datatype {
        self.raw
    }

    /// The size of an element's data in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The distance in bytes from one element to the next.
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// The offset of an element's data from its address, in bytes.
    pub fn true_lower_bound(&self) -> isize {
        self.true_lower_bound
    }

    /// The distance in bytes from the start of an element's data to their end.
    pub fn true_extent(&self) -> isize {
        self.true_extent
    }

    /// Whether elements are the same in memory as packed: without gaps, in order.
    pub fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// The number type of an element, if our loops can combine it.
    pub fn element_type(&self) -> Option<Element> {
        if !(self.is_named && self.is_dense) {
            return None;
        }
        let is_signed = |class| {
            matches!(
                class,
                Class::Signed | Class::FortranInteger | Class::Address
            )
        };
        Some(match (datatype_class(self.raw), self.size) {
            (class, 1) if is_signed(class) => Element::Int8,
            (class, 2) if is_signed(class) => Element::Int16,
            (class, 4) if is_signed(class) => Element::Int32,
            (class, 8) if is_signed(class) => Element::Int64,
            (Class::Unsigned, 1) => Element::Unsigned8,
            (Class::Unsigned, 2) => Element::Unsigned16,
            (Class::Unsigned, 4) => Element::Unsigned32,
            (Class::Unsigned, 8) => Element::Unsigned64,
            (Class::Floating, 4) => Element::Float32,
            (Class::Floating, 8) => Element::Float64,
            // Only operators on bits are defined for bytes.
            (Class::Byte, 1) => Element::Unsigned8,
            _ => return None,
        })
    }

    /// Our loop that combines elements by an operator, if there is one.
    pub(crate) fn kernel_for_operator(&self, operator: &OperatorHandle) -> Option<Kernel> {
        let operator = operator.built_in()?;
        // A sum of complex numbers consists of the sums of their parts.
        let is_sum_of_complex =
            operator == BuiltIn::Sum && self.is_dense && datatype_class(self.raw) == Class::Complex;
        let element = match self.size {
            8 if is_sum_of_complex => Some(Element::Float32),
            16 if is_sum_of_complex => Some(Element::Float64),
            _ => self.element_type(),
        };
        find_kernel(element?, operator)
    }

    /// Whether packing an element just copies it. Equal size and extent do not imply this: the type may contain a
    /// byte twice and omit another, or have another order.
    fn is_its_own_packing(&self) -> Result<bool, ExecError> {
        if self.size > PROBED_BYTES {
            return Ok(false);
        }
        // Packs the index of every byte, one digit at a time.
        for shift in [0, 8, 16] {
            let mut element = Bytes::zeroed(self.size);
            for (place, byte) in element.as_mut_slice().iter_mut().enumerate() {
                *byte = (place >> shift) as u8;
            }
            let mut packed = Bytes::zeroed(self.size);
            // SAFETY: an element is as long as its true extent, which is its size here.
            unsafe { self.pack(element.as_slice().as_ptr(), 1, packed.as_mut_slice())? };
            if packed.as_slice() != element.as_slice() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Packs `elements` from `data` into `packed`, which has the length of their data.
    ///
    /// # Safety
    ///
    /// `data` points to `elements` elements, which may be read.
    pub(crate) unsafe fn pack(
        &self,
        data: *const u8,
        elements: usize,
        packed: &mut [u8],
    ) -> Result<(), ExecError> {
        let length = mpi_count(packed.len() as u64)?;
        let mut position = 0;
        let elements = self.packable_elements(data, elements)?;
        // SAFETY: the caller promises that `data` points to `elements` readable elements; the library writes no more
        // than `length` bytes.
        let code = unsafe {
            ffi::MPI_Pack(
                elements.data.cast(),
                elements.count,
                elements.raw_datatype(self),
                packed.as_mut_ptr().cast(),
                length,
                &mut position,
                ffi::RSMPI_COMM_SELF,
            )
        };
        check_code("MPI_Pack", code)?;
        if position == length {
            Ok(())
        } else {
            Err(ExecError::Packing {
                expected: packed.len(),
                found: position as usize,
            })
        }
    }

    /// Unpacks `elements` from `packed` to `data`.
    ///
    /// # Safety
    ///
    /// `data` points to `elements` elements, which may be written.
    pub(crate) unsafe fn unpack(
        &self,
        packed: &[u8],
        data: *mut u8,
        elements: usize,
    ) -> Result<(), ExecError> {
        let mut position = 0;
        let packed_data: *const c_void = packed.as_ptr().cast();
        let elements = self.packable_elements(data, elements)?;
        // SAFETY: the caller promises that `data` points to `elements` writable elements; the library reads no more
        // than the slice.
        let code = unsafe {
            ffi::MPI_Unpack(
                packed_data,
                mpi_count(packed.len() as u64)?,
                &mut position,
                elements.data.cast_mut().cast(),
                elements.count,
                elements.raw_datatype(self),
                ffi::RSMPI_COMM_SELF,
            )
        };
        check_code("MPI_Unpack", code)
    }

    /// Elements to be packed or unpacked. MPICH 4.0 takes `MPI_BOTTOM`, which is zero, for a missing buffer; such
    /// elements become one element of a type with an offset.
    fn packable_elements(&self, data: *const u8, elements: usize) -> Result<Packable, ExecError> {
        let elements = mpi_count(elements as u64)?;
        if !data.is_null() {
            return Ok(Packable {
                data,
                count: elements,
                moved: None,
            });
        }
        let base = NonNull::<u8>::dangling().as_ptr().cast_const();
        let below = -(base.addr() as ffi::MPI_Aint);
        Ok(Packable {
            data: base,
            count: 1,
            moved: Some(DerivedDatatype::from_elements(elements, below, self.raw)?),
        })
    }
}

/// The arguments of packing or unpacking.
struct Packable {
    data: *const u8,
    count: c_int,
    /// Their datatype, if it is not the original one.
    moved: Option<DerivedDatatype>,
}

impl Packable {
    fn raw_datatype(&self, own: &DatatypeHandle) -> MPI_Datatype {
        self.moved.as_ref().map_or(own.raw, DerivedDatatype::raw)
    }
}

/// Converts a distance to the library's address type.
fn distance_bytes(length: impl TryInto<isize>) -> Result<isize, ExecError> {
    length
        .try_into()
        .map_err(|_| ExecError::TooLarge { bytes: u64::MAX })
}

unsafe extern "C" {
    fn colltune_is_named(datatype: MPI_Datatype, is_named: *mut c_int) -> c_int;
}

/// Whether a datatype is predefined by MPI, including pairs.
///
/// # Safety
///
/// MPI is initialised, and `raw` is a datatype.
///
/// # Errors
///
/// If the library reports an error.
pub unsafe fn is_named(raw: MPI_Datatype) -> Result<bool, ExecError> {
    let mut is_named = 0;
    // SAFETY: the caller promises that MPI is initialised and `raw` is a datatype; the result is written by the call.
    let code = unsafe { colltune_is_named(raw, &mut is_named) };
    check_code("MPI_Type_get_envelope", code)?;
    Ok(is_named != 0)
}

/// The size of a datatype's data in bytes; 0 if the library cannot tell it.
///
/// # Safety
///
/// MPI is initialised, and `raw` is a datatype.
pub unsafe fn size_of_datatype(raw: MPI_Datatype) -> u64 {
    let mut size: ffi::MPI_Count = 0;
    // SAFETY: the caller promises that MPI is initialised and `raw` is a datatype; the result is written by the call.
    let code = unsafe { ffi::MPI_Type_size_x(raw, &mut size) };
    if code == 0 {
        u64::try_from(size).unwrap_or(0)
    } else {
        0
    }
}

/// An operator's handle, with its properties as reported by the library.
#[derive(Clone, Copy, Debug)]
pub struct OperatorHandle {
    raw: MPI_Op,
    is_commutative: bool,
}

impl OperatorHandle {
    /// Queries the properties of an operator.
    ///
    /// # Safety
    ///
    /// MPI is initialised, and `raw` is an operator. It is not freed while this value, or anything made from it, is
    /// in use.
    ///
    /// # Errors
    ///
    /// If the library reports an error.
    pub unsafe fn new(raw: MPI_Op) -> Result<Self, ExecError> {
        let mut commutes = 0;
        // SAFETY: the caller promises that MPI is initialised and `raw` is an operator; the result is written by the
        // call.
        let code = unsafe { ffi::MPI_Op_commutative(raw, &mut commutes) };
        check_code("MPI_Op_commutative", code)?;
        Ok(Self {
            raw,
            is_commutative: commutes != 0,
        })
    }

    /// The library's handle.
    pub fn raw(&self) -> MPI_Op {
        self.raw
    }

    /// Whether the operator commutes.
    pub fn is_commutative(&self) -> bool {
        self.is_commutative
    }

    /// The corresponding built-in operator, if our loops know it.
    pub fn built_in(&self) -> Option<BuiltIn> {
        built_in(self.raw)
    }
}
