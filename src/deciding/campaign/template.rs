//! The campaign that `colltune init` writes.

use libraries::LibraryName;
use schedule::Collective;

use crate::candidates::DEFAULT_COLLECTIVES;
use crate::validate::auto_shapes;

/// The reference of all keys of a campaign, with their defaults: `tuning/reference.yaml`.
pub const REFERENCE: &str = include_str!("../../../tuning/reference.yaml");

/// A commented campaign for a machine of this many cores; `library` is an MPI library found on it.
pub fn init_template(cores: u32, library: Option<&str>) -> String {
    let shapes: Vec<String> = auto_shapes(cores).map(|shape| shape.to_string()).collect();
    let shapes = shapes.join(", ");
    let remark = if cores < 2 {
        "\n# This machine has one core: two ranks share it, and times say little about others."
    } else {
        ""
    };
    let library = library.unwrap_or("auto");
    let known = LibraryName::ALL.map(LibraryName::name).join(", ");
    let by_default = |c: &Collective| DEFAULT_COLLECTIVES.contains(c);
    let collectives = DEFAULT_COLLECTIVES.map(|c| format!("  - {c}\n")).concat();
    let others = Collective::ALL.into_iter().filter(|c| !by_default(c));
    let others: String = others.map(|c| format!("  # - {c}\n")).collect();
    let by_part = Collective::ALL
        .into_iter()
        .filter(|c| c.is_sized_by_part() && c.decides_by_size());
    let mut parts: String = by_part.map(|c| format!("  {c}: 8..1M x4\n")).collect();
    let of_one_rule = Collective::ALL
        .into_iter()
        .filter(|c| !c.decides_by_size() && c.has_data());
    parts.extend(of_one_rule.map(|c| {
        let sizes = if c.is_sized_by_part() {
            "16..64K x16"
        } else {
            "1K..4M x16"
        };
        format!("  {c}: {sizes}\n")
    }));
    format!(
        "\
# A campaign of colltune: what to measure on this machine.
# `colltune plan FILE` shows what it would do, `colltune tune FILE` does it.

# Results go to .colltune/NAME.db, tables/NAME.yaml and reports/NAME.md.
name: my-machine

# The MPI library: {known}, or auto for whichever is found.
library: {library}

# The communicator shapes: nodes x ranks per node. auto is {shapes} here.{remark}
shapes: auto

# The collectives, or `collectives: all`; the last ones take part without their `#`.
collectives:
{collectives}{others}
# Bytes of one rank's vector: from 8 to 4 MiB, each four times the one before; up to 1 MiB for
# collectives in which they are the bytes of one rank's contribution or part, or of a block for one rank.
# In allgatherv, gatherv and scatterv they are the bytes of all ranks together. Those with few sizes have one
# rule, which must lose at none of them; `distributions` says how their data are distributed.
sizes:
  default: 8..4M x4
{parts}
# All algorithms that can be used here are compared with the library's default: colltune's, between
# ranks of one node through MPI and through memory that the ranks share, and, forced one by one, those
# of the library, which `colltune export` can write into its own file. Less is measured with
# candidates: [\"*\"]       colltune's algorithms alone
# candidates: [\"native:*\"] the library's algorithms alone

# The element type and the operator of reductions.
datatype: float64
operator: sum

# The time that measuring may take in all; with more time, more choices are confirmed.
budget: 10m

# An algorithm replaces the library's default if the default takes at least 1 plus this number times
# as long (0.05: 1.05 times), and if it is statistically significant that it is faster at all.
materiality: 0.05
"
    )
}
