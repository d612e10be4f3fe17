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
    List(Rc<Vec<Value>>),
    /// Keys and values.
    Map(Rc<Vec<(Value, Value)>>),
}

impl Value {
    /// What a dictionary has under a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let Value::Map(pairs) = self else { return None };
        pairs.iter().find(|(key, _)| matches!(key, Value::Text(text) if **text == *name.as_bytes())).map(|(_, value)| value)
    }

    /// Whole numbers of a list.
    pub(super) fn numbers(&self) -> Option<Vec<i64>> {
        let Value::List(items) = self else { return None };
        items.iter().map(|item| if let Value::Whole(number) = item { Some(*number) } else { None }).collect()
    }

    /// The longest string in it, however deep: the numbers of an array.
    pub(super) fn longest_text(&self) -> Option<&[u8]> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(items) => items.iter().filter_map(Value::longest_text).max_by_key(|text| text.len()),
            _ => None,
        }
    }
}

/// Reads the first value of a pickle. The error says at which byte it is wrong.
pub(super) fn read(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader { bytes, at: 0, stack: Vec::new(), marks: Vec::new(), memo: Vec::new() };
    loop {
        let start = reader.at;
        match reader.step() {
            Ok(None) => {}
            Ok(Some(value)) => return Ok(value),
            Err(what) => return Err(format!("no pickle this program reads: byte {start}: {what}")),
        }
    }
}

/// Bytes as Python 3 writes them for Python 2: characters below 256, and the word "latin1".
fn latin(given: &Value) -> Option<Value> {
    let Value::List(items) = given else { return None };
    let [Value::Text(text), Value::Text(code)] = &items[..] else { return None };
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
}

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
                self.stack.push(Value::List(Rc::new(items)));
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
                if let Some(text) = latin(&given) {
                    self.stack.push(text);
                    return Ok(None);
                }
                let before = if let Value::List(items) = to { items.to_vec() } else { vec![] };
                self.stack.push(Value::List(Rc::new(before.into_iter().chain([given]).collect())));
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
        self.stack.push(Value::List(Rc::new(items)));
        Ok(())
    }

    fn append(&mut self, items: Vec<Value>) -> Result<(), String> {
        let Value::List(list) = self.top()? else { return Err("something that is no list".into()) };
        Rc::make_mut(list).extend(items);
        Ok(())
    }

    fn set(&mut self, items: Vec<Value>) -> Result<(), String> {
        let Value::Map(map) = self.top()? else { return Err("something that is no dictionary".into()) };
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            Rc::make_mut(map).push((key, value));
        }
        Ok(())
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
}
