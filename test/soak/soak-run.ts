/** Hours of what happens to a server in the end: kills, full disks, spoilt files, clocks that jump, floods; and a check after each. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Random, seededRandom } from '#base/random.ts'
import { Ledger } from './ledger.ts'
import { ask, type Counter, countersPath, countOf, newAgent, ownLabel, type Target } from './soak-client.ts'
import { SoakWatch } from './soak-watch.ts'
import { SoakWriter } from './soak-writer.ts'
import { type Backend, SoakedServer } from './soaked-server.ts'
import { spoilFile, tearFile } from './spoil-file.ts'

export type SoakOptions = {
  backend: Backend
  kills: number
  diskFaults: number
  seed: number
  /** Of `performance.now()`: ends then with what there is, after the last check. */
  endMs?: number
  onProgress?(tally: SoakTally): void
}

export type SoakTally = {
  kills: number
  fullDisks: number
  spoiltFiles: number
  /** Of these: noticed, and the server refused to start. The others were in places that nobody needs. */
  spoiltRefused: number
  tornFiles: number
  clockJumps: number
  floods: number
  requests: number
  acknowledged: number
  unknownOutcomes: number
  watchEvents: number
  watchesResumed: number
  watchesRelisted: number
  seconds: number
  problems: string[]
}

const writersCount = 4
const watchersCount = 2
const settleLimitMs = 120_000

export async function soak(options: SoakOptions): Promise<SoakTally> {
  const { backend, seed } = options
  const random = seededRandom(seed)
  const startedMs = performance.now()
  const problems: string[] = []
  const note = (problem: string) => void (problems.length < 50 && problems.push(problem))
  await using server = await SoakedServer.start(backend)
  const target = (): Target => server
  const ledger = new Ledger()
  const writers = Array.from({ length: writersCount }, (_, id) => new SoakWriter(id, target, seededRandom(seed * 100 + id), ledger, note))
  const watches = Array.from({ length: watchersCount }, () => new SoakWatch(target, note))
  const running = [...writers, ...watches].map((each) => each.run())
  const did = { kills: 0, fullDisks: 0, spoiltFiles: 0, spoiltRefused: 0, tornFiles: 0, clockJumps: 0, floods: 0 }
  const sum = (of: (watch: SoakWatch) => number) => watches.reduce((total, watch) => total + of(watch), 0)
  const tally = (): SoakTally => ({
    ...did,
    requests: writers.reduce((total, writer) => total + writer.requests, 0),
    acknowledged: ledger.acknowledged,
    unknownOutcomes: ledger.unknown,
    watchEvents: sum((watch) => watch.events),
    watchesResumed: sum((watch) => watch.resumed),
    watchesRelisted: sum((watch) => watch.relisted),
    seconds: Math.round((performance.now() - startedMs) / 1000),
    problems,
  })
  const faults = () => did.fullDisks + did.spoiltFiles + did.tornFiles
  try {
    const isInTime = () => performance.now() < (options.endMs ?? Number.POSITIVE_INFINITY)
    while ((did.kills < options.kills || faults() < options.diskFaults) && problems.length === 0 && isInTime()) {
      await sleep(5 + random.int(150))
      const needsFault = faults() < options.diskFaults
      // Where the disk has failed often enough the rest is left to the others.
      const chance = needsFault ? random.int(100) : 40 + random.int(60)
      if (needsFault && chance < 20 && server.hasOwnDisk) {
        await fullDisk(server, random)
        did.fullDisks++
      } else if (needsFault && chance < 32 && backend === 'sqlite') {
        const outcome = await spoilt(server, ledger, random, note)
        did.spoiltFiles++
        if (outcome === 'refused') did.spoiltRefused++
        did.kills++
      } else if (needsFault && chance < 40 && backend === 'sqlite') {
        await torn(server, random)
        did.tornFiles++
        did.kills++
      } else if (chance < 45) {
        // Some hours back or forth; certificates are valid for longer.
        server.setClock(random.int(7200) - 3600)
        did.clockJumps++
      } else if (chance < 48) {
        await flood(server, random)
        did.floods++
      } else if (did.kills < options.kills) {
        await killAndStart(server, random)
        did.kills++
        if (did.kills % 20 === 0) await everythingThere(server, ledger, note)
        if (did.kills % 10 === 0) options.onProgress?.(tally())
      }
    }
    for (const writer of writers) writer.stop()
    await Promise.all(running.slice(0, writersCount))
    await everythingThere(server, ledger, note)
    await watchesCaughtUp(watches, ledger, note)
  } catch (error) {
    note(`${error instanceof Error ? error.stack : error}\n${server.output.slice(-3000)}`)
  } finally {
    for (const each of [...writers, ...watches]) each.stop()
  }
  return tally()
}

