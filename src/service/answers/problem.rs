//! Errors of the interface over HTTP, as `application/problem+json` (RFC 9457).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::Gate;

/// What a client reads of an error. Every key may be lacking or be something else, since a proxy may have answered in
/// the service's place.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProblemAnswer {
    /// The status in words.
    #[serde(deserialize_with = "read_or_default")]
    pub title: Option<String>,
    /// A description of the error, with a remedy.
    #[serde(deserialize_with = "read_or_default")]
    pub detail: Option<String>,
    /// The gates of a refused release. Those that cannot be read are left out.
    #[serde(deserialize_with = "read_each")]
    pub gates: Vec<Gate>,
}

fn read_or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Reads the elements of a list that can be read: one of a later version must not hide the others.
fn read_each<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let Value::Array(elements) = Value::deserialize(from)? else {
        return Ok(Vec::new());
    };
    let read = elements
        .into_iter()
        .filter_map(|element| T::deserialize(element).ok());
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_proxy_answers_hides_no_other_key() {
        let text = r#"{"title": "Conflict", "detail": ["no text"], "gates": 7, "trace": {}}"#;
        let refusal: ProblemAnswer = serde_json::from_str(text).expect("readable");
        let expected = ProblemAnswer {
            title: Some("Conflict".to_owned()),
            ..ProblemAnswer::default()
        };
        assert_eq!(refusal, expected);
    }

    #[test]
    fn a_gate_that_cannot_be_read_hides_no_other_gate() {
        let text = r#"{"gates": [
            {"name": "signed", "state": "pending", "reason": "of a later version"},
            {"name": "validated", "state": "closed", "reason": "no validation"}
        ]}"#;
        let refusal: ProblemAnswer = serde_json::from_str(text).expect("readable");
        let names: Vec<&str> = refusal.gates.iter().map(|gate| &*gate.name).collect();
        assert_eq!(names, ["validated"]);
    }
}
