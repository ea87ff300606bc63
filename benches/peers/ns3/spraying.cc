// TCP over a k-ary fat-tree whose switches choose among equal next hops by chance, packet by packet: every host sends
// to the one `stride` hosts further on, nothing is lost, packets overtake each other.
//
// Arguments and answer: see main(). What is compared: README.md.

#include "fat_tree.h"
#include "tcp.h"

#include <iostream>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    peers::Tcp tcp;
    peers::FatTreeParameters network;
    uint32_t stride = 4;
    uint32_t run = 1;
    uint64_t bytes = 2000000;
    bool spray = true;
    uint32_t traced = UINT32_MAX;
    CommandLine command;
    tcp.AddTo(command);
    network.AddTo(command);
    command.AddValue("stride", "how far the receiver is", stride);
    command.AddValue("run", "number of the repetition, from 1", run);
    command.AddValue("bytes", "size of every flow", bytes);
    command.AddValue("spray", "by chance packet by packet; else the first of equal next hops", spray);
    command.AddValue("traced", "the host whose windows and packets go to standard error", traced);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    tcp.SetDefaults();
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(spray));

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    const peers::FatTree tree(network, stack);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
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
