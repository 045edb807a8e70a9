/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parties of tests/bench/restart and tests/bench/survival: of each call one
 * with PCMU and one with CODEC, each with a socket and an address of its own,
 * that send recorded speech, a packet every 20 ms, and look for gaps in what
 * comes back, by the kernel's timestamps of arrival. It has real-time priority
 * if it may: what it measures is not its own lateness.
 *
 *   bench-restart-load CALLS CODEC CPU HOST [DUMP]
 *
 * All have the address HOST, or, if it is "own", each has another one. AMR is
 * octet-aligned (RFC 4867, 4.4). DUMP gets the packets that parties of the
 * first DUMP_CALLS calls send and hear, each behind a struct dump_head.
 *
 * It prints "at ADDRESS:PORT...", of each call first the party with PCMU; reads
 * a target, ADDRESS:PORT, for each party; then for each line "mark" prints what
 * has come since the one before, as JSON. With the end of its input it ends,
 * and prints "sent" with the packets of each party. One thread.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "bench.h"
#include "media/payload.h"
#include "rtp/rtp.h"
#include "speech/speech.h"

enum { EVENTS = 256, BUFFER = 256 << 10, PAYLOADS = 1000, DUMP_CALLS = 8 };
#define PTIME (20 * CR_MS)
/* A party that has heard nothing for so long has lost its call. */
#define SILENCE (500 * CR_MS)

/* What one kind of party says, over and over. */
struct script {
	struct codec_use use;
	uint32_t ticks; /* of a packet */
	uint8_t pt;
	struct {
		size_t bytes;
		uint8_t data[512];
	} payload[PAYLOADS];
};

/* In the machine's own order of octets. */
struct dump_head {
	int64_t ns; /* monotonic */
	uint16_t party, heard;
	uint32_t bytes;
};

struct party {
	int fd;
	const struct script *says;
	uint32_t ticks; /* from number to number of what it hears */
	struct sockaddr_storage to;
	uint32_t sent;
	cr_ns due;
	/* of what is heard */
	bool heard;
	uint16_t last_seq;
	uint32_t ssrc, last_ts;
	cr_ns last;
	/* since the mark */
	cr_ns gap;
	unsigned lost, shed, breaks, packets;
	unsigned others; /* packets of another type than it says */
};

static struct script scripts[2];
static struct party *parties;
static unsigned n;
static FILE *dump; /* or NULL */

_Noreturn static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void write_script(struct script *s, const char *codec)
{
	const struct cr_codec *c = cr_codec_find(codec);
	struct speech_corpus *corpus;
	struct speech_reader reader;
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct cr_frame frame;
	struct cr_err e;
	unsigned rate;
	void *enc;

	if (!c)
		die(codec);
	s->use = (struct codec_use){ .codec = c,
				     .cfg = { .mode = c->default_mode },
				     .amr = { .octet_align = true } };
	rate = codec_use_rate(&s->use);
	s->ticks = codec_use_clock(&s->use) / 50;
	s->use.cfg.samples = rate / 50;
	s->pt = !strcmp(codec, "pcmu") ? 0 : !strcmp(codec, "pcma") ? 8 : 96;
	if (payload_format_find(&s->use) ||
	    c->encoder_open(&enc, &s->use.cfg, &e) ||
	    speech_open(&corpus, rate, NULL, &e))
		die("codec, or recordings");
	speech_reader_init(&reader, corpus, 1, 0);
	for (unsigned i = 0; i < PAYLOADS; i++) {
		int bytes;

		speech_read(&reader, pcm, s->use.cfg.samples);
		(void)c->encode(enc, s->use.cfg.mode, pcm, &frame);
		bytes = payload_pack(&s->use, PAYLOAD_NO_CMR, &frame, 1,
				     s->payload[i].data,
				     sizeof(s->payload[i].data));
		if (bytes <= 0)
			die("payload");
		s->payload[i].bytes = (size_t)bytes;
	}
	c->encoder_close(enc);
	speech_close(corpus);
}

