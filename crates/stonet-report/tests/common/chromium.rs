//! A headless browser that looks at pages, with a time limit.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Chromium {
    program: PathBuf,
    folder: PathBuf,
}

/// What came of one run.
pub struct Seen {
    pub stdout: String,
    pub stderr: String,
}

/// A decoded screenshot.
pub struct Picture {
    pub width: u32,
    pub height: u32,
    /// Three bytes per pixel.
    pub pixels: Vec<[u8; 3]>,
}

impl Chromium {
    /// The first browser on the PATH; its files go into `folder`.
    pub fn find(folder: &Path) -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let program = std::env::split_paths(&path)
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|program| program.is_file())?;
        Some(Chromium { program, folder: folder.to_owned() })
    }

    /// Loads a page and waits for the end of the browser; output goes through files, so that no pipe can fill up.
    pub fn run(&self, arguments: &[&str], page: &Path) -> Seen {
        let (out, err) = (self.folder.join("stdout"), self.folder.join("stderr"));
        let file = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
        let mut child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .args([
                "--enable-logging=stderr",
                "--no-first-run",
                "--disable-extensions",
                "--disable-background-networking",
            ])
            .arg(format!("--user-data-dir={}", self.folder.join("profile").display()))
            .args(arguments)
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn()
            .unwrap();
        let finished = wait(&mut child);
        let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let seen = Seen { stdout: text(&out), stderr: text(&err) };
        assert!(finished, "the browser did not finish within {LIMIT:?}:\n{}", seen.stderr);
        seen
    }

    /// The page as it looks in a window of this size.
    pub fn screenshot(&self, page: &Path, (width, height): (u32, u32), dark: bool, to: &Path) -> Picture {
        let scheme = format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 });
        let size = format!("--window-size={width},{height}");
        self.run(&[&scheme, &size, &format!("--screenshot={}", to.display())], page);
        decode(to)
    }
}

impl Seen {
    /// What the page wrote to the console, errors among it.
    pub fn console(&self) -> Vec<&str> {
        self.stderr.lines().filter(|l| l.contains("CONSOLE")).collect()
    }
}

/// Whether it ended in time; if not it is ended.
fn wait(child: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

/// A PNG as browsers write it: eight bits, RGB or RGBA, not interlaced; anything else fails.
fn decode(path: &Path) -> Picture {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{}", path.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let (width, height) = (number(16), number(20));
    // Depth, colour type, compression, filter, interlacing.
    let kind = &bytes[24..29];
    assert!(kind[0] == 8 && matches!(kind[1], 2 | 6) && kind[4] == 0, "{kind:?}");
    let channels = if kind[1] == 6 { 4 } else { 3 };
    let (mut packed, mut at) = (Vec::new(), 8);
    while at + 12 <= bytes.len() {
        let length = number(at) as usize;
        if &bytes[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&bytes[at + 8..at + 8 + length]);
        }
        at += 12 + length;
    }
    let mut lines = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut lines).unwrap();
    let stride = width as usize * channels;
    assert_eq!(lines.len(), (stride + 1) * height as usize);
    let mut above = vec![0; stride];
    let mut pixels = Vec::new();
    for line in lines.chunks_exact(stride + 1) {
        above = unfilter(line[0], &line[1..], &above, channels);
        pixels.extend(above.chunks_exact(channels).map(|p| [p[0], p[1], p[2]]));
    }
    Picture { width, height, pixels }
}

/// A line of a PNG from its differences to the pixels to the left and above.
fn unfilter(filter: u8, line: &[u8], above: &[u8], channels: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(line.len());
    for (i, &difference) in line.iter().enumerate() {
        let before = |row: &[u8]| if i < channels { 0 } else { row[i - channels] };
        let (left, up, corner) = (before(&out), above[i], before(above));
        let guess = match filter {
            0 => 0,
            1 => left,
            2 => up,
            3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
            4 => paeth(left, up, corner),
            _ => panic!("no filter {filter}"),
        };
        out.push(difference.wrapping_add(guess));
    }
    out
}

/// Whichever of the three neighbours is nearest to left + up − corner.
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, up, corner].map(i16::from);
    let distance = |v: i16| (a + b - c - v).abs();
    if distance(a) <= distance(b) && distance(a) <= distance(c) {
        left
    } else if distance(b) <= distance(c) {
        up
    } else {
        corner
    }
}

impl Picture {
    /// Different colours.
    pub fn colours(&self) -> usize {
        self.pixels.iter().collect::<std::collections::HashSet<_>>().len()
    }

    /// Mean brightness, from 0 to 1.
    pub fn brightness(&self) -> f64 {
        let sum: u64 = self.pixels.iter().flatten().map(|b| u64::from(*b)).sum();
        sum as f64 / (765.0 * self.pixels.len() as f64)
    }
}
