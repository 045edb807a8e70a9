/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters and results of the methods of legs.
 */
#include "protocol/tables/leg.h"

static const char *const learns[] = { CALL_LEARN_NAMES };
static const char *const rtcps[] = { CALL_RTCP_NAMES };
static const char *const families[] = { PARTY_FAMILY_NAMES };

#define ALSO                                                                   \
	.help = "further codecs that the party may send at any time, told by " \
		"their payload types; it is sent codec"

const struct field party_side_fields[] = {
	{ ROW_CODEC(party_side, "codec", codec),
	  .help = "name of the codec, as the method codecs lists it; a "
		  "conversation needs it" },
	{ ROW_SHARED(party_side, codec_use) },
	{ 0 },
};

const struct field party_leg_fields[] = {
	{ ROW_INLINE(party_leg, side, party_side) },
	{ ROW_LIST(party_leg, "also", also, nalso, call_side),
	  .max = PARTY_ALSO_MAX, ALSO },
	{ ROW_TIME(party_leg, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "of PCM and opus as the other party's, else a frame",
	  .help = "duration of the speech in a packet that the party is sent: "
		  "one or more frames; a packet before a pause may have "
		  "fewer" },
	{ ROW_TIME(party_leg, "in_ptime", in_ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX,
	  .without = "the conversation's ptime",
	  .help = "duration of the speech in a packet that the party sends" },
	{ ROW_ADDRESS(party_leg, "address", address),
	  .without = "learned from its packets",
	  .help = "where the party is, as signalling says" },
	{ ROW_ADDRESS(party_leg, "rtcp_address", rtcp_address),
	  .without = "one port above address",
	  .help = "where the party has its RTCP (SDP: a=rtcp, RFC 3605), if "
		  "not where its RTP is" },
	{ ROW_CHOICE(party_leg, "learn", learn, learns), .dflt = -1,
	  .without = "delayed where address is given, else immediate",
	  .help = "who is taken for the party, and answered; strict: only "
		  "address; immediate: who sends first; delayed: of several "
		  "in the first 3 s the one heard for longest; asymmetric: "
		  "heard as delayed, but answers go to address. Who was heard "
		  "for a second is followed by nobody but a sender with its "
		  "SSRC and numbers, or after leg.change" },
	{ ROW_INT(party_leg, "ssrc", ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "learned from its packets",
	  .help = "the only SSRC that it may send with" },
	{ ROW_INT(party_leg, "out_ssrc", out_ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "a random one; the other party's where it is relayed",
	  .help = "SSRC of the packets that the node sends to it" },
	{ ROW_CHOICE(party_leg, "rtcp", rtcp, rtcps), .dflt = -1,
	  .without = "port",
	  .help = "RTCP with the party: on the port above that of RTP, or "
		  "mux: on the same one (RFC 5761); one that uses the same one "
		  "unasked is heard and answered there" },
	{ ROW_INLINE(party_leg, types, call_types) },
	{ ROW_INLINE(party_leg, reception, call_reception) },
	{ ROW_BOOL(party_leg, "hold", hold),
	  .help = "the party is sent nothing (SDP: sendonly, inactive); it is "
		  "heard, and RTCP goes on" },
	{ ROW_TEXT(party_leg, "interface", interface),
	  .without = "the first whose address is of the family of address",
	  .help = "name of the interface, as hello lists them, that its leg "
		  "is opened at" },
	{ ROW_CHOICE(party_leg, "family", family, families), .dflt = PARTY_ANY,
	  .help = "IP family of its leg, where address does not say it" },
	{ 0 },
};

const struct field leg_open_fields[] = {
	{ ROW_INLINE(leg_open, party, party_leg) },
	{ ROW_BOOL(leg_open, "keep", keep),
	  .help = "the leg belongs to no session; only leg.close closes it" },
	{ 0 },
};

const struct field leg_reference_fields[] = {
	{ ROW_INT(leg_reference, "leg", leg), .min = 1, .max = UINT32_MAX,
	  .required = "which leg?", .help = "id of the leg" },
	{ 0 },
};

const struct field party_change_fields[] = {
	{ ROW_ADDRESS(party_change, "address", address), .without = "as it is",
	  .help = "where the party is now: it is answered there from the next "
		  "packet on" },
	{ ROW_ADDRESS(party_change, "rtcp_address", rtcp_address),
	  .without = "one port above address where that is given, else as it "
		     "is",
	  .help = "where the party has its RTCP now; see leg.open" },
	{ ROW_CHOICE(party_change, "learn", learn, learns), .dflt = -1,
	  .without = "as it is",
	  .help = "who is taken for the party; see leg.open" },
	{ ROW_INLINE(party_change, side, party_side) },
	{ ROW_LIST(party_change, "also", also, nalso, call_side),
	  .max = PARTY_ALSO_MAX, ALSO },
	{ ROW_TIME(party_change, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "as it is; as in leg.open where "
		     "codec is given",
	  .help = "duration of the speech in a packet that the party is "
		  "sent" },
	{ ROW_TIME(party_change, "in_ptime", in_ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX, .without = "as it is",
	  .help = "duration of the speech in a packet that the party sends "
		  "from now on; a deadline that was one packet's follows" },
	{ ROW_INT(party_change, "events", events), .max = 127, .dflt = -1,
	  .without = "as it is",
	  .help = "RTP payload type of telephone events from now on; 0: none "
		  "any more; see leg.open" },
	{ ROW_INT(party_change, "events_clock", events_clock), .min = 8000,
	  .max = 48000, .unit = "Hz", .without = "the codec's",
	  .help = "goes with events: the clock of their durations; see "
		  "leg.open" },
	{ ROW_INT(party_change, "noise", noise), .max = 127, .dflt = -1,
	  .without = "as it is",
	  .help = "RTP payload type of comfort noise from now on; 0: none any "
		  "more; see leg.open" },
	{ ROW_BOOL(party_change, "hold", hold), .dflt = -1,
	  .without = "as it is",
	  .help = "the party is sent nothing from now on, or again; see "
		  "leg.open" },
	{ 0 },
};

const struct field leg_change_fields[] = {
	{ ROW_INT(leg_change, "leg", leg), .min = 1, .max = UINT32_MAX,
	  .required = "which leg?", .help = "id of the leg" },
	{ ROW_INLINE(leg_change, to, party_change) },
	{ 0 },
};

const struct field leg_state_fields[] = {
	{ ROW_INT(leg_state, "leg", id), .help = "id of the leg" },
	{ ROW_TEXT(leg_state, "rtp", address),
	  .help = "address that the party sends packets to, and that it is "
		  "sent to from" },
	{ ROW_ADDRESS(leg_state, "to", to),
	  .help = "address that the party is sent to: told or learned" },
	{ ROW_BOOL(leg_state, "hold", hold),
	  .help = "the party is on hold: nothing is sent to it but RTCP" },
	{ ROW_TEXT(leg_state, "interface", interface),
	  .help = "name of the interface of the leg" },
	{ ROW_INT(leg_state, "packets", packets),
	  .help = "packets of the party" },
	{ ROW_INT(leg_state, "wrong_source", wrong_source),
	  .help = "packets from an address that is not the party's" },
	{ ROW_INT(leg_state, "wrong_ssrc", wrong_ssrc),
	  .help = "packets with an SSRC that is not the party's" },
	{ ROW_INT(leg_state, "unproven", unproven),
	  .help = "packets of a new sender that had not proved itself yet" },
	{ ROW_INT(leg_state, "ssrc_changes", ssrc_changes),
	  .help = "times its SSRC has changed" },
	{ ROW_INT(leg_state, "address_changes", address_changes),
	  .help = "times its address has changed" },
	{ ROW_TEXT(leg_state, "unknown", unknown),
	  .help = "packets of payload types that nobody has agreed on: \"12 of "
		  "type 96, 3 of type 101\"" },
	{ ROW_POINTER(leg_state, "rtcp", rtcp.is, rtcp_info),
	  .help = "RTCP with it; null if there is none" },
	{ 0 },
};

const struct field leg_info_fields[] = {
	{ ROW_INLINE(leg_info, leg, leg_state) },
	{ ROW_INT(leg_info, "conversation", conversation),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "id of the conversation that has the leg, if there is one" },
	{ ROW_TEXT(leg_info, "codec", codec), .flags = FIELD_NULL,
	  .help = "name of the codec; null: not told yet" },
	{ ROW_TEXT(leg_info, "mode", mode),
	  .help = "bit rate, if it was told" },
	{ ROW_TIME(leg_info, "ptime", ptime, "ms"), .flags = FIELD_OMIT_ZERO,
	  .help = "duration of the speech in a packet that the party is sent, "
		  "if it was told" },
	{ ROW_TIME(leg_info, "in_ptime", in_ptime, "ms"),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "duration of the speech in a packet that the party sends, if "
		  "it was told" },
	{ 0 },
};

const struct field leg_list_fields[] = {
	{ ROW_EACH(leg_list, "legs", legs, leg_info),
	  .help = "the legs, as leg.query returns them" },
	{ ROW_BOOL(leg_list, "more", more),
	  .help = "there are more legs: ask again, with after set to the last "
		  "id" },
	{ 0 },
};
