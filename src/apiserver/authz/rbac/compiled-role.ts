import type { Attributes } from '#apiserver/authz/authorizer.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

export type CompiledRule = {
  /** Undefined: any. */
  readonly verbs: ReadonlySet<string> | undefined
  readonly groups: ReadonlySet<string> | undefined
  readonly names: ReadonlySet<string> | undefined
}

export type CompiledPathRule = {
  readonly verbs: ReadonlySet<string> | undefined
  readonly exact: ReadonlySet<string>
  readonly prefixes: readonly string[]
}

/** A role's rules, laid out so that a request meets only those that name its resource. */
export class CompiledRole {
  readonly rules: readonly PolicyRule[]
  /** By resource as rules write it: `pods`, `pods/log`, `*`, `*` + `/scale`. */
  readonly #byResource = new Map<string, CompiledRule[]>()
  readonly paths: readonly CompiledPathRule[]

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules
    const paths: CompiledPathRule[] = []
    for (const rule of rules) {
      const verbs = unlessAny(rule.verbs)
      const names = rule.resourceNames === undefined || rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames)
      const compiled: CompiledRule = { verbs, groups: unlessAny(rule.apiGroups ?? []), names }
      for (const resource of new Set(rule.resources ?? [])) {
        const list = this.#byResource.get(resource)
        if (list === undefined) this.#byResource.set(resource, [compiled])
        else list.push(compiled)
      }
      const urls = rule.nonResourceURLs ?? []
      if (urls.length > 0) {
        const prefixes = urls.filter((url) => url.endsWith('*')).map(withoutStars)
        paths.push({ verbs, exact: new Set(urls), prefixes })
      }
    }
    this.paths = paths
  }

  /** `combined` is the resource with its subresource. */
  allowsResource(attributes: Attributes, combined: string): boolean {
    const { subresource } = attributes
    return (
      anyAllows(this.#byResource.get(combined), attributes) ||
      anyAllows(this.#byResource.get('*'), attributes) ||
      (subresource !== '' && anyAllows(this.#byResource.get(`*/${subresource}`), attributes))
    )
  }

  /** Those that speak of the resource, which may have a subresource: all resources first. */
  rulesOf(resource: string): CompiledRule[] {
    const slash = resource.indexOf('/')
    const ofAll = resource === '*' ? undefined : this.#byResource.get('*')
    const ofSubresource = slash < 0 ? undefined : this.#byResource.get(`*${resource.slice(slash)}`)
    return [...(ofAll ?? []), ...(this.#byResource.get(resource) ?? []), ...(ofSubresource ?? [])]
  }

  allowsPath({ verb, path }: Attributes): boolean {
    for (const rule of this.paths) if (isIn(rule.verbs, verb) && coversPath(rule, path)) return true
    return false
  }
}

export function coversPath({ exact, prefixes }: CompiledPathRule, path: string): boolean {
  return exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix))
}

export function isIn(values: ReadonlySet<string> | undefined, value: string): boolean {
  return values === undefined || values.has(value)
}

function anyAllows(rules: readonly CompiledRule[] | undefined, { verb, group, name }: Attributes): boolean {
  if (rules === undefined) return false
  for (const rule of rules) {
    if (rule.verbs !== undefined && !rule.verbs.has(verb)) continue
    if (rule.groups !== undefined && !rule.groups.has(group)) continue
    if (rule.names === undefined || rule.names.has(name)) return true
  }
  return false
}

function unlessAny(values: readonly string[]): ReadonlySet<string> | undefined {
  return values.includes('*') ? undefined : new Set(values)
}

/** Without those at its end. Not by a pattern: one that looks for them looks again at each star of a long row elsewhere. */
function withoutStars(url: string): string {
  let end = url.length
  while (url[end - 1] === '*') end--
  return url.slice(0, end)
}
