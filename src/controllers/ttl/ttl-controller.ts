import { Node } from '#api/core/v1/kinds.gen.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'

const annotation = 'node.alpha.kubernetes.io/ttl'

/** The ranges overlap, so that a cluster at the edge of two does not go to and fro. */
const sizes: readonly { least: number; most: number; seconds: number }[] = [
  { least: 0, most: 100, seconds: 0 },
  { least: 90, most: 500, seconds: 15 },
  { least: 450, most: 1000, seconds: 30 },
  { least: 900, most: 2000, seconds: 60 },
  { least: 1800, most: Number.POSITIVE_INFINITY, seconds: 300 },
]

/** Tells kubelets for how long secrets and config maps may be kept: the longer, the more nodes ask for them. */
export const ttlController = defineController({
  name: 'ttl-controller',
  alias: 'ttl',
  queueName: 'ttlcontroller',
  serviceAccount: 'ttl-controller',
  for: Node,

  async reconcile({ metadata }, { cache, client }) {
    const seconds = String(secondsFor(cache))
    const current = metadata.annotations?.[annotation]
    if (current !== undefined && /^[+-]?\d+$/.test(current) && Number(current) === Number(seconds)) return
    await client.patch(Node, { name: metadata.name ?? '' }, { metadata: { annotations: { [annotation]: seconds } } })
  },
  async reconcileGone(_namespace, _name, { cache }) {
    secondsFor(cache)
  },
})

/** Which of the sizes the cluster has, by the controller that counts. */
const steps = new WeakMap<Cache, number>()

function secondsFor(cache: Cache): number {
  const count = cache.informer(Node).size
  let step = steps.get(cache) ?? 0
  while (count > (sizes[step]?.most ?? count)) step++
  while (count < (sizes[step]?.least ?? count)) step--
  steps.set(cache, step)
  return sizes[step]?.seconds ?? 0
}
