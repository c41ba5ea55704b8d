//! One file per subcommand.

#[cfg(any(test, not(all(feature = "serve", feature = "reproduce"))))]
pub mod absent;
pub mod adapt;
pub mod benchmark;
pub mod compare;
pub mod completions;
pub mod control;
pub mod demo;
pub mod doctor;
pub mod evaluate;
pub mod export;
pub mod features;
pub mod fit;
pub mod inspect;
pub mod monitor;
pub mod predict;
#[cfg(feature = "reproduce")]
pub mod reproduce;
#[cfg(feature = "serve")]
pub mod serve;
pub mod train;
pub mod update;
