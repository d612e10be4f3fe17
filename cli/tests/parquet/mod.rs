//! A Parquet file of plain columns, byte by byte, so that tests need no writer: one row group, one page for each column.

/// A column of a table.
pub(crate) enum Column {
    Words(Vec<String>),
    /// NaN is a gap.
    Numbers(Vec<f64>),
}

/// Fields of a struct in Thrift's compact form.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

const WHOLE: u8 = 5;
const LONG: u8 = 6;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Numbers here are never negative.
fn zigzag(number: usize) -> Vec<u8> {
    varint(2 * number as u64)
}

fn text(text: &str) -> Vec<u8> {
    [varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// Fewer than fifteen.
fn list(kind: u8, all: Vec<Vec<u8>>) -> Vec<u8> {
    [vec![(all.len() as u8) << 4 | kind], all.concat()].concat()
}

impl Struct {
    fn with(mut self, field: u8, kind: u8, value: Vec<u8>) -> Self {
        self.bytes.push((field - self.last) << 4 | kind);
        self.bytes.extend(value);
        self.last = field;
        self
    }

    fn end(self) -> Vec<u8> {
        [self.bytes, vec![0]].concat()
    }
}

/// The file.
pub(crate) fn parquet(columns: &[(&str, Column)]) -> Vec<u8> {
    let mut file = b"PAR1".to_vec();
    let root = Struct::default().with(4, TEXT, text("table")).with(5, WHOLE, zigzag(columns.len())).end();
    let (mut schema, mut chunks, mut rows) = (vec![root], vec![], 0);
    for (name, column) in columns {
        let (kind, data) = match column {
            Column::Words(words) => {
                rows = words.len();
                (6, words.iter().flat_map(|word| [&(word.len() as u32).to_le_bytes(), word.as_bytes()].concat()).collect::<Vec<u8>>())
            }
            Column::Numbers(numbers) => {
                rows = numbers.len();
                (5, numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
            }
        };
        let element = Struct::default().with(1, WHOLE, zigzag(kind)).with(3, WHOLE, zigzag(0)).with(4, TEXT, text(name));
        schema.push(if kind == 6 { element.with(6, WHOLE, zigzag(0)).end() } else { element.end() });
        // A page of values as they are: plain, not packed, every row present.
        let plain =
            Struct::default().with(1, WHOLE, zigzag(rows)).with(2, WHOLE, zigzag(0)).with(3, WHOLE, zigzag(3)).with(4, WHOLE, zigzag(3));
        let sizes = Struct::default().with(1, WHOLE, zigzag(0)).with(2, WHOLE, zigzag(data.len())).with(3, WHOLE, zigzag(data.len()));
        let page = [sizes.with(5, STRUCT, plain.end()).end(), data].concat();
        let about = Struct::default()
            .with(1, WHOLE, zigzag(kind))
            .with(2, LIST, list(WHOLE, vec![zigzag(0)]))
            .with(3, LIST, list(TEXT, vec![text(name)]))
            .with(4, WHOLE, zigzag(0))
            .with(5, LONG, zigzag(rows))
            .with(6, LONG, zigzag(page.len()))
            .with(7, LONG, zigzag(page.len()))
            .with(9, LONG, zigzag(file.len()));
        chunks.push(Struct::default().with(2, LONG, zigzag(file.len())).with(3, STRUCT, about.end()).end());
        file.extend(page);
    }
    let group = Struct::default().with(1, LIST, list(STRUCT, chunks)).with(2, LONG, zigzag(file.len())).with(3, LONG, zigzag(rows));
    let footer = Struct::default().with(1, WHOLE, zigzag(1)).with(2, LIST, list(STRUCT, schema)).with(3, LONG, zigzag(rows)).with(
        4,
        LIST,
        list(STRUCT, vec![group.end()]),
    );
    let footer = footer.end();
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}
