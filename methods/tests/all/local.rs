//! Pure local models: nothing is sent, everyone deploys their own optimum.

use crate::lab::{Lab, flix};
use motet_core::{Direction, Meter, Outcome, Plan, Seed};
use motet_methods::local::Local;
use motet_methods::parts::Solve;
use motet_problems::synthetic::formula::lrs;

#[test]
fn no_number_is_sent_and_the_run_ends_at_once() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (rows, trained) = lab.run(&Local::default(), lab.zeros(), &Plan::new(50, Seed(1)));
    assert_eq!((trained.outcome, trained.rounds, rows.len()), (Outcome::Finished, 0, 1));
    assert_eq!(trained.ledger.total(Direction::Up).bits + trained.ledger.total(Direction::Down).bits, 0);
}

#[test]
fn everyone_deploys_what_their_solve_finds_and_its_work_is_booked() {
    let lab = Lab::new(lrs(4, 6, 3));
    let (rows, trained) = lab.run(&Local::default(), lab.zeros(), &Plan::new(1, Seed(1)));
    let (mut work, mut loss) = (0, 0.0);
    for (f, deployed) in lab.clients.iter().zip(lab.deployed(&Local::default(), &lab.zeros())) {
        let mut meter = Meter::new(&**f);
        assert_eq!(deployed, Solve::default().solve(&mut meter).x);
        work += meter.work().gradients;
        loss += meter.value(&deployed, motet_core::Rows::All) / 4.0;
    }
    assert_eq!(trained.ledger.gradients, work);
    crate::lab::close(rows[0].metrics["loss"], loss);
}

#[test]
fn it_is_flix_at_alpha_zero() {
    let lab = Lab::new(lrs(4, 6, 3));
    let local = Local { solve: Solve::exactly() };
    assert_eq!(lab.deployed(&local, &lab.zeros()), lab.deployed(&flix(&[0.0; 4], "zeros"), &lab.zeros()));
}
