// TCP over a fat-tree whose switches have small buffers, with the routes of chapter 5 of Song's thesis: blocks that hosts
// send to each other, all at once or, over kept connections, each receiver's next block when it has all of the last one.
//
// Arguments, the file that says cables and pairs, and the answer: see main(). What is compared: README.md.

#include "fat_tree.h"
#include "tcp.h"

#include "ns3/nix-vector-routing-module.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;
// Each pair's own network of two addresses, by which its packets are routed.
constexpr uint32_t OWN = 0xac100000;

// Which port upwards packets take at the edge switch, and which at the aggregation switch.
struct Ups
{
    uint32_t edge;
    uint32_t aggregation;
};

struct Pair
{
    uint32_t source;
    uint32_t destination;
    Ups there;
    Ups back;
};

void
Forward(Ptr<Node> node, Ipv4Address address, uint32_t interface)
{
    Ipv4RoutingHelper::GetRouting<Ipv4StaticRouting>(node->GetObject<Ipv4>()->GetRoutingProtocol())
        ->AddHostRouteTo(address, interface);
}

// Routes of switches for packets from one host to an address of another. Interfaces count from 1: downwards, then
// upwards.
void
Lay(const peers::FatTree& tree, uint32_t from, uint32_t to, Ups ups, Ipv4Address address)
{
    const uint32_t half = tree.half;
    const uint32_t edge = from / half;
    const uint32_t last = to / half;
    const uint32_t pod = edge / half;
    const uint32_t other = last / half;
    if (edge != last)
    {
        Forward(tree.Edge(edge), address, half + 1 + ups.edge);
        if (pod != other)
        {
            Forward(tree.Aggregation(pod * half + ups.edge), address, half + 1 + ups.aggregation);
            Forward(tree.Core(ups.aggregation * half + ups.edge), address, other + 1);
        }
        Forward(tree.Aggregation(other * half + ups.edge), address, last % half + 1);
    }
    Forward(tree.Edge(last), address, to % half + 1);
}

// Gives both ends of a pair addresses of their own, and lays a path for each. Returns the destination's.
Ipv4Address
OwnPath(const peers::FatTree& tree, const Pair& pair, uint32_t number)
{
    const Ipv4Address destination(OWN + 4 * number + 1);
    const Ipv4Address source(OWN + 4 * number + 2);
    for (const auto& [host, address] : {std::make_pair(pair.source, source), {pair.destination, destination}})
    {
        // ns-3 takes the source's address of the network in which the destination is.
        tree.Host(host)->GetObject<Ipv4>()->AddAddress(1, Ipv4InterfaceAddress(address, "255.255.255.252"));
    }
    Lay(tree, pair.source, pair.destination, pair.there, destination);
    Lay(tree, pair.destination, pair.source, pair.back, source);
    return destination;
}

// One connection for each pair. A receiver's next block begins `word` after it has the last one of all its senders.
class Blocks
{
  public:
    Blocks(const peers::FatTree& tree, uint32_t blocks, uint32_t bytes, uint32_t mss, Time word)
        : tree(tree),
          blocks(blocks),
          bytes(bytes),
          mss(mss),
          word(word)
    {
    }

