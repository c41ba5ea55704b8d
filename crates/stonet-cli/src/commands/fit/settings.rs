//! The settings of a fit as TOML with a comment for every field: what `--print-settings` prints and `--settings` reads.

use serde::Serialize;
use serde_json::{Map, Value};

/// What each field means, by its path; a path without its first parts serves every table that ends so.
const COMMENTS: [(&str, &str); 76] = [
    ("kind", "which intervals: stack, cv+, cv, paper, fast, split"),
    ("folds", "folds of every cross-validation"),
    ("learned_scale", "intervals of varying width (stack, cv+, fast, split)"),
    ("symmetric", "both ends equally far from the prediction (stack, cv+, fast, split)"),
    ("nested", "choose kappa, weights, scale and shape inside each fold (stack, cv+, fast)"),
    ("split_share", "share of the rows that `split` fits on; the others calibrate"),
    ("select", "rule for kappa of `paper` and `cv`: error, one-standard-error, coverage"),
    ("level", "coverage that `predict` and `evaluate` use where none is given"),
    ("y_low", "least value that the target can have, if known"),
    ("y_high", "greatest value that the target can have, if known"),
    ("stonet", "the StoNet members and their training"),
    ("stonet.hidden", "widths of the hidden layers"),
    (
        "stonet.kappas",
        "strengths of the penalty on layer 1 to choose from, ascending; without it, those that suit the rows",
    ),
    ("stonet.steps", "training steps at the first kappa for up to 2000 rows; half as many at each later one"),
    ("stonet.algorithm", "trainer: asghmc, iro, asghmc+iro"),
    ("method", "how probabilities are made, such as stack, temperature, post-linear, none"),
    ("members", "methods that the stack is made of"),
    ("skip", "the correcting StoNets and their training"),
    ("skip.hidden", "hidden units"),
    ("skip.kappas", "strengths of the penalty to choose from"),
    ("skip.max_steps", "steps of a training: more rows have fewer epochs, but one per average at least"),
    ("paper_epochs", "lengths of training that `paper` chooses from"),
    ("sets", "prediction sets"),
    ("sets.level", "coverage that `predict` and `evaluate` use where none is given"),
    ("sets.rule", "which sets"),
    ("rule.score", "score: \"lac\", { aps = { part = \"none\" } }, and so on for raps and saps"),
    ("score.aps", "the probability of all classes down to this one"),
    ("score.raps", "the same with a penalty on ranks"),
    ("score.saps", "the largest probability and ranks"),
    ("part", "how much of the class's own probability is added: none, whole, random"),
    ("rule.by", "for whom sets cover: all, class, cluster"),
    ("rule.never_empty", "the most probable class is in every set"),
    ("sets.scheme", "which rows calibrate: { cv-plus = { folds = 5 } } or { split = { share = 0.7 } }"),
    ("scheme.cv-plus", "every row, fold by fold"),
    ("cv-plus.folds", "folds of the calibration"),
    ("scheme.split", "the rows that are not fitted on"),
    ("split.share", "share of the rows that are fitted on"),
    ("accuracy", "bounds of the accuracy among rows of similar confidence"),
    ("accuracy.held_out", "share of the rows that are held out and counted; not with split sets"),
    ("accuracy.bins", "bins of confidence"),
    ("asghmc", "the ASGHMC trainer; lists have one entry per layer, or one for all"),
    ("asghmc.epochs", "passes over the rows (regression: replaced by `steps`)"),
    ("asghmc.batch_size", "rows per step"),
    ("asghmc.rates", "learning rates"),
    ("asghmc.kappa", "strength of the penalty; in a StoNet its ratio between layers"),
    ("asghmc.penalty", "shape of the penalty: \"lasso\", { scad = { a = 3.7 } }, { mcp = { gamma = 3.0 } }"),
    ("asghmc.noise", "size of the latent noise"),
    ("asghmc.friction", "friction, above 0 and at most 1; 1 is Langevin"),
    ("asghmc.hmc_steps", "imputation steps per update"),
    ("asghmc.step_ratio", "step size of the imputation by the variance of the layer above"),
    ("asghmc.averages", "parameter averages over equal windows of epochs"),
    ("asghmc.compact_every", "epochs between removals of dead units; 0 for never"),
    ("asghmc.max_restarts", "halvings of the rates after a divergence"),
    ("decay", "linear fall of the learning rates"),
    ("decay.from", "share of the epochs after which the fall begins"),
    ("decay.to", "share of the rate that is left at the end"),
    ("collection", "estimates drawn after convergence"),
    ("collection.estimates", "how many"),
    ("collection.spacing", "epochs between two of them"),
    ("collection.rate", "share of the learning rates while they are drawn"),
    ("collection.noise", "size of the latent noise while they are drawn"),
    ("iro", "the IRO trainer: the polish of asghmc+iro"),
    ("iro.iterations", "iterations"),
    ("iro.kappa", "strength of the penalty"),
    ("iro.penalty", "shape of the penalty, as above"),
    ("iro.design", "inputs of the regressions: forward, imputed"),
    ("iro.kernel", "kernel of the imputation: langevin, metropolis"),
    ("iro.steps", "imputation steps per iteration"),
    ("iro.step_size", "relative size of such a step"),
    ("iro.hidden_sd", "standard deviation of the hidden layers"),
    ("iro.noise", "size of the noise in the first iteration; it falls to 0"),
    ("iro.estimates", "how many of the last estimates are kept"),
    ("penalty.scad", "smoothly clipped absolute deviation"),
    ("penalty.mcp", "minimax concave penalty"),
    ("scad.a", "where SCAD becomes flat; above 2"),
    ("mcp.gamma", "where MCP becomes flat; above 1"),
];

