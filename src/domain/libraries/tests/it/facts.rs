//! The descriptions and the transports of libraries.

use std::ffi::OsString;
use std::path::PathBuf;

use libraries::{LibraryName, SettingsPlaces, library_from_description};

#[test]
fn mpich_names_its_device() {
    let transports = |description: &str| {
        let all = LibraryName::ALL.iter();
        let mut has_none = |_: &str| false;
        let found = all.flat_map(|library| library.transports(description, &mut has_none));
        found.collect::<Vec<_>>()
    };
    let text = "MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\nMPICH CC:\tgcc\n";
    assert_eq!(transports(text), ["ch4:ucx"]);
    assert!(transports("Open MPI v4.1.4, package: x").is_empty());
}

#[test]
fn open_mpi_has_the_variables_of_the_components_in_use() {
    let library = libraries::find_library("openmpi").expect("known");
    let has = [
        "pml_ob1_priority",
        "btl_self_exclusivity",
        "btl_tcp_exclusivity",
    ];
    let mut has_variable = |name: &str| has.contains(&name);
    let found = library.transports("", &mut has_variable);
    assert_eq!(found, ["pml/ob1", "btl/self", "btl/tcp"]);
}

#[test]
fn rows_are_in_the_order_of_their_names() {
    for library in LibraryName::ALL {
        assert_eq!(libraries::find_library(library.name()), Some(library));
        let text = format!("{} 1.2", library.facts().title);
        assert_eq!(libraries::described_by(&text), Some(library));
    }
    assert_eq!(libraries::find_library("other"), None);
    let formats = |name: &str| {
        let library = libraries::find_library(name).expect("known");
        ["4.1.4", "5.0.6", "6.0.0", "10.1", "x"]
            .map(|version| library.facts().export_format(version))
    };
    let (classic, json) = ("openmpi", "openmpi-json");
    assert_eq!(
        formats("openmpi"),
        [classic, classic, json, json, classic].map(Some)
    );
    assert_eq!(formats("mpich"), [Some("mpich"); 5]);
}

#[test]
fn libraries_are_recognised_by_their_descriptions() {
    let check = |text: &str, expected: &str| {
        assert_eq!(library_from_description(text).to_string(), expected)
    };
    check(
        "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
        "openmpi-4.1.4",
    );
    check("Open MPI v5.0.11rc1, package: x", "openmpi-5.0.11rc1");
    check("MPICH Version:\t4.0.2", "mpich-4.0.2");
    check("MPICH Version:      5.0.0b1", "mpich-5.0.0b1");
    check(
        "Intel(R) MPI Library 2021.19.0 for Linux* OS",
        "intelmpi-2021.19.0",
    );
    check("MVAPICH Version      :\t4.0", "mvapich-4.0");
    check("", "unknown-unknown");
}

#[test]
fn variables_name_the_folder_of_the_site() {
    let check = |variables: &[(&str, &str)], expected: Option<&str>| {
        let value = |name: &str| {
            let mut all = variables.iter();
            let found = all.find(|(known, _)| *known == name)?;
            Some(OsString::from(found.1))
        };
        let folder = SettingsPlaces::site_folder_by_variables(LibraryName::OpenMpi, value);
        assert_eq!(folder, expected.map(PathBuf::from), "{variables:?}");
        let none = SettingsPlaces::site_folder_by_variables(LibraryName::Mpich, value);
        assert_eq!(none, None);
    };
    let prefix = ("OPAL_PREFIX", "/opt/mpi");
    check(&[], None);
    check(&[("OPAL_SYSCONFDIR", "")], None);
    check(&[prefix], Some("/opt/mpi/etc"));
    check(&[prefix, ("OPAL_SYSCONFDIR", "/site")], Some("/site"));
}
