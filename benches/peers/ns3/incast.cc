// Reads over kept connections for ns-3: a client asks all servers for a block each, and again when it has all of them.
//
// Each server has one connection to the client for the whole run. The client's port at the switch is the bottleneck; the
// answer, when each block was there and what was dropped, goes to standard output as JSON. What is equal on both sides:
// README.md.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;

struct Parameters
{
    uint32_t senders = 4;
    uint32_t blocks = 10;
    uint32_t bytes = 65536;
    std::string rate = "1Gbps";
    std::string delay = "25us";
    // Keeps packets of two servers from reaching the switch at the same instant.
    std::string longer = "90ns";
    uint32_t queue = 64;
    std::string rtoMin = "200ms";
    std::string rtoInitial = "200ms";
    uint32_t window = 65535;
    uint32_t initialWindow = 10;
    // With the timestamp option 1500 B of IP; ns-3 would cut larger segments into IP fragments.
    uint32_t mss = 1448;
    std::string word = "50us";
    std::string jitter = "20us";
    uint32_t seed = 1;
};

void
SetDefaults(const Parameters& parameters)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue(parameters.rtoMin));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(NanoSeconds(1)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", StringValue(parameters.rtoInitial));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", StringValue(parameters.rtoInitial));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(parameters.initialWindow));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(parameters.mss));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(parameters.window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * parameters.bytes));
    // By default ns-3 gives up on a segment after six repeats.
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
}

// Node 0 is the switch, node 1 the client, the others are servers.
class Reads
{
  public:
    explicit Reads(const Parameters& given)
        : parameters(given)
    {
        nodes.Create(parameters.senders + 2);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(nodes);

        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(parameters.rate));
        link.DisableFlowControl();
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
        for (uint32_t host = 1; host < nodes.GetN(); ++host)
        {
            link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
            const Time delay = Time(parameters.delay) + (host - 1) * Time(parameters.longer);
            link.SetChannelAttribute("Delay", TimeValue(delay));
            NetDeviceContainer ends = link.Install(nodes.Get(0), nodes.Get(host));
            if (host == 1)
            {
                port = DynamicCast<PointToPointNetDevice>(ends.Get(0))->GetQueue();
                port->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, parameters.queue));
            }
            Ipv4InterfaceContainer at = addresses.Assign(ends);
            if (host == 1)
            {
                client = at.GetAddress(1);
            }
            addresses.NewNetwork();
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();

        Ptr<Socket> listener = Socket::CreateSocket(nodes.Get(1), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Reads::Accept, this));
        chance = CreateObject<UniformRandomVariable>();
        for (uint32_t server = 0; server < parameters.senders; ++server)
        {
            sockets.push_back(nullptr);
            Simulator::Schedule(Jitter(), &Reads::Open, this, server);
        }
    }

    bool IsDone() const
    {
        return received == Total(parameters.blocks);
    }

    void Print() const
    {
        std::cout << "{\"drops\": " << port->GetTotalDroppedPacketsBeforeEnqueue() << ", \"block_ends_s\": [";
        for (size_t block = 0; block < finished.size(); ++block)
        {
            std::cout << (block ? ", " : "") << finished[block].GetSeconds();
        }
        std::cout << "]}" << std::endl;
    }

  private:
    uint64_t Total(uint32_t blocks) const
    {
        return uint64_t{blocks} * parameters.senders * parameters.bytes;
    }

    Time Jitter()
    {
        return NanoSeconds(chance->GetInteger(0, Time(parameters.jitter).GetNanoSeconds()));
    }

    void Open(uint32_t server)
    {
        Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(server + 2), TcpSocketFactory::GetTypeId());
        sockets[server] = socket;
        socket->Bind();
        socket->ShutdownRecv();
        socket->SetConnectCallback(MakeCallback(&Reads::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
        socket->Connect(InetSocketAddress(client, PORT));
    }

    void Connected(Ptr<Socket> socket)
    {
        socket->Send(Create<Packet>(parameters.bytes));
    }

    void Answer(uint32_t server)
    {
        Connected(sockets[server]);
    }

    void Accept(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Reads::Receive, this));
    }

    void Receive(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            received += packet->GetSize();
        }
        if (received < Total(finished.size() + 1))
        {
            return;
        }
        finished.push_back(Simulator::Now());
        if (finished.size() == parameters.blocks)
        {
            Simulator::Stop();
            return;
        }
        for (uint32_t server = 0; server < parameters.senders; ++server)
        {
            Simulator::Schedule(Time(parameters.word) + Jitter(), &Reads::Answer, this, server);
        }
    }

    Parameters parameters;
    NodeContainer nodes;
    Ipv4Address client;
    Ptr<Queue<Packet>> port;
    Ptr<UniformRandomVariable> chance;
    std::vector<Ptr<Socket>> sockets;
    uint64_t received = 0;
    std::vector<Time> finished;
};

} // namespace

int
main(int argc, char* argv[])
{
    Parameters parameters;
    CommandLine command(__FILE__);
    command.AddValue("senders", "servers that answer at once", parameters.senders);
    command.AddValue("blocks", "blocks that are asked for", parameters.blocks);
    command.AddValue("bytes", "bytes of each server in a block", parameters.bytes);
    command.AddValue("rate", "rate of each link", parameters.rate);
    command.AddValue("delay", "delay of each link", parameters.delay);
    command.AddValue("longer", "by how much the cable of each server is longer than that of the one before",
                     parameters.longer);
    command.AddValue("queue", "packets that the client's port holds behind the one on the wire", parameters.queue);
    command.AddValue("rtoMin", "shortest retransmission timeout", parameters.rtoMin);
    command.AddValue("rtoInitial", "timeout before the first sample", parameters.rtoInitial);
    command.AddValue("window", "receive window in bytes", parameters.window);
    command.AddValue("initialWindow", "initial window in segments", parameters.initialWindow);
    command.AddValue("mss", "payload of a full segment", parameters.mss);
    command.AddValue("word", "from the end of a block to the next one's start", parameters.word);
    command.AddValue("jitter", "added to each start, uniform from 0", parameters.jitter);
    command.AddValue("seed", "of the jitter", parameters.seed);
    command.Parse(argc, argv);

    RngSeedManager::SetSeed(parameters.seed);
    SetDefaults(parameters);
    Reads reads(parameters);
    Simulator::Stop(Seconds(1000));
    Simulator::Run();
    reads.Print();
    Simulator::Destroy();
    return reads.IsDone() ? 0 : 1;
}
