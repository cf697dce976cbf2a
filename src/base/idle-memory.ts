import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock, Timer } from '#base/clock.ts'

const checkMs = 20_000
/** Less is not worth the work. */
const worthwhileBytes = 5 << 20
/** To go through so much takes some ten milliseconds, during which nobody is answered. */
const largestHeapBytes = 80 << 20
/** Of a core: above it somebody is served who should not wait. */
const idleShare = 0.1

/**
 * Gives memory back to the machine once a burst of work is over: by itself, V8 keeps for the next one what it has grown to.
 * Only while the heap is small.
 */
export function giveBackIdleMemory(clock: Clock): Timer {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  let cpu = process.cpuUsage()
  return clock.every(checkMs, () => {
    const { user, system } = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    const { heapTotal, heapUsed } = process.memoryUsage()
    const isIdle = (user + system) / 1000 / checkMs < idleShare
    if (isIdle && heapUsed < largestHeapBytes && heapTotal - heapUsed > worthwhileBytes) collect()
  })
}
