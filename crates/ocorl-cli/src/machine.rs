//! The machine and the command line, stored with results.

/// Processor model and number of cores, as far as the system reports them.
pub(crate) fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{model}, {cores} core{}", if cores == 1 { "" } else { "s" })
}

/// The command line, without the path of the program.
pub(crate) fn command_line() -> String {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    format!("ocorl {arguments}")
}
