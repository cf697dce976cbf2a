/** Groups, versions, kinds and resources: how they are written and read. */

export type GroupVersion = { group: string; version: string }
export type GroupKind = { group: string; kind: string }
export type GroupResource = { group: string; resource: string }
export type GroupVersionKind = GroupVersion & { kind: string }
export type GroupVersionResource = GroupVersion & { resource: string }

/** `apps/v1`, or `v1` for the core group; undefined for more than one slash. */
export function parseApiVersion(apiVersion: string): GroupVersion | undefined {
  const slash = apiVersion.indexOf('/')
  // Upstream reads the lone slash as no group and no version.
  if (apiVersion === '/' || slash < 0) return { group: '', version: apiVersion === '/' ? '' : apiVersion }
  const version = apiVersion.slice(slash + 1)
  return version.includes('/') ? undefined : { group: apiVersion.slice(0, slash), version }
}

export const unexpectedApiVersion = (apiVersion: string): string => `unexpected GroupVersion string: ${apiVersion}`

/** The reverse of parseApiVersion. */
export function apiVersionOf({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`
}

/** Of an object; what cannot be read is left empty. */
export function gvkOf(object: { apiVersion?: string; kind?: string }): GroupVersionKind {
  const { group, version } = parseApiVersion(object.apiVersion ?? '') ?? { group: '', version: '' }
  return { group, version, kind: object.kind ?? '' }
}

/** `deployments.apps`, `pods`. */
export function groupResourceText({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`
}

/** `Deployment.apps`, `Pod`. */
export function groupKindText({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

/** `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`. */
export function gvkText({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}, Kind=${kind}`
}

/** `apps/v1, Resource=deployments`. */
export function gvrText({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}, Resource=${resource}`
}

/** `deployments.v1.apps` and `deployments.apps` as a user types them; the first only when there are two dots. */
export function parseResourceArgument(text: string): { full?: GroupVersionResource; short: GroupResource } {
  const [resource = '', version, ...group] = text.split('.')
  const short = parseGroupResource(text)
  if (version === undefined || group.length === 0) return { short }
  return { full: { group: group.join('.'), version, resource }, short }
}

export function parseGroupResource(text: string): GroupResource {
  const dot = text.indexOf('.')
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) }
}

export function parseGroupKind(text: string): GroupKind {
  const { group, resource } = parseGroupResource(text)
  return { group, kind: resource }
}

const stages: Record<string, number> = { '': 2, beta: 1, alpha: 0 }

/** Newest first: GA before beta before alpha, then by number, then names that are no versions in alphabetical order. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [kubeVersion(one), kubeVersion(other)]
  if (a === undefined || b === undefined) {
    if (a === b) return one < other ? -1 : one > other ? 1 : 0
    return a === undefined ? 1 : -1
  }
  return b.stage - a.stage || b.major - a.major || b.minor - a.minor
}

function kubeVersion(version: string): { major: number; stage: number; minor: number } | undefined {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  return match ? { major: Number(match[1]), stage: stages[match[2] ?? ''] ?? 0, minor: Number(match[3] ?? 0) } : undefined
}
