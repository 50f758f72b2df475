//! The C interface.

use std::path::Path;

use tempfile::TempDir;

use crate::launch::{compiled, installation, preloaded, run};
use crate::tables::{forcing, saved};

#[test]
fn the_c_interface_does_what_its_header_says_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let library = preloaded();
    let directory = library.parent().expect("a folder").display().to_string();
    let flags = ["-L", &directory, "-lcolltune"];
    let program = compiled("interface.c", folder.path(), &flags);
    let path = saved(&forcing(1, installation().library()), folder.path());
    let text = |path: &Path| path.display().to_string();
    let arguments = [text(&path), text(&folder.path().join("missing.yaml"))];
    let environment = [("LD_LIBRARY_PATH", directory.as_str())];
    let printed = run(&program, &arguments, 4, &environment).good();
    assert!(printed.contains("the interface holds"), "{printed}");
}
