//! A network with a loss, over one flat parameter vector.

use motet_core::Rng;

use crate::chain::{Chain, Named, Walk, Weights};
use crate::count::Count;
use crate::element::Element;
use crate::layer::{Flow, Pass};
use crate::loss::Loss;
use crate::parameter::Parameter;
use crate::shape::{Misfit, Shape};

/// Layers whose shapes were checked, and how their scores are judged.
#[derive(Debug)]
pub struct Model<E: Element> {
    chain: Chain<E>,
    loss: Loss,
    /// The token that stands for nothing, if sequences are padded.
    padding: Option<usize>,
    parameters: Vec<Parameter>,
}

/// Everything a pass needs besides parameters: grows to the largest batch it meets, and is then reused.
///
/// Callers fill [`Workspace::inputs`] and [`Workspace::targets`], example after example. A pass panics on parts of an example,
/// and on a batch of which no memory can hold what it needs.
#[derive(Debug, Default)]
pub struct Workspace<E> {
    /// What comes in.
    pub inputs: Vec<E>,
    /// What the scores are compared with.
    pub targets: Vec<E>,
    scores: Vec<E>,
    mask: Vec<E>,
    /// What is kept for the reverse pass, and what layers need for a moment.
    memory: Vec<E>,
    /// Slopes that wait in a step.
    late: Vec<E>,
}

/// The circumstances of a pass over the examples in a workspace.
#[derive(Debug, Default)]
pub struct Inputs<'a, E> {
    /// The dice of dropout; none in evaluation.
    pub noise: Option<u64>,
    /// Running statistics, if the caller keeps them.
    pub buffers: Option<&'a mut [E]>,
    /// What each example weighs in the gradient; one over their number for a mean.
    pub share: f64,
    /// Add to the gradient instead of overwriting it?
    pub accumulate: bool,
    /// Is the value of no interest beside the gradient? Logarithms take as long as slopes do.
    pub unvalued: bool,
}

impl<E: Element> Model<E> {
    /// Checks that every layer fits what comes before it.
    ///
    /// ```
    /// use motet_nn::{layer::{Activation, Dense, MaxPool}, named, Loss, Model, Shape};
    /// let layers = vec![named("hidden", Dense::new(8)), named("act", Activation::Tanh), named("out", Dense::new(1))];
    /// let model: Model<f32> = Model::new(Shape(vec![3]), layers, Loss::Squared)?;
    /// assert_eq!(model.dim(), 3 * 8 + 8 + 8 + 1);
    /// let wrong = Model::<f32>::new(Shape(vec![3]), vec![named("pool", MaxPool::new(2))], Loss::Squared);
    /// assert!(wrong.unwrap_err().to_string().starts_with("layer `pool` (max pooling) needs images"));
    /// # Ok::<(), motet_nn::Misfit>(())
    /// ```
    pub fn new(input: Shape, layers: Vec<Named<E>>, loss: Loss) -> Result<Self, Misfit> {
        let chain = Chain::new(input, layers)?;
        let parameters = chain.parameters();
        Ok(Self { chain, loss, padding: None, parameters })
    }

    /// With a token that stands for nothing.
    #[must_use]
    pub fn padded_with(self, token: usize) -> Self {
        Self { padding: Some(token), ..self }
    }

    /// d
    pub fn dim(&self) -> usize {
        self.chain.dim()
    }

    /// The named blocks of the parameter vector, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// What one example looks like.
    pub fn input(&self) -> &Shape {
        self.chain.input()
    }

    /// What its scores look like.
    pub fn output(&self) -> &Shape {
        self.chain.output()
    }

    /// How scores are judged.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// Targets of one example.
    pub fn targets(&self) -> usize {
        self.loss.targets(self.output().len() / self.output().last().max(1), self.output().last())
    }

    /// Running statistics at their start; empty if there are none.
    pub fn buffers(&self) -> Vec<E> {
        self.chain.buffers()
    }

    /// A starting point, as the model's paper has it.
    pub fn start(&self, rng: &mut Rng) -> Vec<E> {
        let mut start = Vec::with_capacity(self.dim());
        // One block for all: an allocator that has seen large ones come and go keeps the next for itself.
        let mut block = Vec::new();
        for parameter in &self.parameters {
            block.clear();
            block.resize(parameter.numbers(), 0.0);
            parameter.init.fill(rng, &mut block);
            start.extend(block.iter().copied().map(E::of));
        }
        start
    }

