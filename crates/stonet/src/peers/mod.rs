//! What the method is compared with, and what it is applied to: other ways to prediction intervals, and plain networks.

pub mod mlp;

pub mod baseline;
