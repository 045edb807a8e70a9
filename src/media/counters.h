/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted of streams and packets: the names that C and the protocol
 * use, units, heads of codec-ctl's columns (NULL: none), and help for people. A
 * name that ends in _ns counts ns. These are lists only: other files make
 * struct members, array indexes and table rows from them.
 */
#ifndef MEDIA_COUNTERS_H
#define MEDIA_COUNTERS_H

/** Counters of a stream. Each has one writing thread at a time: in mode relay
 * the receiver writes all, in mode transcode the worker the second part. */
#define STREAM_RX_COUNTERS(X)                                                  \
	X(packets_in, "packets", "IN_PKTS",                                    \
	  "packets that became frames, or were relayed")                       \
	X(octets_in, "bytes", NULL, "payload octets accepted")                 \
	X(relayed, "packets", NULL,                                            \
	  "packets passed on as they came, without a codec")                   \
	X(relayed_other, "packets", NULL,                                      \
	  "packets of these that had another payload type than the codec's")   \
	X(overwritten, "frames", NULL,                                         \
	  "frames dropped, oldest first, to make room for newer ones")         \
	X(duplicates, "packets", NULL, "packets that had come before")         \
	X(reordered, "packets", NULL, "packets that came after a newer one")   \
	X(seq_jumps, "packets", NULL,                                          \
	  "packets whose sequence number is far from the last one")            \
	X(violations, "packets", NULL,                                         \
	  "packets earlier than the call's burst allows (lbap)")               \
	X(too_big, "packets", NULL,                                            \
	  "packets whose payload is larger than a place in the frame buffer")  \
	X(wrong_source, "packets", NULL, "packets from another address")       \
	X(wrong_ssrc, "packets", NULL,                                         \
	  "packets with an SSRC that is not the sender's")                     \
	X(probation, "packets", NULL,                                          \
	  "packets of a new sender that had not proved itself yet")            \
	X(wrong_pt, "packets", NULL, "packets with another payload type")      \
	X(surplus, "packets", NULL,                                            \
	  "packets beyond the 1000 a second that a party may send, and in "    \
	  "the second after: a flood, or a circle of calls")                   \
	X(synthesized, "frames", NULL,                                         \
	  "frames that no packet brought: concealment, silence, and digits' "  \
	  "ticks")                                                             \
	X(jitter_missed, "packets", NULL,                                      \
	  "packets that had not come when the jitter buffer played one "       \
	  "behind them")                                                       \
	X(silences, "frames", NULL,                                            \
	  "frames of silence, while the sender saved packets")                 \
	X(events, "packets", NULL, "packets of telephone events")              \
	X(cn_in, "packets", NULL, "packets of comfort noise")                  \
	X(late_in, "packets", NULL,                                            \
	  "packets that came when their turn in the jitter buffer was over")   \
	X(overflowed, "packets", NULL,                                         \
	  "packets that left the jitter buffer unplayed: it was full, or its " \
	  "sender began anew or ended")                                        \
	X(buffered_ns, "ns", NULL,                                             \
	  "time that packets waited in the jitter buffer, all together")       \
	X(port_drops, "datagrams", NULL,                                       \
	  "datagrams lost because the call's own port was full")               \
	X(unread, "datagrams", NULL,                                           \
	  "datagrams that still waited at the call's own port when it ended")
