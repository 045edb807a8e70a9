/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one object that stands for all grace periods.
 */
#include "base/rcu.h"

char rcu_order;