/// The settings as TOML for people, and as JSON for programs.
pub fn printed<T: Serialize>(settings: &T) -> (String, Value) {
    (text(settings), serde_json::to_value(settings).unwrap_or_default())
}

/// The settings as TOML, complete and commented.
fn text<T: Serialize>(settings: &T) -> String {
    let mut value = serde_json::to_value(settings).unwrap_or_default();
    fill(&mut value);
    let mut out =
        String::from("# Settings in effect; `stonet fit --settings FILE` reads them. Fields may be left out.\n");
    if let Value::Object(fields) = &value {
        table("", fields, &mut out);
        if fields.contains_key("method") {
            out += &further(fields);
        }
    }
    out
}

/// Which tables of a classification could stand here too.
fn further(fields: &Map<String, Value>) -> String {
    let all = [("sets", "prediction sets", "--sets"), ("accuracy", "bounds of accuracy", "--accuracy-bounds")];
    let missing = all.into_iter().filter(|(table, ..)| !fields.contains_key(*table));
    missing.map(|(table, what, flag)| format!("\n# [{table}] is for {what}; print it with {flag}\n")).collect()
}

/// Fields that heads leave out at their default.
fn fill(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    if fields.contains_key("hmc_steps") {
        fields.entry("averages").or_insert(Value::from(0));
    }
    fields.values_mut().for_each(fill);
}

/// Values first, then tables, as TOML asks.
fn table(path: &str, fields: &Map<String, Value>, out: &mut String) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let (tables, values): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, v)| v.is_object());
    for (name, v) in values {
        let comment = comment(&inner(name));
        match toml_value(v) {
            Some(v) => *out += &format!("{name} = {v} # {comment}\n"),
            None => *out += &format!("# {name} = … # {comment}; chosen by the program where not set\n"),
        }
    }
    for (name, v) in tables {
        let Value::Object(fields) = v else { continue };
        let path = inner(name);
        *out += &format!("\n# {}\n[{path}]\n", comment(&path));
        table(&path, fields, out);
    }
}

/// None where nothing is set. Numbers, texts and lists are written in TOML as in JSON.
fn toml_value(v: &Value) -> Option<String> {
    match v {
        Value::Null => None,
        Value::Array(items) => {
            Some(format!("[{}]", items.iter().filter_map(toml_value).collect::<Vec<_>>().join(", ")))
        }
        other => Some(other.to_string()),
    }
}

/// The comment of the longest path that this one ends in.
fn comment(path: &str) -> &'static str {
    let fits = |known: &str| path.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    let found = COMMENTS.iter().filter(|(known, _)| fits(known)).max_by_key(|(known, _)| known.len());
    found.map_or("", |(_, comment)| comment)
}

/// Fails unless every line has a comment and the text reads back as what was printed.
#[cfg(test)]
pub fn survives<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(settings: &T) {
    let printed = text(settings);
    assert_eq!(&toml::from_str::<T>(&printed).unwrap(), settings, "{printed}");
    for line in printed.lines().filter(|l| !l.is_empty() && !l.starts_with('[')) {
        let comment = line.rsplit_once("# ").map_or("", |(_, comment)| comment);
        assert!(comment.len() > 5 && !comment.starts_with(';'), "no comment in `{line}`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stonet::{Kind, Penalty, PostStoNetRegressor};

    #[test]
    fn settings_of_every_kind_are_commented_and_read_back() {
        for kind in Kind::ALL {
            survives(&PostStoNetRegressor { kind, ..PostStoNetRegressor::default() });
        }
        let mut post = PostStoNetRegressor {
            select: Some(stonet::regression::Select::OneStandardError),
            ..PostStoNetRegressor::default()
        };
        post.stonet.asghmc.penalty = Penalty::SCAD;
        survives(&post);
    }
}
