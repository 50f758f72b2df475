//! SARIF 2.1.0 (OASIS, 2020), the format in which services for code show findings at their lines.
//!
//! Only what these services read is written: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>, sections
//! 3.13 (log), 3.14 (run), 3.27 (result), 3.30 (region), 3.49 (rule).

use std::path::{Path, PathBuf};

use libraries::FindingKind;
use serde::Serialize;
use tuner::{AuditReport, AuditedFinding, AuditedSource};

/// A log with one run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun {
    tool: SarifTool,
    /// Columns are not given, but consumers ask for their unit.
    column_kind: &'static str,
    results: Vec<SarifResult>,
}

#[derive(Serialize)]
struct SarifTool {
    driver: SarifDriver,
}

#[derive(Serialize)]
struct SarifDriver {
    name: &'static str,
    version: &'static str,
    rules: Vec<SarifRule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRule {
    id: &'static str,
    short_description: SarifText,
    default_configuration: SarifConfiguration,
}

#[derive(Serialize)]
struct SarifConfiguration {
    level: &'static str,
}

#[derive(Serialize)]
struct SarifText {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: SarifText,
    locations: Vec<SarifLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: SarifPlace,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifPlace {
    artifact_location: SarifFile,
    region: SarifRegion,
}

#[derive(Serialize)]
struct SarifFile {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: usize,
}

impl SarifLog {
    /// The log of a report; files below `folder` are named as seen from there.
    pub(super) fn from_report(report: &AuditReport, folder: &Path) -> Self {
        let rules = FindingKind::ALL.iter().map(|kind| SarifRule {
            id: kind.id(),
            short_description: SarifText {
                text: kind.summary().to_owned(),
            },
            default_configuration: SarifConfiguration {
                level: level(kind.is_fault()),
            },
        });
        let found = report
            .sources
            .iter()
            .flat_map(|source| source.findings.iter().map(move |found| (source, found)));
        Self {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [SarifRun {
                tool: SarifTool {
                    driver: SarifDriver {
                        name: "colltune audit",
                        version: env!("CARGO_PKG_VERSION"),
                        rules: rules.collect(),
                    },
                },
                column_kind: "unicodeCodePoints",
                // Services refuse results that are in no file, as those of the environment.
                results: found
                    .filter(|(source, _)| source.path.is_some())
                    .map(|(source, finding)| SarifResult::from_finding(source, finding, folder))
                    .collect(),
            }],
        }
    }
}

impl SarifResult {
    fn from_finding(source: &AuditedSource, finding: &AuditedFinding, folder: &Path) -> Self {
        let remedy = finding.remedy.as_ref();
        let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        let place = |path: &PathBuf| SarifLocation {
            physical_location: SarifPlace {
                artifact_location: SarifFile {
                    uri: uri_of(path, folder),
                },
                region: SarifRegion {
                    // A finding about a whole file is shown at its beginning.
                    start_line: finding.line.unwrap_or(1),
                },
            },
        };
        let all = FindingKind::ALL.iter();
        let index = all.map(|kind| kind.id()).position(|id| id == finding.kind);
        Self {
            rule_id: finding.kind,
            // Every kind is in the list.
            rule_index: index.unwrap_or_default(),
            level: level(finding.fault),
            message: SarifText {
                text: format!("{}: {}{remedy}.", source.library, finding.message),
            },
            locations: source.path.iter().map(place).collect(),
        }
    }
}

fn level(is_fault: bool) -> &'static str {
    if is_fault { "error" } else { "note" }
}

/// A path as a URI reference (RFC 3986): relative if it leads to a file below the folder, as services need it, which do not
/// know where a repository lies on this machine.
fn uri_of(path: &Path, folder: &Path) -> String {
    // Links to the file itself are not followed: the repository has their names.
    let whole = folder.join(path);
    let resolved = whole.parent().and_then(|parent| {
        let parent = parent.canonicalize().ok()?;
        Some(parent.join(whole.file_name()?))
    });
    let whole = resolved.unwrap_or(whole);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    match whole.strip_prefix(&folder) {
        Ok(below) => escaped(&below.to_string_lossy()),
        Err(_) => format!("file://{}", escaped(&whole.to_string_lossy())),
    }
}

fn escaped(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
