//! The document of the interface, compared with the answers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fixture::Site;

/// The statuses with which the layers around all addresses may answer.
const EVERYWHERE: [u16; 3] = [408, 421, 429];

fn document(site: &Site) -> Value {
    site.get("/api/v1/openapi.json").expect(200).json()
}

/// All operations: method, path and the statuses that are documented.
fn operations(document: &Value) -> Vec<(String, String, BTreeSet<u16>)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods
            .filter(|(_, operation)| operation["responses"].is_object())
            .map(move |(method, operation)| {
                let statuses = operation["responses"].as_object().unwrap().keys();
                let statuses = statuses.map(|status| status.parse().unwrap());
                (method.to_uppercase(), path.clone(), statuses.collect())
            })
    });
    operations.collect()
}

#[test]
fn every_answer_has_a_documented_status() {
    let site = Site::of_two_machines(|_| {});
    let bearer = site.bearer();
    let scopes = site.token(&[service::Scope::Read], &["other"]);
    let weak = format!("Authorization: Bearer {scopes}");
    let unknown = "ab".repeat(32);
    let operations = operations(&document(&site));
    assert!(operations.len() > 25, "{}", operations.len());
    for (method, path, documented) in operations {
        let values = [
            ("{machine}", ["local", "..%2F.."]),
            ("{library}", ["openmpi-4.1.4", "%00"]),
            ("{channel}", ["canary", "other"]),
            ("{digest}", [unknown.as_str(), "0"]),
            ("{other}", [unknown.as_str(), "0"]),
            ("{format}", ["openmpi", "other"]),
            ("{id}", ["12", "x"]),
        ];
        for (headers, body) in [
            (vec![], ""),
            (vec![bearer.as_str()], "{}"),
            (vec![weak.as_str(), "Content-Type: application/json"], "{}"),
            (vec![bearer.as_str(), "Content-Type: application/json"], "{"),
            (
                vec![
                    bearer.as_str(),
                    "Content-Type: application/json",
                    "If-Match: \"3\"",
                ],
                "{\"action\": \"withdraw\"}",
            ),
        ] {
            for choice in [0, 1] {
                let path = values.iter().fold(path.clone(), |path, (name, given)| {
                    path.replace(name, given[choice])
                });
                if path.ends_with("/events") && path.len() < 20 {
                    continue;
                }
                let answer = site.send(&format!("{method} {path}"), &headers, body);
                let status = answer.status;
                let is_known = documented.contains(&status) || EVERYWHERE.contains(&status);
                assert!(is_known, "{method} {path} {body}: {answer:?}");
                assert_ne!(status, 405, "{method} {path}");
                if status >= 400 {
                    answer.expect(status);
                }
            }
        }
    }
}

#[test]
fn the_document_names_every_schema_that_it_uses() {
    let document = document(&Site::new());
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut parts = text.split("\"#/components/schemas/");
    parts.next();
    for part in parts {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
    for (method, path, statuses) in operations(&document) {
        assert!(
            statuses.iter().any(|status| *status < 300),
            "{method} {path}"
        );
        assert!(path.starts_with("/api/v1/"), "{path}");
    }
}
