//! The forward pass where no reverse pass follows: nothing is kept, and two places hold what lies between layers.

use std::ops::Range;

use super::Chain;
use super::memory::{Slots, Step};
use crate::element::Element;
use crate::layer::Pass;

impl<E: Element> Chain<E> {
    /// Decides which links work on one place when nothing is kept, and how large the places must be.
    pub(super) fn unite(&mut self) {
        for block in &self.blocks {
            for k in block.links.clone() {
                let joins = k > block.links.start && (block.each || self.links[k].layer.in_place());
                match self.units.last_mut() {
                    Some(unit) if joins => unit.end = k + 1,
                    _ => self.units.push(k..k + 1),
                }
            }
        }
        let mut slots = Slots::default();
        for (turn, unit) in self.units.iter().enumerate() {
            let outputs = self.links[unit.end - 1].outputs;
            if unit.end < self.links.len() {
                slots.all[turn % 2] = slots.all[turn % 2].max(outputs);
            }
            for link in self.links[unit.clone()].iter().filter(|_| unit.len() > 1) {
                slots.one = slots.one.max(if link.each { link.outputs } else { 0 });
            }
        }
        self.answers = slots;
    }

    /// y ← all layers of x: the numbers of [`Chain::forward`], of which nothing is kept. The pass has a scratch of
    /// [`Chain::answering`] numbers and needs no memory.
    ///
    /// # Panics
    /// If a slice is not as long as the examples of the pass make it.
    pub fn answer(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        self.check(pass.examples, x, y);
        if self.links.is_empty() {
            return y.copy_from_slice(x);
        }
        let all = pass.examples;
        let ([mut read, mut written], mut small, scratch) = self.answers.cut(all, pass.scratch);
        let mut outer = Pass { memory: &mut [], scratch, buffers: &mut *pass.buffers, ..*pass };
        // The first unit writes to the first place.
        std::mem::swap(&mut read, &mut written);
        for unit in &self.units {
            let (head, tail) = (&self.links[unit.start], &self.links[unit.end - 1]);
            let source = if unit.start == 0 { x } else { &read[..all * head.inputs] };
            let target = if unit.end == self.links.len() { &mut *y } else { &mut written[..all * tail.outputs] };
            let (steps, count) = if head.each { (all, 1) } else { (1, all) };
            for step in (0..steps).map(|first| Step { first, count }) {
                let (source, target) = (&source[step.span(head.inputs)], &mut target[step.span(tail.outputs)]);
                let [one, two] = &mut small;
                self.answer_unit(unit.clone(), step, &mut outer, w, (source, target), [one, two]);
            }
            std::mem::swap(&mut read, &mut written);
        }
    }

    /// Some links for some examples; what lies between them goes to and fro between two places.
    fn answer_unit(
        &self,
        unit: Range<usize>,
        step: Step,
        pass: &mut Pass<'_, E>,
        w: &[E],
        (x, y): (&[E], &mut [E]),
        [mut read, mut written]: [&mut [E]; 2],
    ) {
        // From here on everything lies where the last output belongs.
        let moves = |k: usize| k == unit.start || !self.links[k].layer.in_place();
        let last = unit.clone().rev().find(|&k| moves(k)).unwrap_or(unit.start);
        for k in unit.clone() {
            let link = &self.links[k];
            let outer = Pass { memory: &mut [], scratch: &mut *pass.scratch, buffers: &mut *pass.buffers, ..*pass };
            let (mut inner, w) = (self.narrowed(k, step, outer), &w[link.w.clone()]);
            if !moves(k) {
                let place = if k > last { &mut *y } else { &mut read[..step.count * link.outputs] };
                link.layer.answer(&mut inner, w, &[], place);
                continue;
            }
            let source = if k == unit.start { x } else { &read[..step.count * link.inputs] };
            let target = if k == last { &mut *y } else { &mut written[..step.count * link.outputs] };
            if link.layer.in_place() {
                target.copy_from_slice(source);
                link.layer.answer(&mut inner, w, &[], target);
            } else {
                link.layer.answer(&mut inner, w, source, target);
            }
            if k < last {
                std::mem::swap(&mut read, &mut written);
            }
        }
    }
}
