/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of calls.
 */
#ifndef PROTOCOL_TABLES_CALL_FIELDS_H
#define PROTOCOL_TABLES_CALL_FIELDS_H

#include "node/requests.h"
#include "node/info.h"
#include "protocol/field_json.h"

/* --- parameters --- */

/** call.stop, call.query: which one. */
struct call_reference {
	uint32_t call;
};

/** call.export, call.take: what goes from node to node. */
struct call_state {
	const char *state, *records;
};

/** stream.query: which one. */
struct stream_reference {
	uint32_t stream;
};

/** Which part of a list. */
struct page_request {
	uint32_t after; /**< ids above this ... */
	unsigned limit; /**< ... so many        */
};

enum { PAGE_MAX = 200 };

/** A part of a list, as it is returned. */
struct list_result {
	struct field_each items;
	bool more;
};

/** stream.top. */
struct stream_top_request {
	int sort; /**< enum node_top_key */
	unsigned limit;
};

FIELD_TABLE_DECLARE(rtcp_info, struct endpoint_rtcp_info);
FIELD_TABLE_DECLARE(rtcp_far, struct endpoint_rtcp_info);
FIELD_TABLE_DECLARE(contract, struct contract);
/** How a codec is used. */
FIELD_TABLE_DECLARE(codec_use, struct codec_use);
FIELD_TABLE_DECLARE(call_types, struct aux_spec);
FIELD_TABLE_DECLARE(call_reception, struct reception_spec);
FIELD_TABLE_DECLARE(call_side, struct codec_use);
FIELD_TABLE_DECLARE(call_in, struct call_spec);
FIELD_TABLE_DECLARE(call_out, struct endpoint_spec);
FIELD_TABLE_DECLARE(call_release, struct release_spec);
FIELD_TABLE_DECLARE(call_terms, struct task_terms);
/** Rows of call.start: with in and out, with a and b, with either. */
FIELD_TABLE_DECLARE(call_one, struct call_spec);
FIELD_TABLE_DECLARE(call_two, struct call_spec);
FIELD_TABLE_DECLARE(call_each, struct call_spec);
FIELD_TABLE_DECLARE(call_start, struct call_spec);
FIELD_TABLE_DECLARE(call_change_out, struct endpoint_spec);
/** Rows of call.change: of a call of one stream, and of two. */
FIELD_TABLE_DECLARE(call_change_one, struct call_spec);
FIELD_TABLE_DECLARE(call_change_two, struct call_spec);
FIELD_TABLE_DECLARE(call_change, struct call_spec);
FIELD_TABLE_DECLARE(stream_change, struct call_spec);
FIELD_TABLE_DECLARE(call_reference, struct call_reference);
FIELD_TABLE_DECLARE(call_state, struct call_state);
FIELD_TABLE_DECLARE(stream_reference, struct stream_reference);
FIELD_TABLE_DECLARE(page, struct page_request);
FIELD_TABLE_DECLARE(stream_top, struct stream_top_request);

/* --- results --- */

/** The two parties of a call of two streams. */
struct call_parties {
	bool relay;
	struct node_endpoint_info party[2];
};

/** A call. */
struct call_info {
	uint32_t id;
	const char *label;
	struct field_each
		streams; /**< struct node_stream_info, whose id is first
			  */
	const struct call_parties *parties;    /**< NULL: it has one stream */
	const struct node_stream_place *place; /**< NULL: it has two        */
	/* where these lead; not to be copied */
	struct call_parties two;
	struct node_stream_place one;
};

/** The notification stream.ended. */
struct stream_ended {
	struct node_stream_info info;
	const char *reason;
};

/** A stream of stream.top. */
struct stream_top_entry {
	struct node_top_rates rates;
	struct node_stream_info info;
};

struct stream_top_result {
	unsigned streams;
	cr_ns window;
	const char *sort;
	struct field_each top; /**< struct stream_top_entry */
};

FIELD_TABLE_DECLARE(side_info, struct node_side_info);
FIELD_TABLE_DECLARE(admitted, struct node_admitted);
FIELD_TABLE_DECLARE(stream_counts, struct node_stream_counts);
FIELD_TABLE_DECLARE(policy_number, struct cr_kv);
FIELD_TABLE_DECLARE(bound, struct bound);
FIELD_TABLE_DECLARE(stream_info, struct node_stream_info);
FIELD_TABLE_DECLARE(call_place_rtp, struct node_stream_place);
FIELD_TABLE_DECLARE(call_place_out, struct node_stream_place);
FIELD_TABLE_DECLARE(call_place, struct node_stream_place);
FIELD_TABLE_DECLARE(call_parties, struct call_parties);
FIELD_TABLE_DECLARE(call_started, struct call_info);
FIELD_TABLE_DECLARE(call_info, struct call_info);
FIELD_TABLE_DECLARE(call_list, struct list_result);
FIELD_TABLE_DECLARE(stream_ended, struct stream_ended);
FIELD_TABLE_DECLARE(stream_list, struct list_result);
FIELD_TABLE_DECLARE(stream_top_entry, struct stream_top_entry);
FIELD_TABLE_DECLARE(stream_top_result, struct stream_top_result);

/** call.start's @params. 0, or -EINVAL with @e naming the member and the way
 * out. */
int call_params(struct call_spec *out, const json_t *params, struct cr_err *e);

/** @params of call.change or stream.change, whose rows @table are. 0, or
 * -EINVAL with @e as above. */
int call_change_params(struct call_spec *out, const struct field *table,
		       const json_t *params, struct cr_err *e);

/** Do such @params say something of a call of two streams (@two), or of one? 0,
 * or -EINVAL with @e. */
int call_change_kind(const json_t *params, bool two, struct cr_err *e);

#endif
