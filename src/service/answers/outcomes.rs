//! The parts of a verb's outcome, the output of `--json`, that the service reads. The verb flattens them into its output.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use table::Deployment;

use crate::Digest;

/// The files that `colltune tune` writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct TunedFiles {
    /// The file of the table.
    pub table: PathBuf,
    /// The report in Markdown.
    pub report: PathBuf,
    /// The HTML report; null if the report is a special file, such as a device.
    pub page: Option<PathBuf>,
    /// The exported file for the library; null if nothing was exported.
    pub export: Option<PathBuf>,
}

/// What a service adds to the outcome of `colltune tune`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeTable {
    /// The digest of the table.
    pub digest: Digest,
}

impl MadeTable {
    /// Adds it to an outcome.
    pub fn add_to(self, outcome: &mut Value) {
        if let (Some(fields), Ok(Value::Object(added))) =
            (outcome.as_object_mut(), serde_json::to_value(self))
        {
            fields.extend(added);
        }
    }
}

/// What a service reports of `colltune report`, which prints no outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportOutcome {
    /// The file of the report.
    pub report: String,
}

/// The deployment that `colltune validate` measures.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct MeasuredDeployment {
    /// The deployment whose decisions were measured.
    pub deployment: Deployment,
    /// The way in which the table's choices were put in place: `driver`, `export` or `force`.
    pub via: String,
}

/// Speed-ups over the library's default; null if nothing was measured often enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct Speedups {
    /// Geometric mean of the points' speed-ups over the default.
    pub geometric_mean: Option<f64>,
    /// The largest speed-up.
    pub best: Option<f64>,
    /// The smallest speed-up.
    pub worst: Option<f64>,
}

/// The numbers of a validation's points with each judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct JudgementCounts {
    /// Points at which the table is significantly faster.
    pub faster: usize,
    /// Points at which the two are statistically indistinguishable, and a loss beyond the materiality is excluded.
    pub same: usize,
    /// Points at which nothing is shown, since times vary too much to exclude a loss beyond the materiality.
    pub inconclusive: usize,
    /// Points at which the table is significantly slower.
    pub slower: usize,
    /// Points at which the table's choice fails.
    pub broken: usize,
    /// Points with too few launches for a result.
    pub too_few_launches: usize,
    /// Points that remained suspects when time was up.
    pub undecided: usize,
    /// Points that were not measured.
    pub not_measured: usize,
}

impl JudgementCounts {
    /// The points that were not judged: not measured, or in too few launches to tell.
    pub fn count_unjudged(&self) -> usize {
        self.too_few_launches + self.undecided + self.not_measured
    }
}

/// The machine and the library that a validation or check has measured: what must be the same for times of different
/// nights to be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct MeasuredMachine {
    /// The CPU model; empty if unknown.
    pub cpu: String,
    /// The kernel; empty if unknown.
    pub kernel: String,
    /// The first line of `MPI_Get_library_version`; empty if unknown.
    pub library_text: String,
    /// The library's transports; empty if it does not report them.
    pub transports: Vec<String>,
}

/// What is read of a validation or a check for trends: the same keys in both outcomes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TrendOutcome {
    /// `NAME-VERSION` of the library that was measured.
    pub library: String,
    /// The way in which a validation put the table's choices in place; empty in outcomes of checks.
    pub via: String,
    /// What was measured; `None` in outcomes of earlier versions.
    pub machine: Option<MeasuredMachine>,
    /// Warnings about the launches: other work that was running.
    pub warnings: Vec<String>,
    /// The points.
    pub points: Vec<TrendPoint>,
}

/// What is read of a point for trends. Keys that are lacking leave the point out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TrendPoint {
    /// Name of the collective.
    pub collective: String,
    /// Nodes.
    pub nodes: u32,
    /// Ranks per node.
    pub ppn: u32,
    /// Size of the call in bytes.
    pub bytes: u64,
    /// The distribution of the data of an irregular collective.
    pub distribution: Option<String>,
    /// The operators of the entry of the table.
    pub operators: String,
    /// The reason for measuring at this size; `probe` if it was drawn at random.
    pub place: String,
    /// The full name of the table's choice.
    pub chosen: String,
    /// The time of the table's choice.
    pub seconds: Option<f64>,
    /// The time of the library's default.
    pub default_seconds: Option<f64>,
}

/// The points of a validation.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ValidatedPoints<P> {
    /// The points of the table.
    #[serde(default = "Vec::new")]
    #[schemars(!default)]
    pub points: Vec<P>,
}

