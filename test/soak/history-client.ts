/** A client that does something at random to a few objects, and writes down what it did and what it was told. */
import type { Agent } from 'node:https'
import type { Random } from '#base/random.ts'
import type { Operation } from '#testing/history/linearizability.ts'
import type { ObjectCall, ObjectResult } from '#testing/history/object-model.ts'
import type { RevisionSighting } from '#testing/history/revision-order.ts'
import type { SnapshotRead } from '#testing/history/snapshot-reads.ts'
import { ask, type Counter, countersPath, newAgent, ownLabel, type Reply, type Target } from './soak-client.ts'

export type ObjectOperation = Operation<ObjectCall, ObjectResult> & { key: string }
type Item = Counter & { data?: { value?: string } }
type List = { metadata: { resourceVersion: string; continue?: string }; items: Item[] }

/** Long enough for an answer, short enough for a server that was stopped not to be waited for. */
const answerLimitMs = 3000
const labels = { soak: 'yes' }

export type HistoryClientOptions = {
  name: string
  servers: readonly Target[]
  random: Random
  /** The objects of the moment. */
  keys: () => readonly string[]
  /** Between an answer and the next question. */
  thinkMs: number
}

export class HistoryClient {
  readonly operations: ObjectOperation[] = []
  readonly sightings: RevisionSighting[] = []
  /** What may be old, by server: one server does not go back. */
  readonly oldSightings: RevisionSighting[][]
  readonly snapshots: SnapshotRead[] = []
  readonly oldReads: Omit<ObjectOperation, 'calledMs' | 'returnedMs'>[] = []
  readonly problems: string[] = []
  readonly #options: HistoryClientOptions
  readonly #agent: Agent = newAgent()
  /** As far as this client was told. */
  readonly #known = new Map<string, number>()
  #listedRevision = 0
  #isOver = false
  #count = 0
  /** The objects that it is busy with were those of this moment; undefined: it has ended. */
  busySinceMs: number | undefined = 0

  constructor(options: HistoryClientOptions) {
    this.#options = options
    this.oldSightings = options.servers.map(() => [])
  }

  async run(): Promise<void> {
    const { random, keys: currentKeys, thinkMs } = this.#options
    while (!this.#isOver) {
      this.busySinceMs = performance.now()
      const keys = currentKeys()
      const key = keys[random.int(keys.length)] ?? ''
      const chance = random.int(100)
      const known = this.#known.get(key)
      if (chance < 10) await this.#list(keys)
      else if (chance < 15) await this.#listByPages(keys)
      else if (chance < 25) await this.#listOld()
      else if (chance < 30) await this.#getOld(key)
      else if (chance < 50 || (known === undefined && chance < 65)) await this.#get(key)
      else if (known === undefined) await this.#write(key, { verb: 'create', value: this.#value() })
      else if (chance < 80) await this.#write(key, { verb: 'update', value: this.#value(), ifRevision: known })
      else if (chance < 90) await this.#write(key, { verb: 'update', value: this.#value() })
      else if (chance < 97) await this.#write(key, { verb: 'delete', ifRevision: known })
      else await this.#write(key, { verb: 'delete' })
      if (thinkMs > 0) await pause(random.int(2 * thinkMs))
    }
    this.busySinceMs = undefined
    this.#agent.destroy()
  }

  stop(): void {
    this.#isOver = true
  }

