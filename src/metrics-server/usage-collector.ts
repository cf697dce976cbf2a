import { Node } from '#api/core/v1/kinds.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { type ContainerSample, type NodeSamples, parseSamples, type Sample } from '#metrics-server/resource-samples.ts'

export type UsageCollectorOptions = { client: Pick<Client, 'list' | 'raw'>; clock: Clock; logger: Logger }

/** What was used on average over `windowMs`, until `timeMs`. */
export type Usage = { timeMs: number; windowMs: number; cpuNanoCores: number; memoryBytes: number }

type Looks = { latest: NodeSamples; before?: NodeSamples }

const everyMs = 15_000
/** Nobody asks any more. */
const interestMs = 150_000
/** Before this, two looks say too little of what is used a second. */
const shortestMs = 1000
const askedTogether = 16
/** A node that never answers shall not cost every question a second. */
const catchUpMs = 5000

/** Asks nodes what they, their pods and their containers use, for as long as somebody wants to know. */
export class UsageCollector implements Disposable {
  readonly #options: UsageCollectorOptions
  #nodes = new Map<string, Looks>()
  #count = 0
  #twiceMs = 0
  #askedMs = 0
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  #preparing: Promise<void> | undefined
  /** Somebody has asked for a pod of which no figures can be told yet. */
  #lacksPod = false

  constructor(options: UsageCollectorOptions) {
    this.#options = options
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Resolves when the figures of before and now are there. */
  async prepare(): Promise<void> {
    this.#askedMs = this.#options.clock.now()
    if (this.#timer !== undefined && !this.#isBehind) return
    this.#preparing ??= (this.#timer === undefined ? this.#begin() : this.#lookTwice()).finally(() => {
      this.#preparing = undefined
    })
    await this.#preparing
  }

  /** Of a node; undefined where it is not known. */
  node(name: string): Usage | undefined {
    const { latest, before } = this.#nodes.get(name) ?? {}
    return latest?.node && usageOf(latest.node, before?.node)
  }

  /** By container; undefined where that of one of them is not known. */
  pod(nodeName: string, namespace: string, name: string): Map<string, Usage> | undefined {
    const { latest, before } = this.#nodes.get(nodeName) ?? {}
    const containers = latest?.pods.get(`${namespace}/${name}`)
    if (containers === undefined || containers.size === 0) {
      this.#lacksPod = true
      return undefined
    }
    const usages = new Map<string, Usage>()
    for (const [container, sample] of containers) {
      const usage = usageOf(sample, sinceStart(sample, before?.pods.get(`${namespace}/${name}`)?.get(container)))
      if (usage === undefined) {
        this.#lacksPod = true
        return undefined
      }
      usages.set(container, usage)
    }
    return usages
  }

  /** A node or a pod has come since, of which no figures can be told yet: whoever asks shall not have to wait for the next look but one. */
  get #isBehind(): boolean {
    if (this.#options.clock.now() - this.#twiceMs < catchUpMs) return false
    return (
      this.#lacksPod ||
      this.#nodes.size < this.#count ||
      this.#count === 0 ||
      [...this.#nodes.values()].some(({ before }) => before === undefined)
    )
  }

  async #lookTwice(): Promise<void> {
    const { clock } = this.#options
    this.#twiceMs = clock.now()
    this.#lacksPod = false
    await this.#look()
    await clock.sleep(shortestMs)
    await this.#look()
  }

  async #begin(): Promise<void> {
    const { clock } = this.#options
    this.#nodes.clear()
    await this.#lookTwice()
    this.#timer ??= clock.every(everyMs, () => {
      if (clock.now() - this.#askedMs > interestMs) this[Symbol.dispose]()
      else void this.#look()
    })
  }

  #look(): Promise<void> {
    this.#looking ??= this.#askAll()
      .catch((error: unknown) => this.#options.logger.warn('failed to collect usage of nodes', { error: String(error) }))
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #askAll(): Promise<void> {
    const { items } = await this.#options.client.list(Node)
    const names = items.map(({ metadata }) => metadata.name ?? '')
    this.#count = names.length
    const left = [...names]
    const found = new Map<string, NodeSamples>()
    const ask = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        const samples = await this.#ask(name)
        if (samples !== undefined) found.set(name, samples)
      }
    }
    await Promise.all(Array.from({ length: askedTogether }, ask))
    const next = new Map<string, Looks>()
    for (const [name, latest] of found) {
      const known = this.#nodes.get(name)
      next.set(name, { latest, ...defined({ before: known?.latest }) })
    }
    this.#nodes = next
  }

  async #ask(name: string): Promise<NodeSamples | undefined> {
    const { client, clock, logger } = this.#options
    try {
      return parseSamples(await client.raw(`/api/v1/nodes/${name}/proxy/metrics/resource`, 'text/plain'), clock.now())
    } catch (error) {
      logger.debug('failed to collect usage of node', { node: name, error: String(error) })
      return undefined
    }
  }
}

/** A container that was not there before, or was started anew, began with nothing when it was started. */
function sinceStart(latest: ContainerSample, before: ContainerSample | undefined): Sample | undefined {
  const isSame = before !== undefined && before.startedMs === latest.startedMs && before.cpuSeconds <= latest.cpuSeconds
  if (isSame) return before
  return latest.startedMs === 0 ? undefined : { timeMs: latest.startedMs, cpuSeconds: 0, memoryBytes: 0 }
}

function usageOf(latest: Sample, before: Sample | undefined): Usage | undefined {
  const windowMs = before === undefined ? 0 : latest.timeMs - before.timeMs
  if (before === undefined || windowMs <= 0 || latest.cpuSeconds < before.cpuSeconds) return undefined
  const cpuNanoCores = Math.round(((latest.cpuSeconds - before.cpuSeconds) * 1e12) / windowMs)
  return { timeMs: latest.timeMs, windowMs, cpuNanoCores, memoryBytes: latest.memoryBytes }
}
