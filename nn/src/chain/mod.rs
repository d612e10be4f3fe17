//! Layers one after the other: who reads whose output, and where it lies.
//!
//! Runs of layers that like one example at a time are walked example by example, so that an image stays in the cache
//! from its first convolution to its last pooling. An output that no reverse pass reads is kept for one example only.

mod memory;

use std::ops::Range;

use memory::{Block, Place, Size, Step, blocks, mask_part};

use crate::count::Count;
use crate::element::Element;
use crate::layer::{Flow, Layer, Pass};
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
        let [inputs, outputs] = [&input, &shape].map(|shape| shape.count().get().unwrap_or(usize::MAX));
        let (late, memory, copied) = (0, Size::default(), None);
        let mut chain = Self { blocks, links, input, output: shape, inputs, outputs, parameters, dim, late, memory, copied };
        chain.arrange();
        chain.measure();
        chain.wait();
        Ok(chain)
    }

    /// Decides whose slopes wait: those of layers that read their parameters again, for the next example or otherwise.
    fn wait(&mut self) {
        for k in 0..self.links.len() {
            let waits = self.is_each(k) || self.links[k].layer.stepping().is_none();
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

    /// The named blocks of the parameters, in order.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    /// All running statistics at their start.
    pub fn buffers(&self) -> Vec<E> {
        self.links.iter().flat_map(|link| link.layer.buffers()).collect()
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

    /// The longest slopes between layers, per example.
    fn longest(&self) -> usize {
        self.links.iter().map(|link| link.inputs.max(link.outputs)).max().unwrap_or(0)
    }

    /// Numbers needed for a moment.
    pub fn scratch(&self, examples: usize) -> Count {
        let at_once = |k: usize| if self.is_each(k) { 1 } else { examples };
        let layers = (0..self.links.len()).map(|k| self.links[k].layer.scratch(at_once(k)));
        (Count::of(examples) + 1) * self.longest() * 2 + layers.fold(Count::ZERO, Count::max)
    }

    /// Panics unless examples of this chain come in and go out. Every other size of a pass follows from these.
    fn check(&self, examples: usize, x: &[E], y: &[E]) {
        assert_eq!(Some(x.len()), examples.checked_mul(self.inputs), "what comes in is as many examples as the pass has");
        assert_eq!(Some(y.len()), examples.checked_mul(self.outputs), "what goes out is as many examples as the pass has");
    }

    /// y ← all layers of x
    ///
    /// # Panics
    /// If a slice is not as long as the examples of the pass make it.
    pub fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        self.check(pass.examples, x, y);
        if self.links.is_empty() {
            return y.copy_from_slice(x);
        }
        for block in &self.blocks {
            for step in block.steps(pass.examples) {
                for k in block.links.clone() {
                    self.forward_link(k, step, pass, w, x, y);
                }
            }
        }
        if let Some(k) = self.copied {
            let all = Step { first: 0, count: pass.examples };
            y.copy_from_slice(&pass.memory[self.range(Place::Stored(k), all, pass.examples)]);
        }
    }

    fn forward_link(&self, k: usize, step: Step, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let (link, all) = (&self.links[k], pass.examples);
        let target = (link.to != Place::Output).then(|| self.range(link.to, step, all));
        let (before, own, after) = self.cut(k, step, all, pass.memory);
        let mut inner = Pass {
            examples: step.count,
            first: pass.first + step.first,
            memory: own,
            scratch: &mut *pass.scratch,
            noise: pass.noise.map(|noise| noise.wrapping_add((k as u64 + 1) << 48)),
            mask: mask_part(pass.mask, all, step),
            buffers: if pass.buffers.is_empty() { &mut [] } else { &mut pass.buffers[link.buffers.clone()] },
            ..*pass
        };
        let w = &w[link.w.clone()];
        let until = before.len();
        if link.in_place {
            let target = match target {
                Some(range) => &mut before[range],
                None => &mut y[step.span(link.outputs)],
            };
            return link.layer.forward(&mut inner, w, &[], target);
        }
        let source: &[E] = match link.from {
            Place::Input => &x[step.span(link.inputs)],
            place => &before[self.range(place, step, all)],
        };
        let skip = until + link.own.of(all);
        let target = match target {
            Some(range) => &mut after[range.start - skip..range.end - skip],
            None => &mut y[step.span(link.outputs)],
        };
        if link.layer.in_place() {
            target.copy_from_slice(source);
            link.layer.forward(&mut inner, w, &[], target);
        } else {
            link.layer.forward(&mut inner, w, source, target);
        }
    }

    /// g ← or += slopes of the parameters, dx ← those of the input; after a forward pass of the same examples.
    ///
    /// # Panics
    /// If a slice is not as long as the examples of the pass make it.
    pub fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        self.reverse(pass, flow, Weights::Still(w, g));
    }

    /// The same for either kind of parameters.
    pub(crate) fn reverse(&self, pass: &mut Pass<'_, E>, flow: Flow<'_, E>, mut weights: Weights<'_, E>) {
        let Flow { x, dy, mut dx, .. } = flow;
        self.check(pass.examples, x, dy);
        if self.links.is_empty() {
            if let Some(dx) = dx {
                dx.copy_from_slice(dy);
            }
            return;
        }
        let (longest, all) = (self.longest(), pass.examples);
        let (one, rest) = pass.scratch.split_at_mut(all * longest);
        let (two, rest) = rest.split_at_mut(all * longest);
        let (three, rest) = rest.split_at_mut(longest);
        let (four, scratch) = rest.split_at_mut(longest);
        let mut outer = Pass { memory: &mut *pass.memory, scratch, buffers: &mut *pass.buffers, ..*pass };
        let (mut slopes, mut spare) = (dy, [one, two]);
        for block in self.blocks.iter().rev() {
            let head = block.links.start;
            if !block.each {
                let step = Step { first: 0, count: all };
                for k in block.links.clone().rev() {
                    let link = &self.links[k];
                    let dy = &mut slopes[..all * link.outputs];
                    if link.in_place {
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: None }, &mut weights);
                    } else if k == 0 {
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: dx.as_deref_mut() }, &mut weights);
                    } else {
                        let to = &mut spare[0][..all * link.inputs];
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: Some(to) }, &mut weights);
                        turn(&mut slopes, &mut spare);
                    }
                }
                self.catch_up(block, &mut weights);
                continue;
            }
            let (inputs, outputs) = (self.links[head].inputs, self.links[block.links.end - 1].outputs);
            for step in block.steps(all) {
                let mut inner = &mut slopes[step.span(outputs)];
                let mut small = [&mut *three, &mut *four];
                for k in block.links.clone().rev() {
                    let link = &self.links[k];
                    let dy = &mut inner[..link.outputs];
                    if link.in_place {
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: None }, &mut weights);
                    } else if k == 0 {
                        let to = dx.as_mut().map(|dx| &mut dx[step.span(inputs)]);
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: to }, &mut weights);
                    } else if k == head {
                        let to = &mut spare[0][step.span(inputs)];
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: Some(to) }, &mut weights);
                    } else {
                        let to = &mut small[0][..link.inputs];
                        self.backward_link(k, step, &mut outer, Flow { x, y: &[], dy, dx: Some(to) }, &mut weights);
                        turn(&mut inner, &mut small);
                    }
                }
            }
            self.catch_up(block, &mut weights);
            if head > 0 {
                turn(&mut slopes, &mut spare);
            }
        }
    }

    /// Adds the slopes that had to wait to their parameters.
    fn catch_up(&self, block: &Block, weights: &mut Weights<'_, E>) {
        let Weights::Moving(w, late) = weights else { return };
        for link in &self.links[block.links.clone()] {
            w[link.w.clone()].iter_mut().zip(&late[link.late.clone()]).for_each(|(w, slope)| *w += *slope);
        }
    }

    fn backward_link(&self, k: usize, step: Step, pass: &mut Pass<'_, E>, flow: Flow<'_, E>, weights: &mut Weights<'_, E>) {
        let (link, all, reads) = (&self.links[k], pass.examples, self.links[k].layer.reads());
        let skip = link.at.of(all) + link.own.of(all);
        let (before, own, after) = self.cut(k, step, all, pass.memory);
        let y: &[E] = match link.to {
            Place::Stored(owner) if reads.output && owner == k => {
                let range = self.range(link.to, step, all);
                &after[range.start - skip..range.end - skip]
            }
            Place::Stored(_) if reads.output => &before[self.range(link.to, step, all)],
            _ => &[],
        };
        let x: &[E] = match link.from {
            _ if !reads.input => &[],
            Place::Input => &flow.x[step.span(link.inputs)],
            place => &before[self.range(place, step, all)],
        };
        let mut inner = Pass {
            examples: step.count,
            first: pass.first + step.first,
            memory: own,
            scratch: &mut *pass.scratch,
            noise: pass.noise.map(|noise| noise.wrapping_add((k as u64 + 1) << 48)),
            mask: mask_part(pass.mask, all, step),
            buffers: if pass.buffers.is_empty() { &mut [] } else { &mut pass.buffers[link.buffers.clone()] },
            fresh: pass.fresh && step.first == 0,
            ..*pass
        };
        let flow = match flow.dx {
            Some(dx) if link.layer.in_place() && !link.in_place => {
                dx.copy_from_slice(flow.dy);
                Flow { x, y, dy: dx, dx: None }
            }
            dx => Flow { x, y, dy: flow.dy, dx },
        };
        match (weights, link.layer.stepping()) {
            (Weights::Still(w, g), _) => link.layer.backward(&mut inner, &w[link.w.clone()], flow, &mut g[link.w.clone()]),
            (Weights::Moving(w, _), Some(stepping)) if link.late.is_empty() => {
                stepping.backward_onto(&mut inner, &mut w[link.w.clone()], flow);
            }
            (Weights::Moving(w, late), _) => {
                link.layer.backward(&mut inner, &w[link.w.clone()], flow, &mut late[link.late.clone()]);
            }
        }
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

/// What was just written is read next; what was read may be written over, unless it is the caller's.
fn turn<'s, E>(slopes: &mut &'s mut [E], spare: &mut [&'s mut [E]; 2]) {
    let [one, two] = std::mem::take(spare);
    let read = std::mem::replace(slopes, one);
    *spare = if two.is_empty() { [read, two] } else { [two, Default::default()] };
}
