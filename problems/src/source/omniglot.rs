//! Omniglot: letters of many alphabets, each drawn once by each of twenty people.
//!
//! Zip archives with `…/<alphabet>/<character>/<number>_<drawer>.png`, 105 × 105 pixels, ink black on white; here ink is
//! bright and images are shrunk. A drawer's number means the same person inside of one alphabet only: a client is an
//! alphabet and a drawer, and a class is an alphabet and a character.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use super::open::{name_of, open};
use super::picture::Picture;
use super::{Load, Material, Place, zip};
use crate::dataset::{Dataset, Targets};
use crate::error::ProblemError;
use crate::matrix::{Bytes, Matrix};
use motet_core::{Documented, Kind};
use serde::{Deserialize, Serialize};

/// Omniglot's zip archives: letters of many alphabets; clients are the drawers of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Omniglot {
    /// The archives; what stands in two of them counts once.
    pub paths: Vec<PathBuf>,
    /// Height and width to which images are shrunk (default 28).
    #[serde(default = "side")]
    pub side: NonZeroU32,
    /// Take only these alphabets (default all).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alphabets: Vec<String>,
}

impl Kind for Omniglot {
    const NAME: &'static str = "omniglot";
}

fn side() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(27)
}

impl Load for Omniglot {
    fn load(&self, place: &Place<'_>) -> Result<Material, ProblemError> {
        let side = self.side.get() as usize;
        // By alphabet, character and drawer: the order of archives does not matter.
        let mut images: BTreeMap<(String, String, u32), Vec<u8>> = BTreeMap::new();
        let mut inputs = Vec::new();
        for path in &self.paths {
            let file = place.folders.find(path)?;
            let opened = open(&file, place.folders.limit)?;
            let budget = place.folders.limit.budget(opened.input.bytes);
            inputs.push(opened.input);
            let odd = |place: &str, what: String| ProblemError::Odd { file: name_of(&file), place: place.to_owned(), what };
            for member in zip::members(&opened.text).map_err(|what| odd("archive", what))? {
                let Some((alphabet, character, drawer)) = sort(&member.name) else { continue };
                let key = (alphabet.to_owned(), character.to_owned(), drawer);
                if (!self.alphabets.is_empty() && !self.alphabets.iter().any(|a| a == alphabet)) || images.contains_key(&key) {
                    continue;
                }
                let picture =
                    member.read(&budget).and_then(|bytes| Picture::read(&bytes, 1, &budget)).map_err(|what| odd(&member.name, what))?;
                if picture.height < side || picture.width < side {
                    let what = format!("{} x {} pixels are fewer than side = {side}", picture.height, picture.width);
                    return Err(odd(&member.name, what));
                }
                images.insert(key, picture.shrunk(side).into_iter().map(|grey| 255 - grey).collect());
            }
        }
        if images.is_empty() {
            return Err(ProblemError::NoExamples { file: format!("{:?}", self.paths) });
        }
        let (mut classes, mut clients) = (BTreeMap::new(), BTreeMap::new());
        for (alphabet, character, drawer) in images.keys() {
            classes.entry((alphabet.as_str(), character.as_str())).or_insert(0);
            clients.entry((alphabet.as_str(), *drawer)).or_insert(0);
        }
        classes.values_mut().zip(0..).for_each(|(number, k)| *number = k);
        clients.values_mut().zip(0..).for_each(|(number, k)| *number = k);
        let labels = images.keys().map(|(alphabet, character, _)| classes[&(alphabet.as_str(), character.as_str())]).collect();
        let keys = images.keys().map(|(alphabet, _, drawer)| clients[&(alphabet.as_str(), *drawer)]).collect();
        let names = clients.keys().map(|(alphabet, drawer)| format!("{alphabet}, drawer {drawer}")).collect();
        let targets = Targets::Classes { labels, classes: classes.len() as u32 };
        let features = Matrix::Bytes(Bytes::pixels(side * side, images.values().flatten().copied().collect()));
        Ok(Material::Examples { dataset: Dataset::new(features, targets).from_clients(keys).named(names), inputs })
    }
}

/// Alphabet, character and drawer of a picture; `None` if it is none.
fn sort(name: &str) -> Option<(&str, &str, u32)> {
    let mut parts = name.rsplit('/');
    let (file, character, alphabet) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, drawer) = file.strip_suffix(".png")?.rsplit_once('_')?;
    Some((alphabet, character, drawer.parse().ok()?))
}
