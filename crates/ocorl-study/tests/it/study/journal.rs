//! A study as the journal of the episode loop.

use super::{begin, episode, small, system};
use ocorl::learn::{EpisodeLoop, Settings};
use ocorl::plant::{Plant, Rollout, RolloutResult, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::simulated::Simulated;
use ocorl_study::store::Access;
use ocorl_study::study::{Study, StudyJournal, Telling};

/// A plant that counts its runs, and is cancelled in one of them.
struct Counted {
    plant: SimulatedPlant,
    runs: Vec<(usize, usize)>,
    cancelled_at: Option<(usize, usize)>,
    /// Rollouts that measure nothing.
    silent: Vec<usize>,
}

impl Counted {
    fn new(cancelled_at: Option<(usize, usize)>) -> Self {
        let system = system();
        let truth = system.truth.as_ref().unwrap();
        let plant = SimulatedPlant::new(system.task.clone(), truth.dynamics(), Stream::root(7));
        Counted { plant, runs: Vec::new(), cancelled_at, silent: Vec::new() }
    }
}

impl Plant for Counted {
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        let here = (rollout.episode, rollout.start);
        self.runs.push(here);
        let mut result = self.plant.run(rollout);
        if self.cancelled_at == Some(here) {
            result.outcome = Outcome::Cancelled { time: 0.0 };
        }
        if self.silent.contains(&rollout.start) {
            result.readings.clear();
        }
        result
    }
}

/// From two initial states.
fn two(episodes: usize) -> Settings {
    let mut settings = small(&system());
    settings.episodes = episodes;
    settings.initial_states = vec![vec![0.0, 1.0], vec![1.0, 0.0]];
    settings
}

#[test]
fn what_a_rollout_gave_is_on_disk_before_the_next_begins() {
    let (stopped, straight) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut costs = Vec::new();
    for (folder, cancelled_at) in [(&stopped, Some((1, 1))), (&straight, None)] {
        let study = Study::create(folder.path(), &system(), two(2), 7, Prices::default()).unwrap();
        let journal = StudyJournal::recording(study, "bench");
        let mut episodes = EpisodeLoop { journal, plant: Counted::new(cancelled_at) };
        while episodes.next_episode(&mut ()).unwrap().is_some() {}
        assert_eq!(episodes.plant.runs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        drop(episodes);
        if cancelled_at.is_some() {
            // The episode is pending, its first rollout is known.
            let study = Study::open(folder.path(), Access::Write).unwrap();
            let pending = study.history().pending().unwrap();
            assert_eq!((pending.episode, pending.rows.len()), (1, 5));
            let journal = StudyJournal::recording(study, "bench");
            let mut episodes = EpisodeLoop { journal, plant: Counted::new(None) };
            while episodes.next_episode(&mut ()).unwrap().is_some() {}
            assert_eq!(episodes.plant.runs, [(1, 1)]);
        }
        let study = Study::open(folder.path(), Access::Read).unwrap();
        let each = study.history().episodes.iter();
        costs.push(each.map(|e| e.closed.as_ref().unwrap().cost.unwrap()).collect::<Vec<f64>>());
        assert_eq!(study.history().measurements(), 20);
    }
    assert_eq!(costs[0], costs[1]);
}

#[test]
fn an_episode_whose_last_rollout_measured_nothing_has_failed() {
    for (silent, reason, rows) in
        [(vec![1], "the last run measured nothing", 5), (vec![0, 1], "nothing was measured", 0)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut study = Study::create(folder.path(), &system(), two(1), 7, Prices::default()).unwrap();
        let plant = Counted { silent, ..Counted::new(None) };
        let journal = StudyJournal::recording(&mut study, "bench");
        let run = EpisodeLoop { journal, plant }.next_episode(&mut ()).unwrap().unwrap();
        assert_eq!(run.results.len(), 2);
        let closed = study.history().episodes[0].closed.clone().unwrap();
        assert_eq!((closed.outcome.as_str(), closed.measured), (reason, rows));
    }
}

#[test]
fn a_replay_that_gives_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    episode(&mut study);
    // The second one with the noise of another seed.
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let other = rig::run(&system(), &plan, &Faults::default(), 8).unwrap();
    study.tell(None, other, "rig", Telling::Whole).unwrap();
    let mut simulated = Simulated::new(study, 0.0).unwrap();
    assert_eq!(simulated.next_episode(&mut ()).unwrap().unwrap().record.episode, 0);
    let error = simulated.next_episode(&mut ()).err().unwrap().to_string();
    assert!(error.contains("replaying episode 1"), "{error}");
    // Nothing was written.
    assert_eq!(simulated.study().history().episodes.len(), 2);
}
