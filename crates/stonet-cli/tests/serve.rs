//! `stonet serve` over real connections: the numbers of `predict`, refusals in words, clients that misbehave, and its end.
#![cfg(all(unix, feature = "serve"))]

mod common;

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use common::{Desk, FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};

/// How long an answer is waited for, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server in a process of its own.
struct Served {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    address: String,
}

/// What came back.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    fn message(&self) -> String {
        let body = self.json();
        assert_eq!(body["schema"], "stonet.error/1");
        body["error"]["message"].as_str().unwrap().to_owned()
    }
}

impl Served {
    fn new(desk: &Desk, flags: &str) -> Self {
        let mut command = desk.stonet(&format!("serve {flags} --port 0 --json"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let address = common::address(&mut stdout);
        Served { child, _stdout: stdout, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes as they are, and reads to the end of the connection.
    fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        answer(&self.raw(&[head.as_bytes(), body].concat()))
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", b"")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "Content-Type: application/json\r\n", body.to_string().as_bytes())
    }

    /// Asks the process to end, and returns its exit code.
    fn end(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        let code = self.child.wait().unwrap().code();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        code
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn answer(bytes: &[u8]) -> Answer {
    let end =
        bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: bytes[end + 4..].to_vec() }
}

/// The columns of a file as the body of a request.
fn body(desk: &Desk, file: &str, names: &[&str]) -> Value {
    let columns: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!(desk.column(file, name)))).collect();
    json!({ "columns": columns })
}

fn feature_names(desk: &Desk, file: &str) -> Vec<String> {
    let header = desk.text(file).lines().next().unwrap().to_owned();
    header.split(',').filter(|n| n.starts_with('f') || *n == "prediction").map(str::to_owned).collect()
}

fn numbers(answer: &Value, column: &str) -> Vec<f64> {
    answer["columns"][column].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn numbers_are_those_of_predict_bit_by_bit() {
    let desk = with_houses(600);
    desk.run(FIT_HOUSES);
    desk.run("predict head.stonet test.csv -o out.csv --level 0.8,0.95 --quantiles 0.05");
    let served = Served::new(&desk, "head.stonet");
    let names = feature_names(&desk, "test.csv");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let answer = served.post("/predict?level=0.8,0.95&quantiles=0.05", &body(&desk, "test.csv", &names));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let answer = answer.json();
    for column in ["prediction", "lower_80", "upper_80", "lower_95", "upper_95", "q05"] {
        assert_eq!(numbers(&answer, column), desk.column("out.csv", column), "{column}");
    }
    // Row by row, in any order of the columns, and one row alone.
    let first = |name: &&str| ((*name).to_owned(), json!(desk.column("test.csv", name)[0]));
    let row: serde_json::Map<String, Value> = names.iter().rev().map(first).collect();
    let one = served.post("/predict?level=0.8", &json!({ "rows": [row] })).json();
    assert_eq!(numbers(&one, "upper_80")[0], desk.column("out.csv", "upper_80")[0]);
    // An Arrow stream, and an answer in JSON or as a stream.
    desk.run("predict head.stonet test.csv -o out.arrow --level 0.8,0.95 --quantiles 0.05");
    let stream = stream_of(&desk, "test.csv", &names);
    let arrow = "Content-Type: application/vnd.apache.arrow.stream\r\n";
    let told = served.send("POST", "/predict", &format!("{arrow}Accept: application/json\r\n"), &stream).json();
    assert_eq!(numbers(&told, "prediction"), desk.column("out.csv", "prediction"));
    let streamed = served.send("POST", "/predict?level=0.8,0.95&quantiles=0.05", arrow, &stream);
    assert!(streamed.head.contains("content-type: application/vnd.apache.arrow.stream"), "{}", streamed.head);
    desk.write("streamed.arrow", &streamed.body);
    for column in ["prediction", "lower_95", "q05"] {
        assert_eq!(desk.column("streamed.arrow", column), desk.column("out.arrow", column));
    }
    assert_eq!(served.end("TERM"), Some(0));
}

/// The columns of a file as the bytes of an Arrow file in the form of a stream.
fn stream_of(desk: &Desk, file: &str, names: &[&str]) -> Vec<u8> {
    let columns = names.iter().map(|name| (*name, desk.column(file, name)));
    written(columns, arrow_ipc::writer::IpcWriteOptions::default())
}

/// Columns as the bytes of an Arrow file in the form of a stream.
fn written<'a>(
    columns: impl IntoIterator<Item = (&'a str, Vec<f64>)>,
    options: arrow_ipc::writer::IpcWriteOptions,
) -> Vec<u8> {
    let column = |(name, values)| {
        let values = arrow_array::Float64Array::from(values);
        (name, std::sync::Arc::new(values) as arrow_array::ArrayRef)
    };
    let batch = arrow_array::RecordBatch::try_from_iter(columns.into_iter().map(column)).unwrap();
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_body_that_unfolds_to_far_more_than_its_size_is_refused() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    let served = Served::new(&desk, "head.stonet");
    let names = feature_names(&desk, "test.csv");
    let packed = |value: &dyn Fn(usize) -> f64, rows: usize| {
        let options = arrow_ipc::writer::IpcWriteOptions::default();
        let options = options.try_with_compression(Some(arrow_ipc::CompressionType::LZ4_FRAME)).unwrap();
        written(names.iter().map(|name| (&name[..], (0..rows).map(value).collect())), options)
    };
    let arrow = "Content-Type: application/vnd.apache.arrow.stream\r\nAccept: application/json\r\n";
    // Equal numbers, which take far less than a byte each.
    let bomb = packed(&|_| 0.0, 200_000);
    let unfolded = 200_000 * 8 * names.len();
    assert!(bomb.len() * 64 < unfolded, "{} bytes for {unfolded}", bomb.len());
    let answer = served.send("POST", "/predict", arrow, &bomb);
    let message = answer.message();
    assert_eq!(answer.status, 422, "{message}");
    assert!(message.contains("request body") && message.contains("unfold to more than is allowed"), "{message}");
    // A compressed body of rows as they are is answered.
    let fair = served.send("POST", "/predict", arrow, &packed(&|row| (row as f64 * 0.37).sin(), 300));
    assert_eq!(fair.status, 200, "{}", String::from_utf8_lossy(&fair.body));
    assert_eq!(numbers(&fair.json(), "prediction").len(), 300);
    assert_eq!(served.end("TERM"), Some(0));
}

#[test]
fn a_network_in_front_takes_its_own_inputs() {
    let desk = with_houses(600);
    desk.run(FIT_HOUSES);
    desk.run("predict head.stonet test.csv -o out.csv");
    let served = Served::new(&desk, "head.stonet --network net.onnx");
    let answer = served.post("/predict", &body(&desk, "new.csv", &["size", "age", "rooms"])).json();
    let apart = common::apart(&numbers(&answer, "upper_90"), &desk.column("out.csv", "upper_90"));
    // Features in a file of text have been rounded to single precision, as the network gives them.
    assert!(apart < 1e-6, "{apart}");
    let columns = served.get("/health").json()["columns"].clone();
    assert_eq!(columns, json!(["size", "age", "rooms"]));
}

#[test]
fn classes_and_their_sets_come_as_their_labels() {
    let desk = with_animals(600);
    desk.run(&format!("{FIT_ANIMALS} --sets split"));
    let served = Served::new(&desk, "head.stonet");
    let names = ["z0", "z1", "z2"];
    let answer = served.post("/predict?sets=text&level=0.9", &body(&desk, "test.parquet", &names));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let answer = answer.json();
    assert!(["cat", "dog", "owl, snowy"].contains(&answer["columns"]["class"][0].as_str().unwrap()));
    desk.run("predict head.stonet test.parquet --sets --level 0.9 -o out.csv");
    assert_eq!(numbers(&answer, "p_cat"), desk.column("out.csv", "p_cat"));
    assert!(answer["columns"]["set"][0].is_string());
}

/// Method, path, headers and body of a request, the status of its answer, and words of its message.
type Case<'a> = (&'a str, &'a str, &'a str, &'a [u8], u16, &'a [&'a str]);

#[test]
fn what_is_wrong_is_said_with_its_status() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    let served = Served::new(&desk, "head.stonet --max-body 1 --timeout 2");
    let json = "Content-Type: application/json\r\n";
    let cases: [Case<'_>; 12] = [
        ("POST", "/predict", json, b"{", 400, &["JSON of rows"]),
        ("POST", "/predict", json, b"\xff\xfe", 400, &["JSON of rows"]),
        ("POST", "/predict", json, br#"{"rows": [{"f0": 1}]}"#, 422, &["request body", "f1"]),
        ("POST", "/predict", json, br#"{"rows": [{"f0": "x"}]}"#, 422, &["f"]),
        ("POST", "/predict?level=90", json, b"{}", 400, &["parameter level", "between 0 and 1"]),
        ("POST", "/predict?sets=text", json, br#"{"rows": []}"#, 422, &["sets"]),
        ("POST", "/predict?what=1", json, b"{}", 400, &["parameter what", "there are level"]),
        ("POST", "/predict", "Content-Type: text/csv\r\n", b"f0\n1\n", 415, &["text/csv", "application/json"]),
        ("POST", "/predict", "", b"{}", 415, &["none"]),
        (
            "POST",
            "/predict",
            "Content-Type: application/vnd.apache.arrow.stream\r\n",
            b"nonsense",
            422,
            &["request body"],
        ),
        ("GET", "/predict", "", b"", 405, &["POST"]),
        ("GET", "/nothing", "", b"", 404, &["/predict", "/metrics"]),
    ];
    for (method, path, headers, body, status, words) in cases {
        let answer = served.send(method, path, headers, body);
        let message = answer.message();
        assert_eq!(answer.status, status, "{method} {path}: {message}");
        words.iter().for_each(|w| assert!(message.contains(w), "{method} {path}: no `{w}` in {message}"));
    }
    // Two bytes more than the largest body; announced or not.
    let large = vec![b' '; (1 << 20) + 2];
    assert_eq!(served.send("POST", "/predict", json, &large).status, 413);
    // A body that stops in its middle.
    let slow = served
        .raw(format!("POST /predict HTTP/1.1\r\nHost: here\r\n{json}Content-Length: 100\r\n\r\n{{\"rows\"").as_bytes());
    let slow = answer(&slow);
    assert_eq!((slow.status, slow.message().contains("did not arrive within 2 s")), (408, true));
    // Nothing of HTTP, and a client that goes away in the middle.
    served.raw(&[0, 159, 146, 150, b'\r', b'\n', b'\r', b'\n']);
    let mut gone = served.connect();
    gone.write_all(format!("POST /predict HTTP/1.1\r\nHost: here\r\n{json}Content-Length: 100\r\n\r\n{{").as_bytes())
        .unwrap();
    gone.shutdown(Shutdown::Both).unwrap();
    let told = served.get("/metrics");
    let text = String::from_utf8(told.body.clone()).unwrap();
    assert!(text.contains("stonet_requests_total{path=\"/predict\",status=\"422\"}"), "{text}");
    assert_eq!(served.get("/health").json()["status"], "ok");
    let described = served.get("/openapi.json").json();
    assert!(described["components"]["schemas"]["Rows"].to_string().contains("f0"));
    assert_eq!(served.end("INT"), Some(0));
}

#[test]
fn connections_beyond_the_limit_wait_and_empty_bodies_have_no_rows() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    let served = Served::new(&desk, "head.stonet --connections 1");
    let held = served.connect();
    let mut waiting = served.connect();
    waiting.write_all(b"GET /health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    waiting.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(waiting.read(&mut [0; 1]).is_err());
    drop(held);
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = Vec::new();
    waiting.read_to_end(&mut bytes).unwrap();
    assert_eq!(answer(&bytes).status, 200);
    let none = served.post("/predict", &json!({ "rows": [] })).json();
    assert_eq!((none["rows"].clone(), none["columns"]["prediction"].clone()), (json!(0), json!([])));
}

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    let mut served = Served::new(&desk, "head.stonet");
    let names = feature_names(&desk, "test.csv");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = body(&desk, "test.csv", &names).to_string();
    let mut stream = served.connect();
    let head = format!(
        "POST /predict HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    let (first, rest) = text.as_bytes().split_at(text.len() / 2);
    stream.write_all(&[head.as_bytes(), first].concat()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    served.signal("TERM");
    std::thread::sleep(Duration::from_millis(800));
    assert!(served.child.try_wait().unwrap().is_none(), "the server left a request under way");
    stream.write_all(rest).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(answer(&bytes).status, 200);
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    // Nobody listens any more.
    assert!(TcpStream::connect(&served.address).is_err());
}

#[test]
fn a_port_in_use_and_a_head_that_is_none_are_refused() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    desk.refuses(&format!("serve head.stonet --port {port}"), &["--port", "choose another port"]);
    desk.refuses("serve nothing.stonet", &["nothing.stonet"]);
    desk.refuses("serve head.stonet --network nothing.onnx", &["nothing.onnx"]);
}

/// Rows for the monitor's tests: three features and a prediction; a broken sensor gives 0 for f1.
fn sensor_rows(count: usize, seed: u64, broken: bool) -> String {
    let (mut z, mut text) = (common::normal(seed), String::from("f0,f1,f2,prediction,y\n"));
    for _ in 0..count {
        let [a, b, c] = [z(), z(), z()];
        let y = a - b + 0.5 * z();
        let b = if broken { 0.0 } else { b };
        text += &format!("{a},{b},{c},{},{y}\n", a - b);
    }
    text
}

fn sensors() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", sensor_rows(400, 1, false)).write("same.csv", sensor_rows(600, 2, false));
    desk.write("broken.csv", sensor_rows(900, 3, true));
    desk.run(
        "fit val.csv --task regression --interval fast --inputs f* --prediction prediction --target y -o head.stonet",
    );
    desk
}

const SENSORS: [&str; 4] = ["f0", "f1", "f2", "prediction"];

/// A number of `/metrics`, once it has a value: the monitor looks at rows after they are answered.
fn metric(served: &Served, name: &str, wanted: impl Fn(f64) -> bool) -> f64 {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let text = String::from_utf8(served.get("/metrics").body).unwrap();
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        let value: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        if wanted(value) {
            return value;
        }
        assert!(std::time::Instant::now() < deadline, "{line}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_monitor_sees_every_row_and_its_state_is_that_of_the_command() {
    let desk = sensors();
    let served = Served::new(&desk, "head.stonet --monitor --state served.json");
    assert_eq!(served.get("/health").json()["monitored"], true);
    let answer = served.post("/predict", &body(&desk, "same.csv", &SENSORS));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    metric(&served, "stonet_monitor_rows", |rows| rows == 600.0);
    assert_eq!(metric(&served, "stonet_monitor_alarm", |_| true), 0.0);
    assert_eq!(served.end("TERM"), Some(0));
    // The command's state over the same rows is the same file.
    desk.ended("monitor head.stonet same.csv --unlabelled --state command.json", 0);
    assert_eq!(desk.text("served.json"), desk.text("command.json"));
    // The next run goes on and finds the broken sensor; nobody else goes on with the state meanwhile.
    let served = Served::new(&desk, "head.stonet --monitor --state served.json");
    metric(&served, "stonet_monitor_rows", |rows| rows == 600.0);
    desk.refuses("monitor head.stonet same.csv --unlabelled --state served.json", &["served.json", "another process"]);
    desk.refuses("serve head.stonet --monitor --state served.json --port 0", &["served.json", "another process"]);
    served.post("/predict", &body(&desk, "broken.csv", &SENSORS));
    metric(&served, "stonet_monitor_alarm", |alarm| alarm == 1.0);
    let evidence = metric(&served, "stonet_monitor_log10_evidence{quantity=\"columns\"}", |_| true);
    let threshold = metric(&served, "stonet_monitor_log10_threshold{quantity=\"columns\"}", |_| true);
    assert!(evidence > threshold, "{evidence} {threshold}");
    assert_eq!(metric(&served, "stonet_monitor_refused_batches_total", |_| true), 0.0);
    assert_eq!(served.end("INT"), Some(0));
    let state: Value = serde_json::from_str(&desk.text("served.json")).unwrap();
    assert_eq!(state["monitor"]["rows"], 1500);
}

/// The request to end is the ordinary end of a server: that its state could not be written is an error, not a stop.
#[test]
fn a_state_that_cannot_be_written_at_the_end_is_an_error() {
    let desk = sensors();
    let folder = desk.at("gone");
    std::fs::create_dir(&folder).unwrap();
    let served = Served::new(&desk, "head.stonet --monitor --state gone/served.json");
    assert_eq!(served.post("/predict", &body(&desk, "same.csv", &SENSORS)).status, 200);
    metric(&served, "stonet_monitor_rows", |rows| rows == 600.0);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(served.end("TERM"), Some(2));
}

#[test]
fn a_monitor_wants_all_columns_and_its_own_state_and_failed_requests_are_not_shown() {
    let desk = sensors();
    desk.refuses("serve head.stonet --state s.json", &["--monitor"]);
    desk.write("s.json", "{}");
    desk.refuses("serve head.stonet --monitor --state s.json", &["s.json"]);
    desk.refuses("serve head.stonet --monitor --state head.stonet", &["head.stonet"]);
    desk.run("fit val.csv --task regression --interval fast --inputs f* --target y -o other.stonet");
    desk.ended("monitor other.stonet same.csv --unlabelled --state o.json", 0);
    desk.refuses("serve head.stonet --monitor --state o.json", &["another head"]);
    let served = Served::new(&desk, "head.stonet --monitor");
    let without = served.post("/predict", &body(&desk, "same.csv", &["f0", "f1", "prediction"]));
    assert_eq!(without.status, 422);
    assert!(without.message().contains("f2"), "{}", without.message());
    let row = json!({ "rows": [{ "f0": 1.0, "f1": 0.0, "f2": null, "prediction": 1.0 }] });
    assert_eq!(served.post("/predict", &row).status, 422);
    served.post("/predict", &body(&desk, "same.csv", &SENSORS));
    metric(&served, "stonet_monitor_rows", |rows| rows == 600.0);
    assert_eq!(served.end("TERM"), Some(0));
}