static void open_parties(int epoll, const char *host)
{
	const bool own = !strcmp(host, "own");
	const int size = BUFFER, on = 1;

	descriptors_raise();
	printf("at");
	for (unsigned i = 0; i < n; i++) {
		struct sockaddr_in at = {
			.sin_family = AF_INET,
			/* 127.1.0.1 and following */
			.sin_addr.s_addr =
				own ? htonl(0x7f010001 + i) : inet_addr(host),
		};
		socklen_t len = sizeof(at);
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		char text[INET_ADDRSTRLEN];

		if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) ||
		    getsockname(fd, (struct sockaddr *)&at, &len) ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
			die("socket");
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size,
				 sizeof(size));
		(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on,
				 sizeof(on));
		parties[i].fd = fd;
		parties[i].says = &scripts[i % 2];
		parties[i].ticks = scripts[i % 2].ticks;
		(void)inet_ntop(AF_INET, &at.sin_addr, text, sizeof(text));
		printf(" %s:%u", text, ntohs(at.sin_port));
	}
	puts("");
	(void)fflush(stdout);
}

static void read_targets(void)
{
	char text[64];

	for (unsigned i = 0; i < n; i++) {
		if (!fgets(text, sizeof(text), stdin))
			die("targets");
		text[strcspn(text, "\n")] = '\0';
		if (address_parse(text, &parties[i].to))
			die(text);
	}
	/* spread over a frame */
	for (unsigned i = 0; i < n; i++)
		parties[i].due = clock_now() + PTIME * (cr_ns)i / n;
}

static void write_packet(unsigned party, bool heard, const uint8_t *data,
			 size_t bytes)
{
	const struct dump_head head = { clock_now(), (uint16_t)party, heard,
					(uint32_t)bytes };

	if (!dump || party >= 2 * DUMP_CALLS)
		return;
	if (fwrite(&head, sizeof(head), 1, dump) != 1 ||
	    fwrite(data, bytes, 1, dump) != 1)
		die("dump");
}

static void send_frame(struct party *p, unsigned i)
{
	const struct script *s = p->says;
	/* each from a place of its own */
	const unsigned at = (i * 37 + p->sent) % PAYLOADS;
	uint8_t data[RTP_HEADER_BYTES + sizeof(s->payload[0].data)];

	(void)rtp_build(data, &(struct rtp_packet){ .pt = s->pt,
						    .seq = (uint16_t)p->sent,
						    .ts = s->ticks * p->sent,
						    .ssrc = i + 1 });
	memcpy(data + RTP_HEADER_BYTES, s->payload[at].data,
	       s->payload[at].bytes);
	p->sent++;
	write_packet(i, false, data, RTP_HEADER_BYTES + s->payload[at].bytes);
	(void)sendto(p->fd, data, RTP_HEADER_BYTES + s->payload[at].bytes, 0,
		     (struct sockaddr *)&p->to, sizeof(struct sockaddr_in));
}

static void hear_packet(struct party *l, const struct rtp_packet *p, cr_ns now)
{
	uint16_t step = (uint16_t)(p->seq - l->last_seq);
	uint32_t ts = p->ts - l->last_ts;

	if (p->pt != l->says->pt) {
		l->others++;
		return;
	}
	l->packets++;
	if (l->heard) {
		l->gap = cr_ns_max(l->gap, now - l->last);
		if (p->ssrc != l->ssrc || !step || step > INT16_MAX ||
		    ts > INT32_MAX || ts % l->ticks || ts / l->ticks < step) {
			l->breaks++;
		} else {
			l->lost += step - 1u;
			/* under overload, silence is left out */
			l->shed += ts / l->ticks - step;
		}
	}
	l->heard = true;
	l->ssrc = p->ssrc;
	l->last_seq = p->seq;
	l->last_ts = p->ts;
	l->last = now;
}

/* False: there is none. */
static bool hear_one(struct party *l)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(struct timespec))];
	} control;
	uint8_t data[2048];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t bytes = recvmsg(l->fd, &m, 0);
	const struct cmsghdr *c = bytes > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	struct timespec at;
	struct rtp_packet p;

	if (!c)
		return false;
	memcpy(&at, CMSG_DATA(c), sizeof(at));
	write_packet((unsigned)(l - parties), true, data, (size_t)bytes);
	if (!rtp_parse(data, (size_t)bytes, &p))
		hear_packet(l, &p, at.tv_sec * CR_SEC + at.tv_nsec);
	return true;
}

