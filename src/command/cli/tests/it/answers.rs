//! The output of `--json` conforms to the schemas that `colltune schema` prints.

use std::process::Command;

use serde_json::{Value, json};

/// Asserts that an answer is JSON, fits its verb's schema, and has no key that the schema does not name. Errors and
/// `--help` print no answer, and the answers of services have no schema here.
pub(crate) fn check(args: &[&str], out: &str, is_success: bool) {
    let mut words = args.iter().filter(|word| !word.starts_with('-'));
    let (Some(verb), true) = (words.next(), args.contains(&"--json")) else {
        return;
    };
    let answer = match serde_json::from_str::<Value>(out) {
        Ok(answer) => answer,
        Err(error) => {
            let is_help = args.contains(&"--help");
            assert!(!is_success || is_help, "{args:?}: {error}: {out}");
            return;
        }
    };
    let verb = match *verb {
        "remote" => return,
        "schedule" => vec![*verb, words.next().unwrap()],
        // Of lines about jobs `profile` prints another answer than of profiles.
        "profile" if answer.get("tables").is_some() => vec!["usage"],
        other => vec![other],
    };
    fits(&verb, &answer);
}

/// Asserts that JSON fits the schema that `colltune schema` prints for these words.
pub(crate) fn fits(name: &[&str], answer: &Value) {
    let printed = Command::new(env!("CARGO_BIN_EXE_colltune"))
        .arg("schema")
        .args(name)
        .output()
        .unwrap();
    let mut schema = serde_json::from_slice(&printed.stdout).unwrap();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name:?}: {errors:#?}");
}

/// Makes objects refuse keys that they do not describe, which later versions may add.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            parts.values_mut().for_each(close);
            if parts.get("type") == Some(&json!("object")) && parts.contains_key("properties") {
                parts.insert("unevaluatedProperties".to_owned(), json!(false));
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
#[should_panic(expected = "strange")]
fn an_answer_with_a_key_that_its_schema_does_not_name_is_caught() {
    let entry = json!({
        "collective": "bcast", "id": "chain", "summary": "", "ordered": true, "ordered_at_ends": true,
        "parameters": [], "cost": "", "ranks": "any", "source": "", "strange": 1
    });
    check(
        &["schedule", "list", "--json"],
        &json!([entry]).to_string(),
        true,
    );
}

#[test]
#[should_panic(expected = "summary")]
fn an_answer_that_lacks_a_key_is_caught() {
    check(
        &["schedule", "list", "--json"],
        "[{\"id\": \"chain\"}]",
        true,
    );
}

#[test]
#[should_panic(expected = "expected value")]
fn an_answer_that_is_not_json_is_caught() {
    check(&["schedule", "list", "--json"], "chain", true);
}
