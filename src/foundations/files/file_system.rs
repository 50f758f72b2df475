//! File systems that several hosts share.

use std::path::Path;

use nix::sys::statfs::statfs;

/// Magic numbers from `linux/magic.h` and the file systems' own headers. File systems in user space do not report their
/// kind; most are network file systems.
const NETWORK: &[(i64, &str)] = &[
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x00C3_6400, "CephFS"),
    (0x6573_5546, "FUSE"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0102_1997, "9P"),
    (0xAAD7_AAEA, "PanFS"),
    (0x2003_0528, "OrangeFS"),
    (0x7461_636F, "OCFS2"),
    (0x0116_1970, "GFS2"),
];

/// The name of the file system that holds `path`, or would hold it, if several hosts can share it: locks and
/// shared memory, such as SQLite's, are unreliable there. `None` if it is local or unknown.
#[must_use]
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    let absolute = std::path::absolute(path).ok()?;
    let magic = absolute
        .ancestors()
        .find_map(|folder| statfs(folder).ok())?
        .filesystem_type()
        .0;
    name_of_magic(widen_magic(magic))
}

/// A file system's type, whose width depends on the architecture.
fn widen_magic(magic: impl Into<i64>) -> i64 {
    magic.into()
}

fn name_of_magic(magic: i64) -> Option<&'static str> {
    // Where the type is narrower than 64 bits, large numbers are negative.
    let magic = magic & 0xFFFF_FFFF;
    let known = NETWORK.iter().find(|(number, _)| *number == magic);
    known.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_has_the_file_system_of_its_folder() {
        let proc = Path::new("/proc/self/none/at/all");
        assert_eq!(network_file_system(proc), None);
    }

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(name_of_magic(0x6969), Some("NFS"));
        assert_eq!(name_of_magic(0xFF53_4D42), Some("CIFS"));
        assert_eq!(
            name_of_magic(-0x00AC_B2BE),
            Some("CIFS"),
            "as a negative number"
        );
        let local = [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630];
        for magic in local {
            assert_eq!(name_of_magic(magic), None, "{magic:x}");
        }
    }
}
