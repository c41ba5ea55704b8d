//! Archives of numpy arrays (`.npz`), of which one is read: `data.npz:features`.

use std::io::Read;

use crate::array::{self, Values};
use crate::location::Location;
use crate::pattern::{list, nearest};
use crate::pieces::Opened;
use crate::reading::Ask;
use crate::zip::{self, Member};
use crate::{Problem, Result, memory, npy};

/// Opens the array that the path names, or the only one.
pub(crate) fn open(at: &Location, ask: &Ask<'_>) -> Result<Opened> {
    let members = zip::members(at)?;
    let names: Vec<String> = members.iter().map(|m| plain(m).to_owned()).collect();
    let member = &members[choose(at, &names)?];
    let mut contents = zip::open(at, member)?;
    let (layout, start) = npy::header(at, &mut contents)?;
    npy::check_length(at, &layout, member.size - start.min(member.size))?;
    let values = match layout.fortran {
        // Columns are taken from everywhere, so the whole array has to be unpacked. The directory has been checked
        // against the length of the file, and memory grows with what comes.
        true => {
            memory::check(&at.path, layout.shape.first().map_or(0, |&n| n as u64), member.size, memory::limit())?;
            let mut bytes = Vec::new();
            contents.read_to_end(&mut bytes).map_err(|e| at.damaged(e))?;
            Values::Random(npy::in_memory(bytes))
        }
        false => Values::Stream(Box::new(contents)),
    };
    array::open(&at.path, at.format.name(), layout, values, ask)
}

/// numpy puts an ending behind the name of each array.
fn plain(member: &Member) -> &str {
    member.name.strip_suffix(".npy").unwrap_or(&member.name)
}

/// The place of the array that was asked for.
pub(crate) fn choose(at: &Location, names: &[String]) -> Result<usize> {
    match (&at.member, names) {
        (_, []) => Err(at.damaged("there is no array in it")),
        (Some(wanted), _) => names.iter().position(|n| n == wanted).ok_or_else(|| {
            Problem::NoMember { member: wanted.clone(), known: nearest(wanted, names) }.of(at.file.clone())
        }),
        (None, [_]) => Ok(0),
        (None, [first, ..]) => Err(Problem::SeveralMembers {
            first: format!("{}:{first}", at.file.display()),
            known: list(names.iter().map(String::as_str)),
        }
        .of(at.file.clone())),
    }
}
