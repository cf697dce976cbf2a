/** ReplicaSets that come, grow, shrink and go while the controllers and the scheduler fail; in the end each has the pods it asks for. */
import type { Random } from '#base/random.ts'
import { ask, newAgent, type Target } from './soak-client.ts'

type Meta = { name: string; uid: string; deletionTimestamp?: string; ownerReferences?: { uid: string }[] }
type ReplicaSet = { metadata: Meta; spec: { replicas: number } }
type Pod = { metadata: Meta; spec: { nodeName?: string } }

const setsPath = '/apis/apps/v1/namespaces/default/replicasets'
const podsPath = '/api/v1/namespaces/default/pods'
const answerLimitMs = 5000
const patienceMs = 150_000

export class ReplicaWorkload {
  readonly #targets: readonly Target[]
  readonly #random: Random
  readonly #everyMs: number
  readonly #agent = newAgent()
  readonly #names: string[] = []
  #isOver = false
  #wake: (() => void) | undefined
  changes = 0

  constructor(targets: readonly Target[], random: Random, everyMs: number) {
    this.#targets = targets
    this.#random = random
    this.#everyMs = everyMs
  }

  /** A node of paper: nobody runs what is bound to it. */
  async makeNode(): Promise<void> {
    const room = { cpu: '64', memory: '64Gi', pods: '1000' }
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: new Date().toISOString() }
    const status = { capacity: room, allocatable: room, conditions: [ready] }
    for (const endMs = performance.now() + patienceMs; ; ) {
      const reply = await this.#ask('POST', '/api/v1/nodes', { metadata: { name: 'paper' }, status })
      // The answer to an earlier try may have been late.
      if (reply?.status === 201 || reply?.status === 409) return
      if (performance.now() > endMs) throw new Error(`the node was not made: ${JSON.stringify(reply)}`)
    }
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const name = this.#names[this.#random.int(this.#names.length)]
      const chance = this.#random.int(10)
      if (name === undefined || chance < 4) await this.#create(`set-${this.#names.length}`)
      else if (chance < 8) await this.#scale(name, this.#random.int(4))
      else await this.#ask('DELETE', `${setsPath}/${name}`, {})
      this.changes++
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#everyMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  stop(): void {
    this.#isOver = true
    this.#wake?.()
  }

  /** When nothing fails any more, it must come out right. */
  async problems(): Promise<string[]> {
    const endMs = performance.now() + patienceMs
    await this.#create('the-last-set')
    let found = ['nobody answered']
    while (found.length > 0 && performance.now() < endMs) {
      const sets = await this.#ask('GET', setsPath)
      const pods = await this.#ask('GET', podsPath)
      if (sets?.status === 200 && pods?.status === 200)
        found = differences((sets.body['items'] ?? []) as ReplicaSet[], (pods.body['items'] ?? []) as Pod[])
      if (found.length > 0) await new Promise((resolve) => setTimeout(resolve, 250))
    }
    this.#agent.destroy()
    return found
  }

  #ask(method: string, path: string, body?: object) {
    const target = this.#targets[this.#random.int(this.#targets.length)] as Target
    const type = method === 'PATCH' ? 'application/merge-patch+json' : undefined
    return ask(this.#agent, target, method, path, body, answerLimitMs, type)
  }

  async #create(name: string): Promise<void> {
    this.#names.push(name)
    const labels = { app: name }
    const pod = { containers: [{ name: 'main', image: 'none' }], tolerations: [{ operator: 'Exists' }] }
    const spec = { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } }
    await this.#ask('POST', setsPath, { metadata: { name }, spec })
  }

  async #scale(name: string, replicas: number): Promise<void> {
    await this.#ask('PATCH', `${setsPath}/${name}`, { spec: { replicas } })
  }
}

/** Nobody ends pods on a node of paper: those that are told to end do not count. */
function differences(sets: readonly ReplicaSet[], pods: readonly Pod[]): string[] {
  const live = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const byOwner = Map.groupBy(live, ({ metadata }) => metadata.ownerReferences?.[0]?.uid ?? '')
  const wrong = sets.flatMap(({ metadata: { name, uid }, spec: { replicas } }) => {
    const own = byOwner.get(uid) ?? []
    byOwner.delete(uid)
    const bound = own.filter(({ spec }) => spec.nodeName !== undefined).length
    return own.length === replicas && bound === replicas
      ? []
      : [`ReplicaSet ${name} has ${own.length} pods, ${bound} of them on a node, instead of ${replicas}`]
  })
  const strays = [...byOwner.values()].flat().map(({ metadata }) => `pod ${metadata.name} belongs to a ReplicaSet that is gone`)
  return [...wrong, ...strays].slice(0, 10)
}
