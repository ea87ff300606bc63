//! Connections and their paths: slots, the ports by which hosts send, and the whole paths that sources have chosen.

use super::Network;
use super::looking::idle;
use crate::engine::contract::controller::{Act, Order, Placed};
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Choose, Hop, LOOK, Look, Opening};
use crate::engine::data::conn::Conn;
use crate::engine::data::packet::reverse_label;
use crate::ids::{ConnId, FlowId, LinkId, NodeId};

impl<M: Members> Network<'_, M> {
    /// Puts a connection into a slot, or a message that goes by another.
    pub fn open(&mut self, mut conn: Conn) -> ConnId {
        let id = self.free_conns.pop().unwrap_or_else(|| self.remote.new_slot());
        conn.paths_at_source = self.balancers[conn.balancer as usize].at_source();
        conn.by_entropy = self.balancers[conn.balancer as usize].by_entropy();
        conn.learns = self.balancers[conn.balancer as usize].learns();
        if conn.via == ConnId::NONE {
            conn.via = id;
            (conn.sender.port, conn.receiver.port) = self.open_paths(id, &conn);
        }
        self.note_paths(&mut conn);
        self.put(id, conn);
        if self.remote.is_parted() {
            self.remote.opened.push(id);
        }
        id
    }

    /// Lets a connection's balancer choose its paths: the ports by which its ends send.
    pub(in crate::engine) fn open_paths(&mut self, id: ConnId, conn: &Conn) -> (LinkId, LinkId) {
        let flow_label = self.conns.get(conn.parent.index()).map_or(conn.label, |flow| flow.label);
        let Conn { src, dst, label, subflow, key, .. } = *conn;
        let ports = conn.ports();
        let opening = Opening { id, src, dst, label, flow_label, subflow, key, ports, routes: self.routes };
        self.balancers[conn.balancer as usize].open(opening, &mut self.paths)
    }

    /// Notes at a connection's ends the whole paths of their packets, if there are any.
    pub(in crate::engine) fn note_paths(&self, conn: &mut Conn) {
        let balancer = &self.balancers[conn.balancer as usize];
        if let Some(path) = balancer.whole_path(conn.via, true) {
            (conn.sender.label, conn.sender.path_flags) = (path.label, path.flags);
        }
        if let Some(path) = balancer.whole_path(conn.via, false) {
            (conn.receiver.label, conn.receiver.path_flags) = (path.label, path.flags);
        }
    }

    /// Puts a connection into that slot.
    pub(in crate::engine) fn put(&mut self, id: ConnId, conn: Conn) {
        if id.index() >= self.conns.len() {
            // Slots between are those of other parts.
            let none = Conn { open: false, ..Conn::between(NodeId(0), NodeId(0)) };
            self.conns.resize(id.index() + 1, none);
        }
        self.after.watch.opens(id, conn.flow);
        self.conns[id.index()] = conn;
    }

    /// The ports by which two hosts send to each other for a connection: as the balancer chooses, where there are
    /// several; where faults left no way, the ones that it would be without them.
    pub fn ports_of(&mut self, src: NodeId, dst: NodeId, label: u32, balancer: u8) -> (LinkId, LinkId) {
        let (routes, whole) = (self.routes, self.whole);
        let mut choose = |at, to, label: u32| {
            let hops = match routes.next_hops(at, to) {
                [] => whole.next_hops(at, to),
                hops => hops,
            };
            let hop = Hop { at, to, label, hops: 0, ticket: u64::from(label), next_hops: hops };
            if let [only] = hops {
                return *only;
            }
            let balancer = &mut self.balancers[balancer as usize];
            let choice = match balancer.choose(hop, self.now) {
                LOOK => {
                    let look = Look { size: 0, loads: &idle(hops, &self.egress) };
                    balancer.choose_by_load(hop, self.now, look)
                }
                choice => choice,
            };
            hops[choice as usize]
        };
        (choose(src, dst, label), choose(dst, src, reverse_label(label)))
    }

    /// Lets balancers make tables of the routes that hold now.
    #[cold]
    pub(in crate::engine) fn show_routes(&mut self) {
        let rate = |link: LinkId| self.egress[link.index()].port.rate;
        for balancer in &mut self.balancers {
            balancer.routes_change(self.routes, self.fabric, &rate);
        }
    }

    /// Gives a connection another path, unless it is over. Messages that it carries go by it, too.
    pub(in crate::engine) fn place(&mut self, order: &Order) {
        let Act::Path(Placed { id, start, label }) = order.act else {
            unreachable!("a controller orders paths, or acts of queues");
        };
        let conn = self.conns[id.index()];
        if !conn.open || conn.closed || conn.start != start {
            return;
        }
        self.conns[id.index()].relabel(label);
        if conn.flow == FlowId::NONE {
            let messages = self.conns.iter_mut().filter(|message| message.open && message.via == id);
            messages.for_each(|message| message.relabel(label));
        }
    }
}
