//! Flags that take numbers: negative ones are values, not flags, and what is no such number is refused in plain words.

use std::any::TypeId;

use clap::builder::ValueParser;
use clap::{Arg, Command};

/// The command with every numeric flag, those of subcommands included, open to negative numbers.
pub fn negative_allowed(command: Command) -> Command {
    command.mut_args(numeric).mut_subcommands(negative_allowed)
}

fn numeric(arg: Arg) -> Arg {
    if arg.get_long().is_none() || !arg.get_action().takes_values() {
        return arg;
    }
    let of = arg.get_value_parser().type_id();
    let is = |id: TypeId| of == id;
    let (whole, small) = (is(TypeId::of::<u64>()), is(TypeId::of::<usize>()));
    if !(whole || small || is(TypeId::of::<f64>()) || is(TypeId::of::<f32>())) {
        return arg;
    }
    // A list such as -1,2 is no number, so its hyphen needs the wider permission.
    let arg = if arg.get_value_delimiter().is_some() {
        arg.allow_hyphen_values(true)
    } else {
        arg.allow_negative_numbers(true)
    };
    if whole {
        return arg.value_parser(ValueParser::new(|text: &str| count::<u64>(text)));
    }
    if small {
        return arg.value_parser(ValueParser::new(|text: &str| count::<usize>(text)));
    }
    arg
}

fn count<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| "it must be a whole number, 0 or more".to_owned())
}
