/** Which groups and versions come first in discovery, where a short name is ambiguous, and in the APIService objects. */
import { compareVersions } from './gvk.ts'

/** `group priority version:priority …`, the core group under its empty name. */
const table = `
apiregistration.k8s.io 20000 v1:15
- 18000 v1:1
apps 17800 v1:15 v1beta2:9 v1beta1:1
events.k8s.io 17750 v1:15 v1beta1:5
authentication.k8s.io 17700 v1:15 v1beta1:9 v1alpha1:1
authorization.k8s.io 17600 v1:15 v1beta1:9
autoscaling 17500 v2:30 v1:15 v2beta1:9 v2beta2:1
batch 17400 v1:15 v1beta1:9 v2alpha1:9
certificates.k8s.io 17300 v1:15 v1beta1:9 v1alpha1:1
networking.k8s.io 17200 v1:15 v1beta1:9
extensions 17150 v1beta1:1
policy 17100 v1:15 v1beta1:9
rbac.authorization.k8s.io 17000 v1:15 v1beta1:12 v1alpha1:9
storage.k8s.io 16800 v1:15 v1beta1:9 v1alpha1:1
apiextensions.k8s.io 16700 v1:15 v1beta1:9
admissionregistration.k8s.io 16700 v1:15 v1beta1:12 v1alpha1:9
scheduling.k8s.io 16600 v1:15 v1beta1:12 v1alpha2:2 v1alpha1:1
coordination.k8s.io 16500 v1:15 v1beta1:13 v1alpha2:12
node.k8s.io 16300 v1:15 v1beta1:9 v1alpha1:1
resource.k8s.io 16200 v1:21 v1beta2:15 v1beta1:9 v1alpha3:1
discovery.k8s.io 16200 v1:15 v1beta1:12
flowcontrol.apiserver.k8s.io 16100 v1:21 v1beta3:18 v1beta2:15 v1beta1:12 v1alpha1:9
internal.apiserver.k8s.io 16000 v1alpha1:9
storagemigration.k8s.io 15800 v1beta1:9
`

type Priorities = { group: number; versions: ReadonlyMap<string, number> }

const known = new Map<string, Priorities>()
for (const line of table.trim().split('\n')) {
  const [name = '', group, ...versions] = line.split(' ')
  const pairs = versions.map((pair): [string, number] => [pair.slice(0, pair.indexOf(':')), Number(pair.slice(pair.indexOf(':') + 1))])
  known.set(name === '-' ? '' : name, { group: Number(group), versions: new Map(pairs) })
}

/** What custom resources get. */
const otherGroup = 1000
const otherVersion = 100

export const groupPriority = (group: string): number => known.get(group)?.group ?? otherGroup

export const versionPriority = (group: string, version: string): number => {
  const priorities = known.get(group)
  return priorities === undefined ? otherVersion : (priorities.versions.get(version) ?? 0)
}

/** For sorting: what is preferred comes first. */
export function compareGroups(one: string, other: string): number {
  return groupPriority(other) - groupPriority(one) || (one < other ? -1 : one > other ? 1 : 0)
}

export function compareGroupVersions(group: string, one: string, other: string): number {
  return versionPriority(group, other) - versionPriority(group, one) || compareVersions(one, other)
}