    /// The scores of the examples in the workspace, those of one together; as in evaluation.
    pub fn scores<'w>(&self, w: &[E], buffers: Option<&mut [E]>, room: &'w mut Workspace<E>) -> &'w mut [E] {
        let examples = self.answer(w, &mut Inputs { buffers, ..Inputs::default() }, room);
        &mut room.scores[..examples * self.output().len()]
    }

    /// Σ of the losses of some examples' scores. Spoils the scores.
    pub fn judge(&self, targets: &[E], scores: &mut [E]) -> f64 {
        let (outputs, per) = (self.output().len(), self.targets());
        let examples = targets.chunks_exact(per.max(1)).zip(scores.chunks_exact_mut(outputs.max(1)));
        examples.map(|(targets, scores)| self.loss.value(self.output().last(), targets, scores)).sum()
    }

    /// Σ of the losses of the examples in the workspace; as in evaluation unless there is noise.
    pub fn value(&self, w: &[E], mut inputs: Inputs<'_, E>, room: &mut Workspace<E>) -> f64 {
        let examples = self.answer(w, &mut inputs, room);
        self.judge(&room.targets, &mut room.scores[..examples * self.output().len()])
    }

    /// Σ of the losses if it is wanted, and its slope times `share` into, or onto, `g`.
    pub fn gradient(&self, w: &[E], mut inputs: Inputs<'_, E>, room: &mut Workspace<E>, g: &mut [E]) -> f64 {
        let examples = self.forward(w, &mut inputs, room);
        self.reverse(examples, inputs, room, Weights::Still(w, g))
    }

    /// Σ of the losses if it is wanted, and its slope times `share` onto the parameters themselves: with a share of −γ over the
    /// number of examples, a step of length γ down their mean.
    pub fn step(&self, w: &mut [E], mut inputs: Inputs<'_, E>, room: &mut Workspace<E>) -> f64 {
        let examples = self.forward(w, &mut inputs, room);
        let mut late = std::mem::take(&mut room.late);
        late.resize(self.chain.late(), E::ZERO);
        let sum = self.reverse(examples, inputs, room, Weights::Moving(w, &mut late));
        room.late = late;
        sum
    }

    fn reverse(&self, examples: usize, inputs: Inputs<'_, E>, room: &mut Workspace<E>, weights: Weights<'_, E>) -> f64 {
        let (outputs, last) = (self.chain.outputs(), self.output().last());
        let scores = &mut room.scores[..examples * outputs];
        assert_eq!(room.targets.len(), examples * self.loss.targets(outputs / last.max(1), last), "every example has its targets");
        let sum = self.loss.slopes_of_all((outputs, last), &room.targets, inputs.share, !inputs.unvalued, scores);
        let (memory, scratch) = room.memory.split_at_mut(self.chain.memory(examples).known());
        let buffers = inputs.buffers.unwrap_or_default();
        let (noise, fresh) = (inputs.noise, !inputs.accumulate);
        let mut pass = Pass { examples, first: 0, memory, scratch, noise, mask: &room.mask, buffers, training: true, fresh };
        self.chain.reverse(&mut pass, Flow { x: &room.inputs, y: &[], dy: scores, dx: None }, weights);
        sum
    }

    /// The scores of the examples in the workspace; what a reverse pass reads is kept.
    fn forward(&self, w: &[E], inputs: &mut Inputs<'_, E>, room: &mut Workspace<E>) -> usize {
        let examples = self.examples(w, room);
        let memory = self.chain.memory(examples);
        room.fit(self, examples, memory + self.chain.scratch(examples));
        self.score(Chain::forward, examples, memory.known(), inputs, room, w)
    }

    /// The same where no reverse pass follows.
    fn answer(&self, w: &[E], inputs: &mut Inputs<'_, E>, room: &mut Workspace<E>) -> usize {
        let examples = self.examples(w, room);
        room.fit(self, examples, self.chain.answering(examples));
        self.score(Chain::answer, examples, 0, inputs, room, w)
    }

    fn score(&self, walk: Walk<E>, examples: usize, memory: usize, inputs: &mut Inputs<'_, E>, room: &mut Workspace<E>, w: &[E]) -> usize {
        let (memory, scratch) = room.memory.split_at_mut(memory);
        let (noise, training) = (inputs.noise, inputs.share != 0.0);
        let buffers = inputs.buffers.as_deref_mut().unwrap_or_default();
        let mut pass = Pass { examples, first: 0, memory, scratch, noise, mask: &room.mask, buffers, training, fresh: true };
        walk(&self.chain, &mut pass, w, &room.inputs, &mut room.scores[..examples * self.chain.outputs()]);
        examples
    }

    /// How many examples are in the workspace.
    fn examples(&self, w: &[E], room: &Workspace<E>) -> usize {
        assert_eq!(w.len(), self.dim(), "parameters are those of the model");
        let inputs = self.chain.inputs();
        let examples = room.inputs.len() / inputs.max(1);
        assert_eq!(room.inputs.len(), examples * inputs, "examples are whole");
        examples
    }
}

impl<E: Element> Workspace<E> {
    /// With these examples.
    pub fn of(inputs: Vec<E>, targets: Vec<E>) -> Self {
        Self { inputs, targets, ..Self::default() }
    }

    fn fit(&mut self, model: &Model<E>, examples: usize, numbers: Count) {
        let grow = |room: &mut Vec<E>, len: usize| {
            if room.len() < len {
                // A vector that grows by itself takes twice of what it had.
                room.reserve_exact(len - room.len());
                room.resize(len, E::ZERO);
            }
        };
        grow(&mut self.memory, numbers.known());
        grow(&mut self.scores, (Count::of(model.chain.outputs()) * examples).known());
        self.mask.clear();
        if let Some(token) = model.padding {
            self.mask.extend(self.inputs.iter().map(|t| if t.index() == token { E::ZERO } else { E::ONE }));
        }
    }
}
