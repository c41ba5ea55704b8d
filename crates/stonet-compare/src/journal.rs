//! An append-only file of JSON lines: a header that names the experiment, then one line per finished piece of work.
//!
//! A kill can leave half a last line; it is cut off when the journal is opened again, and its piece of work is redone.

use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stonet::Ticker;
use stonet::base::Work;

use crate::{Error, Result, files};

/// Finished records of type `R`, on disk.
#[derive(Debug)]
pub struct Journal<R> {
    path: PathBuf,
    file: Mutex<File>,
    record: PhantomData<fn(R)>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Header {
    schema: String,
    settings: serde_json::Value,
}

impl<R: Serialize + DeserializeOwned> Journal<R> {
    /// Opens or creates the journal and returns what it already holds. Its header must be of the same schema and
    /// settings, and no other process may have it open.
    pub fn open(path: &Path, schema: &str, settings: serde_json::Value) -> Result<(Self, Vec<R>)> {
        let header = Header { schema: schema.to_owned(), settings };
        let (mut file, text) = files::open_to_append(path)?;
        // Whatever follows the last line end was being written when the process died.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines().enumerate();
        if let Some((_, first)) = lines.next() {
            let found: Header = serde_json::from_str(first).map_err(|e| broken(path, 0, &e))?;
            if found != header {
                return Err(Error::OtherJournal { path: path.to_owned() });
            }
        }
        let records =
            lines.map(|(i, l)| serde_json::from_str(l).map_err(|e| broken(path, i, &e))).collect::<Result<Vec<R>>>()?;
        files::cut(&file, path, whole as u64)?;
        if whole == 0 {
            files::append_line(&mut file, path, &json(&header))?;
        }
        Ok((Journal { path: path.to_owned(), file: Mutex::new(file), record: PhantomData }, records))
    }

    /// Saves one finished piece of work.
    pub fn append(&self, record: &R) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        files::append_line(&mut file, &self.path, &json(record))
    }
}

/// Does every job in parallel and saves each record as soon as it is there; `done` of `total` were finished before. A
/// job is handed a ticker by which it can be cancelled between its steps, whatever it counts.
pub fn complete<J: Send, R: Serialize + DeserializeOwned + Send, E: From<Error> + Send>(
    journal: &Journal<R>,
    jobs: Vec<J>,
    (done, total): (usize, usize),
    tick: Ticker<'_>,
    job: impl Fn(J, Ticker<'_>) -> std::result::Result<R, E> + Sync,
) -> std::result::Result<Vec<R>, E> {
    let work = Work::resumed(done, total, "pieces of work", tick);
    jobs.into_par_iter()
        .map(|one| {
            let record = job(one, &|_, _| work.check().is_ok())?;
            journal.append(&record)?;
            work.advance().map_err(Error::from)?;
            Ok(record)
        })
        .collect()
}

fn broken(path: &Path, index: usize, e: &serde_json::Error) -> Error {
    Error::BrokenJournal { path: path.to_owned(), line: index + 1, reason: e.to_string() }
}

/// JSON of a value whose serialisation cannot fail (plain structs with string keys).
pub fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data serialises")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn settings(seed: u64) -> serde_json::Value {
        serde_json::json!({ "seed": seed })
    }

    #[test]
    fn records_survive_and_half_a_line_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let (journal, old) = Journal::<(u32, f64)>::open(&path, "test/1", settings(1)).unwrap();
        assert!(old.is_empty());
        journal.append(&(1, 0.1)).unwrap();
        journal.append(&(2, 0.25)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        drop(journal);
        fs::write(&path, format!("{text}[3, 0.")).unwrap();
        let (journal, old) = Journal::<(u32, f64)>::open(&path, "test/1", settings(1)).unwrap();
        assert_eq!(old, [(1, 0.1), (2, 0.25)]);
        journal.append(&(3, 0.5)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}[3,0.5]\n"));
    }

    /// Two writers would do all work twice, and the second would cut off what the first appends while it opens.
    #[test]
    fn a_second_writer_is_refused_until_the_first_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let (first, _) = Journal::<u32>::open(&path, "test/1", settings(1)).unwrap();
        first.append(&1).unwrap();
        let e = Journal::<u32>::open(&path, "test/1", settings(1)).unwrap_err();
        assert!(matches!(e, Error::BusyJournal { .. }) && e.to_string().contains("--out"), "{e}");
        first.append(&2).unwrap();
        drop(first);
        assert_eq!(Journal::<u32>::open(&path, "test/1", settings(1)).unwrap().1, [1, 2]);
    }

    #[test]
    fn another_experiment_and_a_broken_line_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        Journal::<u32>::open(&path, "test/1", settings(1)).unwrap();
        let e = Journal::<u32>::open(&path, "test/1", settings(2)).unwrap_err();
        assert!(matches!(e, Error::OtherJournal { .. }), "{e}");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}1\nnonsense\n2\n")).unwrap();
        let e = Journal::<u32>::open(&path, "test/1", settings(1)).unwrap_err();
        assert!(e.to_string().contains("line 3"), "{e}");
    }
}
