//! As much of Python's pickles as the CIFAR batches need: dictionaries, lists, strings, numbers, arrays of bytes.

use std::rc::Rc;

/// A value of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// `None`, `True`, `False`, and numbers and objects nobody asks for.
    Other,
    /// A whole number.
    Whole(i64),
    /// A string, of bytes or characters.
    Text(Rc<[u8]>),
    /// A list or tuple, or what an object was made of.
    List(Rc<Items<Value>>),
    /// Keys and values.
    Map(Rc<Items<(Value, Value)>>),
}

/// Things in a list or dictionary, and how much one walk over all of them takes: a part that is remembered may be in it often.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Items<T> {
    all: Vec<T>,
    /// Levels below.
    depth: usize,
    /// Values below, each as often as it is met.
    nodes: usize,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self { all: Vec::new(), depth: 0, nodes: 0 }
    }
}

/// No batch of images is deeper. Every level costs stack where values are walked or dropped.
const DEEPEST: usize = 64;
/// No batch of images has more values: CIFAR's have 20,000.
const MOST_NODES: usize = 1 << 22;

impl<T> Items<T> {
    /// One more, made of these values.
    fn push(&mut self, item: T, made_of: &[(usize, usize)]) -> Result<(), String> {
        for &(depth, nodes) in made_of {
            self.depth = self.depth.max(depth + 1);
            self.nodes = self.nodes.saturating_add(nodes);
        }
        if self.depth > DEEPEST {
            return Err(format!("lists in lists in lists, more than {DEEPEST} deep"));
        }
        if self.nodes > MOST_NODES {
            return Err(format!("more than {MOST_NODES} values, counting those that are shared"));
        }
        self.all.push(item);
        Ok(())
    }
}

impl Value {
    /// Levels and values of it.
    fn size(&self) -> (usize, usize) {
        match self {
            Value::List(items) => (items.depth, items.nodes + 1),
            Value::Map(items) => (items.depth, items.nodes + 1),
            _ => (0, 1),
        }
    }

    fn list(items: impl IntoIterator<Item = Value>) -> Result<Value, String> {
        let mut list = Items::default();
        for item in items {
            let size = item.size();
            list.push(item, &[size])?;
        }
        Ok(Value::List(Rc::new(list)))
    }

    /// What a dictionary has under a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let Value::Map(pairs) = self else { return None };
        pairs.all.iter().find(|(key, _)| matches!(key, Value::Text(text) if **text == *name.as_bytes())).map(|(_, value)| value)
    }

    /// Whole numbers of a list.
    pub(super) fn numbers(&self) -> Option<Vec<i64>> {
        let Value::List(items) = self else { return None };
        items.all.iter().map(|item| if let Value::Whole(number) = item { Some(*number) } else { None }).collect()
    }

    /// The longest string in it, however deep: the numbers of an array.
    pub(super) fn longest_text(&self) -> Option<&[u8]> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(items) => items.all.iter().filter_map(Value::longest_text).max_by_key(|text| text.len()),
            _ => None,
        }
    }
}

/// Reads the first value of a pickle. The error says at which byte it is wrong.
pub(super) fn read(bytes: &[u8]) -> Result<Value, String> {
    let work = bytes.len().saturating_mul(WORK).saturating_add(MOST_NODES);
    let mut reader = Reader { bytes, at: 0, stack: Vec::new(), marks: Vec::new(), memo: Vec::new(), work };
    loop {
        let start = reader.at;
        match reader.step() {
            Ok(None) => {}
            Ok(Some(value)) => return Ok(value),
            Err(what) => return Err(format!("not a pickle that this program can read: byte {start}: {what}")),
        }
    }
}

/// Bytes as Python 3 writes them for Python 2: characters below 256, and the word "latin1".
fn latin(given: &Value) -> Option<Value> {
    let Value::List(items) = given else { return None };
    let [Value::Text(text), Value::Text(code)] = &items.all[..] else { return None };
    let letters = std::str::from_utf8(text).ok().filter(|_| **code == *b"latin1")?.chars();
    letters.map(|letter| u8::try_from(u32::from(letter)).ok()).collect::<Option<Vec<u8>>>().map(|bytes| Value::Text(bytes.into()))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: Vec<Value>,
    /// Values and bytes that may still be copied: what is remembered can be copied again by each operation.
    work: usize,
}

/// Copies for each byte of the file.
const WORK: usize = 16;

/// No pickle of images remembers more.
const MOST_REMEMBERED: usize = 1 << 20;