  #value(): string {
    return `${this.#options.name}-${this.#count++}`
  }

  #anyServer(): number {
    return this.#options.random.int(this.#options.servers.length)
  }

  #ask(method: string, path: string, body?: object, server = this.#anyServer()): Promise<Reply | undefined> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : undefined
    return ask(this.#agent, this.#options.servers[server] as Target, method, path, body, answerLimitMs, type)
  }

  #record(key: string, call: ObjectCall, calledMs: number, result: ObjectResult): void {
    const returnedMs = result.kind === 'unknown' ? Number.POSITIVE_INFINITY : performance.now()
    this.operations.push({ client: this.#options.name, key, call, calledMs, returnedMs, result })
    if (result.kind === 'written') this.#saw(`${call.verb} ${key}`, calledMs, result.revision, true)
  }

  #saw(what: string, calledMs: number, revision: number, isWrite: boolean, sightings = this.sightings): void {
    sightings.push({ client: this.#options.name, what, calledMs, returnedMs: performance.now(), revision, isWrite })
  }

  async #get(key: string): Promise<void> {
    const calledMs = performance.now()
    const reply = await this.#ask('GET', `${countersPath}/${key}`)
    if (reply?.status === 404) {
      this.#known.delete(key)
      this.#record(key, { verb: 'get' }, calledMs, { kind: 'absent' })
    } else if (reply?.status === 200) this.#found(key, reply.body as unknown as Item, calledMs)
    else await pause()
  }

  async #list(keys: readonly string[]): Promise<void> {
    const calledMs = performance.now()
    const list = await this.#page('')
    if (list === undefined) return pause()
    this.#listed('list', calledMs, list, keys)
  }

  /** Together the pages are one list, as of the revision of the first. */
  async #listByPages(keys: readonly string[]): Promise<void> {
    const calledMs = performance.now()
    let whole: List | undefined
    for (let token = '', isFirst = true; isFirst || token !== ''; isFirst = false) {
      const page = await this.#page(`&limit=3${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`)
      if (page === undefined) return pause()
      whole = { metadata: whole?.metadata ?? page.metadata, items: [...(whole?.items ?? []), ...page.items] }
      if (page.metadata.resourceVersion !== whole.metadata.resourceVersion)
        this.problems.push(
          `${this.#options.name}: a page is of revision ${page.metadata.resourceVersion}, the first of ${whole.metadata.resourceVersion}`,
        )
      token = page.metadata.continue ?? ''
    }
    if (whole !== undefined) this.#listed('list by pages', calledMs, whole, keys)
  }

  async #page(more: string, server = this.#anyServer()): Promise<List | undefined> {
    const reply = await this.#ask('GET', `${countersPath}?${ownLabel}${more}`, undefined, server)
    return reply?.status === 200 ? (reply.body as unknown as List) : undefined
  }

  #listed(what: string, calledMs: number, list: List, keys: readonly string[]): void {
    this.#saw(what, calledMs, this.#snapshot(what, list), false)
    const shown = new Map(list.items.map((item) => [item.metadata.name, item]))
    for (const key of keys) {
      const item = shown.get(key)
      if (item === undefined) this.#record(key, { verb: 'get' }, calledMs, { kind: 'absent' })
      else this.#found(key, item, calledMs)
    }
  }

  #snapshot(what: string, { metadata, items }: List): number {
    const revision = Number(metadata.resourceVersion)
    this.#listedRevision = revision
    this.snapshots.push({ client: this.#options.name, what, revision, items: items.map(shownItem) })
    return revision
  }

  /** From a cache, whatever it has; or no older than what was seen; or exactly that. */
  async #listOld(): Promise<void> {
    const calledMs = performance.now()
    const [server, asked, kind] = [this.#anyServer(), this.#listedRevision, this.#options.random.int(3)]
    const match = kind === 0 || asked === 0 ? undefined : kind === 1 ? 'NotOlderThan' : 'Exact'
    const list = await this.#page(
      match === undefined ? '&resourceVersion=0' : `&resourceVersion=${asked}&resourceVersionMatch=${match}`,
      server,
    )
    if (list === undefined) return pause()
    const what = `list ${match ?? 'of resourceVersion 0'}`
    const revision = this.#snapshot(what, list)
    if (match !== 'Exact') this.#saw(what, calledMs, revision, false, this.oldSightings[server])
    if (match === 'NotOlderThan' ? revision < asked : match === 'Exact' && revision !== asked)
      this.problems.push(`${this.#options.name}: ${what} ${asked} was answered by ${revision}`)
  }

  /** Something that was there once; the store is asked later whether it was. */
  async #getOld(name: string): Promise<void> {
    const reply = await this.#ask('GET', `${countersPath}/${name}?resourceVersion=0`)
    if (reply?.status !== 200) return
    const { revision, value } = shownItem(reply.body as unknown as Item)
    this.oldReads.push({ client: this.#options.name, key: name, call: { verb: 'get' }, result: { kind: 'found', value, revision } })
  }

  #found(key: string, item: Item, calledMs: number): void {
    const { revision, value } = shownItem(item)
    this.#known.set(key, revision)
    this.#record(key, { verb: 'get' }, calledMs, { kind: 'found', value, revision })
  }

  async #write(key: string, call: Exclude<ObjectCall, { verb: 'get' }>): Promise<void> {
    const calledMs = performance.now()
    const reply = await this.#send(key, call)
    const result = resultOf(call, reply)
    if (result === undefined) return pause()
    this.#record(key, call, calledMs, result)
    if (result.kind === 'written') this.#known.set(key, result.revision)
    else this.#known.delete(key)
    if (result.kind === 'unknown') await pause()
  }

  #send(name: string, call: Exclude<ObjectCall, { verb: 'get' }>): Promise<Reply | undefined> {
    const path = `${countersPath}/${name}`
    const resourceVersion = 'ifRevision' in call ? String(call.ifRevision) : undefined
    if (call.verb === 'delete')
      return this.#ask('DELETE', path, resourceVersion === undefined ? {} : { preconditions: { resourceVersion } })
    const data = { value: call.value }
    if (call.verb === 'create') return this.#ask('POST', countersPath, { metadata: { name, labels }, data })
    return resourceVersion === undefined
      ? this.#ask('PATCH', path, { data })
      : this.#ask('PUT', path, { metadata: { name, labels, resourceVersion }, data })
  }
}

const shownItem = ({ metadata, data }: Item) => ({
  key: metadata.name,
  value: data?.value ?? '',
  revision: Number(metadata.resourceVersion),
})

/** Undefined: it certainly did not take place. */
function resultOf(call: ObjectCall, reply: Reply | undefined): ObjectResult | undefined {
  if (reply === undefined || reply.status >= 500) return { kind: 'unknown' }
  const { status, body } = reply
  if (status === 429 || status === 401 || status === 403) return undefined
  // Others were quicker every time that the server tried.
  if (status === 409 && call.verb !== 'create' && !('ifRevision' in call)) return undefined
  if (status === 404) return { kind: 'absent' }
  if (status === 409) return { kind: call.verb === 'create' ? 'exists' : 'conflict' }
  if (status !== 200 && status !== 201) throw new Error(`${call.verb} was answered by ${status}: ${JSON.stringify(body)}`)
  return call.verb === 'delete'
    ? { kind: 'deleted' }
    : { kind: 'written', revision: Number((body as unknown as Counter).metadata.resourceVersion) }
}

const pause = (ms = 20) => new Promise<void>((resolve) => setTimeout(resolve, ms))
