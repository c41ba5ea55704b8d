//! Files that were cut off or changed: an error or a table, never a panic that escapes nor memory out of proportion.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use stonet_io::{Error, Reading};
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
        if name.ends_with(".py") || columnar && !cfg!(feature = "zstd") {
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
