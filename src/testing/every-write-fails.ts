/** A story told again and again: each time another of its writes goes wrong, and the end must be the same. */
import assert from 'node:assert/strict'
import type { Transport } from '#client/transport.ts'
import { failingWrite } from '#testing/failing-write.ts'

/** Stands on the road of the writer of that name. */
export type Fault = (transport: Transport, writer: string) => Transport

/**
 * Tells `story` undisturbed, and then until each write of each writer was once refused and once lost: in one telling the first of every
 * writer, then the second of every one, and so on. Gives how many writes each had, and the undisturbed end.
 */
export async function everyWriteFails<End>(story: (fault: Fault) => Promise<End>): Promise<{ writes: Map<string, number>; end: End }> {
  const told = async (at: number, how: 'refused' | 'lost') => {
    const counts = new Map<string, { writes: number }>()
    const fault: Fault = (transport, writer) =>
      failingWrite(
        transport,
        { at, how },
        counts.getOrInsertComputed(writer, () => ({ writes: 0 })),
      )
    return { counts, end: await story(fault) }
  }
  const { counts, end } = await told(-1, 'refused')
  const writes = new Map([...counts].map(([writer, count]) => [writer, count.writes]))
  for (let at = 0; at < Math.max(...writes.values()); at++) {
    const writers = [...writes].filter(([, count]) => count > at).map(([writer]) => writer)
    for (const how of ['refused', 'lost'] as const)
      assert.deepEqual((await told(at, how)).end, end, `write ${at} was ${how}: that of ${writers.join(', ')}`)
  }
  return { writes, end }
}
