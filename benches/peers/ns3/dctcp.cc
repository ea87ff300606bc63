// Long DCTCP flows through one port for ns-3: how evenly they share it, and how long its queue is.
//
// Hosts 1, 2, ... send to host 0 over one switch. The port to host 0 has a RED queue disc that marks above K packets of
// the instantaneous queue, ahead of a device queue of one packet: a packet that finds K in the disc is marked, and finds
// K + 2 at the port, with the one that waits in the device and the one on the wire. The answer goes to standard output
// as JSON.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

struct Parameters
{
    uint32_t threshold = 20;
    std::string rate = "1Gbps";
    std::string delay = "25us";
    std::string starts = "0,37";
    std::string skew = "0ns";
    std::string recovery = "ns3::TcpPrrRecovery";
    bool gentle = false;
    uint32_t delayedAck = 1;
    uint32_t initialWindow = 10;
    double from = 0.5;
    double until = 1.5;
    uint32_t run = 1;
};

struct Flow
{
    uint64_t received = 0;
    uint64_t counted = 0;
};

// The mean over time of a number of packets.
struct Mean
{
    uint32_t now = 0;
    Time since;
    double area = 0;

    void Change(uint32_t, uint32_t value)
    {
        Advance();
        now = value;
    }

    void Begin(Ptr<const Packet>)
    {
        Change(0, 1);
    }

    void End(Ptr<const Packet>)
    {
        Change(1, 0);
    }

    void Advance()
    {
        area += now * (Simulator::Now() - since).GetSeconds();
        since = Simulator::Now();
    }

    void Restart()
    {
        Advance();
        area = 0;
    }
};

void
SetDefaults(const Parameters& parameters)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName(parameters.recovery)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue("200ms"));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(NanoSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(parameters.delayedAck));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(parameters.initialWindow));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(1460));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(parameters.gentle));
    Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(parameters.threshold));
    Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(parameters.threshold));
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", StringValue("1000p"));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(1500));
    RngSeedManager::SetRun(parameters.run);
}

void
Receive(Flow* flow, Ptr<Socket> socket)
{
    while (const Ptr<Packet> packet = socket->Recv())
    {
        flow->received += packet->GetSize();
    }
}

void
Accept(Flow* flow, Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback([flow](Ptr<Socket> from) { Receive(flow, from); });
}

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    Parameters parameters;
    CommandLine command;
    command.AddValue("threshold", "packets in the disc that an arriving one must find to be marked",
                     parameters.threshold);
    command.AddValue("rate", "rate of every link", parameters.rate);
    command.AddValue("delay", "propagation delay of every link", parameters.delay);
    command.AddValue("skew", "how much longer the first sender's cable is", parameters.skew);
    command.AddValue("starts", "when each flow starts, in microseconds, with commas between", parameters.starts);
    command.AddValue("recovery", "how the window comes down to its threshold", parameters.recovery);
    command.AddValue("gentle", "mark at random between K and 2 K, as ns-3's RED does by default", parameters.gentle);
    command.AddValue("delayedAck", "segments to an acknowledgement", parameters.delayedAck);
    command.AddValue("initialWindow", "initial congestion window in segments", parameters.initialWindow);
    command.AddValue("from", "where counting begins, in seconds", parameters.from);
    command.AddValue("until", "where it ends, in seconds", parameters.until);
    command.AddValue("run", "number of ns-3's random streams", parameters.run);
    command.Parse(argc, argv);
    SetDefaults(parameters);

    std::vector<double> starts;
    std::stringstream text(parameters.starts);
    for (std::string one; std::getline(text, one, ',');)
    {
        starts.push_back(std::stod(one));
    }

    NodeContainer hosts;
    hosts.Create(starts.size() + 1);
    const Ptr<Node> center = CreateObject<Node>();
    InternetStackHelper stack;
    stack.Install(hosts);
    stack.Install(center);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(parameters.rate));
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4Address receiver;
    Mean disc;
    Mean device;
    Mean wire;
    Ptr<QueueDisc> port;
    for (uint32_t host = 0; host < hosts.GetN(); ++host)
    {
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
        const Time longer = host == 1 ? Time(parameters.skew) : Time();
        link.SetChannelAttribute("Delay", TimeValue(Time(parameters.delay) + longer));
        const NetDeviceContainer ends = link.Install(hosts.Get(host), center);
        if (host == 0)
        {
            const Ptr<PointToPointNetDevice> last = DynamicCast<PointToPointNetDevice>(ends.Get(1));
            last->GetQueue()->SetMaxSize(QueueSize("1p"));
            TrafficControlHelper control;
            control.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth", StringValue(parameters.rate));
            port = control.Install(last).Get(0);
            port->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Mean::Change, &disc));
            last->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Mean::Change, &device));
            last->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Mean::Begin, &wire));
            last->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Mean::End, &wire));
        }
        const Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
        addresses.NewNetwork();
        if (host == 0)
        {
            receiver = interfaces.GetAddress(0);
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Flow> flows(starts.size());
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        const uint16_t number = 5000 + i;
        const Ptr<Socket> listener = Socket::CreateSocket(hosts.Get(0), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), number));
        listener->Listen();
        Flow* flow = &flows[i];
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    [flow](Ptr<Socket> socket, const Address& from) { Accept(flow, socket, from); });
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(receiver, number));
        sender.SetAttribute("MaxBytes", UintegerValue(0));
        sender.Install(hosts.Get(i + 1)).Start(NanoSeconds(static_cast<int64_t>(starts[i] * 1000)));
    }

    uint64_t marks = 0;
    Simulator::Schedule(Seconds(parameters.from), [&]() {
        for (Flow& flow : flows)
        {
            flow.counted = flow.received;
        }
        disc.Restart();
        device.Restart();
        wire.Restart();
        marks = port->GetStats().nTotalMarkedPackets;
    });
    Simulator::Stop(Seconds(parameters.until));
    Simulator::Run();
    disc.Advance();
    device.Advance();
    wire.Advance();

    const double seconds = parameters.until - parameters.from;
    std::string goodputs;
    for (const Flow& flow : flows)
    {
        const double goodput = (flow.received - flow.counted) * 8 / seconds / 1e6;
        goodputs += (goodputs.empty() ? "" : ", ") + std::to_string(goodput);
    }
    std::cout << "{\"goodput_mbps\": [" << goodputs << "], \"queue_mean_packets\": "
              << (disc.area + device.area + wire.area) / seconds
              << ", \"marks\": " << port->GetStats().nTotalMarkedPackets - marks
              << ", \"drops\": " << port->GetStats().nTotalDroppedPackets << "}" << std::endl;
    Simulator::Destroy();
}
