//! All tests of `ocorl-view` from outside, in one program: it is linked once.

mod figures;
mod marks;
mod panels;
mod png;
mod report;
