//! Flags that several commands share.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use stonet::InputKind;
use stonet_io::Beside;

use crate::error::Error;

/// Where randomness begins.
#[derive(Args, Debug, Clone, Copy)]
pub struct SeedArg {
    /// Random seed; the same seed and data give the same result on any number of threads
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Task {
    /// Numbers, with prediction intervals
    Regression,
    /// Calibrated class probabilities
    Classification,
}

/// What a head predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeadTask {
    /// Numbers, with prediction intervals
    Regression,
    /// Calibrated class probabilities
    Classification,
    /// Calibrated probabilities of many labels, of which a row may have any number
    Labels,
}

/// Which columns stand beside the features where a command runs the network itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Also {
    /// The network's own inputs
    Inputs,
    /// No further columns
    None,
}

/// Which columns of a file are what.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArgs {
    /// Column to predict, or several columns for several targets; classes are numbers or names
    #[arg(long, value_delimiter = ',', default_value = "y", value_name = "COLUMNS")]
    pub target: Vec<String>,
    /// Input columns of the head, by name or pattern such as 'f*': features of the last hidden layer for regression,
    /// the network's outputs for classification; all other columns if not given
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub inputs: Option<Vec<String>>,
    /// Regression: further columns beside those of --inputs, such as the network's own inputs. They often make intervals
    /// shorter, because the last hidden layer does not keep all that the inputs say
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub also: Vec<String>,
    /// Columns to leave out, such as row numbers
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub exclude: Vec<String>,
    /// Regression: the network's own prediction, one column per target; the default intervals use it if it is given
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub prediction: Vec<String>,
    /// Regression: the network's own lower quantile, such as its 5 % quantile, one column per target; needs --upper. The
    /// interval's centre, width and shape learn from both
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", requires = "upper")]
    pub lower: Vec<String>,
    /// Regression: the network's own upper quantile, one column per target; needs --lower. Rows where the two cross count
    /// in the other order
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", requires = "lower")]
    pub upper: Vec<String>,
    /// Regression: the network's own standard deviation, one column per target, which must be positive; the interval's
    /// width learns from it
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", conflicts_with = "lower")]
    pub sd: Vec<String>,
    /// Regression: column that names groups of rows, such as subjects, which are never split
    #[arg(long, value_name = "COLUMN")]
    pub groups: Option<String>,
    /// Columns of groups within which intervals are to cover: a flag of `fit` alone.
    #[arg(skip)]
    pub within: Vec<String>,
    /// Columns of functions for each of which intervals are to cover: a flag of `fit` alone.
    #[arg(skip)]
    pub conditional: Vec<String>,
    /// Column of time by which rows are in order, and rows beside a fold that are left out: flags of `fit` alone.
    #[arg(skip)]
    pub time: Option<(String, Option<usize>)>,
    /// Classification: what the inputs are: logits, log-probabilities, probabilities, or features (the last hidden
    /// layer) [default: logits or probabilities if there is one column per class; a warning is printed if that is
    /// uncertain]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<InputKind>,
    /// Classification: all classes in the order of the inputs, such as plane,car,bird; a name with a comma in double
    /// quotes [default: by the names of the columns, by number, or in alphabetical order]
    #[arg(long, value_name = "NAMES")]
    pub classes: Option<Names>,
    /// Classification and labels: last-hidden-layer features in addition to the logits, for the methods that use them
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub features: Option<Vec<String>>,
    #[command(flatten)]
    pub missing: MissingArg,
    #[command(flatten)]
    pub with: WithArg,
}

impl ColumnArgs {
    /// Patterns of all input columns of a regression; none where every column is one.
    pub fn regression_inputs(&self) -> Result<Option<Vec<String>>, Error> {
        match &self.inputs {
            Some(inputs) => Ok(Some([&inputs[..], &self.also].concat())),
            None if self.also.is_empty() => Ok(None),
            None => Err(Error::flag(
                "--also",
                "needs --inputs with the columns of features, such as --inputs 'f*': without it, all columns are inputs",
            )),
        }
    }
}

impl ColumnArgs {
    /// The flags of columns that the network says, with their columns.
    pub fn said(&self) -> [(&'static str, &[String]); 4] {
        [("--prediction", &self.prediction), ("--lower", &self.lower), ("--upper", &self.upper), ("--sd", &self.sd)]
    }

    /// All columns that the network says.
    pub fn said_columns(&self) -> Vec<String> {
        self.said().into_iter().flat_map(|(_, columns)| columns.to_vec()).collect()
    }
}

/// Names apart by commas; one that holds a comma stands in double quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut names, mut name, mut quoted) = (Vec::new(), String::new(), false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '"' if quoted && rest.peek() == Some(&'"') => name.extend(rest.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => names.push(std::mem::take(&mut name)),
                c => name.push(c),
            }
        }
        names.push(name);
        if quoted { Err("a double quote is not closed".into()) } else { Ok(Names(names)) }
    }
}

/// What becomes of rows with missing values.
#[derive(Args, Debug, Clone, Copy, Default)]
pub struct MissingArg {
    /// Leave out rows with a missing value in a column that is used, and print how many
    #[arg(long)]
    pub drop_missing: bool,
}

/// Files beside the main one.
#[derive(Args, Debug, Clone, Default)]
pub struct WithArg {
    /// Another file with the same rows; its columns are added. An array without column names is named after its file,
    /// or NAME with NAME=FILE
    #[arg(long = "with", value_name = "FILE")]
    pub files: Vec<Beside>,
}

/// What rows come from, for help texts.
pub const FORMATS: &str = "Files: CSV (also .gz, or `-`), Parquet, Arrow, npy, `file.npz:member`, safetensors, idx; or a folder of Parquet files";

/// Where a page with figures goes.
#[derive(Args, Debug, Clone)]
pub struct ReportArg {
    /// Write a self-contained HTML report
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_commas_and_quotes() {
        let names = |text: &str| text.parse::<Names>().map(|n| n.0);
        assert_eq!(names("cat,dog").unwrap(), ["cat", "dog"]);
        assert_eq!(names("cat,\"owl, snowy\",\"a \"\"b\"\"\"").unwrap(), ["cat", "owl, snowy", "a \"b\""]);
        assert!(names("cat,\"dog").is_err());
    }
}
