// TCP over a k-ary fat-tree whose switches choose among equal next hops by chance, packet by packet: every host sends
// to the one `stride` hosts further on, nothing is lost, packets overtake each other.
//
// Arguments and answer: see main(). What is compared: README.md.

#include "tcp.h"

#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;

// Nodes: hosts, then edge, aggregation and core switches.
class FatTree
{
  public:
    FatTree(uint32_t k, const std::string& rate, const std::string& delay, const std::string& queue)
        : hosts(k * k * k / 4)
    {
        const uint32_t half = k / 2;
        const uint32_t edges = hosts;
        const uint32_t aggregations = edges + k * half;
        const uint32_t cores = aggregations + k * half;
        nodes.Create(cores + half * half);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(nodes);

        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", StringValue(delay));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
        link.DisableFlowControl();
        addresses.SetBase("10.0.0.0", "255.255.255.252");
        for (uint32_t host = 0; host < hosts; ++host)
        {
            Connect(host, edges + host / half);
        }
        for (uint32_t edge = 0; edge < k * half; ++edge)
        {
            for (uint32_t up = 0; up < half; ++up)
            {
                Connect(edges + edge, aggregations + edge / half * half + up);
            }
        }
        for (uint32_t aggregation = 0; aggregation < k * half; ++aggregation)
        {
            for (uint32_t up = 0; up < half; ++up)
            {
                Connect(aggregations + aggregation, cores + aggregation % half * half + up);
            }
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    Ptr<Node> Host(uint32_t host) const
    {
        return nodes.Get(host);
    }

    Ipv4Address Address(uint32_t host) const
    {
        return nodes.Get(host)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    }

    uint64_t Drops() const
    {
        uint64_t drops = 0;
        for (uint32_t i = 0; i < devices.GetN(); ++i)
        {
            drops += DynamicCast<PointToPointNetDevice>(devices.Get(i))->GetQueue()->GetTotalDroppedPackets();
        }
        return drops;
    }

    const uint32_t hosts;

  private:
    void Connect(uint32_t lower, uint32_t upper)
    {
        const NetDeviceContainer ends = link.Install(nodes.Get(lower), nodes.Get(upper));
        addresses.Assign(ends);
        addresses.NewNetwork();
        devices.Add(ends);
    }

    NodeContainer nodes;
    NetDeviceContainer devices;
    PointToPointHelper link;
    Ipv4AddressHelper addresses;
};

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    peers::Tcp tcp;
    uint32_t k = 4;
    uint32_t stride = 4;
    uint32_t run = 1;
    uint64_t bytes = 2000000;
    bool spray = true;
    uint32_t traced = UINT32_MAX;
    std::string rate = "1Gbps";
    std::string delay = "500us";
    std::string queue = "70p";
    CommandLine command;
    tcp.AddTo(command);
    command.AddValue("k", "ports of a switch", k);
    command.AddValue("stride", "how far the receiver is", stride);
    command.AddValue("run", "number of the repetition, from 1", run);
    command.AddValue("bytes", "size of every flow", bytes);
    command.AddValue("spray", "by chance packet by packet; else the first of equal next hops", spray);
    command.AddValue("traced", "the host whose windows and packets go to standard error", traced);
    command.AddValue("rate", "rate of every link", rate);
    command.AddValue("delay", "propagation delay of every link", delay);
    command.AddValue("queue", "limit of every port's queue", queue);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    tcp.SetDefaults();
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(spray));

    const FatTree tree(k, rate, delay, queue);
    std::vector<peers::Flow> flows(tree.hosts);
    std::vector<peers::Sent> sent(tree.hosts);
    for (uint32_t host = 0; host < tree.hosts; ++host)
    {
        const uint32_t to = (host + stride) % tree.hosts;
        flows[host].bytes = bytes;
        flows[host].Install(tree.Host(host), tree.Host(to), tree.Address(to), PORT + host);
        // Acknowledgements have 54 B with the PPP header and timestamps, handshakes less than 100.
        sent[host].Watch(tree.Host(host)->GetDevice(1), 100);
    }
    if (traced < tree.hosts)
    {
        peers::TraceWindows(traced);
        peers::TraceData(tree.Host(traced)->GetDevice(1));
    }
    Simulator::Run();

    uint64_t repeats = 0;
    for (const peers::Sent& host : sent)
    {
        // Fragments count as packets of their own, but not those that are all but header.
        repeats += host.packets - (bytes + tcp.mss - 1) / tcp.mss;
    }
    std::cout << "{\"fct_ps\": " << peers::Times(flows) << ", \"repeats\": " << repeats
              << ", \"drops\": " << tree.Drops() << "}" << std::endl;
    Simulator::Destroy();
}
