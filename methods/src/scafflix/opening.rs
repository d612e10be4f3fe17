//! Scafflix before the first round: steps, p, the start and the first control variates.

use motet_core::{Abort, Cohort, Mean, Rate, Round};

use super::{Ask, Kind, Met, Reply, ScafflixFamily, Server, settings};
use crate::parts::Start;

const SMOOTHNESS: &str = "theory needs the smoothness of the model, which is not known";
const CONVEXITY: &str = "theory needs a model that is known to be strongly convex";

fn unsuited(lack: &str, advice: &str) -> Abort {
    Abort::Unsuited(format!("{lack}: {advice}"))
}

impl<K: Kind> ScafflixFamily<K> {
    /// Line 2 and the start, from everyone's constants.
    pub(super) fn introduce(&self, s: &mut Server, sharing: &Cohort, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let mut known = settings::KnownConstants::default();
        let mut average = Mean::like(&s.x);
        let optimum = self.start == Start::OneShot;
        round.ask(sharing, Ask::Introduce { optimum }, |id, reply| {
            let Reply::Introduction { smoothness, bound, convexity, optimum } = reply else { return };
            known.add(id, self.share(id), smoothness, bound, convexity);
            if let Some(optimum) = optimum {
                average.add(self.share(id).powi(2) * smoothness.unwrap_or(f64::NAN), &optimum);
            }
        })?;
        if optimum {
            s.x = average.finish();
            if !s.x.is_finite() {
                return Err(unsuited(SMOOTHNESS, "choose another start"));
            }
        }
        let n = round.everyone().len();
        let common = self.given().or_else(|| known.common(self.kind.steps(), n).map(|step| step * *self.scale));
        let room = match &self.target {
            Some(target) => Some(0.5 * *target.eps * known.least_convexity().ok_or_else(|| unsuited(CONVEXITY, "leave target out"))?),
            None => None,
        };
        if let (Some(room), Some(true)) = (room, self.target.as_ref().map(|target| target.online)) {
            s.met = Some(Met::new(room));
        }
        s.steps = known.steps(|id, bound| {
            let own = || bound.map(|a| *self.scale / a);
            common.or_else(own).map_or(f64::NAN, |step| self.lowered(id, self.step_of(id, step), room))
        });
        if sharing.ids().iter().any(|&id| !self.gamma(s, id).is_finite()) {
            return Err(unsuited(SMOOTHNESS, "give step as a number"));
        }
        if self.p == Rate::Theory {
            let p = known.p(self.kind.steps(), |id| self.gamma(s, id)).ok_or_else(|| unsuited(CONVEXITY, "give p as a number"))?;
            s.p = (p * (1.0 + self.omega(s.x.len())).sqrt()).min(1.0);
        }
        if common.is_some() || room.is_some() || self.p == Rate::Theory {
            round.ask(sharing, Ask::Begin { step: common, room, p: s.p }, |_, _| {})?;
        }
        Ok(())
    }

    /// Line 3 with gradients: Σ αᵢ hᵢ = 0 after it.
    pub(super) fn project(&self, s: &Server, sharing: &Cohort, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let sum = round.sum(sharing, Ask::Differentiate { x: s.x.clone() }, |id| self.share(id))?;
        let weights = sum.answered.ids().iter().fold(0.0, |sum, &id| sum + self.weight(s, id));
        let mut excess = sum.total();
        excess.scale(1.0 / weights);
        round.ask(sharing, Ask::Project { excess }, |_, _| {})?; // line 3
        Ok(())
    }
}
