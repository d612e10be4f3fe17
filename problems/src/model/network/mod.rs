//! Networks on data: a model of `motet-nn` and a range of examples make an `Objective` and an `Evaluator`.

mod bert;
mod cnn;
mod convolution;
mod image;
mod judge;
mod language;
mod mlp;
mod pixels;
mod resnet;
mod task;

use std::sync::{Mutex, PoisonError};

use motet_core::{Batch, ClientId, Kind, Objective, Precision, Purpose, Rng, Rows, Seed, Vector};
use motet_nn::{Inputs, Model as Layers, Workspace};

pub use bert::BertClassifier;
pub use cnn::{Cnn, CnnDropout};
pub use convolution::Convolution;
pub(crate) use image::axes;
pub use language::{CharModel, WordModel};
pub use mlp::{Activation, Mlp};
pub use pixels::{Augment, Channels, Normalise};
pub use resnet::{Norm, ResNet};

use super::fitted::Fitted;
use super::{Arc, Evaluator, Examples, LARGEST_SINGLE, Model, ModelError, Range};
use judge::NetworkExam;
use pixels::Pixels;
use task::Task;

/// A network as an experiment file describes it.
pub(super) trait Architecture: Kind {
    /// The layers for these examples and what is to be learnt, or why they do not fit.
    fn build(&self, data: &Examples) -> Result<(Layers<f32>, Task), ModelError>;
    /// Where training starts, if not where the layers say.
    fn dice(&self) -> Dice {
        Dice::default()
    }
    /// The axes of an image as given, if the network takes images.
    fn image(&self) -> Option<Option<[usize; 3]>> {
        None
    }
    /// What happens to images on their way in, where examples are images.
    fn pixels(&self, _data: &Examples) -> Result<Option<Pixels>, ModelError> {
        Ok(None)
    }
}

/// How a network starts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dice {
    /// Every number from N(0, s²) instead of what the layers say.
    pub(super) normal: Option<f64>,
    /// Does each client that solves alone start at dice of its own?
    pub(super) own: bool,
}

impl Dice {
    fn start(self, layers: &Layers<f32>, rng: &mut Rng) -> Vector {
        match self.normal {
            None => Vector::from(layers.start(rng)),
            Some(s) => Vector::from((0..layers.dim()).map(|_| (s * rng.normal()) as f32).collect::<Vec<f32>>()),
        }
    }
}

impl<A: Architecture> Model for A {
    fn dim(&self, data: &Examples) -> Result<usize, ModelError> {
        Ok(self.build(data)?.0.dim())
    }
    fn objective(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Objective> {
        Network::new(self, data, Seed(0)).map(Arc::new).expect("the examples were found to fit").objective(rows)
    }
    fn evaluator(&self, data: Arc<Examples>, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Network::new(self, data, Seed(0)).map(Arc::new).expect("the examples were found to fit").evaluator(rows)
    }
    fn precision(&self) -> Precision {
        Precision::F32
    }
    fn image(&self) -> Option<Option<[usize; 3]>> {
        Architecture::image(self)
    }
    fn fitted(&self, data: Arc<Examples>, seed: Seed) -> Result<Option<Arc<dyn Fitted>>, ModelError> {
        Ok(Some(Arc::new(Arc::new(Network::new(self, data, seed)?))))
    }
}

/// A network and some examples.
pub(super) struct Network {
    of: Arc<Shape>,
    data: Arc<Examples>,
    /// How many examples of others stand before these, were all laid end to end.
    before: u64,
}

/// A network without examples, and the workspaces: as many as there were ever threads at work.
pub(super) struct Shape {
    name: &'static str,
    layers: Layers<f32>,
    task: Task,
    pixels: Option<Pixels>,
    start: Start,
    /// What clients that solve alone start at, if not all at the same.
    own: Option<(Dice, Seed)>,
    /// Running statistics at their start.
    buffers: Option<Vector>,
    rooms: Mutex<Vec<Workspace<f32>>>,
}

/// Where training starts. What dice give is drawn each time it is asked for: it is asked for once or twice in a run, and the numbers of
/// a large network are tens of megabytes that would lie there all the while.
enum Start {
    Drawn(Dice, Seed),
    /// The weights of a file.
    Read(Vector),
}

impl Shape {
    /// Where all start.
    fn common_start(&self) -> Vector {
        match &self.start {
            Start::Drawn(dice, seed) => dice.start(&self.layers, &mut seed.fixed(ClientId(0), Purpose::Start)),
            Start::Read(start) => start.clone(),
        }
    }
}

/// Examples per pass where all are asked for: large enough for fast products, small enough for the caches.
const CHUNK: usize = 32;

impl Network {
    fn new<A: Architecture>(model: &A, data: Arc<Examples>, seed: Seed) -> Result<Self, ModelError> {
        let ((layers, task), pixels) = (model.build(&data)?, model.pixels(&data)?.filter(Pixels::acts));
        let dice = model.dice();
        let buffers = layers.buffers();
        let buffers = (!buffers.is_empty()).then(|| Vector::from(buffers));
        let (start, own) = (Start::Drawn(dice, seed), dice.own.then_some((dice, seed)));
        let of = Shape { name: A::NAME, layers, task, pixels, start, own, buffers, rooms: Mutex::default() };
        Self::of(Arc::new(of), data, 0)
    }

