use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::{Answer, CliError, Console};
use super::{
    audit, check, decide, deploy, doctor, evaluate, fit, gain, import, measure, plan, profile,
    program, pull, schedule, simulate, tune, validate,
};
use crate::exit::Failure;

/// Print the JSON schema of a verb's output with --json
///
/// The schema describes every key of the output: its type, its meaning, and whether it may be null. Times are in
/// seconds and sizes in bytes. Later versions may add keys. Without VERB, prints the verbs that have a schema.
///
/// A verb that fails prints one line of JSON to standard error, with the kind of the error: `colltune schema error`.
///
/// `remote` prints the answers of the service; the service describes them at /api/v1/openapi.json.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune schema
  colltune schema lookup
  colltune schema schedule list")]
pub(crate) struct SchemaArgs {
    /// The verb, as in `fit` or `schedule list`
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
}

/// A verb and the schema of its output.
type VerbSchema = (&'static str, fn() -> Schema);

/// The verbs with the types of their output, `program` for `validate` and `check` with `--command`, and `error` for the
/// output of verbs that fail, `usage` for `profile` of lines about jobs, and `usage line` for such a line.
const ANSWERS: [VerbSchema; 28] = [
    ("audit", schema_of::<audit::AuditOutput>),
    ("cancel", schema_of::<Vec<tuner::Cancelled>>),
    ("check", schema_of::<check::CheckOutput>),
    ("decide", schema_of::<decide::Rules>),
    ("deploy", schema_of::<deploy::DeployOutput>),
    ("diff", schema_of::<table::TableComparison>),
    ("doctor", schema_of::<doctor::Findings>),
    ("error", schema_of::<Failure>),
    ("evaluate", schema_of::<evaluate::EvaluateOutput>),
    ("explain", schema_of::<results::Explanation>),
    ("fit", schema_of::<fit::FitOutput>),
    ("gain", schema_of::<gain::GainOutput>),
    ("import", schema_of::<import::ImportAnswer>),
    ("jobs", schema_of::<Vec<tuner::JobRow>>),
    ("lookup", schema_of::<table::DecisionJson>),
    ("measure", schema_of::<measure::MeasureOutput>),
    ("plan", schema_of::<plan::PlanOutput>),
    ("profile", schema_of::<profile::ProfileOutput>),
    ("program", schema_of::<program::ProgramOutput>),
    ("pull", schema_of::<pull::PullOutput>),
    (
        "schedule list",
        schema_of::<Vec<schedule::list::CatalogueEntry>>,
    ),
    (
        "schedule show",
        schema_of::<schedule::show::ScheduleShowOutput>,
    ),
    ("schedule verify", schema_of::<Vec<schedule::verify::Proof>>),
    ("simulate", schema_of::<simulate::rows::SimulateOutput>),
    ("tune", schema_of::<tune::TuneOutput>),
    ("usage", schema_of::<profile::usage::UsageOutput>),
    ("usage line", schema_of::<::profile::usage::JobUsage>),
    ("validate", schema_of::<validate::found::ValidateOutput>),
];

fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

impl SchemaArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let names = ANSWERS.map(|(name, _)| name);
        if self.verb.is_empty() {
            console.print(names.join("\n"))?;
            return Ok(Answer::Good);
        }
        let verb = self.verb.join(" ");
        let mut answers = ANSWERS.iter();
        let Some((_, schema)) = answers.find(|(name, _)| *name == verb) else {
            let known = names.to_vec();
            return Err(CliError::NoSchema { verb, known });
        };
        console.print_json(&schema())?;
        Ok(Answer::Good)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory};
    use serde_json::Value;

    use super::*;
    use crate::args::Cli;

    fn with_json(command: &Command, name: &str, found: &mut BTreeSet<String>) {
        let has_json = command.get_arguments().any(|arg| arg.get_id() == "json");
        if has_json && name != "remote" {
            found.insert(name.to_owned());
        }
        for below in command.get_subcommands() {
            let name = format!("{name} {}", below.get_name());
            with_json(below, name.trim(), found);
        }
    }

    #[test]
    fn every_verb_with_json_has_a_schema() {
        // Errors and lines about jobs are no answers of a verb, and lines have another form than profiles.
        let others = ["error", "program", "usage", "usage line"];
        let mut found = BTreeSet::from(others.map(str::to_owned));
        with_json(&Cli::command(), "", &mut found);
        let known = ANSWERS.map(|(name, _)| name.to_owned());
        assert_eq!(found, BTreeSet::from(known));
    }

    /// The properties without a description, at any depth.
    fn undescribed(part: &Value, found: &mut Vec<String>) {
        if let Some(Value::Object(keys)) = part.get("properties") {
            let lacking = keys
                .iter()
                .filter(|(_, key)| key.get("description").is_none());
            found.extend(lacking.map(|(name, _)| name.clone()));
        }
        match part {
            Value::Object(parts) => parts.values().for_each(|inner| undescribed(inner, found)),
            Value::Array(parts) => parts.iter().for_each(|inner| undescribed(inner, found)),
            _ => {}
        }
    }

    #[test]
    fn every_key_is_described() {
        for (verb, schema) in ANSWERS {
            let mut found = Vec::new();
            undescribed(schema().as_value(), &mut found);
            assert!(
                found.is_empty(),
                "keys without description in the schema of {verb}: {found:?}"
            );
        }
    }

    /// The values that the properties `collective` list, at any depth; null for those that list none.
    fn listed_collectives<'s>(part: &'s Value, found: &mut Vec<&'s Value>) {
        if let Some(named) = part.pointer("/properties/collective") {
            found.push(&named["enum"]);
        }
        match part {
            Value::Object(parts) => parts.values().for_each(|p| listed_collectives(p, found)),
            Value::Array(parts) => parts.iter().for_each(|p| listed_collectives(p, found)),
            _ => {}
        }
    }

    #[test]
    fn schemas_list_the_collectives() {
        let all = serde_json::json!(::schedule::Collective::ALL.map(::schedule::Collective::name));
        for verb in [
            "check",
            "diff",
            "gain",
            "lookup",
            "plan",
            "schedule list",
            "schedule show",
            "schedule verify",
            "simulate",
            "tune",
            "validate",
        ] {
            let (_, schema) = ANSWERS
                .iter()
                .find(|(name, _)| *name == verb)
                .expect("a verb with a schema");
            let schema = schema();
            let mut found = Vec::new();
            listed_collectives(schema.as_value(), &mut found);
            assert!(!found.is_empty(), "{verb}");
            assert!(
                found.iter().all(|listed| **listed == all),
                "{verb}: {found:?}"
            );
        }
    }

    #[test]
    fn schemas_do_not_speak_of_rust() {
        for (verb, schema) in ANSWERS {
            let text = serde_json::to_string(&schema()).expect("a schema is JSON");
            for part in ["[`", "::", "erialized", "`None`"] {
                assert!(
                    !text.contains(part),
                    "{part} in the schema of {verb}: {text}"
                );
            }
        }
    }
}
