/* SPDX-License-Identifier: MIT */
#include "wire/method.h"

#include "base/mem.h"

const struct method *method_find(const struct method *const *table, size_t n, struct str name)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(name, str_of(table[middle]->name));
        if (order == 0)
            return table[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void method_check_table(const struct method *const *table, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (str_cmp(str_of(table[i - 1]->name), str_of(table[i]->name)) >= 0)
            BUG("method %s is listed after %s", table[i]->name, table[i - 1]->name);
}
