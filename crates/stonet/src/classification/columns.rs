//! Whether columns are a network's outputs or features, and which class each output belongs to.

use std::collections::HashMap;

use ndarray::ArrayView2;

use crate::base::binomial::binomial_upper_tail;
use crate::base::{Error, Result};
use crate::metrics::top_class;
use crate::rows::classes::looks_like_probabilities;
use crate::rows::{InputKind, LabelKind, Labels};

/// How improbable an agreement has to be under chance before it counts.
const SURPRISE: f64 = 1e-6;
/// How many times better another order has to be.
const CLEARLY: usize = 2;
/// An order of more classes than this is shown in part.
const SHOWN: usize = 50;

/// What is said about columns, and what they are called.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClassAsked<'a> {
    /// What they are; found by the rule of [`ClassColumns::find`] if not given.
    pub kind: Option<InputKind>,
    /// All classes in the order of the columns.
    pub classes: Option<&'a Labels>,
    /// The names of the columns, where they have any.
    pub columns: &'a [String],
    /// Whether features stand beside these columns, which therefore are outputs.
    pub beside: bool,
}

/// What columns are, and the classes of a fit in the order of its probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassColumns {
    /// What the columns are.
    pub kind: InputKind,
    /// The classes; of outputs in the order of the columns.
    pub labels: Labels,
    /// The class of every row.
    pub codes: Vec<usize>,
    /// What the user should know.
    pub notes: Vec<ClassNote>,
}

/// Something about columns and classes that a user should know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ClassNote {
    /// Fewer classes occur than there are columns, and what the columns are was decided by how often the largest one is
    /// the label.
    Decided {
        /// What they were taken for.
        kind: InputKind,
        /// Columns.
        columns: usize,
        /// Classes that occur.
        classes: usize,
        /// Rows in which the largest column is that of the label.
        hits: usize,
        /// The number of rows.
        rows: usize,
        /// The share of such rows that chance gives.
        chance: f64,
    },
    /// Columns were taken for features because there are a few more of them than classes that occur.
    FewMore {
        /// Columns.
        columns: usize,
        /// Classes that occur.
        classes: usize,
    },
    /// Another order of the classes fits the columns clearly better.
    OtherOrder {
        /// Rows in which the largest column is that of the label.
        hits: usize,
        /// The same in the better order, found on one half of the rows and counted on the other.
        better: usize,
        /// The number of rows.
        rows: usize,
        /// That order.
        order: Labels,
    },
}

/// Where a user reads a message, and so how arguments are written in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Flags.
    Command,
    /// Keyword arguments.
    Python,
}

impl Interface {
    fn kind(self, kind: InputKind) -> String {
        match self {
            Interface::Command => format!("--kind {kind}"),
            Interface::Python => format!("kind=\"{kind}\""),
        }
    }

    fn classes(self, order: &Labels) -> String {
        let shown: Vec<String> = order.names().iter().take(SHOWN).map(|n| self.name(n, order.kind())).collect();
        let more = order.classes() > SHOWN;
        match self {
            Interface::Command => {
                let list = shown.join(",") + if more { ",…" } else { "" };
                let quoted = list.contains(|c: char| !(c.is_alphanumeric() || ",.-_…".contains(c)));
                if quoted { format!("--classes '{list}'") } else { format!("--classes {list}") }
            }
            Interface::Python => format!("classes=[{}{}]", shown.join(", "), if more { ", …" } else { "" }),
        }
    }

    fn name(self, name: &str, kind: Option<LabelKind>) -> String {
        let plain = matches!(kind, Some(LabelKind::Integer | LabelKind::Float | LabelKind::Boolean));
        match self {
            Interface::Python if !plain => format!("{name:?}"),
            Interface::Command if name.contains([',', '"']) => format!("\"{}\"", name.replace('"', "\"\"")),
            _ => name.to_owned(),
        }
    }
}

