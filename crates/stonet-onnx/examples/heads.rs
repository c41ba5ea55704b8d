//! Writes heads of every form with rows for them and the models' own answers, for other runtimes to repeat:
//! `cargo run --release -p stonet-onnx --example heads -- DIRECTORY`.

#[path = "../tests/onnx/fitted.rs"]
mod fitted;

use std::path::Path;

use ndarray::Array2;
use serde_json::{Map, Value, json};

fn tables<N: AsRef<str>>(of: &[(N, Array2<f64>)], wanted: &[&str]) -> Value {
    let rows = |t: &Array2<f64>| t.outer_iter().map(|r| json!(r.to_vec())).collect::<Vec<Value>>();
    let chosen = of.iter().filter(|(name, _)| wanted.contains(&name.as_ref()));
    Value::Object(chosen.map(|(name, t)| (name.as_ref().to_owned(), json!(rows(t)))).collect::<Map<_, _>>())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory to write to")?;
    std::fs::create_dir_all(&directory)?;
    for case in fitted::classifiers().into_iter().chain(fitted::regressions()) {
        let place = Path::new(&directory).join(&case.name);
        std::fs::write(place.with_extension("onnx"), case.head.to_onnx())?;
        let rows = json!({
            "compressed": case.compressed,
            "inputs": tables(&case.inputs, &case.head.inputs()),
            "outputs": tables(&case.outputs, &case.head.outputs()),
        });
        std::fs::write(place.with_extension("json"), serde_json::to_string(&rows)?)?;
        println!("{}: {} numbers", case.name, case.head.parameters());
    }
    Ok(())
}
