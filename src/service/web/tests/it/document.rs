//! The document of the interface, compared with the answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::fixture::Site;
use crate::pages_bed::Busy;

fn document(site: &Site) -> Value {
    site.get("/api/v1/openapi.json").expect(200).json()
}

/// The documented responses of an operation: the media types of each status.
type Responses = BTreeMap<u16, BTreeSet<String>>;

/// All operations: method, path and responses.
fn operations(document: &Value) -> Vec<(String, String, Responses)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods
            .filter(|(_, operation)| operation["responses"].is_object())
            .map(move |(method, operation)| {
                let responses = operation["responses"].as_object().unwrap().iter();
                let responses = responses.map(|(status, response)| {
                    let media = response["content"].as_object().into_iter().flatten();
                    let media = media.map(|(media, _)| media.clone()).collect();
                    (status.parse().unwrap(), media)
                });
                (method.to_uppercase(), path.clone(), responses.collect())
            })
    });
    operations.collect()
}

#[test]
fn every_answer_has_a_documented_status() {
    let busy = Busy::new(true);
    let site = &busy.site;
    let (new, old) = (busy.new.to_string(), busy.old.to_string());
    let bearer = site.bearer();
    let scopes = site.token(&[service::Scope::Submit], &["local"]);
    let weak = format!("Authorization: Bearer {scopes}");
    let unknown = "ab".repeat(32);
    let operations = operations(&document(site));
    assert!(operations.len() > 25, "{}", operations.len());
    let mut succeeded = BTreeSet::new();
    for (method, path, documented) in operations {
        let values = [
            ("{machine}", ["local", "local", "..%2F.."]),
            ("{library}", ["openmpi-4.1.4", "openmpi-4.1.4", "%00"]),
            ("{channel}", ["canary", "canary", "other"]),
            ("{digest}", [new.as_str(), unknown.as_str(), "0"]),
            ("{other}", [old.as_str(), unknown.as_str(), "0"]),
            ("{format}", ["c-header", "openmpi", "other"]),
            ("{id}", ["1", "12", "x"]),
            ("{name}", ["nightly", "unknown", "%00"]),
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
            for choice in [0, 1, 2] {
                let path = values.iter().fold(path.clone(), |path, (name, given)| {
                    path.replace(name, given[choice])
                });
                // These streams do not end.
                if path.ends_with("/events") && (choice == 0 || path.len() < 20) {
                    continue;
                }
                let answer = site.send(&format!("{method} {path}"), &headers, body);
                let status = answer.status;
                let Some(media) = documented.get(&status) else {
                    panic!("{method} {path} {body}: {answer:?}");
                };
                let found = answer.header("content-type").unwrap_or_default();
                let found = found.split(';').next().unwrap_or_default();
                let is_documented = if answer.body.is_empty() {
                    media.is_empty()
                } else {
                    media.contains(found)
                };
                assert!(is_documented, "{method} {path}: {media:?}, {answer:?}");
                assert_ne!(status, 405, "{method} {path}");
                if status >= 400 {
                    answer.expect(status);
                } else {
                    succeeded.insert(format!("{method} {path}"));
                }
            }
        }
    }
    assert!(succeeded.len() > 15, "{succeeded:?}");
}

#[test]
fn all_errors_are_documented_as_problems() {
    let document = document(&Site::new());
    let problem = &document["components"]["schemas"]["Problem"];
    assert!(problem["properties"]["detail"].is_object(), "{problem}");
    let paths = document["paths"].as_object().unwrap().values();
    let mut seen = 0;
    for operation in paths.flat_map(|item| item.as_object().unwrap().values()) {
        let Some(responses) = operation["responses"].as_object() else {
            continue;
        };
        for (status, response) in responses {
            let content = response["content"].as_object();
            if status.as_str() < "400" {
                let media = content.into_iter().flatten();
                let mut media = media.map(|(media, _)| media);
                assert!(media.all(|media| media != "application/problem+json"));
                continue;
            }
            let expected = json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
            assert_eq!(response["content"], expected, "{status}");
            seen += 1;
        }
        for status in ["400", "408", "413", "414", "421", "429", "500", "503"] {
            assert!(responses.contains_key(status), "{status}");
        }
    }
    assert!(seen > 200, "{seen}");
}

/// A condition does not hold for what does not exist, and never changes another refusal.
#[test]
fn conditions_do_not_change_how_requests_are_refused() {
    let site = Site::of_two_machines(|_| {});
    let bearer = site.bearer();
    let token = site.token(&[service::Scope::Publish], &["other"]);
    let elsewhere = format!("Authorization: Bearer {token}");
    let unknown = "ab".repeat(32);
    let json = "Content-Type: application/json";
    let withdraw = r#"{"action": "withdraw", "reason": "slower"}"#;
    let mut refused = 0;
    for (method, path, _) in operations(&document(&site)) {
        if path.ends_with("/events") {
            continue;
        }
        for machine in ["local", "none"] {
            let path = path
                .replace("{machine}", machine)
                .replace("{library}", "openmpi-4.1.4")
                .replace("{channel}", "canary")
                .replace("{digest}", &unknown)
                .replace("{other}", &unknown)
                .replace("{format}", "openmpi")
                .replace("{name}", "unknown")
                .replace("{id}", "12");
            let line = format!("{method} {path}");
            for authorization in [&bearer, &elsewhere] {
                let send = |condition: &str| {
                    let body = if method == "POST" { withdraw } else { "" };
                    site.send(&line, &[authorization, json, condition], body)
                        .status
                };
                let plain = send("X-None: 1");
                if ![401, 403, 404].contains(&plain) {
                    continue;
                }
                refused += 1;
                for condition in [
                    "If-None-Match: *",
                    "If-Match: *",
                    "If-Match: \"1\"",
                    "If-None-Match: \"1\"",
                    &format!("If-None-Match: \"{unknown}\""),
                ] {
                    assert_eq!(send(condition), plain, "{line} {condition}");
                }
            }
        }
    }
    assert!(refused > 30, "{refused}");
    // The channel has no release, so there is nothing that `If-Match: *` could hold for.
    let releases = "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/canary/releases";
    let release = json!({"action": "release", "digest": unknown});
    site.post(releases, &["If-Match: *"], &release).expect(412);
    site.post(releases, &["If-None-Match: *"], &release)
        .expect(404);
}

#[test]
fn questions_name_one_of_all_collectives() {
    let document = document(&Site::new());
    let path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}/lookup";
    let parameters = document["paths"][path]["get"]["parameters"].as_array();
    let mut parameters = parameters.unwrap().iter();
    let asked = parameters.find(|parameter| parameter["name"] == "collective");
    let asked = asked.unwrap();
    assert_eq!(asked["required"], true);
    let schemas = &document["components"]["schemas"];
    let posted = &schemas["Question"]["properties"]["collective"];
    for schema in [&asked["schema"], posted] {
        let named = schema["$ref"].as_str().unwrap();
        let name = named.strip_prefix("#/components/schemas/").unwrap();
        let all = schedule::Collective::ALL.map(schedule::Collective::name);
        assert_eq!(schemas[name], json!({"type": "string", "enum": all}));
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
    for (method, path, responses) in operations(&document) {
        assert!(
            responses.keys().any(|status| *status < 300),
            "{method} {path}"
        );
        assert!(path.starts_with("/api/v1/"), "{path}");
        // The layers around all addresses answer with these.
        for refusal in [408, 421, 429, 503] {
            assert!(
                responses.contains_key(&refusal),
                "{method} {path}: {refusal}"
            );
        }
    }
}
