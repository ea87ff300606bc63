//! Events of central control: a message arrives at a host or at the controller, or the controller acts.

use super::Engine;
use crate::engine::contract::controller::{Act, Order};
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::members::Members;
use crate::engine::data::event::Event;
use crate::engine::network::Network;
use crate::engine::network::context::Cx;
use crate::engine::network::control_plane::ACT;

impl<M: Members> Engine<'_, '_, M> {
    /// A message of central control arrives, or the controller acts.
    #[inline(never)]
    pub(in crate::engine) fn control(&mut self, event: Event) {
        let now = self.net.now;
        let Network { control_plane, mailbox, conns, calendar, .. } = &mut self.net;
        let Some(control_plane) = control_plane else {
            let mailbox = mailbox.as_mut().expect("only a controller has such events");
            if let Some(order) = mailbox.arrive(event.a) {
                self.obey_orders(&[order]);
            }
            return;
        };
        if event.a != ACT {
            if let Some(order) = control_plane.arrive(event.a, now, calendar) {
                self.obey_orders(&[order]);
            }
            return;
        }
        if !control_plane.is_due(now) {
            return;
        }
        self.observers.iter_mut().for_each(|observer| observer.control_begins());
        let orders = control_plane.decide(now, conns, calendar);
        for orders in orders.chunk_by(|order, next| order.host == next.host) {
            self.obey_orders(orders);
        }
        self.observers.iter_mut().for_each(|observer| observer.control_ends());
        if let Some(control_plane) = &mut self.net.control_plane {
            control_plane.reuse(orders);
        }
    }

    /// Orders have reached their host.
    fn obey_orders(&mut self, orders: &[Order]) {
        if let Act::Path(_) = orders[0].act {
            return orders.iter().for_each(|order| self.net.place(order));
        }
        let served = self.net.control_plane.as_ref().map(|control_plane| control_plane.serves);
        let transport = served.or(self.net.mailbox.as_ref().map(|mailbox| mailbox.serves));
        let transport = transport.expect("orders come from a controller");
        let mut cx = Cx { net: &mut self.net, transport, host: orders[0].host };
        self.transports[usize::from(transport)].ordered(orders, &mut cx);
    }
}