/// What is read of the outcome of `colltune validate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ValidateFindings {
    /// The deployment.
    #[serde(flatten)]
    pub measured: MeasuredDeployment,
    /// The speed-ups.
    #[serde(flatten)]
    pub speedups: Speedups,
    /// The numbers of points.
    #[serde(flatten)]
    pub counts: JudgementCounts,
    /// The points, unread.
    #[serde(flatten)]
    pub found: ValidatedPoints<IgnoredAny>,
}

/// The points of a check.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckedPoints<P> {
    /// The points that were measured.
    #[serde(default = "Vec::new")]
    #[schemars(!default)]
    pub points: Vec<P>,
}

/// Whether a table holds at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct PointVerdict {
    /// Whether the table does not hold here.
    pub regression: bool,
    /// Whether it is known if the table holds here.
    pub decided: bool,
}

impl Default for PointVerdict {
    fn default() -> Self {
        Self {
            regression: false,
            // Checks of earlier versions do not say which points are decided.
            decided: true,
        }
    }
}

/// The answer of `colltune check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
#[schemars(!default)]
pub struct TableVerdict {
    /// Whether the table holds; null if a point remained suspect, because time was up or other work was running, or if no
    /// point was decided.
    pub holds: Option<bool>,
    /// Whether `holds` is false only because the library or the machine became slower: choices are slower than their
    /// times in the table where the default is, too, and nothing shows that another choice would be better.
    pub slower_machine: bool,
}

/// The exit code of `colltune check` if the library or the machine became slower, but the table is not shown to be
/// wrong.
pub const SLOWER_MACHINE_CODE: i32 = 5;

/// What is read of the outcome of `colltune check`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct CheckFindings {
    /// The answer.
    #[serde(flatten)]
    pub verdict: TableVerdict,
    /// The points.
    #[serde(flatten)]
    pub found: CheckedPoints<PointVerdict>,
}