async function killAndStart(server: SoakedServer, random: Random): Promise<void> {
  if (server.backend === 'etcd') {
    const who = random.int(3)
    if (who !== 0) await server.killEtcd()
    if (who !== 1) await server.kill()
    await server.startEtcdAgain()
    if (server.isRunning) return
  } else await server.kill()
  await server.start()
}

async function fullDisk(server: SoakedServer, random: Random): Promise<void> {
  server.fillDisk()
  await sleep(50 + random.int(300))
  if (random.int(3) === 0) await server.kill()
  server.emptyDisk()
  // etcd ends when it cannot write.
  if (server.backend === 'etcd') await server.startEtcdAgain()
  if (!server.isRunning) await server.start()
}

const storeFile = (directory: string, suffix = '') => join(directory, 'store', `store.db${suffix}`)

/** What lies in a spoilt file is never served as if it were sound: either nobody needed it, or the server says so and does not start. */
async function spoilt(
  server: SoakedServer,
  ledger: Ledger,
  random: Random,
  note: (problem: string) => void,
): Promise<'refused' | 'started'> {
  await server.kill()
  const expected = ledger.expected()
  const copy = server.copyData()
  const wal = storeFile(copy, '-wal')
  // The log of the newest writes in one of three cases.
  const path = random.int(3) === 0 && existsSync(wal) ? wal : storeFile(copy)
  const isLog = path === wal
  spoilFile(path, random)
  const outcome = await server.tryOn(copy)
  if (typeof outcome === 'string') {
    if (!/corrupt|malformed|checksum|not a database|damaged|spoilt|broken|disk image/i.test(outcome))
      note(`a spoilt file is not named: ${outcome.slice(-1500)}`)
  } else {
    const agent = newAgent()
    const reply = await ask(agent, { url: outcome.url, token: server.token }, 'GET', `${countersPath}?${ownLabel}`)
    // Reading may fail: what it must not do is to show something else.
    if (reply?.status === 200) {
      const shown = new Map((reply.body as unknown as { items: Counter[] }).items.map((item) => [item.metadata.name, countOf(item)]))
      for (const [name, { held, perhaps }] of expected) {
        const count = shown.get(name)
        if (count !== held && !(perhaps !== undefined && count === perhaps.count)) {
          note(`a spoilt ${isLog ? 'log' : 'file'} was served: ${name} holds ${count}, it should be ${held}`)
        }
      }
    }
    agent.destroy()
    await outcome.end()
  }
  rmSync(copy, { recursive: true, force: true })
  await server.start()
  return typeof outcome === 'string' ? 'refused' : 'started'
}

/** The end of the log is what a write left that was cut off by the kill. */
async function torn(server: SoakedServer, random: Random): Promise<void> {
  await server.kill()
  const wal = storeFile(server.dataDirectory, '-wal')
  if (existsSync(wal)) tearFile(wal, random)
  await server.start()
}

async function flood(server: SoakedServer, random: Random): Promise<void> {
  const agent = newAgent()
  const paths = [`${countersPath}?${ownLabel}`, '/api/v1/namespaces', '/openapi/v2', '/apis', '/nowhere', `${countersPath}?limit=1`]
  await Promise.all(
    Array.from({ length: 200 + random.int(200) }, (_, index) => ask(agent, server, 'GET', paths[index % paths.length] ?? '/')),
  )
  agent.destroy()
}

/** With writers at work: what each finds it checks itself; here the whole list, of what is settled. */
async function everythingThere(server: SoakedServer, ledger: Ledger, note: (problem: string) => void): Promise<void> {
  const agent = newAgent()
  const before = ledger.expected()
  const reply = await ask(agent, server, 'GET', `${countersPath}?${ownLabel}`)
  const after = ledger.expected()
  agent.destroy()
  if (reply?.status !== 200) return
  const shown = new Map((reply.body as unknown as { items: Counter[] }).items.map((item) => [item.metadata.name, countOf(item)]))
  for (const [name, { held, perhaps }] of before) {
    const now = after.get(name)
    // Nothing was under way for this object from before the list until after it.
    if (perhaps !== undefined || now?.perhaps !== undefined || now?.held !== held) continue
    if (shown.get(name) !== held) note(`the list shows ${shown.get(name)} for ${name}; acknowledged was ${held}`)
  }
}

async function watchesCaughtUp(watches: readonly SoakWatch[], ledger: Ledger, note: (problem: string) => void): Promise<void> {
  const isCaughtUp = (watch: SoakWatch) =>
    [...ledger.expected()].every(([name, { held, perhaps }]) => perhaps !== undefined || watch.counts.get(name) === held)
  for (const [index, watch] of watches.entries()) {
    const endMs = performance.now() + settleLimitMs
    while (!isCaughtUp(watch) && performance.now() < endMs) await sleep(50)
    if (!isCaughtUp(watch)) note(`watch ${index} was not told of every change in the end`)
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
