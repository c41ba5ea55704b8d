//! Networks that cannot be run, or only with care: operators, axes, inputs, and weights elsewhere.

use crate::common::{Desk, FIT_HOUSES, apart, with_houses};

/// A message of the wire format, field by field.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 128 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }
}

/// x (N × 3) → MatMul → `operator` → MatMul → y (N × 1), to be changed by the tests.
struct Net {
    operator: (&'static str, &'static str),
    /// The axis of the batch: a name, or a number.
    batch: Result<&'static str, u64>,
    second_input: bool,
    /// Where the first weights are, if not in the file.
    location: Option<String>,
}

const SOUND: Net = Net { operator: ("Tanh", ""), batch: Ok("N"), second_input: false, location: None };

/// Weights of a layer that are no symmetric accident.
fn weights(rows: usize, columns: usize) -> Vec<u8> {
    (0..rows * columns).flat_map(|i| ((i as f32 * 0.7).sin()).to_le_bytes()).collect()
}

impl Net {
    fn value(&self, name: &str, columns: u64) -> Message {
        let batch = match self.batch {
            Ok(name) => Message::default().text(2, name),
            Err(rows) => Message::default().number(1, rows),
        };
        let shape = Message::default().message(1, &batch).message(1, &Message::default().number(1, columns));
        let tensor = Message::default().number(1, 1).message(2, &shape);
        Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
    }

    fn bytes(&self) -> Vec<u8> {
        let node = |inputs: &[&str], output: &str, operator: &str, domain: &str| {
            let node = inputs.iter().fold(Message::default(), |m, i| m.text(1, i));
            node.text(2, output).text(4, operator).text(7, domain)
        };
        let tensor = |name: &str, rows: u64, columns: u64| {
            Message::default().number(1, rows).number(1, columns).number(2, 1).text(8, name)
        };
        let first = match &self.location {
            None => tensor("w1", 3, 4).bytes(9, &weights(3, 4)),
            Some(place) => {
                let entry = |key: &str, value: &str| Message::default().text(1, key).text(2, value);
                tensor("w1", 3, 4).message(13, &entry("location", place)).number(14, 1)
            }
        };
        let mut graph = Message::default()
            .message(1, &node(&["x", "w1"], "a", "MatMul", ""))
            .message(1, &node(&["a"], "h", self.operator.0, self.operator.1))
            .message(1, &node(&["h", "w2"], "y", "MatMul", ""))
            .text(2, "graph")
            .message(5, &first)
            .message(5, &tensor("w2", 4, 1).bytes(9, &weights(4, 1)))
            .message(11, &self.value("x", 3));
        if self.second_input {
            graph = graph.message(11, &self.value("mask", 3));
        }
        let opset = Message::default().text(1, "").number(2, 17);
        let mine = Message::default().text(1, "my.domain").number(2, 1);
        let graph = graph.message(12, &self.value("y", 1));
        Message::default().number(1, 8).message(8, &opset).message(8, &mine).message(7, &graph).0
    }
}

fn desk() -> Desk {
    let desk = Desk::new();
    let rows = (0..70).map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 3)).fold(String::from("a,b,c\n"), |a, b| a + &b);
    desk.write("rows.csv", rows);
    desk
}

const RUN: &str = "features net.onnx rows.csv -o f.csv";

#[test]
fn batches_of_any_size_named_or_fixed_give_the_same() {
    let desk = desk();
    desk.write("net.onnx", SOUND.bytes()).run(RUN);
    let said = || desk.table("f.csv", &[]).values().iter().copied().collect::<Vec<_>>();
    let wanted = said();
    assert_eq!((desk.table("f.csv", &[]).names().join(","), wanted.len()), ("f0,f1,f2,f3,prediction".into(), 70 * 5));
    // Sums of f32 in another order differ in their last digits.
    for batch in ["--batch 1", "--batch 7", "--batch 1000"] {
        desk.run(&format!("{RUN} {batch}"));
        assert!(apart(&said(), &wanted) < 1e-5, "{batch}");
    }
    for fixed in [1, 32] {
        desk.write("net.onnx", Net { batch: Err(fixed), ..SOUND }.bytes()).run(RUN);
        assert!(apart(&said(), &wanted) < 1e-5, "{fixed}");
    }
}

