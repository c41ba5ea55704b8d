//! The Protocol Buffers wire format: tagged fields, read without copies and written; unknown fields are kept as they
//! are.

/// Why bytes are not a message.
pub(crate) type Broken = &'static str;

/// A field's content, by its type on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Content<'a> {
    Number(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
    Four([u8; 4]),
}

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Field<'a> {
    pub number: u64,
    pub content: Content<'a>,
    /// Tag and content as they stand in the file.
    pub raw: &'a [u8],
}

impl<'a> Field<'a> {
    /// A number; signed ones are stored as their two's complement.
    pub(crate) fn number(&self) -> Result<i64, Broken> {
        match self.content {
            Content::Number(v) => Ok(v as i64),
            _ => Err("a number is stored as something else"),
        }
    }

    pub(crate) fn bytes(&self) -> Result<&'a [u8], Broken> {
        match self.content {
            Content::Bytes(b) => Ok(b),
            _ => Err("a message or a text is stored as a number"),
        }
    }

    pub(crate) fn text(&self) -> Result<String, Broken> {
        std::str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| "a text is not UTF-8")
    }

    /// The numbers of a repeated field: one, or several packed together.
    pub(crate) fn numbers(&self) -> Result<Vec<i64>, Broken> {
        match self.content {
            Content::Number(v) => Ok(vec![v as i64]),
            Content::Bytes(mut rest) => {
                let mut all = Vec::new();
                while !rest.is_empty() {
                    all.push(varint(&mut rest)? as i64);
                }
                Ok(all)
            }
            _ => Err("a list of numbers is stored as something else"),
        }
    }
}

/// The fields of a message in the order of the file.
pub(crate) struct Fields<'a>(&'a [u8]);

pub(crate) fn fields(message: &[u8]) -> Fields<'_> {
    Fields(message)
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Broken>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = next(&mut self.0);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

fn next<'a>(rest: &mut &'a [u8]) -> Result<Field<'a>, Broken> {
    let start = *rest;
    let tag = varint(rest)?;
    let content = match tag & 7 {
        0 => Content::Number(varint(rest)?),
        1 => Content::Eight(fixed(rest)?),
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| TOO_LONG)?;
            Content::Bytes(take(rest, length)?)
        }
        5 => Content::Four(fixed(rest)?),
        _ => return Err("a field has a type that ONNX does not use"),
    };
    let raw = start.get(..start.len() - rest.len()).unwrap_or_default();
    Ok(Field { number: tag >> 3, content, raw })
}

const TOO_LONG: Broken = "the file ends in the middle of a field, or a length in it is wrong";

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Broken> {
    let (taken, left) = rest.split_at_checked(length).ok_or(TOO_LONG)?;
    *rest = left;
    Ok(taken)
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Broken> {
    let (taken, left) = rest.split_first_chunk::<N>().ok_or(TOO_LONG)?;
    *rest = left;
    Ok(*taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0u64;
    for (i, &byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *rest = rest.get(i + 1..).unwrap_or_default();
            return Ok(value);
        }
    }
    Err(if rest.len() < 10 { TOO_LONG } else { "a number does not end" })
}

/// A message in the making.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn number(mut self, number: u64, value: i64) -> Self {
        self.varint(number << 3);
        self.varint(value as u64);
        self
    }

    pub(crate) fn bytes(mut self, number: u64, bytes: &[u8]) -> Self {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub(crate) fn text(self, number: u64, text: &str) -> Self {
        self.bytes(number, text.as_bytes())
    }

    pub(crate) fn message(self, number: u64, message: &Message) -> Self {
        self.bytes(number, &message.0)
    }

    /// A field as it was read.
    pub(crate) fn raw(mut self, raw: &[u8]) -> Self {
        self.0.extend(raw);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_specification() {
        // protobuf.dev/programming-guides/encoding: 150 in field 1, "testing" in field 2, 3, 270 and 86942 packed in
        // field 6.
        assert_eq!(Message::default().number(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(
            Message::default().text(2, "testing").into_bytes(),
            [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g']
        );
        let packed = [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05];
        let field = fields(&packed).next().unwrap().unwrap();
        assert_eq!((field.number, field.numbers().unwrap()), (6, vec![3, 270, 86942]));
        assert_eq!(fields(&Message::default().number(3, -2).into_bytes()).next().unwrap().unwrap().number(), Ok(-2));
    }

    proptest! {
        #[test]
        fn any_bytes_are_fields_or_an_error_and_fields_are_kept_as_they_stand(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let read: Result<Vec<Field<'_>>, Broken> = fields(&bytes).collect();
            if let Ok(all) = read {
                let again = all.iter().fold(Message::default(), |m, f| m.raw(f.raw));
                prop_assert_eq!(again.into_bytes(), bytes);
            }
        }
    }
}
