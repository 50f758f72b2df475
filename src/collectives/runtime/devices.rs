//! Accelerators, because our loops cannot read their memory.

/// Libraries that provide device memory: of CUDA, ROCm and Level Zero.
const DRIVERS: [&str; 3] = ["libcuda.so", "libamdhip64.so", "libze_loader.so"];

/// Whether this process has loaded a library that provides device memory, which buffers may then be in.
pub(crate) fn may_be_in_use() -> bool {
    // If the file cannot be read, assume that there is none, as in most programs.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(is_driver)
}

/// Whether a line of `/proc/PID/maps` names such a library.
fn is_driver(line: &str) -> bool {
    let name = line.rsplit('/').next().unwrap_or_default();
    DRIVERS.iter().any(|driver| name.starts_with(driver))
}

#[cfg(test)]
mod tests {
    use super::is_driver;

    #[test]
    fn drivers_are_known_by_their_files() {
        let line = |file: &str| format!("7f00-7f01 r-xp 00000000 fe:00 1234   {file}");
        assert!(is_driver(&line(
            "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54"
        )));
        assert!(is_driver(&line("/opt/rocm/lib/libamdhip64.so.6")));
        assert!(!is_driver(&line("/usr/lib/libcudart_static.so")));
        assert!(!is_driver("7f00-7f01 rw-p 00000000 00:00 0"));
    }
}
