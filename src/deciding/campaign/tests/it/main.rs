//! Campaigns are read strictly, ask for the right work, and launches leave nothing behind.

mod collectives;
mod digest;
mod errors;
mod experiments;
mod files;
mod hosts;
mod jobs;
mod natives;
mod outputs;
mod stored;
mod values;
mod work;

use campaign::{Campaign, CampaignError};

/// Cores of the machine that tests pretend to have.
const CORES: u32 = 4;

fn parse(text: &str) -> Result<Campaign, CampaignError> {
    Campaign::parse_for(text, "test.yaml".as_ref(), CORES)
}

/// A campaign named `x` with these further lines.
fn campaign(lines: &str) -> Campaign {
    parse(&format!("name: x\n{lines}")).expect("a valid campaign")
}
