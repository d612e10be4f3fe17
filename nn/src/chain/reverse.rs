//! The reverse pass, which reads what the forward pass has kept.

use super::memory::{Block, Place, Step};
use super::{Chain, Weights};
use crate::element::Element;
use crate::layer::{Flow, Pass};

impl<E: Element> Chain<E> {
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
        let all = pass.examples;
        let ([one, two], [three, four], scratch) = self.slopes.cut(all, pass.scratch);
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
        let outer = Pass { memory: own, scratch: &mut *pass.scratch, buffers: &mut *pass.buffers, ..*pass };
        let mut inner = self.narrowed(k, step, outer);
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

/// What was just written is read next; what was read may be written over, unless it is the caller's.
fn turn<'s, E>(slopes: &mut &'s mut [E], spare: &mut [&'s mut [E]; 2]) {
    let [one, two] = std::mem::take(spare);
    let read = std::mem::replace(slopes, one);
    *spare = if two.is_empty() { [read, two] } else { [two, Default::default()] };
}
