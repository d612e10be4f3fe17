//! What crosses the wire or sleeps in a store: asks, replies, states and whole moments of every method.

use std::sync::OnceLock;

use motet::core::{ClientVersions, Reader, Rng, RunState, Seed, Wire, WireError};
use motet::methods::{EachMethod, Method, each_method};

use crate::target::{Met, Reach, Target};

/// The first byte of an input says which of them it is.
#[derive(Default)]
pub(super) struct Messages {
    decoders: OnceLock<Vec<Decoder>>,
}

/// Decodes, and checks that what was read is written as it says it is.
type Decoder = fn(&[u8]) -> Result<(), WireError>;

struct Collect(Vec<Decoder>);

impl EachMethod for Collect {
    fn method<M: Method>(&mut self) {
        let of_one: [Decoder; 6] = [
            there_and_back::<M::Ask>,
            there_and_back::<M::Reply>,
            there_and_back::<M::Server>,
            there_and_back::<M::Client>,
            there_and_back::<ClientVersions<M::Client>>,
            there_and_back::<RunState<M>>,
        ];
        self.0.extend(of_one);
    }
}

fn there_and_back<T: Wire>(bytes: &[u8]) -> Result<(), WireError> {
    let value = T::decode(&mut Reader::new(bytes))?;
    let written = encoded(&value);
    assert_eq!(written.len() as u64, value.bytes(), "its length is not what it says");
    assert!(written.len() <= bytes.len(), "{} bytes came of {}", written.len(), bytes.len());
    let again = T::decode(&mut Reader::new(&written)).expect("what was written can be read");
    assert_eq!(encoded(&again), written, "what was written is read as something else");
    Ok(())
}

fn encoded(value: &impl Wire) -> Vec<u8> {
    let mut bytes = vec![];
    value.encode(&mut bytes);
    bytes
}

impl Messages {
    fn decoders(&self) -> &[Decoder] {
        self.decoders.get_or_init(|| {
            let mut all = Collect(vec![]);
            each_method(&mut all);
            all.0
        })
    }
}

/// Bytes that a decoder takes, grown one after the other as long as it says that they end early.
fn grown(decode: Decoder, dice: &mut Rng) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    for _ in 0..4000 {
        match decode(&bytes) {
            Ok(()) => return Some(bytes),
            Err(WireError::Short) if bytes.len() < 400 => {
                // Mostly zeros: a length that is not small is never filled.
                bytes.push(if dice.coin(0.85) { 0 } else { dice.below(4) as u8 });
            }
            Err(_) => bytes.truncate(bytes.len().saturating_sub(1 + dice.below(12))),
        }
    }
    None
}

impl Target for Messages {
    fn name(&self) -> String {
        "wire".into()
    }

    fn corpus(&self) -> Vec<Vec<u8>> {
        let mut all = vec![];
        for (k, decode) in self.decoders().iter().enumerate() {
            let mut dice = Seed(1).problem(k as u64);
            let some = (0..3).filter_map(|_| grown(*decode, &mut dice));
            all.extend(some.map(|bytes| [&[k as u8][..], &bytes].concat()));
        }
        all
    }

    fn words(&self) -> Vec<String> {
        vec![]
    }

    fn head(&self) -> usize {
        1
    }

    fn run(&self, input: &[u8], _: Reach) -> Met {
        let Some((at, bytes)) = input.split_first() else { return Met::nothing() };
        Met::of(self.decoders()[*at as usize % self.decoders().len()](bytes))
    }
}
