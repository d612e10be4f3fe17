//! Where the numbers between the layers of a chain lie, and in which steps they are made.

use std::ops::Range;

use super::{Chain, Link};
use crate::count::Count;
use crate::element::Element;
use crate::layer::Pace;

/// Where the numbers between two layers lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// With the caller.
    Input,
    /// In the chain's memory: the output of this link.
    Stored(usize),
    /// The same, for one example at a time.
    Passing(usize),
    /// With the caller.
    Output,
}

/// So many numbers, and so many for each example.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) fixed: usize,
    pub(super) each: usize,
}

impl Size {
    pub(super) fn count(self, examples: usize) -> Count {
        Count::of(self.each) * examples + self.fixed
    }
    /// # Panics
    /// If memory cannot hold so many examples.
    #[inline]
    pub(super) fn of(self, examples: usize) -> usize {
        // Counted by hand: it is asked several times a layer, and a very small network takes a microsecond in all.
        self.each.checked_mul(examples).and_then(|all| all.checked_add(self.fixed)).expect("sizes were checked where they were given")
    }
    /// Sizes of a chain are added after `Chain::new` has counted their sum.
    fn plus(self, other: Size) -> Size {
        Size { fixed: self.fixed + other.fixed, each: self.each + other.each }
    }
}

/// Two places for all examples of a batch and two for one example, between which the numbers of a pass go to and fro.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    /// Numbers of each example.
    pub(super) all: [usize; 2],
    pub(super) one: usize,
}

impl Slots {
    pub(super) fn count(self, examples: usize) -> Count {
        (Count::of(self.all[0]) + self.all[1]) * examples + Count::of(self.one) * 2
    }

    /// The places for the batch, those for one example, and the rest.
    pub(super) fn cut<E>(self, examples: usize, scratch: &mut [E]) -> ([&mut [E]; 2], [&mut [E]; 2], &mut [E]) {
        let (one, rest) = scratch.split_at_mut(examples * self.all[0]);
        let (two, rest) = rest.split_at_mut(examples * self.all[1]);
        let (three, rest) = rest.split_at_mut(self.one);
        let (four, rest) = rest.split_at_mut(self.one);
        ([one, two], [three, four], rest)
    }
}

/// Links that take the same steps.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) links: Range<usize>,
    pub(super) each: bool,
}

/// Some examples of the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) first: usize,
    pub(super) count: usize,
}

impl Step {
    pub(super) fn span(self, numbers: usize) -> Range<usize> {
        self.first * numbers..(self.first + self.count) * numbers
    }
}

impl Block {
    pub(super) fn steps(&self, all: usize) -> impl Iterator<Item = Step> + use<> {
        let (steps, count) = if self.each { (all, 1) } else { (1, all) };
        (0..steps).map(move |first| Step { first, count })
    }
}

impl<E: Element> Chain<E> {
    /// Decides where every output lies.
    pub(super) fn arrange(&mut self) {
        let mut from = Place::Input;
        for k in 0..self.links.len() {
            // Its own place unless it may overwrite: not the caller's input, nor what the layer before reads again.
            let spoils = from == Place::Input || self.links[k - 1].layer.reads().output;
            self.links[k].in_place &= !spoils;
            self.links[k].from = from;
            if !self.links[k].in_place {
                from = Place::Stored(k);
            }
            self.links[k].to = from;
        }
        for k in 0..self.links.len() {
            if self.links[k].to == Place::Stored(k) {
                let to = self.place_of(k);
                if to == Place::Stored(k) && self.links.last().is_some_and(|last| last.to == to) {
                    self.copied = Some(k);
                }
                for link in &mut self.links {
                    for place in [&mut link.from, &mut link.to] {
                        *place = if *place == Place::Stored(k) { to } else { *place };
                    }
                }
            }
        }
    }

