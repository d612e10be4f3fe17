//! Layers one after the other: who reads whose output, and where it lies.
//!
//! Runs of layers that like one example at a time are walked example by example, so that an image stays in the cache
//! from its first convolution to its last pooling. An output that no reverse pass reads is kept for one example only.

mod answer;
mod forward;
mod memory;
mod reverse;

use std::ops::Range;

use memory::{Block, Place, Size, Slots, Step, blocks, mask_part};

use crate::count::Count;
use crate::element::Element;
use crate::layer::{Layer, Pass};
use crate::parameter::Parameter;
use crate::shape::{Misfit, Shape};

/// A layer and its name; parameters are named `name.weight`.
pub type Named<E> = (String, Box<dyn Layer<E>>);

/// A layer under a name.
pub fn named<E: Element>(name: impl Into<String>, layer: impl Layer<E> + 'static) -> Named<E> {
    (name.into(), Box::new(layer))
}

/// Layers that fit each other.
#[derive(Debug)]
pub struct Chain<E: Element> {
    links: Vec<Link<E>>,
    blocks: Vec<Block>,
    input: Shape,
    output: Shape,
    /// Numbers of one example that come in, and that go out. A shape that no memory holds fits no slice.
    inputs: usize,
    outputs: usize,
    parameters: Vec<Parameter>,
    dim: usize,
    late: usize,
    memory: Size,
    /// Where slopes lie between the links of a reverse pass, and outputs where nothing is kept.
    slopes: Slots,
    answers: Slots,
    /// Links that work on one place when nothing is kept: one by itself and those after it that overwrite their input, or a block that
    /// takes one example at a time.
    units: Vec<Range<usize>>,
    /// The link whose output is kept here and copied to the caller at the end, because a reverse pass reads it.
    copied: Option<usize>,
}

#[derive(Debug)]
struct Link<E: Element> {
    layer: Box<dyn Layer<E>>,
    /// Its part of the parameters, and of the buffers.
    w: Range<usize>,
    buffers: Range<usize>,
    /// Numbers per example.
    inputs: usize,
    outputs: usize,
    /// Does it take one example at a time?
    each: bool,
    from: Place,
    to: Place,
    /// Works on its input where it lies.
    in_place: bool,
    /// Where its part of the memory begins: first what it keeps, then its output.
    at: Size,
    own: Size,
    /// Where its slopes wait in a pass that steps, unless it steps as it goes.
    late: Range<usize>,
}

/// A pass forward, with a reverse pass to come or without.
pub(crate) type Walk<E> = fn(&Chain<E>, &mut Pass<'_, E>, &[E], &[E], &mut [E]);

/// The parameters of a reverse pass, and what becomes of their slopes.
#[derive(Debug)]
pub(crate) enum Weights<'a, E> {
    /// They are written to, or onto, the second.
    Still(&'a [E], &'a mut [E]),
    /// They are added to the parameters; some have to wait in the second until all examples have passed.
    Moving(&'a mut [E], &'a mut [E]),
}

impl<E: Element> Chain<E> {
    /// Checks that every layer fits what comes before it, and that all sizes can be counted.
    pub fn new(input: Shape, layers: Vec<Named<E>>) -> Result<Self, Misfit> {
        let mut links: Vec<Link<E>> = Vec::with_capacity(layers.len());
        let (mut parameters, mut dim, mut buffers, mut shape) = (Vec::new(), 0, 0, input.clone());
        let mut kept = Count::ZERO;
        for (name, mut layer) in layers {
            let kind = layer.kind();
            let misfit = |reason| Misfit { layer: name.clone(), kind, reason };
            let inputs = shape.count().get().ok_or_else(|| misfit(too_many(&shape)))?;
            let next = layer.place(&shape).map_err(misfit)?;
            let outputs = next.count().get().ok_or_else(|| misfit(too_many(&next)))?;
            if inputs == 0 || outputs == 0 {
                return Err(misfit(format!("makes {next} of {shape}, but needs at least 1 number on either side")));
            }
            let from = dim;
            for mut parameter in layer.parameters() {
                dim = numbered(dim, &parameter).map_err(misfit)?;
                if !name.is_empty() {
                    parameter.name = format!("{name}.{}", parameter.name);
                }
                parameters.push(parameter);
            }
            // The layout of the memory below rests on this.
            kept = kept + layer.memory(1).max(layer.memory(0)) + outputs;
            if (kept + layer.scratch(1)).get().is_none() {
                return Err(misfit("keeps more numbers for one example than memory can hold".into()));
            }
            let (first, count) = (buffers, layer.buffers().len());
            buffers += count;
            links.push(Link {
                w: from..dim,
                buffers: first..buffers,
                inputs,
                outputs,
                each: false,
                from: Place::Input,
                to: Place::Input,
                in_place: layer.in_place(),
                at: Size::default(),
                own: Size::default(),
                late: 0..0,
                layer,
            });
            shape = next;
        }
        let blocks = blocks(&links);
        for k in blocks.iter().filter(|block| block.each).flat_map(|block| block.links.clone()) {
            links[k].each = true;
        }
        let [inputs, outputs] = [&input, &shape].map(|shape| shape.count().get().unwrap_or(usize::MAX));
        let (late, memory, copied) = (0, Size::default(), None);
        let (slopes, answers, units) = (Slots::default(), Slots::default(), vec![]);
        let mut chain =
            Self { blocks, links, input, output: shape, inputs, outputs, parameters, dim, late, memory, slopes, answers, units, copied };
        chain.arrange();
        chain.measure();
        chain.unite();
        chain.wait();
        Ok(chain)
    }

