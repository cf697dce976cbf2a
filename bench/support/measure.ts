/** Loaded into a process that is measured (`node --import`): tells the parent, when asked, what the process has used. */
import { monitorEventLoopDelay } from 'node:perf_hooks'

export type Measured = { longestBlockMs: number; cpuSeconds: number; residentMb: number }

const delay = monitorEventLoopDelay({ resolution: 1 })
let cpuBefore = process.cpuUsage()

process.on('message', (question: 'start' | 'report' | 'collect') => {
  if (question === 'collect') globalThis.gc?.()
  const { user, system } = process.cpuUsage(cpuBefore)
  const answer: Measured = {
    longestBlockMs: delay.count === 0 ? 0 : delay.max / 1e6,
    cpuSeconds: (user + system) / 1e6,
    residentMb: process.memoryUsage.rss() / 2 ** 20,
  }
  if (question === 'start') {
    delay.enable()
    delay.reset()
    cpuBefore = process.cpuUsage()
  } else delay.disable()
  process.send?.(answer)
})
process.channel?.unref()
