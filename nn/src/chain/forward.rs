//! The forward pass of a training step: what the reverse pass reads is kept.

use super::Chain;
use super::memory::{Place, Step};
use crate::element::Element;
use crate::layer::Pass;

impl<E: Element> Chain<E> {
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
        let outer = Pass { memory: own, scratch: &mut *pass.scratch, buffers: &mut *pass.buffers, ..*pass };
        let mut inner = self.narrowed(k, step, outer);
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
}
