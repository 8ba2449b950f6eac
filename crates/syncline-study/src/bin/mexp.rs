//! Experiment
#![allow(missing_docs)]
use syncline_study::figures::PLANS; use syncline_study::lab::{Effort, Lab}; use syncline_study::target::Target;
fn main() { let a: Vec<String> = std::env::args().collect(); let lab = Lab { effort: Effort::Quick, seed: 1 };
 for f in &a[2..] { let t = Target::named(f).unwrap(); let plan = PLANS.iter().find(|p| p.id == a[1]).unwrap();
 let p = (plan.measure)(&lab, &t).unwrap(); println!("# {f}"); for s in &p.series { println!("{:28} {}", s.name, s.points.iter().map(|q| format!("{}{}={:.1}{}", q.x, q.label, q.y, q.note)).collect::<Vec<_>>().join(" ")); } } }
