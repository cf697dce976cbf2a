import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { type BlockListener, CidrBlocks } from '#controllers/node-ipam/cidr-blocks.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'

/** What is handed out and not in the cache yet is known here only. */
const blocksOf = new WeakMap<Cache, { ranges: CidrBlocks[]; byNode: Map<string, readonly string[]> }>()

/** Gives each node a piece of the pods' addresses, of each family there is. */
export const nodeIpamController = defineController({
  name: 'node-ipam-controller',
  alias: 'nodeipam',
  serviceAccount: 'node-controller',
  eventComponent: 'cidrAllocator',
  isNeeded: ({ allocateNodeCidrs, clusterCidrs }) => allocateNodeCidrs && clusterCidrs.length > 0,
  for: Node,
  concurrency: 1,
  ignores: (next, prev) => prev !== undefined && (next.spec?.podCIDRs ?? []).length > 0 && (prev.spec?.podCIDRs ?? []).length > 0,

  async reconcile(node, context) {
    const { ranges, byNode } = rangesOf(context)
    const name = node.metadata.name ?? ''
    const present = cidrsOf(node)
    if (present.length > 0) {
      for (const cidr of present) for (const range of ranges) range.occupy(cidr)
      byNode.set(name, present)
      return
    }
    const taken = byNode.get(name) ?? ranges.flatMap((range) => range.take() ?? [])
    if (taken.length < ranges.length) {
      context.events.normal(Node, node, 'CIDRNotAvailable', `Node ${name} status is now: CIDRNotAvailable`)
      for (const cidr of taken) for (const range of ranges) range.release(cidr)
      throw new Error(`no addresses are left for node ${name}`)
    }
    byNode.set(name, taken)
    await context.client.patch(Node, node.metadata, { spec: { podCIDR: taken[0], podCIDRs: taken } })
  },

  async reconcileGone(_namespace, name, context) {
    const { ranges, byNode } = rangesOf(context)
    for (const cidr of byNode.get(name) ?? []) for (const range of ranges) range.release(cidr)
    byNode.delete(name)
  },
})

const cidrsOf = ({ spec }: V1Node): readonly string[] => spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : [])

const declared = ownMetrics((metrics) => {
  const subsystem = 'node_ipam_controller'
  const allocations = metrics.counter(`${subsystem}_cidrset_cidrs_allocations_total`, 'Ranges that nodes were given, or had')
  const releases = metrics.counter(`${subsystem}_cidrset_cidrs_releases_total`, 'Ranges that came back')
  // Spelled as upstream spells it.
  const most = metrics.gauge(`${subsystem}_cirdset_max_cidrs`, 'How many ranges there can be')
  const usage = metrics.gauge(`${subsystem}_cidrset_usage_cidrs`, 'Which part of them is taken')
  const tries = metrics.histogram(
    `${subsystem}_cidrset_allocation_tries_per_request`,
    'How many ranges were found taken before one was free',
    exponentialBuckets(1, 5, 5),
  )
  return (clusterCIDR: string): BlockListener => ({
    took(tried) {
      allocations.inc({ clusterCIDR })
      if (tried !== undefined) tries.observe(tried, { clusterCIDR })
    },
    released: () => releases.inc({ clusterCIDR }),
    changed(used, count) {
      most.set(count, { clusterCIDR })
      usage.set(used / count, { clusterCIDR })
    },
  })
})

function rangesOf(context: ReconcileContext) {
  const { cache, settings } = context
  let known = blocksOf.get(cache)
  if (known === undefined) {
    const ranges = settings.clusterCidrs.map((cidr) => {
      const mask = cidr.includes(':') ? settings.nodeCidrMaskSizeIpv6 || 64 : settings.nodeCidrMaskSizeIpv4 || 24
      return new CidrBlocks(cidr, mask, declared(context)(cidr))
    })
    for (const range of ranges) for (const cidr of settings.serviceCidrs) range.occupy(cidr)
    const byNode = new Map<string, readonly string[]>()
    // Everything that was given before this process began.
    for (const node of cache.list(Node)) {
      const cidrs = cidrsOf(node)
      for (const cidr of cidrs) for (const range of ranges) range.occupy(cidr)
      if (cidrs.length > 0) byNode.set(node.metadata.name ?? '', cidrs)
    }
    known = { ranges, byNode }
    blocksOf.set(cache, known)
  }
  return known
}