    /// Examples that the network can count with.
    fn of(of: Arc<Shape>, data: Arc<Examples>, before: u64) -> Result<Self, ModelError> {
        of.task.check(of.name, &data)?;
        if let Some((row, column, value)) = data.features().first_beyond(LARGEST_SINGLE) {
            return Err(ModelError::Range { model: of.name, example: row + 1, feature: column + 1, value });
        }
        Ok(Self { of, data: data.in_single_precision(), before })
    }

    /// Lends a workspace.
    fn with_room<R>(&self, work: impl FnOnce(&mut Workspace<f32>) -> R) -> R {
        let lock = || self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = lock().pop().unwrap_or_default();
        let result = work(&mut room);
        lock().push(room);
        result
    }

    /// Fills the workspace with rows of the data; `noise` is the key of augmentation, absent when judged.
    fn gather(&self, rows: impl Iterator<Item = usize> + Clone, noise: Option<u64>, room: &mut Workspace<f32>) {
        room.inputs.clear();
        room.targets.clear();
        task::fetch(&self.data, rows.clone());
        let mut dice = noise.filter(|_| self.pixels.is_some()).map(|key| Seed(key).fixed(ClientId(0), Purpose::Noise));
        for row in rows {
            let at = room.inputs.len();
            self.task.add(&self.data, row, &self.layers, room);
            if let Some(pixels) = &self.pixels {
                pixels.apply(at, &mut room.inputs, dice.as_mut());
            }
        }
    }
}

impl std::ops::Deref for Network {
    type Target = Shape;
    fn deref(&self) -> &Shape {
        &self.of
    }
}

impl Fitted for Arc<Network> {
    fn start(&self) -> Vector {
        self.common_start()
    }
    fn start_at(&mut self, file: &[u8]) -> Result<(), ModelError> {
        let before = self.common_start();
        let start = self.layers.read_safetensors(file, Some(before.f32s()))?;
        if start == before.f32s() {
            return Err(ModelError::OtherWeights { first: self.layers.parameters().first().map_or_else(String::new, |p| p.name.clone()) });
        }
        let own = Arc::get_mut(self).and_then(|network| Arc::get_mut(&mut network.of));
        own.expect("nothing was made of the model yet").start = Start::Read(Vector::from(start));
        Ok(())
    }
    fn on(&self, data: Arc<Examples>, before: u64) -> Result<Arc<dyn Fitted>, ModelError> {
        Ok(Arc::new(Arc::new(Network::of(Arc::clone(&self.of), data, before)?)))
    }
    fn objective(&self, rows: Range<usize>) -> Arc<dyn Objective> {
        Arc::new(NetworkObjective { network: Arc::clone(self), rows })
    }
    fn evaluator(&self, rows: Range<usize>) -> Arc<dyn Evaluator> {
        Arc::new(NetworkExam::new(Arc::clone(self), rows))
    }
}

/// f(x) = (1/m) Σ ℓ(scores of example j)
struct NetworkObjective {
    network: Arc<Network>,
    rows: Range<usize>,
}

impl NetworkObjective {
    /// Calls `work` with some examples at a time in a workspace and their noise; `whole` forbids cutting a batch.
    fn chunks(
        &self,
        rows: Rows<'_>,
        whole: bool,
        mut noise: Option<u64>,
        mut work: impl FnMut(&Layers<f32>, Option<u64>, &mut Workspace<f32>),
    ) {
        let count = self.count(rows);
        self.network.with_room(|room| {
            for from in (0..count).step_by(if whole { count.max(1) } else { CHUNK }) {
                let these = from..if whole { count } else { (from + CHUNK).min(count) };
                match rows {
                    Rows::All => self.network.gather(these.map(|k| self.rows.start + k), noise, room),
                    Rows::Only(list) => self.network.gather(list[these].iter().map(|&k| self.row(k)), noise, room),
                }
                work(&self.network.layers, noise, room);
                // The chunks of one batch must not drop the same numbers.
                noise = noise.map(|key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1));
            }
        });
    }

