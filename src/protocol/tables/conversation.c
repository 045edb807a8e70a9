/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters and results of the methods of conversations.
 */
#include "protocol/tables/conversation.h"

static const char *const relays[] = { RELAY_REQUEST_NAMES };

const struct field party_fields[] = {
	{ ROW_INT(party, "endpoint", endpoint), .min = 1, .max = UINT32_MAX,
	  .without = "an endpoint is opened, and closed with the conversation",
	  .help = "id of an open endpoint (endpoint.open); what follows is not "
		  "given "
		  "then" },
	{ ROW_SHARED(party, party_endpoint) },
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
	{ ROW_CHOICE(conversation_start, "relay", relay, relays),
	  .help = "auto: where both parties have the same codec, mode, rate "
		  "and payload format, and neither names out_ssrc or a loss to "
		  "conceal, packets are passed on as they are, but for the "
		  "payload type: without a codec, a deadline or a worker; so "
		  "it is whenever they come to have that in mid-call; "
		  "never: they are decoded and encoded anew" },
	{ ROW_TEXT(conversation_start, "label", label), .without = "none",
	  .help = "any text, by which you know it: in queries and records" },
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
	{ ROW_INLINE(party_info, endpoint, endpoint_state) },
	{ ROW_INT(party_info, "pt", pt),
	  .help = "payload type of what it sends and receives" },
	{ ROW_INT(party_info, "out_ssrc", out_ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC of the packets that the node sends to it; if missing, "
		  "the other party's" },
	{ ROW_TIME(party_info, "ptime", ptime, "ms"), .flags = FIELD_OMIT_ZERO,
	  .help = "duration of the speech in a packet that it is sent; if "
		  "missing, as the other party sends" },
	{ 0 },
};

const struct field conversation_info_fields[] = {
	{ ROW_INT(conversation_info, "conversation", id),
	  .help = "id of the conversation" },
	{ ROW_TEXT(conversation_info, "label", label),
	  .help = "what it was told to be called; or null" },
	{ ROW_BOOL(conversation_info, "relay", relay),
	  .help = "packets are passed on without a codec" },
	{ ROW_OBJECT(conversation_info, "a", party[0], party_info),
	  .help = "one party" },
	{ ROW_OBJECT(conversation_info, "b", party[1], party_info),
	  .help = "the other one" },
	{ 0 },
};

const struct field conversation_list_fields[] = {
	{ ROW_EACH(conversation_list, "conversations", conversations,
		   conversation_info),
	  .help = "the conversations, as conversation.query returns them" },
	{ ROW_BOOL(conversation_list, "more", more),
	  .help = "there are more conversations: ask again, with after set to "
		  "the last id" },
	{ 0 },
};
