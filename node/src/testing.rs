//! A world for the tests of others: nodes that can be broken, and a time that is told.

use crate::{
    core::Core,
    failure::{Failure, owner},
    js::{self, thrown},
    manager::NativeManager,
    observe::Observed,
    options::{ManagerConfig, duration},
};
use leasehold::testing::{Node, World};
use napi_derive::napi;
use serde_json::{Map, Value};

#[napi]
pub struct NativeWorld {
    world: World,
    count: u32,
}

#[napi]
impl NativeWorld {
    #[napi(constructor)]
    pub fn new(nodes: u32) -> js::Result<Self> {
        thrown(|| {
            let count = usize::try_from(nodes).unwrap_or_default();
            if !(1..=32).contains(&count) {
                return Err(Failure::config(&format!(
                    "a world has 1 to 32 nodes, and not {nodes}"
                )));
            }
            let world = World::new(count);
            Ok(Self {
                world,
                count: nodes,
            })
        })
    }

    #[napi]
    pub fn manager(
        &self,
        core: &Core,
        config: ManagerConfig,
        number: u32,
    ) -> js::Result<NativeManager> {
        thrown(|| {
            let observed = Observed::new(&config, number, core.executor());
            let builder = self.world.builder();
            NativeManager::start(config, builder, observed, core.executor())
                .map(NativeManager::of_test)
        })
    }

    #[napi]
    pub fn settle(&self) -> js::Result<()> {
        thrown(|| {
            self.world.settle();
            Ok(())
        })
    }

    #[napi]
    pub fn advance(&self, by: f64) -> js::Result<()> {
        thrown(|| {
            self.world.advance(duration(by));
            Ok(())
        })
    }

    #[napi]
    pub fn give_up_after(&self, patience: f64) {
        self.world.give_up_after(duration(patience));
    }

    #[napi]
    pub fn holder(&self, name: String) -> js::Result<Option<String>> {
        thrown(|| Ok(self.world.holder(&name).as_ref().map(owner)))
    }

    #[napi]
    pub fn permits(&self, name: String) -> js::Result<Value> {
        thrown(|| {
            let permits = self.world.permits(&name).into_iter();
            let permits: Map<String, Value> = permits
                .map(|(slot, by)| (slot.to_string(), owner(&by).into()))
                .collect();
            Ok(Value::Object(permits))
        })
    }

    #[napi]
    pub fn readers(&self, name: String) -> js::Result<Vec<String>> {
        thrown(|| Ok(self.world.readers(&name).iter().map(owner).collect()))
    }

    #[napi]
    pub fn lose(&self, name: String) -> js::Result<()> {
        thrown(|| {
            self.world.lose(&name);
            Ok(())
        })
    }

    /// Does something to a node: takes it down, lets it hang, and so on.
    #[napi]
    pub fn node(
        &self,
        number: u32,
        what: String,
        with: Option<String>,
        by: Option<f64>,
    ) -> js::Result<()> {
        thrown(|| {
            if number >= self.count {
                return Err(Failure::config(&format!(
                    "this world has the nodes 0 to {}, and not {number}",
                    self.count - 1
                )));
            }
            let node: &Node = self
                .world
                .node(usize::try_from(number).unwrap_or(usize::MAX));
            let with = with.as_deref().unwrap_or_default();
            let by = duration(by.unwrap_or_default());
            match what.as_str() {
                "down" => node.down(with),
                "up" => node.up(),
                "hang" => node.hang(),
                "resume" => node.resume(),
                "answer-after" => node.answer_after(by),
                "lose-key" => node.lose_key(with),
                "lose-everything" => node.lose_everything(),
                "set-clock-forward" => node.set_clock_forward(by),
                _ => return Err(Failure::config(&format!("a node cannot {what}"))),
            }
            Ok(())
        })
    }
}
