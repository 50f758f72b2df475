//! The settings file that names a file of rules.

use super::describe_settings_file;

#[test]
fn other_settings_beside_the_rules_are_reported() {
    let folder = std::env::temp_dir().join(format!("colltune-rules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let check = |more: &str, expected: &str| {
        let path = folder.join("mca-params.conf");
        // Comments are in any encoding.
        let text = [
            b"# r\xe8gles\n# coll_x = 1\ncoll_tuned_dynamic_rules_filename = /etc/rules.conf\n"
                .as_slice(),
            more.as_bytes(),
        ]
        .concat();
        std::fs::write(&path, text).expect("written");
        let path = path.display().to_string();
        let rules = exec::RulesInFiles {
            setting: "coll_tuned_dynamic_rules_filename",
            file: "/etc/rules.conf".to_owned(),
            settings: format!("/nowhere:{path}"),
        };
        assert_eq!(describe_settings_file(&rules), path + expected);
    };
    check("btl = ^openib\n", "");
    check("coll = ^han\n", " (its line `coll = ^han` stays in force)");
    std::fs::remove_dir_all(folder).expect("removed");
}
