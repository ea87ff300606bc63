// A k-ary fat-tree of point-to-point links for ns-3 programs here.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace peers
{

using namespace ns3;

struct Cable
{
    DataRate rate;
    Time delay;
};

struct FatTreeParameters
{
    uint32_t k = 4;
    std::string rate = "1Gbps";
    std::string delay = "500us";
    std::string queue = "100p";
    // That of the hosts' ports; without it, as at the switches.
    std::string hostQueue;
    // Each by itself, in their order; without it, all have the rate and the delay above.
    std::vector<Cable> cables;
    // Routes go through the first of a switch's equal ports. Rotation gives each switch another first port.
    bool rotate = false;

    uint32_t Cables() const
    {
        return 3 * k * k * k / 4;
    }

    void AddTo(CommandLine& command)
    {
        command.AddValue("k", "ports of a switch", k);
        command.AddValue("rate", "rate of every link", rate);
        command.AddValue("delay", "propagation delay of every link", delay);
        command.AddValue("queue", "limit of every port's queue", queue);
    }
};

// Nodes: hosts, then edge, aggregation and core switches. Device 2i is the lower end of cable i. Nodes and cables are
// numbered as in crates/sim/src/topology/fat_tree.rs, so that links of both programs can be compared one by one.
class FatTree
{
  public:
    FatTree(const FatTreeParameters& given, const InternetStackHelper& stack)
        : half(given.k / 2),
          hosts(given.k * half * half),
          edges(hosts),
          aggregations(edges + given.k * half),
          cores(aggregations + given.k * half),
          parameters(given)
    {
        const uint32_t switches = given.k * half;
        nodes.Create(cores + half * half);
        stack.Install(nodes);

        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(given.queue));
        link.DisableFlowControl();
        addresses.SetBase("10.0.0.0", "255.255.255.252");

        devices.resize(2 * given.Cables());
        for (uint32_t host = 0; host < hosts; ++host)
        {
            Connect(host, host, edges + host / half);
        }
        for (uint32_t edge = 0; edge < switches; ++edge)
        {
            for (uint32_t i = 0; i < half; ++i)
            {
                const uint32_t up = given.rotate ? (i + edge) % half : i;
                Connect(hosts + edge * half + up, edges + edge, aggregations + edge / half * half + up);
            }
        }
        for (uint32_t aggregation = 0; aggregation < switches; ++aggregation)
        {
            for (uint32_t i = 0; i < half; ++i)
            {
                const uint32_t up = given.rotate ? (i + aggregation / half) % half : i;
                Connect(hosts + (switches + aggregation) * half + up,
                        aggregations + aggregation,
                        cores + up * half + aggregation % half);
            }
        }
    }

    Ptr<Node> Host(uint32_t host) const
    {
        return nodes.Get(host);
    }

    Ptr<Node> Edge(uint32_t edge) const
    {
        return nodes.Get(edges + edge);
    }

    Ptr<Node> Aggregation(uint32_t aggregation) const
    {
        return nodes.Get(aggregations + aggregation);
    }

    Ptr<Node> Core(uint32_t core) const
    {
        return nodes.Get(cores + core);
    }

    Ipv4Address Address(uint32_t host) const
    {
        return nodes.Get(host)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    }

    Ptr<Queue<Packet>> PortQueue(uint32_t port) const
    {
        return devices[port]->GetQueue();
    }

    uint32_t Ports() const
    {
        return devices.size();
    }

    uint64_t Drops() const
    {
        uint64_t drops = 0;
        for (const auto& device : devices)
        {
            drops += device->GetQueue()->GetTotalDroppedPackets();
        }
        return drops;
    }

    // The packets that have passed each port, as a JSON list. They are what the ports' queues have counted anyway: every
    // packet goes through its port's queue, even if the port is idle.
    std::string Packets() const
    {
        std::string packets;
        for (const auto& device : devices)
        {
            packets += (packets.empty() ? "" : ",") + std::to_string(device->GetQueue()->GetTotalReceivedPackets());
        }
        return "[" + packets + "]";
    }

    const uint32_t half;
    const uint32_t hosts;

  private:
    void Connect(uint32_t cable, uint32_t lower, uint32_t upper)
    {
        const Cable common{DataRate(parameters.rate), Time(parameters.delay)};
        const Cable& one = parameters.cables.empty() ? common : parameters.cables.at(cable);
        link.SetDeviceAttribute("DataRate", DataRateValue(one.rate));
        link.SetChannelAttribute("Delay", TimeValue(one.delay));
        const NetDeviceContainer ends = link.Install(nodes.Get(lower), nodes.Get(upper));
        addresses.Assign(ends);
        addresses.NewNetwork();
        for (uint32_t end = 0; end < 2; ++end)
        {
            devices[2 * cable + end] = DynamicCast<PointToPointNetDevice>(ends.Get(end));
            NS_ABORT_MSG_IF(ends.Get(end)->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
                                ends.Get(end)),
                            "a queue disc was installed");
        }
        if (lower < hosts && !parameters.hostQueue.empty())
        {
            devices[2 * cable]->GetQueue()->SetMaxSize(QueueSize(parameters.hostQueue));
        }
    }

    const uint32_t edges;
    const uint32_t aggregations;
    const uint32_t cores;
    const FatTreeParameters parameters;
    NodeContainer nodes;
    PointToPointHelper link;
    Ipv4AddressHelper addresses;
    std::vector<Ptr<PointToPointNetDevice>> devices;
};

} // namespace peers
