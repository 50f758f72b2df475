//! The MPI tool interface: control variables by name.
//!
//! Also works before `MPI_Init`. As `MPI_Error_string` is not allowed then, errors contain only the code.

use std::ffi::{CStr, CString, c_char, c_int};
use std::rc::Rc;

use mpi::ffi;

use crate::ExecError;
use crate::api::{is_running, provided_thread_level};

// From `shim.c`: macros of `mpi.h`, and handles that can only be compared in C.
unsafe extern "C" {
    safe fn colltune_is_int(datatype: ffi::MPI_Datatype) -> c_int;
    safe fn colltune_layout(datatype: ffi::MPI_Datatype) -> c_int;
    safe fn colltune_is_object(bind: c_int) -> c_int;
    safe fn colltune_is_constant(scope: c_int) -> c_int;
    safe fn colltune_is_enumeration(enumeration: ffi::MPI_T_enum) -> c_int;
}

/// The length of buffers for a name or an item of an enumeration.
const NAME_BYTES: usize = 1024;
/// The length of buffers for a description or a value.
const TEXT_BYTES: usize = 1 << 16;

/// An open instance of the tool interface. The library counts how often it is opened and closed.
///
/// MPICH loses its variables when the last instance is closed, even for its own use, and Open MPI fails in
/// `MPI_Finalize` if any instance is left. So [`crate::Universe`] keeps one from start to end.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    _session: Rc<ToolSession>,
}

#[derive(Debug)]
struct ToolSession;

impl Tool {
    /// Opens the interface for the thread level that MPI has.
    ///
    /// Open MPI takes the level of the interface for the level of the whole library (its pull request 14164): with a
    /// lower one, threads of the program share what they must not.
    pub(crate) fn open() -> Result<Self, ExecError> {
        let level = if is_running() {
            provided_thread_level()?
        } else {
            // SAFETY: a constant of the library, which `MPI_Init` or `MPI_Init_thread` replaces.
            unsafe { ffi::RSMPI_THREAD_FUNNELED }
        };
        let mut provided = 0;
        // SAFETY: may be called at any time; `provided` is written.
        let code = unsafe { ffi::MPI_T_init_thread(level, &mut provided) };
        check_tool_code("MPI_T_init_thread", "", code)?;
        Ok(Self {
            _session: Rc::new(ToolSession),
        })
    }

    /// The control variable of a name, if the library has it.
    pub(crate) fn find_variable(&self, name: &str) -> Result<Option<Variable>, ExecError> {
        let text = CString::new(name).map_err(|_| tool_error("MPI_T_cvar_get_index", name, -1))?;
        let mut index = 0;
        // SAFETY: the name ends with a zero, `index` is written.
        let code = unsafe { ffi::MPI_T_cvar_get_index(text.as_ptr(), &mut index) };
        if code == ffi::MPI_T_ERR_INVALID_NAME as c_int {
            return Ok(None);
        }
        check_tool_code("MPI_T_cvar_get_index", name, code)?;
        Variable::open(self, name, index).map(Some)
    }

    /// The names of all variables that are not bound to an object.
    pub(crate) fn variable_names(&self) -> Result<Vec<String>, ExecError> {
        let mut count = 0;
        // SAFETY: `count` is written.
        let code = unsafe { ffi::MPI_T_cvar_get_num(&mut count) };
        check_tool_code("MPI_T_cvar_get_num", "", code)?;
        Ok((0..count).filter_map(variable_name).collect())
    }
}

impl Drop for ToolSession {
    fn drop(&mut self) {
        // SAFETY: opened once per instance. Errors are ignored.
        unsafe { ffi::MPI_T_finalize() };
    }
}

/// The name of the variable with this index, unless it is bound to an object or belongs to a component that was
/// closed.
fn variable_name(index: c_int) -> Option<String> {
    let mut name = [0 as c_char; NAME_BYTES];
    let (mut name_length, mut text_length) = (NAME_BYTES as c_int, 0);
    let (mut verbosity, mut bind, mut scope) = (0, 0, 0);
    // SAFETY: all is written by the library, within the lengths; a length of 0 asks for no text.
    let code = unsafe {
        let mut datatype = ffi::RSMPI_DATATYPE_NULL;
        let mut enumeration = std::mem::zeroed();
        ffi::MPI_T_cvar_get_info(
            index,
            name.as_mut_ptr(),
            &mut name_length,
            &mut verbosity,
            &mut datatype,
            &mut enumeration,
            std::ptr::null_mut(),
            &mut text_length,
            &mut bind,
            &mut scope,
        )
    };
    (code == 0 && colltune_is_object(bind) == 0).then(|| text_before_zero(&name))
}

