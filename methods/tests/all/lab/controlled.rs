//! Runs of Scafflix and its kin whose control variates can be looked at.

use std::sync::Arc;

use motet_core::{Batch, ClientId, ClientVersions, Fleet, Plan, Reader, Row, Sampling, Seed, Store, Trained, Vector, Wire, train};
use motet_methods::scafflix::{Client, Kind, ScafflixFamily, Server, Variant};
use motet_runtime::{Deployed, Devices, Inline, Lossy, Memory};

use super::{Lab, flix};

/// How a run ended, with the hᵢ that the next ask would find.
pub struct End<K: Kind> {
    pub x: Vector,
    pub h: Vec<Vector>,
    pub step: Vec<f64>,
    pub p: f64,
    pub rows: Vec<Row>,
    pub trained: Trained<ScafflixFamily<K>>,
}

/// What a run needs besides its method.
pub struct Setup<'a> {
    pub lab: &'a Lab,
    pub seed: u64,
    /// The share of replies lost after the work.
    pub loss: f64,
    /// What clients run on.
    pub devices: Option<Devices>,
    /// hᵢ⁰, against the rules.
    pub h: Option<&'a [Vector]>,
}

impl<'a> Setup<'a> {
    pub fn new(lab: &'a Lab, seed: u64) -> Self {
        Self { lab, seed, loss: 0.0, devices: None, h: None }
    }

    pub fn run<K: Kind>(&self, method: &ScafflixFamily<K>, plan: &Plan) -> End<K> {
        let (method, store) = (Arc::new(method.clone()), Arc::new(Memory::default()));
        let seed = Seed(self.seed);
        if let Some(h) = self.h {
            self.plant(&method, &store, h);
        }
        let inline = Inline::new(self.lab.host_with(&method, Arc::clone(&store), seed));
        let mut fleet: Box<dyn Fleet<ScafflixFamily<K>>> = match self.devices {
            Some(devices) => Box::new(Deployed::new(inline, Some(devices), seed)),
            None if self.loss > 0.0 => Box::new(Lossy::new(inline, self.loss, Seed(99))),
            None => Box::new(inline),
        };
        let mut rows = vec![];
        let plan = Plan { seed, ..plan.clone() };
        let trained = train(&*method, self.lab.zeros(), &plan, &mut *fleet, &mut rows).unwrap();
        let Server { x, p, .. } = trained.server.clone();
        let (mut h, mut step) = (vec![], vec![]);
        for i in (0..self.lab.clients.len() as u32).map(ClientId) {
            let kept = store.read(i).unwrap();
            let client = kept.as_ref().and_then(|kept| kept.named(trained.heard.of(i)));
            // Those never asked keep h = 0.
            let (hi, si) = client.map_or((self.lab.zeros(), f64::NAN), |client| round_closed(&*method, client, &x, i));
            h.push(hi);
            step.push(si);
        }
        End { x, h, step, p, rows, trained }
    }

    /// Gives clients a first state, as it would sleep in a store.
    fn plant<K: Kind>(&self, method: &Arc<ScafflixFamily<K>>, store: &Memory<ClientVersions<Client>>, h: &[Vector]) {
        for (i, h) in h.iter().enumerate() {
            let l = self.lab.clients[i].constants().smoothness.unwrap();
            let motet_core::Rate::Given(p) = method.p else { panic!("planted clients need p") };
            let mut bytes = vec![1, 0, 0, 0, 0]; // one version, before the first slot
            Client { h: h.clone(), sent: None, step: 1.0 / l, p: *p, pace: 1.0, slow: 1.0 }.encode(&mut bytes);
            bytes.extend([0; 17]); // no buffers, no work
            store.put(ClientId(i as u32), ClientVersions::decode(&mut Reader::new(&bytes)).unwrap()).unwrap();
        }
    }
}