impl ClassNote {
    /// The message, with arguments as they are written there.
    pub fn text(&self, at: Interface) -> String {
        let percent = |hits: usize, rows: usize| format!("{:.1} %", 100.0 * hits as f64 / rows.max(1) as f64);
        match self {
            ClassNote::Decided { kind, columns, classes, hits, rows, chance } => {
                let share = percent(*hits, *rows);
                if *columns == 1 {
                    let found = format!(
                        "there are one column and two classes; the column is on the side of the label in {share} of {rows} rows, where chance \
                         gives {:.1} %",
                        100.0 * chance
                    );
                    return match kind {
                        InputKind::Features => format!(
                            "{found}, so it is taken for a feature; if it is the network's output, pass {}",
                            at.kind(InputKind::Logits)
                        ),
                        kind => format!(
                            "{found}, so it is taken for {kind} of the second class; if it is a feature, pass {}",
                            at.kind(InputKind::Features)
                        ),
                    };
                }
                let found = format!(
                    "there are {columns} columns, and {classes} classes occur; the largest column is that of the label in {} of {rows} rows, \
                     where chance gives {:.1} %",
                    share,
                    100.0 * chance
                );
                match kind {
                    InputKind::Features => format!(
                        "{found}, so the columns are taken for features; if they are the network's outputs, pass {}",
                        at.kind(InputKind::Logits)
                    ),
                    kind => format!(
                        "{found}, so the columns are taken for {kind}, one per class, and classes without a row keep theirs; if they are \
                         features, pass {}",
                        at.kind(InputKind::Features)
                    ),
                }
            }
            ClassNote::FewMore { columns, classes } => {
                let named = match at {
                    Interface::Command => "--classes",
                    Interface::Python => "classes=",
                };
                format!(
                    "there are {columns} columns, and {classes} classes occur, so the columns are taken for features; if they are the network's \
                     outputs, name all {columns} classes in the order of the columns by {named}"
                )
            }
            ClassNote::OtherOrder { hits, better, rows, order } => format!(
                "the largest column is that of the label in {} of the rows, and in {} if the classes stand in another order; if the columns \
                 are the network's outputs, pass {}",
                percent(*hits, *rows),
                percent(*better, *rows),
                at.classes(order)
            ),
        }
    }
}

/// What the names of classes and columns say.
enum Role {
    /// A column per class.
    Outputs(Labels),
    /// A column per class if these are outputs, and more columns than classes that occur.
    Doubtful(Labels),
    /// Other numbers of columns than of classes.
    Misfit,
}

impl ClassColumns {
    /// Decides what the columns are. `seen` are the classes that occur, and `codes` the class of each row among them.
    ///
    /// Columns are a network's outputs, probabilities where every row is one and logits otherwise, if there are as many
    /// as classes named by `asked.classes`, or as classes that occur. Labels may also be whole numbers from 0 to
    /// columns − 1, or stand in the names of the columns, while some classes do not occur: then the columns are outputs
    /// only if the largest one is that of the label clearly more often than chance (one-sided binomial test, p < 10⁻⁶),
    /// and features otherwise; [`ClassNote::Decided`] tells. Chance is the agreement of labels and largest columns that
    /// are independent of each other, Σ_k P(label = k) P(largest = k). Features whose largest column depends on the
    /// class can agree with a few labels by coincidence, so the agreement must also be at least half of what the best
    /// order of the classes would have. The same decides whether one column, where there are two classes, is the output
    /// of a binary classifier: its sign, or whether it exceeds one half, then tells the class.
    pub fn find(values: ArrayView2<'_, f64>, seen: &Labels, codes: &[usize], asked: &ClassAsked<'_>) -> Result<Self> {
        let guess = if looks_like_probabilities(values) { InputKind::Probabilities } else { InputKind::Logits };
        let outputs = || asked.kind.unwrap_or(guess);
        // One column and two classes: the output of a binary classifier, or a feature.
        let two = asked.classes.unwrap_or(seen).classes() == 2;
        let single = values.ncols() == 1 && asked.kind != Some(InputKind::Features) && (two || asked.kind.is_some());
        let both = single.then(|| outputs().logits(values.to_owned())).transpose()?;
        let given = values.ncols();
        let values = both.as_ref().map_or(values, |both| both.view());
        let columns = values.ncols();
        let role = role(seen, codes, columns, asked)?;
        let (kind, labels, doubtful) = match (asked.kind, role) {
            (Some(InputKind::Features), _) => return Self::features(seen, codes, asked, Vec::new()),
            (kind, Role::Outputs(labels)) => (outputs(), labels, single && kind.is_none() && !asked.beside),
            (Some(kind), Role::Doubtful(labels)) => (kind, labels, false),
            (None, Role::Doubtful(labels)) => (outputs(), labels, !asked.beside),
            (None, Role::Misfit) if !asked.beside => {
                // Few classes without a row, which a table of features hits by chance only.
                let absent = columns.saturating_sub(seen.classes());
                let few = absent > 0 && absent <= seen.classes() / 4 && asked.classes.is_none();
                let notes =
                    few.then_some(ClassNote::FewMore { columns, classes: seen.classes() }).into_iter().collect();
                return Self::features(seen, codes, asked, notes);
            }
            (_, Role::Misfit) => {
                let named = |all: &Labels| Error::shape("columns, one per class named", all.classes(), columns);
                return Err(asked.classes.map_or_else(|| seen.misfit(columns), named));
            }
        };
        let places = labels.encode(seen.names())?;
        let placed: Vec<usize> = codes.iter().map(|&c| places[c]).collect();
        let agreement = Agreement::of(values, &placed);
        let mut notes = Vec::new();
        if doubtful {
            let kind = if agreement.is_of_outputs() { kind } else { InputKind::Features };
            let Agreement { hits, rows, chance, .. } = agreement;
            notes.push(ClassNote::Decided { kind, columns: given, classes: seen.classes(), hits, rows, chance });
            if kind == InputKind::Features {
                return Self::features(seen, codes, asked, notes);
            }
        }
        notes.extend(agreement.other_order(&labels));
        Ok(ClassColumns { kind, labels, codes: placed, notes })
    }

