/**
 * Loaded into a server before it starts (`--import`): the longest that one turn of its event loop took, in processor time of its thread, so
 * that a machine that is busy with others does not count. Whoever connects to `TURN_METER_SOCKET` is told, and it begins anew. Nobody
 * measures, and the loop sleeps, while nobody has asked for some seconds.
 */
import { createServer } from 'node:net'
import { isMainThread } from 'node:worker_threads'

const path = process.env['TURN_METER_SOCKET']
const keptOnMs = 5000
const threadMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

if (path !== undefined && isMainThread) {
  let longestMs = 0
  let lastMs = threadMs()
  let endMs = 0
  const turn = () => {
    const nowMs = threadMs()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    // Only immediates see each turn, at the price of a loop that does not sleep.
    if (performance.now() < endMs) setImmediate(turn).unref()
    else endMs = 0
  }
  createServer((socket) => {
    socket.on('error', () => {})
    // The turn that answers is over as well.
    setImmediate(() => {
      socket.end(String(longestMs))
      longestMs = 0
    })
    if (endMs === 0) {
      lastMs = threadMs()
      setImmediate(turn)
    }
    endMs = performance.now() + keptOnMs
  })
    .listen(path)
    .unref()
}
