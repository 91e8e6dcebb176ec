//! A world for tests: nodes that can be broken, and a time that is told.

use crate::{
    facts::{holder, spans},
    manager::Manager,
    operation::{Operation, sure},
    options::{configured, seconds},
};
use leasehold::testing;
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::PyDict,
};
use std::{collections::BTreeMap, sync::Arc};

#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct World {
    world: Arc<testing::World>,
    nodes: usize,
}

#[pymethods]
impl World {
    #[new]
    fn new(nodes: usize) -> PyResult<Self> {
        if !(1..=32).contains(&nodes) {
            return Err(PyValueError::new_err(format!(
                "a world has 1 to 32 nodes, not {nodes}"
            )));
        }
        let world = Arc::new(testing::World::new(nodes));
        Ok(Self { world, nodes })
    }

    /// A manager of these options, with the nodes and the time of this world.
    fn manager(&self, given: &Bound<'_, PyDict>) -> PyResult<Manager> {
        let (builder, is_plain, defaults) = configured(self.world.builder(), given)?;
        Manager::build(given.py(), builder, is_plain, defaults)
    }

    /// Whether there is a node of this number.
    fn check(&self, py: Python<'_>, number: usize) -> PyResult<()> {
        self.on(py, number, |_| ())
    }

    fn settle(&self, py: Python<'_>) {
        py.detach(|| self.world.settle());
    }

    fn advance(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<()> {
        let by = seconds("by", by)?;
        py.detach(|| self.world.advance(by));
        Ok(())
    }

    fn give_up_after(&self, patience: &Bound<'_, PyAny>) -> PyResult<()> {
        self.world.give_up_after(seconds("patience", patience)?);
        Ok(())
    }

    fn lose(&self, py: Python<'_>, name: &str) {
        py.detach(|| self.world.lose(name));
    }

    fn holder(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let owner = py.detach(|| self.world.holder(name));
        owner.map(|owner| holder(py, &owner)).transpose()
    }

    fn permits(&self, py: Python<'_>, name: &str) -> PyResult<BTreeMap<usize, Py<PyAny>>> {
        let owners = py.detach(|| self.world.permits(name));
        owners
            .into_iter()
            .map(|(slot, owner)| Ok((slot, holder(py, &owner)?)))
            .collect()
    }

    fn readers(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Py<PyAny>>> {
        let owners = py.detach(|| self.world.readers(name));
        owners.iter().map(|owner| holder(py, owner)).collect()
    }

    fn until_held(&self, name: String) -> Operation {
        let world = Arc::clone(&self.world);
        let work = async move { world.until_held(&name).await };
        sure(work, |py, owner| holder(py, &owner))
    }

    fn down(&self, py: Python<'_>, number: usize, reason: &str) -> PyResult<()> {
        self.on(py, number, |node| node.down(reason))
    }

    fn up(&self, py: Python<'_>, number: usize) -> PyResult<()> {
        self.on(py, number, testing::Node::up)
    }

    fn hang(&self, py: Python<'_>, number: usize) -> PyResult<()> {
        self.on(py, number, testing::Node::hang)
    }

    fn resume(&self, py: Python<'_>, number: usize) -> PyResult<()> {
        self.on(py, number, testing::Node::resume)
    }

    fn answer_after(
        &self,
        py: Python<'_>,
        number: usize,
        delay: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let delay = seconds("delay", delay)?;
        self.on(py, number, |node| node.answer_after(delay))
    }

    fn lose_key(&self, py: Python<'_>, number: usize, name: &str) -> PyResult<()> {
        self.on(py, number, |node| node.lose_key(name))
    }

    fn lose_everything(&self, py: Python<'_>, number: usize) -> PyResult<()> {
        self.on(py, number, testing::Node::lose_everything)
    }

    fn set_clock_forward(
        &self,
        py: Python<'_>,
        number: usize,
        by: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let by = seconds("by", by)?;
        self.on(py, number, |node| node.set_clock_forward(by))
    }

    /// The time of this world, in seconds since it began.
    fn now(&self) -> Option<f64> {
        let clock = self.world.clock();
        spans(Some(
            clock.now().saturating_since(leasehold::Instant::ORIGIN),
        ))
    }
}

impl World {
    fn on(
        &self,
        py: Python<'_>,
        number: usize,
        what: impl FnOnce(&testing::Node) + Send,
    ) -> PyResult<()> {
        if number >= self.nodes {
            let text = format!(
                "there is no node {number}: they are counted from 0 to {}",
                self.nodes - 1
            );
            return Err(PyIndexError::new_err(text));
        }
        py.detach(|| what(self.world.node(number)));
        Ok(())
    }
}
