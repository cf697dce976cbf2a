/**
 * Two API servers on three etcd servers, with controllers and schedulers, of which any may be killed, stopped for a while, cut off or
 * slowed; clients that write down all they do and are told; and at the end the question whether all of it could have come from one store,
 * and is what etcd says has happened.
 */
import { type Random, seededRandom } from '#base/random.ts'
import { checkLinearizability } from '#testing/history/linearizability.ts'
import { objectModel } from '#testing/history/object-model.ts'
import { revisionProblems } from '#testing/history/revision-order.ts'
import { snapshotProblems } from '#testing/history/snapshot-reads.ts'
import { asWatch, storedProblems } from '#testing/history/stored-changes.ts'
import { watchProblems } from '#testing/history/watch-completeness.ts'
import { storedChanges } from './etcd-history.ts'
import { HistoryClient, type ObjectOperation } from './history-client.ts'
import { type HistoryCluster, startHistoryCluster } from './history-cluster.ts'
import { breakages, healAll, sleep, slowOne } from './history-faults.ts'
import { HistoryWatch } from './history-watch.ts'
import { ReplicaWorkload } from './replica-workload.ts'
import { ask, countersPath, newAgent, type Target } from './soak-client.ts'

export type HistoryOptions = {
  seed: number
  /** Controller managers, and as many schedulers. */
  managersOfEach?: number
  /** How long a client waits after an answer, on average, and how long nothing breaks in between. */
  thinkMs?: number
  calmMs?: number
}

export type HistoryTally = {
  faults: Record<string, number>
  operations: number
  unknown: number
  lists: number
  watchEvents: number
  watchesResumed: number
  watchesBegunAnew: number
  changesStored: number
  workloadChanges: number
  endedByThemselves: string[]
  seconds: number
  problems: string[]
}

const [clientsCount, watchesCount, keysCount] = [4, 4, 4]
/** Objects are left alone after a while, so that the history of each stays short, and then removed. */
const keyLifeMs = 4000
const lastKey = 'the-last-one'
const valuePattern = /client\d+-\d+|the-last-one/
const patienceMs = 120_000

export class HistoryRun implements AsyncDisposable {
  readonly #cluster: HistoryCluster
  readonly #clients: readonly HistoryClient[]
  readonly #watches: readonly HistoryWatch[]
  readonly #workload: ReplicaWorkload
  readonly #running: Promise<unknown>
  readonly #watching: Promise<unknown>
  readonly #calmMs: number
  readonly #random: { breaking: Random; slowing: Random }
  readonly #beganMs = performance.now()
  readonly #faults: Record<string, number> = {}
  /** Of the kinds of breakages: each shall have been. */
  #turn: number
  #sweptGenerations = 0

