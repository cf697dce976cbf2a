import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

/** The parts of `wanted`, each with a single verb, resource and name, that no single rule of `held` allows. */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(atoms).filter((atom) => !held.some((rule) => covers(rule, atom)))
}

function atoms({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = []
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const part = { apiGroups: [group], resources: [resource], verbs: [verb] }
        if (resourceNames.length === 0) parts.push(part)
        for (const name of resourceNames) parts.push({ ...part, resourceNames: [name] })
      }
    }
  }
  for (const url of nonResourceURLs) for (const verb of verbs) parts.push({ nonResourceURLs: [url], verbs: [verb] })
  return parts
}

function covers(rule: PolicyRule, atom: PolicyRule): boolean {
  const { resourceNames = [] } = rule
  const names = atom.resourceNames ?? []
  return (
    hasAll(rule.verbs, atom.verbs) &&
    hasAll(rule.apiGroups, atom.apiGroups) &&
    (atom.resources ?? []).every((resource) => coversResource(rule.resources ?? [], resource)) &&
    (resourceNames.length === 0 || (names.length > 0 && names.every((name) => resourceNames.includes(name)))) &&
    (atom.nonResourceURLs ?? []).every((url) => (rule.nonResourceURLs ?? []).some((held) => coversUrl(held, url)))
  )
}

function hasAll(held: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return held.includes('*') || wanted.every((value) => held.includes(value))
}

function coversResource(held: readonly string[], resource: string): boolean {
  if (held.includes('*') || held.includes(resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && held.includes(`*${resource.slice(slash)}`)
}

function coversUrl(held: string, url: string): boolean {
  return held === url || (held.endsWith('*') && url.startsWith(held.replace(/\*+$/, '')))
}
