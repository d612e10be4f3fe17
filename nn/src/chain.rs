//! Layers one after the other: who reads whose output, and where it lies.
//!
//! Runs of layers that like one example at a time are walked example by example, so that an image stays in the cache
//! from its first convolution to its last pooling. An output that no reverse pass reads is kept for one example only.

use std::ops::Range;

use crate::element::Element;
use crate::layer::{Flow, Layer, Pace, Pass};
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
    parameters: Vec<Parameter>,
    dim: usize,
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
}

/// Where the numbers between two layers lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// With the caller.
    Input,
    /// In the chain's memory: the output of this link.
    Kept(usize),
    /// The same, for one example at a time.
    Passing(usize),
    /// With the caller.
    Output,
}

/// So many numbers, and so many for each example.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    fixed: usize,
    each: usize,
}

impl Size {
    fn of(self, examples: usize) -> usize {
        self.fixed + self.each * examples
    }
    fn plus(self, other: Size) -> Size {
        Size { fixed: self.fixed + other.fixed, each: self.each + other.each }
    }
}

/// Links that take the same steps.
#[derive(Debug)]
struct Block {
    links: Range<usize>,
    each: bool,
}

/// Some examples of the batch.
#[derive(Clone, Copy, Debug)]
struct Step {
    first: usize,
    count: usize,
}

impl Step {
    fn span(self, numbers: usize) -> Range<usize> {
        self.first * numbers..(self.first + self.count) * numbers
    }
}

impl<E: Element> Chain<E> {
    /// Checks that every layer fits what comes before it.
    pub fn new(input: Shape, layers: Vec<Named<E>>) -> Result<Self, Misfit> {
        let mut links: Vec<Link<E>> = Vec::with_capacity(layers.len());
        let (mut parameters, mut dim, mut buffers, mut shape) = (Vec::new(), 0, 0, input.clone());
        for (name, mut layer) in layers {
            let kind = layer.kind();
            let next = layer.place(&shape).map_err(|reason| Misfit { layer: name.clone(), kind, reason })?;
            let from = dim;
            for mut parameter in layer.parameters() {
                dim += parameter.len;
                if !name.is_empty() {
                    parameter.name = format!("{name}.{}", parameter.name);
                }
                parameters.push(parameter);
            }
            let (first, count) = (buffers, layer.buffers().len());
            buffers += count;
            links.push(Link {
                w: from..dim,
                buffers: first..buffers,
                inputs: shape.len(),
                outputs: next.len(),
                from: Place::Input,
                to: Place::Input,
                in_place: layer.in_place(),
                at: Size::default(),
                own: Size::default(),
                layer,
            });
            shape = next;
        }
        let blocks = blocks(&links);
        let mut chain = Self { blocks, links, input, output: shape, parameters, dim, memory: Size::default(), copied: None };
        chain.arrange();
        chain.measure();
        Ok(chain)
    }

    fn is_each(&self, k: usize) -> bool {
        self.blocks.iter().any(|block| block.links.contains(&k) && block.each)
    }

    /// Decides where every output lies.
    fn arrange(&mut self) {
        let mut from = Place::Input;
        for k in 0..self.links.len() {
            // Its own place unless it may overwrite: not the caller's input, nor what the layer before reads again.
            let spoils = from == Place::Input || self.links[k - 1].layer.reads().output;
            self.links[k].in_place &= !spoils;
            self.links[k].from = from;
            if !self.links[k].in_place {
                from = Place::Kept(k);
            }
            self.links[k].to = from;
        }
        for k in 0..self.links.len() {
            if self.links[k].to == Place::Kept(k) {
                let to = self.place_of(k);
                if to == Place::Kept(k) && self.links.last().is_some_and(|last| last.to == to) {
                    self.copied = Some(k);
                }
                for link in &mut self.links {
                    for place in [&mut link.from, &mut link.to] {
                        *place = if *place == Place::Kept(k) { to } else { *place };
                    }
                }
            }
        }
    }

    /// Where the output of link `k` lies, given who else works on it and who reads it.
    fn place_of(&self, k: usize) -> Place {
        let count = self.links.len();
        let last = (k..count).take_while(|&l| self.links[l].to == Place::Kept(k)).last().unwrap_or(k);
        let read_by_sharers = (k..=last).any(|l| self.links[l].layer.reads().output);
        let Some(reader) = self.links.get(last + 1) else {
            // The caller may overwrite what it is given.
            return if read_by_sharers { Place::Kept(k) } else { Place::Output };
        };
        let leaves_block = self.blocks.iter().any(|block| block.links.end == last + 1);
        let stays = read_by_sharers || reader.layer.reads().input || leaves_block || !self.is_each(k);
        if stays { Place::Kept(k) } else { Place::Passing(k) }
    }

