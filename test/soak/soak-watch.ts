/** A watch that goes on where it was cut, and checks that it is told everything once, in order. */
import { Agent, type Agent as AgentType, request } from 'node:https'
import { ask, type Count, type Counter, countersPath, countOf, ownLabel, type Target } from './soak-client.ts'

export class SoakWatch {
  readonly #target: () => Target
  readonly #agent: AgentType = new Agent({ rejectUnauthorized: false })
  readonly #counts = new Map<string, number>()
  readonly #onProblem: (problem: string) => void
  #revision = 0
  #isOver = false
  #sent: ReturnType<typeof request> | undefined
  events = 0
  resumed = 0
  relisted = 0

  constructor(target: () => Target, onProblem: (problem: string) => void) {
    this.#target = target
    this.#onProblem = onProblem
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      if (this.#revision === 0 && !(await this.#list())) {
        await pause()
        continue
      }
      const outcome = await this.#follow()
      if (this.#isOver) return
      if (outcome === 'gone') this.#revision = 0
      this.resumed++
      await pause()
    }
  }

  stop(): void {
    this.#isOver = true
    this.#sent?.destroy()
  }

  /** As far as it has been told. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  get revision(): number {
    return this.#revision
  }

  async #list(): Promise<boolean> {
    const reply = await ask(this.#agent, this.#target(), 'GET', `${countersPath}?${ownLabel}`)
    if (reply?.status !== 200) return false
    const { metadata, items } = reply.body as unknown as { metadata: { resourceVersion: string }; items: Counter[] }
    this.#counts.clear()
    for (const item of items) this.#counts.set(item.metadata.name, countOf(item))
    this.#revision = Number(metadata.resourceVersion)
    this.relisted++
    return true
  }

  #follow(): Promise<'cut' | 'gone'> {
    const { url, token } = this.#target()
    const path = `${countersPath}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}&${ownLabel}`
    return new Promise((resolve) => {
      let rest = ''
      let outcome: 'cut' | 'gone' = 'cut'
      const sent = request(`${url}${path}`, { agent: this.#agent, headers: { authorization: `Bearer ${token}` } }, (answer) => {
        if (answer.statusCode === 410) outcome = 'gone'
        answer.setEncoding('utf8')
        answer.on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) if (line !== '' && this.#onEvent(JSON.parse(line)) === 'gone') outcome = 'gone'
        })
        answer.on('error', () => {})
        answer.on('close', () => resolve(outcome))
      })
      this.#sent = sent
      sent.on('error', () => resolve(outcome))
      sent.end()
    })
  }

  #onEvent(event: { type: string; object: Counter & { code?: number } }): 'gone' | undefined {
    const { type, object } = event
    if (type === 'ERROR') return object.code === 410 ? 'gone' : undefined
    const revision = Number(object.metadata.resourceVersion)
    if (type === 'BOOKMARK') {
      if (revision < this.#revision) this.#onProblem(`a bookmark goes back from ${this.#revision} to ${revision}`)
      this.#revision = revision
      return undefined
    }
    const { name } = object.metadata
    const known: Count = this.#counts.get(name)
    const count = countOf(object)
    if (revision <= this.#revision)
      this.#onProblem(`${type} of ${name} at ${revision}, after ${this.#revision}: told twice or out of order`)
    if (type === 'ADDED' && known !== undefined) this.#onProblem(`${name} was added though it was there: its deletion was missed`)
    if (type === 'MODIFIED' && known !== count - 1)
      this.#onProblem(`${name} went from ${known} to ${count}: a change was missed or told twice`)
    if (type === 'DELETED' && known !== count) this.#onProblem(`${name} was deleted at ${count}, last seen at ${known}`)
    if (type === 'DELETED') this.#counts.delete(name)
    else this.#counts.set(name, count)
    this.#revision = revision
    this.events++
    return undefined
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 150))