/// A control variable that is not bound to an object.
#[derive(Debug)]
pub(crate) struct Variable {
    name: String,
    handle: ffi::MPI_T_cvar_handle,
    count: usize,
    is_int: bool,
    /// Whether the value may be changed after the start of the library.
    pub(crate) is_writable: bool,
    /// The `colltune_layout` of its elements.
    layout: c_int,
    /// The values and names of an enumeration.
    pub(crate) items: Vec<(i32, String)>,
    /// The library's description.
    pub(crate) description: String,
    /// Must be dropped after the handle.
    _tool: Tool,
}

impl Variable {
    fn open(tool: &Tool, name: &str, index: c_int) -> Result<Self, ExecError> {
        let (mut verbosity, mut bind, mut scope) = (0, 0, 0);
        let (mut name_length, mut text_length) = (0, TEXT_BYTES as c_int);
        let mut description = vec![0 as c_char; TEXT_BYTES];
        // SAFETY: all is written by the library, within the lengths; a length of 0 asks for no name.
        let (datatype, enumeration) = unsafe {
            let mut datatype = ffi::RSMPI_DATATYPE_NULL;
            let mut enumeration = std::mem::zeroed();
            let code = ffi::MPI_T_cvar_get_info(
                index,
                std::ptr::null_mut(),
                &mut name_length,
                &mut verbosity,
                &mut datatype,
                &mut enumeration,
                description.as_mut_ptr(),
                &mut text_length,
                &mut bind,
                &mut scope,
            );
            check_tool_code("MPI_T_cvar_get_info", name, code)?;
            (datatype, enumeration)
        };
        let items = match colltune_is_enumeration(enumeration) {
            0 => Vec::new(),
            _ => enumeration_items(enumeration, name)?,
        };
        let mut count = 0;
        // SAFETY: the handle is written; the variable belongs to no object.
        let handle = unsafe {
            let mut handle = std::mem::zeroed();
            let none = std::ptr::null_mut();
            let code = ffi::MPI_T_cvar_handle_alloc(index, none, &mut handle, &mut count);
            check_tool_code("MPI_T_cvar_handle_alloc", name, code)?;
            handle
        };
        Ok(Self {
            name: name.to_owned(),
            handle,
            count: usize::try_from(count).unwrap_or_default(),
            is_int: colltune_is_int(datatype) != 0,
            is_writable: colltune_is_constant(scope) == 0,
            layout: colltune_layout(datatype),
            items,
            description: text_before_zero(&description),
            _tool: tool.clone(),
        })
    }

    /// The value; 0 or 1 for a boolean.
    pub(crate) fn read_number(&self) -> Result<i32, ExecError> {
        if self.count > 1 {
            return Err(tool_error("MPI_T_cvar_read", &self.name, -1));
        }
        let mut value = [0_u64; 4];
        self.read_into(&mut value)?;
        let bytes = value[0].to_ne_bytes();
        Ok(if self.is_int {
            i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        } else {
            i32::from(bytes[0])
        })
    }