/// An outcome without its points, which may be many.
pub fn without_points(mut outcome: Value) -> Value {
    if let Some(fields) = outcome.as_object_mut() {
        fields.remove("points");
    }
    outcome
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use vocabulary::CampaignProgress;

    use super::*;

    /// Writes a part within a larger outcome, with a key of a later version, and reads it.
    #[track_caller]
    fn written_and_read<T: Serialize + DeserializeOwned>(part: &impl Serialize) -> T {
        let mut outcome = serde_json::to_value(part).expect("JSON");
        let fields = outcome.as_object_mut().expect("an object");
        fields.insert("of_later_versions".to_owned(), json!({"points": 1}));
        T::deserialize(&outcome).expect("readable")
    }

    fn files() -> TunedFiles {
        TunedFiles {
            table: "tables/a.yaml".into(),
            report: "reports/a.md".into(),
            page: None,
            export: Some("tables/a.conf".into()),
        }
    }

    #[test]
    fn parts_are_read_as_they_are_written() {
        assert_eq!(written_and_read::<TunedFiles>(&files()), files());
        let report = ReportOutcome {
            report: "tasks/1/report.html".to_owned(),
        };
        assert_eq!(written_and_read::<ReportOutcome>(&report), report);
        let deployment = MeasuredDeployment {
            deployment: Deployment::Library,
            via: "export".to_owned(),
        };
        assert_eq!(
            written_and_read::<MeasuredDeployment>(&deployment),
            deployment
        );
        let speedups = Speedups {
            geometric_mean: Some(1.25),
            best: Some(2.0),
            worst: None,
        };
        assert_eq!(written_and_read::<Speedups>(&speedups), speedups);
        assert_eq!(written_and_read::<JudgementCounts>(&COUNTS), COUNTS);
        let verdict = TableVerdict {
            holds: Some(false),
            slower_machine: true,
        };
        assert_eq!(written_and_read::<TableVerdict>(&verdict), verdict);
        let point = PointVerdict {
            regression: true,
            decided: false,
        };
        assert_eq!(written_and_read::<PointVerdict>(&point), point);
        let points = CheckedPoints {
            points: vec![point, PointVerdict::default()],
        };
        assert_eq!(
            written_and_read::<CheckedPoints<PointVerdict>>(&points),
            points
        );
    }

    const COUNTS: JudgementCounts = JudgementCounts {
        faster: 1,
        same: 2,
        inconclusive: 3,
        slower: 4,
        broken: 5,
        too_few_launches: 6,
        undecided: 7,
        not_measured: 8,
    };

    /// An outcome as a verb writes it: the shared parts, and further keys, which readers ignore.
    #[derive(Serialize)]
    struct Written<A: Serialize, B: Serialize, C: Serialize> {
        library: &'static str,
        #[serde(flatten)]
        first: A,
        seed: u64,
        #[serde(flatten)]
        second: B,
        warnings: [&'static str; 1],
        #[serde(flatten)]
        last: C,
    }

    fn outcome_of(first: impl Serialize, second: impl Serialize, last: impl Serialize) -> Value {
        let written = Written {
            library: "openmpi-4.1.4",
            first,
            seed: 1,
            second,
            warnings: ["w"],
            last,
        };
        serde_json::to_value(written).expect("JSON")
    }

    #[test]
    fn a_service_adds_the_table_to_an_outcome() {
        let made = MadeTable {
            digest: Digest::of_bytes(b"a table"),
        };
        let mut outcome = json!({"done": 4});
        made.clone().add_to(&mut outcome);
        assert_eq!(outcome["done"], 4);
        assert_eq!(outcome["digest"], made.digest.as_str());
        assert_eq!(MadeTable::deserialize(&outcome).expect("readable"), made);
        assert!(MadeTable::deserialize(&json!({"digest": "../x"})).is_err());
    }

    #[test]
    fn findings_are_read_out_of_whole_outcomes() {
        let progress = CampaignProgress { done: 3, total: 4 };
        let tuned = outcome_of(files(), progress, json!({"confirmed": true}));
        let found_files = TunedFiles::deserialize(&tuned).expect("readable");
        let found_progress = CampaignProgress::deserialize(&tuned).expect("readable");
        assert_eq!((found_files, found_progress), (files(), progress));

        let speedups = Speedups {
            geometric_mean: Some(1.25),
            ..Speedups::default()
        };
        let points = ValidatedPoints {
            points: vec![json!({"judgement": "same"}), json!({})],
        };
        let validated = outcome_of(speedups, COUNTS, points);
        let found_points = ValidateFindings::deserialize(&validated).expect("readable");
        assert_eq!(
            (found_points.speedups, found_points.counts),
            (speedups, COUNTS)
        );
        assert_eq!(found_points.counts.count_unjudged(), 21);
        assert_eq!(found_points.measured.deployment, Deployment::Colltune);
        assert_eq!(found_points.found.points.len(), 2);
        let shortened = without_points(validated);
        let found_shortened = ValidateFindings::deserialize(&shortened).expect("readable");
        assert_eq!(found_shortened.counts, COUNTS);
        assert!(found_shortened.found.points.is_empty());

        let point = PointVerdict {
            regression: true,
            decided: true,
        };
        let checked_points = CheckedPoints {
            points: vec![outcome_of(point, json!({}), json!({"broken": null}))],
        };
        let verdict = TableVerdict::default();
        let checked = outcome_of(verdict, json!({}), checked_points);
        let found_check = CheckFindings::deserialize(&checked).expect("readable");
        assert_eq!(found_check.verdict, verdict);
        assert_eq!(found_check.found.points, [point]);
    }

    #[test]
    fn outcomes_of_earlier_versions_may_lack_keys() {
        let nothing = json!({});
        let validated = ValidateFindings::deserialize(&nothing).expect("readable");
        assert_eq!(validated, ValidateFindings::default());
        let old = json!({"points": [{"regression": false}]});
        let checked = CheckFindings::deserialize(&old).expect("readable");
        assert_eq!(checked.found.points, [PointVerdict::default()]);
        assert_eq!(checked.verdict.holds, None);
    }

    /// What a reader may lack, a writer always prints.
    #[test]
    fn schemas_name_every_key_as_required() {
        fn schema_of<T: JsonSchema>() -> schemars::Schema {
            let settings = SchemaSettings::draft2020_12().for_serialize();
            settings.into_generator().into_root_schema_for::<T>()
        }
        for schema in [
            schema_of::<TunedFiles>(),
            schema_of::<MeasuredDeployment>(),
            schema_of::<Speedups>(),
            schema_of::<JudgementCounts>(),
            schema_of::<ValidatedPoints<u32>>(),
            schema_of::<CheckedPoints<PointVerdict>>(),
            schema_of::<PointVerdict>(),
            schema_of::<TableVerdict>(),
        ] {
            let properties = schema.as_value()["properties"].as_object().expect("keys");
            let required = schema.as_value()["required"].as_array().expect("keys");
            assert_eq!(required.len(), properties.len(), "{required:?}");
            for (key, property) in properties {
                assert!(property.get("default").is_none(), "{key}: {property}");
            }
        }
    }
}
