// One TCP flow over a switch, of which chosen data packets are lost on the first link.
//
// Arguments and answer: see main(). What is compared: README.md.

#include "tcp.h"

#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>
#include <list>
#include <sstream>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;
// Before the first data packet a host sends SYN and the third packet of the handshake.
constexpr uint32_t HANDSHAKE = 2;

// The packets that a ReceiveListErrorModel counts from 0, given data packets that are counted from 1.
std::list<uint32_t>
Places(const std::string& numbers)
{
    std::list<uint32_t> places;
    std::istringstream text(numbers);
    for (std::string number; std::getline(text, number, ',');)
    {
        places.push_back(std::stoul(number) - 1 + HANDSHAKE);
    }
    return places;
}

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    peers::Tcp tcp;
    uint64_t bytes = 1000000;
    bool trace = false;
    std::string rate = "1Gbps";
    std::string delay = "250us";
    std::string queue = "1000p";
    std::string lost;
    CommandLine command;
    tcp.AddTo(command);
    command.AddValue("bytes", "size of the flow", bytes);
    command.AddValue("lost", "numbers of the data packets that are lost, from 1, with commas", lost);
    command.AddValue("trace", "windows and data packets to standard error", trace);
    command.AddValue("rate", "rate of every link", rate);
    command.AddValue("delay", "propagation delay of every link", delay);
    command.AddValue("queue", "limit of every port's queue", queue);
    command.Parse(argc, argv);
    tcp.SetDefaults();

    NodeContainer nodes(3);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
    link.DisableFlowControl();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const NetDeviceContainer first = link.Install(nodes.Get(0), nodes.Get(1));
    addresses.Assign(first);
    addresses.NewNetwork();
    const NetDeviceContainer second = link.Install(nodes.Get(1), nodes.Get(2));
    const Ipv4InterfaceContainer ends = addresses.Assign(second);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const Ptr<ReceiveListErrorModel> errors = CreateObject<ReceiveListErrorModel>();
    errors->SetList(Places(lost));
    first.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));

    std::vector<peers::Flow> flows(1);
    flows[0].bytes = bytes;
    flows[0].Install(nodes.Get(0), nodes.Get(2), ends.GetAddress(1), PORT);
    peers::Sent sent;
    sent.Watch(first.Get(0), 100);
    if (trace)
    {
        peers::TraceWindows(0);
        peers::TraceData(first.Get(0));
    }
    Simulator::Run();
    std::cout << "{\"fct_ps\": " << peers::Times(flows) << ", \"data_packets\": " << sent.packets << "}"
              << std::endl;
    Simulator::Destroy();
}
