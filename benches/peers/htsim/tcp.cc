// TCP or DCTCP on a fat-tree of csg-htsim: flows from a file, each on a random one of its shortest paths.
//
// htsim's own program for TCP draws its flows itself and lets them run without end, so that it cannot be given the flows of
// another simulator. This one answers with one JSON object: how many flows there were, and how many completed.
//
//     tcp tcp|dctcp HOSTS LINK_MBPS DELAY_US QUEUE_BYTES FLOWS     a flow a line: source, destination, bytes

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

#include "config.h"
#include "dctcp.h"
#include "eventlist.h"
#include "fat_tree_topology.h"
#include "logfile.h"
#include "loggers.h"
#include "network.h"
#include "tcp.h"

namespace {

// Bytes of a full segment on the link: htsim counts no header apart.
constexpr int SEGMENT = 1500;
// Events between two looks at whether all flows are completed.
constexpr int LOOK_EVERY = 64;

bool all_completed(const std::vector<TcpSrc*>& flows, size_t& completed) {
    while (completed < flows.size() && flows[completed]->_last_acked >= flows[completed]->_flow_size) {
        completed++;
    }
    return completed == flows.size();
}

}  // namespace

EventList eventlist;

int main(int argc, char** argv) {
    if (argc != 7) {
        std::cerr << "tcp tcp|dctcp HOSTS LINK_MBPS DELAY_US QUEUE_BYTES FLOWS\n";
        return 2;
    }
    const bool marks = std::string(argv[1]) == "dctcp";
    const int hosts = std::atoi(argv[2]);
    const linkspeed_bps rate = speedFromMbps(std::atof(argv[3]));
    const simtime_picosec delay = timeFromUs(std::atof(argv[4]));
    const mem_b queue = std::atol(argv[5]);

    // htsim prints its settings, and a line for each completed flow.
    std::cout.setstate(std::ios_base::failbit);
    srand(1);
    eventlist.setEndtime(timeFromSec(10));
    Packet::set_packet_size(SEGMENT);
    // The ECN queue is a plain FIFO queue but for its marks, which TCP's senders do not react to.
    FatTreeTopology network(hosts, rate, queue, nullptr, &eventlist, nullptr, ECN, delay, 0, FAIR_PRIO);
    TcpRtxTimerScanner timers(timeFromMs(1), eventlist);

    std::vector<TcpSrc*> flows;
    std::ifstream file(argv[6]);
    uint32_t source = 0, destination = 0;
    uint64_t bytes = 0;
    while (file >> source >> destination >> bytes) {
        TcpSrc* sender = marks ? new DCTCPSrc(nullptr, nullptr, eventlist) : new TcpSrc(nullptr, nullptr, eventlist);
        TcpSink* receiver = new TcpSink();
        sender->set_flowsize(bytes);
        timers.registerTcp(*sender);
        const std::vector<const Route*>* forth = network.get_bidir_paths(source, destination, false);
        const std::vector<const Route*>* back = network.get_bidir_paths(destination, source, false);
        Route* out = new Route(*forth->at(rand() % forth->size()));
        Route* in = new Route(*back->at(rand() % back->size()));
        out->push_back(receiver);
        in->push_back(sender);
        sender->connect(*out, *in, *receiver, 0);
        flows.push_back(sender);
    }
    size_t completed = 0;
    for (int events = 0; eventlist.doNextEvent(); events++) {
        if (events % LOOK_EVERY == 0 && all_completed(flows, completed)) {
            break;
        }
    }
    all_completed(flows, completed);
    std::cout.clear();
    std::cout << "{\"flows\": " << flows.size() << ", \"completed\": " << completed << "}" << std::endl;
    return 0;
}