#define STREAM_WORKER_SUMS(X)                                                  \
	X(done, "frames", "DONE", "frames transcoded")                         \
	X(expired, "frames", "EXPIRED",                                        \
	  "frames that were too old when their turn came")                     \
	X(shed, "frames", "SHED",                                              \
	  "frames given up before they were too old, to keep others in time: " \
	  "by --shed, or by the scheduler")                                    \
	X(pauses, "frames", NULL,                                              \
	  "of shed, frames of pauses: the output's numbers go on without "     \
	  "them, as if the party had sent nothing")                            \
	X(given_up, "frames", NULL,                                            \
	  "of shed, frames that the scheduler gave up")                        \
	X(concealed, "frames", NULL, "frames replaced by concealment")         \
	X(malformed, "frames", NULL, "payloads that could not be parsed")      \
	X(missing, "packets", NULL,                                            \
	  "packets that never came, or were dropped: missing between those "   \
	  "transcoded")                                                        \
	X(cancelled, "frames", NULL,                                           \
	  "frames that still waited when the call ended")                      \
	X(muted, "frames", NULL,                                               \
	  "frames of speech not sent, as a telephone event was going on")      \
	X(send_failed, "packets", NULL, "packets that the socket refused")     \
	X(no_destination, "packets", NULL,                                     \
	  "packets not sent, as the address of the party was not known yet")   \
	X(on_hold, "packets", NULL,                                            \
	  "packets not sent, as the party was on hold")                        \
	X(excess, "packets", NULL,                                             \
	  "packets not sent or frames not transcoded, as there was more than " \
	  "one each packet time")                                              \
	X(packets_out, "packets", "OUT_PKTS", "packets sent")                  \
	X(octets_out, "bytes", NULL, "payload octets sent")                    \
	X(events_out, "packets", NULL, "packets of telephone events sent")     \
	X(cn_out, "packets", NULL, "packets of comfort noise sent")            \
	X(late, "frames", "LATE", "frames sent after their deadline")          \
	X(cmr, "packets", NULL, "packets that asked for a codec mode (CMR)")   \
	X(delay_ns, "ns", NULL,                                                \
	  "time from arrival to sending of the frames transcoded, all "        \
	  "together")                                                          \
	X(codec_ns, "ns", NULL,                                                \
	  "time inside the codecs by the clock, so also while others had the " \
	  "CPU; under schedulers of the kernel: CPU time")                     \
	X(busy_ns, "ns", NULL,                                                 \
	  "time that workers were at frames: codec_ns, and sending")

/** Those that can be added up over streams, and all. */
#define STREAM_SUMS(X) STREAM_RX_COUNTERS(X) STREAM_WORKER_SUMS(X)
#define STREAM_WORKER_COUNTERS(X)                                              \
	STREAM_WORKER_SUMS(X)                                                  \
	X(delay_max_ns, "ns", "MAX_DELAY",                                     \
	  "longest time from arrival to sending")
#define STREAM_COUNTERS(X) STREAM_RX_COUNTERS(X) STREAM_WORKER_COUNTERS(X)

/** Their places in an array of all. */
enum stream_counter {
#define STREAM_PLACE(name, ...) STREAM_COUNTER_##name,
	STREAM_COUNTERS(STREAM_PLACE)
#undef STREAM_PLACE
		STREAM_NCOUNTERS
};

/** Datagrams that no stream could be charged with. */
#define PACKET_COUNTERS(X)                                                     \
	X(packets, "datagrams", NULL, "datagrams received")                    \
	X(malformed, "datagrams", NULL, "datagrams that are not RTP")          \
	X(rtcp, "packets", NULL,                                               \
	  "RTCP packets, and whatever came to a port for RTCP; those that "    \
	  "are in none of the next three were not looked at")                  \
	X(rtcp_heard, "packets", NULL, "RTCP packets that were believed")      \
	X(rtcp_refused, "packets", NULL, "RTCP packets that are malformed")    \
	X(rtcp_foreign, "packets", NULL,                                       \
	  "RTCP packets from a host that is not the party's")                  \
	X(unknown_ssrc, "packets", NULL, "RTP packets that belong to no call") \
	X(no_listener, "packets", NULL,                                        \
	  "RTP packets to a port that no call listens to")                     \
	X(oversized, "datagrams", NULL, "datagrams larger than any packet")    \
	X(handed_over, "packets", NULL,                                        \
	  "packets of another receiver's call, which came in one train with "  \
	  "this one's")                                                        \
	X(handover_drops, "packets", NULL,                                     \
	  "packets lost because the other receiver did not take them in time") \
	X(socket_drops, "datagrams", NULL,                                     \
	  "datagrams or trains lost because the shared socket was full")

enum packet_counter {
#define PACKET_PLACE(name, ...) PACKET_COUNTER_##name,
	PACKET_COUNTERS(PACKET_PLACE)
#undef PACKET_PLACE
		PACKET_NCOUNTERS
};

#endif
