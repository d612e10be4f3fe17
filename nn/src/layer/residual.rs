//! y = body(x) + shortcut(x)

use super::{Flow, Layer, Pace, Pass, Reads, Stepping, add};
use crate::chain::{Chain, Named, Walk, Weights};
use crate::count::Count;
use crate::element::Element;
use crate::parameter::Parameter;
use crate::shape::{Misfit, Shape};

/// A residual block: the outputs of a body and of a shortcut are added (He et al. 2016). An empty shortcut is x itself.
#[derive(Debug)]
pub struct Residual<E: Element> {
    body: Way<E>,
    shortcut: Way<E>,
}

#[derive(Debug)]
enum Way<E: Element> {
    Loose(Vec<Named<E>>),
    Placed(Box<Chain<E>>),
}

impl<E: Element> Residual<E> {
    /// A layer with this body and this shortcut.
    pub fn new(body: Vec<Named<E>>, shortcut: Vec<Named<E>>) -> Self {
        Self { body: Way::Loose(body), shortcut: Way::Loose(shortcut) }
    }

    fn ways(&self) -> [&Chain<E>; 2] {
        [&self.body, &self.shortcut].map(|way| match way {
            Way::Placed(chain) => &**chain,
            Way::Loose(_) => unreachable!("a layer is placed before it is used"),
        })
    }

    /// Numbers beside the two ways: what one of them gave, while the other is at work.
    fn side(&self, examples: usize) -> Count {
        let [body, shortcut] = self.ways();
        let slopes = if shortcut.is_empty() { Count::ZERO } else { body.input().count() };
        (body.output().count() + slopes) * examples
    }

    /// Both ways forward, one after the other; `memory` is how much of it is the body's, the rest is the shortcut's.
    fn both(&self, walk: Walk<E>, memory: usize, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let [body, shortcut] = self.ways();
        let (side, scratch) = pass.scratch.split_at_mut(y.len());
        let (first, second) = pass.memory.split_at_mut(memory);
        let (first_buffers, second_buffers) = pass.buffers.split_at_mut(body.buffered().min(pass.buffers.len()));
        let (w_body, w_shortcut) = w.split_at(body.dim());
        walk(body, &mut Pass { memory: first, scratch: &mut *scratch, buffers: first_buffers, ..*pass }, w_body, x, y);
        if shortcut.is_empty() {
            return add(x, y);
        }
        let mut inner = Pass { memory: second, scratch, buffers: second_buffers, noise: pass.noise.map(|n| !n), ..*pass };
        walk(shortcut, &mut inner, w_shortcut, x, side);
        add(side, y);
    }
}

impl<E: Element> Way<E> {
    fn place(&mut self, input: &Shape) -> Result<Shape, Misfit> {
        if let Way::Loose(layers) = self {
            *self = Way::Placed(Box::new(Chain::new(input.clone(), std::mem::take(layers))?));
        }
        match self {
            Way::Placed(chain) => Ok(chain.output().clone()),
            Way::Loose(_) => unreachable!("placed above"),
        }
    }
}

impl<E: Element> Layer<E> for Residual<E> {
    fn kind(&self) -> &'static str {
        "residual block"
    }
    fn place(&mut self, input: &Shape) -> Result<Shape, String> {
        let body = self.body.place(input).map_err(|e| format!("has a body that does not fit: {e}"))?;
        let shortcut = self.shortcut.place(input).map_err(|e| format!("has a shortcut that does not fit: {e}"))?;
        if body != shortcut {
            return Err(format!("adds a body of {body} to a shortcut of {shortcut}"));
        }
        Ok(body)
    }
    fn parameters(&self) -> Vec<Parameter> {
        self.ways().into_iter().flat_map(|way| way.parameters()).collect()
    }
    fn buffers(&self) -> Vec<E> {
        self.ways().into_iter().flat_map(|way| way.buffers()).collect()
    }
    fn pace(&self) -> Pace {
        if self.ways().iter().all(|way| way.each()) { Pace::Each } else { Pace::Whole }
    }
    fn reads(&self) -> Reads {
        Reads::INPUT
    }
    fn memory(&self, examples: usize) -> Count {
        self.ways().iter().map(|way| way.memory(examples)).sum()
    }
    fn scratch(&self, examples: usize) -> Count {
        let [body, shortcut] = self.ways();
        let late = Count::of(body.late().max(shortcut.late()));
        self.side(examples) + late + body.scratch(examples).max(shortcut.scratch(examples))
    }
    fn answering(&self, examples: usize) -> Count {
        let [body, shortcut] = self.ways();
        self.side(examples) + body.answering(examples).max(shortcut.answering(examples))
    }

    fn forward(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        let memory = self.ways()[0].memory(pass.examples).known();
        self.both(Chain::forward, memory, pass, w, x, y);
    }

    fn answer(&self, pass: &mut Pass<'_, E>, w: &[E], x: &[E], y: &mut [E]) {
        self.both(Chain::answer, 0, pass, w, x, y);
    }

    fn backward(&self, pass: &mut Pass<'_, E>, w: &[E], flow: Flow<'_, E>, g: &mut [E]) {
        self.reverse(pass, flow, Weights::Still(w, g));
    }

    fn stepping(&self) -> Option<&dyn Stepping<E>> {
        Some(self)
    }
}

