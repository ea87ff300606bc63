// The TCP permutation of `make bench` for ns-3: long-lived flows on a k-ary fat-tree.
//
// Nodes and cables are numbered as in crates/sim/src/topology/fat_tree.rs, so that flows and links of both
// programs can be compared one by one. The flows come from a file (lines of "source destination bytes start_ps"),
// the answer goes to standard output as JSON. What is switched off and why: README.md.

#include "fat_tree.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"

#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;
// IPv4, TCP without options, and the two bytes of the PPP header.
constexpr uint64_t HEADER_BYTES = 20 + 20 + 2;

struct Parameters
{
    std::string rtoMin = "1ms";
    uint32_t window = 65535;
    uint32_t initialWindow = 10;
    uint32_t mss = 1460;
    std::string flows;
};

struct Flow
{
    uint32_t source;
    uint32_t destination;
    uint64_t bytes;
    int64_t start;
    uint64_t received = 0;
    int64_t completed = -1;
};

void
SetDefaults(const Parameters& parameters)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue(parameters.rtoMin));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(NanoSeconds(1)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", StringValue(parameters.rtoMin));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", StringValue(parameters.rtoMin));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(parameters.initialWindow));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(parameters.mss));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(parameters.window));
    // Pieces of one segment each are the cheapest way through the send buffer.
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(parameters.mss));
}

std::vector<Flow>
ReadFlows(const std::string& path)
{
    std::ifstream file(path);
    NS_ABORT_MSG_UNLESS(file, "cannot read " << path);
    std::vector<Flow> flows;
    for (Flow flow; file >> flow.source >> flow.destination >> flow.bytes >> flow.start;)
    {
        flows.push_back(flow);
    }
    return flows;
}

void
Receive(Flow* flow, Ptr<Socket> socket)
{
    while (const Ptr<Packet> packet = socket->Recv())
    {
        flow->received += packet->GetSize();
    }
    if (flow->received == flow->bytes && flow->completed < 0)
    {
        flow->completed = Simulator::Now().GetPicoSeconds();
    }
}

void
Accept(Flow* flow, Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback([flow](Ptr<Socket> from) { Receive(flow, from); });
}

void
Install(const peers::FatTree& tree, Flow* flow, uint16_t port)
{
    // Less work than PacketSink, which looks up addresses and fires traces for each packet. It leaves its half
    // of the connection open at the end, as Flowyard knows no teardown.
    const Ptr<Socket> listener =
        Socket::CreateSocket(tree.Host(flow->destination), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    listener->Listen();
    listener->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        [flow](Ptr<Socket> socket, const Address& from) { Accept(flow, socket, from); });

    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(tree.Address(flow->destination), port));
    sender.SetAttribute("MaxBytes", UintegerValue(flow->bytes));
    sender.Install(tree.Host(flow->source)).Start(PicoSeconds(flow->start));

    // Finding a route is set-up: a search through the whole network, done once for each pair of hosts.
    for (const auto& [from, to] : {std::pair(flow->source, flow->destination), {flow->destination, flow->source}})
    {
        Ipv4Header header;
        header.SetDestination(tree.Address(to));
        Socket::SocketErrno error;
        tree.Host(from)->GetObject<Ipv4>()->GetRoutingProtocol()->RouteOutput(Create<Packet>(),
                                                                              header,
                                                                              nullptr,
                                                                              error);
    }
}

// Packet-hops are what the ports' queues have counted anyway: every packet goes through its port's queue, even
// if the port is idle. A trace source would call a function for each packet, and slow ns-3 down.
void
Report(const peers::FatTree& tree, const std::vector<Flow>& flows, double cpu)
{
    uint64_t hops = 0;
    uint64_t drops = 0;
    uint64_t left = 0;
    uint64_t payload = 0;
    for (uint32_t port = 0; port < tree.Ports(); ++port)
    {
        const Ptr<Queue<Packet>> queue = tree.PortQueue(port);
        const uint64_t packets = queue->GetTotalReceivedPackets();
        hops += packets;
        drops += queue->GetTotalDroppedPackets();
        left += queue->GetNPackets();
        // What hosts have sent, less its headers, is payload: more of it than the flows have is retransmissions.
        if (port < 2 * tree.hosts && port % 2 == 0)
        {
            payload += queue->GetTotalReceivedBytes() - packets * HEADER_BYTES;
        }
    }
    std::string times;
    for (const Flow& flow : flows)
    {
        payload -= flow.bytes;
        times += times.empty() ? "" : ",";
        times += flow.completed < 0 ? "null" : std::to_string(flow.completed - flow.start);
    }
    std::cout << "{\"cpu_s\": " << cpu << ", \"packet_hops\": " << hops << ", \"drops\": " << drops
              << ", \"packets_left\": " << left << ", \"repeated_bytes\": " << payload
              << ", \"events\": " << Simulator::GetEventCount() << ", \"link_packets\": " << tree.Packets()
              << ", \"fct_ps\": [" << times << "]}" << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    Parameters parameters;
    peers::FatTreeParameters network;
    network.k = 8;
    network.rate = "100Gbps";
    network.delay = "1us";
    CommandLine command;
    network.AddTo(command);
    command.AddValue("rtoMin", "shortest and first retransmission timeout", parameters.rtoMin);
    command.AddValue("window", "receive window in bytes, at most 65535", parameters.window);
    command.AddValue("initialWindow", "initial congestion window in segments", parameters.initialWindow);
    command.AddValue("mss", "payload of a full segment", parameters.mss);
    command.AddValue("rotate", "give each switch another first port", network.rotate);
    command.AddValue("flows", "file of the flows", parameters.flows);
    command.Parse(argc, argv);
    SetDefaults(parameters);

    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.SetIpv6StackInstall(false);
    const peers::FatTree tree(network, stack);
    std::vector<Flow> flows = ReadFlows(parameters.flows);
    for (std::size_t i = 0; i < flows.size(); ++i)
    {
        Install(tree, &flows[i], PORT + i);
    }

    const std::clock_t begin = std::clock();
    Simulator::Run();
    const std::clock_t end = std::clock();
    Report(tree, flows, static_cast<double>(end - begin) / CLOCKS_PER_SEC);
    Simulator::Destroy();
}
