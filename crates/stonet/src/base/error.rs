//! Everything that can go wrong, one variant per cause, each with its numbers and its remedy.

use super::Cancelled;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure. The text names the place and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A NaN or an infinity among the inputs or the targets.
    #[error(
        "{what}: row {row}, column {column} is {value}; remove or impute the row before fitting (rows and columns count from 0)"
    )]
    NotFinite {
        /// `inputs` or `targets`.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The offending value, as text: NaN has no equality.
        value: String,
    },
    /// A number whose square, or a sum of such squares, leaves the range of double precision.
    #[error(
        "{what}: row {row}, column {column} is {value:e}, which is too large to compute with; divide the column by a power of ten (rows and columns count from 0)"
    )]
    Magnitude {
        /// `features`, `targets`, `predictions` or `logits`.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The largest value.
        value: f64,
    },
    /// A target that varies by less than squares can tell from zero.
    #[error(
        "targets: column {column} varies by {range:e} only, which is too little to fit on; multiply the column by a power of ten (columns count from 0)"
    )]
    SmallRange {
        /// Column, from 0.
        column: usize,
        /// Its largest value less its smallest.
        range: f64,
    },
    /// A head that new rows cannot join, or not so.
    #[error("the head cannot be updated so: {why}")]
    NoUpdate {
        /// What is in the way, and the remedy.
        why: String,
    },
    /// Ends that are no interval.
    #[error(
        "issued intervals: row {row} is from {lower} to {upper}; give the lower and the upper ends as they were predicted (rows count from 0)"
    )]
    NotIssued {
        /// Row, from 0.
        row: usize,
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
    },
    /// A text that is no time, among others that are.
    #[error(
        "the column of time: row {row} is `{text}`; write numbers in all rows, dates such as 2024-02-29, or times such as 2024-02-29T12:30:00 (rows count from 0)"
    )]
    NotTime {
        /// Row, from 0.
        row: usize,
        /// What stands there.
        text: String,
    },
    /// A target outside of the bounds that it is said to have.
    #[error(
        "targets: row {row}, column {column} is {value}, outside of the known range from {low} to {high}; correct the row or the range (rows and columns count from 0)"
    )]
    OutOfRange {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f64,
        /// The least that it may be.
        low: f64,
        /// The greatest that it may be.
        high: f64,
    },
    /// A prediction, an end of an interval, or a probability that is no number.
    #[error(
        "{what} of row {row}, column {column} is {value}: the numbers of this row are too large for double precision; check the row (rows and columns count from 0)"
    )]
    Unbounded {
        /// What was computed.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Target or class, from 0.
        column: usize,
        /// What it is, as text: NaN has no equality.
        value: String,
    },
    /// Two sizes that had to agree.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: String,
        /// The size that was needed.
        expected: usize,
        /// The size that came.
        found: usize,
    },
    /// A data set with too few rows for what was asked.
    #[error("{what} needs at least {needed} rows, but there are {found}; {remedy}")]
    TooFewRows {
        /// What needs the rows.
        what: &'static str,
        /// The least number that works.
        needed: usize,
        /// The number there is.
        found: usize,
        /// What to do instead.
        remedy: &'static str,
    },
    /// Rows that belong together, in too few groups for what was asked.
    #[error("{what} needs at least {needed} groups of rows, but there are {found}; {remedy}")]
    TooFewGroups {
        /// What needs the groups.
        what: &'static str,
        /// The least number that works.
        needed: usize,
        /// The number there is.
        found: usize,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A column of the targets that never changes.
    #[error(
        "target column {column} is constant ({value}); there is nothing to predict: check that the right column was chosen"
    )]
    ConstantTarget {
        /// Column, from 0.
        column: usize,
        /// Its only value.
        value: f64,
    },
    /// A setting outside its range.
    #[error("{name} must be {range}, but is {value}")]
    Setting {
        /// The field or flag.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// A wish that makes no sense, or that this head cannot have.
    #[error("`{want}` {why}")]
    Want {
        /// The wish as it was written.
        want: String,
        /// What is wrong with it, and the remedy.
        why: String,
    },
    /// A rule of answers that was made for another head.
    #[error("the rule does not fit this head: {why}")]
    OtherRule {
        /// What does not fit, and the remedy.
        why: String,
    },
    /// A head that cannot be adapted to other rows.
    #[error("this head cannot be adapted: {why}")]
    Adapt {
        /// Why, and the remedy.
        why: String,
    },
    /// A head that keeps no calibration rows, without them.
    #[error(
        "this head keeps no calibration rows, and adapting weighs them; give them again (--rows, rows=), or fit with --keep-rows (keep_rows=True in Python)"
    )]
    NoRows,
    /// Rows that are not those of the fit.
    #[error(
        "{missing} of the head's {scores} calibration scores belong to none of these rows; give the rows that it was fitted on, with the same targets and predictions"
    )]
    OtherRows {
        /// Scores without a row.
        missing: usize,
        /// All scores.
        scores: usize,
    },
    /// Something that needs rows like the calibration rows, of a head that was adapted to others.
    #[error("this head was adapted to rows that are unlike its calibration rows, and {why}")]
    IsAdapted {
        /// What cannot be done, and the remedy.
        why: &'static str,
    },
    /// A name that does not exist among those to choose from.
    #[error("no {what} is called `{name}`; there are {known}")]
    UnknownName {
        /// What was to be chosen.
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Training that grew instead of shrinking, at every rate that was tried.
    #[error(
        "training diverged {attempts} times, the last time at epoch {epoch} with rates {rates:?}; choose smaller `rates`, or standardise the inputs"
    )]
    Diverged {
        /// Runs that were started.
        attempts: usize,
        /// Epoch of the last failure, from 0.
        epoch: usize,
        /// Rates of the last failure.
        rates: Vec<f64>,
    },
    /// A perceptron's loss or weights that left the range of numbers.
    #[error(
        "the loss or a weight stopped being finite in epoch {epoch}, at rate {rate}; choose a smaller `rate`, or standardise the inputs and targets"
    )]
    Overflow {
        /// Epoch, from 1.
        epoch: usize,
        /// The learning rate.
        rate: f64,
    },
    /// A column too flat for a concave penalty.
    #[error(
        "column {column}: curvature {curvature:.1e} does not exceed the penalty's concavity {concavity:.1e}; standardise the columns, or choose a larger `a` or `gamma`"
    )]
    Curvature {
        /// Column, from 0.
        column: usize,
        /// Its mean square about its mean.
        curvature: f64,
        /// What it has to exceed.
        concavity: f64,
    },
    /// A label that is not a class.
    #[error("row {row}: label {label} is not below the number of classes, {classes}")]
    Label {
        /// Row, from 0.
        row: usize,
        /// The label.
        label: usize,
        /// The number of classes, K.
        classes: usize,
    },
    /// Inputs that look like probabilities where logits were promised.
    #[error(
        "inputs: every row is between 0 and 1 and sums to one (or is one number between 0 and 1), so these look like probabilities, not logits; say so (kind `probabilities`), or give the logits"
    )]
    LooksLikeProbabilities,
    /// Probabilities, or exponentials of their logarithms, that do not sum to one.
    #[error("row {row}: {what} sum to {sum}, not to one; give one column per class, and check whether they are logits")]
    NotNormalised {
        /// Row, from 0.
        row: usize,
        /// What was added.
        what: &'static str,
        /// Their sum.
        sum: f64,
    },
    /// A probability outside [0, 1].
    #[error(
        "row {row}, column {column}: {value} is not a probability; probabilities lie between 0 and 1: check the columns chosen, or apply the softmax to logits first"
    )]
    NotAProbability {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// Labels that are all the same.
    #[error(
        "`{name}` is the only class, so there is nothing to classify; check that the right column was chosen, or add rows of other classes"
    )]
    OneClass {
        /// The class's name, or its number from 0.
        name: String,
    },
    /// A method that starts from the network's logits, without them.
    #[error("{what} starts from the network's logits, but there are only features; give one logit per class")]
    NoLogits {
        /// What needs them.
        what: &'static str,
    },
    /// A method that learns from features, without them.
    #[error("{what} learns from features of the last hidden layer, and there are none; give them beside the logits")]
    NeedsFeatures {
        /// What needs them.
        what: &'static str,
    },
    /// Sets of a head that has none.
    #[error("this head has no prediction sets; fit it with sets (`stonet fit --sets cv+`, or sets=\"cv+\" in Python)")]
    NoSets,
    /// Bounds of accuracy of a head that has none.
    #[error(
        "this head has no bounds of accuracy; fit it with them (`stonet fit --accuracy-bounds`, or accuracy_bounds=True in Python)"
    )]
    NoAccuracyBounds,
    /// Sets that are drawn at random where a row's result has to depend on the row alone.
    #[error(
        "the score of these sets is drawn at random, and predictions of files, batches and graphs are not; fit with a score that is not randomised"
    )]
    RandomSets,
    /// A model that uses features, without them.
    #[error("this model was fitted with features of {columns} columns, but the rows have none")]
    NoFeatures {
        /// How many it was fitted on.
        columns: usize,
    },
    /// A row without a label.
    #[error("row {row} (from 0): the label is missing (`{text}`); fill it in, or remove the row")]
    MissingLabel {
        /// Row, from 0; of a list of names, the place.
        row: usize,
        /// What stands there.
        text: String,
    },
    /// A row without a group.
    #[error(
        "row {row}, column {column} of the groups (within) is missing (`{text}`); fill in the group, or remove the row (rows and columns count from 0)"
    )]
    MissingGroup {
        /// Row, from 0.
        row: usize,
        /// Column of the groups, from 0.
        column: usize,
        /// What stands there.
        text: String,
    },
    /// A head with ranks of its own for groups, without the groups of the rows.
    #[error(
        "this head was fitted within groups, but the rows have no groups; give the column of groups that the fit had (within)"
    )]
    NoGroups,
    /// A head that covers for functions of a row, without them.
    #[error(
        "this head covers for functions of a row, but the rows have none; give the {columns} columns that the fit had (conditional)"
    )]
    NoFunctions {
        /// How many it was fitted with.
        columns: usize,
    },
    /// More different labels than classes.
    #[error(
        "there are {found} different labels ({names}) for {classes} classes; check that the right columns were chosen"
    )]
    TooManyClasses {
        /// Different labels.
        found: usize,
        /// The number of classes, K.
        classes: usize,
        /// Some of them.
        names: String,
    },
    /// Labels that do not say which columns are theirs.
    #[error(
        "{found} of {classes} classes occur among the labels ({names}), and nothing tells which columns they belong to; name all classes in the order of the columns"
    )]
    AbsentClasses {
        /// Different labels.
        found: usize,
        /// The number of classes, K.
        classes: usize,
        /// Some of them.
        names: String,
    },
    /// A label that none of the classes has.
    #[error("row {row} (from 0): `{label}` is not among the classes {known}; correct the label, or name the classes")]
    UnknownLabel {
        /// Row, from 0.
        row: usize,
        /// The label.
        label: String,
        /// Some of the classes.
        known: String,
    },
    /// A label of another kind than the others.
    #[error("`{name}` is no label of kind {kind}; correct the label, or use labels of one kind")]
    LabelKind {
        /// The label.
        name: String,
        /// What it should be.
        kind: &'static str,
    },
    /// A label that every row has, or none.
    #[error("label `{label}` is present in {rows}, so there is nothing to learn about it; leave it out")]
    ConstantLabel {
        /// Its name.
        label: String,
        /// Which rows have it: `no row` or `every row`.
        rows: &'static str,
    },
    /// A label that too few rows have, or do not have, to divide the rows into folds.
    #[error(
        "label `{label}` is present in {present} of {rows} rows, which is too one-sided to divide into folds; add rows, leave the label and its output out, or use the method `temperature`"
    )]
    RareLabel {
        /// Its name.
        label: String,
        /// Its number, from 0.
        column: usize,
        /// Rows that have it.
        present: usize,
        /// The number of rows.
        rows: usize,
    },
    /// Two classes of one name.
    #[error("classes {first} and {second} (from 0) are both called `{name}`; give each class a name of its own")]
    DuplicateClass {
        /// The name in question.
        name: String,
        /// Class of its first use, from 0.
        first: usize,
        /// Class of its second use, from 0.
        second: usize,
    },
    /// A row of a class response that does not name one class.
    #[error(
        "row {row}: the targets of a classification are one-hot, a single 1 among zeros; make them with `Dataset::classes`"
    )]
    NotOneHot {
        /// Row, from 0.
        row: usize,
    },
    /// A support whose columns are linearly dependent.
    #[error(
        "layer {layer}, neuron {neuron}: the {columns} selected inputs are linearly dependent, so least squares has no unique answer; use `Refit::Mls` or a larger kappa"
    )]
    RankDeficient {
        /// Layer, from 1.
        layer: usize,
        /// Neuron, from 0.
        neuron: usize,
        /// Selected inputs, the intercept not counted.
        columns: usize,
    },
    /// A multinomial support whose parameters cannot all be told apart.
    #[error(
        "the {parameters} selected parameters have rank {rank}: some columns are linearly dependent; use `Refit::Mls` or a larger λ"
    )]
    DependentSupport {
        /// Free parameters, intercepts counted.
        parameters: usize,
        /// How many directions the data determine.
        rank: usize,
    },
    /// Classes without a finite maximum-likelihood estimate.
    #[error(
        "the selected columns separate the classes, so the unpenalised likelihood has no maximum; keep the penalised fit, or use a larger λ"
    )]
    Separable,
    /// More effective parameters than rows can pay for.
    #[error(
        "output {output}: the fit uses {df:.1} degrees of freedom of {rows} rows, which leaves nothing to estimate a variance from; use a larger kappa or the `cv` variance"
    )]
    NoDegreesOfFreedom {
        /// Output, from 0.
        output: usize,
        /// Degrees of freedom used.
        df: f64,
        /// Training rows.
        rows: usize,
    },
    /// A problem too large for an exact degrees-of-freedom count.
    #[error(
        "degrees of freedom need a dense matrix of order {order}, above the limit of {limit}; use the `cv` variance, or a larger kappa for a sparser network"
    )]
    TooLarge {
        /// Order of the smaller of the two equivalent matrices.
        order: usize,
        /// The limit.
        limit: usize,
    },
    /// Neurons with too many inputs for the covariances of their weights.
    #[error(
        "layer {layer} selects {columns} inputs for a neuron; Eve's law needs a dense matrix of that order for each such neuron, and all of them together exceed the limit of {limit} numbers; use larger values of kappa for a sparser network, fewer features, or the intervals `stack`, `fast`, `split` or `cv+`, which need no such matrices"
    )]
    WideSupport {
        /// Layer, from 1.
        layer: usize,
        /// Inputs of the neuron that exceeds the limit.
        columns: usize,
        /// Numbers that the matrices of one layer may have together.
        limit: usize,
    },
    /// A Gauss–Newton matrix that could not be inverted.
    #[error(
        "degrees of freedom: the Gauss–Newton matrix is numerically singular; standardise the data, or use the `cv` variance"
    )]
    Singular,
    /// A method that starts from the network's predictions, without them.
    #[error("{what} starts from the network's own predictions, but there are none; add them by `with_prediction`")]
    NoPrediction {
        /// What needs them.
        what: &'static str,
    },
    /// A head that was fitted with the network's own uncertainty, without it.
    #[error("the head was fitted with the network's own {what}, but these rows have none; give the same columns again")]
    NoOwn {
        /// What is missing.
        what: &'static str,
    },
    /// The network's own uncertainty for a head that was fitted without it.
    #[error(
        "the network's own {what} are given, but the head was fitted without them; leave them out, or fit with them"
    )]
    UnusedOwn {
        /// What is given.
        what: &'static str,
    },
    /// A standard deviation that is none.
    #[error(
        "{what}: row {row}, column {column} is {value}, and a standard deviation is positive; correct or remove the row (rows and columns count from 0)"
    )]
    NotPositive {
        /// The table.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// Probabilities whose error cannot be stated honestly.
    #[error("no honest interval for these probabilities: {0}")]
    NoInterval(NoInterval),
    /// A fit without networks, or saved parts that do not belong together.
    #[error("{what}")]
    Inconsistent {
        /// What does not fit.
        what: &'static str,
    },
    /// More threads than a machine can use.
    #[error(
        "{name} is {threads}, which is more than four threads per core; give at most {most}, or leave it out for all cores"
    )]
    TooManyThreads {
        /// The flag or argument.
        name: &'static str,
        /// What was asked for.
        threads: usize,
        /// What may be asked for.
        most: usize,
    },
    /// The caller stopped the work before there was anything to return.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Why a class probability gets no interval.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoInterval {
    /// More classes than intervals have been seen to cover for.
    #[error(
        "there are {classes} classes, and beyond {limit} no interval known to us has been seen to cover as it says; report the probabilities without, or the accuracy among rows of similar confidence with its bounds (`AccuracyBounds`, in Python `stonet.metrics.accuracy_bounds`)"
    )]
    ManyClasses {
        /// The number of classes, K.
        classes: usize,
        /// The most that intervals are given for.
        limit: usize,
    },
    /// Several members, whose joint covariance needs the inverse.
    #[error(
        "intervals for one class are for a single method, and this pool has {members} members; fit one, such as `vector`"
    )]
    Pool {
        /// The members of the pool.
        members: usize,
    },
    /// An information matrix that would not fit.
    #[error(
        "they depend on {parameters} parameters, above the limit of {limit} for a dense information matrix; choose a method with fewer, such as `vector`, or larger `kappas`"
    )]
    ManyParameters {
        /// Free parameters of all members.
        parameters: usize,
        /// The limit.
        limit: usize,
    },
    /// A fit that uses up its rows.
    #[error(
        "member `{member}` uses {df:.0} effective parameters of {rows} rows, too many for its errors to be near normal; use more rows, or a method with fewer parameters, such as `vector`"
    )]
    FewRows {
        /// The method.
        member: &'static str,
        /// tr(H C).
        df: f64,
        /// Calibration rows.
        rows: usize,
    },
    /// A method whose error has no normal limit.
    #[error(
        "`isotonic` and `venn-abers` are step functions, whose error is not normal however many rows there are; use a parametric method, such as `vector`"
    )]
    Isotonic,
    /// Weights that often are 0.
    #[error("`ets` has weights that often are 0, where their error is not normal; use `temperature`")]
    Mixture,
    /// Nothing was estimated.
    #[error("`none` estimates nothing, so its error cannot be estimated; use `temperature` or any other method")]
    NothingEstimated,
    /// Training that stops before any optimum.
    #[error(
        "`paper` stops on its way to an optimum, so the likelihood's curvature does not tell how far another sample would have taken it; use `stonet` or `skip`"
    )]
    NotAnOptimum,
    /// A class without rows.
    #[error("class {class} has no row, so nothing is known of its probability; add rows of it, or leave the class out")]
    AbsentClass {
        /// The class, from 0.
        class: usize,
    },
    /// An information matrix that could not be inverted.
    #[error("the information of member `{member}` is numerically singular; standardise the inputs")]
    Singular {
        /// The method.
        member: &'static str,
    },
}