    fn row(&self, number: u32) -> usize {
        assert!((number as usize) < self.rows.len(), "a batch names the client's own rows");
        self.rows.start + number as usize
    }

    fn count(&self, rows: Rows<'_>) -> usize {
        match rows {
            Rows::All => self.rows.len(),
            Rows::Only(list) => list.len(),
        }
    }

    /// Writes the gradient and gives the value, if it is wanted.
    fn differentiate(&self, x: &Vector, mut batch: Batch<'_>, valued: bool, g: &mut Vector) -> f64 {
        let count = self.count(batch.rows);
        let (x, g) = (x.f32s(), g.f32s_mut());
        if count == 0 {
            g.fill(0.0);
            return 0.0;
        }
        let (share, mut sum, mut accumulate) = (1.0 / count as f64, 0.0, false);
        // Statistics over a batch are over all of it.
        let whole = self.network.buffers.is_some();
        let noise = batch.noise.map(|noise| noise.key());
        self.chunks(batch.rows, whole, noise, |layers, noise, room| {
            let buffers = batch.buffers.as_mut().map(|buffers| buffers.f32s_mut());
            sum += layers.gradient(x, Inputs { noise, buffers, share, accumulate, unvalued: !valued }, room, g);
            accumulate = true;
        });
        sum * share
    }
}

impl Objective for NetworkObjective {
    fn dim(&self) -> usize {
        self.network.layers.dim()
    }

    fn samples(&self) -> usize {
        self.rows.len()
    }

    fn precision(&self) -> Precision {
        Precision::F32
    }

    fn start(&self) -> Vector {
        // Clients are told apart by their first row; 0 is the dice of the common start.
        let dice = |seed: &Seed| seed.fixed(ClientId(1 + self.network.before as u32 + self.rows.start as u32), Purpose::Start);
        let own = self.network.own.as_ref();
        own.map_or_else(|| self.network.common_start(), |(own, seed)| own.start(&self.network.layers, &mut dice(seed)))
    }

    fn value(&self, x: &Vector, mut batch: Batch<'_>) -> f64 {
        let (mut sum, count) = (0.0, self.count(batch.rows));
        // Statistics over a batch are over all of it, unless running ones are there.
        let whole = self.network.buffers.is_some() && batch.buffers.is_none();
        self.chunks(batch.rows, whole, None, |layers, _, room| {
            let buffers = batch.buffers.as_mut().map(|buffers| buffers.f32s_mut());
            sum += layers.value(x.f32s(), Inputs { buffers, ..Inputs::default() }, room);
        });
        sum / count.max(1) as f64
    }

    fn gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) {
        self.differentiate(x, batch, false, g);
    }

    fn value_gradient(&self, x: &Vector, batch: Batch<'_>, g: &mut Vector) -> f64 {
        self.differentiate(x, batch, true, g)
    }

    /// Layers step as their slopes come: a gradient of 1.7 million numbers is not written and read again.
    fn descend(&self, x: &mut Vector, mut batch: Batch<'_>, rate: f64, spare: &mut Option<Vector>) {
        let (count, whole) = (self.count(batch.rows), self.network.buffers.is_some());
        if count > CHUNK && !whole {
            // Every part of the batch is to be differentiated at the same point.
            let g = spare.get_or_insert_with(|| x.zeros_like());
            self.differentiate(x, batch, false, g);
            return x.axpy(-rate, g);
        }
        let (share, x) = (-rate / count as f64, x.f32s_mut());
        let noise = batch.noise.map(|noise| noise.key());
        self.chunks(batch.rows, whole, noise, |layers, noise, room| {
            let buffers = batch.buffers.as_mut().map(|buffers| buffers.f32s_mut());
            layers.step(x, Inputs { noise, buffers, share, accumulate: false, unvalued: true }, room);
        });
    }

    fn buffers(&self) -> Option<Vector> {
        self.network.buffers.clone()
    }
}
