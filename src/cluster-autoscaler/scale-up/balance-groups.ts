import type { NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'

export type Increase = { readonly group: NodeGroup; readonly currentSize: number; newSize: number }

/** Gives each new node to the group that is smallest by then, as long as it may grow. */
export function balancedIncreases(groups: readonly { group: NodeGroup; currentSize: number }[], newNodes: number): Increase[] {
  const increases: Increase[] = groups
    .map(({ group, currentSize }) => ({ group, currentSize, newSize: currentSize }))
    .sort((one, other) => one.currentSize - other.currentSize)
  for (let left = newNodes; left > 0; left--) {
    let smallest: Increase | undefined
    for (const each of increases) {
      if (each.newSize < each.group.maxSize && (smallest === undefined || each.newSize < smallest.newSize)) smallest = each
    }
    if (smallest === undefined) break
    smallest.newSize++
  }
  return increases.filter(({ newSize, currentSize }) => newSize > currentSize)
}

/** As upstream writes it in events: `[{workers 1->3 (max: 10)}]`. */
export const increasesText = (increases: readonly Increase[]): string =>
  `[${increases.map(({ group, currentSize, newSize }) => `{${group.id} ${currentSize}->${newSize} (max: ${group.maxSize})}`).join(' ')}]`
