/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD shim for User-Mode Linux 6.1 on CPUs whose XSAVE area is larger
 * than its fixed buffer (any CPU with AMX). The host's
 * PTRACE_SETREGSET(NT_X86_XSTATE) insists on the full size, so UML panics with
 * "ptrace set fp regs failed". Here the tracee's whole area is read, overlaid
 * with what UML gives, and written back.
 */
#define _GNU_SOURCE

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

/* UML traces from one thread. */
static _Alignas(64) char area[65536];

static bool merge(long pid, const struct iovec *part, struct iovec *whole)
{
	*whole = (struct iovec){ area, sizeof(area) };
	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, whole) ||
	    whole->iov_len <= part->iov_len)
		return false;
	memcpy(area, part->iov_base, part->iov_len);
	return true;
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;
	struct iovec whole;
	void *addr, *data;
	long pid, word = 0;

	va_start(ap, request);
	pid = va_arg(ap, long);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA ||
	    request == PTRACE_PEEKUSER) { /* the C library returns the word */
		if (syscall(SYS_ptrace, request, pid, addr, &word) < 0)
			return -1;
		errno = 0;
		return word;
	}
	if (request == PTRACE_SETREGSET && (long)addr == NT_X86_XSTATE &&
	    merge(pid, data, &whole))
		data = &whole;
	return syscall(SYS_ptrace, request, pid, addr, data);
}
