//! What can happen next.

use crate::{shape::Shape, world::World};
use leasehold_core::OperationId;

/// One thing that happens. The checker tries all that can, in every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Time passes.
    Tick,
    /// An application asks for something: of its engine, for what an acquisition won.
    Acquire(usize),
    Extend(usize, OperationId),
    Release(usize, OperationId),
    Cancel(usize, OperationId),
    /// A client's engine looks at the clock.
    Wake(usize),
    /// A client's process stops, or goes on.
    Stop(usize),
    GoOn(usize),
    /// A node carries out the next request of a client. If the link is not slow, the client hears the answer.
    CarryOut(usize, usize),
    /// A client hears a node's next answer.
    Hear(usize, usize),
    /// From now on what is on its way on this link may take any time.
    SlowDown(usize, usize),
    /// A connection is lost, or found again.
    BreakOff(usize, usize),
    /// A connection is lost when the node has carried out the next request.
    BreakAfter(usize, usize),
    ComeUp(usize, usize),
    /// A link has no room for the last request that it was given.
    Refuse(usize, usize),
    /// The next request but one becomes the next. No lawful link does that, but the engine bears it.
    Overtake(usize, usize),
    /// A node carries out a request that was given up with its connection. No lawful link allows it.
    Haunt(usize, usize),
    /// A node forgets its keys. No lawful node does.
    Forget(usize),
    /// Somebody deletes the key on a node without looking whose it is.
    Delete(usize),
    /// A node is told that it votes for another list from now on.
    Tell(usize),
    /// The node that takes the place of another is told when it votes.
    Settle,
    /// All let go, nothing is in the way any more, and time passes until nothing goes on.
    LetGo,
}

impl Step {
    /// The steps that are possible in `world`.
    pub(crate) fn all(shape: &Shape, world: &World, steps: &mut Vec<Self>) {
        if world.is_over() {
            return;
        }
        for client in 0..shape.clients.len() {
            of_client(shape, world, client, steps);
        }
        for node in 0..shape.nodes {
            if is_first_of_its_like(shape, world, node) {
                of_node(shape, world, node, steps);
            }
        }
        if shape.newcomer.is_some() {
            of_operator(shape, world, steps);
        }
        if world.tick == shape.horizon {
            steps.push(Self::LetGo);
        } else if may_time_pass(shape, world) {
            steps.push(Self::Tick);
        }
    }
}

fn of_operator(shape: &Shape, world: &World, steps: &mut Vec<Step>) {
    let to_tell = (0..shape.nodes - 1).filter(|node| !world.replacement.was_told(*node));
    steps.extend(to_tell.map(Step::Tell));
    if world.replacement.is_to_settle(shape) {
        steps.push(Step::Settle);
    }
}

fn may_time_pass(shape: &Shape, world: &World) -> bool {
    // A course that begins later is the same course, but for what an operator does meanwhile.
    let has_begun = shape.newcomer.is_some() || world.clients.iter().any(|it| it.has_begun());
    has_begun && !world.is_held_up(shape) && !is_anybody_late(shape, world)
}

/// Time does not pass a punctual client's timer by.
fn is_anybody_late(shape: &Shape, world: &World) -> bool {
    let mut clients = world.clients.iter().zip(shape.clients);
    clients.any(|(client, habit)| {
        habit.is_punctual && !client.is_stopped && client.is_due(world.client_time())
    })
}

fn of_client(shape: &Shape, world: &World, number: usize, steps: &mut Vec<Step>) {
    let (client, habit) = (&world.clients[number], &shape.clients[number]);
    if client.is_stopped {
        steps.push(Step::GoOn(number));
        return;
    }
    if client.left.stops > 0 && client.has_begun() {
        steps.push(Step::Stop(number));
    }
    let is_free = habit.is_greedy || client.is_idle();
    // Clients of one habit that have not begun are alike, so that only the first of them may begin.
    let is_next =
        (0..number).all(|other| shape.clients[other] != *habit || world.clients[other].has_begun());
    if client.left.acquires > 0 && world.tick <= habit.begins_by && is_free && is_next {
        steps.push(Step::Acquire(number));
    }
    if client.is_due(world.client_time()) {
        steps.push(Step::Wake(number));
    }
    for held in &client.held {
        if !held.is_released || client.left.releases_again > 0 {
            steps.push(Step::Release(number, held.operation));
        }
        if client.left.extends > 0 {
            steps.push(Step::Extend(number, held.operation));
        }
    }
    if client.left.cancels > 0 {
        steps.extend(
            client
                .acquiring()
                .map(|operation| Step::Cancel(number, operation)),
        );
    }
}

fn of_node(shape: &Shape, world: &World, node: usize, steps: &mut Vec<Step>) {
    for client in 0..shape.clients.len() {
        let (link, is_stopped) = (
            world.link(shape, client, node),
            world.clients[client].is_stopped,
        );
        if link.has_ghosts() {
            steps.push(Step::Haunt(client, node));
        }
        if link.is_down() && !is_stopped {
            steps.push(Step::ComeUp(client, node));
            continue;
        }
        if link.has_requests() {
            steps.push(Step::CarryOut(client, node));
        }
        if link.has_requests() && !link.is_slow() && world.left.slow > 0 {
            steps.push(Step::SlowDown(client, node));
        }
        if link.has_replies() && !is_stopped {
            steps.push(Step::Hear(client, node));
        }
        if world.left.overtakings > 0 && link.has_two_requests() {
            steps.push(Step::Overtake(client, node));
        }
        if world.left.breaks > 0 && !is_stopped && (link.has_requests() || link.has_replies()) {
            steps.push(Step::BreakOff(client, node));
            // On a slow link these are two steps.
            if !link.is_slow() && link.has_requests() {
                steps.push(Step::BreakAfter(client, node));
            }
        }
        if world.left.refusals > 0 && !is_stopped && link.has_requests() {
            steps.push(Step::Refuse(client, node));
        }
    }
    if world.has_key(shape, node) {
        if world.left.losses > 0 {
            steps.push(Step::Forget(node));
        }
        if world.left.deletes > 0 {
            steps.push(Step::Delete(node));
        }
    }
}

/// Nodes on which nothing has happened but what happened on all of them are alike: whatever can happen on one
/// of them can happen on the first, and leads to the same world but for the nodes' names. So only the first of
/// them is the next on which something happens.
fn is_first_of_its_like(shape: &Shape, world: &World, node: usize) -> bool {
    let is_alike = |other: usize| !world.is_touched(other) && shape.rate(other) == shape.rate(node);
    world.is_touched(node) || !(0..node).any(is_alike)
}
