//! Files that were cut off or changed: an error or a table, never a panic that escapes nor memory out of proportion.

mod seal;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Array2;
use stonet::{ClassInputs, InputKind, Level, RegressionInputs, Side};
use stonet_io::{Error, Head, Model, Reading};
use tempfile::TempDir;

/// Remembers the largest piece of memory that was asked for.
struct Meter;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
/// The fixtures have a few kilobytes.
const MOST: usize = 1 << 26;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static METER: Meter = Meter;

/// Numbers that look random.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

struct Case {
    _dir: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
    /// As the file, with the member that is read.
    named: PathBuf,
    reading: Reading,
}

/// Copies of the fixtures, each with what is read from it.
fn cases() -> Vec<Case> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.iter().filter_map(|f| Case::new(f)).collect()
}

impl Case {
    fn new(file: &Path) -> Option<Self> {
        let name = file.file_name().unwrap().to_str().unwrap();
        let columnar = [".parquet", ".feather", ".arrow"].iter().any(|e| name.ends_with(e));
        let no_table = [".py", ".stonet", ".json"].iter().any(|e| name.ends_with(e));
        if no_table || columnar && !cfg!(feature = "zstd") {
            return None;
        }
        let member = match name {
            "two.npz" | "deflated.npz" => ":features",
            "types.safetensors" => ":float32",
            _ => "",
        };
        let words = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        let reading = match columnar {
            true => Reading {
                text: words(&["word", "kind"]),
                exclude: words(&["large", "note", "gap", "day", "ragged*"]),
                ..Reading::default()
            },
            false => Reading::default(),
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        let named = dir.path().join(format!("{name}{member}"));
        Some(Case { _dir: dir, path, bytes: std::fs::read(file).unwrap(), named, reading })
    }

    /// Reads changed bytes in both ways, which have to agree.
    fn read(&self, bytes: &[u8]) -> Result<(), Error> {
        std::fs::write(&self.path, bytes).unwrap();
        let batches = self.reading.batches(&self.named, 2).and_then(|b| b.collect::<Result<Vec<_>, _>>());
        let whole = self.reading.read(&self.named);
        assert_eq!(batches.is_ok(), whole.is_ok(), "{}: {batches:?} {whole:?}", self.path.display());
        whole.map(|_| ())
    }

    fn check(&self, what: &str, result: &Result<(), Error>) {
        let largest = LARGEST.swap(0, Ordering::Relaxed);
        let path = self.path.display();
        assert!(largest < MOST, "{path}, {what}: {largest} bytes were asked for at once");
        if let Err(e) = result {
            assert!(e.to_string().contains(&*self.path.to_string_lossy()), "{path}, {what}: {e}");
        }
    }
}

#[test]
fn no_truncation_is_taken_for_a_table() {
    for case in cases() {
        let whole = case.read(&case.bytes);
        case.check("whole", &whole);
        let name = case.path.file_name().unwrap().to_str().unwrap();
        let no_table = ["none.npy", "none.parquet", "records.npy", "words.npy"].contains(&name);
        assert_eq!(whole.is_err(), no_table, "{name}: {whole:?}");
        let step = (case.bytes.len() / 150).max(1);
        for keep in (0..case.bytes.len()).step_by(step).chain([case.bytes.len() - 1]) {
            let result = case.read(&case.bytes[..keep]);
            case.check(&format!("cut to {keep}"), &result);
            // A stream may end behind any message, but never without rows nor within a message.
            let is_stream = case.path.ends_with("stream.arrow");
            assert!(result.is_err() || is_stream, "{} cut to {keep} bytes was read", case.path.display());
        }
    }
}

#[test]
fn changed_bytes_are_survived() {
    for case in cases() {
        let mut noise = Noise(case.bytes.len() as u64);
        for round in 0..200 {
            let mut bytes = case.bytes.clone();
            for _ in 0..1 + round % 4 {
                let (place, value) = (noise.below(bytes.len()), noise.below(256) as u8);
                bytes[place] = [value, 0xff, bytes[place] ^ (1 << (value % 8)), 0x7f][noise.below(4)];
            }
            let result = case.read(&bytes);
            case.check(&format!("round {round}"), &result);
        }
    }
}

/// The fixtures that are models.
fn models() -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    ["regression_v1", "classification_v1", "regression_v2", "classification_v2"]
        .map(|n| std::fs::read(dir.join(n).with_extension("stonet")).unwrap())
        .into()
}

#[test]
fn no_piece_of_a_model_is_taken_for_a_model() {
    for bytes in models() {
        for keep in 0..bytes.len() {
            assert!(Model::from_bytes(&bytes[..keep]).is_err(), "cut to {keep} bytes");
        }
        let mut noise = Noise(1);
        for _ in 0..1000 {
            let mut changed = bytes.clone();
            changed[noise.below(bytes.len())] ^= 1 << noise.below(8);
            assert!(Model::from_bytes(&changed).is_err());
        }
        assert!(LARGEST.load(Ordering::Relaxed) < MOST);
    }
}

/// Predicts if it can; what a changed model says is of no interest, only that it says it or fails.
fn survive(model: &Model) {
    let features = Array2::from_elem((3, model.columns.features.len()), 0.5);
    match &model.head {
        Head::Regression(head) => {
            let prediction = Array2::from_elem((3, head.outputs()), 0.5);
            let new = RegressionInputs::new(features.view()).and_then(|new| new.with_prediction(prediction.view()));
            let level = model.level.unwrap_or(Level::new(0.9).unwrap());
            let _ = new.and_then(|new| head.intervals(&new, level, Side::Both));
        }
        Head::Classification(head) => {
            let logits = Array2::from_shape_fn((3, model.columns.logits.len()), |(i, j)| (i + j) as f64);
            let inputs = match model.kind {
                Some(InputKind::Features) => ClassInputs::features(features.view()),
                _ => ClassInputs::logits(logits.view()),
            };
            let _ = inputs.and_then(|inputs| head.probabilities(&inputs));
        }
        Head::Labels(head) => {
            let outputs = Array2::from_shape_fn((3, model.columns.logits.len()), |(i, j)| (i + j) as f64);
            let inputs = stonet::classification::LabelInputs::new(model.kind.unwrap_or_default(), outputs.view());
            let _ = inputs.and_then(|rows| head.probabilities(&rows));
        }
    }
}

#[test]
fn forged_models_are_survived() {
    let mut read = 0;
    for bytes in models() {
        let digits: Vec<usize> = (60..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
        let mut noise = Noise(2);
        for round in 0..3000 {
            let mut changed = bytes.clone();
            for _ in 0..1 + round % 3 {
                // Digits for digits leave a header that can be read and says something else.
                let (place, value) = match round % 2 {
                    0 => (digits[noise.below(digits.len())], b'0' + noise.below(10) as u8),
                    _ => (noise.below(bytes.len()), noise.below(256) as u8),
                };
                changed[place] = value;
            }
            seal::seal(&mut changed);
            if let Ok(model) = Model::from_bytes(&changed) {
                read += 1;
                survive(&model);
            }
            assert!(LARGEST.load(Ordering::Relaxed) < MOST, "round {round}");
        }
    }
    // The checksum alone keeps nothing out: it is right here.
    assert!(read > 1000, "{read}");
}
