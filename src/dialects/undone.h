/* SPDX-License-Identifier: MIT */
/* What session_undo_await did, for users and for programs. */
#ifndef TRIVET_DIALECTS_UNDONE_H
#define TRIVET_DIALECTS_UNDONE_H

#include "base/rows.h"
#include "engine/session.h"

void undone_put_text(const struct undo_report *r, struct buf *out); /* lines */
void undone_put_members(const struct undo_report *r, struct jw *w); /* of undone_rows */
extern const struct row undone_rows[];

#endif
