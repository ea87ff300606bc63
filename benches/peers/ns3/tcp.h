// What ns-3 programs here share: TCP's attributes as options, and a flow whose completion is noted.

#pragma once

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace peers
{

using namespace ns3;

// TcpNewReno without SACK; names and units are those of Flowyard's transport.tcp.
struct Tcp
{
    uint32_t mss = 1448;
    uint32_t initialWindow = 10;
    uint32_t initialSsthresh = 0;
    uint32_t window = 65535;
    uint32_t sendBuffer = 16 << 20;
    uint32_t delayedAck = 2;
    std::string delayedAckTimeout = "200ms";
    std::string rtoMin = "200ms";
    bool limitedTransmit = true;
    bool timestamps = true;

    void AddTo(CommandLine& command)
    {
        command.AddValue("mss", "payload of a full segment", mss);
        command.AddValue("initialWindow", "initial congestion window in segments", initialWindow);
        command.AddValue("initialSsthresh", "slow-start threshold in bytes; 0: none", initialSsthresh);
        command.AddValue("window", "receive window in bytes", window);
        command.AddValue("sendBuffer", "bytes that a sender holds until they are acknowledged", sendBuffer);
        command.AddValue("delayedAck", "segments to an acknowledgement", delayedAck);
        command.AddValue("delayedAckTimeout", "how long an acknowledgement is held back", delayedAckTimeout);
        command.AddValue("rtoMin", "shortest retransmission timeout", rtoMin);
        command.AddValue("limitedTransmit", "RFC 3042", limitedTransmit);
        command.AddValue("timestamps", "RFC 7323", timestamps);
    }

    void SetDefaults() const
    {
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
        Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(window > 65535));
        Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(limitedTransmit));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue(rtoMin));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayedAck));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", StringValue(delayedAckTimeout));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initialWindow));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sendBuffer));
        if (initialSsthresh)
        {
            Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(initialSsthresh));
        }
        // Pieces of one segment each are the cheapest way through the send buffer. Programs without a Flow do not link it.
        Config::SetDefaultFailSafe("ns3::BulkSendApplication::SendSize", UintegerValue(mss));
    }
};

// A flow that starts at time 0; its receiver counts bytes and leaves its half of the connection open, as Flowyard
// knows no teardown. The simulation stops when no flow is left: 3.37 may crash on duplicates that come behind the end
// of a connection without SACK.
struct Flow
{
    static inline uint32_t left = 0;
    uint64_t bytes = 0;
    uint64_t received = 0;
    int64_t completed = -1;

    void Install(Ptr<Node> source, Ptr<Node> destination, Ipv4Address address, uint16_t port)
    {
        const Ptr<Socket> listener = Socket::CreateSocket(destination, TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    [this](Ptr<Socket> socket, const Address&) {
                                        socket->SetRecvCallback([this](Ptr<Socket> from) { Receive(from); });
                                    });
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(address, port));
        sender.SetAttribute("MaxBytes", UintegerValue(bytes));
        sender.Install(source).Start(Seconds(0));
        ++left;
    }

  private:
    void Receive(Ptr<Socket> socket)
    {
        while (const Ptr<Packet> packet = socket->Recv())
        {
            received += packet->GetSize();
        }
        if (received == bytes && completed < 0)
        {
            completed = Simulator::Now().GetPicoSeconds();
            if (--left == 0)
            {
                Simulator::Stop();
            }
        }
    }
};

// The data packets that a host's device has sent, beyond those that the flow's bytes need.
struct Sent
{
    uint64_t packets = 0;

    void Watch(Ptr<NetDevice> device, uint32_t headers)
    {
        device->TraceConnectWithoutContext("PhyTxBegin", Callback<void, Ptr<const Packet>>([this, headers](auto packet) {
                                               packets += packet->GetSize() > headers;
                                           }));
    }
};

// Writes the windows of a node's TCP senders to standard error, as "time in ps, what, bytes".
inline void
TraceWindows(uint32_t node)
{
    Simulator::Schedule(MicroSeconds(1), [node] {
        for (const std::string name : {"CongestionWindow", "SlowStartThreshold"})
        {
            Config::ConnectWithoutContext(
                "/NodeList/" + std::to_string(node) + "/$ns3::TcpL4Protocol/SocketList/*/" + name,
                Callback<void, uint32_t, uint32_t>([name](uint32_t, uint32_t now) {
                    std::cerr << Simulator::Now().GetPicoSeconds() << " " << name << " " << now << "\n";
                }));
        }
    });
}

// Writes the sequence numbers of the packets that a device sends and receives to standard error.
inline void
TraceData(Ptr<NetDevice> device)
{
    for (const std::string name : {"PhyTxBegin", "PhyRxEnd"})
    {
        device->TraceConnectWithoutContext(name, Callback<void, Ptr<const Packet>>([name](auto packet) {
                                               const Ptr<Packet> copy = packet->Copy();
                                               Ipv4Header ip;
                                               TcpHeader header;
                                               // The PPP header has two bytes.
                                               copy->RemoveAtStart(2);
                                               copy->RemoveHeader(ip);
                                               copy->RemoveHeader(header);
                                               std::cerr << Simulator::Now().GetPicoSeconds() << " " << name << " "
                                                         << header.GetSequenceNumber() << " "
                                                         << header.GetAckNumber() << " " << copy->GetSize() << "\n";
                                           }));
    }
}

// Completion times as a JSON list; null where a flow has not completed.
inline std::string
Times(const std::vector<Flow>& flows)
{
    std::string times;
    for (const Flow& flow : flows)
    {
        times += (times.empty() ? "" : ",") + (flow.completed < 0 ? "null" : std::to_string(flow.completed));
    }
    return "[" + times + "]";
}

} // namespace peers
