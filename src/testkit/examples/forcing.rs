//! Writes decision tables that choose each of colltune's algorithms in turn, for `scripts/mpich-tests`.
//!
//! usage: forcing LIBRARY VERSION FOLDER
//!
//! Each table has a folder of its own, `FOLDER/0`, `FOLDER/1` and so on, in which it is `table.yaml`, see
//! [`testkit::tables::forcing_table`].

use std::error::Error;
use std::path::Path;

use schedule::Collective;
use testkit::tables::{forcing_table, save_table};
use vocabulary::Library;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, version, folder] = &arguments[..] else {
        return Err("usage: forcing LIBRARY VERSION FOLDER".into());
    };
    let library = Library {
        name: name.clone(),
        version: version.clone(),
    };
    for place in 0..count_places() {
        let folder = Path::new(folder).join(place.to_string());
        std::fs::create_dir_all(&folder)?;
        save_table(&forcing_table(place, library.clone()), &folder);
    }
    Ok(())
}

/// The number of tables in which each algorithm is chosen at least once.
fn count_places() -> usize {
    let count = |collective: Collective| schedule::algorithms_of(collective).count();
    Collective::ALL
        .into_iter()
        .map(count)
        .max()
        .unwrap_or_default()
}
