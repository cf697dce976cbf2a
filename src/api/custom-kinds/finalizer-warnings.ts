import { quoted } from '#api/meta/check.ts'
import { qualifiedName } from '#api/meta/names.ts'
import type { KubernetesObject } from '#api/resource.ts'

const standard: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes'])

/** Names that others may use as well, among those that are new. */
export function finalizerWarnings({ metadata }: KubernetesObject, prev: KubernetesObject | undefined): string[] {
  const before = new Set(prev?.metadata?.finalizers)
  const added = [...new Set(metadata?.finalizers)].filter((name) => !before.has(name)).sort()
  return added.flatMap((name) =>
    [...qualifiedName(name), ...lackOfDomain(name)].map((text) => `metadata.finalizers: ${quoted(name)}: ${text}`),
  )
}

function lackOfDomain(name: string): string[] {
  if (name.includes('/') || standard.has(name)) return []
  const path = name.includes('.') ? ' including a path (/)' : ''
  return [`prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`]
}