#[test]
fn operators_that_nobody_knows_are_named() {
    let desk = desk();
    desk.write("net.onnx", Net { operator: ("Fancy", "my.domain"), ..SOUND }.bytes());
    desk.refuses(RUN, &["net.onnx", "Fancy"]);
    desk.write("net.onnx", Net { operator: ("Tanhh", ""), ..SOUND }.bytes());
    desk.refuses(RUN, &["net.onnx", "Tanhh"]);
    // What is in it can be looked at all the same.
    assert!(desk.run("inspect net.onnx").contains("Tanhh 1"));
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let desk = desk();
    // Two inputs want their columns by name, or all of them in order.
    desk.write("net.onnx", Net { second_input: true, ..SOUND }.bytes());
    desk.refuses(RUN, &["rows.csv", "`x_0`"]);
    desk.refuses(&format!("{RUN} --inputs a,b,c"), &["`x`, `mask`", "6 numbers in all", "have 3"]);
    desk.write("net.onnx", SOUND.bytes());
    desk.refuses(&format!("{RUN} --inputs a,b"), &["`x`", "3", "2"]);
    let extra = desk.text("rows.csv").lines().map(|l| format!("{l},{l}\n")).collect::<String>();
    desk.write("wide.csv", extra.replacen("a,b,c,a,b,c", "a,b,c,y,d,e", 1));
    desk.refuses("features net.onnx wide.csv -o f.csv", &["`x`", "3", "6", "--keep", "--inputs"]);
    desk.refuses(&format!("{RUN} --tap hidden"), &["net.onnx", "`hidden`", "`h`"]);
    desk.refuses(&format!("{RUN} --batch 0"), &["batch must be", "but is 0", "at least 1"]);
    desk.refuses(&format!("{RUN} --std 0"), &["std must be", "but is [0.0]", "positive"]);
    desk.refuses(&format!("{RUN} --mean 1,2"), &["2", "as many as"]);
    desk.refuses(&format!("{RUN} --runtime tensorrt"), &["tensorrt", "rten or onnxruntime"]);
}

#[test]
fn weights_in_other_folders_are_not_read() {
    let desk = desk();
    std::fs::create_dir(desk.at("in")).unwrap();
    desk.write("weights.bin", weights(3, 4)).write("in/weights.bin", weights(3, 4));
    let absolute = desk.at("weights.bin").display().to_string();
    let run = "features in/net.onnx rows.csv -o f.csv";
    for place in ["../weights.bin", "in/../../weights.bin", &absolute, "/etc/passwd"] {
        desk.write("in/net.onnx", Net { location: Some(place.to_owned()), ..SOUND }.bytes());
        desk.refuses(run, &["in/net.onnx", "`w1`", place, "own folder"]);
    }
    desk.write("in/net.onnx", Net { location: Some("none.bin".into()), ..SOUND }.bytes());
    desk.refuses(run, &["in/net.onnx", "`w1`", "none.bin"]);
    desk.write("in/net.onnx", Net { location: Some("weights.bin".into()), ..SOUND }.bytes()).run(run);
    let beside = desk.text("f.csv");
    desk.write("net.onnx", SOUND.bytes()).run(RUN);
    assert_eq!(desk.text("f.csv"), beside);
    desk.write("in/weights.bin", &weights(3, 4)[..40]);
    desk.refuses(run, &["in/net.onnx", "`w1`", "weights.bin"]);
    #[cfg(unix)]
    {
        std::fs::remove_file(desk.at("in/weights.bin")).unwrap();
        std::os::unix::fs::symlink(desk.at("weights.bin"), desk.at("in/weights.bin")).unwrap();
        desk.refuses(run, &["in/net.onnx", "`w1`", "weights.bin"]);
    }
}

#[test]
fn a_head_is_not_joined_to_another_network() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    desk.write("other.onnx", SOUND.bytes());
    let join = "export head.stonet -o x.onnx --network";
    desk.refuses(&format!("{join} other.onnx"), &["other.onnx", "`h` has 4 numbers per row", "fitted on 12 features"]);
    desk.refuses(&format!("{join} net.onnx --tap nothing"), &["net.onnx", "`nothing`"]);
    desk.refuses(&format!("{join} net.onnx --network-output nothing"), &["net.onnx", "`nothing`"]);
    desk.refuses("export head.stonet -o x.onnx --tap t8", &["--network"]);
    desk.refuses("export head.stonet -o x.txt", &["--output must end in .onnx"]);
}

