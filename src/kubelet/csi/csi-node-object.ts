/** What the cluster is told of the drivers of this node: the CSINode object, and the labels of its topology. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { ignoreAlreadyExists, ignoreNotFound, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { CSINode } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSINode } from '#api/storage/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import type { CsiDrivers, RegisteredDriver } from '#kubelet/csi/csi-drivers.ts'

export type CsiNodeObjectOptions = { nodeName: string; client: Client; clock: Clock; logger: Logger; drivers: CsiDrivers }

const firstRetryMs = 100
const longestRetryMs = 30_000
const nodeIds = 'csi.volume.kubernetes.io/nodeid'

/** Told again whenever drivers come or go, until the API server has heard. */
export class CsiNodeObject implements AsyncDisposable {
  readonly #options: CsiNodeObjectOptions
  #last: Promise<void> = Promise.resolve()
  #isDue = false
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: CsiNodeObjectOptions) {
    this.#options = options
  }

  /** Resolves when the cluster has been told, or the telling has failed and will be repeated. */
  tell(): Promise<void> {
    if (this.#isDue) return this.#last
    this.#isDue = true
    this.#last = this.#last.then(() => this.#tryToTell(firstRetryMs))
    return this.#last
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#last
  }

  async #tryToTell(retryMs: number): Promise<void> {
    const { logger, clock } = this.#options
    this.#isDue = false
    if (this.#isStopped) return
    try {
      await this.#tell()
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) logger.warn('failed to update CSINode', { error: errorMessage(error) })
      if (this.#isStopped) return
      this.#timer = clock.after(retryMs, () => {
        this.#last = this.#last.then(() => this.#tryToTell(Math.min(longestRetryMs, retryMs * 2)))
      })
    }
  }

  async #tell(): Promise<void> {
    const { client, nodeName, drivers } = this.#options
    const node = await client.get(Node, '', nodeName)
    const all = drivers.list()
    await this.#label(node, all)
    const wanted = csiNodeOf(node, all)
    const present = await client.get(CSINode, '', nodeName).catch(ignoreNotFound)
    if (present === undefined) {
      await client.create(CSINode, wanted).catch(ignoreAlreadyExists)
      return
    }
    if (JSON.stringify(present.spec.drivers) === JSON.stringify(wanted.spec.drivers)) return
    await client.update(CSINode, { ...present, spec: wanted.spec })
  }

  async #label({ metadata }: V1Node, drivers: readonly RegisteredDriver[]): Promise<void> {
    const { client, nodeName } = this.#options
    const labels = Object.assign({}, ...drivers.map(({ topology }) => topology)) as Record<string, string>
    const outside = drivers.filter(({ endpoint }) => endpoint !== '').map(({ name, nodeId }) => [name, nodeId])
    const ids = outside.length === 0 ? undefined : JSON.stringify(Object.fromEntries(outside))
    const isSame = Object.entries(labels).every(([key, value]) => metadata?.labels?.[key] === value)
    if (isSame && metadata?.annotations?.[nodeIds] === ids) return
    await client.patch(Node, { name: nodeName }, { metadata: { labels, annotations: { [nodeIds]: ids ?? null } } }, { type: 'merge' })
  }
}

function csiNodeOf({ metadata }: V1Node, drivers: readonly RegisteredDriver[]): V1CSINode {
  const { name = '', uid = '' } = metadata ?? {}
  return {
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: {
      drivers: drivers.map(({ name: driver, nodeId, topology, maxVolumes }) => ({
        name: driver,
        nodeID: nodeId,
        topologyKeys: Object.keys(topology).sort(),
        ...defined({ allocatable: maxVolumes > 0 ? { count: maxVolumes } : undefined }),
      })),
    },
  } as V1CSINode
}
