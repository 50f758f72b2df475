//! Simulations for the questions that a paper on pipelined allreduce leaves open. Writes `reports/pipelines.md` to
//! standard output.
//!
//! `cargo run --release -p model --example pipelines > reports/pipelines.md`

mod study;

use std::error::Error;

use study::wording::wrapped;
use study::{Answer, blocks, combining, placement, published, sharing};

const TITLE: &str = "\
# Pipelined allreduce: five questions, answered in simulation

Nothing here was measured: all times are simulated from the schedules that would be executed, on the
machine `hydra` (tuning/machines/hydra.yaml), which was fitted by hand to published figures, and where it
is said on `reference` (tuning/machines/reference.yaml) and on a flat machine. Each receive is posted in its
own round, as by `MPI_Sendrecv` in the paper's program. This file is generated:

    cargo run --release -p model --example pipelines > reports/pipelines.md

The paper: J. L. Träff, *A Doubly-pipelined, Dual-root Reduction-to-all Algorithm and Implementation*,
2021, measured on 36 nodes of 8 ranks (288 ranks) with blocks of 16 000 elements. Its two pipelines are
`pipelined_tree` (up one tree, then down it) and `dual_root` (up and down two trees at once);
`doubly_pipelined_tree` goes up and down one tree at once. Vectors have elements of 4 bytes. alpha is the
time to start a message, beta to send a byte, gamma to combine one.
";

fn main() -> Result<(), Box<dyn Error>> {
    let answers = [
        blocks::answer()?,
        combining::answer()?,
        placement::answer()?,
        sharing::answer()?,
        published::answer()?,
    ];
    println!("{TITLE}\n## Summary\n");
    for (number, Answer { summary, .. }) in (1..).zip(&answers) {
        println!("{}", wrapped(&format!("{number}. {summary}"), "   "));
    }
    for (number, answer) in (1..).zip(&answers) {
        let Answer {
            question,
            sentences,
            body,
            ..
        } = answer;
        let [sentences, body] = [sentences, body.trim_end()].map(|text| wrapped(text, ""));
        println!("\n## {number}. {question}\n\n{sentences}\n\n{body}");
    }
    Ok(())
}
