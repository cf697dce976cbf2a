/** An APIService for every group version this server serves itself. */
import { groupPriority, versionPriority } from '#api/meta/group-priorities.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { BootstrapEntry } from '#apiserver/bootstrap/bootstrap-objects.ts'

export function localApiServices(definitions: Iterable<ResourceDefinition>, nowMs: number): BootstrapEntry[] {
  const names = new Set<string>()
  const entries: BootstrapEntry[] = []
  for (const { group, version, stability } of definitions) {
    const name = `${version}.${group}`
    if (names.has(name) || stability === 'legacy') continue
    names.add(name)
    entries.push({
      group: 'apiregistration.k8s.io',
      resource: 'apiservices',
      object: apiService(name, group, version),
      status: { conditions: [available(nowMs)] },
    })
  }
  return entries
}

function apiService(name: string, group: string, version: string): KubernetesObject {
  const spec = {
    ...(group === '' ? {} : { group }),
    version,
    groupPriorityMinimum: groupPriority(group),
    versionPriority: versionPriority(group, version),
  }
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
    spec,
  } as KubernetesObject
}

function available(nowMs: number) {
  const message = 'Local APIServices are always available'
  return { type: 'Available', status: 'True', lastTransitionTime: formatTime(nowMs), reason: 'Local', message }
}