static void hear_all(int epoll)
{
	struct epoll_event event[EVENTS];
	int got;

	do {
		got = epoll_wait(epoll, event, EVENTS, 0);
		for (int i = 0; i < got; i++)
			while (hear_one(&parties[event[i].data.u32]))
				;
	} while (got == EVENTS);
}

static int compare_gaps(const void *a, const void *b)
{
	cr_ns x = *(const cr_ns *)a, y = *(const cr_ns *)b;

	return (x > y) - (x < y);
}

/* The worst gap and the losses of each party since the last mark. */
static void print_mark(void)
{
	cr_ns *gap = calloc(n, sizeof(*gap)), *lost = calloc(n, sizeof(*lost));
	unsigned silent = 0, breaks = 0, packets = 0, others = 0;
	unsigned long sum = 0, shed = 0;
	cr_ns now = clock_read(CLOCK_REALTIME);

	if (!gap || !lost)
		die("memory");
	printf("{\"silent_parties\": [");
	for (unsigned i = 0; i < n; i++) {
		struct party *l = &parties[i];

		if (!l->heard || now - l->last > SILENCE)
			printf("%s%u", silent++ ? ", " : "", i);
		packets += l->packets;
		others += l->others;
		gap[i] = l->gap;
		lost[i] = l->lost;
		sum += l->lost;
		shed += l->shed;
		breaks += l->breaks;
		l->gap = 0;
		l->lost = l->shed = l->breaks = l->packets = l->others = 0;
	}
	qsort(gap, n, sizeof(*gap), compare_gaps);
	qsort(lost, n, sizeof(*lost), compare_gaps);
	printf("], \"silent\": %u, \"packets\": %u, \"others\": %u, "
	       "\"breaks\": %u, \"shed\": %lu, "
	       "\"lost\": %lu, \"lost_p50\": %" PRId64
	       ", \"lost_p99\": %" PRId64 ", \"lost_max\": %" PRId64
	       ", \"gap_p50_ms\": %.1f, "
	       "\"gap_p99_ms\": %.1f, \"gap_max_ms\": %.1f}\n",
	       silent, packets, others, breaks, shed, sum, lost[n / 2],
	       lost[n * 99 / 100], lost[n - 1], (double)gap[n / 2] / 1e6,
	       (double)gap[n * 99 / 100] / 1e6, (double)gap[n - 1] / 1e6);
	(void)fflush(stdout);
	free(gap);
	free(lost);
}

/* Whether the input goes on. */
static bool obey_lines(void)
{
	char text[256];
	ssize_t got = read(STDIN_FILENO, text, sizeof(text));

	for (ssize_t i = 0; i < got; i++)
		if (text[i] == '\n')
			print_mark();
	return got;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(0);
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	if (argc < 5 || argc > 6 || epoll < 0)
		die("bench-restart-load CALLS CODEC CPU HOST [DUMP]");
	dump = argc > 5 ? fopen(argv[5], "wb") : NULL;
	if (argc > 5 && !dump)
		die(argv[5]);
	n = 2 * (unsigned)atoi(argv[1]);
	parties = calloc(n, sizeof(*parties));
	if (!parties)
		die("memory");
	bench_pin("bench-restart-load", atoi(argv[3]));
	(void)sched_setscheduler(0, SCHED_FIFO,
				 &(struct sched_param){ .sched_priority = 1 });
	(void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	/* lines that were read ahead would be no marks */
	(void)setvbuf(stdin, NULL, _IONBF, 0);
	write_script(&scripts[0], "pcmu");
	write_script(&scripts[1], argv[2]);
	open_parties(epoll, argv[4]);
	read_targets();
	do {
		for (unsigned i = 0; i < n; i++)
			for (; parties[i].due <= clock_now();
			     parties[i].due += PTIME)
				send_frame(&parties[i], i);
		hear_all(epoll);
	} while (poll(&in, 1, 1) <= 0 || obey_lines());
	printf("sent");
	for (unsigned i = 0; i < n; i++)
		printf(" %" PRIu32, parties[i].sent);
	puts("");
	return dump && fclose(dump) ? 1 : 0;
}
