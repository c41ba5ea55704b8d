//! What other tools read: Triton's configuration of an exported file, and model cards in Markdown.

mod common;

use std::collections::BTreeMap;

use common::{FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};
use stonet_onnx::{Axis, Network, TensorInfo};

/// A message of protobuf's text format: scalars and messages by name, in their order.
#[derive(Debug, Default)]
struct Text {
    scalars: BTreeMap<String, Vec<String>>,
    messages: BTreeMap<String, Vec<Text>>,
}

/// Words and signs; a text in quotes is one word.
fn tokens(text: &str) -> Vec<String> {
    let (mut found, mut chars) = (Vec::new(), text.chars().peekable());
    while let Some(c) = chars.next() {
        if c == '"' {
            let mut word = String::from('"');
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => word.extend(chars.next()),
                    c => word.push(c),
                }
            }
            found.push(word);
        } else if c.is_alphanumeric() || c == '_' || c == '-' {
            let mut word = String::from(c);
            while let Some(&c) = chars.peek().filter(|c| c.is_alphanumeric() || **c == '_') {
                word.push(c);
                chars.next();
            }
            found.push(word);
        } else if !c.is_whitespace() {
            found.push(c.to_string());
        }
    }
    found
}

fn parse(tokens: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> Text {
    let mut text = Text::default();
    while let Some(name) = tokens.next_if(|t| t != "}" && t != "]") {
        if name == "," {
            continue;
        }
        let colon = tokens.next_if_eq(":").is_some();
        match tokens.next().unwrap().as_str() {
            "{" => {
                let inner = parse(tokens);
                assert_eq!(tokens.next().as_deref(), Some("}"));
                text.messages.entry(name).or_default().push(inner);
            }
            "[" if !colon => {
                while tokens.next_if_eq("]").is_none() {
                    assert_eq!(tokens.next().as_deref(), Some("{"));
                    text.messages.entry(name.clone()).or_default().push(parse(tokens));
                    assert_eq!(tokens.next().as_deref(), Some("}"));
                    tokens.next_if_eq(",");
                }
            }
            "[" => {
                let list = text.scalars.entry(name).or_default();
                loop {
                    match tokens.next().unwrap().as_str() {
                        "]" => break,
                        "," => {}
                        word => list.push(word.to_owned()),
                    }
                }
            }
            word => text.scalars.entry(name).or_default().push(word.trim_start_matches('"').to_owned()),
        }
    }
    text
}

fn config(text: &str) -> Text {
    let mut tokens = tokens(text).into_iter().peekable();
    let found = parse(&mut tokens);
    assert_eq!(tokens.next(), None, "{text}");
    found
}

/// Name, type and axes behind the rows, of a tensor of the file as Triton would have them.
fn wanted(tensor: &TensorInfo) -> (String, String, Vec<String>) {
    let element = match tensor.element.unwrap().to_string().as_str() {
        "f32" => "TYPE_FP32",
        "i64" => "TYPE_INT64",
        other => panic!("{other}"),
    };
    let shape = tensor.shape.clone().unwrap();
    assert!(matches!(shape[0], Axis::Open(_)));
    let dims: Vec<String> =
        shape[1..].iter().map(|a| if let Axis::Fixed(n) = a { n.to_string() } else { "-1".into() }).collect();
    (tensor.name.clone(), element.into(), if dims.is_empty() { vec!["1".into()] } else { dims })
}

fn told(port: &Text) -> (String, String, Vec<String>) {
    (port.scalars["name"][0].clone(), port.scalars["data_type"][0].clone(), port.scalars["dims"].clone())
}

#[test]
fn triton_is_told_the_inputs_and_outputs_of_the_file() {
    for (desk, fit, ask) in [(with_houses(400), FIT_HOUSES, "--level 0.8,0.95"), (with_animals(400), FIT_ANIMALS, "")] {
        desk.run(fit);
        let said = desk.json(&format!("export head.stonet --triton models/price {ask}"));
        assert!(said["config"].as_str().unwrap().ends_with("config.pbtxt"));
        let text = desk.text("models/price/config.pbtxt");
        let found = config(&text);
        assert_eq!(found.scalars["name"], ["price"]);
        assert_eq!(found.scalars["backend"], ["onnxruntime"]);
        assert!(found.scalars["max_batch_size"][0].parse::<u32>().unwrap() > 0);
        let network = Network::open(&desk.at("models/price/1/model.onnx")).unwrap();
        let inputs: Vec<_> = network.inputs().iter().map(wanted).collect();
        let outputs: Vec<_> = network.outputs().iter().map(wanted).collect();
        assert_eq!(found.messages["input"].iter().map(told).collect::<Vec<_>>(), inputs, "{text}");
        assert_eq!(found.messages["output"].iter().map(told).collect::<Vec<_>>(), outputs, "{text}");
        // Outputs of one number per row are rows of one for Triton.
        for (port, tensor) in found.messages["output"].iter().zip(network.outputs()) {
            assert_eq!(port.messages.contains_key("reshape"), tensor.shape.as_ref().unwrap().len() == 1, "{text}");
        }
        // The same bytes as an export to a file.
        desk.run(&format!("export head.stonet -o head.onnx {ask}"));
        assert_eq!(desk.bytes("head.onnx"), desk.bytes("models/price/1/model.onnx"));
    }
}

#[test]
fn a_place_that_is_none_is_refused() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    desk.refuses("export head.stonet --triton head.stonet", &["--triton", "is a file"]);
    desk.refuses("export head.stonet --triton /", &["--triton", "model's name"]);
    desk.refuses("export head.stonet", &["--output"]);
    desk.refuses("export head.stonet --triton m -o head.onnx", &["--triton"]);
}