    /// Lays the memory out.
    fn measure(&mut self) {
        let mut at = Size::default();
        for k in 0..self.links.len() {
            let link = &self.links[k];
            let (none, one) = (link.layer.memory(0), link.layer.memory(1));
            let own = if self.is_each(k) { Size { fixed: 0, each: one } } else { Size { fixed: none, each: one - none } };
            let output = match link.to {
                Place::Kept(owner) if owner == k => Size { fixed: 0, each: link.outputs },
                Place::Passing(owner) if owner == k => Size { fixed: link.outputs, each: 0 },
                _ => Size::default(),
            };
            let link = &mut self.links[k];
            (link.at, link.own) = (at, own);
            at = at.plus(own).plus(output);
        }
        self.memory = at;
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

    /// Numbers kept between the two passes.
    pub fn memory(&self, examples: usize) -> usize {
        self.memory.of(examples)
    }

    /// The longest slopes between layers, per example.
    fn longest(&self) -> usize {
        self.links.iter().map(|link| link.inputs.max(link.outputs)).max().unwrap_or(0)
    }

    /// Numbers needed for a moment.
    pub fn scratch(&self, examples: usize) -> usize {
        let at_once = |k: usize| if self.is_each(k) { 1 } else { examples };
        let layers = (0..self.links.len()).map(|k| self.links[k].layer.scratch(at_once(k))).max().unwrap_or(0);
        2 * (examples + 1) * self.longest() + layers
    }

    /// y ← all layers of x
    pub fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
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
            y.copy_from_slice(&pass.memory[self.range(Place::Kept(k), all, pass.examples)]);
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
    pub fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let Flow { x, dy, mut dx, .. } = flow;
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
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: None }, g);
                    } else if k == 0 {
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: dx.as_deref_mut() }, g);
                    } else {
                        let to = &mut spare[0][..all * link.inputs];
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: Some(to) }, g);
                        turn(&mut slopes, &mut spare);
                    }
                }
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
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: None }, g);
                    } else if k == 0 {
                        let to = dx.as_mut().map(|dx| &mut dx[step.span(inputs)]);
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: to }, g);
                    } else if k == head {
                        let to = &mut spare[0][step.span(inputs)];
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: Some(to) }, g);
                    } else {
                        let to = &mut small[0][..link.inputs];
                        self.backward_link(k, step, &mut outer, w, Flow { x, y: &[], dy, dx: Some(to) }, g);
                        turn(&mut inner, &mut small);
                    }
                }
            }
            if head > 0 {
                turn(&mut slopes, &mut spare);
            }
        }
    }

    fn backward_link(&self, k: usize, step: Step, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        let (link, all, reads) = (&self.links[k], pass.examples, self.links[k].layer.reads());
        let skip = link.at.of(all) + link.own.of(all);
        let (before, own, after) = self.cut(k, step, all, pass.memory);
        let y: &[E] = match link.to {
            Place::Kept(owner) if reads.output && owner == k => {
                let range = self.range(link.to, step, all);
                &after[range.start - skip..range.end - skip]
            }
            Place::Kept(_) if reads.output => &before[self.range(link.to, step, all)],
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
        let (w, g) = (&w[link.w.clone()], &mut g[link.w.clone()]);
        let copies = link.layer.in_place() && !link.in_place;
        match flow.dx {
            Some(dx) if copies => {
                dx.copy_from_slice(flow.dy);
                link.layer.backward(&mut inner, w, Flow { x, y, dy: dx, dx: None }, g);
            }
            dx => link.layer.backward(&mut inner, w, Flow { x, y, dy: flow.dy, dx }, g),
        }
    }

    /// Where a place's numbers of some examples are in the memory.
    fn range(&self, place: Place, step: Step, all: usize) -> Range<usize> {
        let (owner, span) = match place {
            Place::Kept(owner) => (owner, step.span(self.links[owner].outputs)),
            Place::Passing(owner) => (owner, 0..self.links[owner].outputs),
            Place::Input | Place::Output => unreachable!("the caller's numbers are not in the memory"),
        };
        let from = self.links[owner].at.of(all) + self.links[owner].own.of(all);
        from + span.start..from + span.end
    }

    /// The memory before a link's own part, that part for some examples, and what follows it.
    fn cut<'m>(&self, k: usize, step: Step, all: usize, memory: &'m mut [E]) -> (&'m mut [E], &'m mut [E], &'m mut [E]) {
        let link = &self.links[k];
        let (before, rest) = memory.split_at_mut(link.at.of(all));
        let (own, after) = rest.split_at_mut(link.own.of(all));
        // A link that takes one example at a time keeps a part for each.
        let own = if step.count < all || self.is_each(k) { &mut own[step.span(link.own.each)] } else { own };
        (before, own, after)
    }
}

impl Block {
    fn steps(&self, all: usize) -> impl Iterator<Item = Step> + use<> {
        let (steps, count) = if self.each { (all, 1) } else { (1, all) };
        (0..steps).map(move |first| Step { first, count })
    }
}

/// What was just written is read next; what was read may be written over, unless it is the caller's.
fn turn<'s, E>(slopes: &mut &'s mut [E], spare: &mut [&'s mut [E]; 2]) {
    let [one, two] = std::mem::take(spare);
    let read = std::mem::replace(slopes, one);
    *spare = if two.is_empty() { [read, two] } else { [two, Default::default()] };
}

/// Runs of links that take the same steps; those that do not care follow the one before, at the head the one after.
fn blocks<E: Element>(links: &[Link<E>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (k, link) in links.iter().enumerate() {
        let each = match link.layer.pace() {
            Pace::Each => true,
            Pace::Whole => false,
            Pace::Any => match blocks.last() {
                Some(block) => block.each,
                None => links[k..].iter().find(|l| l.layer.pace() != Pace::Any).is_some_and(|l| l.layer.pace() == Pace::Each),
            },
        };
        match blocks.last_mut() {
            Some(block) if block.each == each => block.links.end = k + 1,
            _ => blocks.push(Block { links: k..k + 1, each }),
        }
    }
    blocks
}

fn mask_part<E>(mask: &[E], all: usize, step: Step) -> &[E] {
    &mask[step.span(mask.len() / all.max(1))]
}
