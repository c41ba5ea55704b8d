//! Coverage of the intervals of calibration errors: `error_coverage n K replications`; one line per model and error.

#[path = "../tests/common/error_study.rs"]
mod error_study;

use stonet::metrics::JudgeSettings;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let [n, k, replications] = arguments[..] else { return Err("usage: error_coverage n K replications".into()) };
    println!("| model | error | true % | mean value % | mean interval % | coverage % | value inside % |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for model in error_study::MODELS {
        let (truth, judged) = (model.truth(k), model.judged(n, k, replications, &JudgeSettings::default()));
        for (j, what) in ["ece", "cece", "adaptive ece"].into_iter().enumerate() {
            let mean = |of: &dyn Fn(usize) -> f64| (0..replications).map(of).sum::<f64>() / replications as f64 * 100.0;
            let share = |of: &dyn Fn(usize) -> bool| mean(&|r| f64::from(u8::from(of(r))));
            println!(
                "| {} | {what} | {:.2} | {:.2} | {:.2}–{:.2} | {:.1} | {:.1} |",
                model.name,
                100.0 * truth[j],
                mean(&|r| judged[r][j].value),
                mean(&|r| judged[r][j].low),
                mean(&|r| judged[r][j].high),
                share(&|r| judged[r][j].low <= truth[j] && truth[j] <= judged[r][j].high),
                share(&|r| judged[r][j].low <= judged[r][j].value && judged[r][j].value <= judged[r][j].high),
            );
        }
    }
    Ok(())
}