#[test]
fn model_cards_tell_data_guarantee_groups_and_limits() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    desk.run("evaluate head.stonet test.csv --by region --report card.md");
    let card = desk.text("card.md");
    for part in [
        "# Model card: ",
        "## Guarantee",
        "## Data",
        "## Results",
        "## Results by region",
        "## Limits",
        "stonet evaluate",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
    let told = desk.json("evaluate head.stonet test.csv --by region");
    let groups = told["evaluation"]["subgroups"][1].as_array().unwrap();
    for group in groups {
        let row = format!("| {} | {} |", group["name"].as_str().unwrap(), group["coverage"]["rows"]);
        assert!(card.contains(&row), "{row}: {card}");
    }
    // Numbers differ between processors in their last digits; words and tables do not.
    let shape: Vec<String> = card.lines().map(without_numbers).collect();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("card-houses", shape.join("\n"));
    });
    let animals = with_animals(400);
    animals.run(FIT_ANIMALS);
    animals.run("evaluate head.stonet test.parquet --report card.md");
    let card = animals.text("card.md");
    assert!(card.contains("By class:") && card.contains("## Results by group"), "{card}");
    animals.refuses("evaluate head.stonet test.parquet --report card.txt", &["--report", ".md"]);
}

/// A line with `#` for every number, and without what a command or a fit's settings have of their own.
fn without_numbers(line: &str) -> String {
    if line.starts_with("Settings of the fit") {
        return "Settings of the fit: …".into();
    }
    let mut out = String::new();
    let mut number = false;
    for c in line.chars() {
        let digit = c.is_ascii_digit() || (number && (c == '.' || c == ','));
        if digit && !number {
            out.push('#');
        }
        if !digit {
            out.push(c);
        }
        number = digit;
    }
    // Whether a fifth is judged to be short depends on the last digits too.
    for words in ["**below the level, beyond chance**", "as promised, within chance", "above the level, beyond chance"]
    {
        out = out.replace(words, "(judged)");
    }
    if out.contains("rows of the fit") { "| rows of the fit | … |".into() } else { out }
}
