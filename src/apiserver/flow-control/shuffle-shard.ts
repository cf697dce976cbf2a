/**
 * Which queues a flow may use: a hand of cards dealt from the deck of queues by the flow's hash. Two flows rarely hold the same
 * hand, so one that floods its queues leaves the others some that are free.
 */
import { createHash } from 'node:crypto'

/** The same flow always gets the same hand. */
export function dealHand(flow: string, deckSize: number, handSize: number): number[] {
  let entropy = createHash('sha256').update(flow).digest().readBigUInt64LE(0)
  const hand: number[] = []
  const dealt: number[] = []
  for (let index = 0; index < handSize; index++) {
    const left = BigInt(deckSize - index)
    // The place among the cards that are left; those dealt before it move it up.
    let card = Number(entropy % left)
    entropy /= left
    for (const lower of dealt) if (card >= lower) card++
    hand.push(card)
    dealt.push(card)
    dealt.sort((one, other) => one - other)
  }
  return hand
}