    void Add(const Pair& pair, Ipv4Address address)
    {
        const uint32_t number = sent.size();
        sent.emplace_back();
        sent.back().pair = pair;
        receivers[pair.destination].push_back(number);
        left += blocks;
        const Ptr<Socket> listener = Socket::CreateSocket(tree.Host(pair.destination), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT + number));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    [this, number](Ptr<Socket> socket, const Address&) {
                                        socket->SetRecvCallback(
                                            [this, number](Ptr<Socket> from) { Receive(number, from); });
                                    });
        Simulator::Schedule(Seconds(0), [this, number, address] { Open(number, address); });
    }

    bool AreDone() const
    {
        return left == 0;
    }

    // Completion times in ps, block by block of each pair, as a JSON list.
    std::string Times() const
    {
        std::string text;
        for (const Connection& connection : sent)
        {
            for (const int64_t time : connection.times)
            {
                text += (text.empty() ? "" : ",") + std::to_string(time);
            }
        }
        return "[" + text + "]";
    }

  private:
    struct Connection
    {
        Pair pair;
        Ptr<Socket> socket;
        // Bytes that have not found room in the send buffer.
        uint64_t waiting = 0;
        uint64_t received = 0;
        Time start;
        std::vector<int64_t> times;
    };

    void Open(uint32_t number, Ipv4Address address)
    {
        const Ptr<Socket> socket =
            Socket::CreateSocket(tree.Host(sent[number].pair.source), TcpSocketFactory::GetTypeId());
        sent[number].socket = socket;
        sent[number].waiting = bytes;
        socket->Bind();
        socket->SetSendCallback([this, number](Ptr<Socket>, uint32_t) { Send(number); });
        socket->Connect(InetSocketAddress(address, PORT + number));
    }

    // Segment by segment, so that all but a block's last are full.
    void Send(uint32_t number)
    {
        Connection& connection = sent[number];
        while (connection.waiting)
        {
            const uint32_t piece = std::min<uint64_t>(mss, connection.waiting);
            if (connection.socket->GetTxAvailable() < piece)
            {
                return;
            }
            connection.waiting -= piece;
            connection.socket->Send(Create<Packet>(piece));
        }
    }

    void Receive(uint32_t number, Ptr<Socket> socket)
    {
        Connection& connection = sent[number];
        while (const Ptr<Packet> packet = socket->Recv())
        {
            connection.received += packet->GetSize();
        }
        if (connection.received < (connection.times.size() + 1) * bytes)
        {
            return;
        }
        connection.times.push_back((Simulator::Now() - connection.start).GetPicoSeconds());
        if (--left == 0)
        {
            Simulator::Stop();
            return;
        }
        const std::vector<uint32_t>& all = receivers[connection.pair.destination];
        for (const uint32_t one : all)
        {
            if (sent[one].times.size() < connection.times.size())
            {
                return;
            }
        }
        if (connection.times.size() < blocks)
        {
            Simulator::Schedule(word, [this, &all] {
                for (const uint32_t one : all)
                {
                    sent[one].start = Simulator::Now();
                    sent[one].waiting = bytes;
                    Send(one);
                }
            });
        }
    }

    const peers::FatTree& tree;
    const uint32_t blocks;
    const uint32_t bytes;
    const uint32_t mss;
    const Time word;
    std::vector<Connection> sent;
    std::map<uint32_t, std::vector<uint32_t>> receivers;
    uint64_t left = 0;
};

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    peers::Tcp tcp;
    peers::FatTreeParameters network;
    network.hostQueue = "100000p";
    uint32_t run = 1;
    uint32_t blocks = 1;
    uint32_t bytes = 2000000;
    uint32_t traced = UINT32_MAX;
    std::string scheme = "first";
    std::string word = "3ms";
    std::string given;
    CommandLine command;
    tcp.AddTo(command);
    network.AddTo(command);
    command.AddValue("run", "of the random numbers, from 1", run);
    command.AddValue("blocks", "blocks that each pair sends", blocks);
    command.AddValue("bytes", "size of each", bytes);
    command.AddValue("scheme", "first: the first of equal next hops; spray: any, by packet; nix; paths: of the file", scheme);
    command.AddValue("word", "from a receiver's block to its next one", word);
    command.AddValue("traced", "the host whose windows and packets go to standard error", traced);
    command.AddValue("given",
                     "a file: bit/s and ps of each cable; then source, destination, and the ports upwards of data and of "
                     "acknowledgements for each pair",
                     given);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    tcp.SetDefaults();
    // By default ns-3 gives up on a segment after six repeats.
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(scheme == "spray"));

    std::ifstream file(given);
    NS_ABORT_MSG_UNLESS(file, "cannot read " << given);
    for (uint32_t cable = 0; cable < network.Cables(); ++cable)
    {
        uint64_t bps = 0;
        int64_t ps = 0;
        file >> bps >> ps;
        network.cables.push_back({DataRate(bps), PicoSeconds(ps)});
    }

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    if (scheme == "nix")
    {
        stack.SetRoutingHelper(Ipv4NixVectorHelper());
    }
    const peers::FatTree tree(network, stack);
    if (scheme == "first" || scheme == "spray")
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }
    Blocks all(tree, blocks, bytes, tcp.mss, Time(word));
    uint32_t number = 0;
    for (Pair pair; file >> pair.source >> pair.destination >> pair.there.edge >> pair.there.aggregation >>
                    pair.back.edge >> pair.back.aggregation;)
    {
        all.Add(pair, scheme == "paths" ? OwnPath(tree, pair, number) : tree.Address(pair.destination));
        ++number;
    }
    if (traced < tree.hosts)
    {
        peers::TraceWindows(traced);
        peers::TraceData(tree.Host(traced)->GetDevice(1));
    }
    Simulator::Stop(Seconds(1000));
    Simulator::Run();
    std::cout << "{\"fct_ps\": " << all.Times() << ", \"drops\": " << tree.Drops()
              << ", \"link_packets\": " << tree.Packets() << "}" << std::endl;
    Simulator::Destroy();
    return all.AreDone() ? 0 : 1;
}