    /// Whether the numbers in the columns decided what they are.
    pub fn is_decided(&self) -> bool {
        self.notes.iter().any(|note| matches!(note, ClassNote::Decided { .. }))
    }

    fn features(seen: &Labels, codes: &[usize], asked: &ClassAsked<'_>, notes: Vec<ClassNote>) -> Result<Self> {
        let labels = asked.classes.map_or_else(|| Ok(seen.clone()), |all| named(seen, codes, all))?;
        let places = labels.encode(seen.names())?;
        let codes = codes.iter().map(|&c| places[c]).collect();
        Ok(ClassColumns { kind: InputKind::Features, labels, codes, notes })
    }
}

/// All classes by the names that were given; a label that is not among them is an error that names its row.
fn named(seen: &Labels, codes: &[usize], all: &Labels) -> Result<Labels> {
    seen.among(all).map_err(|e| match e {
        Error::UnknownLabel { row: class, label, known } => {
            let row = codes.iter().position(|&c| c == class).unwrap_or(0);
            Error::UnknownLabel { row, label, known }
        }
        e => e,
    })
}

fn role(seen: &Labels, codes: &[usize], columns: usize, asked: &ClassAsked<'_>) -> Result<Role> {
    if let Some(all) = asked.classes {
        let labels = named(seen, codes, all)?;
        return Ok(if labels.classes() == columns { Role::Outputs(labels) } else { Role::Misfit });
    }
    let possible = by_column_names(seen, asked.columns).or_else(|| seen.numbered(columns));
    Ok(match possible {
        Some(labels) if labels.classes() == seen.classes() => Role::Outputs(labels),
        Some(labels) => Role::Doubtful(labels),
        None if seen.classes() == columns => Role::Outputs(seen.in_order()),
        None => Role::Misfit,
    })
}

/// The classes that columns are named after, behind what all their names begin with, where all labels are among them.
fn by_column_names(seen: &Labels, columns: &[String]) -> Option<Labels> {
    let stem = common_prefix(columns);
    let own = Labels::named(columns.iter().map(|n| n[stem..].to_owned()).collect()).ok()?;
    seen.among(&own).ok()
}

