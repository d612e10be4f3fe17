//! The suite catches what it is there to catch: methods with one fault each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use motet_conformance::{
    AskingTwiceIsAskingOnce, Check, EqualOnAllFleets, ProbesChangeNothing, SurvivesBreaches, SurvivesLoss, everywhere,
};
use motet_core::{
    Abort, Algorithm, ClientId, Deployment, Mean, Message, Misfit, ModelShape, Reader, Round, Site, Study, Vector, Wire, WireError, message,
};

/// Gradient descent with a fault.
#[derive(Default)]
struct Suspect {
    fault: Fault,
    calls: AtomicU64,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    /// Replies depend on something outside the state: how often anybody was asked.
    Ambient,
    /// Being looked at changes what comes next.
    Shy,
    /// Messages are longer than they say.
    Understated,
    /// Steps far too long.
    Diverging,
    /// Replies are believed to fit, and what does not is ignored without a word.
    Trusting,
}

message! {
    /// For ∇fᵢ(x).
    struct Differentiate { x: Vector }
}

#[derive(Clone)]
struct Gradient {
    g: Vector,
    understated: bool,
}

impl Wire for Gradient {
    fn bits(&self) -> u64 {
        self.g.bits()
    }
    fn bytes(&self) -> u64 {
        self.g.bytes() + u64::from(!self.understated)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.g.encode(out);
        self.understated.encode(out);
    }
    fn decode(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { g: Vector::decode(from)?, understated: bool::decode(from)? })
    }
    fn vectors(&mut self, each: &mut dyn FnMut(&mut Vector)) {
        each(&mut self.g);
    }
}

impl Message for Gradient {
    fn kind(&self) -> &'static str {
        "Gradient"
    }
}

impl Algorithm for Suspect {
    type Ask = Differentiate;
    type Reply = Gradient;
    type Server = Vector;
    type Client = ();

    fn server(&self, start: Vector) -> Vector {
        start
    }

    fn client(&self, _: &mut Site<'_>) {}

    fn round(&self, x: &mut Vector, round: &mut Round<'_, Self>) -> Result<(), Abort> {
        let mut mean = Mean::like(x);
        round.ask(&round.everyone(), Differentiate { x: x.clone() }, |_, reply| {
            if reply.g.fits(ModelShape::of(x)).is_ok() {
                mean.add(1.0, &reply.g);
            }
        })?;
        x.axpy(if self.fault == Fault::Diverging { -20.0 } else { -0.1 }, &mean.finish());
        Ok(())
    }

    fn answer(&self, _: &mut (), ask: &Differentiate, site: &mut Site<'_>) -> Gradient {
        let mut g = site.train.gradient(&ask.x);
        let calls = match self.fault {
            Fault::Ambient => self.calls.fetch_add(1, Ordering::Relaxed),
            Fault::Shy => self.calls.load(Ordering::Relaxed),
            _ => 0,
        };
        g.scale(1.0 / (1.0 + calls as f64));
        Gradient { g, understated: self.fault == Fault::Understated }
    }

    fn fits(&self, _: &Differentiate, reply: &Gradient, _: ClientId, model: ModelShape) -> Result<(), Misfit> {
        if self.fault == Fault::Trusting { Ok(()) } else { reply.g.fits(model) }
    }

    fn shared<'a>(&self, x: &'a Vector, _: ClientId) -> &'a Vector {
        x
    }

    fn deploys(&self, _: ClientId) -> Deployment<Self> {
        Deployment::Own(|method, (), shared, _| {
            method.calls.fetch_add(u64::from(method.fault == Fault::Shy), Ordering::Relaxed);
            shared.clone()
        })
    }
}

impl Study for Suspect {}

fn verdict(check: impl Check, fault: Fault) -> String {
    everywhere(&check, &Arc::new(Suspect { fault, ..Suspect::default() })).err().map_or(String::new(), |broken| broken.to_string())
}

#[test]
fn a_faultless_method_passes() {
    for verdict in [
        verdict(EqualOnAllFleets, Fault::None),
        verdict(AskingTwiceIsAskingOnce, Fault::None),
        verdict(SurvivesLoss, Fault::None),
        verdict(SurvivesBreaches, Fault::None),
        verdict(ProbesChangeNothing, Fault::None),
    ] {
        assert_eq!(verdict, "");
    }
}

#[test]
fn replies_that_depend_on_the_surroundings_are_caught() {
    assert!(verdict(EqualOnAllFleets, Fault::Ambient).contains("the rows differ"));
    assert!(verdict(AskingTwiceIsAskingOnce, Fault::Ambient).contains("two replies in one slot differ"));
}

#[test]
fn a_method_changed_by_being_measured_is_caught() {
    assert!(verdict(ProbesChangeNothing, Fault::Shy).contains("different states"));
}

#[test]
fn a_message_that_understates_its_length_is_caught() {
    assert!(verdict(EqualOnAllFleets, Fault::Understated).contains("bytes announced"));
}

#[test]
fn a_method_that_believes_every_reply_is_caught() {
    assert!(verdict(SurvivesBreaches, Fault::Trusting).contains("1 replies were spoilt, on record are []"));
}

#[test]
fn a_method_that_blows_up_is_caught() {
    assert!(verdict(SurvivesLoss, Fault::Diverging).contains("the loss goes from"));
}
