//! Values that theorems need and nobody knows, estimated from the clients' data without any training run.
//!
//! - **αᵢ** (FLIX, Theorem 1). F(x_avg) − F* ≤ 1/(2n) Σ αᵢ² Lᵢ |xᵢ* − x_avg|², and x_avg is the point for which that sum is least. So for
//!   any z the choice αᵢ = √(2ε/(Lᵢ |xᵢ* − z|²)), at most 1, keeps F(x_avg) − F* ≤ ε; z is the mean of the xᵢ* with weights Lᵢ. Each client
//!   needs its own Lᵢ and xᵢ*, and z: one exchange. Gradient steps gain at least 1 − min μᵢ/Lᵢ each.
//! - **Cᵢ** (Scafflix, Corollary 2): twice the variance of a batch's gradient at the optimum, σᵢ²/b · (m − b)/(m − 1). The optimum is not
//!   known before training; it is taken at Tᵢ(z), with z as above. Of many examples a fixed sample is looked at.
//! - **σ_c, σ_A** (LocalUpdate, Theorem 17): the spread of the local optima, and that of the Hessians at z in the spectral
//!   norm, by power iteration. γ is then the largest rate for which the theorem promises the accuracy.

use std::sync::Arc;

use motet_core::{Batch, ClientId, Mean, Objective, Precision, Seed, Vector};
use motet_runtime::Pool;
use motet_theory::Scales;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::config::{EstimateRules, MethodEntry, ShareRule};
use crate::method::AnyMethod;
use crate::session::States;
use crate::simulate::Built;

/// Examples of a client whose gradients are looked at, at most.
const EXAMPLES: usize = 512;

/// Steps of the power iteration; its error falls with the square of the gap between the two largest eigenvalues.
const POWER_STEPS: usize = 60;

/// What was estimated for one method on one problem.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Estimates {
    /// αᵢ
    #[serde(skip_serializing_if = "Option::is_none")]
    alpha: Option<Vec<f64>>,
    /// Cᵢ
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<Vec<f64>>,
    /// σ_c, σ_A and γ
    #[serde(skip_serializing_if = "Option::is_none")]
    local_updates: Option<[f64; 3]>,
    /// Is the value learnt in rounds, and this what it would be before the first?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    online: bool,
}

/// The clients' losses, what is known of them, and their optima.
struct Ground<'a> {
    losses: Vec<&'a dyn Objective>,
    smoothness: Vec<f64>,
    convexity: Vec<f64>,
    optima: Vec<Vector>,
    /// The mean of the optima with weights Lᵢ.
    centre: Vector,
}

impl Estimates {
    /// Follows some of a method's rules on a problem. None where there are none.
    pub(crate) fn of(entry: &MethodEntry, rules: &EstimateRules, built: &Built, pool: &Arc<Pool>) -> Result<Option<Self>, String> {
        if !rules.any() {
            return Ok(None);
        }
        let ground = Ground::of(entry, built, pool)?;
        let online = *rules != rules.beforehand();
        let mut found = Self { alpha: rules.alpha.map(|rule| ground.shares(&rule)), online, ..Self::default() };
        let params = entry.method.params();
        if rules.noise {
            let Some(batch) = params.get("batch").and_then(Value::as_u64) else {
                return Err("noise = \"estimate\" needs a batch: whole gradients have none".into());
            };
            let share = |k: usize| found.alpha.as_ref().map_or_else(|| entry.method.share(ClientId(k as u32)), |alpha| alpha[k]);
            found.noise = Some((0..ground.losses.len()).map(|k| ground.noise(k, share(k), batch)).collect());
        }
        if let Some(rule) = rules.gamma {
            let steps = params.get("local_steps").and_then(Value::as_u64).and_then(|k| u32::try_from(k).ok());
            let steps = steps.ok_or("step = { estimate } needs a number of local steps")?;
            let scales = ground.scales();
            found.local_updates = Some([scales.centres, scales.curvatures, scales.sharp_gamma_for(steps, *rule.accuracy)]);
        }
        Ok(Some(found))
    }

    /// The method with what was estimated in place of the stand-ins.
    pub(crate) fn applied(&self, method: &Arc<dyn AnyMethod>) -> Result<Arc<dyn AnyMethod>, String> {
        let mut params = method.params();
        if let Some(alpha) = &self.alpha {
            params.insert("alpha".into(), json!({ "per_client": alpha }));
        }
        if let (Some(noise), Some(Value::Object(target))) = (&self.noise, params.get_mut("target")) {
            target.insert("noise".into(), json!({ "per_client": noise }));
        }
        if let Some([.., gamma]) = self.local_updates {
            params.insert("step".into(), json!(gamma));
        }
        method.with_params(params)
    }

