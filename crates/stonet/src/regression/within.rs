//! Fitted intervals that cover within groups: which groups have ranks of their own, and what is promised of them.

use super::stack::FittedStack;
use super::{FittedRegressor, Model};
use crate::base::Result;
use crate::rows::{Level, Within};
use crate::score::{Asked, Kept};

/// A group and how many of its rows (or units of rows that belong together) give scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSize {
    /// Its number among [`FittedRegressor::within`].
    pub group: usize,
    /// The fewest over the targets.
    pub units: usize,
    /// Whether they are enough for the level, so that the group has ranks of its own.
    pub enough: bool,
}

impl FittedRegressor {
    /// The groups within which the intervals are to cover, where they are.
    pub fn within(&self) -> Option<&Within> {
        self.within.as_ref()
    }

    /// How many functions of a row the intervals are to cover for; 0 where they are not.
    pub fn functions(&self) -> usize {
        match &self.model {
            Model::Stacks(stacks) => stacks.first().map_or(0, FittedStack::functions),
            Model::Eve { .. } => 0,
        }
    }

    /// The same head with the ranks of all rows for every group.
    pub fn pooled(&self) -> FittedRegressor {
        let model = match &self.model {
            Model::Stacks(stacks) => Model::Stacks(stacks.iter().map(FittedStack::pooled).collect()),
            other => other.clone(),
        };
        FittedRegressor { within: None, model, scorers: Kept::default(), ..self.clone() }
    }

    /// Every group with its rows, at this level; `joint` is for intervals of all targets at once.
    pub fn group_sizes(&self, level: Level, joint: bool) -> Result<Vec<GroupSize>> {
        let each = Asked { joint, ..Asked::default() }.each(level, self.outputs())?;
        let Model::Stacks(stacks) = &self.model else { return Ok(Vec::new()) };
        let size = |group: usize| {
            let own = || stacks.iter().map(|s| s.group(group));
            let units = own().map(|s| s.map_or(0, |s| s.units())).min().unwrap_or(0);
            GroupSize { group, units, enough: own().all(|s| s.is_some_and(|s| s.bounds(each))) }
        };
        Ok((0..self.within.as_ref().map_or(0, Within::len)).map(size).collect())
    }

    /// In words, where groups have too few rows for this level: which they are and what their intervals rest on.
    pub fn pooled_groups(&self, level: Level, joint: bool) -> Result<Option<String>> {
        let Some(within) = &self.within else { return Ok(None) };
        let each = Asked { joint, ..Asked::default() }.each(level, self.outputs())?;
        let few: Vec<(usize, usize)> =
            (self.group_sizes(level, joint)?.iter()).filter(|g| !g.enough).map(|g| (g.group, g.units)).collect();
        if few.is_empty() {
            return Ok(None);
        }
        let needed = crate::conformal::rows_needed(each);
        let units = if self.groups { "ranked groups of rows" } else { "ranked rows" };
        let have = if few.len() == 1 { "has" } else { "have" };
        Ok(Some(format!(
            "{} of {} groups {have} fewer than the {needed} {units} that this level needs ({}); such intervals use the ranks of all rows, and coverage within these groups is not guaranteed",
            few.len(),
            within.len(),
            within.listed(&few),
        )))
    }
}
