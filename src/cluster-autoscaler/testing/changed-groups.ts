import type { NodeGroup, NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'

/** The same provider, whose groups answer otherwise: late, wrongly, or not at all. */
export function changedGroups(provider: NodeGroupProvider, change: (group: NodeGroup) => Partial<NodeGroup>): NodeGroupProvider {
  const groups = provider.nodeGroups().map((group) => withChanges(group, change(group)))
  return {
    name: provider.name,
    nodeGroups: () => groups,
    async groupOf(node) {
      const found = await provider.groupOf(node)
      return groups.find(({ id }) => id === found?.id)
    },
    ...(provider.pricing ? { pricing: provider.pricing } : {}),
    refresh: () => provider.refresh(),
    close: () => provider.close(),
  }
}

function withChanges(group: NodeGroup, changes: Partial<NodeGroup>): NodeGroup {
  return {
    id: group.id,
    minSize: group.minSize,
    maxSize: group.maxSize,
    targetSize: () => group.targetSize(),
    increaseSize: (by) => group.increaseSize(by),
    deleteNodes: (nodes) => group.deleteNodes(nodes),
    decreaseTargetSize: (by) => group.decreaseTargetSize(by),
    instances: () => group.instances(),
    template: () => group.template(),
    ...changes,
  }
}
