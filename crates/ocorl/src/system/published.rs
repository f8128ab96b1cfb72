//! Published results of the paper, and settings of its authors' program. Only the benchmark systems have such a record; each states it in
//! its own file, in its [`Benchmark`](super::Benchmark).

/// A cell of the paper's Table 1: mean ± sample standard deviation over ten noise seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Mean final cost.
    pub mean: f64,
    /// Sample standard deviation of the final cost.
    pub std: f64,
}

/// A row of the paper's Table 1, as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Factor by which the table multiplies the task's cost.
    pub scale: f64,
    /// Cost with the known model and continuous-time control.
    pub continuous: f64,
    /// Cost with the known model and zero-order hold.
    pub held: f64,
    /// Cost of the learned controller with measurements by `max-kernel-distance`.
    pub max_kernel_distance: Cell,
    /// Cost of the learned controller with measurements by `max-determinant`.
    pub max_determinant: Cell,
    /// Cost of the learned controller with equidistant measurements.
    pub equidistant: Cell,
}

/// Settings with which the authors' program computes its zero-order-hold column (see [`crate::baseline::held_as_reference`]).
#[derive(Clone, Debug, PartialEq)]
pub struct HeldReference {
    /// Number of Euler steps in each hold; the printed column mixes 50 and 300.
    pub substeps: usize,
    /// Initial value of every control in the search.
    pub start: f64,
    /// Weight of the last control's square in the *reported* (not the minimised) terminal cost.
    pub terminal_control_weight: f64,
}

/// Settings with which the paper ran a benchmark system; for systems beyond its Table 1 those of the authors' program, or our choice in
/// the same terms.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperSettings {
    /// Number of episodes N.
    pub episodes: usize,
    /// Number of measurements M per episode; the zero-order-hold baselines have M − 1 holds.
    pub measurements: usize,
    /// Prediction horizon T_MPC of the tracker, in the unit of time.
    pub tracking_horizon: f64,
    /// Time between two updates of the tracker; the paper uses 0.02.
    pub tracking_period: f64,
    /// Number of nodes of the reference's tracking problem, both ends included.
    pub tracking_nodes: usize,
    /// Number of nodes of the reference's planner, both ends included.
    pub planner_nodes: usize,
    /// Settings of the zero-order-hold column.
    pub held: HeldReference,
}

/// Conversion of costs from the task's own units to those of the paper's Table 1, which prints a multiple of some costs.
///
/// All computations use the task's units. Front ends convert costs that they display or export.
///
/// ```
/// use ocorl::system::Benchmark;
///
/// let units = Benchmark::find("mountain-car")?.table_units();
/// assert_eq!((units.scale(), units.cost(0.25)), (100.0, 25.0));
/// # Ok::<(), ocorl::system::UnknownSystem>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableUnits {
    scale: f64,
}

impl Default for TableUnits {
    /// Returns the task's own units, for a system that is not in the table.
    fn default() -> Self {
        TableUnits { scale: 1.0 }
    }
}

impl TableUnits {
    /// Returns the units of a row of the table; without a row the task's own units.
    pub(super) fn of(row: Option<&Published>) -> Self {
        row.map_or_else(TableUnits::default, |row| TableUnits { scale: row.scale })
    }

    /// Returns the factor from the task's units to those of the table.
    pub fn scale(self) -> f64 {
        self.scale
    }

    /// Converts a cost (or a difference of costs) to the units of the table.
    pub fn cost(self, cost: f64) -> f64 {
        self.scale * cost
    }

    /// Converts the natural logarithm of a cost to the units of the table.
    pub fn log_cost(self, log: f64) -> f64 {
        log + self.scale.ln()
    }

    /// Converts a cost in the units of the table to the task's units.
    pub fn task_cost(self, printed: f64) -> f64 {
        printed / self.scale
    }
}