impl Error {
    pub(crate) fn shape(what: impl Into<String>, expected: usize, found: usize) -> Self {
        Error::Shape { what: what.into(), expected, found }
    }

    /// Too few rows, or too few groups where rows belong together.
    pub(crate) fn too_few(
        grouped: bool,
        what: &'static str,
        needed: usize,
        found: usize,
        remedy: &'static str,
    ) -> Self {
        match grouped {
            false => Error::TooFewRows { what, needed, found, remedy },
            true => Error::TooFewGroups { what, needed, found, remedy },
        }
    }

    /// The same error about another target, where it is about one.
    pub(crate) fn of_target(mut self, j: usize) -> Self {
        match &mut self {
            Error::ConstantTarget { column, .. }
            | Error::SmallRange { column, .. }
            | Error::Unbounded { column, .. } => *column = j,
            _ => {}
        }
        self
    }

    /// The same error about a row of the whole, where it is about one of these.
    pub(crate) fn of_rows(mut self, rows: &[usize]) -> Self {
        if let Error::Unbounded { row, .. } = &mut self {
            *row = rows.get(*row).copied().unwrap_or(*row);
        }
        self
    }

    /// The same error about a row of a longer table, where it is about a row of a part that follows so many others.
    pub fn after_rows(mut self, rows: usize) -> Self {
        if let Error::NotFinite { row, .. }
        | Error::Magnitude { row, .. }
        | Error::NotPositive { row, .. }
        | Error::Unbounded { row, .. }
        | Error::OutOfRange { row, .. }
        | Error::Label { row, .. }
        | Error::NotNormalised { row, .. }
        | Error::NotAProbability { row, .. }
        | Error::MissingLabel { row, .. }
        | Error::MissingGroup { row, .. }
        | Error::NotTime { row, .. }
        | Error::NotIssued { row, .. }
        | Error::UnknownLabel { row, .. } = &mut self
        {
            *row += rows;
        }
        self
    }

    /// The same error about a column of many outputs, where it is about the one output of a binary classifier.
    pub fn of_column(mut self, k: usize) -> Self {
        match &mut self {
            // Features are those of all outputs.
            Error::NotFinite { what: "features", .. } | Error::Magnitude { what: "features", .. } => {}
            Error::NotAProbability { column, .. }
            | Error::NotFinite { column, .. }
            | Error::Magnitude { column, .. } => *column = k,
            _ => {}
        }
        self
    }

    /// Fails with [`Error::Setting`] unless `ok`.
    pub(crate) fn check<V: std::fmt::Debug>(ok: bool, name: &'static str, value: V, range: &'static str) -> Result<()> {
        if ok { Ok(()) } else { Err(Error::setting(name, value, range)) }
    }

    pub(crate) fn setting(name: &'static str, value: impl std::fmt::Debug, range: &'static str) -> Self {
        Error::Setting { name, value: format!("{value:?}"), range }
    }
}
