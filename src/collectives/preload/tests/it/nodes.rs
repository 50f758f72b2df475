//! Tables for nodes of another type.

use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded};

/// Checks the output of programs if all ranks except the first have the CPU `other`.
fn check(table_cpu: &str, other: &str, more: &[(&str, &str)], warned: &str, is_used: bool) {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("node.c", folder.path(), &["-rdynamic", "-ldl"]);
    let mut table = forcing_table(1, chosen_installation().library());
    table.provenance.cpu = table_cpu.to_owned();
    let path = save_table(&table, folder.path());
    let cpuinfo = folder.path().join("cpuinfo");
    std::fs::write(&cpuinfo, format!("model name\t: {other}\n")).expect("written");
    let arguments = [cpuinfo.display().to_string()];
    let text = run_preloaded(&program, &arguments, 3, &path, more).expect_success();
    let lines = text.lines();
    let warnings: Vec<_> = lines.filter(|line| line.contains("warning")).collect();
    let expected = usize::from(!warned.is_empty());
    assert_eq!(warnings.len(), expected, "{text}");
    assert!(warnings.iter().all(|line| line.contains(warned)), "{text}");
    let expected_calls = if is_used { 10 } else { 0 };
    assert_eq!(calls(&text, "allreduce/"), expected_calls, "{text}");
}

#[test]
fn tables_for_other_nodes_are_used_only_if_forced_under_mpi() {
    let own = environment::host_cpu_model();
    if testkit::require("CPU with a name", (!own.is_empty()).then_some(())).is_none() {
        return;
    }
    let force = [("COLLTUNE_FORCE", "1")];
    check(&own, &own, &[], "", true);
    // If one rank refuses the table, all ranks do.
    let differs = format!("made for nodes with `{own}`, and ");
    check(&own, "Other CPU", &[], &differs, false);
    check(
        &own,
        "Other CPU",
        &force,
        "has `Other CPU`; it is used",
        true,
    );
    check("Other CPU", &own, &[], "COLLTUNE_FORCE=1", false);
    // What is forced may be named.
    let named = |value| [("COLLTUNE_FORCE", value)];
    let used = "has `Other CPU`; it is used";
    check(&own, "Other CPU", &named("version,cpu"), used, true);
    let others = named("library,accelerators");
    check("Other CPU", &own, &others, "COLLTUNE_FORCE=cpu", false);
    check(
        &own,
        &own,
        &named("cpus"),
        "COLLTUNE_FORCE is `cpus`",
        false,
    );
    check("any", "Other CPU", &[], "", true);
    check("", "Other CPU", &[], "", true);
    check(&own, "", &[], "", true);
}
