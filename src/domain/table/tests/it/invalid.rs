//! Every refusal names its place and a remedy. The cases are edits of a good table.

use std::path::Path;

use table::{Table, TableError};
use vocabulary::bounds::{BYTES, RANKS, SPEEDUP, TIME};

const GOOD: &str = r#"format: colltune-table 3
name: good
provenance:
  campaign: abc
  store: .colltune/good.db
  library: {name: openmpi, version: "4.1.4"}
  colltune: "0.1.0"
  date: "2026-11-20"
  hosts: [n1]
  cpu: Some CPU
  launches: 6
  warnings: []
collectives:
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: bcast/binomial, speedup: 1.1, confidence: low}
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 1500, candidate: allreduce/dual_root, block_bytes: 64K, confidence: high}
          - {from: 1M, candidate: allreduce/reduce_broadcast, reduce: binomial, confidence: high}
        measured:
          bytes: [8, 64]
          microseconds: [0.5, 0.75]
          default_microseconds: [0.5, 1.5]
      - nodes: 2
        ppn: 2
        operators: commutative
        rules:
          - {from: 0, candidate: allreduce/ring, confidence: high}
"#;

fn refusal(text: &str) -> String {
    match Table::parse(text, Path::new("tables/t.yaml")) {
        Err(TableError::Invalid(invalid)) => invalid.to_string(),
        other => panic!("accepted:\n{text}\n{other:?}"),
    }
}

/// Replaces the only occurrence of `old` in the good table.
fn edit(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "`{old}` must stand once");
    GOOD.replace(old, new)
}

#[test]
fn the_good_table_is_accepted() {
    let table = Table::parse(GOOD, Path::new("t.yaml")).expect("valid");
    assert_eq!(table.collectives.len(), 2);
    assert_eq!(table.provenance.library.version, "4.1.4");
}

/// A refusal's message and place, and a part of its remedy.
fn check(old: &str, new: &str, message: &str, place: &str, help: &str) {
    let text = refusal(&edit(old, new));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], message, "`{old}` -> `{new}`");
    let found = lines[1]
        .trim_start()
        .trim_start_matches("--> tables/t.yaml:");
    assert_eq!(found, place, "`{old}` -> `{new}`");
    let remedy = lines.last().expect("help");
    assert!(
        remedy.contains(&format!("= help: {help}")),
        "`{old}` -> `{new}`: {remedy}"
    );
}

