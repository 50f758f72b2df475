//! Reading memory of other processes. The exhaustive tests replace it.

use std::io::IoSliceMut;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// The memory cannot be read: it is not there, the process is not, or the kernel does not permit it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreadable;

/// Reads memory of a process through the kernel.
pub(crate) fn read(process: u32, address: usize, into: &mut [u8]) -> Result<(), Unreadable> {
    let process = Pid::from_raw(process as i32);
    let mut done = 0;
    while done < into.len() {
        let remote = RemoteIoVec {
            base: address.wrapping_add(done),
            len: into.len() - done,
        };
        let local = IoSliceMut::new(&mut into[done..]);
        match process_vm_readv(process, &mut [local], &[remote]) {
            Ok(read @ 1..) => done += read,
            Ok(0) | Err(_) => return Err(Unreadable),
        }
    }
    Ok(())
}

/// The reason why processes of this user may not read each other's memory, if there is one. Reading may also fail for
/// reasons that only an attempt shows, such as a process in another container.
pub fn why_unreadable() -> Option<String> {
    let own = [0];
    let address = own.as_ptr().expose_provenance();
    if read(std::process::id(), address, &mut [0]).is_err() {
        return Some("process_vm_readv is not permitted".to_owned());
    }
    // Without the Yama security module there is no such file.
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_restricted = is_restricted(scope.trim(), &status);
    is_restricted.then(|| format!("kernel.yama.ptrace_scope is {}", scope.trim()))
}

/// Whether a scope of Yama forbids a process with this status to read the memory of others.
fn is_restricted(scope: &str, status: &str) -> bool {
    /// The bit of the capability `CAP_SYS_PTRACE`.
    const PTRACE: u64 = 1 << 19;
    let mut lines = status.lines();
    let capabilities = lines.find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = capabilities.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    match scope {
        "" | "0" => false,
        "1" | "2" => capabilities.unwrap_or(0) & PTRACE == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_restricted, read};

    #[test]
    fn only_memory_that_exists_can_be_read() {
        let data: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
        let (process, address) = (std::process::id(), data.as_ptr().expose_provenance());
        let mut found = vec![0; data.len()];
        assert!(read(process, address, &mut found).is_ok() && found == data);
        assert!(read(process, 8, &mut found).is_err());
        // No process has this number.
        assert!(read(i32::MAX as u32, address, &mut found).is_err());
    }

    #[test]
    fn scopes_restrict_processes_without_the_capability() {
        let [root, user] = ["000001ffffffffff", "00000000a80425fb"]
            .map(|bits| format!("Name:\tcolltune\nCapPrm:\t0\nCapEff:\t{bits}\nSeccomp:\t0\n"));
        for (scope, expected) in [
            ("", [false, false]),
            ("0", [false, false]),
            ("1", [false, true]),
            ("2", [false, true]),
            ("3", [true, true]),
        ] {
            let found = [&root, &user].map(|status| is_restricted(scope, status));
            assert_eq!(found, expected, "{scope}");
        }
        assert!(is_restricted("1", ""));
    }
}
