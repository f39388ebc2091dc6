/* SPDX-License-Identifier: MIT */
#include "terminal/outside.h"

#include "base/mem.h"

enum outside_answer outside_answer(struct str line, bool has_rule)
{
    static const char *const habits[] = {"y", "yes", "a"}; /* answers to other questions */
    struct str word = str_trim(line);
    for (size_t i = 0; i < ARRAY_LEN(habits); i++)
        if (str_ieq(word, str_of(habits[i])))
            return OUTSIDE_AGAIN;
    if (has_rule && str_ieq(word, STR("always")))
        return OUTSIDE_ALWAYS;
    return str_ieq(word, STR("outside")) ? OUTSIDE_ONCE : OUTSIDE_NO;
}
