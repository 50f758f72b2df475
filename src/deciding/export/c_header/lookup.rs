//! The parts of the header that are the same for every table.

/// The text before the collectives.
pub(super) const BEFORE: &str = "\
#ifndef COLLTUNE_TABLE_H
#define COLLTUNE_TABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

/// The types of the header.
pub(super) const TYPES: &str = "\
/* Whether the operator commutes (MPI_Op_commutative); without meaning where nothing is combined. */
enum colltune_operator { COLLTUNE_COMMUTATIVE = 1, COLLTUNE_NONCOMMUTATIVE = 2 };

/* What is at hand: all candidates of colltune, or the library's own algorithms alone. */
enum colltune_deployment { COLLTUNE_FOR_COLLTUNE = 1, COLLTUNE_FOR_LIBRARY = 2 };

/* How ranks are placed on nodes: consecutive ranks fill a node before the next one; rank r is on node
 * r mod n; neither; or not known, which matches any. It matters on several nodes with several ranks each. */
enum colltune_order {
    COLLTUNE_UNKNOWN_ORDER = 0,
    COLLTUNE_BLOCK = 1,
    COLLTUNE_CYCLIC = 2,
    COLLTUNE_OTHER_ORDER = 3
};

/* What to use from a size on. Parameters that are not given are 0. */
struct colltune_choice {
    uint64_t from_bytes;
    const char *candidate; /* its full name with parameters, or \"default\": the library's choice */
    const char *algorithm; /* the name alone, as in \"bcast/chain\", or \"default\" */
    uint64_t block_bytes;
    uint32_t blocks;
    uint32_t radix;
    const char *reduce;
    const char *bcast;
    const char *node;
    const char *network;
    uint32_t leaders_per_node;
    uint32_t max_requests;
    uint64_t segment_bytes;
    uint32_t fanout;
    const char *through; /* what carries messages within a node: 0 for MPI, or \"shared\" */
};

/* The choices of one collective on one shape: nodes x ranks on each, in an order. In `deployments`, 4 says
 * that they are interpolated between measured shapes and stand in for no other one. */
struct colltune_entry {
    int collective;
    uint32_t nodes;
    uint32_t ppn;
    int order;
    int operators;
    int deployments;
    uint32_t first;
    uint32_t count;
};

";

/// The text after the table.
pub(super) const AFTER: &str = "\
static inline int colltune_is_power_of_two(uint64_t ranks)
{
    return ranks && ranks <= UINT32_MAX && !(ranks & (ranks - 1));
}

/* How far a number is from the one asked for. */
static inline double colltune_ratio(uint32_t have, uint32_t asked)
{
    return have > asked ? (double)have / (asked ? asked : 1) : (double)asked / (have ? have : 1);
}

/* Below 0 if `have` is nearer to what is asked for than `than`, above 0 if it is further away: by ratio,
 * the smaller number first. */
static inline int colltune_compare(uint32_t have, uint32_t than, uint32_t asked)
{
    double ratio = colltune_ratio(have, asked), other = colltune_ratio(than, asked);
    if (ratio != other)
        return ratio < other ? -1 : 1;
    return have < than ? -1 : have > than;
}

/* What to use for a call on `nodes` nodes with `ppn` ranks on each, placed in `rank_order`, and a message
 * of `bytes` (what that is, the collective says): the library's choice on shapes and in orders that are
 * not in the table, unless COLLTUNE_EXTRAPOLATE. Never NULL. Ranks that ask the same get the same. */
static inline const struct colltune_choice *colltune_lookup(enum colltune_collective collective,
                                                            uint32_t nodes, uint32_t ppn,
                                                            enum colltune_order rank_order,
                                                            uint64_t bytes,
                                                            enum colltune_operator operators,
                                                            enum colltune_deployment deployment)
{
    static const struct colltune_choice by_default = {0, \"default\", \"default\", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const struct colltune_entry *best = 0, *entry;
    const struct colltune_choice *choice;
    uint32_t low, high;
    int best_is_odd = 0, best_is_other = 0;
    int asked = nodes > 1 && ppn > 1 ? (int)rank_order : 0;
    for (entry = colltune_entries; entry->count > 0; entry++) {
        int order, is_odd, is_other;
        if (entry->collective != (int)collective || !(entry->operators & (int)operators) ||
            !(entry->deployments & (int)deployment))
            continue;
        is_other = entry->order && asked && entry->order != asked;
        if ((entry->deployments & 4) && (is_other || entry->nodes != nodes || entry->ppn != ppn))
            continue;
        /* Many algorithms are made for a power of two ranks, or for other numbers. */
        is_odd = (entry->nodes != nodes || entry->ppn != ppn) &&
                 colltune_is_power_of_two((uint64_t)entry->nodes * entry->ppn) !=
                     colltune_is_power_of_two((uint64_t)nodes * ppn);
        if (best) {
            order = is_other - best_is_other;
            if (order == 0)
                order = is_odd - best_is_odd;
            if (order == 0)
                order = colltune_compare(entry->nodes, best->nodes, nodes);
            if (order == 0)
                order = colltune_compare(entry->ppn, best->ppn, ppn);
            if (order >= 0)
                continue;
        }
        best_is_other = is_other;
        best_is_odd = is_odd;
        best = entry;
    }
    if (!best || (!COLLTUNE_EXTRAPOLATE &&
                  (best_is_other || best->nodes != nodes || best->ppn != ppn)))
        return &by_default;
    /* The last choice that begins at the size or below. The first begins at 0. */
    choice = colltune_choices + best->first;
    low = 0;
    high = best->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (choice[middle].from_bytes <= bytes)
            low = middle;
        else
            high = middle;
    }
    return choice + low;
}

#ifdef __cplusplus
}
#endif

#endif
";
