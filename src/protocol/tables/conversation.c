/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters and results of the methods of conversations.
 */
#include "protocol/tables/conversation.h"

static const char *const learns[] = { CALL_LEARN_NAMES };
static const char *const losses[] = { CALL_LOSS_NAMES };

const struct field party_fields[] = {
	{ ROW_INLINE(party, side, call_side) },
	{ ROW_ADDRESS(party, "address", address),
	  .without = "learned from its packets",
	  .help = "where the party is, as signalling says" },
	{ ROW_CHOICE(party, "learn", learn, learns), .dflt = -1,
	  .without = "delayed where address is given, else immediate",
	  .help = "who is taken for the party, and answered; strict: only "
		  "address; immediate: who sends first; delayed: of several "
		  "in the first 3 s the one heard for longest" },
	{ ROW_INT(party, "ssrc", ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "learned from its packets",
	  .help = "the only SSRC that it may send with" },
	{ ROW_INT(party, "out_ssrc", out_ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "a random one",
	  .help = "SSRC of the packets that the node sends to it" },
	{ ROW_CHOICE(party, "loss", loss, losses),
	  .help = "packets of this party that never came; number: they show "
		  "in the sequence numbers of what the other one is sent; "
		  "conceal: the decoder conceals them, up to 60 ms" },
	{ ROW_TEXT(party, "interface", interface),
	  .without = "the first whose address is of the family of address",
	  .help = "name of the interface, as hello lists them, that its leg "
		  "is opened at" },
	{ 0 },
};

const struct field conversation_start_fields[] = {
	{ ROW_OBJECT(conversation_start, "a", party[0], party),
	  .help = "one party" },
	{ ROW_OBJECT(conversation_start, "b", party[1], party),
	  .help = "the other one" },
	{ ROW_TIME(conversation_start, "ptime", ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX,
	  .without = "a frame of the input; of PCM one of the output, or 20 "
		     "ms",
	  .help = "duration of the speech in a packet" },
	{ ROW_INLINE(conversation_start, terms, call_terms) },
	{ ROW_BOOL(conversation_start, "keep", keep),
	  .help = "the conversation belongs to no session; only "
		  "conversation.stop ends it" },
	{ 0 },
};

const struct field conversation_reference_fields[] = {
	{ ROW_INT(conversation_reference, "conversation", conversation),
	  .min = 1, .max = UINT32_MAX, .required = "which conversation?",
	  .help = "id of the conversation" },
	{ 0 },
};

const struct field party_change_fields[] = {
	{ ROW_ADDRESS(party_change, "address", address), .without = "as it is",
	  .help = "where the party is now: it is answered there from the next "
		  "packet on" },
	{ ROW_CHOICE(party_change, "learn", learn, learns), .dflt = -1,
	  .without = "as it is",
	  .help = "who is taken for the party; see conversation.start" },
	{ 0 },
};

const struct field conversation_change_fields[] = {
	{ ROW_INT(conversation_change, "conversation", conversation), .min = 1,
	  .max = UINT32_MAX, .required = "which conversation?",
	  .help = "id of the conversation" },
	{ ROW_OBJECT(conversation_change, "a", party[0], party_change),
	  .help = "one party" },
	{ ROW_OBJECT(conversation_change, "b", party[1], party_change),
	  .help = "the other one" },
	{ 0 },
};

const struct field party_info_fields[] = {
	{ ROW_INT(party_info, "call", call),
	  .help = "id of the stream from this party, as call.query takes it" },
	{ ROW_TEXT(party_info, "rtp", address),
	  .help = "address that this party sends packets to, and that it is "
		  "sent to from" },
	{ ROW_ADDRESS(party_info, "to", to),
	  .help = "address that this party is sent to: told or learned" },
	{ ROW_INT(party_info, "pt", pt),
	  .help = "payload type of what it sends and receives" },
	{ ROW_INT(party_info, "out_ssrc", out_ssrc),
	  .help = "SSRC of the packets that the node sends to it" },
	{ ROW_TEXT(party_info, "interface", interface),
	  .help = "name of the interface of its leg" },
	{ ROW_INT(party_info, "wrong_source", wrong_source),
	  .help = "packets from an address that is not the party's" },
	{ ROW_INT(party_info, "wrong_ssrc", wrong_ssrc),
	  .help = "packets with an SSRC that is not the party's" },
	{ ROW_INT(party_info, "unproven", unproven),
	  .help = "packets of a new sender that had not proved itself yet" },
	{ ROW_INT(party_info, "ssrc_changes", ssrc_changes),
	  .help = "times its SSRC has changed" },
	{ ROW_INT(party_info, "address_changes", address_changes),
	  .help = "times its address has changed" },
	{ 0 },
};

const struct field conversation_info_fields[] = {
	{ ROW_INT(conversation_info, "conversation", id),
	  .help = "id of the conversation" },
	{ ROW_OBJECT(conversation_info, "a", party[0], party_info),
	  .help = "one party" },
	{ ROW_OBJECT(conversation_info, "b", party[1], party_info),
	  .help = "the other one" },
	{ 0 },
};
