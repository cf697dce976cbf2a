import { subscribe } from 'node:diagnostics_channel'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock, Timer } from '#base/clock.ts'
import { letGoOfSpareMemory } from '#base/spare-memory.ts'
import { trimAllocator, tuneAllocator } from '#base/system-calls.ts'

const checkMs = 5_000
/** Of what the process had after the last time, or less is not worth the work. */
const grownShare = 1.05
const grownBytes = 5 << 20
/** So many checks pass between two collections unless there was work: one takes a tenth of a second of a core. */
const patientChecks = 24
/** What is alive has to be gone through, which takes some milliseconds for each ten million bytes; nobody is answered meanwhile. */
const largestLiveBytes = 120 << 20
/**
 * Who rests at more than before may have kept what a burst has left behind, such as history that is let go of after six minutes: then it is
 * tried again though nothing has grown, until so much is alive.
 */
const raisedShare = 1.2
const patientRaisedChecks = 6
/** After so many tries that gained nothing each waits twice as long as the one before. */
const steadyTries = 3
/** Of tries though nothing has grown, after work: the first collection may have come while everything the work left behind was kept. */
const mostFollowUps = 4
const largestRaisedBytes = 2 * largestLiveBytes
/** From a collection in parts to its end. */
const partsChecks = 1
/** Of a core: above it somebody is served who should not wait. */
const idleShare = 0.1
/** Whoever has asked for something may ask for more: no collection for so long. */
const quietMs = 1_000
/** So many checks are left out after one that gained little, and twice as many the next time. */
const longestRest = 64

export type ProcessMemory = {
  /** Processor time since the process began. */
  busyMs(): number
  residentBytes(): number
  /** What is alive, and what nobody has collected yet. */
  heapBytes(): number
  /** By the clock's `monotonic`, when this process was asked for something the last time. */
  askedMs(): number
  /** The event loop stands still for some tens of milliseconds: V8 has no collection that lets go of pages at once and is done in parts. */
  giveBack(): void
  /** Begins a collection that is done between turns and lets go of few pages, after which `heapBytes` tells what is alive. */
  collectInParts(): void
}

/**
 * Gives memory back to the machine once a burst of work is over: by itself, V8 keeps the pages it has grown to for the next one, and the C
 * library keeps what buffers were made of. Not while much is alive, and not while requests come.
 */
export function giveBackIdleMemory(clock: Clock, memory: ProcessMemory = memoryOfThisProcess(clock)): Timer {
  let busyMs = memory.busyMs()
  /** After the last collection: what is alive, and what the process has. */
  let liveBytes = 0
  let restBytes = 0
  let rest = { checks: 0, next: 1 }
  let checksLeft = 0
  let leastRestBytes = Number.POSITIVE_INFINITY
  /** Since the last collection, while there was no reason for another. */
  let raised = { checks: 0, tries: 0 }
  let followUps = 0
  let isCollectedInParts = false
  let isCollecting = false
  return clock.every(checkMs, () => {
    const beforeMs = busyMs
    busyMs = memory.busyMs()
    const isBusy = !isCollecting && (busyMs - beforeMs) / checkMs > idleShare
    isCollecting = false
    if (isBusy) {
      checksLeft = 0
      rest = { checks: 0, next: 1 }
      followUps = mostFollowUps
      return
    }
    if (checksLeft-- > 0) return
    const resident = memory.residentBytes()
    // V8 collects by itself, too.
    const mostLiveBytes = Math.min(liveBytes, memory.heapBytes())
    const hasGrown = mostLiveBytes <= largestLiveBytes && resident >= Math.max(restBytes * grownShare, restBytes + grownBytes)
    if (!hasGrown) {
      const isRaised = restBytes >= leastRestBytes * raisedShare
      if (followUps === 0 && (!isRaised || mostLiveBytes > largestRaisedBytes)) return
      const patience = followUps > 0 ? 1 : patientRaisedChecks * 2 ** Math.max(0, raised.tries - steadyTries)
      if (++raised.checks < patience) return
    }
    if (clock.monotonic() - memory.askedMs() < quietMs) return
    if (rest.checks-- > 0) return
    if (mostLiveBytes > largestRaisedBytes) {
      // Much of it may be garbage, but whoever does nothing has nothing collected: it is left for good only once that is known.
      checksLeft = isCollectedInParts ? patientChecks : partsChecks
      if (isCollectedInParts) followUps--
      else memory.collectInParts()
      isCollectedInParts = !isCollectedInParts
      isCollecting = isCollectedInParts
      return
    }
    isCollectedInParts = false
    checksLeft = patientChecks
    memory.giveBack()
    // Threads help with a collection of some hundred milliseconds: that is no work that asks for another.
    busyMs = memory.busyMs()
    liveBytes = memory.heapBytes()
    restBytes = memory.residentBytes()
    const hasGained = restBytes < resident / grownShare
    if (!hasGrown && !hasGained && followUps > 0) followUps--
    raised = { checks: 0, tries: hasGrown || hasGained ? 0 : raised.tries + 1 }
    leastRestBytes = Math.min(leastRestBytes, restBytes)
    rest = hasGained ? { checks: 0, next: 1 } : { checks: rest.next, next: Math.min(rest.next * 2, longestRest) }
  })
}

/** What V8 lets come to outside of its heap before it collects. */
const pressureBytes = 65 << 20

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

function memoryOfThisProcess(clock: Clock): ProcessMemory {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  tuneAllocator()
  let askedMs = Number.NEGATIVE_INFINITY
  for (const name of ['http.server.request.start', 'http2.server.stream.start']) {
    subscribe(name, () => {
      askedMs = clock.monotonic()
    })
  }
  return {
    busyMs() {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1000
    },
    residentBytes() {
      try {
        return process.memoryUsage.rss()
      } catch {
        // It is read from a file, which a process with too many open cannot: nothing is known to have grown.
        return 0
      }
    },
    heapBytes: () => process.memoryUsage().heapUsed,
    askedMs: () => askedMs,
    giveBack() {
      letGoOfSpareMemory()
      // Only a collection of the last resort lets go of pages.
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      trimAllocator()
    },
    // V8 begins one when so much memory outside of its heap was asked for since the last; nobody touches it, so that the machine gives none.
    collectInParts: () => void Buffer.allocUnsafeSlow(pressureBytes),
  }
}