    /// Decides whose slopes wait: those of layers that read their parameters again, for the next example or otherwise.
    fn wait(&mut self) {
        for k in 0..self.links.len() {
            let waits = self.links[k].each || self.links[k].layer.stepping().is_none();
            let from = self.late;
            self.late += if waits { self.links[k].w.len() } else { 0 };
            self.links[k].late = from..self.late;
        }
    }

    /// Numbers of all parameters.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// What comes in.
    pub fn input(&self) -> &Shape {
        &self.input
    }

    /// What goes out.
    pub fn output(&self) -> &Shape {
        &self.output
    }

    /// Numbers that come in for one example, counted once.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers that go out for one example.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// The named blocks of the parameters, in order.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    /// All running statistics at their start.
    pub fn buffers(&self) -> Vec<E> {
        self.links.iter().flat_map(|link| link.layer.buffers()).collect()
    }

    /// How many running statistics there are.
    pub(crate) fn buffered(&self) -> usize {
        self.links.last().map_or(0, |link| link.buffers.end)
    }

    /// Does every layer like one example at a time?
    pub(crate) fn each(&self) -> bool {
        self.blocks.iter().all(|block| block.each)
    }

    /// Numbers of those parameters whose slopes wait in a pass that steps.
    pub(crate) fn late(&self) -> usize {
        self.late
    }

    /// Numbers kept between the two passes.
    pub fn memory(&self, examples: usize) -> Count {
        self.memory.count(examples)
    }

    /// Numbers needed for a moment.
    pub fn scratch(&self, examples: usize) -> Count {
        self.slopes.count(examples) + self.most(examples, |layer, examples| layer.scratch(examples))
    }

    /// Numbers needed for a moment where nothing is kept.
    pub fn answering(&self, examples: usize) -> Count {
        self.answers.count(examples) + self.most(examples, |layer, examples| layer.answering(examples))
    }

    /// The most numbers that a layer needs for as many examples as it takes at once.
    fn most(&self, examples: usize, numbers: impl Fn(&dyn Layer<E>, usize) -> Count) -> Count {
        let layers = self.links.iter().map(|link| numbers(&*link.layer, if link.each { 1 } else { examples }));
        layers.fold(Count::ZERO, Count::max)
    }

    /// Has it no layer at all?
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// What a layer is told of a pass, for some examples. The memory is its own already.
    fn narrowed<'p>(&self, k: usize, step: Step, pass: Pass<'p, E>) -> Pass<'p, E> {
        Pass {
            examples: step.count,
            first: pass.first + step.first,
            noise: pass.noise.map(|noise| noise.wrapping_add((k as u64 + 1) << 48)),
            mask: if pass.mask.is_empty() { &[] } else { mask_part(pass.mask, pass.examples, step) },
            buffers: if pass.buffers.is_empty() { &mut [] } else { &mut pass.buffers[self.links[k].buffers.clone()] },
            fresh: pass.fresh && step.first == 0,
            ..pass
        }
    }

    /// Panics unless examples of this chain come in and go out. Every other size of a pass follows from these.
    fn check(&self, examples: usize, x: &[E], y: &[E]) {
        assert_eq!(Some(x.len()), examples.checked_mul(self.inputs), "what comes in is as many examples as the pass has");
        assert_eq!(Some(y.len()), examples.checked_mul(self.outputs), "what goes out is as many examples as the pass has");
    }
}

fn too_many(shape: &Shape) -> String {
    format!("has {shape} numbers on one side, which is more than memory can hold")
}

/// The parameters so far and those of one more block, all of which can be numbered.
fn numbered(dim: usize, parameter: &Parameter) -> Result<usize, String> {
    let count = parameter.layout.count();
    // Messages name the coordinates of a vector in four bytes.
    let Some(all) = (count + dim).get().filter(|all| u32::try_from(*all).is_ok()) else {
        return Err(format!("has too large a block `{}`: a model has at most {} parameters", parameter.name, u32::MAX));
    };
    if !parameter.init.fits(all - dim) {
        return Err(format!("has a block `{}` of {} numbers, which cannot start as {:?}", parameter.name, all - dim, parameter.init));
    }
    Ok(all)
}
