//! x
use crate::Outcome;
use crate::console::Console;
use crate::error::Result;
use clap::Args;
/// x
#[derive(Args)]
pub struct Evaluate {}
impl Evaluate {
    pub fn run(self, _: &Console) -> Result<Outcome> {
        Ok(Outcome::Done)
    }
}
