/** How fast pods may be driven off nodes, by the state of the zone they are in. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { readyStatus } from '#controllers/node-lifecycle/taints.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption'

export function zoneOf({ metadata }: V1Node): string {
  const { labels = {} } = metadata
  const region = labels['topology.kubernetes.io/region'] ?? labels['failure-domain.beta.kubernetes.io/region'] ?? ''
  const zone = labels['topology.kubernetes.io/zone'] ?? labels['failure-domain.beta.kubernetes.io/zone'] ?? ''
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`
}

export function zoneStates(
  nodes: readonly V1Node[],
  { unhealthyZoneThreshold }: ControllerSettings,
): Map<string, { state: ZoneState; size: number; unhealthy: number }> {
  const zones = new Map<string, { ready: number; other: number }>()
  for (const node of nodes) {
    const zone = zones.get(zoneOf(node)) ?? { ready: 0, other: 0 }
    zones.set(zoneOf(node), zone)
    if (readyStatus(node) === 'True') zone.ready++
    else zone.other++
  }
  return new Map(
    [...zones].map(([name, { ready, other }]) => {
      const size = ready + other
      const isPartial = other > 2 && other / size >= unhealthyZoneThreshold
      const state: ZoneState = ready === 0 && other > 0 ? 'FullDisruption' : isPartial ? 'PartialDisruption' : 'Normal'
      return [name, { state, size, unhealthy: other }]
    }),
  )
}

/** Then it is more likely that we are cut off than that all nodes are gone. */
export function areAllDown(zones: ReadonlyMap<string, { state: ZoneState }>): boolean {
  return [...zones.values()].every(({ state }) => state === 'FullDisruption')
}

/** Nodes a second that may be cleared in each zone. */
export function evictionRates(
  zones: ReadonlyMap<string, { state: ZoneState; size: number }>,
  settings: ControllerSettings,
): Map<string, number> {
  const isAllDown = areAllDown(zones)
  return new Map(
    [...zones].map(([name, { state, size }]) => {
      if (isAllDown) return [name, 0]
      if (state !== 'PartialDisruption') return [name, settings.nodeEvictionRate]
      return [name, size > settings.largeClusterSizeThreshold ? settings.secondaryNodeEvictionRate : 0]
    }),
  )
}
