import type { NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'

/** Several providers as one; the first that knows a node has it. */
export function together(providers: readonly NodeGroupProvider[]): NodeGroupProvider {
  const [only] = providers
  if (providers.length === 1 && only !== undefined) return only
  const pricing = providers.find((each) => each.pricing !== undefined)?.pricing
  return {
    name: providers.map(({ name }) => name).join('+'),
    nodeGroups: () => providers.flatMap((each) => each.nodeGroups()),
    async groupOf(node) {
      for (const provider of providers) {
        const group = await provider.groupOf(node)
        if (group !== undefined) return group
      }
      return undefined
    },
    ...(pricing === undefined ? {} : { pricing }),
    refresh: async () => void (await Promise.all(providers.map((each) => each.refresh()))),
    close: async () => void (await Promise.all(providers.map((each) => each.close()))),
  }
}
