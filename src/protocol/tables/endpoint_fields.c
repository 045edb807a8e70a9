/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of endpoints, and of parties.
 */
#include "protocol/tables/endpoint_fields.h"

static const char *const learns[] = { CALL_LEARN_NAMES };
static const char *const rtcps[] = { CALL_RTCP_NAMES };
static const char *const families[] = { PARTY_FAMILY_NAMES };

#define ALSO                                                                   \
	.help = "further codecs that the party may send at any time, by "      \
		"their "                                                       \
		"payload types; the node sends it codec"

const struct field party_side_fields[] = {
	{ ROW_CODEC(party_side, "codec", name),
	  .help = "name of the codec, as the method codecs lists it; a "
		  "call needs it" },
	{ ROW_SHARED(party_side, codec_use) },
	{ 0 },
};

const struct field party_endpoint_fields[] = {
	{ ROW_INLINE(party_endpoint, side, party_side) },
	{ ROW_LIST(party_endpoint, "also", also, nalso, call_side),
	  .max = PARTY_ALSO_MAX, ALSO },
	{ ROW_TIME(party_endpoint, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "of PCM and opus as the other party's, else a frame",
	  .help = "duration of the speech in a packet that the party is sent: "
		  "one or more frames; a packet before a pause may have "
		  "fewer" },
	{ ROW_TIME(party_endpoint, "in_ptime", in_ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX,
	  .without = "the call's ptime",
	  .help = "duration of the speech in a packet that the party sends" },
	{ ROW_ADDRESS(party_endpoint, "address", address),
	  .without = "learned from its packets",
	  .help = "the party's signalled address" },
	{ ROW_ADDRESS(party_endpoint, "rtcp_address", rtcp_address),
	  .without = "one port above address",
	  .help = "where the party has its RTCP (SDP: a=rtcp, RFC 3605), if "
		  "not where its RTP is" },
	{ ROW_CHOICE(party_endpoint, "learn", learn, learns), .dflt = -1,
	  .without = "delayed where address is given, else immediate",
	  .help = "how the party is chosen; strict: only address; immediate: "
		  "the first sender; delayed: of several in the first 3 s the "
		  "one heard for longest; asymmetric: as delayed, but answers "
		  "go to address. Only a sender with the same SSRC and "
		  "numbers, or endpoint.change, replaces one that was heard "
		  "for a second" },
	{ ROW_INT(party_endpoint, "ssrc", ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "learned from its packets",
	  .help = "the only SSRC that it may send with" },
	{ ROW_INT(party_endpoint, "out_ssrc", out_ssrc), .min = 1,
	  .max = UINT32_MAX,
	  .without = "a random one; the other party's where it is relayed",
	  .help = "SSRC of the packets that the node sends to it" },
	{ ROW_CHOICE(party_endpoint, "rtcp", rtcp, rtcps), .dflt = -1,
	  .without = "port",
	  .help = "RTCP with the party: on the port above that of RTP, or mux: "
		  "on the same one (RFC 5761); a party that uses the same one "
		  "without agreement is answered there" },
	{ ROW_INLINE(party_endpoint, types, call_types) },
	{ ROW_INLINE(party_endpoint, reception, call_reception) },
	{ ROW_BOOL(party_endpoint, "hold", hold),
	  .help = "the party is sent nothing (SDP: sendonly, inactive); its "
		  "packets are received, and RTCP continues" },
	{ ROW_TEXT(party_endpoint, "interface", interface),
	  .without = "the first with an address of address's family",
	  .help = "name of the interface, as hello lists them, that its "
		  "endpoint "
		  "is opened at" },
	{ ROW_CHOICE(party_endpoint, "family", family, families),
	  .dflt = PARTY_ANY,
	  .help = "IP family of its endpoint, where address does not say it" },
	{ 0 },
};

const struct field endpoint_open_fields[] = {
	{ ROW_INLINE(endpoint_open, end, party_endpoint) },
	{ ROW_BOOL(endpoint_open, "keep", keep),
	  .help = "the endpoint belongs to no session; only endpoint.close "
		  "closes it" },
	{ 0 },
};

const struct field endpoint_reference_fields[] = {
	{ ROW_INT(endpoint_reference, "endpoint", endpoint), .min = 1,
	  .max = UINT32_MAX, .required = "which endpoint?",
	  .help = "id of the endpoint" },
	{ 0 },
};

const struct field party_change_fields[] = {
	{ ROW_ADDRESS(party_change, "address", address), .without = "as it is",
	  .help = "where the party is now: it is answered there from the next "
		  "packet on" },
	{ ROW_ADDRESS(party_change, "rtcp_address", rtcp_address),
	  .without = "one port above address where that is given, else as it "
		     "is",
	  .help = "where the party has its RTCP now; see endpoint.open" },
	{ ROW_CHOICE(party_change, "learn", learn, learns), .dflt = -1,
	  .without = "as it is",
	  .help = "how the party is chosen; see endpoint.open" },
	{ ROW_INLINE(party_change, side, party_side) },
	{ ROW_LIST(party_change, "also", also, nalso, call_side),
	  .max = PARTY_ALSO_MAX, ALSO },
	{ ROW_TIME(party_change, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "as it is; as in endpoint.open where "
		     "codec is given",
	  .help = "duration of the speech in a packet that the party is "
		  "sent" },
	{ ROW_TIME(party_change, "in_ptime", in_ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX, .without = "as it is",
	  .help = "duration of the speech in a packet that the party sends "
		  "from now on; a deadline that was one packet's follows" },
	{ ROW_INT(party_change, "events", types.events), .max = 127, .dflt = -1,
	  .without = "as it is",
	  .help = "RTP payload type of telephone events from now on; 0: none "
		  "any more; see endpoint.open" },
	{ ROW_INT(party_change, "events_clock", types.events_clock),
	  .min = 8000, .max = 48000, .unit = "Hz", .without = "the codec's",
	  .help = "goes with events: the clock of their durations; see "
		  "endpoint.open" },
	{ ROW_INT(party_change, "noise", types.noise), .max = 127, .dflt = -1,
	  .without = "as it is",
	  .help = "RTP payload type of comfort noise from now on; 0: none any "
		  "more; see endpoint.open" },
	{ ROW_BOOL(party_change, "hold", hold), .dflt = -1,
	  .without = "as it is",
	  .help = "the party is sent nothing from now on, or again; see "
		  "endpoint.open" },
	{ 0 },
};

const struct field endpoint_change_fields[] = {
	{ ROW_INT(endpoint_change, "endpoint", id), .min = 1, .max = UINT32_MAX,
	  .required = "which endpoint?", .help = "id of the endpoint" },
	{ ROW_INLINE(endpoint_change, end[0], party_change) },
	{ 0 },
};

const struct field endpoint_state_fields[] = {
	{ ROW_INT(endpoint_state, "endpoint", id),
	  .help = "id of the endpoint" },
	{ ROW_TEXT(endpoint_state, "rtp", address),
	  .help = "address that the party sends packets to, and that it is "
		  "sent to from" },
	{ ROW_ADDRESS(endpoint_state, "to", to),
	  .help = "address that the party is sent to: signalled or learned" },
	{ ROW_BOOL(endpoint_state, "hold", hold),
	  .help = "the party is on hold: nothing is sent to it but RTCP" },
	{ ROW_TEXT(endpoint_state, "interface", interface),
	  .help = "name of the interface of the endpoint" },
	{ ROW_INT(endpoint_state, "packets", packets),
	  .help = "packets of the party" },
	{ ROW_INT(endpoint_state, "wrong_source", wrong_source),
	  .help = "packets from an address that is not the party's" },
	{ ROW_INT(endpoint_state, "wrong_ssrc", wrong_ssrc),
	  .help = "packets with an SSRC that is not the party's" },
	{ ROW_INT(endpoint_state, "probation", probation),
	  .help = "packets of a new sender that had not proved itself yet" },
	{ ROW_INT(endpoint_state, "ssrc_changes", ssrc_changes),
	  .help = "times its SSRC has changed" },
	{ ROW_INT(endpoint_state, "address_changes", address_changes),
	  .help = "times its address has changed" },
	{ ROW_TEXT(endpoint_state, "unknown", unknown),
	  .help = "packets of payload types that nobody has agreed on: \"12 of "
		  "type 96, 3 of type 101\"" },
	{ ROW_POINTER(endpoint_state, "rtcp", rtcp.is, rtcp_info),
	  .help = "RTCP with it; null if there is none" },
	{ 0 },
};

const struct field endpoint_info_fields[] = {
	{ ROW_SHARED(endpoint_info, endpoint_state) },
	{ ROW_INT(endpoint_info, "call", call), .flags = FIELD_OMIT_ZERO,
	  .help = "id of the call that has the endpoint, if there is one" },
	{ ROW_TEXT(endpoint_info, "codec", codec), .flags = FIELD_NULL,
	  .help = "name of the codec; null: not known yet" },
	{ ROW_TEXT(endpoint_info, "mode", mode), .help = "bit rate, if known" },
	{ ROW_TIME(endpoint_info, "ptime", ptime, "ms"),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "duration of the speech in a packet to the party, if known" },
	{ ROW_TIME(endpoint_info, "in_ptime", in_ptime, "ms"),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "duration of the speech in a packet from the party, if "
		  "known" },
	{ 0 },
};

const struct field endpoint_list_fields[] = {
	{ ROW_EACH(endpoint_list, "endpoints", items, endpoint_info),
	  .help = "the endpoints, as endpoint.query returns them" },
	{ ROW_BOOL(endpoint_list, "more", more),
	  .help = "there are more endpoints: ask again, with after set to the "
		  "last "
		  "id" },
	{ 0 },
};

const struct field party_fields[] = {
	{ ROW_INT(party, "endpoint", endpoint), .min = 1, .max = UINT32_MAX,
	  .without = "an endpoint is opened, and closed with the call",
	  .help = "id of an open endpoint (endpoint.open), instead of the "
		  "following members" },
	{ ROW_SHARED(party, party_endpoint) },
	{ 0 },
};

const struct field party_info_fields[] = {
	{ ROW_INT(party_info, "stream", stream),
	  .help = "id of the stream from this party" },
	{ ROW_SHARED(party_info, endpoint_state) },
	{ ROW_INT(party_info, "pt", pt),
	  .help = "payload type in both directions" },
	{ ROW_INT(party_info, "out_ssrc", out_ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC of the packets that the node sends to it; if missing, "
		  "the other party's" },
	{ ROW_TIME(party_info, "ptime", ptime, "ms"), .flags = FIELD_OMIT_ZERO,
	  .help = "duration of the speech in a packet that it is sent; if "
		  "missing, as the other party sends" },
	{ 0 },
};