#[test]
fn numbers_beyond_f32_and_results_that_are_not_finite_are_named_by_row_and_column() {
    let desk = desk();
    desk.write("net.onnx", SOUND.bytes());
    let table = |row: usize, number: &str| {
        let line = |i: usize| if i == row { format!("1,{number},2\n") } else { format!("{},{},1\n", i % 7, i % 5) };
        desk.write("rows.csv", (0..5000).map(line).fold(String::from("a,b,c\n"), |a, b| a + &b));
    };
    table(4900, "1e39");
    desk.refuses(RUN, &["rows.csv: row 4900 (from 0), column `b` is 1e39", "3.4028235e38"]);
    desk.refuses(&format!("{RUN} --inputs c,b,a"), &["column `b` is 1e39"]);
    // Within f32 in the file, and beyond it after scaling.
    table(4900, "1e20");
    desk.refuses(&format!("{RUN} --scale 1e30"), &["rows.csv: row 4900 (from 0), column `b` is inf"]);
    // The network itself leaves the range: sums of products become infinite.
    table(4900, "3e38");
    desk.write("net.onnx", Net { operator: ("Identity", ""), ..SOUND }.bytes());
    desk.refuses(&format!("{RUN} --scale 100"), &["column `b` is inf"]);
    desk.write("net.onnx", Net { operator: ("Exp", ""), ..SOUND }.bytes());
    table(4900, "1e4");
    desk.refuses(RUN, &["row 4900: the network computed inf", "tensor `h`"]);
}

/// Like [`SOUND`] with x[:, 0:3:0] in front, at which rten panics.
fn slice_of_step_zero() -> Vec<u8> {
    let node = |inputs: &[&str], output: &str, operator: &str| {
        inputs.iter().fold(Message::default(), |m, i| m.text(1, i)).text(2, output).text(4, operator)
    };
    let number = |name: &str, value: i64| {
        Message::default().number(1, 1).number(2, 7).text(8, name).bytes(9, &value.to_le_bytes())
    };
    let tensor = Message::default().number(1, 3).number(1, 1).number(2, 1).text(8, "w").bytes(9, &weights(3, 1));
    let mut graph = Message::default()
        .message(1, &node(&["x", "from", "to", "axis", "step"], "s", "Slice"))
        .message(1, &node(&["s", "w"], "y", "MatMul"))
        .message(5, &tensor);
    for (name, value) in [("from", 0), ("to", 3), ("axis", 1), ("step", 0)] {
        graph = graph.message(5, &number(name, value));
    }
    let graph = graph.message(11, &SOUND.value("x", 3)).message(12, &SOUND.value("y", 1));
    let opset = Message::default().text(1, "").number(2, 17);
    Message::default().number(1, 8).message(8, &opset).message(7, &graph).0
}

#[test]
fn a_panic_of_the_runtime_is_an_error_without_a_trace() {
    let desk = desk();
    desk.write("net.onnx", slice_of_step_zero());
    let said = desk.refuses(RUN, &["net.onnx: rten cannot run the network", "settings do not fit"]);
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// A network from 3 × 32 × 32 bytes to ten outputs, which knows nothing.
fn of_images() -> Vec<u8> {
    let node = |inputs: &[&str], output: &str, operator: &str| {
        inputs.iter().fold(Message::default(), |m, i| m.text(1, i)).text(2, output).text(4, operator)
    };
    let tensor = |name: &str, rows: u64, columns: u64| {
        let numbers = weights(rows as usize, columns as usize);
        Message::default().number(1, rows).number(1, columns).number(2, 1).text(8, name).bytes(9, &numbers)
    };
    let graph = Message::default()
        .message(1, &node(&["x", "w1"], "a", "MatMul"))
        .message(1, &node(&["a"], "h", "Tanh"))
        .message(1, &node(&["h", "w2"], "y", "MatMul"))
        .message(5, &tensor("w1", 3072, 4))
        .message(5, &tensor("w2", 4, 10))
        .message(11, &SOUND.value("x", 3072))
        .message(12, &SOUND.value("y", 10));
    let opset = Message::default().text(1, "").number(2, 17);
    Message::default().number(1, 8).message(8, &opset).message(7, &graph).0
}

#[test]
fn a_network_at_chance_on_images_is_a_warning_that_names_the_flags() {
    let desk = Desk::new();
    let mut state = 7u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let images: Vec<u8> = (0..300)
        .flat_map(|i| [(i % 10) as u8].into_iter().chain((0..3072).map(|_| byte())).collect::<Vec<_>>())
        .collect();
    desk.write("net.onnx", of_images()).write("images.bin", images);
    let output = desk.ended("features net.onnx images.bin -o f.csv", 0);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("chance is 10.0 %") && said.contains("--scale, --mean and --std"), "{said}");
}