    /// The value of a text variable.
    pub(crate) fn read_text(&self) -> Result<String, ExecError> {
        let mut value = vec![0; self.count.max(TEXT_BYTES / 8)];
        self.read_into(&mut value)?;
        let text = CStr::from_bytes_until_nul(bytemuck::cast_slice(&value)).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// The value as text: names of enumeration items, several numbers separated by colons. `None` if the type is
    /// unknown.
    pub(crate) fn read_as_text(&self) -> Result<Option<String>, ExecError> {
        let is_text = self.layout == 5 && self.count != 1;
        if self.layout == 0 || is_text {
            return is_text.then(|| self.read_text()).transpose();
        }
        let mut words = vec![0_u64; self.count.max(4)];
        self.read_into(&mut words)?;
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let element = |place: usize| match self.layout {
            1 => self.name_of_value(bytemuck::cast_slice::<_, i32>(bytes)[place]),
            2 => bytemuck::cast_slice::<_, u32>(bytes)[place].to_string(),
            3 => words[place].to_string(),
            4 => (words[place] as i64).to_string(),
            5 | 7 => self.name_of_value(i32::from(bytes[place])),
            _ => f64::from_bits(words[place]).to_string(),
        };
        let elements: Vec<String> = (0..self.count).map(element).collect();
        Ok(Some(elements.join(":")))
    }

    /// The name of a value, or the value as text.
    fn name_of_value(&self, value: i32) -> String {
        let named = self.items.iter().find(|(number, _)| *number == value);
        named.map_or_else(|| value.to_string(), |(_, name)| name.clone())
    }

    /// Reads the value into words, which are aligned and wide enough for elements of any type.
    fn read_into(&self, value: &mut [u64]) -> Result<(), ExecError> {
        // SAFETY: the handle is valid, the value has room for `count` elements.
        let code = unsafe { ffi::MPI_T_cvar_read(self.handle, value.as_mut_ptr().cast()) };
        check_tool_code("MPI_T_cvar_read", &self.name, code)
    }

    /// Sets a numeric value.
    pub(crate) fn write_number(&self, value: i32) -> Result<(), ExecError> {
        if !self.is_int || self.count > 1 {
            return Err(tool_error("MPI_T_cvar_write", &self.name, -1));
        }
        let address: *const i32 = &value;
        // SAFETY: the handle is valid and the variable is one number.
        let code = unsafe { ffi::MPI_T_cvar_write(self.handle, address.cast()) };
        check_tool_code("MPI_T_cvar_write", &self.name, code)
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        // SAFETY: the handle is valid and the interface still open.
        unsafe { ffi::MPI_T_cvar_handle_free(&mut self.handle) };
    }
}

fn enumeration_items(
    enumeration: ffi::MPI_T_enum,
    name: &str,
) -> Result<Vec<(i32, String)>, ExecError> {
    let mut count = 0;
    let mut length = 0;
    // SAFETY: all is written by the library; a length of 0 asks for no name.
    let code = unsafe {
        ffi::MPI_T_enum_get_info(enumeration, &mut count, std::ptr::null_mut(), &mut length)
    };
    check_tool_code("MPI_T_enum_get_info", name, code)?;
    let item = |index| {
        let mut value = 0;
        let mut item = [0 as c_char; NAME_BYTES];
        let mut item_length = NAME_BYTES as c_int;
        // SAFETY: the name is written within its length.
        let item_code = unsafe {
            ffi::MPI_T_enum_get_item(
                enumeration,
                index,
                &mut value,
                item.as_mut_ptr(),
                &mut item_length,
            )
        };
        check_tool_code("MPI_T_enum_get_item", name, item_code)?;
        Ok((value, text_before_zero(&item)))
    };
    (0..count).map(item).collect()
}

/// The text before the first zero.
fn text_before_zero(characters: &[c_char]) -> String {
    let bytes: Vec<u8> = characters
        .iter()
        .map(|character| *character as u8)
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn check_tool_code(call: &'static str, variable: &str, code: c_int) -> Result<(), ExecError> {
    match code {
        0 => Ok(()),
        _ => Err(tool_error(call, variable, code)),
    }
}

fn tool_error(call: &'static str, variable: &str, code: c_int) -> ExecError {
    ExecError::Tool {
        call,
        variable: variable.to_owned(),
        code,
    }
}

/// Variables with temporary values.
#[derive(Debug, Default)]
pub(crate) struct Switched<'a> {
    /// The changed variables, with their previous values.
    before: Vec<(&'a Variable, i32)>,
}

impl<'a> Switched<'a> {
    pub(crate) fn set_variable(
        &mut self,
        variable: &'a Variable,
        value: i32,
    ) -> Result<(), ExecError> {
        let before = variable.read_number()?;
        variable.write_number(value)?;
        self.before.push((variable, before));
        Ok(())
    }

    /// Restores all values.
    pub(crate) fn restore(mut self) -> Result<(), ExecError> {
        self.restore_all()
    }

    fn restore_all(&mut self) -> Result<(), ExecError> {
        let mut outcome = Ok(());
        while let Some((variable, value)) = self.before.pop() {
            outcome = outcome.and(variable.write_number(value));
        }
        outcome
    }
}

impl Drop for Switched<'_> {
    fn drop(&mut self) {
        // Another error is being returned, which is more important.
        let _ = self.restore_all();
    }
}
