//! `ocorl watch`: a page that shows studies while they learn.

use crate::Manners;
use crate::errors::Failure;
use crate::signals::Signals;
use crate::terminal::{Answer, json, say, write_out};
use ocorl_watch::{Options, Server, Token, WatchError};
use std::net::IpAddr;
use std::path::PathBuf;

/// What `ocorl watch` accepts.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl watch                 all studies and sweeps below this folder; open the address it prints
  ocorl watch runs            those below the folder runs
  ocorl watch --port 9000     exactly this port")]
pub(crate) struct Arguments {
    /// Folder in which studies and sweeps are looked for
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Port, exactly [default: 8017, or the next that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Address to listen at, for others than this machine; needs --token [default: this machine only]
    #[arg(long, value_name = "IP")]
    host: Option<IpAddr>,
    /// The secret of who may write, of your own choice [default: a new one]
    #[arg(long, value_name = "SECRET")]
    token: Option<String>,
}

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let token = arguments.token.as_deref().map(Token::given).transpose()?;
    let (root, host, port) = (arguments.folder.clone(), arguments.host, arguments.port);
    let signals = Signals::catch()?;
    let server = Server::start(&Options { root, host, port, token })?;
    if let Some(host) = host.filter(|host| !host.is_loopback()) {
        say(&format!(
            "warning: everybody who reaches this machine at {host} can look at the studies; only who has the token can write\n"
        ));
    }
    let text = if manners.json {
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
    if !manners.quiet {
        say("open this address in a browser; end with Ctrl-C\n");
    }
    server.run_until(&signals.cancel);
    // The answer is out already.
    let mut failure = Failure::interrupted(signals.caught().unwrap_or_default(), "stopped");
    failure.output = Some(String::new());
    Err(failure)
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        let message = error.to_string();
        match error {
            WatchError::Root { .. } => Failure::usage(message).hint("give a folder that is there"),
            WatchError::NeedsToken { .. } => Failure::usage(message)
                .hint("give one with --token (32 characters or more), or leave --host out: then only this machine is served"),
            WatchError::WeakToken { .. } => Failure::usage(message).hint("or leave --token out: a new one is made"),
            WatchError::Port { exact: true, .. } => {
                Failure::usage(message).hint("give another port, or leave --port out: then a free one is found")
            }
            _ => Failure::badly(message),
        }
    }
}
