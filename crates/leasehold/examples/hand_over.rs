//! A lease that goes from one process to another: this program hands it to a second one of itself.
//!
//! ```sh
//! cargo run -p leasehold --example hand_over
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use leasehold::LockManager;
use std::{
    env,
    error::Error,
    io::{Read, Write},
    process::{Command, Stdio},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(store) = env::args().nth(1) {
        return take_over(&store).await;
    }
    let store = env::temp_dir().join(format!("leasehold-hand-over-{}", std::process::id()));
    let manager = LockManager::builder().file(&store).build()?;
    let guard = manager.mutex("release/1.2")?.acquire().await?;
    println!("{} has the lock", std::process::id());
    let text = guard.hand_over().await?;
    // The text is as good as the lock: give it to the other through its standard input, not its arguments.
    let mut other = Command::new(env::current_exe()?)
        .arg(&store)
        .stdin(Stdio::piped())
        .spawn()?;
    other
        .stdin
        .take()
        .ok_or("it has a standard input")?
        .write_all(text.as_bytes())?;
    let ended = other.wait()?;
    println!("the other ended with {ended}");
    let seen = manager.inspect("release/1.2").await?;
    println!(
        "the lock is {}",
        if seen.is_free() { "free" } else { "held" }
    );
    manager.shutdown().await;
    std::fs::remove_dir_all(store)?;
    Ok(())
}

async fn take_over(store: &str) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let manager = LockManager::builder().file(store).build()?;
    let guard = manager.adopt(&text).await?;
    println!(
        "{} took it over, good for {:?}",
        std::process::id(),
        guard.remaining()
    );
    println!("{}", guard.release().await);
    manager.shutdown().await;
    Ok(())
}
