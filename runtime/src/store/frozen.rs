//! State as bytes, in memory: what a disk would keep.

use std::marker::PhantomData;

use motet_core::{ClientId, Reader, Store, StoreError, Wire};

use crate::store::memory::Memory;

/// Encodes state as bytes when it is put away and decodes it when it is needed.
pub struct Frozen<S> {
    bytes: Memory<Vec<u8>>,
    kind: PhantomData<fn() -> S>,
}

impl<S> Default for Frozen<S> {
    fn default() -> Self {
        Self { bytes: Memory::default(), kind: PhantomData }
    }
}

fn thaw<S: Wire>(client: ClientId, bytes: Option<Vec<u8>>) -> Result<Option<S>, StoreError> {
    let decode = |bytes: Vec<u8>| S::decode(&mut Reader::new(&bytes)).map_err(|e| StoreError { client: client.0, reason: e.to_string() });
    bytes.map(decode).transpose()
}

impl<S: Wire> Store<S> for Frozen<S> {
    fn take(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        thaw(client, self.bytes.take(client)?)
    }
    fn put(&self, client: ClientId, state: S) -> Result<(), StoreError> {
        let mut bytes = vec![];
        state.encode(&mut bytes);
        self.bytes.put(client, bytes)
    }
    fn read(&self, client: ClientId) -> Result<Option<S>, StoreError> {
        thaw(client, self.bytes.read(client)?)
    }
}
