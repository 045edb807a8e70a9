/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of waiting jobs against a model: an array.
 */
#include <string.h>

#include "base/random.h"
#include "cmocka_cr.h"
#include "sim/backlog.h"

static void against_a_model(uint32_t most)
{
	static uint64_t model[100000];
	struct backlog b = { .most = most };
	struct random r = { most + 1 };
	size_t head = 0, tail = 0;

	for (int i = 0; i < 60000; i++) {
		struct backlog_entry e = { .frame = tail }, gone = { 0 };
		int rc;

		if (head < tail && random_chance(&r, 450000)) {
			assert_int_equal(backlog_head(&b)->frame, model[head]);
			backlog_drop(&b);
			head++;
			continue;
		}
		rc = backlog_put(&b, &e, &gone);
		assert_int_equal(rc, most && tail - head == most);
		if (rc)
			assert_int_equal(gone.frame, model[head++]);
		model[tail++] = e.frame;
		assert_int_equal(b.count, tail - head);
	}
	backlog_fini(&b);
	assert_null(backlog_head(&b));
}

static void it_keeps_order_and_drops_the_oldest(void **state)
{
	static const uint32_t most[] = { 0, 1, 2, 3, 8, 100 };

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++)
		against_a_model(most[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_keeps_order_and_drops_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
