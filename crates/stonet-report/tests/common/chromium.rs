//! A headless browser that looks at pages, with a time limit.

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

fn decode(path: &Path) -> Picture {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let channels = info.color_type.samples();
    assert!(channels >= 3 && info.bit_depth == png::BitDepth::Eight, "{info:?}");
    let pixels = bytes[..info.buffer_size()].chunks_exact(channels).map(|p| [p[0], p[1], p[2]]).collect();
    Picture { width: info.width, height: info.height, pixels }
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
