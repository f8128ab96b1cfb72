//! `ocorl watch`: serves a web page that shows studies while they learn.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::signals::Signals;
use crate::terminal::{Answer, json, say, write_out};
use ocorl_study::files::read_text;
use ocorl_watch::{Options, Server, Token, WatchError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Arguments of `ocorl watch`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl watch                 show all studies and sweeps below this folder at the printed address
  ocorl watch runs            show those below the folder runs
  ocorl watch --port 9000     use this port only")]
pub(crate) struct Arguments {
    /// Folder in which studies and sweeps are searched
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Port to listen on [default: 8017, or the next free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Address to listen on, for access from other machines; needs --token-file [default: this machine only]
    #[arg(long, value_name = "IP")]
    host: Option<IpAddr>,
    /// File with a secret of your own that allows writing [default: a new secret]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Largest token file in bytes.
const MOST: u64 = 4096;

/// The token in a file. A secret on the command line could be read by every user of the machine.
fn token(file: &Path) -> Result<Token, Failure> {
    let name = file.display();
    let unreadable = |cause: String| {
        Failure::usage(format!("cannot read the token in '{name}'"))
            .detail("cause", cause)
            .hint("give a file with one line, the token; it should be readable by you alone")
    };
    let text = read_text(file, MOST).map_err(unreadable)?;
    Ok(Token::given(text.trim())?)
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let token = arguments.token_file.as_deref().map(token).transpose()?;
    let (root, host, port) = (arguments.folder.clone(), arguments.host, arguments.port);
    let signals = Signals::catch()?;
    let server = Server::start(&Options { root, host, port, token, program: std::env::current_exe().ok() })?;
    if let Some(host) = host.filter(|host| !host.is_loopback()) {
        say(&format!(
            "warning: everyone who can reach this machine at {host} can read the studies; writing needs the token\n"
        ));
    }
    let text = if global.json {
        json(&serde_json::json!({
            "url": server.url(),
            "address": server.address(),
            "token": server.token().reveal(),
            "folder": arguments.folder.display().to_string(),
        }))
    } else {
        server.url() + "\n"
    };
    write_out(&text)?;
    if !global.quiet {
        say("open this address in a browser; stop with Ctrl-C\n");
    }
    server.run_until(&signals.cancel);
    // The answer has been printed already.
    let mut failure = Failure::interrupted(signals.caught().unwrap_or_default(), "stopped");
    failure.output = Some(String::new());
    Err(failure)
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        let message = error.to_string();
        match error {
            WatchError::Root { .. } => Failure::usage(message).hint("give an existing folder"),
            WatchError::NeedsToken { .. } => Failure::usage(message).hint(
                "write one of 32 characters or more into a file and give it with --token-file, or omit --host to serve this machine only",
            ),
            WatchError::WeakToken { .. } => Failure::usage(message).hint("or omit --token-file for a new one"),
            WatchError::Port { exact: true, .. } => {
                Failure::usage(message).hint("choose another port, or omit --port to use a free one")
            }
            _ => Failure::badly(message),
        }
    }
}
