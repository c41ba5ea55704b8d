//! Where the time of a command went, as a table.

use stonet::base::StageTime;

/// One line per stage, those of a path by κ, then what is left and the total.
pub fn table(stages: &[StageTime], total: f64) -> String {
    let counted: f64 = stages.iter().map(|s| s.seconds).sum();
    let rest = ("other".to_owned(), (total - counted).max(0.0));
    let mut lines: Vec<(String, f64)> = stages.iter().map(|s| (name(s), s.seconds)).collect();
    lines.extend([rest, ("total".to_owned(), total)]);
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let share = |seconds: f64| 100.0 * seconds / total.max(f64::MIN_POSITIVE);
    let line = |(name, seconds): &(String, f64)| format!("{name:width$}  {seconds:9.3}  {:5.1} %", share(*seconds));
    let head = format!("{:width$}  {:>9}  {:>7}", "stage", "seconds", "share");
    [head].into_iter().chain(lines.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn name(stage: &StageTime) -> String {
    match stage.kappa {
        Some(kappa) => format!("{}, kappa {kappa:.3e}", stage.name),
        None => stage.name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_the_rest_has_a_line() {
        let one = |name: &'static str, kappa: Option<f64>, seconds: f64| StageTime { name, kappa, seconds, times: 1 };
        let text = table(&[one("reading", None, 0.5), one("StoNets", Some(0.006), 1.0)], 2.0);
        let expected = "stage                      seconds    share\n\
                        reading                      0.500   25.0 %\n\
                        StoNets, kappa 6.000e-3      1.000   50.0 %\n\
                        other                        0.500   25.0 %\n\
                        total                        2.000  100.0 %";
        assert_eq!(text, expected);
        assert!(table(&[], 0.0).contains("total"));
    }
}
