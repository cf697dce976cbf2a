/** Loaded into a process that is measured (`node --import`): tells the parent, when asked, what the process has used. */

export type Measured = {
  /** The most processor time that the thread of the event loop took before it came to its timers again: a machine that is busy with others does not count. */
  longestHoldMs: number
  /** The same by the clock on the wall. */
  longestDelayMs: number
  cpuSeconds: number
  residentMb: number
}

let cpuBefore = process.cpuUsage()
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

process.on('message', (question: 'start' | 'report' | 'collect') => {
  if (question === 'collect') globalThis.gc?.()
  const { user, system } = process.cpuUsage(cpuBefore)
  const cpuSeconds = (user + system) / 1e6
  process.send?.({ longestHoldMs, longestDelayMs, cpuSeconds, residentMb: process.memoryUsage.rss() / 2 ** 20 } satisfies Measured)
  if (question === 'start') {
    look()
    cpuBefore = process.cpuUsage()
  } else clearInterval(looking)
})
process.channel?.unref()
