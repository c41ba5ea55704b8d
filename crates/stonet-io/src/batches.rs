//! A file as a sequence of tables of a limited number of rows, so that files larger than memory can be read.

use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use stonet::base::stage;

use crate::pieces::Opened;
use crate::{Dropping, Result, Table, memory};

/// Batches that wait for whoever uses them.
const WAITING: usize = 2;

/// Tables with the same columns and at most so many rows; made by [`Reading::batches`](crate::Reading::batches).
///
/// Memory is that of one table, and of one row group or record batch where the file comes in such. After an error there
/// is nothing more. A file without rows is an error, as it is for [`read`](crate::read).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("rows.csv");
/// # std::fs::write(&path, "x,y\n1,10\n2,20\n3,30\n")?;
/// use stonet_io::Reading;
/// let mut sum = 0.0;
/// for table in Reading::default().batches(&path, 2)? {
///     sum += table?.column("y")?.sum(); // rows 1 and 2, then row 3
/// }
/// assert_eq!(sum, 60.0);
/// # Ok(())
/// # }
/// ```
pub struct Batches {
    opened: Opened,
    most: usize,
    done: bool,
    /// Rows so far, the bytes that stay of each, and how many bytes may stay.
    kept: Option<(u64, u64, u64)>,
}

impl Batches {
    pub(crate) fn new(opened: Opened, most: usize) -> Self {
        Batches { opened, most: most.max(1), done: false, kept: None }
    }

    /// The same for a reader who keeps so many bytes of every row: an error where the rows are too many for the memory.
    pub fn keeping(self, bytes_per_row: u64) -> Self {
        Batches { kept: Some((0, bytes_per_row, memory::limit())), ..self }
    }

    fn check_kept(&mut self, table: &Table) -> Result<()> {
        let Some((rows, bytes, limit)) = &mut self.kept else { return Ok(()) };
        *rows += table.rows() as u64;
        memory::check(self.opened.source(), *rows, rows.saturating_mul(*bytes), *limit)
    }

    /// The file that is read.
    pub fn source(&self) -> &Path {
        self.opened.source()
    }

    /// The names of the columns of numbers, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.opened.numbers
    }

    /// The names of the columns of text, in the order of the file.
    pub fn text_names(&self) -> &[String] {
        &self.opened.texts
    }

    /// How many rows there are in all, if the file tells: for a progress bar, not for an allocation.
    pub fn rows(&self) -> Option<u64> {
        self.opened.rows()
    }

    /// Columns of row numbers, which are not read since nobody named them.
    pub fn left_out(&self) -> &[String] {
        &self.opened.left_out
    }

    /// The count of rows that are left out for missing values, which grows while batches are read.
    pub fn dropping(&self) -> Dropping {
        self.opened.dropping()
    }

    /// The axes of a row, if the file (the first of several side by side) is an array: its columns are the values in C
    /// order.
    pub fn row_shape(&self) -> Option<&[usize]> {
        self.opened.row_shape()
    }
}

/// Batches that a thread of its own reads while others are in use; made by [`Batches::ahead`].
pub struct Ahead {
    tables: Receiver<Result<Table>>,
    thread: Option<JoinHandle<()>>,
}

impl Batches {
    /// The same tables, read in a thread of its own: a few of them wait, so that memory is that of a handful. The
    /// thread ends with the iterator.
    pub fn ahead(self) -> Ahead {
        let (sender, tables) = sync_channel(WAITING);
        let read = move || {
            // Nobody waits for more once the iterator is gone.
            for table in self {
                if sender.send(table).is_err() {
                    return;
                }
            }
        };
        Ahead { tables, thread: Some(thread::spawn(read)) }
    }
}

impl Iterator for Ahead {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.tables.recv().ok();
        if next.is_none()
            && let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
        {
            // Rows that a panic cut off must not look like the end of the file.
            std::panic::resume_unwind(panic);
        }
        next
    }
}

impl Iterator for Batches {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = stage("reading", || self.opened.next(self.most)).transpose();
        let next = next.map(|table| table.and_then(|table| self.check_kept(&table).map(|()| table)));
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