impl<E: Element> Stepping<E> for Residual<E> {
    fn backward_onto(&self, pass: &mut Pass<'_, E>, w: &mut [E], flow: Flow<'_, E>) {
        self.reverse(pass, flow, Weights::Moving(w, &mut []));
    }
}

impl<E: Element> Residual<E> {
    /// Both ways back, the shortcut first. Slopes that have to wait in a pass that steps do so in the scratch, one way's after the
    /// other's.
    fn reverse(&self, pass: &mut Pass<'_, E>, flow: Flow<'_, E>, weights: Weights<'_, E>) {
        let [body, shortcut] = self.ways();
        let (dim, memory) = (body.dim(), body.memory(pass.examples).known());
        let (side, rest) = pass.scratch.split_at_mut(self.side(pass.examples).known());
        let (late, scratch) = rest.split_at_mut(body.late().max(shortcut.late()));
        let (copy, slopes) = side.split_at_mut(flow.dy.len());
        copy.copy_from_slice(flow.dy);
        let (first, second) = pass.memory.split_at_mut(memory);
        let (first_buffers, second_buffers) = pass.buffers.split_at_mut(body.buffered().min(pass.buffers.len()));
        let (mut of_body, mut of_shortcut) = match weights {
            Weights::Still(w, g) => {
                let ((wb, ws), (gb, gs)) = (w.split_at(dim), g.split_at_mut(dim));
                (Parameters::Still(wb, gb), Parameters::Still(ws, gs))
            }
            Weights::Moving(w, _) => {
                let (wb, ws) = w.split_at_mut(dim);
                (Parameters::Moving(wb), Parameters::Moving(ws))
            }
        };
        let mut dx = flow.dx;
        // What the shortcut passes on: slopes as they came, where it is x itself.
        let passed = if shortcut.is_empty() {
            &*copy
        } else {
            let mut inner =
                Pass { memory: second, scratch: &mut *scratch, buffers: second_buffers, noise: pass.noise.map(|n| !n), ..*pass };
            let way = Flow { x: flow.x, y: &[], dy: copy, dx: dx.is_some().then_some(&mut *slopes) };
            shortcut.reverse(&mut inner, way, of_shortcut.weights(&mut late[..shortcut.late()]));
            &*slopes
        };
        let mut inner = Pass { memory: first, scratch, buffers: first_buffers, ..*pass };
        let way = Flow { x: flow.x, y: &[], dy: flow.dy, dx: dx.as_deref_mut() };
        body.reverse(&mut inner, way, of_body.weights(&mut late[..body.late()]));
        if let Some(dx) = dx {
            add(passed, dx);
        }
    }
}

/// One way's part of the parameters.
enum Parameters<'a, E> {
    Still(&'a [E], &'a mut [E]),
    Moving(&'a mut [E]),
}

impl<E> Parameters<'_, E> {
    fn weights<'w>(&'w mut self, late: &'w mut [E]) -> Weights<'w, E> {
        match self {
            Parameters::Still(w, g) => Weights::Still(w, g),
            Parameters::Moving(w) => Weights::Moving(w, late),
        }
    }
}
