/** A watch that goes on where it was cut, at whichever server answers, and writes down everything it is told. */
import { Agent, request } from 'node:https'
import type { Random } from '#base/random.ts'
import type { SnapshotRead } from '#testing/history/snapshot-reads.ts'
import type { WatchedEvent, WatchRecord } from '#testing/history/watch-completeness.ts'
import { ask, type Counter, countersPath, ownLabel, type Target } from './soak-client.ts'

type Line = {
  type: string
  object: Counter & { metadata: { annotations?: Record<string, string> }; data?: { value?: string }; code?: number }
}

/** What each new beginning is by: a list and then a watch, or a watch that begins with what is there. */
export type WatchBeginning = 'list' | 'initial events'

export class HistoryWatch {
  /** One more after each time that the past was gone. */
  readonly records: (WatchRecord & { untilRevision: number; events: WatchedEvent[] })[] = []
  readonly snapshots: SnapshotRead[] = []
  readonly #name: string
  readonly #servers: readonly Target[]
  readonly #random: Random
  readonly #beginning: WatchBeginning
  readonly #agent = new Agent({ rejectUnauthorized: false })
  #revision = 0
  #initial: SnapshotRead['items'][number][] = []
  #isOver = false
  /** How often it went on where it was cut. */
  resumed = 0
  #sent: ReturnType<typeof request> | undefined

  constructor(name: string, servers: readonly Target[], random: Random, beginning: WatchBeginning) {
    this.#beginning = beginning
    this.#name = name
    this.#servers = servers
    this.#random = random
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const server = this.#servers[this.#random.int(this.#servers.length)] as Target
      if (this.#revision === 0 && this.#beginning === 'list') await this.#list(server)
      else {
        if (this.#revision > 0) this.resumed++
        if ((await this.#follow(server)) === 'gone') this.#revision = 0
      }
      if (!this.#isOver) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    this.#agent.destroy()
  }

  stop(): void {
    this.#isOver = true
    this.#sent?.destroy()
  }

  hasSeen(key: string): boolean {
    return this.records.some(({ events }) => events.some((event) => event.key === key))
  }

  async #list(server: Target): Promise<void> {
    const reply = await ask(this.#agent, server, 'GET', `${countersPath}?${ownLabel}`, undefined, 3000)
    if (reply?.status !== 200) return
    const { metadata, items } = reply.body as unknown as { metadata: { resourceVersion: string }; items: Line['object'][] }
    this.#begin('list', Number(metadata.resourceVersion), items.map(shownObject))
  }

  #begin(what: string, fromRevision: number, items: SnapshotRead['items']): void {
    this.#revision = fromRevision
    this.snapshots.push({ client: this.#name, what, revision: fromRevision, items })
    this.records.push({ client: `${this.#name}.${this.records.length}`, fromRevision, untilRevision: fromRevision, events: [] })
  }

  #follow({ url, token }: Target): Promise<'cut' | 'gone'> {
    this.#initial = []
    const from = this.#revision === 0 ? 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan' : `resourceVersion=${this.#revision}`
    const path = `${countersPath}?watch=true&allowWatchBookmarks=true&${from}&timeoutSeconds=5&${ownLabel}`
    return new Promise((resolve) => {
      let rest = ''
      let outcome: 'cut' | 'gone' = 'cut'
      const options = { agent: this.#agent, headers: { authorization: `Bearer ${token}` }, timeout: 7000 }
      const sent = request(`${url}${path}`, options, (answer) => {
        if (answer.statusCode === 410) outcome = 'gone'
        answer.setEncoding('utf8')
        answer.on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          if (answer.statusCode !== 200) return
          for (const line of lines) if (line !== '' && this.#told(JSON.parse(line) as Line) === 'gone') outcome = 'gone'
        })
        answer.on('error', () => {})
        answer.on('close', () => resolve(outcome))
      })
      this.#sent = sent
      sent.on('timeout', () => sent.destroy())
      sent.on('error', () => resolve(outcome))
      sent.end()
    })
  }

  #told({ type, object }: Line): 'gone' | undefined {
    if (type === 'ERROR') return object.code === 410 ? 'gone' : undefined
    const revision = Number(object.metadata.resourceVersion)
    if (this.#revision === 0) {
      // Until the bookmark that says so these are no changes but what is there.
      if (type !== 'BOOKMARK') this.#initial.push(shownObject(object))
      else if (object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true') this.#begin('initial events', revision, this.#initial)
      return
    }
    const record = this.records.at(-1)
    if (record === undefined) return
    if (type !== 'BOOKMARK')
      record.events.push({ type: type as WatchedEvent['type'], key: object.metadata.name, value: object.data?.value ?? '', revision })
    this.#revision = revision
    record.untilRevision = Math.max(record.untilRevision, revision)
    return
  }
}

const shownObject = ({ metadata, data }: Line['object']) => ({
  key: metadata.name,
  value: data?.value ?? '',
  revision: Number(metadata.resourceVersion),
})