/// hᵢ once the mean is heard, and γᵢ.
fn round_closed<K: Kind>(method: &ScafflixFamily<K>, client: &Client, x: &Vector, i: ClientId) -> (Vector, f64) {
    let mut h = client.h.clone();
    if let Some(sent) = &client.sent {
        let waits = method.sampling.how == Sampling::Everyone || method.sampling.variant == Variant::Author;
        assert!(waits, "a tracked client waits for nothing");
        let rate = method.chance(client.p, client.slow) * client.pace * method.share(i) / (client.step * client.slow);
        h.axpy(rate, x);
        h.axpy(-rate, sent);
    }
    (h, client.step)
}

/// The fixed point and what Ψ needs of it.
pub struct Target {
    pub x: Vector,
    pub alpha: Vec<f64>,
    models: Vec<Vector>,
    gradients: Vec<Vector>,
    anchors: Vec<Vector>,
}

impl Target {
    pub fn new(lab: &Lab, alpha: &[f64]) -> Self {
        let method = flix(alpha, "zeros");
        let x = lab.optimum(&method).x.unwrap();
        let models = lab.deployed(&method, &x);
        let gradients = models.iter().zip(&lab.clients).map(|(model, f)| gradient(&**f, model)).collect();
        Self { x, alpha: alpha.to_vec(), models, gradients, anchors: lab.anchors(&method) }
    }

    pub fn model(&self, i: usize) -> &Vector {
        &self.models[i]
    }

    fn deployed(&self, i: usize, x: &Vector) -> Vector {
        Vector::mix(self.alpha[i], x, &self.anchors[i])
    }

    fn sharing(&self) -> impl Iterator<Item = usize> {
        (0..self.alpha.len()).filter(|&i| self.alpha[i] > 0.0)
    }

    pub fn least(&self, step: &[f64]) -> f64 {
        self.sharing().map(|i| step[i]).fold(f64::INFINITY, f64::min)
    }

    /// Ψ = 1/n Σ γmin/γᵢ |Tᵢ(xᵢ) − Tᵢ(x^α)|² + γmin/p² 1/n Σ γᵢ |hᵢ − ∇fᵢ(Tᵢ(x^α))|²
    pub fn psi_of(&self, x: &[Vector], h: &[Vector], step: &[f64], p: f64) -> f64 {
        let least = self.least(step);
        let term = |i: usize| {
            let model = self.deployed(i, &x[i]);
            least / step[i] * model.distance2(&self.models[i]) + least / (p * p) * step[i] * h[i].distance2(&self.gradients[i])
        };
        self.sharing().map(term).sum::<f64>() / self.alpha.len() as f64
    }

    pub fn psi<K: Kind>(&self, end: &End<K>) -> f64 {
        self.psi_of(&vec![end.x.clone(); self.alpha.len()], &end.h, &end.step, end.p)
    }

    /// Ψ some local steps after the last communication.
    pub fn psi_after<K: Kind>(&self, lab: &Lab, end: &End<K>, steps: u64) -> f64 {
        let walked = |i: usize| {
            let mut x = end.x.clone();
            for _ in 0..if self.alpha[i] > 0.0 { steps } else { 0 } {
                let mut push = gradient(&*lab.clients[i], &self.deployed(i, &x));
                push.axpy(-1.0, &end.h[i]);
                x.axpy(-end.step[i] / self.alpha[i], &push);
            }
            x
        };
        let x: Vec<Vector> = (0..self.alpha.len()).map(walked).collect();
        self.psi_of(&x, &end.h, &end.step, end.p)
    }

    /// |Σ αᵢ hᵢ|, which must stay 0.
    pub fn drift(&self, h: &[Vector]) -> f64 {
        let mut sum = h[0].zeros_like();
        h.iter().zip(&self.alpha).for_each(|(h, a)| sum.axpy(*a, h));
        sum.norm()
    }
}

pub fn gradient(f: &dyn motet_core::Objective, x: &Vector) -> Vector {
    let mut g = x.zeros_like();
    f.gradient(x, Batch::all(), &mut g);
    g
}

/// Local steps of each round.
pub fn run_lengths(rows: &[Row]) -> Vec<u64> {
    rows.iter().skip(1).map(|row| row.notes["steps"] as u64).collect()
}