    /// Where the output of link `k` lies, given who else works on it and who reads it.
    fn place_of(&self, k: usize) -> Place {
        let count = self.links.len();
        let last = (k..count).take_while(|&l| self.links[l].to == Place::Stored(k)).last().unwrap_or(k);
        let read_by_sharers = (k..=last).any(|l| self.links[l].layer.reads().output);
        let Some(reader) = self.links.get(last + 1) else {
            // The caller may overwrite what it is given.
            return if read_by_sharers { Place::Stored(k) } else { Place::Output };
        };
        let leaves_block = self.blocks.iter().any(|block| block.links.end == last + 1);
        let stays = read_by_sharers || reader.layer.reads().input || leaves_block || !self.links[k].each;
        if stays { Place::Stored(k) } else { Place::Passing(k) }
    }

    /// Lays the memory out.
    pub(super) fn measure(&mut self) {
        let mut at = Size::default();
        for k in 0..self.links.len() {
            let link = &self.links[k];
            let (none, one) = (link.layer.memory(0).known(), link.layer.memory(1).known());
            let more = one.checked_sub(none).expect("a layer keeps no less of one example than of none");
            let own = if link.each { Size { fixed: 0, each: one } } else { Size { fixed: none, each: more } };
            let output = match link.to {
                Place::Stored(owner) if owner == k => Size { fixed: 0, each: link.outputs },
                Place::Passing(owner) if owner == k => Size { fixed: link.outputs, each: 0 },
                _ => Size::default(),
            };
            let link = &mut self.links[k];
            (link.at, link.own) = (at, own);
            at = at.plus(own).plus(output);
        }
        self.memory = at;
        self.slopes = self.slots_of_slopes();
    }

    /// Slopes of what comes in are written to one place while those of what goes out are read from the other. The caller's are read first,
    /// and where they are long enough they are the second place.
    fn slots_of_slopes(&self) -> Slots {
        let mut slots = Slots::default();
        let mut turn = 0;
        for block in self.blocks.iter().rev() {
            for k in block.links.clone().rev().filter(|&k| k > 0 && !self.links[k].in_place) {
                let inputs = self.links[k].inputs;
                if block.each && k > block.links.start {
                    slots.one = slots.one.max(inputs);
                } else {
                    slots.all[turn] = slots.all[turn].max(inputs);
                    turn = 1 - turn;
                }
            }
        }
        if slots.all[1] <= self.outputs {
            slots.all[1] = 0;
        }
        slots
    }

    /// Where a place's numbers of some examples are in the memory.
    pub(super) fn range(&self, place: Place, step: Step, all: usize) -> Range<usize> {
        let (owner, span) = match place {
            Place::Stored(owner) => (owner, step.span(self.links[owner].outputs)),
            Place::Passing(owner) => (owner, 0..self.links[owner].outputs),
            Place::Input | Place::Output => unreachable!("the caller's numbers are not in the memory"),
        };
        let from = self.links[owner].at.of(all) + self.links[owner].own.of(all);
        from + span.start..from + span.end
    }

    /// The memory before a link's own part, that part for some examples, and what follows it.
    pub(super) fn cut<'m>(&self, k: usize, step: Step, all: usize, memory: &'m mut [E]) -> (&'m mut [E], &'m mut [E], &'m mut [E]) {
        let link = &self.links[k];
        let (before, rest) = memory.split_at_mut(link.at.of(all));
        let (own, after) = rest.split_at_mut(link.own.of(all));
        // A link that takes one example at a time keeps a part for each.
        let own = if step.count < all || link.each { &mut own[step.span(link.own.each)] } else { own };
        (before, own, after)
    }
}

/// Runs of links that take the same steps; those that do not care follow the one before, at the head the one after.
pub(super) fn blocks<E: Element>(links: &[Link<E>]) -> Vec<Block> {
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

pub(super) fn mask_part<E>(mask: &[E], all: usize, step: Step) -> &[E] {
    &mask[step.span(mask.len() / all.max(1))]
}
