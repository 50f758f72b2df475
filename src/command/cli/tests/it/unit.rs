//! systemd's verdict on the service's unit.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The name of one of systemd's programs, if it is installed.
pub(crate) fn systemd(name: &str) -> Option<&str> {
    let ran = Command::new(name).arg("--version").output();
    testkit::require("systemd", ran.ok().map(|_| name))
}

const UNIT: &str = "colltune.service";

/// The greatest exposure of the unit, in tenths: what `systemd-analyze security` calls "OK" ends at 4.9. The comments of
/// the unit say why it is not less.
const MOST_EXPOSURE: u32 = 19;

fn unit() -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts");
    fs::read_to_string(scripts.join(UNIT)).unwrap()
}

/// Whether the exposure of a unit is at most [`MOST_EXPOSURE`], and the report.
fn is_closed(analyze: &str, text: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(UNIT);
    fs::write(&path, text).unwrap();
    let output = Command::new(analyze)
        .args(["security", "--offline=yes", "--no-pager"])
        .arg(format!("--threshold={MOST_EXPOSURE}"))
        .arg(&path)
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(report.contains("Overall exposure level"), "{output:?}");
    (output.status.success(), report)
}

#[test]
fn the_unit_leaves_the_service_little_to_attack_with() {
    let Some(analyze) = systemd("systemd-analyze") else {
        return;
    };
    let unit = unit();
    let (is_accepted, report) = is_closed(analyze, &unit);
    assert!(is_accepted, "{report}");
    for line in [
        "CapabilityBoundingSet=\n",
        "NoNewPrivileges=yes\n",
        "SystemCallFilter=@system-service\n",
        "User=colltune\n",
    ] {
        let open = unit.replacen(line, "", 1);
        assert_ne!(open, unit, "{line}");
        let (is_open_accepted, open_report) = is_closed(analyze, &open);
        assert!(!is_open_accepted, "without {line}{open_report}");
    }
}

#[test]
fn systemd_understands_every_line_of_the_units() {
    let Some(analyze) = systemd("systemd-analyze") else {
        return;
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts");
    let folder = tempfile::tempdir().unwrap();
    let socket = "colltune.socket";
    fs::copy(scripts.join(socket), folder.path().join(socket)).unwrap();
    let verify = |text: &str| {
        // The program must exist.
        let text = text.replace("/usr/local/bin/colltune", "/bin/true");
        fs::write(folder.path().join(UNIT), text).unwrap();
        let output = Command::new(analyze)
            .args(["verify", "--man=no"])
            .args([UNIT, socket].map(|name| folder.path().join(name)))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = |text: &str| {
        let said = verify(text);
        // Units of the system that have mistakes are reported as well.
        let own = said.lines().filter(|line| line.contains("colltune."));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    let unit = unit();
    assert_eq!(told(&unit), [""; 0]);
    assert_eq!(
        told(&unit.replace("PrivateMounts=", "PrivateMount=")).len(),
        1
    );
}