    /// For people.
    pub(crate) fn line(&self) -> String {
        let range = |of: &[f64]| {
            let (low, high) = of.iter().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(*v), high.max(*v)));
            format!("{low:.4e} to {high:.4e}, mean {:.4e}", of.iter().sum::<f64>() / of.len() as f64)
        };
        let alpha = self.alpha.as_ref().map(|of| format!("alpha_i {}", range(of)));
        let noise = self.noise.as_ref().map(|of| format!("C_i {}", range(of)));
        let gamma = self.local_updates.map(|[c, a, gamma]| format!("sigma_c {c:.4e}, sigma_A {a:.4e}, gamma {gamma:.4e}"));
        let learnt = if self.online { " (learnt in rounds; this is what local solves give before the first)" } else { "" };
        format!("  estimated: {}{learnt}\n", [alpha, noise, gamma].into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

impl<'a> Ground<'a> {
    fn of(entry: &MethodEntry, built: &'a Built, pool: &Arc<Pool>) -> Result<Self, String> {
        let losses: Vec<&dyn Objective> = built.problem.shards.iter().map(|shard| &*shard.train).collect();
        let known = |what: &str, of: &dyn Fn(&dyn Objective) -> Option<f64>| {
            let each = losses.iter().enumerate().map(|(k, loss)| {
                of(*loss).ok_or_else(|| format!("an estimate needs the {what} of every client's loss, and that of client {k} is not known"))
            });
            each.collect::<Result<Vec<f64>, String>>()
        };
        if losses.iter().any(|loss| loss.precision() != Precision::F64) {
            return Err("an estimate is made in double precision, which this model does not have".into());
        }
        let smoothness = known("smoothness", &|loss| loss.constants().smoothness)?;
        let convexity = known("strong convexity", &|loss| loss.constants().convexity)?;
        // Methods without mixtures solve nothing themselves: FLIX does it for them.
        let solver = match entry.method.alpha() {
            Some(_) => Arc::clone(&entry.method),
            None => Catalogue::standard().read_method("flix", &json!({ "alpha": 1.0 })).map_err(|_| "flix cannot be read".to_owned())?,
        };
        let session = solver.on(built.ground(pool, Seed(0), States::NEW)).map_err(|e| e.to_string())?;
        let optima: Vec<Vector> = session.anchors(vec![true; losses.len()]).map_err(|e| e.to_string())?.into_iter().flatten().collect();
        if optima.is_empty() || optima.len() != losses.len() {
            return Err("an estimate needs the local optimum of every client".into());
        }
        let mut centre = Mean::like(&optima[0]);
        smoothness.iter().zip(&optima).for_each(|(weight, optimum)| centre.add(*weight, optimum));
        let centre = centre.finish();
        Ok(Self { losses, smoothness, convexity, optima, centre })
    }

    fn shares(&self, rule: &ShareRule) -> Vec<f64> {
        if rule.rounds == 0 {
            return vec![0.0; self.losses.len()];
        }
        let slowest = self.convexity.iter().zip(&self.smoothness).map(|(mu, l)| mu / l).fold(1.0, f64::min);
        let eps = *rule.eps / (1.0 - slowest).powf((rule.rounds - 1) as f64);
        let share = |(l, optimum): (&f64, &Vector)| (2.0 * eps / (l * optimum.distance2(&self.centre))).sqrt().min(1.0);
        self.smoothness.iter().zip(&self.optima).map(share).collect()
    }

    /// Cᵢ at Tᵢ(z).
    fn noise(&self, client: usize, share: f64, batch: u64) -> f64 {
        let (loss, examples) = (self.losses[client], self.losses[client].samples());
        if batch as usize >= examples {
            return 0.0;
        }
        let mut at = self.optima[client].clone();
        at.scale(1.0 - share);
        at.axpy(share, &self.centre);
        let looked: Vec<u32> =
            if examples <= EXAMPLES { (0..examples as u32).collect() } else { Seed(0).server(0, 0).choose(EXAMPLES, examples) };
        let mut mean = at.zeros_like();
        loss.gradient(&at, Batch::of(&looked), &mut mean);
        let (mut one, mut sum) = (at.zeros_like(), 0.0);
        for row in &looked {
            loss.gradient(&at, Batch::of(std::slice::from_ref(row)), &mut one);
            sum += one.distance2(&mean);
        }
        // The variance of a batch drawn without replacement; of a sample, with n − 1 below.
        let variance = if looked.len() < examples { sum / (looked.len() - 1) as f64 } else { sum / examples as f64 };
        2.0 * variance / batch as f64 * (examples as f64 - batch as f64) / (examples as f64 - 1.0)
    }

    fn scales(&self) -> Scales {
        let mut mean = Mean::like(&self.optima[0]);
        self.optima.iter().for_each(|optimum| mean.add(1.0, optimum));
        let mean = mean.finish();
        let n = self.optima.len() as f64;
        let centres = (self.optima.iter().map(|optimum| optimum.distance2(&mean)).sum::<f64>() / n).sqrt();
        let curvatures = ((0..self.losses.len()).map(|k| self.curvature(k).powi(2)).sum::<f64>() / n).sqrt();
        let (most, least) =
            (self.smoothness.iter().copied().fold(0.0, f64::max), self.convexity.iter().copied().fold(f64::INFINITY, f64::min));
        Scales { smoothness: most, convexity: least, centres, curvatures }
    }

    /// |Aᵢ − A| in the spectral norm, at z.
    fn curvature(&self, client: usize) -> f64 {
        let mut v = self.centre.zeros_like();
        let mut dice = Seed(0).server(0, client as u32);
        (0..v.len()).for_each(|k| v.f64s_mut()[k] = dice.unit() - 0.5);
        let mut norm = 0.0;
        let (mut own, mut other) = (v.zeros_like(), v.zeros_like());
        for _ in 0..POWER_STEPS {
            v.scale(1.0 / v.norm().max(f64::MIN_POSITIVE));
            self.losses[client].hessian_vector(&self.centre, &v, Batch::all(), &mut own);
            for loss in &self.losses {
                loss.hessian_vector(&self.centre, &v, Batch::all(), &mut other);
                own.axpy(-1.0 / self.losses.len() as f64, &other);
            }
            norm = own.norm();
            std::mem::swap(&mut v, &mut own);
        }
        norm
    }
}
