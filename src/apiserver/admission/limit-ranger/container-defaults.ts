import type { V1Container, V1LimitRange, V1Pod } from '#api/core/v1/types.gen.ts'

type ResourceList = { [name: string]: string }

const annotation = 'kubernetes.io/limit-ranger'

/** What the containers leave open; the pod's annotation tells what was filled in. */
export function fillInDefaults(pod: V1Pod, { spec }: V1LimitRange): void {
  const limits: ResourceList = {}
  const requests: ResourceList = {}
  for (const item of spec?.limits ?? []) {
    if (item.type !== 'Container') continue
    Object.assign(limits, item.default)
    Object.assign(requests, item.defaultRequest)
  }
  const additions: string[] = []
  for (const [list, kind] of [
    [pod.spec?.containers, 'container'],
    [pod.spec?.initContainers, 'init container'],
  ] as const) {
    for (const container of list ?? []) {
      const addedLimits = addMissing(container, 'limits', limits)
      const addedRequests = addMissing(container, 'requests', requests)
      if (addedRequests.length > 0) additions.push(`${addedRequests.join(', ')} request for ${kind} ${container.name}`)
      if (addedLimits.length > 0) additions.push(`${addedLimits.join(', ')} limit for ${kind} ${container.name}`)
    }
  }
  if (additions.length > 0) {
    pod.metadata.annotations = { ...pod.metadata.annotations, [annotation]: `LimitRanger plugin set: ${additions.join('; ')}` }
  }
}

/** Returns the names of what was missing, sorted. */
function addMissing(container: V1Container, list: 'limits' | 'requests', defaults: ResourceList): string[] {
  const missing = Object.keys(defaults).filter((name) => container.resources?.[list]?.[name] === undefined)
  if (missing.length === 0) return missing
  const added = Object.fromEntries(missing.map((name) => [name, defaults[name] ?? '0']))
  container.resources = { ...container.resources, [list]: { ...container.resources?.[list], ...added } }
  return missing.sort()
}
