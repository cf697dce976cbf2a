import type { Files } from '#base/files.ts'

const sysResourceBit = 24n
const least = -1000

/** How safe processes may be made from the kernel's killing: without a right of its own nobody is made safer than the agent is. */
export async function leastOomScoreAdjust(files: Pick<Files, 'readTextIfPresent'>): Promise<number> {
  const hex = /^CapEff:\s+([0-9a-f]+)$/m.exec((await files.readTextIfPresent('/proc/self/status')) ?? '')?.[1]
  const mayLower = hex === undefined || ((BigInt(`0x${hex}`) >> sysResourceBit) & 1n) === 1n
  return mayLower ? least : Number((await files.readTextIfPresent('/proc/self/oom_score_adj')) ?? 0)
}
