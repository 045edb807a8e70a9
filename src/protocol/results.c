/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What methods and notifications tell.
 */
#include "protocol/results.h"

#include <string.h>

#include "protocol/field_json.h"

static struct bound_result promise(const struct bound *b)
{
	return (struct bound_result){ .bound = b->rule ? b : NULL,
				      .why = b->rule ? NULL : b->why };
}

void result_call(struct node_call *nc, struct call_result *out)
{
	node_call_info(nc, &out->info);
	out->bound = promise(&out->info.bound);
}

json_t *result_call_json(struct node_call *nc)
{
	struct call_result r;

	result_call(nc, &r);
	return field_write(call_result_fields, &r);
}

json_t *result_place_json(struct node_call *nc)
{
	struct call_place_result r;

	node_call_place(nc, &r.place);
	r.bound = promise(&r.place.bound);
	return field_write(call_place_result_fields, &r);
}

static bool cost_at(void *arg, unsigned i, void *item)
{
	return node_cost(arg, i, item);
}

void result_capacity(struct node *n, struct capacity_result *out)
{
	node_capacity(n, &out->capacity);
	out->costs = (struct field_each){ cost_at, n };
}

static bool place_at(void *arg, unsigned i, void *item)
{
	const struct node_place_info *row = node_place(arg, i);

	if (row)
		*(struct node_place_info *)item = *row;
	return row;
}

struct field_each result_places(struct node *n)
{
	return (struct field_each){ place_at, n };
}

static bool interface_at(void *arg, unsigned i, void *item)
{
	struct interface_place *to = item;
	struct node_interface_info info;

	if (!node_interface(arg, i, &info))
		return false;
	to->name = info.name;
	memcpy(to->address, info.address, sizeof(to->address));
	memcpy(to->advertised, info.advertised, sizeof(to->advertised));
	return true;
}

struct field_each result_interfaces(struct node *n)
{
	return (struct field_each){ interface_at, n };
}

json_t *result_conversion_json(const struct conversion *cv)
{
	struct node_conversion_info info;

	node_conversion_info(cv, &info);
	return field_write(conversion_info_fields, &info);
}