/// Line ends would end comments in files made from the table.
#[test]
fn unprintable_characters_in_the_library() {
    let line = GOOD
        .lines()
        .position(|line| line.contains("4.1.4"))
        .expect("there")
        + 1;
    for (key, old, new) in [
        ("name", "name: openmpi", r#"name: "open\nmpi""#),
        ("version", "4.1.4", r"4.1.4\nrm"),
        ("version", "4.1.4", r"4.1.4\u2028rm"),
        ("version", "4.1.4", r"4.1.4\U000e0041"),
    ] {
        let text = refusal(&edit(old, new));
        let message =
            format!("`{key}` of the library has unprintable characters, such as line ends");
        assert_eq!(text.lines().next(), Some(&*message));
        let place = format!("--> tables/t.yaml:{line}:");
        assert!(text.contains(&place), "{text}");
        assert!(
            text.contains(&format!("(provenance.library.{key})")),
            "{text}"
        );
        assert!(
            text.contains("= help: write the library as it was measured"),
            "{text}"
        );
    }
}

#[test]
fn documents() {
    let help = "check indentation and brackets";
    for (new, message, place) in [
        ("name: [", "invalid indentation", "3:1 (name[0])"),
        (
            "name: a: b",
            "mapping values are not allowed in this context",
            "2:8",
        ),
        (
            "name: *a",
            "while parsing node, found unknown anchor",
            "2:7 (name)",
        ),
    ] {
        let message = format!("this is not valid YAML: {message}");
        check("name: good", new, &message, place, help);
    }
    let path_of_deep = format!("2:22 (name{})", "[0]".repeat(15));
    let deep = format!("name: {}{}", "[".repeat(40), "]".repeat(40));
    for (new, feature, place) in [
        ("name: &a good", "an anchor", "2:7 (name)"),
        ("name: !!str good", "a tag", "2:7 (name)"),
        ("[a]: b", "a key that is not text", "2:1"),
        ("name: good\n---", "a second document", "3:1"),
        (&deep, "such deep nesting", &path_of_deep),
    ] {
        let message = format!("{feature} is not allowed in a table");
        check(
            "name: good",
            new,
            &message,
            place,
            "write plain keys, values, lists and mappings",
        );
    }
}

#[test]
fn formats() {
    let help = "a table begins with `format: colltune-table 7`";
    let none = "this is not a decision table: it has no `format`";
    check("format: colltune-table 3\n", "", none, "1:1", help);
    let message = "`colltune-tables 3` is not the format of a decision table";
    check(
        "colltune-table 3",
        "colltune-tables 3",
        message,
        "1:9 (format)",
        help,
    );
    let zero_message = "`colltune-table 0` is not the format of a decision table";
    check(
        "colltune-table 3",
        "colltune-table 0",
        zero_message,
        "1:9 (format)",
        help,
    );
    // The version comes first, whatever else a later format may hold.
    check(
        "colltune-table 3\nname",
        "colltune-table 8\ntitle",
        "the table has format version 8; this colltune reads versions up to 7",
        "1:9 (format)",
        "update colltune",
    );
    for text in ["", "# nothing\n", "---\n"] {
        assert!(refusal(text).contains("help: "), "{text:?}");
    }
    assert!(refusal("").starts_with("a table is one mapping of keys to values"));
}

#[test]
fn keys() {
    check(
        "name: good",
        "nam: good",
        "unknown key `nam`",
        "2:1 (nam)",
        "did you mean `name`?",
    );
    check(
        "  cpu:",
        "  gpu:",
        "unknown key `gpu`",
        "10:3 (provenance.gpu)",
        "did you mean `cpu`?",
    );
    check(
        "block_bytes: 64K",
        "blockbytes: 64K",
        "unknown key `blockbytes`",
        "29:58 (collectives.allreduce.shapes[0].rules[1].blockbytes)",
        "did you mean `block_bytes`?",
    );
    check(
        "name: good",
        "name: good\nowner: me",
        "unknown key `owner`",
        "3:1 (owner)",
        "keys here: format, name, provenance, collectives",
    );
    check(
        "  cpu: Some CPU\n",
        "",
        "the key `cpu` is missing",
        "4:3 (provenance)",
        "add `cpu: ...`",
    );
    check(
        "name: good",
        "",
        "the key `name` is missing",
        "1:1",
        "add `name: ...`",
    );
    check(
        "  launches: 6",
        "  cpu: x",
        "the key `cpu` is written twice, first in line 10",
        "11:3 (provenance.cpu)",
        "keep one of them",
    );
}

#[test]
fn types() {
    let whole = "write a whole number from 0 to 4294967295";
    let place = "11:13 (provenance.launches)";
    for (new, found) in [
        ("six", "`six`"),
        ("-1", "`-1`"),
        ("\"6\"", "`\"6\"`"),
        ("6.0", "`6.0`"),
    ] {
        let message = format!("expected a whole number from 0 to 4294967295, found {found}");
        check(
            "launches: 6",
            &format!("launches: {new}"),
            &message,
            place,
            whole,
        );
    }
    check(
        "library: {name: openmpi, version: \"4.1.4\"}",
        "library: [openmpi, \"4.1.4\"]",
        "expected a mapping (`key: value`), found a list",
        "6:12 (provenance.library)",
        "write a mapping",
    );
    check(
        "hosts: [n1]",
        "hosts: n1",
        "expected a list, found `n1`",
        "9:10 (provenance.hosts)",
        "write a list",
    );
    check(
        "cpu: Some CPU",
        "cpu: [x]",
        "expected a text, found a list",
        "10:8 (provenance.cpu)",
        "write a text",
    );
    check(
        "cpu: Some CPU",
        "cpu:",
        "this key has no value",
        "10:3 (provenance.cpu)",
        "give it a value",
    );
    let size = "write a size in bytes, as in 1500, 64K or 8MiB";
    let message = "expected a size in bytes, as in 1500, 64K or 8MiB, found `-5`";
    check(
        "from: 1500",
        "from: -5",
        message,
        "29:20 (collectives.allreduce.shapes[0].rules[1].from)",
        size,
    );
    check(
        "from: 1500",
        "from: 1025T",
        &format!("expected {BYTES}, found `1025T`"),
        "29:20 (collectives.allreduce.shapes[0].rules[1].from)",
        &format!("write {BYTES}"),
    );
    let speedup_place = "20:59 (collectives.bcast.shapes[0].rules[0].speedup)";
    let ratio = SPEEDUP.to_string();
    let ratio = ratio.as_str();
    for (bad, expected) in [
        ("0", ratio),
        ("-1.5", ratio),
        (".inf", ratio),
        (".nan", ratio),
        ("1e25", ratio),
        ("inf", "a number"),
        ("NaN", "a number"),
        ("fast", "a number"),
    ] {
        check(
            "speedup: 1.1",
            &format!("speedup: {bad}"),
            &format!("expected {expected}, found `{bad}`"),
            speedup_place,
            &format!("write {expected}"),
        );
    }
    let time_place = "33:31 (collectives.allreduce.shapes[0].measured.microseconds[1])";
    for bad in [
        "0",
        "-0.75",
        "nan",
        "inf",
        "1e",
        "e5",
        "1e999",
        "1e308",
        "1e-314",
        "1e-999",
        "1e99999999999",
        "0x10",
        "1_000",
        "1 2",
    ] {
        let unfit_time = format!("expected {TIME}, in microseconds, found `{bad}`");
        check(
            "0.75]",
            &format!("{bad}]"),
            &unfit_time,
            time_place,
            &format!("write {TIME}, in microseconds"),
        );
    }
}

#[test]
fn names() {
    check(
        "bcast:\n    message",
        "bcst:\n    message",
        "unknown collective `bcst`",
        "14:3 (collectives.bcst)",
        "did you mean `bcast`?",
    );
    check(
        "message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 2\n        rules",
        "message_size: bytes of all ranks\n    shapes:\n      - nodes: 1\n        ppn: 2\n        rules",
        "message size of bcast is defined as `bytes of all ranks`",
        "15:19 (collectives.bcast.message_size)",
        "this colltune means `bytes of one rank's vector`",
    );
    let rule = "29:37 (collectives.allreduce.shapes[0].rules[1].candidate)";
    for (name, help) in [
        ("allreduce/dual_rot", "did you mean `allreduce/dual_root`?"),
        ("dual_root", "did you mean `allreduce/dual_root`?"),
        ("defualt", "did you mean `default`?"),
        (
            "allreduce/hocuspocus",
            "choose one of: allreduce/recursive_doubling, allreduce/recursive_multiplying, ",
        ),
    ] {
        let message = format!("unknown candidate `{name}`");
        check("allreduce/dual_root", name, &message, rule, help);
    }
    check(
        "allreduce/dual_root",
        "'allreduce/dual_root[block_bytes=64K,through=shared]'",
        "`allreduce/dual_root[block_bytes=64K,through=shared]` gives parameters in brackets, as reports do",
        rule,
        "give each parameter a key of the rule: `{candidate: allreduce/dual_root, block_bytes: 64K, through: shared}`",
    );
    check(
        "allreduce/dual_root",
        "bcast/chain",
        "`bcast/chain` is an algorithm of bcast, not of allreduce",
        rule,
        "algorithms of allreduce: allreduce/recursive_doubling, ",
    );
    check(
        "confidence: low",
        "confidence: hihg",
        "unknown confidence `hihg`",
        "20:76 (collectives.bcast.shapes[0].rules[0].confidence)",
        "did you mean `high`?",
    );
    check(
        "operators: any",
        "operators: all",
        "unknown operators `all`",
        "26:20 (collectives.allreduce.shapes[0].operators)",
        "choose one of: any, commutative, noncommutative",
    );
}

#[test]
fn parameters() {
    let rules = "collectives.allreduce.shapes[0].rules";
    check(
        "bcast/binomial,",
        "bcast/binomial, block_bytes: 8K,",
        "`bcast/binomial` takes no `block_bytes`",
        "20:63 (collectives.bcast.shapes[0].rules[0].block_bytes)",
        "it takes: through",
    );
    check(
        "default, confidence",
        "default, blocks: 2, confidence",
        "`default` takes no `blocks`",
        &format!("28:51 ({rules}[0].blocks)"),
        "it has no parameters: remove `blocks`",
    );
    check(
        "block_bytes: 64K",
        "reduce: binomial",
        "`allreduce/dual_root` takes no `reduce`",
        &format!("29:66 ({rules}[1].reduce)"),
        "it takes: block_bytes, blocks, through",
    );
    check(
        "default, confidence",
        "default, through: shared, confidence",
        "`default` takes no `through`",
        &format!("28:52 ({rules}[0].through)"),
        "it has no parameters: remove `through`",
    );
    check(
        "block_bytes: 64K",
        "through: shred",
        "unknown through `shred`",
        &format!("29:67 ({rules}[1].through)"),
        "did you mean `shared`?",
    );
    check(
        "block_bytes: 64K",
        "block_bytes: 64K, blocks: 2",
        "`blocks` and `block_bytes` are both given",
        &format!("29:84 ({rules}[1].blocks)"),
        "keep one",
    );
    check(
        "block_bytes: 64K",
        "block_bytes: 0",
        "`block_bytes` must not be zero",
        &format!("29:71 ({rules}[1].block_bytes)"),
        "write a positive number, or leave `block_bytes` out",
    );
    check(
        "reduce: binomial",
        "reduce: binomal",
        "unknown inner reduce `binomal`",
        &format!("30:71 ({rules}[2].reduce)"),
        "did you mean `binomial`?",
    );
    let known: Vec<&str> = schedule::part_algorithms_of(schedule::Collective::Bcast)
        .map(|algorithm| algorithm.id)
        .collect();
    check(
        "reduce: binomial",
        "bcast: hocuspocus",
        "unknown inner broadcast `hocuspocus`",
        &format!("30:70 ({rules}[2].bcast)"),
        &format!("choose one of: {}", known.join(", ")),
    );
}

#[test]
fn operator_classes() {
    let help = "name an ordered algorithm";
    for class in ["noncommutative", "any"] {
        check(
            "operators: commutative",
            &format!("operators: {class}"),
            &format!(
                "`allreduce/ring` combines out of rank order: wrong results for noncommutative \
                 operators, which `operators: {class}` includes"
            ),
            "39:34 (collectives.allreduce.shapes[1].rules[0].candidate)",
            help,
        );
    }
    check(
        "        ppn: 2\n        rules",
        "        ppn: 2\n        operators: commutative\n        rules",
        "bcast combines nothing: `operators: commutative` has no meaning",
        "19:20 (collectives.bcast.shapes[0].operators)",
        "remove `operators`, or write `any`",
    );
}

#[test]
fn sizes_and_shapes() {
    let group = "collectives.allreduce.shapes[0]";
    check(
        "from: 0, candidate: default",
        "from: 1, candidate: default",
        "the first rule starts at 1 bytes: smaller messages have no rule",
        &format!("28:20 ({group}.rules[0].from)"),
        "let the first rule start `from: 0`",
    );
    for (size, bytes) in [("1500", 1500), ("1K", 1024)] {
        check(
            "from: 1M",
            &format!("from: {size}"),
            &format!("{bytes} bytes does not come after 1500 bytes"),
            &format!("30:20 ({group}.rules[2].from)"),
            "list sizes in ascending order, each once",
        );
    }
    check(
        "bytes: [8, 64]",
        "bytes: [8, 8]",
        "8 bytes does not come after 8 bytes",
        &format!("32:22 ({group}.measured.bytes[1])"),
        "list sizes in ascending order, each once",
    );
    check(
        "[0.5, 0.75]",
        "[0.5]",
        "1 values for 2 sizes",
        &format!("33:25 ({group}.measured.microseconds)"),
        "give one value for each size in `bytes`",
    );
    check(
        "      - nodes: 2",
        "      - nodes: 0",
        "`nodes` must not be zero",
        "35:16 (collectives.allreduce.shapes[1].nodes)",
        "write a positive number",
    );
    let ranks = format!("nodes that make with `ppn` {RANKS}");
    check(
        "      - nodes: 2",
        "      - nodes: 4294967295",
        &format!("expected {ranks}, found `4294967295`"),
        "35:16 (collectives.allreduce.shapes[1].nodes)",
        &format!("write {ranks}"),
    );
    check(
        "      - nodes: 2",
        "      - nodes: 1",
        "`operators: commutative` at shape 1x2 overlaps an earlier entry, in line 24",
        "35:9 (collectives.allreduce.shapes[1])",
        "keep one entry for a shape, or one for each operator class",
    );
    check(
        "          - {from: 0, candidate: allreduce/ring, confidence: high}\n",
        "          []\n",
        "`rules` is empty",
        "39:11 (collectives.allreduce.shapes[1].rules)",
        "write one rule at least",
    );
}

#[test]
fn orders_of_ranks() {
    let second = "      - nodes: 2\n        ppn: 2\n";
    let orders = "choose one of: block, cyclic, other";
    check(
        second,
        &format!("{second}        order: round\n"),
        "unknown order `round`",
        "37:16 (collectives.allreduce.shapes[1].order)",
        orders,
    );
    // An unknown order may be any, and on one node all orders are the same.
    for order in ["", "        order: cyclic\n"] {
        check(
            second,
            &format!("      - nodes: 1\n        ppn: 2\n{order}"),
            "`operators: commutative` at shape 1x2 overlaps an earlier entry, in line 24",
            "35:9 (collectives.allreduce.shapes[1])",
            "keep one entry for a shape, or one for each operator class and deployment, and for each known \
             `order` of ranks",
        );
    }
}

#[test]
fn rendering() {
    insta::assert_snapshot!(refusal(&edit("allreduce/dual_root", "allreduce/dual_rot")));
}

#[test]
fn names_of_others() {
    let bcast = "20:34 (collectives.bcast.shapes[0].rules[0].candidate)";
    for (name, message, help) in [
        (
            "native:reduce/binomial",
            "`native:reduce/binomial` is an algorithm of reduce, not of bcast",
            "algorithms of bcast: ",
        ),
        (
            "native:binomial",
            "unknown candidate `native:binomial`",
            "choose one of: native:bcast/ID",
        ),
        (
            "mockup:bcast/allgather",
            "unknown mock-up `mockup:bcast/allgather`",
            "choose one of: mockup:bcast/scatter+allgather",
        ),
    ] {
        check("bcast/binomial,", &format!("{name},"), message, bcast, help);
    }
    check(
        "bcast/binomial,",
        "native:bcast/chain, block_bytes: 4K,",
        "`native:bcast/chain` takes no `block_bytes`",
        "20:67 (collectives.bcast.shapes[0].rules[0].block_bytes)",
        "it takes: segment_bytes, fanout, max_requests",
    );
    check(
        "default, confidence: high}\n          - {from: 1500",
        "native:allreduce/ring, confidence: high}\n          - {from: 1500",
        "`native:allreduce/ring` combines out of rank order: wrong results for noncommutative \
         operators, which `operators: any` includes",
        "28:34 (collectives.allreduce.shapes[0].rules[0].candidate)",
        "",
    );
}

#[test]
fn deployments() {
    let bcast = "        rules:\n          - {from: 0, candidate: bcast/binomial,";
    check(
        bcast,
        &format!("        deployment: library\n{bcast}"),
        "`bcast/binomial` is not the library's own, as `deployment: library` asks",
        "21:34 (collectives.bcast.shapes[0].rules[0].candidate)",
        "name `default` or one of the library's own algorithms",
    );
    check(
        bcast,
        &format!("        deployment: site\n{bcast}"),
        "unknown deployment `site`",
        "19:21 (collectives.bcast.shapes[0].deployment)",
        "choose one of: any, colltune, library",
    );
    check(
        "      - nodes: 2\n        ppn: 2\n",
        "      - nodes: 1\n        ppn: 2\n        deployment: colltune\n",
        "`operators: commutative` at shape 1x2 overlaps an earlier entry, in line 24",
        "35:9 (collectives.allreduce.shapes[1])",
        "keep one entry for a shape, or one for each operator class and deployment",
    );
    // Algorithms of this library that are known to combine in order.
    let ordered = edit(
        "default, confidence: high}\n          - {from: 1500",
        "native:allreduce/recursive_doubling, confidence: high}\n          - {from: 1500",
    );
    Table::parse(&ordered, Path::new("t.yaml")).expect("valid");
    refusal(&ordered.replace("{name: openmpi", "{name: mvapich"));
}

/// All entries of the first version are for the deployment colltune, the only one then.
#[test]
fn the_first_version_is_read() {
    let old = GOOD.replace("colltune-table 3", "colltune-table 1");
    let parse = |text: &str| Table::parse(text, Path::new("t.yaml"));
    assert_eq!(parse(&old).expect("valid"), parse(GOOD).expect("valid"));
    let bcast = "        rules:\n          - {from: 0, candidate: bcast/binomial,";
    for key in ["order: block", "deployment: colltune"] {
        let new_key = format!("        {key}\n{bcast}");
        let (name, _) = key.split_once(':').expect("a key");
        let expected = format!("unknown key `{name}`");
        assert!(refusal(&old.replace(bcast, &new_key)).contains(&expected));
    }
}

#[test]
fn rules_predicted_by_the_model_are_not_confirmed() {
    let rule = "{from: 0, candidate: bcast/binomial, speedup: 1.1, confidence: low}";
    let confirmed = rule.replace("low}", "low, confirmed: true}");
    let text = edit(rule, &confirmed);
    Table::parse(&text, Path::new("t.yaml")).expect("measured");
    let text = text.replacen("ppn: 2\n", "ppn: 2\n        source: model\n", 1);
    let told = refusal(&text);
    for part in ["tables/t.yaml:", "confirmed", "remove `confirmed`"] {
        assert!(told.contains(part), "{told}");
    }
}

/// Ranks that know only their own counts cannot agree on a size.
#[test]
fn irregular_collectives_have_one_rule() {
    let gatherv = "gatherv:\n    message_size: bytes of all ranks' contributions together\n    shapes:\n      - nodes: 1\n        \
                   ppn: 2\n        rules:\n          - {from: 0, candidate: gatherv/linear, confidence: high}\n          \
                   - {from: 4K, candidate: default, confidence: high}\n  bcast:\n    message";
    check(
        "bcast:\n    message",
        gatherv,
        "a rule of gatherv starts at 4096 bytes, but ranks that know only their own counts cannot agree on a size",
        "21:20 (collectives.gatherv.shapes[0].rules[1].from)",
        "keep one rule for the shape, `from: 0`",
    );
}
