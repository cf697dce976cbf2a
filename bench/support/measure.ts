/** Loaded into a process that is measured (`node --import`): tells the parent, when asked, what the process has used. */

import { writeFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { type Parts, partsOf } from './profile-parts.ts'

export type Measured = {
  /** The most processor time that the thread of the event loop took before it came to its timers again: a machine that is busy with others does not count. */
  longestHoldMs: number
  /** The same by the clock on the wall. */
  longestDelayMs: number
  cpuSeconds: number
  /** Of these the thread of the event loop: what is not the store's thread, the collector's or the compiler's. */
  loopSeconds: number
  /** What the thread of the event loop was busy with since `count`. */
  parts: Parts
  residentMb: number
}

let cpuBefore = process.cpuUsage()
let loopBeforeMs = threadMs()
let longestHoldMs = 0
let longestDelayMs = 0
let looking: NodeJS.Timeout | undefined

function look(): void {
  longestHoldMs = 0
  longestDelayMs = 0
  let [heldMs, seenMs] = [threadMs(), performance.now()]
  clearInterval(looking)
  looking = setInterval(() => {
    const [nextHeldMs, nextSeenMs] = [threadMs(), performance.now()]
    longestHoldMs = Math.max(longestHoldMs, nextHeldMs - heldMs)
    longestDelayMs = Math.max(longestDelayMs, nextSeenMs - seenMs)
    heldMs = nextHeldMs
    seenMs = nextSeenMs
  }, 1)
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Takes samples of what the main thread does, until it is asked for them. */
async function sample(everyMicros: number): Promise<() => Promise<Profiler.Profile>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: everyMicros })
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    return profile
  }
}

/** Seldom enough that it costs nothing to speak of. */
const countedEveryMicros = 5000
let counted: (() => Promise<Profiler.Profile>) | undefined
const profiledEveryMicros = 500
let profiled: (() => Promise<Profiler.Profile>) | undefined

/** Where the main thread spends its time, from now on; written to the file of `PROFILE_FILE` when it is over. */
async function profile(isBeginning: boolean): Promise<void> {
  if (isBeginning) profiled = await sample(profiledEveryMicros)
  else if (profiled !== undefined) writeFileSync(process.env['PROFILE_FILE'] ?? '', JSON.stringify(await profiled()))
}

/** `count` is `start` for those who want processor time, and what took it: to look every millisecond takes some itself. */
type Question = 'start' | 'count' | 'report' | 'collect' | 'profile' | 'end profile'

async function answer(question: Question): Promise<void> {
  if (question === 'collect') globalThis.gc?.()
  if (question === 'profile' || question === 'end profile') await profile(question === 'profile')
  const { user, system } = process.cpuUsage(cpuBefore)
  const cpuSeconds = (user + system) / 1e6
  const loopSeconds = (threadMs() - loopBeforeMs) / 1000
  const parts = question === 'report' && counted !== undefined ? partsOf(await counted()) : {}
  if (question === 'report') counted = undefined
  if (question === 'start') look()
  else clearInterval(looking)
  if (question === 'count') counted = await sample(countedEveryMicros)
  const residentMb = process.memoryUsage.rss() / 2 ** 20
  process.send?.({ longestHoldMs, longestDelayMs, cpuSeconds, loopSeconds, parts, residentMb } satisfies Measured)
  if (question !== 'start' && question !== 'count') return
  cpuBefore = process.cpuUsage()
  loopBeforeMs = threadMs()
}

process.on('message', (question: Question) => void answer(question))
process.channel?.unref()