  private constructor(cluster: HistoryCluster, workload: ReplicaWorkload, { seed, thinkMs = 0, calmMs = 200 }: HistoryOptions) {
    this.#cluster = cluster
    this.#workload = workload
    this.#calmMs = calmMs
    this.#turn = seed
    this.#random = { breaking: seededRandom(seed), slowing: seededRandom(seed + 1) }
    const generation = () => Math.floor((performance.now() - this.#beganMs) / keyLifeMs)
    const keys = () => Array.from({ length: keysCount }, (_, index) => `k${index}-${generation()}`)
    this.#clients = Array.from({ length: clientsCount }, (_, id) => {
      const servers = cluster.targets(id % 2 === 0 ? 0 : 1)
      return new HistoryClient({ name: `client${id}`, servers, random: seededRandom(seed * 100 + id), keys, thinkMs })
    })
    this.#watches = Array.from({ length: watchesCount }, (_, id) => {
      const targets = cluster.targets(id % 2 === 0 ? 0 : 1)
      return new HistoryWatch(`watch${id}`, targets, seededRandom(seed * 200 + id), id < 2 ? 'list' : 'initial events')
    })
    this.#running = Promise.all([...this.#clients, workload].map((one) => one.run()))
    this.#watching = Promise.all(this.#watches.map((watch) => watch.run()))
  }

  static async start(options: HistoryOptions): Promise<HistoryRun> {
    await using starting = new AsyncDisposableStack()
    const cluster = starting.use(await startHistoryCluster(options.managersOfEach ?? 1))
    const workload = new ReplicaWorkload(cluster.targets(0), seededRandom(options.seed * 300), 2000)
    await workload.makeNode()
    starting.move()
    return new HistoryRun(cluster, workload, options)
  }

  /** Everything fails in turn for so long; then nothing does. */
  async strike(forMs: number): Promise<void> {
    const endMs = performance.now() + forMs
    const isOver = () => performance.now() > endMs
    try {
      await Promise.all([this.#breaking(isOver), this.#slowing(isOver), this.#sweeping(isOver)])
    } finally {
      healAll(this.#cluster)
    }
  }

  /** Clients end, all watches come to see what is written last, and what everybody was told is looked at. */
  async outcome(): Promise<HistoryTally> {
    const [cluster, clients, watches, workload] = [this.#cluster, this.#clients, this.#watches, this.#workload]
    for (const one of [...clients, workload]) one.stop()
    await this.#running
    const problems = [...(await watchesEnd(cluster.targets(0), watches)), ...(await workload.problems())]
    for (const watch of watches) watch.stop()
    await this.#watching
    const changes = await storedChanges(cluster.etcd.endpoints[0] ?? '', '/registry/configmaps/default/', lastKey, valuePattern)
    const operations = clients.flatMap((client) => client.operations)
    const records = watches.flatMap((watch) => watch.records)
    const snapshots = [...clients, ...watches].flatMap((one) => one.snapshots)
    const told = [...operations, ...clients.flatMap((client) => client.oldReads), lastWrite]
    return {
      faults: this.#faults,
      operations: operations.length,
      unknown: operations.filter(({ result }) => result.kind === 'unknown').length,
      lists: snapshots.length,
      watchEvents: records.reduce((sum, { events }) => sum + events.length, 0),
      watchesResumed: watches.reduce((sum, { resumed }) => sum + resumed, 0),
      watchesBegunAnew: records.length - watchesCount,
      changesStored: changes.length,
      workloadChanges: workload.changes,
      endedByThemselves: [...cluster.managers, ...cluster.servers.map(({ process }) => process)].flatMap(({ endings }) => endings),
      seconds: Math.round((performance.now() - this.#beganMs) / 1000),
      problems: [
        ...problems,
        ...[...clients, ...cluster.servers.map(({ process }) => process)].flatMap((one) => one.problems),
        ...objectProblems(operations),
        ...revisionProblems(clients.flatMap((client) => client.sightings)),
        ...oldRevisionProblems(clients),
        ...storedProblems(told, changes),
        ...snapshotProblems(snapshots, changes),
        ...watchProblems([asWatch(changes), ...records], []),
      ],
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of [...this.#clients, ...this.#watches, this.#workload]) one.stop()
    await this.#cluster[Symbol.asyncDispose]()
    await Promise.all([this.#running, this.#watching])
  }

  async #breaking(isOver: () => boolean): Promise<void> {
    const { breaking: random } = this.#random
    const kinds = Object.entries(breakages)
    for (; !isOver(); this.#turn++) {
      await this.#calm(random)
      const [name, strike] = kinds[this.#turn % kinds.length] ?? ['', undefined]
      await strike?.(this.#cluster, random)
      this.#faults[name] = (this.#faults[name] ?? 0) + 1
    }
  }

  async #slowing(isOver: () => boolean): Promise<void> {
    const { slowing: random } = this.#random
    while (!isOver()) {
      const kind = `${await slowOne(this.#cluster, random)}Slowed`
      this.#faults[kind] = (this.#faults[kind] ?? 0) + 1
      await this.#calm(random)
    }
  }

  #calm(random: Random): Promise<void> {
    return sleep(this.#calmMs / 2 + random.int(this.#calmMs))
  }

  /** Removes what nobody uses any more, so that lists stay short: only when no request is under way that speaks of it. */
  async #sweeping(isOver: () => boolean): Promise<void> {
    const targets = this.#cluster.targets(1)
    const agent = newAgent()
    for (; !isOver(); this.#sweptGenerations++) {
      const endedMs = this.#beganMs + (this.#sweptGenerations + 1) * keyLifeMs
      const isLeft = () => this.#clients.every(({ busySinceMs }) => busySinceMs === undefined || busySinceMs > endedMs)
      while (!isLeft() && !isOver()) await sleep(200)
      for (let index = 0; index < keysCount && !isOver(); ) {
        const target = targets[index % targets.length] as Target
        const reply = await ask(agent, target, 'DELETE', `${countersPath}/k${index}-${this.#sweptGenerations}`, {}, 3000)
        if (reply?.status === 200 || reply?.status === 404) index++
        else await sleep(100)
      }
    }
    agent.destroy()
  }
}

const lastWrite = { client: 'the run', key: lastKey, call: { verb: 'create', value: lastKey }, result: { kind: 'unknown' } } as const

/** Every watch must come to see what is written last. */
async function watchesEnd(servers: readonly Target[], watches: readonly HistoryWatch[]): Promise<string[]> {
  const agent = newAgent()
  const endMs = performance.now() + patienceMs
  const body = { metadata: { name: lastKey, labels: { soak: 'yes' } }, data: { value: lastKey } }
  for (let isThere = false; !isThere && performance.now() < endMs; ) {
    const reply = await ask(agent, servers[0] as Target, 'POST', countersPath, body, 3000)
    isThere = reply?.status === 201 || reply?.status === 409
    if (!isThere) await sleep(100)
  }
  agent.destroy()
  while (!watches.every((watch) => watch.hasSeen(lastKey)) && performance.now() < endMs) await sleep(50)
  return watches.flatMap((watch, index) => (watch.hasSeen(lastKey) ? [] : [`watch${index} did not come to see the last write`]))
}

function objectProblems(operations: readonly ObjectOperation[]): string[] {
  return [...Map.groupBy(operations, ({ key }) => key)].flatMap(([key, ofKey]) => {
    const verdict = checkLinearizability(ofKey, objectModel)
    if (verdict.isLinearizable) return []
    const shown = verdict.stuckAt.map(({ client, call, result, calledMs, returnedMs }) =>
      JSON.stringify({ client, call, result, calledMs: Math.round(calledMs), returnedMs: Math.round(returnedMs) }),
    )
    return [`${key} is not linearizable; none of these can have been next: ${shown.join(' ')}`]
  })
}

/** One server's cache does not go back, whoever asks it. */
function oldRevisionProblems(clients: readonly HistoryClient[]): string[] {
  const servers = clients[0]?.oldSightings.length ?? 0
  return Array.from({ length: servers }, (_, server) =>
    revisionProblems(clients.flatMap(({ oldSightings }) => oldSightings[server] ?? [])),
  ).flat()
}