/// Bytes that all names begin with.
pub(super) fn common_prefix(names: &[String]) -> usize {
    let Some(first) = names.first() else { return 0 };
    let shared = |other: &String| first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut length = names.iter().map(shared).min().unwrap_or(0);
    while !names.iter().all(|n| n.is_char_boundary(length)) {
        length -= 1;
    }
    length
}

/// How often the largest column is that of the label.
struct Agreement {
    rows: usize,
    hits: usize,
    /// The share of hits if labels and largest columns were independent.
    chance: f64,
    /// The largest share that independence could give in any order of the classes.
    best_chance: f64,
    /// Hits in the best order, each row by the order that the other half of the rows gives.
    better: usize,
    /// Label and largest column of every row.
    pairs: Vec<(usize, usize)>,
}

impl Agreement {
    fn of(values: ArrayView2<'_, f64>, labels: &[usize]) -> Self {
        let columns = values.ncols();
        let pairs: Vec<(usize, usize)> = labels.iter().copied().zip(values.outer_iter().map(top_class)).collect();
        let (mut label, mut largest) = (vec![0usize; columns], vec![0usize; columns]);
        let mut halves = [Vec::new(), Vec::new()];
        for &(k, j) in &pairs {
            // The rows of each class in turn, so that both halves have all classes.
            halves[label[k] % 2].push((k, j));
            label[k] += 1;
            largest[j] += 1;
        }
        let rows = pairs.len();
        let square = (rows.max(1) as f64).powi(2);
        let product =
            |a: &[usize], b: &[usize]| a.iter().zip(b).map(|(a, b)| *a as f64 * *b as f64).sum::<f64>() / square;
        let chance = product(&label, &largest);
        label.sort_unstable();
        largest.sort_unstable();
        let counted = |from: &[(usize, usize)], on: &[(usize, usize)]| {
            let class = assignment(from);
            on.iter().filter(|(k, j)| class.get(j) == Some(k)).count()
        };
        Agreement {
            rows,
            hits: pairs.iter().filter(|(k, j)| k == j).count(),
            chance,
            best_chance: product(&label, &largest),
            better: counted(&halves[0], &halves[1]) + counted(&halves[1], &halves[0]),
            pairs,
        }
    }

    /// Whether the columns are outputs in the order of the labels.
    fn is_of_outputs(&self) -> bool {
        binomial_upper_tail(self.hits, self.rows, self.chance) < SURPRISE && CLEARLY * self.hits >= self.better
    }

    /// Another order of the classes, where it is clearly better.
    fn other_order(&self, labels: &Labels) -> Option<ClassNote> {
        let &Agreement { rows, hits, better, best_chance, .. } = self;
        if better < CLEARLY * hits || binomial_upper_tail(better, rows, best_chance.min(1.0)) >= SURPRISE {
            return None;
        }
        let found = assignment(&self.pairs);
        let mut free: Vec<usize> = (0..labels.classes()).filter(|k| !found.values().any(|f| f == k)).collect();
        // Columns that are never the largest keep their class where it is left, and get one of the others otherwise.
        let mut order = vec![None; labels.classes()];
        found.iter().for_each(|(&j, &k)| order[j] = Some(k));
        for (j, class) in order.iter_mut().enumerate() {
            if class.is_none()
                && let Some(at) = free.iter().position(|&k| k == j)
            {
                *class = Some(free.remove(at));
            }
        }
        let order = order.into_iter().filter_map(|class| class.or_else(|| free.pop())).collect::<Vec<_>>();
        labels.reordered(&order).map(|order| ClassNote::OtherOrder { hits, better, rows, order })
    }
}

/// Column → class, the pairs that occur most often first, each column and each class once.
fn assignment(pairs: &[(usize, usize)]) -> HashMap<usize, usize> {
    let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
    pairs.iter().for_each(|&pair| *counts.entry(pair).or_default() += 1);
    let mut counts: Vec<((usize, usize), usize)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|&(pair, count)| (std::cmp::Reverse(count), pair));
    let (mut classes, mut taken) = (HashMap::new(), std::collections::HashSet::new());
    for ((class, column), _) in counts {
        if !classes.contains_key(&column) && taken.insert(class) {
            classes.insert(column, class);
        }
    }
    classes
}

#[cfg(test)]
mod tests;
