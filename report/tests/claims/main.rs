//! The claims language, judged on records made by hand whose numbers are known.

mod cases;
mod experiments;
mod falsifiers;
mod made;
mod manual;
mod messages;
mod seeds;
