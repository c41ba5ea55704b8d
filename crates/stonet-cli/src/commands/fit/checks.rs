//! Flags of intervals that do not go together.

use stonet::{Kind, PostStoNetRegressor};

use super::Fit;
use crate::error::{Error, Result};

impl Fit {
    /// Fails where --conditional does not go with other flags.
    pub(super) fn check_conditional(&self, post: &PostStoNetRegressor) -> Result<()> {
        let columns = &self.columns;
        let why = match () {
            () if columns.conditional.is_empty() => return Ok(()),
            () if post.kind != Kind::Split => "needs --interval split",
            () if !columns.within.is_empty() => "does not go with --within; give a column of 0 and 1 for each group",
            () if columns.groups.is_some() => "does not go with --groups",
            () if self.sample_rows()?.is_some() => {
                "needs all rows in memory; give the rows as one file, without --sample"
            }
            () => return Ok(()),
        };
        Err(Error::flag("--conditional", why))
    }

    /// Fails where --time does not go with other flags.
    pub(super) fn check_time(&self, post: &PostStoNetRegressor) -> Result<()> {
        let columns = &self.columns;
        let why = match () {
            () if columns.time.is_none() => return Ok(()),
            () if matches!(post.kind, Kind::Paper | Kind::Cv) => "needs --interval stack, fast, cv+ or split",
            () if columns.groups.is_some() => "does not go with --groups: rows of a group may lie at different times",
            () if !columns.within.is_empty() => "does not go with --within, whose ranks need independent rows",
            () if !columns.conditional.is_empty() => "does not go with --conditional, which needs independent rows",
            () if self.sample_rows()?.is_some() => {
                "needs all rows in memory; give the rows as one file, without --sample"
            }
            () => return Ok(()),
        };
        Err(Error::flag("--time", why))
    }
}
