//! `stonet doctor`: what this program and this machine have, for bug reports.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};
use stonet::base::most_threads;

use crate::console::Console;
use crate::error::Result;

/// Show what is here: version, threads, instruction sets, onnxruntime, Python
///
/// Nothing is changed and nothing is fetched. Python is started once, to ask for its version and packages.
#[derive(Args)]
#[command(after_help = "Examples:\n  stonet doctor\n  stonet doctor --json")]
pub struct Doctor {}

/// What `doctor --json` prints.
#[derive(Serialize)]
struct Found {
    schema: &'static str,
    version: &'static str,
    system: &'static str,
    architecture: &'static str,
    /// Parts of the program that are chosen when it is built.
    features: Vec<&'static str>,
    /// Threads that are used unless --jobs says otherwise, and the most that --jobs takes.
    threads: usize,
    most_threads: usize,
    /// Vector instructions of the processor, among those that the program can use.
    instruction_sets: Vec<&'static str>,
    onnxruntime: Onnxruntime,
    python: Option<Python>,
}

#[derive(Serialize)]
struct Onnxruntime {
    /// Whether ORT_DYLIB_PATH names a file.
    usable: bool,
    /// What ORT_DYLIB_PATH says.
    named: Option<PathBuf>,
    /// A library that Python has, where the variable names none.
    installed: Option<PathBuf>,
}

/// What Python says about itself.
#[derive(Serialize, Deserialize)]
struct Python {
    version: String,
    executable: String,
    /// Versions of packages that matter here; none for those that are not installed.
    packages: std::collections::BTreeMap<String, Option<String>>,
    #[serde(default, skip_serializing)]
    onnxruntime: Option<PathBuf>,
}

/// How long Python may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks packages up without importing them.
const QUESTION: &str = r#"
import glob, importlib.metadata as m, importlib.util as u, json, os, sys
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return None
names = ["stonet", "numpy", "scikit-learn", "torch", "onnxruntime", "pyspark", "ray"]
spec = u.find_spec("onnxruntime")
folder = os.path.join(os.path.dirname(spec.origin), "capi") if spec and spec.origin else None
endings = ("libonnxruntime.so*", "libonnxruntime*.dylib", "onnxruntime.dll")
found = [p for e in endings for p in sorted(glob.glob(os.path.join(folder, e)))] if folder else []
print(json.dumps({"version": sys.version.split()[0], "executable": sys.executable,
                  "packages": {n: version(n) for n in names}, "onnxruntime": found[0] if found else None}))
"#;

impl Doctor {
    pub fn run(self, console: &Console) -> Result<()> {
        // The Python package runs this inside of its interpreter, which is the one to ask.
        let this = std::env::current_exe()
            .ok()
            .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python")));
        let python = this.into_iter().chain(["python3".into(), "python".into()]).find_map(|program| ask(&program));
        let named = std::env::var_os("ORT_DYLIB_PATH").filter(|p| !p.is_empty()).map(PathBuf::from);
        let onnxruntime = Onnxruntime {
            usable: named.as_ref().is_some_and(|p| p.is_file()),
            named,
            installed: python.as_ref().and_then(|p| p.onnxruntime.clone()),
        };
        let found = Found {
            schema: "stonet.doctor/1",
            version: env!("CARGO_PKG_VERSION"),
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            features: features(),
            threads: console.compute(|| Ok(rayon::current_num_threads()))?,
            most_threads: most_threads(),
            instruction_sets: instruction_sets(),
            onnxruntime,
            python,
        };
        console.result(&found, || found.text())?;
        console.next("stonet demo --quick");
        Ok(())
    }
}

fn features() -> Vec<&'static str> {
    let all = [("reproduce", cfg!(feature = "reproduce")), ("serve", cfg!(feature = "serve"))];
    all.into_iter().filter(|(_, here)| *here).map(|(name, _)| name).collect()
}

fn instruction_sets() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let all = [
            ("avx2", has!("avx2")),
            ("fma", has!("fma")),
            ("avx512f", has!("avx512f")),
            ("avx512vl", has!("avx512vl")),
            ("avx512dq", has!("avx512dq")),
            ("avx512bw", has!("avx512bw")),
        ];
        all.into_iter().filter(|(_, here)| *here).map(|(name, _)| name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// Starts an interpreter and asks it; none where it is not there, does not answer, or takes too long.
fn ask(program: &Path) -> Option<Python> {
    let command = Command::new(program)
        .args(["-I", "-c", QUESTION])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = command.ok()?;
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let output = child.wait_with_output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

impl Onnxruntime {
    fn text(&self) -> String {
        match (&self.named, &self.installed) {
            (Some(path), _) if self.usable => format!("{} (--runtime onnxruntime)", path.display()),
            (Some(path), _) => format!("ORT_DYLIB_PATH is {}, and there is no such file", path.display()),
            (None, Some(path)) => format!("not named yet: export ORT_DYLIB_PATH={}", path.display()),
            (None, None) => "not found, and not needed: networks run on the runtime that is built in.\n\
                             For --runtime onnxruntime: pip install onnxruntime, then run this again"
                .into(),
        }
    }
}

impl Found {
    fn text(&self) -> String {
        let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let python = self.python.as_ref().map_or("not found".to_owned(), |p| {
            let one = |(name, version): (&String, &Option<String>)| version.as_ref().map(|v| format!("{name} {v}"));
            let packages: Vec<String> = p.packages.iter().filter_map(one).collect();
            let stonet = if p.packages.get("stonet").is_some_and(Option::is_some) { "" } else { "; no package stonet" };
            format!("{}, {}{stonet}\n{}", p.version, p.executable, packages.join(", "))
        });
        let lines = [
            ("stonet", format!("{}, {} {}", self.version, self.system, self.architecture)),
            ("features", listed(&self.features)),
            ("threads", format!("{} (--jobs takes at most {})", self.threads, self.most_threads)),
            ("vectors", listed(&self.instruction_sets)),
            ("onnxruntime", self.onnxruntime.text()),
            ("python", python),
        ];
        let line = |(name, text): &(&str, String)| {
            let text = text.trim_end().replace('\n', "\n             ");
            format!("{name:13}{text}\n")
        };
        lines.iter().map(line).collect()
    }
}
