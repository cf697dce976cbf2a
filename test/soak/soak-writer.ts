/** A client that creates, changes and deletes objects of its own without end, and notes what it was told. */
import type { Agent } from 'node:https'
import type { Random } from '#base/random.ts'
import type { Ledger } from './ledger.ts'
import { ask, type Count, type Counter, countersPath, countOf, newAgent, type Target } from './soak-client.ts'

const objectsEach = 12
/** Objects of all sizes: from a line to most of a page of the file. */
const largestFillBytes = 6000

export class SoakWriter {
  readonly #id: number
  readonly #target: () => Target
  readonly #random: Random
  readonly #ledger: Ledger
  readonly #agent: Agent = newAgent()
  readonly #revisions = new Map<string, string>()
  readonly #onProblem: (problem: string) => void
  #isOver = false
  requests = 0

  constructor(id: number, target: () => Target, random: Random, ledger: Ledger, onProblem: (problem: string) => void) {
    this.#id = id
    this.#target = target
    this.#random = random
    this.#ledger = ledger
    this.#onProblem = onProblem
  }

  stop(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const name = `soak-${this.#id}-${this.#random.int(objectsEach)}`
      if (!this.#ledger.isSettled(name) && !(await this.#look(name))) await pause(150)
      else if (!(await this.#write(name))) await pause(150)
    }
    this.#agent.destroy()
  }

  /** Finds out whether a write took place. False: nobody answers. */
  async #look(name: string): Promise<boolean> {
    const reply = await this.#ask('GET', `${countersPath}/${name}`)
    if (reply === undefined || (reply.status !== 200 && reply.status !== 404)) return false
    const object = reply.body as unknown as Counter
    const count: Count = reply.status === 200 ? countOf(object) : undefined
    const problem = this.#ledger.found(name, count)
    if (problem !== undefined) this.#onProblem(problem)
    if (count === undefined) this.#revisions.delete(name)
    else this.#revisions.set(name, object.metadata.resourceVersion)
    return true
  }

  async #write(name: string): Promise<boolean> {
    const held = this.#ledger.held(name)
    if (held === undefined) return this.#send(name, 'POST', countersPath, 1, this.#object(name, 1))
    if (this.#random.int(10) === 0) {
      const preconditions = { resourceVersion: this.#revisions.get(name) }
      return this.#send(name, 'DELETE', `${countersPath}/${name}`, undefined, { preconditions })
    }
    return this.#send(name, 'PUT', `${countersPath}/${name}`, held + 1, this.#object(name, held + 1))
  }

  #object(name: string, count: number): object {
    const resourceVersion = this.#revisions.get(name)
    const metadata = { name, labels: { soak: 'yes' }, ...(count > 1 && resourceVersion ? { resourceVersion } : {}) }
    return { metadata, data: { count: String(count), fill: 'x'.repeat(this.#random.int(largestFillBytes)) } }
  }

  async #send(name: string, method: string, path: string, count: Count, body: object): Promise<boolean> {
    this.#ledger.began(name, count)
    const reply = await this.#ask(method, path, body)
    if (reply === undefined) return false
    const { status } = reply
    if (status === 200 || status === 201) {
      this.#ledger.acknowledge(name)
      if (count === undefined) this.#revisions.delete(name)
      else this.#revisions.set(name, (reply.body as unknown as Counter).metadata.resourceVersion)
      return true
    }
    // Who was sent away unheard has changed nothing.
    if (status === 429) this.#ledger.refused(name)
    else if (status === 409 || status >= 500) return status === 409
    else this.#onProblem(`${method} ${path}: ${status} ${JSON.stringify(reply.body).slice(0, 300)}`)
    return false
  }

  #ask(method: string, path: string, body?: object) {
    this.requests++
    return ask(this.#agent, this.#target(), method, path, body)
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
