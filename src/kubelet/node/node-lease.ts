/** The sign of life of a node: a lease that is renewed four times before it runs out. */
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { formatMicroTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'

export type NodeLeaseOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  node: string
  durationSeconds?: number
  nodeUid(): string
}

const namespace = 'kube-node-lease'
const usualDurationSeconds = 40
const jitter = 0.04

export class NodeLease {
  readonly #options: NodeLeaseOptions
  #lease: V1Lease | undefined
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: NodeLeaseOptions) {
    this.#options = options
  }

  /** Resolves after the first try; goes on by itself. */
  async start(): Promise<void> {
    await this.#renew()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #renew(): Promise<void> {
    const { clock, random, logger, node, durationSeconds = usualDurationSeconds } = this.#options
    try {
      await this.#write()
    } catch (error) {
      this.#lease = undefined
      logger.debug('failed to renew node lease', { node, error: String(error) })
    }
    if (this.#isStopped) return
    this.#timer = clock.after(durationSeconds * 250 * (1 + jitter * random.float()), () => void this.#renew())
  }

  async #write(): Promise<void> {
    const { client, clock, node: name, nodeUid, durationSeconds: leaseDurationSeconds = usualDurationSeconds } = this.#options
    const renewTime = formatMicroTime(clock.nowMicros())
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid: nodeUid() }]
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        // What was written last is most likely what is there: one request instead of two.
        this.#lease ??= await client.get(Lease, namespace, name)
        const { metadata, spec } = this.#lease
        // A node that was made anew is another owner.
        this.#lease = await client.update(Lease, {
          ...this.#lease,
          metadata: { ...metadata, ownerReferences },
          spec: { ...spec, leaseDurationSeconds, renewTime },
        })
        return
      } catch (error) {
        this.#lease = undefined
        if (isConflict(error)) continue
        if (!isNotFound(error)) throw error
      }
      const spec = { holderIdentity: name, leaseDurationSeconds, renewTime }
      try {
        this.#lease = await client.create(Lease, { metadata: { name, namespace, ownerReferences }, spec })
        return
      } catch (error) {
        if (!isAlreadyExists(error)) throw error
      }
    }
  }
}