impl<'a> Reader<'a> {
    /// One operation; a value at the end.
    fn step(&mut self) -> Result<Option<Value>, String> {
        match self.byte()? {
            0x80 => drop(self.take(1)?), // protocol
            0x95 => drop(self.take(8)?), // frame
            b'.' => return self.pop().map(Some),
            b'(' => self.marks.push(self.stack.len()),
            b'N' | 0x88 | 0x89 => self.stack.push(Value::Other),
            b'K' => self.whole(1)?,
            b'M' => self.whole(2)?,
            b'J' => self.whole(4)?,
            0x8a => {
                let length = usize::from(self.byte()?);
                self.whole(length)?;
            }
            b'G' => {
                self.take(8)?;
                self.stack.push(Value::Other);
            }
            b'U' | b'C' | 0x8c => self.text(1)?,
            b'T' | b'B' | b'X' => self.text(4)?,
            0x8d | 0x8e | 0x96 => self.text(8)?,
            b'c' => {
                self.line()?;
                self.line()?;
                self.stack.push(Value::Other);
            }
            0x93 => {
                self.pop()?;
                self.pop()?;
                self.stack.push(Value::Other);
            }
            b']' | b')' => self.stack.push(Value::List(Rc::default())),
            b'}' => self.stack.push(Value::Map(Rc::default())),
            b'l' | b't' => {
                let items = self.marked()?;
                self.stack.push(Value::list(items)?);
            }
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.marked()?;
                self.append(items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![key, value])?;
            }
            b'u' => {
                let items = self.marked()?;
                self.set(items)?;
            }
            // A function called, an object filled: what they were given is all that matters.
            b'R' | 0x81 | b'b' => {
                let (given, to) = (self.pop()?, self.pop()?);
                if let Value::List(parts) = &given {
                    self.work(parts.all.iter().map(|part| if let Value::Text(text) = part { text.len() } else { 1 }).sum())?;
                }
                if let Some(text) = latin(&given) {
                    self.stack.push(text);
                    return Ok(None);
                }
                let mut made = if let Value::List(items) = to { items } else { Rc::default() };
                let size = given.size();
                self.work(made.all.len())?;
                Rc::make_mut(&mut made).push(given, &[size])?;
                self.stack.push(Value::List(made));
            }
            b'q' => self.remember(1)?,
            b'r' => self.remember(4)?,
            0x94 => {
                let top = self.top()?.clone();
                self.memo.push(top);
            }
            b'h' => self.recall(1)?,
            b'j' => self.recall(4)?,
            other => return Err(format!("operation {other:#04x} is not known")),
        }
        Ok(None)
    }

    /// Books copies, so that the time stays in proportion to the file.
    fn work(&mut self, copies: usize) -> Result<(), String> {
        self.work = self.work.checked_sub(copies).ok_or("the same is copied again and again")?;
        Ok(())
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len()).ok_or("the file ends here")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// A length of so many bytes, the smallest first.
    fn length(&mut self, width: usize) -> Result<usize, String> {
        let bytes = self.take(width)?;
        bytes
            .iter()
            .rev()
            .try_fold(0usize, |sum, &byte| sum.checked_mul(256)?.checked_add(byte.into()))
            .ok_or_else(|| "a length beyond memory".into())
    }

    fn whole(&mut self, width: usize) -> Result<(), String> {
        if width > 8 {
            return Err("a number of more than eight bytes".into());
        }
        let bytes = self.take(width)?;
        let mut number = bytes.iter().rev().fold(0i64, |sum, &byte| (sum << 8) | i64::from(byte));
        // One and two bytes are never negative.
        if width >= 4 && bytes.last().is_some_and(|&byte| byte >= 0x80) && width < 8 {
            number -= 1 << (8 * width);
        }
        self.stack.push(Value::Whole(number));
        Ok(())
    }

    fn text(&mut self, width: usize) -> Result<(), String> {
        let length = self.length(width)?;
        let text = self.take(length)?.into();
        self.stack.push(Value::Text(text));
        Ok(())
    }

    fn line(&mut self) -> Result<(), String> {
        let length = self.bytes[self.at..].iter().position(|&byte| byte == b'\n').ok_or("a name without end")?;
        self.take(length + 1).map(drop)
    }

    fn pop(&mut self) -> Result<Value, String> {
        if self.marks.last().is_some_and(|&mark| mark >= self.stack.len()) {
            return Err("nothing on the stack".into());
        }
        self.stack.pop().ok_or_else(|| "nothing on the stack".into())
    }

    fn top(&mut self) -> Result<&mut Value, String> {
        self.stack.last_mut().ok_or_else(|| "nothing on the stack".into())
    }

    fn marked(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.marks.pop().ok_or("no mark on the stack")?;
        Ok(self.stack.split_off(mark))
    }

    fn tuple(&mut self, count: usize) -> Result<(), String> {
        let from = self.stack.len().checked_sub(count).ok_or("nothing on the stack")?;
        let items = self.stack.split_off(from);
        self.stack.push(Value::list(items)?);
        Ok(())
    }

    fn append(&mut self, items: Vec<Value>) -> Result<(), String> {
        let Value::List(list) = self.top()? else { return Err("something that is not a list".into()) };
        let copied = if Rc::strong_count(list) > 1 { list.all.len() } else { 0 };
        let list = Rc::make_mut(list);
        for item in items {
            let size = item.size();
            list.push(item, &[size])?;
        }
        self.work(copied)
    }

    fn set(&mut self, items: Vec<Value>) -> Result<(), String> {
        let Value::Map(map) = self.top()? else { return Err("something that is not a dictionary".into()) };
        let copied = if Rc::strong_count(map) > 1 { map.all.len() } else { 0 };
        let (map, mut items) = (Rc::make_mut(map), items.into_iter());
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            let sizes = [key.size(), value.size()];
            map.push((key, value), &sizes)?;
        }
        self.work(copied)
    }

    fn remember(&mut self, width: usize) -> Result<(), String> {
        let (place, top) = (self.length(width)?, self.top()?.clone());
        if place >= MOST_REMEMBERED {
            return Err(format!("place {place} of the memory"));
        }
        if self.memo.len() <= place {
            self.memo.resize(place + 1, Value::Other);
        }
        self.memo[place] = top;
        Ok(())
    }

    fn recall(&mut self, width: usize) -> Result<(), String> {
        let place = self.length(width)?;
        let value = self.memo.get(place).ok_or_else(|| format!("nothing at place {place} of the memory"))?.clone();
        self.stack.push(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_python_3_wrote_for_python_2_are_bytes() {
        let file = b"\x80\x02c_codecs\nencode\nX\x02\x00\x00\x00\xc3\xa9X\x06\x00\x00\x00latin1\x86R.";
        assert_eq!(read(file), Ok(Value::Text([0xe9].into())));
        // Another code, or letters that are no bytes, is what it was: the parts of something made.
        let other = b"\x80\x02c_codecs\nencode\nX\x02\x00\x00\x00\xc3\xa9X\x06\x00\x00\x00latin2\x86R.";
        assert!(matches!(read(other), Ok(Value::List(_))));
    }
    #[test]
    fn deep_shared_and_copied_values_are_refused_in_time_that_the_file_bounds() {
        // () in a tuple in a tuple ...: dropping it would take a frame of the stack for each.
        let nested = [&b"\x80\x02)"[..], &[0x85; 500_000], b"."].concat();
        assert!(read(&nested).unwrap_err().contains("more than 64 deep"));
        // (t, t) remembered as t, sixty times: 2⁶⁰ values in a few hundred bytes.
        let shared = [&b"\x80\x02)"[..], &b"q\x00h\x00\x86".repeat(60), b"."].concat();
        assert!(shared.len() < 312 && read(&shared).unwrap_err().contains("counting those that are shared"));
        let keys = [&b"\x80\x02)"[..], &b"q\x00}h\x00h\x00s".repeat(60), b"."].concat();
        assert!(read(&keys).unwrap_err().contains("counting those that are shared"));
        // A list that is remembered after every item is copied for the next.
        let copied = [&b"\x80\x02]"[..], &b"q\x00K\x01a".repeat(200_000), b"."].concat();
        assert!(read(&copied).unwrap_err().contains("copied again and again"));
        // The same for calls, and for bytes that are written as letters.
        let called = [&b"\x80\x02)"[..], &b"K\x01R".repeat(300_000), b"."].concat();
        assert!(read(&called).is_err());
        let long = [&500_000u32.to_le_bytes()[..], &[b'a'; 500_000]].concat();
        let letters = [&b"\x80\x02X"[..], &long, b"X\x06\x00\x00\x00latin1\x86q\x00", &b"Nh\x00R".repeat(50_000), b"."].concat();
        assert!(read(&letters).unwrap_err().contains("copied again and again"));
    }
}
