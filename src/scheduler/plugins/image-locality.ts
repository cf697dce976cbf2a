import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { type NodeInfo, normalizedImageName } from '#scheduler/cache/node-info.ts'
import { defineSchedulerPlugin, maxNodeScore } from '#scheduler/framework/plugin.ts'

const megabyte = 1024 * 1024
/** Images smaller than this are not worth a preference. */
const lowest = 23 * megabyte
const highestPerContainer = 1000 * megabyte

type Wanted = { readonly names: readonly string[]; readonly containers: number }

/** Prefers nodes that already have the images; the less the fewer nodes have them, lest everything goes to one node. */
export function imageLocality({ cache }: { cache: ClusterCache }) {
  return defineSchedulerPlugin<undefined, Wanted>({
    name: 'ImageLocality',

    preScore({ pod: { spec } }) {
      if (cache.imageNodes.size === 0) return 'skip'
      const containers = [...(spec.initContainers ?? []), ...spec.containers]
      const volumes = (spec.volumes ?? []).flatMap(({ image }) => (image?.reference ? [image.reference] : []))
      const names = [...containers.map(({ image = '' }) => image), ...volumes].map(normalizedImageName)
      return { names: names.filter((name) => cache.imageNodes.has(name)), containers: containers.length }
    },
    score(_, node, wanted) {
      const highest = highestPerContainer * wanted.containers
      const sum = Math.min(Math.max(sumOfScores(node, wanted.names), lowest), highest)
      return Math.trunc((maxNodeScore * (sum - lowest)) / (highest - lowest))
    },
  })

  function sumOfScores({ imageSizes }: NodeInfo, names: readonly string[]): number {
    let sum = 0
    for (const name of names) {
      const size = imageSizes.get(name)
      if (size !== undefined) sum += Math.trunc(size * ((cache.imageNodes.get(name) ?? 0) / cache.nodes.length))
    }
    return sum
  }
}
