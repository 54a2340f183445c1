/* src/verify/joint_share.c - buffers of groups that do not live at the same time may lie at the same addresses.
 *
 * Whoever takes a buffer for the first time waits until all that it overlaps was given back for the last time. Which time is the last
 * is not known when it comes; but from now on none of these may be taken again. */
#include "verify/joint_judge.h"
#include "verify/scene.h"

static tw_joint_slot *slot_at(const tw_joint_judge *j, const tw_buffer *b)
{
    return &j->group[b->group].hold[j->hold_of[b - j->in.buffer]].slot[b->slot];
}

/* The buffer `old` lies at some of the addresses. */
static bool displace(const tw_joint_at *s, const tw_buffer *old, tw_joint_slot *heir)
{
    tw_joint_slot *slot = slot_at(s->j, old);
    if (slot->run)
        return tw_fault_at(&s->at, "takes buffer %s, but buffer %s of group '%s', which it overlaps, is held",
                           tw_joint_buffer_name(s->j, s->at.instr->dst, -1).text,
                           tw_joint_buffer_name(s->j, (int)(old - s->j->in.buffer), -1).text,
                           s->j->group[old->group].map->name);
    heir->free_at = tw_max(heir->free_at, slot->free_at);
    if (slot->given >= 0) heir->behind = tw_max(heir->behind, slot->giver + 1);
    slot->lost = true;
    return true;
}

/* All of the circular buffer that it is a part of: new rows may come anywhere in it. */
static tw_buffer room_of(const tw_joint_judge *j, const tw_buffer *b)
{
    tw_buffer whole = *b;
    if (!b->circular) return whole;
    const tw_joint_hold *h = &j->group[b->group].hold[j->hold_of[b - j->in.buffer]];
    whole.offset = j->in.buffer[h->first].offset;
    whole.size = tw_table_units(j->known.scene, h->first, h->slots);
    return whole;
}

bool tw_joint_check_heir(const tw_joint_at *s, tw_joint_hold *h, tw_joint_slot *slot)
{
    const tw_buffer *mine = &s->j->in.buffer[s->at.instr->dst];
    if (slot->lost)
        return tw_fault_at(&s->at, "takes buffer %s, whose addresses a later group has",
                           tw_joint_buffer_name(s->j, s->at.instr->dst, -1).text);
    if (!s->j->shares || slot->given >= 0) return true;
    const tw_buffer here = room_of(s->j, mine);
    for (int i = 0; i < s->j->in.n_buffers; i++) {
        const tw_buffer *b = &s->j->in.buffer[i];
        if (b == mine || b->lane != 0) continue;
        const tw_buffer there = room_of(s->j, b);
        if (here.size == 0 || there.size == 0 || !tw_table_overlap(&here, &there)) continue;
        if (s->j->group[b->group].rank < s->j->group[h->group].rank && !displace(s, b, slot)) return false;
    }
    return true;
}
