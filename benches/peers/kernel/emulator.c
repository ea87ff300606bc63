// A bottleneck between two network namespaces: a rate, a delay each way, a drop-tail FIFO that may mark, lost packets.
//
// It opens a tun device in each namespace and carries packets between them. On arrival a packet's departure follows from
// the one before it: max(now, last departure) + size / rate. It is dropped if as many packets as the limit are still to
// depart, the one in transmission included, and marked (CE) if it is ECN-capable and K or more are. It is delivered after
// its departure and the delay; the loop waits for that in poll and, for the last 60 us, actively. Packets with payload from
// A to B are numbered from 1: those of the list are lost. Each step is logged to standard error if LOG is set.
//
// emulator NS_A NS_B RATE_BPS DELAY_US LIMIT K SECONDS [LOST...]

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 1 << 16, LARGEST = 2048 };
static const int64_t SPIN_NS = 60000;

struct packet {
    int64_t departs, delivers;
    int len;
    unsigned char bytes[LARGEST];
};

// One direction: packets between head and tail are to be delivered, those from `waiting` on are to depart.
struct way {
    struct packet *ring;
    uint32_t head, waiting, tail;
    int64_t free_at;
    int in, out, limit, mark;
};

static int64_t rate_bps, delay_ns;
static int log_steps;

static int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "emulator: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_tun(const char *space) {
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || setns(fd, CLONE_NEWNET)) fail(path);
    close(fd);
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tun < 0) fail("/dev/net/tun");
    struct ifreq ask = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(ask.ifr_name, "line");
    if (ioctl(tun, TUNSETIFF, &ask)) fail("TUNSETIFF");
    return tun;
}

// Congestion experienced, and the header's checksum adapted (RFC 1624, equation 3).
static int mark(unsigned char *ip) {
    if ((ip[1] & 3) == 0 || (ip[1] & 3) == 3) return 0;
    uint16_t before = ip[0] << 8 | ip[1];
    ip[1] |= 3;
    uint16_t after = ip[0] << 8 | ip[1], sum = ip[10] << 8 | ip[11];
    uint32_t fresh = (uint16_t)~sum + (uint16_t)~before + after;
    fresh = (fresh & 0xffff) + (fresh >> 16);
    fresh = ~((fresh & 0xffff) + (fresh >> 16));
    ip[10] = fresh >> 8, ip[11] = fresh;
    return 1;
}

static int payload(const unsigned char *ip) {
    int header = (ip[0] & 15) * 4;
    return (ip[2] << 8 | ip[3]) - header - (ip[header + 12] >> 4) * 4;
}

static void note(const char *step, int64_t at, int toward_b, const unsigned char *ip, int number) {
    if (!log_steps) return;
    const unsigned char *tcp = ip + (ip[0] & 15) * 4;
    uint32_t seq, ack;
    memcpy(&seq, tcp + 4, 4), memcpy(&ack, tcp + 8, 4);
    fprintf(stderr, "%.6f %s %s port %d seq %u ack %u len %d flags %02x number %d ecn %d\n", at / 1e9, toward_b ? ">" : "<",
            step, tcp[0] << 8 | tcp[1], ntohl(seq), ntohl(ack), payload(ip), tcp[13], number, ip[1] & 3);
}

static void take(struct way *way, int toward_b, const char *lost, int lost_most) {
    static int numbers;
    for (;;) {
        struct packet *packet = &way->ring[way->tail % SLOTS];
        packet->len = read(way->in, packet->bytes, LARGEST);
        if (packet->len <= 0) return;
        if (packet->bytes[0] >> 4 != 4 || packet->bytes[9] != 6) continue;
        int64_t now = now_ns();
        int number = toward_b && payload(packet->bytes) > 0 ? ++numbers : 0;
        while (way->waiting != way->tail && way->ring[way->waiting % SLOTS].departs <= now) way->waiting++;
        int waiting = way->tail - way->waiting;
        if (waiting >= way->limit || (number && number <= lost_most && lost[number])) {
            note("dropped", now, toward_b, packet->bytes, number);
            continue;
        }
        if (way->mark && waiting >= way->mark && mark(packet->bytes)) note("marked", now, toward_b, packet->bytes, number);
        note("sent", now, toward_b, packet->bytes, number);
        way->free_at = (way->free_at > now ? way->free_at : now) + packet->len * 8000000000LL / rate_bps;
        packet->departs = way->free_at;
        packet->delivers = way->free_at + delay_ns;
        way->tail++;
    }
}

// Delivers what is due; when the next one is.
static int64_t deliver(struct way *way) {
    while (way->head != way->tail) {
        struct packet *packet = &way->ring[way->head % SLOTS];
        if (packet->delivers > now_ns()) return packet->delivers;
        if (write(way->out, packet->bytes, packet->len) < 0 && errno == EAGAIN) return now_ns();
        if (way->waiting == way->head) way->waiting++;
        way->head++;
    }
    return INT64_MAX;
}

int main(int count, char **words) {
    if (count < 8) {
        fprintf(stderr, "emulator NS_A NS_B RATE_BPS DELAY_US LIMIT K SECONDS [LOST...]\n");
        return 2;
    }
    static char lost[1 << 20];
    for (int at = 8; at < count; at++) lost[atoi(words[at]) & (sizeof lost - 1)] = 1;
    rate_bps = atoll(words[3]), delay_ns = atoll(words[4]) * 1000;
    log_steps = getenv("LOG") != NULL;
    // Ahead of other processes: it sleeps between packets. Without the right to it delays are longer.
    struct sched_param ahead = {.sched_priority = 50};
    sched_setscheduler(0, SCHED_FIFO, &ahead);
    int a = open_tun(words[1]), b = open_tun(words[2]);
    struct way there = {.in = a, .out = b, .limit = atoi(words[5]), .mark = atoi(words[6])};
    struct way back = {.in = b, .out = a, .limit = SLOTS / 2};
    there.ring = calloc(SLOTS, sizeof *there.ring), back.ring = calloc(SLOTS, sizeof *back.ring);
    if (!there.ring || !back.ring) fail("calloc");
    puts("ready");
    fflush(stdout);
    int64_t end = now_ns() + atoll(words[7]) * 1000000000LL;
    for (;;) {
        int64_t now = now_ns();
        if (now > end) return 0;
        int64_t first = deliver(&there), second = deliver(&back);
        int64_t next = first < second ? first : second, wait = next == INT64_MAX ? 100000000 : next - now_ns();
        struct pollfd fds[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
        wait = wait > SPIN_NS ? wait - SPIN_NS : 0;
        struct timespec span = {wait / 1000000000, wait % 1000000000};
        ppoll(fds, 2, &span, NULL);
        take(&there, 1, lost, sizeof lost - 1);
        take(&back, 0, lost, 0);
    }
}
