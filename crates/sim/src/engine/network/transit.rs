//! Messages of central control in transit, by the numbers in their events, and which of two orders is valid.

use crate::engine::contract::controller::{Act, Order, Report};
use crate::engine::data::event::Event;
use crate::ids::QueueId;

/// A message between a host and the controller.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// Of a host.
    Report(Report),
    /// With its number among the orders to its queue; 0 where the channel has no delay and loses nothing.
    Order(Order, u32),
}

/// Memory of a message in transit.
pub const MESSAGE_BYTES: usize = size_of::<Message>();

/// An order that leaves for a host of another part.
#[derive(Clone, Copy, Debug)]
pub struct SentOrder {
    /// Its arrival; `a` is for that part to set.
    pub event: Event,
    pub order: Order,
    /// Its number among the orders to its queue.
    pub number: u32,
}

/// Messages in transit, by the number in their event. Numbers are reused.
#[derive(Clone, Debug)]
pub struct Transit<T> {
    messages: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Transit<T> {
    fn default() -> Self {
        Transit { messages: Vec::new(), free: Vec::new() }
    }
}

impl<T> Transit<T> {
    /// A message leaves; returns its number.
    pub fn put(&mut self, message: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[number as usize] = Some(message);
        number
    }

    /// The message of that number has arrived.
    pub fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.messages[number as usize].take().expect("its event comes once")
    }

    /// How many are in transit.
    pub fn count(&self) -> usize {
        self.messages.len() - self.free.len()
    }
}

/// A queue's entry in a list by queue, which grows to hold it.
pub fn of_queue<T: Clone + Default>(list: &mut Vec<T>, queue: QueueId) -> &mut T {
    if queue.index() >= list.len() {
        list.resize(queue.index() + 1, T::default());
    }
    &mut list[queue.index()]
}

/// By queue, the number of the last rate or path that has arrived. One that was sent before it and comes after it, because it
/// was lost at first, is void.
#[derive(Clone, Debug, Default)]
pub struct Latest(Vec<u32>);

impl Latest {
    /// Whether an order of that number among those to its queue, from 1, counts when it arrives. Orders over a channel
    /// without delay and losses have the number 0.
    pub fn admits(&mut self, order: &Order, number: u32) -> bool {
        if number == 0 || matches!(order.act, Act::Send(_)) {
            return true;
        }
        let last = of_queue(&mut self.0, order.queue);
        let is_later = number.wrapping_sub(*last) as i32 > 0;
        if is_later {
            *last = number;
        }
        is_later
    }
}
